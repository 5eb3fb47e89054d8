"""INSERT OVERWRITE of a whole file table: each result is a new folder, which a change of the location makes visible.

Spark's own overwrite deletes the old rows before it writes the new ones, so a concurrent reader sees no rows, or fails
on missing files. With JetSQL a reader sees the old result or the new one. Replaced snapshots are kept for a while for
queries that still read them, and so is the folder that the table was created with. All of them are deleted after the
job is dropped, so that DROP TABLE and CREATE TABLE can use the folder again.
"""

from __future__ import annotations

import time
from itertools import pairwise

from pyspark.sql import DataFrame

from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, consume_rows
from jetsql.engine.sinks.file_sizing import BatchFiles
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job_options import Guarantee


class TableSnapshots(BatchWriter):
    """The writer of one job's results, each of which replaces the previous one."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._files = context.checkpoints.files
        self._sink = context.sink_plan.sink
        self._folder = snapshots_folder(self._sink.location)
        self._batch_files = BatchFiles(context.single_file_bytes, context.sink_plan.has_state)
        self._replaced_at: dict[str, float] = {}

    def recover(self) -> None:
        self._delete_replaced(self._table().location)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = self._table()
        target = f"{self._folder}/{self._snapshot_name(batch)}"
        if table.location == target:
            consume_rows(rows)
            return None
        self._batch_files.write(rows, table, target)
        failpoint("result-staged", self._context.job.name)
        self._table()
        self._context.check_leader()
        self._context.catalog.set_location(self._sink.table, target)
        failpoint("table-moved", self._context.job.name)
        self._replaced_at.pop(target, None)
        self._context.catalog.refresh(self._sink.table, target)
        self._delete_replaced(target)
        return None

    def has_batch(self, batch: int) -> bool:
        return self._table().location == f"{self._folder}/{self._snapshot_name(batch)}"

    def discard(self) -> None:
        table = self._context.catalog.table(self._sink.table)
        if table is None and not self._sink.managed:
            return  # DROP TABLE leaves the rows of an external table to the owner of the folder
        current = table.location if table is not None else ""
        # Another table with the same name may use the folder that the job's table was created with.
        is_job_table = table is None or current.startswith(f"{self._folder}/")
        replaced = self._replaced(current, with_original=is_job_table)
        if table is None and self._own_snapshots():
            # The table was dropped or renamed, and a renamed table has its rows in the newest snapshot.
            replaced.pop()
        for path in replaced:
            self._files.delete(path)
        if not self._files.list_names(self._folder):
            self._files.delete(self._folder)

    def _table(self) -> TableFacts:
        """Return the table, whose location may be any snapshot of this job.

        There may be hundreds of snapshots, so they are not listed. Raises StatementError SINK_CHANGED.
        """
        return self._context.catalog.require_sink_table(self._sink, f"{self._folder}/{self._context.job.id}-")

    def _snapshot_name(self, batch: int) -> str:
        # Without a guarantee, each run counts its batches from 0 again, so the run is part of the name.
        job = self._context.job
        run = f"{job.run:04d}-" if self._context.sink_plan.guarantee is Guarantee.NONE else ""
        return f"{job.id}-{run}{batch:09d}"

    def _delete_replaced(self, current: str) -> None:
        """Delete the snapshots that were replaced at least `old_versions_seconds` ago.

        A snapshot was replaced when the next one was written. Object stores return the present for the time of a
        folder; there the time counts from when this run first found the snapshot replaced.
        """
        if self._context.keeps_replaced():
            return
        replaced = self._replaced(current, with_original=current.startswith(f"{self._folder}/"))
        for path, successor in pairwise([*replaced, current]):
            if path not in self._replaced_at:
                self._replaced_at[path] = self._snapshot_time(successor)
            if time.time() - self._replaced_at[path] >= self._context.old_versions_seconds:
                self._files.delete(path)

    def _snapshot_time(self, path: str) -> float:
        return self._files.read_modification_time(path) if self._files.exists(path) else time.time()

    def _replaced(self, current: str, with_original: bool) -> list[str]:
        """Return the folders of replaced snapshots, the oldest first.

        with_original: whether to include the folder that the table was created with.
        """
        original = with_original and self._files.exists(self._sink.location)
        paths = [self._sink.location] if original else []
        paths += [f"{self._folder}/{name}" for name in self._own_snapshots()]
        return [path for path in paths if path != current]

    def _own_snapshots(self) -> list[str]:
        return [name for name in self._files.list_names(self._folder) if name.startswith(self._context.job.id)]


def snapshots_folder(location: str) -> str:
    """Return the hidden folder of a table's snapshots, next to the folder that the table was created with."""
    parent, _, name = location.rpartition("/")
    if parent.rpartition("/")[2].endswith(".versions"):
        return parent
    return f"{parent}/.{name}.versions"
