"""The measured queries in PySpark, as a careful author writes them without JetSQL.

Spark runs the text of some queries. The others are rewritten with aggregates, which Spark can run over streams.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.nexmark.query import load
from benchmarks.nexmark.workload import COLUMNS, DELAY, TIME, VIEWS

_WINNING = """
SELECT a.id, a.category, {aggregate} AS best
FROM auction a JOIN bid b ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
GROUP BY a.id, a.category
"""
_BID = "struct(auction, bidder, price, channel, url, dateTime, extra)"
_WINNER = (
    "max_by(struct(a.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra),"
    " struct(b.price, -unix_micros(b.dateTime)))"
)


@dataclass(frozen=True)
class Rewrite:
    """A query in two parts, because Spark cannot run an INSERT OVERWRITE over a stream as one."""

    stream: str
    """The query over the stream, whose whole result each batch has."""
    batch: str = "SELECT * FROM result"
    """The query over this result, named `result`."""


REWRITES = {
    "q4": Rewrite(
        _WINNING.format(aggregate="max(b.price)"), "SELECT category, avg(best) AS final FROM result GROUP BY category"
    ),
    "q9": Rewrite(_WINNING.format(aggregate=_WINNER), "SELECT best.* FROM result"),
    "q17": Rewrite(load("q17").select),
    "q18": Rewrite(
        f"SELECT max_by({_BID}, dateTime) AS best FROM bid GROUP BY bidder, auction", "SELECT best.* FROM result"
    ),
}


class ByHand:
    """A Spark session that runs queries with `writeStream`."""

    def __init__(self, session: Any, files: Path, files_in_batch: int, folder: Path) -> None:
        self._session = session
        self._files = files
        self._files_in_batch = files_in_batch
        self._folder = folder

    def create_views(self) -> None:
        """Create the views over the events as temporary views of the session."""
        stream = self._session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", self._files_in_batch)
        events = stream.json(str(self._files)).selectExpr("*", f"{TIME} AS dateTime").withWatermark("dateTime", DELAY)
        events.createOrReplaceTempView("events")
        for name, query in VIEWS.items():
            self._session.sql(query).createOrReplaceTempView(name)

    def run(self, name: str) -> list[dict[str, Any]]:
        """Run a query until it has read all files, and return the progress of its batches."""
        rewrite = REWRITES.get(name)
        frame = self._session.sql(rewrite.stream if rewrite else load(name).select)
        writer = frame.writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self._folder / name / "checkpoint"))
        if rewrite:
            writer = self._overwrite(writer, name, rewrite.batch)
        else:
            writer = writer.outputMode("append").format("parquet").option("path", str(self._sink(name)))
        query = writer.start()
        query.awaitTermination()
        return list(query.recentProgress)

    def _overwrite(self, writer: Any, name: str, batch: str) -> Any:
        def replace(result: Any, _: int) -> None:
            result.createOrReplaceTempView("result")
            result.sparkSession.sql(batch).write.mode("overwrite").parquet(str(self._sink(name)))

        return writer.outputMode("complete").foreachBatch(replace)

    def result(self, name: str) -> Any:
        """Return the written rows as a DataFrame."""
        return self._session.read.parquet(str(self._sink(name)))

    def clean(self, name: str) -> None:
        """Delete the files of a run."""
        shutil.rmtree(self._folder / name)

    def _sink(self, name: str) -> Path:
        return self._folder / name / "sink"
