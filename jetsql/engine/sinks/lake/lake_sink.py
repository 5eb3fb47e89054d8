"""Exactly-once writes to Delta and Iceberg tables: each batch is one commit, which also notes the job and the batch.

A batch whose note is in the table is read to its end and not written. Readers see all rows of a batch or none. A commit
that fails because another program has changed the same rows, such as one that compacts files, is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyspark.sql import DataFrame

from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.throwables import causes, class_name, throwable_of
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, consume_rows, stored_rows
from jetsql.engine.sinks.file_sizing import BatchFiles
from jetsql.engine.sinks.lake.merge import DELETED, Merge, count_unique, has_distinct_keys, mark_deletions
from jetsql.engine.sinks.lake.table_commits import open_commits
from jetsql.engine.sinks.partition_overwrite import overwrite_confs, with_confs
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.model.table_names import join_table, split_table
from jetsql.jobs.planning.sink_traits import replaces_part
from jetsql.language.tokens import quoted_name

DELETE_WHEN: Final = "delete.when"
"""The table property with a condition: rows of SINK INTO that meet it delete their key."""

T = TypeVar("T")
_ATTEMPTS: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.1
_PART_OF_FILE: Final = "some, but not all, rows match"
"""The words of Iceberg's error for a condition of REPLACE WHERE that not all rows of a file meet."""
_SAME_WRITER: Final = "ConcurrentTransactionException"
_CONFLICTS: Final = frozenset(
    {
        "CommitFailedException",
        "ConcurrentAppendException",
        "ConcurrentDeleteDeleteException",
        "ConcurrentDeleteReadException",
        "ConcurrentWriteException",
        "MetadataChangedException",
        "NotFoundException",
        "ProtocolChangedException",
        "ValidationException",
    }
)
"""The exceptions of Delta and Iceberg for a commit that another one has overtaken, or whose files that one removed."""


