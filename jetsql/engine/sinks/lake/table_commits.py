"""The notes in the commits of Delta and Iceberg tables, by which a repeated batch is found in the table.

A commit of a job also stores the id of its writer and the number of the batch: Delta as a transaction of an application
in its log, Iceberg as a property of the table. Both compare the note with the table when they commit, so the second of
two commits of a batch fails, even if a paused engine continues in the middle of it.
"""

from __future__ import annotations

import json
from typing import Any, Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.sinks.partition_overwrite import OVERWRITE_MODE, with_confs
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.model.table_names import quoted_table, split_table

_NONE: Final = -1
_DELTA_CONF: Final = "spark.databricks.delta.write."


class TableCommits(Protocol):
    """The commits of one writer to one table. A batch is written after `find_newest` for the batch."""

    def find_newest(self, session: SparkSession) -> int:
        """Return the newest batch of the writer that is in the table, or -1."""

    def append(self, rows: DataFrame, batch: int) -> int | None:
        """Add the rows of a batch to the table. Return their number, or None if they were not counted."""

    def overwrite(self, rows: DataFrame, batch: int) -> int | None:
        """Replace all rows of the table by those of a batch. Return their number, or None if they were not counted."""

    def run(self, session: SparkSession, statement: str, batch: int) -> None:
        """Run a statement that writes a batch to the table."""


def open_commits(kind: SinkKind, table: str, writer: str, noted: bool) -> TableCommits:
    """Return the commits of a writer to a table. noted: whether they have notes"""
    if not noted:
        return PlainCommits(table)
    return DeltaCommits(table, writer) if kind is SinkKind.DELTA else IcebergCommits(table, writer)


class PlainCommits:
    """Commits without notes, of a job without a guarantee: each run counts its batches from 0 again."""

    def __init__(self, table: str) -> None:
        self._table = quoted_table(table)

    def find_newest(self, session: SparkSession) -> int:
        return _NONE

    def append(self, rows: DataFrame, batch: int) -> None:
        rows.writeTo(self._table).append()

    def overwrite(self, rows: DataFrame, batch: int) -> None:
        rows.writeTo(self._table).overwrite(sf.lit(True))

    def run(self, session: SparkSession, statement: str, batch: int) -> None:
        session.sql(statement)


class DeltaCommits:
    """Commits that note an application id and its newest version in Delta's log."""

    def __init__(self, table: str, writer: str) -> None:
        self._table = quoted_table(table)
        self._writer = writer
        self._parts = json.dumps(split_table(table))
        # Only the first call reads the state of the table; later ones read the commits since this version.
        self._version = self._newest = _NONE

    def find_newest(self, session: SparkSession) -> int:
        appends = java(session).lake.DeltaAppends
        found = json.loads(appends.newest(session._jsparkSession, self._parts, self._writer, self._version))
        self._newest = max(self._newest, found["batch"]) if found["tail"] else found["batch"]
        self._version = found["version"]
        return int(self._newest)

    def append(self, rows: DataFrame, batch: int) -> int | None:
        session = rows.sparkSession
        arguments = (session._jsparkSession, self._parts, self._writer, batch, self._version, rows._jdf)
        count = int(java(session).lake.DeltaAppends.append(*arguments))
        return None if count < 0 else count

    def overwrite(self, rows: DataFrame, batch: int) -> None:
        writer = rows.writeTo(self._table)
        for name, value in self._options(batch).items():
            writer = writer.option(name, value)
        writer.overwrite(sf.lit(True))

    def run(self, session: SparkSession, statement: str, batch: int) -> None:
        confs = {f"{_DELTA_CONF}{name}": value for name, value in self._options(batch).items()}
        with with_confs(session, confs):
            session.sql(statement)

    def _options(self, batch: int) -> dict[str, str]:
        return {"txnAppId": self._writer, "txnVersion": str(batch)}


class IcebergCommits:
    """Commits that note the newest batch of a writer in a property of an Iceberg table."""

    def __init__(self, table: str, writer: str) -> None:
        self._table = quoted_table(table)
        self._writer = writer
        self._parts = json.dumps(split_table(table))
        # Only this writer changes its note; if another engine does, the commit is refused. None: to be read
        self._newest: int | None = None

    def find_newest(self, session: SparkSession) -> int:
        if self._newest is None:
            self._newest = int(self._java(session).newest(session._jsparkSession, self._parts, self._writer))
        return self._newest

    def append(self, rows: DataFrame, batch: int) -> int | None:
        return self._insert("INTO", rows, batch)

    def overwrite(self, rows: DataFrame, batch: int) -> int | None:
        with with_confs(rows.sparkSession, {OVERWRITE_MODE: "STATIC"}):
            return self._insert("OVERWRITE", rows, batch)

    def run(self, session: SparkSession, statement: str, batch: int) -> None:
        self._run(session, statement, batch)

    def _insert(self, verb: str, rows: DataFrame, batch: int) -> int | None:
        view = f"jetsql_rows_{self._writer.replace('-', '_')}"
        rows.createOrReplaceTempView(view)
        try:
            return self._run(rows.sparkSession, f"INSERT {verb} {self._table} BY NAME SELECT * FROM {view}", batch)
        finally:
            rows.sparkSession.catalog.dropTempView(view)

    def _run(self, session: SparkSession, statement: str, batch: int) -> int | None:
        arguments = (session._jsparkSession, self._parts, self._writer, batch, statement)
        self._newest = None  # after an error, the commit may be in the table or not
        count = int(self._java(session).run(*arguments))
        self._newest = batch
        return None if count < 0 else count

    def _java(self, session: SparkSession) -> Any:
        return java(session).lake.IcebergCommits
