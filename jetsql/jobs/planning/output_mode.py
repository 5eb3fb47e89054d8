"""The output mode of a streaming job: the verb requests modes, and Spark's checks decide which of them is possible.

INSERT INTO appends rows, INSERT OVERWRITE replaces the complete result, and SINK INTO appends final rows or updates
changed ones. The option `outputMode` can only confirm the mode or, for SINK INTO, select one of the two, or `complete`:
then the job also deletes the rows that left the result.
"""

from __future__ import annotations

import re
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.job_options import StatementOptions, Trigger
from jetsql.jobs.planning.sink_traits import replaces_part, traits_of
from jetsql.language.statement import Verb

MODES: Final = {
    Verb.INSERT_INTO: (OutputMode.APPEND,),
    Verb.INSERT_OVERWRITE: (OutputMode.COMPLETE,),
    Verb.SINK_INTO: (OutputMode.APPEND, OutputMode.UPDATE),
    Verb.AUTO_CDC: (OutputMode.UPDATE,),
}

"""The output modes in which each verb may write, the preferred one first."""


def modes_of(verb: Verb, requested: OutputMode | None) -> tuple[OutputMode, ...]:
    """Return the output modes for which a query is analysed, and by which it is rewritten.

    requested: the value of the option `outputMode`, or the mode of a job's plan. Only with `complete` does SINK INTO
    write the complete result.
    """
    retracts = verb is Verb.SINK_INTO and requested is OutputMode.COMPLETE
    return (OutputMode.COMPLETE,) if retracts else MODES[verb]


_VERBS: Final = {
    OutputMode.APPEND: "Use INSERT INTO to add final rows.",
    OutputMode.UPDATE: "Use SINK INTO a table with 'key.columns' for rows that change.",
    OutputMode.COMPLETE: "Use INSERT OVERWRITE to replace the table with each result.",
}

_REWRITES: Final = (
    "Group by a window over a column with a WATERMARK, use INSERT OVERWRITE to replace the table with each result, or "
    "SINK INTO a table with 'key.columns' to update its rows."
)

_BOUNDS: Final = (
    "Read both sides with FROM STREAM and a WATERMARK, and bound the time in the condition of the join, EXISTS or IN: "
    "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR. A WATERMARK column that must be equal is a bound as well. Without "
    "times, use SINK INTO a table with 'key.columns', and compare a column of each side by =."
)

_EQUAL: Final = (
    "Compare a column of each side by = in the condition of the join, or of the subquery: a.id = b.id AND a.price <"
    " b.price."
)

_EQUAL_GROUPS: Final = (
    "Make the grouping columns the 'key.columns' of the table, or compare them with columns of the other side by = in"
    " the condition of the join."
)

_CHANGES_OF_JOIN: Final = (
    "Leave this out of the query, and compute it in a view over the table. Sums and averages take integers and DECIMAL."
)

_KEYS_OF_GROUPS: Final = "Make the grouping columns the 'key.columns' of the table."

_UNKEPT_TYPE: Final = "the state cannot keep"
_UNKEPT: Final = "Leave the column out of the query, or convert it where it is computed: CAST(a.x AS STRING) AS x."

_UNKEPT_COLLATION: Final = (
    "Convert the column where it is computed, to a STRING without a collation: lower(CAST(a.x AS STRING)) AS x, or"
    " rtrim(CAST(a.x AS STRING)) AS x."
)

_MATCHES: Final = (
    "Use INSERT INTO, read both sides with FROM STREAM and a WATERMARK, and compare the columns with the WATERMARK: "
    "{newest_match}. ON takes equal columns, and conditions of the second side."
)

_EXCEPT: Final = (
    "Write WHERE NOT EXISTS (SELECT * FROM b WHERE b.id = a.id) instead of EXCEPT. For two streams, use SINK INTO a"
    " table with 'key.columns'; or give both a WATERMARK, and bound the time: b.ts BETWEEN a.ts AND a.ts + INTERVAL 1"
    " HOUR."
)

_NEWER: Final = {
    "newest_match": "ASOF JOIN ... MATCH_CONDITION (a.ts >= b.ts) ON a.id = b.id",
    "top_rows": "QUALIFY row_number() OVER (ORDER BY ...) <= 10",
}
"""Parts of hints, which name a clause that not each Spark has, by their names in the hints."""

