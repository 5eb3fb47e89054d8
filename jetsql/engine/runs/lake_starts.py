"""The versions of Delta tables at which a job begins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from pyspark.sql import SparkSession

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Source
from jetsql.jobs.model.job import SourceStart
from jetsql.jobs.model.table_names import quoted_table

VERSION: Final = "startingVersion"
_MICROS: Final = 1_000_000


def decide_delta(session: SparkSession, source: Source, since: int | None) -> SourceStart:
    """Return the first version since a time, or the next one. since: microseconds since the epoch; None for now"""
    history = session.sql(f"DESCRIBE HISTORY {quoted_table(source.name)}")
    facts = "max(version) newest, min(version) oldest, unix_micros(min(timestamp)) began"
    found = (
        "CAST(NULL AS BIGINT)" if since is None else f"min(version) FILTER (WHERE unix_micros(timestamp) >= {since})"
    )
    row = history.selectExpr(*facts.split(", "), f"{found} found").first()
    assert row is not None, "an aggregate has one row"
    if since is not None and row.oldest > 0 and since < row.began:
        raise _is_gone(source, row.began)
    version = row.newest + 1 if row.found is None else row.found
    meaning = "the next one" if row.found is None or since is None else f"the first one since {shown_time(since)}"
    return SourceStart(source.name, f"version {version} ({meaning})", {VERSION: str(version)})


def _is_gone(source: Source, began: int) -> StatementError:
    return StatementError(
        "START_NOT_POSSIBLE",
        f"The job cannot begin at this time: the changes of {source.name} before {shown_time(began)} are removed.",
        hint="Begin at a later time. A job over the whole table needs a table with all of its changes, or reads the"
        " rows that are there first, with INSERT INTO.",
    )


def shown_time(micros: int) -> str:
    """Return a time since the epoch in UTC, for messages."""
    return datetime.fromtimestamp(micros / _MICROS, UTC).isoformat(timespec="milliseconds")
