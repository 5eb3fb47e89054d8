"""The requirements of options: what the query, the sink and the other options must be.

Spark's real-time mode (the trigger realTime) reads Kafka, processes each row when it arrives and writes it to Kafka
immediately. The end of a batch only commits the progress. So there are no final rows, no complete results and no
transactions. The checks that need Spark are in `JobRuntime.check_real_time`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, CapturedSession, OutputMode
from jetsql.jobs.model.job import Plan, name_key
from jetsql.jobs.model.job_options import Guarantee, Options, StatementOptions, Trigger
from jetsql.jobs.model.table_names import SESSION_CATALOG
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.statement import Verb

# Spark's minimum (spark.sql.streaming.realTimeMode.minBatchDuration): rows that arrive at the end of a batch wait.
MIN_MILLIS: Final = 5_000
# With batches of 5 s, every hundredth row waits for the end of a batch; with batches of 60 s, no row does.
DEFAULT_MILLIS: Final = 60_000
ALTERNATIVE: Final = "Use the trigger 'interval', with a small 'snapshotIntervalMillis' for low latency."
_NO_STREAM: Final = "it reads no stream"
# The rewrites of queries, as the Java module names them.
_STATE_TTL_REWRITE: Final = "state time to live"
_BY_TIME_REWRITES: Final = ("rows by time", "joins by time", "row patterns")

OptionCheck = Callable[[Analysis, Options, OutputMode | None], None]
"""Raises StatementError without a place for a query or a sink to which an option does not apply. The last argument is
the output mode of the job."""

SIDE_TABLE: Final = "table:"
SINK_ON_ERROR: Final = "sink.on.error"
SINK_ON_ERROR_MOST: Final = "sink.on.error.most"
ACCEPTED_TOPICS: Final = "acceptedTopics"
COMMIT_GROUP: Final = "kafka.commit.group"


def check_idle_timeout(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a query that no idle source can hold back."""
    if options.idle_timeout_millis is None:
        return
    in_real_time = "with the trigger realTime, rows do not wait for a watermark"
    reason = _general_refusal(analysis, options, in_real_time) or analysis.idle_timeout_refusal
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"No idle source can hold back the watermark of this job: {reason}.",
            hint="Leave out 'idleTimeoutMillis'. It applies to queries over several streams with a WATERMARK each.",
        )


def check_state_ttl(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a query without state that a time to live can remove."""
    if options.state_ttl_millis is None:
        return
    reason = "" if analysis.streaming else _NO_STREAM
    if not reason and mode is OutputMode.COMPLETE:
        reason = "INSERT OVERWRITE writes the whole result, which would lose rows"
    if not reason and not any(rewrite.rule == _STATE_TTL_REWRITE for rewrite in analysis.rewrites):
        reason = "a watermark removes it, or it has no operator that can forget"
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"No state of this job can have a time to live: {reason}.",
            hint="Leave out 'stateTtlMillis'. It applies to SELECT DISTINCT, to GROUP BY without a watermark in SINK"
            " INTO a table with 'key.columns', and to JOIN ... ON equal columns of two streams.",
        )


def check_late_rows(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a query whose late rows cannot be kept."""
    if not options.late_rows.startswith(SIDE_TABLE):
        return
    in_real_time = "with the trigger realTime, Spark writes rows before their batch ends"
    reason = _general_refusal(analysis, options, in_real_time) or analysis.late_rows_refusal
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The late rows of this job cannot be kept: {reason}.",
            hint="Late rows are kept for a query with a WATERMARK and one operator with state that uses it. This is"
            " GROUP BY with a window or with the column of the watermark, the removal of duplicates, OVER (ORDER BY"
            " that column), or a join. Leave out 'lateRows' for other queries.",
        )


def late_rows_table(analysis: Analysis, options: Options) -> str:
    """Return the qualified name of the table for late rows; empty to drop them."""
    if not options.late_rows.startswith(SIDE_TABLE):
        return ""
    return side_table_name(analysis.session, options.late_rows.removeprefix(SIDE_TABLE))


