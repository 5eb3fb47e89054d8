"""Copy a checkpoint as of one committed batch, while its query may continue to run.

Spark never changes an existing file of a checkpoint, and names each file after its batch. So the files of a batch and
of all earlier batches are a consistent copy, whatever the query does meanwhile. But Spark deletes files that are more
than a hundred batches old (`spark.sql.streaming.minBatchesToRetain`), and a copy that takes that many batches would
lose files. `CheckpointPins` therefore keeps a query from running too far ahead of its copy, and keeps a folder from
being deleted during a copy.

The copy has its own query id, because Spark stops a query when another query with the same id starts. The file with
that id is written last, so a copy without it is incomplete.

A snapshot has a committed batch only. A backup also has the plan of the batch after it, if there is one: its rows can
be in the sink already, and the restored job has to repeat exactly this batch.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry, read_offsets
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.checkpoint_files.log_entries import read_progress
from jetsql.jobs.lifecycle.runtime import CheckpointImage
from jetsql.jobs.model.job import Job, checkpoint_name

_ENTRY = re.compile(r"(?P<log>offsets|commits|sources/(?P<source>\d+))/(?P<number>\d+)(\.compact)?(\.crc)?")
_STATE = re.compile(r"state/.*/(?P<version>\d+)(_[^/]*)?\.(changelog|zip|delta|snapshot)(\.crc)?")
_OPERATOR = re.compile(r"state/\d+/_metadata/v2/\d+")
_SCHEMA_FOLDER = re.compile(r'"[^"]*(?=/state/\d+/_stateSchema/)')
METADATA = "metadata"
_MAX_BATCHES_AHEAD = 50


class CheckpointPins:
    """The batches that are being copied from the checkpoints of one engine, by job."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pinned: dict[str, list[int]] = {}

    @contextmanager
    def pin(self, job: str, batch: int) -> Iterator[None]:
        """Keep the files of a batch in the job's checkpoint during the context."""
        with self._changed:
            self._pinned.setdefault(job, []).append(batch)
        try:
            yield
        finally:
            with self._changed:
                self._pinned[job].remove(batch)
                if not self._pinned[job]:
                    del self._pinned[job]
                self._changed.notify_all()

    def wait_for_copies(self, job: str, batch: int, stopping: threading.Event) -> None:
        """Wait while a batch is too far ahead of a copy.

        stopping: set when the query is being stopped. It then runs at most one more batch and need not wait.
        """
        with self._changed:
            while batch - min(self._pinned.get(job, [batch])) > _MAX_BATCHES_AHEAD and not stopping.is_set():
                self._changed.wait(1.0)

    def wait_until_unpinned(self, job: str) -> None:
        """Wait until no copy of the job's checkpoint is in progress."""
        with self._changed:
            self._changed.wait_for(lambda: job not in self._pinned)


def select_files_as_of(
    names: Iterable[str], batch: int, offsets: OffsetLogEntry, planned: int | None = None
) -> list[str]:
    """Return the files of a checkpoint as of a committed batch: state files last, without the metadata file.

    planned: the newest batch to keep in the offset log, by default the committed one. offsets: the entry of that batch.
    """
    newest = batch if planned is None else planned
    candidates = (name for name in names if name != METADATA and not _is_temporary(name))
    return sorted(
        (name for name in candidates if _belongs_to_batch(name, batch, newest, offsets)),
        key=lambda name: (name.startswith("state/"), name),
    )


