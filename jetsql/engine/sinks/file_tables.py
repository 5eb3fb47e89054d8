"""Exactly-once writes to file tables: stage a batch, write its manifest, move its files.

Rows are staged in a hidden folder of the table, on the table's file system, so that a rename makes a file visible. The
manifest is written before the first rename. After a crash the remaining files are moved. Repeating a move changes
nothing, because the job, the batch and a number determine each file's name. JetSQL does not use Spark's file sink:
readers of its tables see neither earlier rows nor later INSERTs.

A small batch is written as one file (see `file_sizing`), so that readers see all or none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import ComparedWriter, SinkContext, consume_rows
from jetsql.engine.sinks.batch_records import FORMAT, BatchRecord, BatchRecords, damaged_record
from jetsql.engine.sinks.file_sizing import BatchFiles, check_null_texts
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.staging import STAGING

PART_NAMES = 1


@dataclass(frozen=True)
class Move:
    """The rename of one file."""

    source: str
    """The path below the staging folder."""
    target: str
    """The path below the table's folder."""


@dataclass(frozen=True)
class Manifest(BatchRecord):
    """The files of a completely staged batch, and their final names."""

    location: str
    """The table's folder."""
    staging: str
    """The folder with the staged files."""
    rows: int
    """The row count of the batch."""
    moves: tuple[Move, ...]
    """The renames that make the batch visible."""
    format: int = FORMAT
    """The version of the manifest's format."""

    @property
    def partitions(self) -> list[str]:
        """Return the partitions that the batch writes, as paths; empty for a table without partitions."""
        return sorted({move.target.rpartition("/")[0] for move in self.moves} - {""})


class Manifests(BatchRecords[Manifest]):
    """The manifests of one job."""

    def _parse(self, fields: dict[str, Any]) -> Manifest:
        return Manifest(**{**fields, "moves": tuple(Move(**move) for move in fields["moves"])})


