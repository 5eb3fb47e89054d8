"""The positions at which a job begins to read its sources: decided by the clause START_MODE, applied by each run.

A position is options of the source's connector, which are used until the checkpoint has offsets:

| source | option |
|---|---|
| Kafka | `startingOffsets` with the offset of each partition |
| Delta | `startingVersion` |

Partitions of a topic that are added later are read from their start. Spark's source of files has no such option, so
each run leaves out the rows of files that were modified before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.lake_starts import VERSION, decide_delta, shown_time
from jetsql.engine.runs.topics.start_offsets import (
    FIRST,
    Offsets,
    check_offsets,
    invalid_start,
    list_offsets,
    offset_client,
)
from jetsql.engine.session.catalog import Catalog
from jetsql.jobs.model.body_analysis import Source
from jetsql.jobs.model.job import Job, Plan, SourceStart
from jetsql.language.objects.start_mode import StartMode, StartPosition
from jetsql.language.tokens import unquote
from jetsql.settings.s3_settings import SCHEME

_OFFSETS: Final = "startingOffsets"
_LITERAL: Final = "Literal"
_MICROS: Final = 1_000_000
# Otherwise Delta refuses a version that the table does not have yet.
_NEXT_VERSION: Final = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"


@dataclass(frozen=True)
class _Decision:
    """A position before it is known what it means for a source."""

    mode: StartMode
    now: int  # the time of the statement, microseconds since the epoch
    since: int | None  # the time of the position, likewise; None for one that names no time
    offsets: Mapping[str, Mapping[str, int]]  # those of the clause


def decide_starts(
    session: SparkSession, catalog: Catalog, plan: Plan, mode: StartMode, now: float
) -> tuple[SourceStart, ...]:
    """Return the positions of the sources of a plan, see `JobRuntime.decide_starts`.

    session: one with the settings of the plan, whose time zone applies to times.
    """
    micros = int(now * _MICROS)
    decision = _Decision(mode, micros, _time(session, mode, micros), _given_offsets(mode))
    starts = tuple(_decide(session, catalog, source, decision) for source in plan.analysis.sources)
    if mode.position is StartPosition.OFFSETS:
        read = {topic for start in starts for topic in _offsets(start)}
        unread = sorted(set(decision.offsets) - read)
        if unread:
            raise invalid_start(
                f"The job does not read the topic {', '.join(unread)}.", f"It reads {', '.join(sorted(read))}."
            )
    return starts


def _decide(session: SparkSession, catalog: Catalog, source: Source, decision: _Decision) -> SourceStart:
    if source.is_topic:
        return _decide_topic(session, catalog, source, decision)
    if decision.mode.position is StartPosition.BEGINNING:
        return SourceStart(source.name, "the beginning")
    if source.format == "delta":
        return decide_delta(session, source, decision.since)
    since = decision.now if decision.since is None else decision.since
    if source.location.startswith(SCHEME):  # the times of files in an object store have whole seconds
        since -= since % _MICROS
    return SourceStart(source.name, f"the files modified since {shown_time(since)}", since_micros=since)


def _decide_topic(session: SparkSession, catalog: Catalog, source: Source, decision: _Decision) -> SourceStart:
    if decision.mode.position is StartPosition.BEGINNING:
        return SourceStart(source.name, "the beginning", {_OFFSETS: "earliest"})
    table = catalog.table(source.name)
    assert table is not None, "the table was read by the analysis"
    with offset_client(session, table) as client:
        partitions = client.partitions()
        if decision.mode.position is StartPosition.OFFSETS:
            begins = check_offsets(client, partitions, decision.offsets)
        elif decision.since is None:
            begins = client.next(partitions)
        else:
            # Kafka's times have milliseconds: the first of a microsecond is the next one.
            begins = client.since(partitions, -(-decision.since // 1000))
    return SourceStart(source.name, f"the {list_offsets(begins)}", {_OFFSETS: json.dumps(begins, sort_keys=True)})


def _given_offsets(mode: StartMode) -> Mapping[str, Any]:
    """Return the offsets of a clause by topic and partition, empty for another position.

    Raises StatementError INVALID_START_MODE.
    """
    if mode.position is not StartPosition.OFFSETS:
        return {}
    try:
        offsets = json.loads(unquote(mode.argument))
        valid = all(
            isinstance(topic, str) and all(number.isdigit() and type(offset) is int for number, offset in each.items())
            for topic, each in offsets.items()
        )
    except (ValueError, AttributeError, RecursionError):
        valid = False
    if not valid:
        raise invalid_start(
            f"{unquote(mode.argument)} are no offsets.",
            'Write a JSON object with the offset of each partition, such as {"orders": {"0": 17, "1": -2}}.',
        )
    return offsets  # type: ignore[no-any-return]


def _time(session: SparkSession, mode: StartMode, now: int) -> int | None:
    """Return the time at which a job begins, microseconds since the epoch; None for one that does not name a time.

    now: the time of the statement, likewise. Raises StatementError INVALID_START_MODE.
    """
    if not mode.argument or mode.position is StartPosition.OFFSETS:
        return None
    parsed = _parse(session, mode.argument)
    value = f"CAST({mode.argument} AS TIMESTAMP)"
    if mode.position is StartPosition.NOW:
        value = f"timestamp_micros({now}) - {mode.argument}"
    try:
        row = session.sql(f"SELECT unix_micros({value})").first() if parsed else None
    except PySparkException:
        row = None
    micros = None if row is None else row[0]
    if micros is None:
        kind = "an interval" if mode.position is StartPosition.NOW else "a timestamp"
        raise invalid_start(f"{mode.argument} is not {kind}.", "Write it as a literal of Spark's SQL.")
    if micros > now:
        raise invalid_start(
            f"{mode.argument} is in the future: it is {shown_time(micros)}, and now it is {shown_time(now)}.",
            "Write a time in the past. The literal of a timestamp is in the time zone of the session.",
        )
    return int(micros)


def _parse(session: SparkSession, text: str) -> bool:
    """Return whether a text is a literal."""
    try:
        parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(text)
    except (PySparkException, Py4JJavaError):
        return False
    return str(parsed.getClass().getSimpleName()) == _LITERAL


def begin_query(session: SparkSession, catalog: Catalog, job: Job, query: Any, has_offsets: bool) -> Any:
    """Return the query of a run whose sources begin at the positions of its job.

    session: of the run. has_offsets: whether a batch was planned, whose offsets count from then on.
    """
    starts = job.version.starts if has_offsets else [_complete(session, catalog, start) for start in job.version.starts]
    positions = {
        start.source: {"options": dict(start.options), "since": start.since_micros}
        for start in starts
        if start.options or start.since_micros is not None
    }
    if any(VERSION in start.options for start in starts):
        session.conf.set(_NEXT_VERSION, "true")
    if not positions:
        return query
    return java(session).bodies.StartPositions.apply(query, json.dumps(positions))


def _complete(session: SparkSession, catalog: Catalog, start: SourceStart) -> SourceStart:
    """Return a position with all partitions that a topic has now: those that were added begin at their start."""
    offsets, table = _offsets(start), catalog.table(start.source)
    if not offsets or table is None:
        return start
    with offset_client(session, table) as client:
        partitions = client.partitions()
    completed = {
        topic: {str(number): offsets.get(topic, {}).get(str(number), FIRST) for number in numbers}
        for topic, numbers in partitions.items()
    }
    return replace(start, options={**start.options, _OFFSETS: json.dumps(completed)})


def _offsets(start: SourceStart) -> Offsets:
    """Return the offsets of a position; empty for one without."""
    text = start.options.get(_OFFSETS, "")
    offsets: Offsets = json.loads(text) if text.startswith("{") else {}
    return offsets