def _is_temporary(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/")) or name.endswith(".tmp")


def _belongs_to_batch(name: str, batch: int, planned: int, offsets: OffsetLogEntry) -> bool:
    entry, state = _ENTRY.fullmatch(name), _STATE.fullmatch(name)
    if entry is not None and entry["source"] is None:
        return int(entry["number"]) <= (planned if entry["log"] == "offsets" else batch)
    if entry is not None:
        return _source_entry_belongs(int(entry["source"]), int(entry["number"]), offsets)
    # A batch reads the state version with its own number and writes the next version.
    return state is None or int(state["version"]) <= batch + 1


def _source_entry_belongs(source: int, number: int, offsets: OffsetLogEntry) -> bool:
    """Return whether the copy needs an entry of a source's log. Only a file source numbers its log by its offsets."""
    offset = offsets.sources[source] if source < len(offsets.sources) else None
    newest = offset.get("logOffset") if isinstance(offset, dict) else None
    return newest is None or number <= int(newest)


def copy_checkpoint(files: FileSystem, source: str, target: str, batch: int, job: str) -> int:
    """Copy a checkpoint as of a committed batch and return the size in bytes.

    job: the job's name, for failpoints.
    """
    names_to_copy = select_files_as_of(files.list_tree(source), batch, read_offsets(files, source, batch))
    files.delete(target)
    half = len(names_to_copy) // 2
    size = files.copy(source, target, names_to_copy[:half])
    failpoint("state-half-copied", job)
    size += files.copy(source, target, names_to_copy[half:])
    files.write(f"{target}/{METADATA}", json.dumps({"id": str(uuid4())}))
    failpoint("state-copied", job)
    return size


def move_checkpoint(files: FileSystem, source: str, target: str) -> None:
    """Move a complete copy of a checkpoint. A crash leaves the target complete, or without its metadata file."""
    if not files.is_object_store(target):
        files.rename(source, target)
        return
    files.delete(target)
    files.copy(source, target, [name for name in files.list_tree(source) if name != METADATA])
    files.copy(source, target, [METADATA])
    files.delete(source)


def correct_schema_paths(files: FileSystem, checkpoint: str) -> None:
    """Correct the absolute paths of the state's schemas in a checkpoint that was copied or moved."""
    folder = '"' + json.dumps(checkpoint)[1:-1]
    for name in filter(_OPERATOR.fullmatch, files.list_tree(checkpoint)):
        text = files.read(f"{checkpoint}/{name}")
        corrected = _SCHEMA_FOLDER.sub(lambda _: folder, text)
        if corrected != text:
            files.write(f"{checkpoint}/{name}", corrected)


def is_complete(files: FileSystem, target: str) -> bool:
    """Return whether a copy has all of its files."""
    return files.exists(f"{target}/{METADATA}")


@contextmanager
def local_alias(path: str) -> Iterator[str]:
    """Yield a path of a folder that Spark's state tools can open: a link to it, or the path itself."""
    if not needs_link(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="jetsql-") as folder:
        yield link_to(path, Path(folder) / "state")


def needs_link(path: str) -> bool:
    """Return whether Spark's state tools can open a folder only by a link to it.

    The tools convert the path to a URI and back, which turns a space into `%20`. Only a local folder can have a link.
    """
    scheme, _, local = path.partition(":")
    return scheme == "file" and quote(local) != local


def link_to(path: str, link: Path) -> str:
    """Return the URI of a link to a local folder, and create the link unless it exists. path: a URI"""
    if not link.is_symlink():
        link.symlink_to(path.partition(":")[2], target_is_directory=True)
    return (link.parent.resolve() / link.name).as_uri().replace("file:///", "file:/")


def check_readable(session: SparkSession, checkpoint: str, batch: int) -> None:
    """Load every partition of a copied state with Spark. Raises StatementError SNAPSHOT_FAILED.

    session: a session with the settings that the state is written with.
    """
    try:
        with local_alias(checkpoint) as path:
            for row in session.read.format("state-metadata").load(path).collect():
                reader = session.read.format("statestore").option("operatorId", row.operatorId).option("batchId", batch)
                for variable in _state_variables(row.operatorProperties)[:1]:  # all are in one store
                    reader.option("stateVarName", variable)
                reader.option("storeName", row.stateStoreName).load(path).selectExpr("count(*)").collect()
    except PySparkException as error:
        message = f"Spark cannot read the copy of the state: {cause_of(error).message}"
        raise StatementError("SNAPSHOT_FAILED", message, hint="Try again; the job itself continues.") from error


def _state_variables(properties: str) -> list[str]:
    """Return the names of an operator's variables, without its timers; none for an operator with a single state."""
    variables = json.loads(properties or "{}").get("stateVariables", ())
    return [each["stateName"] for each in variables if not each["stateName"].startswith("$")]


def list_image(checkpoints: Checkpoints, job: Job) -> CheckpointImage:
    """Return the files of the checkpoints that the job needs, as they are now. They stay while the job is pinned."""
    names: list[str] = []
    for version in (job.version, job.rollback_version):
        if version is not None:
            names += _list_version(checkpoints, job.id, checkpoint_name(version.checkpoint))
    progress = checkpoints.read_progress(job)
    return CheckpointImage(tuple(names), progress.committed, progress.planned)


def _list_version(checkpoints: Checkpoints, job_id: str, name: str) -> list[str]:
    files, folder = checkpoints.files, f"{checkpoints.job_folder(job_id)}/{name}"
    progress = read_progress(files, folder)
    committed = -1 if progress.committed is None else progress.committed
    planned = -1 if progress.planned is None else progress.planned
    offsets = OffsetLogEntry((), {}, 0) if progress.planned is None else read_offsets(files, folder, planned)
    found = files.list_tree(folder)
    chosen = select_files_as_of(found, committed, offsets, planned)
    # The file with the query's id comes last, as in every copy of a checkpoint.
    return [f"{name}/{each}" for each in (*chosen, *(each for each in found if each == METADATA))]
