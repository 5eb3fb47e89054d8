"""The requirements of the trigger realTime.

Spark's real-time mode reads Kafka, processes each row when it arrives and writes it to Kafka immediately. The end of a
batch only commits the progress. So there are no final rows, no complete results and no transactions. The checks that
need Spark are in `Engine.check_real_time`.
"""

from __future__ import annotations

from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, SinkKind
from jetsql.jobs.planning.options import Options
from jetsql.language.statement import Verb

# Spark's minimum (spark.sql.streaming.realTimeMode.minBatchDuration): rows that arrive at the end of a batch wait.
MIN_MILLIS: Final = 5_000
# With batches of 5 s, every hundredth row waits for the end of a batch; with batches of 60 s, no row does.
DEFAULT_MILLIS: Final = 60_000
ALTERNATIVE: Final = "Use the trigger 'interval', with a small 'snapshotIntervalMillis' for low latency."


def check_real_time(analysis: Analysis, options: Options, verb: Verb, target: Span | None) -> None:
    """Raise StatementError TRIGGER_NOT_POSSIBLE, NO_OUTPUT_MODE, INVALID_OPTION_VALUE at the token at fault."""
    place = options.value_place("trigger")
    other = next((source for source in analysis.sources if source.format.casefold() != "kafka"), None)
    if other is not None:
        raise not_possible(f"requires Kafka sources; the format of {other.name} is {other.format}", place)
    sink = analysis.sink
    if analysis.more_sinks:
        raise not_possible(f"requires a job with one table; this one writes {len(analysis.sinks)}", place)
    if sink.kind is not SinkKind.KAFKA:
        raise not_possible(f"requires a Kafka sink; {sink.table} is a table USING {sink.provider}", place)
    lettered = next((source for source in analysis.sources if source.has_dead_letters), None)
    if lettered is not None:
        raise not_possible(f"does not support dead letters, which 'on.error' of {lettered.name} requires", place)
    if analysis.marks_deleted:
        raise not_possible("does not support a result that is updated by changes, which needs batches", place)
    if sink.has_batch_numbers:
        reason = "Spark writes messages before their batch is committed"
        raise not_possible(f"does not support 'delivery.headers' of {sink.table}: {reason}", place)
    _check_verb(analysis, verb, target)
    _check_interval(options)


def not_possible(reason: str, place: Span | None) -> StatementError:
    """Return the error TRIGGER_NOT_POSSIBLE. reason: a predicate to "the trigger realTime"."""
    return StatementError("TRIGGER_NOT_POSSIBLE", f"The trigger realTime {reason}.", place=place, hint=ALTERNATIVE)


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


def _check_interval(options: Options) -> None:
    requested = options.snapshot_interval_millis
    if requested is not None and requested < MIN_MILLIS:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"With the trigger realTime 'snapshotIntervalMillis' must be at least {MIN_MILLIS}, not {requested}: it is"
            " the duration of a batch, and the end of a batch takes some tenths of a second. Rows do not wait for it.",
            place=options.value_place("snapshotIntervalMillis") or options.value_place("trigger"),
            hint=f"Remove it for the default of {DEFAULT_MILLIS}. After a crash, the rows since the last batch are"
            " written again.",
        )