class StagedFiles(ComparedWriter):
    """The writer of one job's batches to a file table."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._files = context.checkpoints.files
        self._job = context.writer_id
        self._name = context.job.name
        self._sink = context.sink_plan.sink
        self._batch_files = BatchFiles(context.single_file_bytes, context.sink_plan.has_state)
        self._manifests = Manifests(context.checkpoints.manifests_folder(context.job.id, context.number), self._files)

    def recover(self) -> None:
        self._context.catalog.require_sink_table(self._sink)
        newest = self._manifests.find_newest()
        # Without staged files, all moves of the manifest are done.
        if newest is not None and self._staged(newest):
            manifest = self._manifests.read(newest)
            assert manifest is not None, "the manifest has just been listed"
            self._publish_again(manifest)
        self._files.delete(self._staging_root)  # of batches without a manifest, also of earlier leaders

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return check_null_texts(rows, self._sink.partition_columns)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table = self._context.catalog.require_sink_table(self._sink)
        manifest = self._read_manifest(batch)
        if manifest is not None:
            consume_rows(rows)
            self._publish_again(manifest)
            return manifest.rows
        manifest = self._stage(rows, batch, table)
        self._context.catalog.require_sink_table(self._sink)
        self._publish(manifest)
        return manifest.rows

    def has_batch(self, batch: int) -> bool:
        return self._manifests.read(batch) is not None

    def is_ahead(self, batch: int) -> bool:
        names = (path.rpartition("/")[2] for path in self._files.list_files(self._sink.location))
        prefix = f"part-{self._job}-"
        numbers = (name.removeprefix(prefix).partition("-")[0] for name in names if name.startswith(prefix))
        return any(number.isdecimal() and int(number) >= batch for number in numbers)

    def discard(self) -> None:
        if self._context.catalog.table(self._sink.table) is not None:
            self._files.delete(self._staging_root)

    def _read_manifest(self, batch: int) -> Manifest | None:
        """Return the manifest of a replayed batch, or None for a new batch.

        Raises StatementError CHECKPOINT_DAMAGED for a damaged manifest while staged files remain. After the last move,
        the manifest is not needed any more.
        """
        try:
            return self._manifests.read(batch)
        except StatementError:
            if self._staged(batch):
                raise
            self._context.notice(f"The manifest of batch {batch} is damaged; all rows of the batch are in the table.")
            return Manifest(batch, self._sink.location, self._staging(batch), 0, ())

    def _staging(self, batch: int) -> str:
        """Return the folder for the rows of a batch.

        Each leader and each run has its own: a task of a run that was interrupted can write for some seconds.
        """
        number = self._context.checkpoints.leadership.number
        leader = f"-{number}" if number else ""
        return f"{self._staging_root}/{batch:09d}{leader}-run{self._context.job.run}"

    def _staged(self, batch: int) -> list[str]:
        """Return the names of the folders with staged rows of a batch."""
        return [name for name in self._files.list_names(self._staging_root) if name.startswith(f"{batch:09d}")]

    @property
    def _staging_root(self) -> str:
        return f"{self._sink.location}/{STAGING}/{self._job}"

    def _stage(self, rows: DataFrame, batch: int, table: TableFacts) -> Manifest:
        staging = self._staging(batch)
        count = self._batch_files.write(rows, table, staging)
        failpoint("staged", self._name)
        names = self._files.list_files(staging) if count else []
        moves = tuple(Move(name, self._target(name, batch, n)) for n, name in enumerate(names))
        self._context.check_leader()
        manifest = self._manifests.create(Manifest(batch, self._sink.location, staging, count, moves))
        failpoint("manifest-written", self._name)
        return manifest

    def _target(self, name: str, batch: int, number: int) -> str:
        folder, _, file = name.rpartition("/")
        suffix = file.partition(".")[2]
        part = f"part-{self._job}-{batch:09d}-{number:05d}.{suffix}"
        return f"{folder}/{part}" if folder else part

    def _publish_again(self, manifest: Manifest) -> None:
        """Move the files of a manifest that was read, after a check that it names all staged files.

        Raises StatementError CHECKPOINT_DAMAGED: the files that it does not name would be deleted.
        """
        path, named = self._manifests.path(manifest.batch), {move.source for move in manifest.moves}
        if self._staged(manifest.batch):
            if not manifest.staging.startswith(f"{self._staging_root}/{manifest.batch:09d}"):
                raise damaged_record(path, "names another folder", manifest.batch)
            if self._files.exists(manifest.staging):
                unknown = [name for name in self._files.list_files(manifest.staging) if name not in named]
                if unknown:
                    raise damaged_record(path, f"does not name the staged file {unknown[0]}", manifest.batch)
        self._publish(manifest)

    def _publish(self, manifest: Manifest) -> None:
        """Move the files that have not been moved yet."""
        staged = self._files.exists(manifest.staging)
        moved = [staged and self._move(manifest, move) for move in manifest.moves]
        if staged:
            failpoint("files-moved", self._name)
            if manifest.partitions:
                self._context.catalog.add_partitions(self._sink.table, manifest.partitions)
            if any(moved):
                self._context.catalog.refresh(self._sink.table, manifest.location)
            self._files.delete(manifest.staging)
        if not all(moved):
            self._report_removed(manifest)

    def _report_removed(self, manifest: Manifest) -> None:
        """Report files that the table lacks, for example after TRUNCATE TABLE. They count as delivered."""
        missing = [move for move in manifest.moves if not self._files.exists(f"{manifest.location}/{move.target}")]
        if missing:
            self._context.notice(
                f"Another program removed files of batch {manifest.batch} from {self._sink.table}, for example with"
                f" TRUNCATE TABLE (number of files: {len(missing)}). They are not written again."
            )

    def _move(self, manifest: Manifest, move: Move) -> bool:
        self._context.check_leader()
        source = f"{manifest.staging}/{move.source}"
        target = f"{manifest.location}/{move.target}"
        if not self._files.exists(source):
            return False
        self._files.touch(source)
        self._files.rename(source, target)
        failpoint("file-moved", self._name)
        return True