class LakeSink(BatchWriter):
    """The writer of one job's batches to a Delta or Iceberg table.

    VACUUM or remove_orphan_files removes the files of a commit that failed.
    """

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._plan = context.sink_plan
        self._sink = context.sink_plan.sink
        is_noted = context.sink_plan.guarantee is Guarantee.EXACTLY_ONCE
        self._commits = open_commits(self._sink.kind, self._sink.table, context.writer_id, is_noted)
        self._batch_files = BatchFiles(context.single_file_bytes, context.sink_plan.has_state)
        self._types: dict[str, str] = {}
        self._has_distinct_keys = False

    def recover(self) -> None:
        table = self._context.catalog.require_sink_table(self._sink)
        self._types = _types(table)
        context, plan = self._context, self._plan
        if plan.upsert and not plan.retracts and context.query is not None:
            self._has_distinct_keys = has_distinct_keys(context.query, context.spark, self._sink)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = self._context.catalog.require_sink_table(self._sink)
        rows = self._known_columns(rows)
        self._check_columns(rows, table)
        if self._has_batch(rows, batch):
            consume_rows(rows)
            return None
        failpoint("lake-batch-checked", self._context.job.name)
        count = self._merge(rows, batch, table) if self._plan.upsert else self._insert(rows, batch)
        failpoint("lake-committed", self._context.job.name)
        for name in _names(self._sink.table):
            self._context.catalog.refresh(name, self._sink.location)
        return count

    def has_batch(self, batch: int) -> bool:
        return self._commits.find_newest(self._context.spark) >= batch

    def _has_batch(self, rows: DataFrame, batch: int) -> bool:
        newest = self._commits.find_newest(rows.sparkSession)
        if newest > batch:
            raise StatementError(
                "SINK_CHANGED",
                f"{self._sink.table} already has batch {newest} of this job, and the job's checkpoint is at batch"
                f" {batch}, so the checkpoint is an older copy. Nothing was written.",
                hint="Restore the newest checkpoint, or run DROP JOB and CREATE JOB.",
                where=self._sink.table,
            )
        return newest == batch

    def _known_columns(self, rows: DataFrame) -> DataFrame:
        """Return the rows without columns that were added to the table, which Spark's analyzer fills with NULL."""
        known = {name.lower() for name in (*self._sink.columns, DELETED)}
        names = [name for name in rows.columns if name.lower() in known]
        return rows if len(names) == len(rows.columns) else rows.select(*map(quoted_name, names))

    def _check_columns(self, rows: DataFrame, table: TableFacts) -> None:
        """Raise StatementError SINK_CHANGED for a column that was dropped, renamed or changed since the run began."""
        now = _types(table)
        for name in rows.columns:
            key = name.lower()
            if name == DELETED or now.get(key) == self._types.get(key, now.get(key)) is not None:
                continue
            change = f"has another type now, {now[key]}" if key in now else "was dropped or renamed"
            raise StatementError(
                "SINK_CHANGED",
                f"The column {name} of {self._sink.table} {change}. Nothing was written.",
                hint="Undo the change and RESUME JOB, or run CREATE OR REPLACE JOB with a query that fits the table.",
                where=self._sink.table,
            )

    def _insert(self, rows: DataFrame, batch: int) -> int | None:
        if replaces_part(self._sink):
            self._replace_part(rows, batch)
            return None
        files = self._batch_files.merge_if_small(rows)
        write = self._commits.overwrite if self._plan.overwrite else self._commits.append
        return self._commit(batch, lambda: write(files, batch))

    def _replace_part(self, rows: DataFrame, batch: int) -> None:
        """Run the statement of a batch job that replaces partitions, or the rows that meet a condition."""
        session = rows.sparkSession
        with with_confs(session, overwrite_confs(self._sink)):
            self._commit(batch, lambda: self._commits.run(session, self._context.job.body.spark_text, batch))

    def _merge(self, rows: DataFrame, batch: int, table: TableFacts) -> int:
        session = rows.sparkSession
        columns = [name for name in rows.columns if name != DELETED]
        has_marks, condition = self._plan.deletes or self._plan.retracts, table.option(DELETE_WHEN)
        if has_marks:
            changes = rows.toDF(*columns, DELETED)
        else:
            changes = mark_deletions(rows, condition) if condition else rows
        known = {name.lower() for name in columns}
        new_columns = [name for name in table.columns if name.lower() not in known]
        merge = Merge(self._sink, columns, has_marks or bool(condition), new_columns)
        view = f"jetsql_batch_{self._context.writer_id.replace('-', '_')}"
        with stored_rows(changes) as stored:
            try:
                count = None if self._has_distinct_keys else count_unique(stored, self._sink, batch)
                stored.createOrReplaceTempView(view)
                self._commit(batch, lambda: self._commits.run(session, merge.statement(view), batch))
                return int(java(session).stream.Batches.countStored(stored._jdf)) if count is None else count
            finally:
                session.catalog.dropTempView(view)

    def _commit(self, batch: int, commit: Callable[[], T]) -> T:
        """Call a function that commits a batch, again after a conflict. Raises StatementError DELIVERY_INTERRUPTED."""
        pause = _FIRST_PAUSE_SECONDS
        for attempt in range(1, _ATTEMPTS + 1):
            JobLease(self._context.checkpoints, self._context.job).check()
            try:
                return commit()
            except Exception as error:  # errors of Spark and Py4J have no other common base class
                throwables = list(causes(throwable_of(error)))
                if any(_PART_OF_FILE in str(each.getMessage()) for each in throwables):
                    raise self._partial() from error
                conflict = _find_conflict(throwables)
                if conflict is None:
                    raise
                if conflict == _SAME_WRITER:
                    raise self._interrupted(
                        f"another run of the job wrote batch {batch} at the same time", "JetSQL retries the batch."
                    ) from error
                if attempt == _ATTEMPTS:
                    raise self._interrupted(
                        "another program changed the same rows, at each attempt",
                        "JetSQL retries the batch. Let the other program run less often, or change only rows and"
                        " partitions that the job does not write.",
                    ) from error
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _partial(self) -> StatementError:
        return StatementError(
            "UNSUPPORTED_QUERY",
            f"Only some rows of a file of {self._sink.table} meet the condition of REPLACE WHERE, and Iceberg replaces"
            " whole files. Nothing was written.",
            hint="Use a condition on the columns of PARTITIONED BY, or DELETE FROM and INSERT INTO.",
            where=self._sink.table,
        )

    def _interrupted(self, reason: str, hint: str) -> StatementError:
        return StatementError(
            "DELIVERY_INTERRUPTED",
            f"The batch was not written to {self._sink.table}: {reason}.",
            hint=hint,
            where=self._sink.table,
        )


def _names(table: str) -> tuple[str, ...]:
    """Return the names by which sessions read a table. A branch of Iceberg, `t.branch_x`, is read by the name `t`."""
    parts = split_table(table)
    return (table, join_table(parts[:-1])) if parts[-1].lower().startswith("branch_") else (table,)


def _types(table: TableFacts) -> dict[str, str]:
    return dict(zip((name.lower() for name in table.columns), table.types, strict=True))


def _find_conflict(throwables: list[Any]) -> str | None:
    """Return the class of the first conflict in an error and its causes, without its package, or None."""
    names = (class_name(each).rpartition(".")[2] for each in throwables)
    return next((name for name in names if name in _CONFLICTS or name == _SAME_WRITER), None)