def refused_rows_table(analysis: Analysis, options: Options) -> str:
    """Return the qualified name of the table for rows that the sink refuses; empty for a job that stops at them."""
    if not options.sink_on_error.startswith(SIDE_TABLE):
        return ""
    return side_table_name(analysis.session, options.sink_on_error.removeprefix(SIDE_TABLE))


def check_refused_rows(plan: Plan, options: StatementOptions) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a job whose refused rows cannot be kept, at the option's value."""
    if not plan.refused_rows_table:
        if SINK_ON_ERROR_MOST in options.values.given:
            raise StatementError(
                "INVALID_OPTION_VALUE",
                f"The option '{SINK_ON_ERROR_MOST}' applies only to a job with a table for refused rows.",
                place=options.value_place(SINK_ON_ERROR_MOST),
                hint=f"Set '{SINK_ON_ERROR}' = 'table:NAME', or leave out '{SINK_ON_ERROR_MOST}'.",
            )
        return
    refusal = next(_refused_rows_refusals(plan), None)
    if refusal is not None:
        problem, hint = refusal
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The rows that the sink refuses cannot be kept: {problem}.",
            place=options.value_place(SINK_ON_ERROR),
            hint=hint,
        )


def _refused_rows_refusals(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield why the rows that the sinks of a plan refuse cannot be kept, a clause, each with a hint."""
    leave_out = f"Leave out '{SINK_ON_ERROR}'."
    analysis = plan.analysis
    in_real_time = "with the trigger realTime, Spark writes rows before their batch ends"
    if reason := _general_refusal(analysis, plan.options, in_real_time):
        yield reason, leave_out
    for sink in analysis.sinks:
        if name_key(sink.table) == name_key(plan.refused_rows_table):
            yield f"{sink.table} is the table that the job writes", "Name another table, which does not have to exist."
    for source in analysis.sources:
        if name_key(source.name) == name_key(plan.refused_rows_table):
            yield f"{source.name} is a source of the job", "Name another table, which does not have to exist."
    if plan.guarantee is not Guarantee.EXACTLY_ONCE:
        reason = f"the job has the processingGuarantee {plan.guarantee.value}, so a batch can be written partly"
        yield reason, f"{leave_out} It needs exactlyOnce."
    if plan.overwrite or plan.retracts:
        yield "each batch writes the whole result, and would have the same refused rows again", leave_out
    if plan.deletes:
        yield "the job deletes rows of its table, and the order of deletions and refused rows would count", leave_out


def side_table_name(session: CapturedSession, name: str) -> str:
    """Return the qualified name of a table for rows that are not in a job's result. name: with a schema or without"""
    schema = session.schema if session.catalog == SESSION_CATALOG else "default"
    return f"{SESSION_CATALOG}.{name if '.' in name else f'{schema}.{name}'}"


def check_accepted_topics(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a job that reads and writes no topic as a stream."""
    uses_topics = any(source.format == "kafka" for source in analysis.sources) or any(
        traits_of(sink).is_topic for sink in analysis.sinks
    )
    if options.accepted_topics and not (analysis.streaming and uses_topics):
        reason = "reads and writes no Kafka topic" if analysis.streaming else "reads no stream"
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The option '{ACCEPTED_TOPICS}' does not apply to this job: it {reason}.",
            hint="Remove the option.",
        )


def check_commit_group(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a job that reads no topic as a stream."""
    if options.commit_group is None:
        return
    reason = "" if analysis.streaming else _NO_STREAM
    if not reason and not any(source.is_topic for source in analysis.sources):
        reason = "it streams from no table USING kafka"
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"No consumer group can show the offsets of this job: {reason}.",
            hint=f"Leave out '{COMMIT_GROUP}'. It applies to jobs that read a topic with FROM STREAM.",
        )


def _general_refusal(analysis: Analysis, options: Options, in_real_time: str) -> str:
    """Return why an option of streaming queries cannot apply; empty if it may. in_real_time: the trigger's reason."""
    if not analysis.streaming:
        return _NO_STREAM
    return in_real_time if options.trigger is Trigger.REAL_TIME else ""


def check_real_time(analysis: Analysis, options: StatementOptions, verb: Verb, target: Span | None) -> None:
    """Raise StatementError TRIGGER_NOT_POSSIBLE, NO_OUTPUT_MODE, INVALID_OPTION_VALUE at the token at fault."""
    place = options.value_place("trigger")
    refusal = next(_real_time_refusals(analysis), None)
    if refusal is not None:
        raise not_possible(refusal, place)
    _check_verb(analysis, verb, target)
    _check_interval(options)


def _real_time_refusals(analysis: Analysis) -> Iterator[str]:
    """Yield why a job cannot have the trigger realTime, as predicates to "the trigger realTime"."""
    other = next((source for source in analysis.sources if source.format.casefold() != "kafka"), None)
    if other is not None:
        yield f"requires Kafka sources; the format of {other.name} is {other.format}"
    sink = analysis.sink
    if len(analysis.sinks) > 1:
        yield f"requires a job with one table; this one writes {len(analysis.sinks)}"
    if not traits_of(sink).is_topic:
        yield f"requires a Kafka sink; {sink.table} is a table USING {sink.provider}"
    with_dead_letters = next((source for source in analysis.sources if source.has_dead_letters), None)
    if with_dead_letters is not None:
        yield f"does not support dead letters, which 'on.error' of {with_dead_letters.name} requires"
    if analysis.expectations:
        yield "does not support rules for rows: Spark writes rows before their batch ends"
    if analysis.marks_deleted:
        reason = "a batch takes rows back and replaces them together, and here each row is written when it arrives"
        yield f"does not support a result that is updated by changes: {reason}"
    if analysis.batch_part:
        yield f"does not support this query: {analysis.batch_part}"
    by_time = next((rewrite for rewrite in analysis.rewrites if rewrite.rule in _BY_TIME_REWRITES), None)
    if by_time is not None:
        reason = "rows would wait for the watermark, which moves only when a batch ends"
        yield f"does not support {by_time.rule}: {reason}"
    if sink.has_batch_numbers:
        reason = "Spark writes messages before their batch is committed"
        yield f"does not support 'delivery.headers' of {sink.table}: {reason}"


def not_possible(reason: str, place: Span | None, hint: str = "") -> StatementError:
    """Return the error TRIGGER_NOT_POSSIBLE.

    reason: a predicate to "the trigger realTime". hint: what would help without another trigger, a sentence.
    """
    hint = f"{hint} {ALTERNATIVE}".lstrip()
    return StatementError("TRIGGER_NOT_POSSIBLE", f"The trigger realTime {reason}.", place=place, hint=hint)


def _check_verb(analysis: Analysis, verb: Verb, target: Span | None) -> None:
    if verb is Verb.INSERT_OVERWRITE:
        message = "INSERT OVERWRITE is not possible with the trigger realTime: there is never a complete result."
        raise StatementError("NO_OUTPUT_MODE", message, place=target, hint=ALTERNATIVE)
    if verb is Verb.INSERT_INTO and analysis.has_aggregates:
        raise StatementError(
            "NO_OUTPUT_MODE",
            "INSERT INTO needs final rows, and with the trigger realTime the rows of an aggregate are never final:"
            " Spark writes each change immediately.",
            place=target,
            hint=f"Use SINK INTO a table with 'key.columns', whose rows are updated. {ALTERNATIVE}",
        )


def _check_interval(options: StatementOptions) -> None:
    requested = options.values.snapshot_interval_millis
    if requested is not None and requested < MIN_MILLIS:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"With the trigger realTime 'snapshotIntervalMillis' must be at least {MIN_MILLIS}, not {requested}: it is"
            " the duration of a batch, and the end of a batch takes some tenths of a second. Rows do not wait for it.",
            place=options.value_place("snapshotIntervalMillis") or options.value_place("trigger"),
            hint=f"Remove it for the default of {DEFAULT_MILLIS}. After a crash, the rows since the last batch are"
            " written again.",
        )
