"""Planning of a job from the analysis of its body and its options.

EXPLAIN, CREATE and ALTER use the same rules. Combinations that cannot work are refused here with a hint, and not by a
run later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, SinkKind
from jetsql.jobs.model.job import Plan, Trigger
from jetsql.jobs.planning.guarantee import choose_weakest
from jetsql.jobs.planning.option_rules import (
    DEFAULT_MILLIS,
    check_idle_timeout,
    check_real_time,
    check_state_ttl,
    choose_late_rows_table,
)
from jetsql.jobs.planning.options import ACCEPTED_TOPICS, Options
from jetsql.jobs.planning.output_mode import choose_mode
from jetsql.language.statement import Verb

_INTERVAL_MILLIS: Final = 1_000
_FILES_INTERVAL_MILLIS: Final = 10_000


def make_plan(
    analysis: Analysis,
    options: Options,
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
    if options.trigger is Trigger.REAL_TIME:
        check_real_time(analysis, options, verb, target)
    written = tuple(branches) or ((verb, target),)
    delivery = choose_weakest(analysis, options, [place for _, place in written])
    upserts = [_upserts(branch, *each) for branch, each in zip(analysis.branches, written, strict=True)]
    mode = choose_mode(analysis, options, verb, target)
    late_rows = choose_late_rows_table(analysis, options)
    check_idle_timeout(analysis, options)
    check_state_ttl(analysis, options, mode)
    _check_accepted_topics(analysis, options)
    streaming = analysis.streaming
    return Plan(
        analysis=analysis,
        guarantee=delivery.guarantee,
        guarantee_reason=delivery.reason,
        trigger=options.trigger,
        interval_millis=_interval(analysis, options),
        output_mode=mode,
        upsert=upserts[0],
        overwrite=verb is Verb.INSERT_OVERWRITE,
        restart_attempts=options.restart_attempts,
        suspend_on_failure=streaming if options.suspend_on_failure is None else options.suspend_on_failure,
        auto_scaling=options.auto_scaling,
        split_brain_protection=options.split_brain_protection,
        metrics_enabled=options.metrics_enabled,
        store_metrics_after_completion=options.store_metrics_after_completion,
        initial_snapshot=options.initial_snapshot,
        spark_confs=options.spark_confs,
        options=options.given,
        deletes=verb is Verb.AUTO_CDC or analysis.marks_deleted,
        more_upserts=tuple(upserts[1:]),
        late_rows=late_rows,
        idle_timeout_millis=options.idle_timeout_millis,
        state_ttl_millis=options.state_ttl_millis,
        retracts=upserts[0] and mode is OutputMode.COMPLETE,
        accepted_topics=tuple(filter(None, options.accepted_topics.split(", "))),
    )


def _interval(analysis: Analysis, options: Options) -> int:
    if options.snapshot_interval_millis is not None:
        return options.snapshot_interval_millis
    if options.trigger is Trigger.REAL_TIME:
        return DEFAULT_MILLIS
    writes_files = any(sink.kind is SinkKind.FILES or sink.kind.is_lake for sink in analysis.sinks)
    return _FILES_INTERVAL_MILLIS if writes_files else _INTERVAL_MILLIS


def _check_trigger(analysis: Analysis, options: Options) -> None:
    if not analysis.streaming and "trigger" in options.given:
        raise StatementError(
            "TRIGGER_NOT_POSSIBLE",
            "The job has no trigger: its query reads no stream, so it runs once.",
            place=options.value_place("trigger"),
            hint="Remove the option, or read with FROM STREAM.",
        )


def _check_accepted_topics(analysis: Analysis, options: Options) -> None:
    uses_topics = any(source.format == "kafka" for source in analysis.sources) or any(
        sink.kind is SinkKind.KAFKA for sink in analysis.sinks
    )
    if options.accepted_topics and not (analysis.streaming and uses_topics):
        reason = "reads and writes no Kafka topic" if analysis.streaming else "reads no stream"
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The option '{ACCEPTED_TOPICS}' does not apply to this job: it {reason}.",
            place=options.value_place(ACCEPTED_TOPICS),
            hint="Remove the option.",
        )


def _upserts(analysis: Analysis, verb: Verb, target: Span | None) -> bool:
    sink = analysis.sink
    if verb is not Verb.SINK_INTO:
        return verb is Verb.AUTO_CDC
    if sink.key_columns and sink.kind is SinkKind.FILES:
        raise StatementError(
            "UNSUPPORTED_SINK",
            f"{sink.table} has 'key.columns', but it is a file table, whose rows cannot be updated.",
            place=target,
            hint="Use a table USING delta, iceberg or jdbc, or INSERT INTO.",
        )
    has_one_row = analysis.has_aggregates or analysis.marks_deleted  # for each key
    if sink.key_columns and sink.kind.is_lake and analysis.streaming and not has_one_row:
        raise StatementError(
            "UNSUPPORTED_QUERY",
            f"SINK INTO {sink.table} is not possible: a batch of this query can have several rows with the same"
            f" {', '.join(sink.key_columns)}, and their order is unknown.",
            place=target,
            hint=f"Group the query by {', '.join(sink.key_columns)}, or use AUTO CDC INTO, which keeps the newest row.",
        )
    return bool(sink.key_columns)