_OLDER: Final = {
    "newest_match": "JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.id = b.id",
    "top_rows": "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY ...) AS rank FROM ...) WHERE rank <= 10",
}
"""The same parts for a Spark without the clause."""

_UNCLOSED: Final = "does not close the groups"

_KEYS_MISSING: Final = re.compile(r"is not one of the (key|grouping) columns")

_CHANGES: Final = (
    "Make the grouping columns the 'key.columns' of the table, or use OPTIONS ('outputMode' = 'complete'), with which"
    " each batch writes or compares the whole result."
)

_REASONS: Final = {
    "needs a WATERMARK on both sides": _BOUNDS,
    "compares no columns of both sides": _EQUAL,
    "nor equal to one": _EQUAL_GROUPS,
    " COLLATE ": _UNKEPT_COLLATION,
    _UNKEPT_TYPE: _UNKEPT,
    "cannot be updated by changes": _CHANGES,
    "Sorting is not supported": (
        "Remove ORDER BY: the rows of a table have no order. For the first rows, use INSERT OVERWRITE with {top_rows}."
    ),
    "Window function is not supported": (
        "Order the window by a column with a WATERMARK, up to the current row, and use INSERT INTO; or select the top"
        " rows with INSERT OVERWRITE and {top_rows}."
    ),
    "Union between streaming and batch": "Read all tables of the UNION with FROM STREAM.",
    "Except on a streaming": _EXCEPT,
    "Intersect of streaming": (
        "Write WHERE id IN (SELECT ...) instead of INTERSECT. For two streams, use SINK INTO a table with"
        " 'key.columns'; or give both a WATERMARK, and bound the time: b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR."
    ),
    "and a static DataFrame": "Keep the rows of the stream without a match: write stream LEFT JOIN table.",
}
"""Hints by a part of Spark's reason to refuse an output mode."""


def choose_mode(analysis: Analysis, options: StatementOptions, verb: Verb, target: Span | None) -> OutputMode | None:
    """Return the output mode; None for a batch job.

    Raises StatementError NO_OUTPUT_MODE at the option's value or at `target`.
    """
    requested = options.values.output_mode
    place = options.value_place("outputMode") or target
    if not analysis.streaming:
        _check_not_requested(requested, place)
        return None
    if options.values.trigger is Trigger.REAL_TIME:
        return _in_real_time(analysis, requested, place)
    if requested is OutputMode.COMPLETE and verb is Verb.SINK_INTO:
        _check_retractions(analysis, place)
    elif requested is not None and requested not in MODES[verb]:
        message = f"{verb.value} cannot write in output mode '{requested.value}'."
        hint = "Remove the option." if verb is Verb.AUTO_CDC else _VERBS[requested]
        raise StatementError("NO_OUTPUT_MODE", message, place=place, hint=hint)
    if verb is Verb.INSERT_OVERWRITE:
        _check_overwrite(analysis, target)
    if verb is Verb.INSERT_INTO and replaces_part(analysis.sink):
        raise StatementError(
            "NO_OUTPUT_MODE",
            "REPLACE WHERE is not possible: the query reads a stream, and each batch would replace the rows of the"
            " batches before.",
            place=target,
            hint="Read without STREAM, or use SINK INTO a table with 'key.columns' to update rows.",
        )
    candidates = MODES[verb] if requested is None else (requested,)
    for mode in candidates:
        if analysis.modes.get(mode) is None:
            return mode
    raise _none_possible(analysis, candidates, place)


def _in_real_time(analysis: Analysis, requested: OutputMode | None, place: Span | None) -> OutputMode:
    """Return UPDATE, the only mode of Spark's real-time mode; without aggregates it writes each row once."""
    if requested not in (None, OutputMode.UPDATE):
        message = "With the trigger realTime the output mode is always 'update': Spark writes each row immediately."
        raise StatementError("NO_OUTPUT_MODE", message, place=place, hint="Remove the option.")
    if analysis.modes.get(OutputMode.UPDATE) is not None:
        raise _none_possible(analysis, (OutputMode.UPDATE,), place)
    return OutputMode.UPDATE


