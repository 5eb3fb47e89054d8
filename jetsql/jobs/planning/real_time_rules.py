"""What the trigger realTime asks of a job. Pure.

Spark's real-time mode reads Kafka, works on each row as it comes and writes it to Kafka at once; a batch is only how
often it notes how far it is. So it knows no final rows, no whole results and no transactions. What only Spark can tell
of a query is asked of the engine, see `Engine.check_real_time`.
"""

from __future__ import annotations

from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import Analysis, SinkKind
from jetsql.jobs.planning.options import Options
from jetsql.language.statement import Verb

# Spark's own least and its own setting (spark.sql.streaming.realTimeMode.minBatchDuration): the end of a batch is a
# pause for the rows that come then.
LEAST_MILLIS: Final = 5_000
# With batches of 5 s, every hundredth row waits for the end of one; with 60 s none of them does.
DEFAULT_MILLIS: Final = 60_000
WAY_OUT: Final = "Use the trigger 'interval', with a small 'snapshotIntervalMillis' where rows are wanted soon."


def check_real_time(analysis: Analysis, options: Options, verb: Verb, target: Span | None) -> None:
    """Raise StatementError TRIGGER_NOT_POSSIBLE, NO_OUTPUT_MODE, INVALID_OPTION_VALUE at what is at fault."""
    place = options.value_place("trigger")
    other = next((source for source in analysis.sources if source.format.casefold() != "kafka"), None)
    if other is not None:
        raise not_possible(f"needs Kafka as source; {other.name} is read as {other.format}", place)
    sink = analysis.sink
    if sink.kind is not SinkKind.KAFKA:
        raise not_possible(f"writes Kafka only; {sink.table} is a table USING {sink.provider}", place)
    lettered = next((source for source in analysis.sources if source.has_dead_letters), None)
    if lettered is not None:
        raise not_possible(f"keeps no dead letters, and 'on.error' of {lettered.name} has them go to a table", place)
    if sink.has_batch_numbers:
        why = "Spark writes messages before their batch is noted"
        raise not_possible(f"can't do what 'delivery.headers' of {sink.table} asks: {why}", place)
    _check_verb(analysis, verb, target)
    _check_interval(options)


def not_possible(why: str, place: Span | None) -> StatementError:
    """why: a predicate to "the trigger realTime"."""
    return StatementError("TRIGGER_NOT_POSSIBLE", f"The trigger realTime {why}.", place=place, hint=WAY_OUT)


def _check_verb(analysis: Analysis, verb: Verb, target: Span | None) -> None:
    if verb is Verb.INSERT_OVERWRITE:
        message = "INSERT OVERWRITE is not possible with the trigger realTime: there is never a whole result."
        raise StatementError("NO_OUTPUT_MODE", message, place=target, hint=WAY_OUT)
    if verb is Verb.INSERT_INTO and analysis.has_aggregates:
        raise StatementError(
            "NO_OUTPUT_MODE",
            "INSERT INTO adds rows that are final, and with the trigger realTime the rows of an aggregate never are:"
            " each change is given out at once.",
            place=target,
            hint=f"Use SINK INTO a table with 'key.columns', whose rows are updated. {WAY_OUT}",
        )


def _check_interval(options: Options) -> None:
    requested = options.snapshot_interval_millis
    if requested is not None and requested < LEAST_MILLIS:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"With the trigger realTime 'snapshotIntervalMillis' is at least {LEAST_MILLIS}, not {requested}: it is how"
            " long a batch lasts, whose end is a pause of some tenths of a second. Rows don't wait for it.",
            place=options.value_place("snapshotIntervalMillis") or options.value_place("trigger"),
            hint=f"Leave it out for {DEFAULT_MILLIS}: after a crash, what came since the last batch is written again.",
        )
