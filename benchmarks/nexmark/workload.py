"""The tables and views that the queries read, their jobs, and the comparison of a result with that of batch.

Two schemas have the same tables and views. In `nexmark`, the views read streams; in `nexmark_batch`, they read the
whole table. So the text of a query is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.nexmark.query import Query

STREAM, BATCH = "nexmark", "nexmark_batch"
COLUMNS = (
    "event_type INT, "
    "person STRUCT<id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, city: STRING, state: STRING,"
    " dateTime: TIMESTAMP, extra: STRING>, "
    "auction STRUCT<id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT, reserve: BIGINT,"
    " dateTime: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT, extra: STRING>, "
    "bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING, dateTime: TIMESTAMP,"
    " extra: STRING>"
)
TIME = "CASE WHEN event_type = 0 THEN person.dateTime WHEN event_type = 1 THEN auction.dateTime ELSE bid.dateTime END"
DELAY = "4 seconds"
# The condition on the time leaves the closing events out. Spark applies it after the watermark, which they advance.
_OPEN = "dateTime < TIMESTAMP'2100-01-01 00:00:00'"
VIEWS = {
    "person": "SELECT person.id, person.name, person.emailAddress, person.creditCard, person.city, person.state,"
    f" dateTime, person.extra FROM events WHERE event_type = 0 AND {_OPEN}",
    "auction": "SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve,"
    " dateTime, auction.expires, auction.seller, auction.category, auction.extra"
    f" FROM events WHERE event_type = 1 AND {_OPEN}",
    "bid": "SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra"
    f" FROM events WHERE event_type = 2 AND {_OPEN}",
}
WITHOUT_WATERMARK = {
    f"{name}_without_watermark": VIEWS[name].replace("events", "all_events") for name in ("auction", "bid")
}
"""The views of joins that are bounded by the end of an auction. It is no column of a watermark, and Spark would remove
auctions that are still open from the state by their beginning; JetSQL refuses such joins."""
_COUNT_CHAR = "(text STRING, letter STRING) RETURNS INT RETURN length(text) - length(replace(text, letter, ''))"
_OPTIONS = (
    "'trigger' = 'availableNow', 'processingGuarantee' = 'exactlyOnce', 'storeMetricsAfterJobCompletion' = 'true'"
)


@dataclass(frozen=True)
class Difference:
    """The comparison of a job's result with that of the same query over the whole table."""

    rows: int
    """The number of rows that the job has written."""
    missing: int
    """The number of rows that the job has not written."""
    extra: int
    """The number of rows that only the job has."""


class Workload:
    """The queries over one folder of events, in one engine."""

    def __init__(
        self,
        run: Callable[[str], list[tuple[Any, ...]]],
        files: Path,
        files_in_batch: int,
        sink_format: str = "parquet",
        sink_schema: str = STREAM,
    ) -> None:
        self._run = run
        self._files = files
        self._files_in_batch = files_in_batch
        self._sink_format = sink_format
        self._sink_schema = sink_schema

    def _sink(self, query: Query) -> str:
        return f"{self._sink_schema}.{query.name}"

    def create(self) -> None:
        """Create both schemas."""
        source = f"FROM STREAM {STREAM}.nexmark WITH ('maxFilesPerTrigger' = '{self._files_in_batch}')"
        stream = (
            f"SELECT event_type, person, auction, bid, dateTime {source}"
            f" WATERMARK {TIME} AS dateTime DELAY OF INTERVAL {DELAY}"
        )
        batch = f"SELECT *, {TIME} AS dateTime FROM {BATCH}.nexmark"
        for schema, events, all_events in (
            (STREAM, stream, f"SELECT *, {TIME} AS dateTime {source}"),
            (BATCH, batch, batch),
        ):
            self._run(f"CREATE SCHEMA {schema}")
            self._run(f"USE {schema}")
            self._run(f"CREATE TABLE nexmark ({COLUMNS}) USING json LOCATION '{self._files}'")
            self._run(f"CREATE VIEW events AS {events}")
            self._run(f"CREATE VIEW all_events AS {all_events}")
            for name, query in {**VIEWS, **WITHOUT_WATERMARK}.items():
                self._run(f"CREATE VIEW {name} AS {query}")
            self._run("CREATE TABLE side_input USING parquet AS SELECT id AS key, hex(id) AS value FROM range(10000)")
            self._run(f"CREATE FUNCTION count_char{_COUNT_CHAR}")

    def drop(self) -> None:
        """Drop both schemas."""
        self._run("USE default")
        for schema in (STREAM, BATCH):
            self._run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")

    def create_sink(self, query: Query) -> None:
        """Create the table that a query writes to, with the columns of the query."""
        self._run(f"USE {BATCH}")
        columns = ", ".join(f"{name} {kind}" for name, kind, *_ in self._run(f"DESCRIBE QUERY {query.select}"))
        partitions = f" PARTITIONED BY ({query.partitions})" if query.partitions else ""
        keys = f" TBLPROPERTIES ('key.columns' = '{query.keys}')" if query.keys else ""
        self._run(f"CREATE TABLE {self._sink(query)} ({columns}) USING {self._sink_format}{partitions}{keys}")

    def drop_sink(self, query: Query) -> None:
        """Drop the table of a query."""
        self._run(f"DROP TABLE {self._sink(query)}")

    def start(self, query: Query) -> None:
        """Create the job of a query, which ends when it has read all files."""
        self._run(f"USE {STREAM}")
        self._run(f"CREATE JOB {query.name} OPTIONS ({_OPTIONS}) AS {query.into(self._sink(query))}")

    def wait(self, query: Query) -> None:
        """Wait until the job of a query has read all files."""
        self._run(f"WAIT FOR JOB {query.name} UNTIL COMPLETED")

    def select(self, query: Query) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the whole table."""
        self._run(f"USE {BATCH}")
        return self._run(query.select)

    def compare(self, query: Query) -> Difference:
        """Count the rows that EXCEPT ALL finds in both directions, with one reading of each side."""
        self._run(f"USE {BATCH}")
        names = ", ".join(name for name, *_ in self._run(f"DESCRIBE QUERY {query.compared(self._sink(query))}"))
        [(rows, missing, extra)] = self._run(
            f"""WITH expected AS (\n{query.select}\n), both AS (
  SELECT *, 1 AS job, 0 AS batch FROM ({query.compared(self._sink(query))})
  UNION ALL SELECT *, 0, 1 FROM ({query.compared("expected")})
), counted AS (SELECT sum(job) AS job, sum(batch) AS batch FROM both GROUP BY {names})
SELECT sum(job), sum(greatest(batch - job, 0)), sum(greatest(job - batch, 0)) FROM counted"""
        )
        return Difference(int(rows or 0), int(missing or 0), int(extra or 0))
