"""The notes in the commits of Delta and Iceberg tables, by which a repeated batch is found in the table.

A commit of a job also stores the id of its writer and the number of the batch. Delta keeps the newest number of each
writer with the table, and lets the second of two commits with the same writer fail. Iceberg keeps the summary of each
snapshot until the snapshot expires. So the job stores the current snapshot before it writes a batch: if the batch is
repeated, and the history no longer reaches back to this snapshot, it is unknown whether the batch is in the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.sinks import SinkContext
from jetsql.engine.sinks.batch_records import BatchRecord, BatchRecords
from jetsql.errors import StatementError
from jetsql.jobs.model.job import SinkKind
from jetsql.jobs.model.table_names import quoted_table, split_table

_NONE: Final = -1
_DELTA_CONF: Final = "spark.databricks.delta.write."
_ICEBERG_CONF: Final = "spark.sql.iceberg."


@dataclass(frozen=True)
class Intent(BatchRecord):
    """The state of an Iceberg table before a batch is written."""

    snapshot: int
    """The id of the table's current snapshot, or -1 for an empty table."""


class Intents(BatchRecords[Intent]):
    """The intents of one sink."""

    def _parse(self, fields: dict[str, Any]) -> Intent:
        return Intent(int(fields["batch"]), int(fields["snapshot"]))


class CommitNotes(Protocol):
    """The notes of one job's sink."""

    def find_newest(self, session: SparkSession, batch: int) -> int:
        """Return the newest batch of the job that is in the table, or -1.

        session: one that sees the table. batch: the batch that is about to be written.
        Raises StatementError PENDING_BATCH_FAILED if it is unknown whether the batch is in the table.
        """

    def store_intent(self, batch: int) -> None:
        """Store what `find_newest` needs if the batch is repeated, after a call of it for the batch."""

    def append(self, rows: DataFrame, batch: int) -> int | None:
        """Add rows to the table in one commit with the note of a batch, after `find_newest` for the batch.

        Return the row count, or None if it was not counted.
        """

    def writer_options(self, batch: int) -> dict[str, str]:
        """Return the options of Spark's writer that add the note of a batch to its commit."""

    def statement_confs(self, batch: int) -> dict[str, str]:
        """Return the settings of a session that add the note of a batch to the commits of its statements."""


def open_notes(context: SinkContext) -> CommitNotes:
    """Return the notes of the sink of a job."""
    is_delta = context.job.plan.analysis.sink.kind is SinkKind.DELTA
    return DeltaNotes(context) if is_delta else IcebergNotes(context)


class DeltaNotes:
    """The notes in Delta's log: an application id and its newest version."""

    def __init__(self, context: SinkContext) -> None:
        self._writer = context.writer_id
        self._parts = json.dumps(split_table(context.job.plan.analysis.sink.table))
        # Only the first call reads the state of the table; later ones read the commits since this version.
        self._version = self._newest = _NONE

    def find_newest(self, session: SparkSession, batch: int) -> int:
        appends = java(session).sql.DeltaAppends
        found = json.loads(appends.newest(session._jsparkSession, self._parts, self._writer, self._version))
        self._newest = max(self._newest, found["batch"]) if found["tail"] else found["batch"]
        self._version = found["version"]
        return int(self._newest)

    def store_intent(self, batch: int) -> None:
        """Do nothing: Delta's notes do not expire."""

    def append(self, rows: DataFrame, batch: int) -> int | None:
        session = rows.sparkSession
        arguments = (session._jsparkSession, self._parts, self._writer, batch, self._version, rows._jdf)
        count = int(java(session).sql.DeltaAppends.append(*arguments))
        return None if count < 0 else count

    def writer_options(self, batch: int) -> dict[str, str]:
        return {"txnAppId": self._writer, "txnVersion": str(batch)}

    def statement_confs(self, batch: int) -> dict[str, str]:
        return {f"{_DELTA_CONF}{name}": value for name, value in self.writer_options(batch).items()}


class IcebergNotes:
    """The notes in the summaries of Iceberg's snapshots."""

    def __init__(self, context: SinkContext) -> None:
        self._table = context.job.plan.analysis.sink.table
        self._writer = context.writer_id
        self._parts = json.dumps(split_table(self._table))
        checkpoints = context.checkpoints
        self._intents = Intents(checkpoints.intents_folder(context.job.id, context.number), checkpoints.files)
        self._snapshot = _NONE

    def find_newest(self, session: SparkSession, batch: int) -> int:
        intent = self._intents.read(batch)
        found = self._find(session, _NONE if intent is None else intent.snapshot)
        self._snapshot = found["snapshot"]
        if intent is not None and found["batch"] == _NONE and not found["complete"]:
            raise StatementError(
                "PENDING_BATCH_FAILED",
                f"JetSQL cannot determine whether batch {batch} is in {self._table}: the snapshots since the job began"
                " to write it have expired or were rolled back. Nothing was written.",
                hint="Compare the table with the source. Then run DROP JOB and CREATE JOB.",
                where=self._table,
            )
        return int(found["batch"])

    def store_intent(self, batch: int) -> None:
        self._intents.write(Intent(batch, self._snapshot))

    def append(self, rows: DataFrame, batch: int) -> int | None:
        writer = rows.writeTo(quoted_table(self._table))
        for name, value in self.writer_options(batch).items():
            writer = writer.option(name, value)
        writer.append()
        return int(self._find(rows.sparkSession, self._snapshot)["rows"])

    def writer_options(self, batch: int) -> dict[str, str]:
        return {"snapshot-property.jetsql.job": self._writer, "snapshot-property.jetsql.batch": str(batch)}

    def statement_confs(self, batch: int) -> dict[str, str]:
        return {f"{_ICEBERG_CONF}{name}": value for name, value in self.writer_options(batch).items()}

    def _find(self, session: SparkSession, until: int) -> dict[str, Any]:
        notes = java(session).sql.CommitNotes
        found: dict[str, Any] = json.loads(notes.inIceberg(session._jsparkSession, self._parts, self._writer, until))
        return found
