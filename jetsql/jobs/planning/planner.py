"""Planning of a job from the analysis of its body and its options.

EXPLAIN, CREATE and ALTER use the same rules. Combinations that cannot work are refused here with a hint, and not by a
run later.
"""

from __future__ import annotations

from collections.abc import Sequence

from jetsql.errors import ErrorPlace, Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, Sink
from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.job_options import Options, StatementOptions, Trigger
from jetsql.jobs.planning.guarantee import choose_weakest
from jetsql.jobs.planning.option_rules import (
    DEFAULT_MILLIS,
    check_real_time,
    check_refused_rows,
    late_rows_table,
    refused_rows_table,
)
from jetsql.jobs.planning.options import OPTIONS
from jetsql.jobs.planning.output_mode import choose_mode
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.statement import Verb


def make_plan(
    analysis: Analysis,
    options: StatementOptions,
    verb: Verb,
    target: Span | None,
    branches: Sequence[tuple[Verb, Span | None]] = (),
) -> Plan:
    """Return the plan of a job.

    target: the place of the sink's name in the statement, for errors that are not caused by an option.
    branches: the verb and the place of the name for each sink of a body with several.
    Raises StatementError NO_OUTPUT_MODE, TRIGGER_NOT_POSSIBLE, GUARANTEE_NOT_POSSIBLE, SOURCE_NOT_REPLAYABLE,
    UNSUPPORTED_SINK, INVALID_OPTION_VALUE.
    """
    _check_trigger(analysis, options)
    if options.values.trigger is Trigger.REAL_TIME:
        check_real_time(analysis, options, verb, target)
    written = tuple(branches) or ((verb, target),)
    delivery = choose_weakest(analysis, options, [place for _, place in written])
    upserts = [_upserts(analysis, sink, *each) for sink, each in zip(analysis.sinks, written, strict=True)]
    mode = choose_mode(analysis, options, verb, target)
    _check_options(analysis, options, mode)
    values = options.values
    plan = Plan(
        analysis=analysis,
        options=values,
        guarantee=delivery.guarantee,
        guarantee_reason=delivery.reason,
        interval_millis=_interval(analysis, values),
        output_mode=mode,
        upserts=tuple(upserts),
        overwrite=verb is Verb.INSERT_OVERWRITE,
        suspend_on_failure=analysis.streaming if values.suspend_on_failure is None else values.suspend_on_failure,
        late_rows_table=late_rows_table(analysis, values),
        deletes=verb is Verb.AUTO_CDC or analysis.marks_deleted,
        retracts=upserts[0] and mode is OutputMode.COMPLETE,
        refused_rows_table=refused_rows_table(analysis, values),
    )
    check_refused_rows(plan, options)
    return plan


def _check_options(analysis: Analysis, options: StatementOptions, mode: OutputMode | None) -> None:
    """Apply the checks of all options. Raises StatementError at the value of an option."""
    for spec in OPTIONS:
        if spec.check is not None:
            with ErrorPlace(options.value_place(spec.name)):
                spec.check(analysis, options.values, mode)


def _interval(analysis: Analysis, options: Options) -> int:
    if options.snapshot_interval_millis is not None:
        return options.snapshot_interval_millis
    if options.trigger is Trigger.REAL_TIME:
        return DEFAULT_MILLIS
    return max(traits_of(sink).interval_millis for sink in analysis.sinks)


def _check_trigger(analysis: Analysis, options: StatementOptions) -> None:
    if not analysis.streaming and "trigger" in options.values.given:
        raise StatementError(
            "TRIGGER_NOT_POSSIBLE",
            "The job has no trigger: its query reads no stream, so it runs once.",
            place=options.value_place("trigger"),
            hint="Remove the option, or read with FROM STREAM.",
        )


def _upserts(analysis: Analysis, sink: Sink, verb: Verb, target: Span | None) -> bool:
    if verb is not Verb.SINK_INTO:
        return verb is Verb.AUTO_CDC
    if sink.key_columns and not traits_of(sink).can_update:
        raise StatementError(
            "UNSUPPORTED_SINK",
            f"{sink.table} has 'key.columns', but it is a file table, whose rows cannot be updated.",
            place=target,
            hint="Use a table USING delta, iceberg or jdbc, or INSERT INTO.",
        )
    has_one_row = analysis.has_aggregates or analysis.marks_deleted  # for each key
    if sink.key_columns and traits_of(sink).needs_distinct_keys and analysis.streaming and not has_one_row:
        raise StatementError(
            "UNSUPPORTED_QUERY",
            f"SINK INTO {sink.table} is not possible: a batch of this query can have several rows with the same"
            f" {', '.join(sink.key_columns)}, and their order is unknown.",
            place=target,
            hint=f"Group the query by {', '.join(sink.key_columns)}, or use AUTO CDC INTO, which keeps the newest row.",
        )
    return bool(sink.key_columns)