def _check_not_requested(requested: OutputMode | None, place: Span | None) -> None:
    if requested is not None:
        raise StatementError(
            "NO_OUTPUT_MODE",
            "The job has no output mode: its query reads no stream, so it runs once.",
            place=place,
            hint="Remove the option, or read with FROM STREAM.",
        )


def _check_retractions(analysis: Analysis, place: Span | None) -> None:
    sink = analysis.sink
    can_have_keys = traits_of(sink).can_update
    if can_have_keys and sink.key_columns and analysis.has_aggregates and len(analysis.sinks) == 1:
        return
    message = f"SINK INTO cannot delete rows of {sink.table} that leave the result"
    if not analysis.has_aggregates:
        reason, hint = "the query has no aggregate, so no row leaves it", "Remove the option."
    elif len(analysis.sinks) > 1:
        reason, hint = "the job writes several tables", "Create a job of its own for this table."
    elif can_have_keys:
        reason, hint = "it has no 'key.columns'", "Create the table again with 'key.columns', or remove the option."
    else:
        reason = "it is a file table, whose rows cannot be updated"
        hint = "Write to a table USING delta, iceberg, jdbc or kafka with 'key.columns', or use INSERT OVERWRITE."
    raise StatementError("NO_OUTPUT_MODE", f"{message}: {reason}.", place=place, hint=hint)


def _check_overwrite(analysis: Analysis, target: Span | None) -> None:
    sink = analysis.sink
    if not analysis.has_aggregates:
        reason = "the query has no aggregate, so there is no complete result"
        specific = _specific_hint(analysis, analysis.modes.get(OutputMode.APPEND) or "")
        hint = specific if "INSERT INTO" in specific else f"Use INSERT INTO. {specific}".strip()
    elif replaces_part(sink):
        reason = f"only a part of {sink.table} would be replaced, and a stream's result is the whole table"
        hint = "Leave out PARTITION, or set spark.sql.sources.partitionOverwriteMode to STATIC."
    elif not traits_of(sink).has_commits and (sink.partition_columns or not sink.replaces_whole_table):
        reason = f"{sink.table} is partitioned, and a partitioned table cannot be replaced as a whole"
        hint = "Write to a table without partitions, or use INSERT INTO with a WATERMARK and a window."
    else:
        return
    raise StatementError("NO_OUTPUT_MODE", f"INSERT OVERWRITE is not possible: {reason}.", place=target, hint=hint)


def _none_possible(analysis: Analysis, candidates: tuple[OutputMode, ...], place: Span | None) -> StatementError:
    by_reason: dict[str, list[str]] = {}
    for mode in candidates:
        by_reason.setdefault(_as_sentence(analysis.modes[mode]), []).append(mode.value)
    reasons = " ".join(f"Not {' and not '.join(modes)}: {reason}" for reason, modes in by_reason.items())
    message = f"No output mode is possible for this query and {analysis.sink.table}. {reasons}"
    return StatementError("NO_OUTPUT_MODE", message, place=place, hint=_specific_hint(analysis, reasons) or _REWRITES)


def _specific_hint(analysis: Analysis, reasons: str) -> str:
    """Return the hint for an operator that is refused; empty if none is known. reasons: Spark's, or empty"""
    lacking = analysis.lacking_clauses
    parts = {name: _OLDER[name] if part.split()[0] in lacking else part for name, part in _NEWER.items()}
    if analysis.matches_streams and _UNKEPT_TYPE not in reasons:
        return _MATCHES.format(**parts)
    found = next((hint.format(**parts) for part, hint in _REASONS.items() if part in reasons), "")
    if found == _CHANGES and analysis.joins_streams:
        return _KEYS_OF_GROUPS if _KEYS_MISSING.search(reasons) else _CHANGES_OF_JOIN
    if not found and reasons and analysis.joins_streams and not analysis.has_aggregates:
        return _BOUNDS
    if not analysis.has_aggregates and _UNCLOSED in reasons:  # Spark makes an aggregate of EXCEPT with a table
        return _EXCEPT
    return found


def _as_sentence(reason: str | None) -> str:
    text = (reason or "").strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
