"""Which output mode a streaming job runs in: the verb says what is wanted, Spark's checks say what is possible.

INSERT INTO appends, INSERT OVERWRITE replaces the whole result, SINK INTO takes changes where rows can't be final. A
mode that the user names is only ever a confirmation or, for SINK INTO, a choice of two.
"""

from __future__ import annotations

from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import Analysis, OutputMode, Trigger
from jetsql.jobs.planning.options import Options
from jetsql.language.statement import Verb

_MODES: Final = {
    Verb.INSERT_INTO: (OutputMode.APPEND,),
    Verb.INSERT_OVERWRITE: (OutputMode.COMPLETE,),
    Verb.SINK_INTO: (OutputMode.APPEND, OutputMode.UPDATE),
}

_VERBS: Final = {
    OutputMode.APPEND: "INSERT INTO adds rows that are final.",
    OutputMode.UPDATE: "Use SINK INTO, on a table with 'key.columns', for rows that change.",
    OutputMode.COMPLETE: "Use INSERT OVERWRITE to replace the table with each result.",
}

_REWRITES: Final = (
    "Group by a window over a column with a WATERMARK, use INSERT OVERWRITE to replace the table with each result, or "
    "SINK INTO a table with 'key.columns' to update its rows."
)


def choose_mode(analysis: Analysis, options: Options, verb: Verb, target: Span | None) -> OutputMode | None:
    """Return the output mode; None for a batch job.

    Raises StatementError NO_OUTPUT_MODE at the option's value or at `target`.
    """
    requested = options.output_mode
    place = options.value_place("outputMode") or target
    if not analysis.streaming:
        _check_not_asked(requested, place)
        return None
    if options.trigger is Trigger.REAL_TIME:
        return _in_real_time(analysis, requested, place)
    if requested is not None and requested not in _MODES[verb]:
        message = f"{verb.value} can't write in output mode '{requested.value}'."
        raise StatementError("NO_OUTPUT_MODE", message, place=place, hint=_VERBS[requested])
    if verb is Verb.INSERT_OVERWRITE:
        _check_overwrite(analysis, target)
    candidates = _MODES[verb] if requested is None else (requested,)
    for mode in candidates:
        if analysis.modes.get(mode) is None:
            return mode
    raise _none_possible(analysis, candidates, place)


def _in_real_time(analysis: Analysis, requested: OutputMode | None, place: Span | None) -> OutputMode:
    """Spark's real-time mode knows one, in which a query without aggregates gives out each row once, as in any."""
    if requested not in (None, OutputMode.UPDATE):
        message = "With the trigger realTime each row is given out at once, which is output mode 'update' and no other."
        raise StatementError("NO_OUTPUT_MODE", message, place=place, hint="Leave the option out.")
    if analysis.modes.get(OutputMode.UPDATE) is not None:
        raise _none_possible(analysis, (OutputMode.UPDATE,), place)
    return OutputMode.UPDATE


def _check_not_asked(requested: OutputMode | None, place: Span | None) -> None:
    if requested is not None:
        raise StatementError(
            "NO_OUTPUT_MODE",
            "The query reads no stream, so the job runs once and has no output mode.",
            place=place,
            hint="Leave the option out, or read with FROM STREAM.",
        )


def _check_overwrite(analysis: Analysis, target: Span | None) -> None:
    sink = analysis.sink
    if not analysis.has_aggregates:
        reason, hint = "the query has no aggregate, so there is no whole result to replace it with", "Use INSERT INTO."
    elif analysis.waits_for_watermark:
        reason = "its output waits for a watermark, so each result holds only what is new"
        hint = "Use INSERT INTO, or leave the WATERMARK out."
    elif sink.partition_columns or not sink.replaces_whole_table:
        reason = f"{sink.table} is replaced as a whole, and that is not possible for a partitioned table"
        hint = "Write into a table without partitions, or use INSERT INTO with a WATERMARK and a window."
    else:
        return
    raise StatementError("NO_OUTPUT_MODE", f"INSERT OVERWRITE is not possible: {reason}.", place=target, hint=hint)


def _none_possible(analysis: Analysis, candidates: tuple[OutputMode, ...], place: Span | None) -> StatementError:
    reasons = " ".join(f"Not {mode.value}: {_sentence(analysis.modes[mode])}" for mode in candidates)
    message = f"There is no output mode for this query and {analysis.sink.table}. {reasons}"
    return StatementError("NO_OUTPUT_MODE", message, place=place, hint=_REWRITES)


def _sentence(reason: str | None) -> str:
    text = (reason or "").strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
