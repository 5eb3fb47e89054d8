"""Copies of a checkpoint as of one committed batch, taken while the query may run on.

Spark never changes a file of a checkpoint once it is there, and names each after its batch, so the files of a batch and
of those before it are a consistent copy, whatever the query does meanwhile. What could spoil it is that Spark deletes
the files of batches that are a hundred behind: see `holds`. The copy gets a query id of its own: Spark stops a query
when another with its id starts. The file with that id is written last, so a copy without one is not whole.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint

_ENTRY = re.compile(r"(?P<log>offsets|commits|sources/(?P<source>\d+))/(?P<number>\d+)(\.compact)?(\.crc)?")
_STATE = re.compile(r"state/.*/(?P<version>\d+)(_[^/]*)?\.(changelog|zip|delta|snapshot)(\.crc)?")
_METADATA = "metadata"


@dataclass(frozen=True)
class Offsets:
    """A batch's entry of the offset log: each source's offset as JSON gives it, and the settings that Spark pinned."""

    sources: tuple[object, ...]
    confs: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> Offsets:
        version, metadata, *sources = text.splitlines()
        if version != "v1":
            raise StatementError("SNAPSHOT_FAILED", f"Spark's offset log has the form {version}, which is not known.")
        return cls(tuple(_json(source) for source in sources), json.loads(metadata).get("conf", {}))


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:  # an offset is whatever its source writes
        return None


def read_offsets(files: FileSystem, checkpoint: str, batch: int) -> Offsets:
    return Offsets.parse(files.read(f"{checkpoint}/offsets/{batch}"))


def files_as_of(names: Iterable[str], batch: int, offsets: Offsets) -> list[str]:
    """Which of a checkpoint's files make up its state as of a committed batch; state files last, metadata left out."""
    wanted = [name for name in names if name != _METADATA and not _temporary(name) and _is_of(name, batch, offsets)]
    return sorted(wanted, key=lambda name: (name.startswith("state/"), name))


def _temporary(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/")) or name.endswith(".tmp")


def _is_of(name: str, batch: int, offsets: Offsets) -> bool:
    entry, state = _ENTRY.fullmatch(name), _STATE.fullmatch(name)
    if entry is not None and entry["source"] is None:
        return int(entry["number"]) <= batch
    if entry is not None:
        return _source_entry_is_of(int(entry["source"]), int(entry["number"]), offsets)
    # A batch reads the version with its own number and writes the one after it.
    return state is None or int(state["version"]) <= batch + 1


def _source_entry_is_of(source: int, number: int, offsets: Offsets) -> bool:
    """The log of a file source is numbered by its own offsets; other sources keep there where they began."""
    offset = offsets.sources[source] if source < len(offsets.sources) else None
    newest = offset.get("logOffset") if isinstance(offset, dict) else None
    return newest is None or number <= int(newest)


def copy(files: FileSystem, source: str, target: str, batch: int, job: str) -> int:
    """Copy a checkpoint as of a committed batch. Returns bytes. job: its name, for failpoints."""
    wanted = files_as_of(files.tree(source), batch, read_offsets(files, source, batch))
    files.delete(target)
    half = len(wanted) // 2
    size = files.copy(source, target, wanted[:half])
    failpoint("state-half-copied", job)
    size += files.copy(source, target, wanted[half:])
    files.write(f"{target}/{_METADATA}", json.dumps({"id": str(uuid4())}))
    failpoint("state-copied", job)
    return size


def is_whole(files: FileSystem, target: str) -> bool:
    """Whether a copy was finished."""
    return files.exists(f"{target}/{_METADATA}")


@contextmanager
def plain_path(path: str) -> Iterator[str]:
    """The folder under a name that Spark's tools for state find: theirs goes through a URI and back, and a blank comes
    out as `%20`. Only a local folder can have another name.
    """
    scheme, _, local = path.partition(":")
    if scheme != "file" or quote(local) == local:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="jetsql-") as folder:
        link = Path(folder).resolve() / "state"
        link.symlink_to(local, target_is_directory=True)
        yield link.as_uri().replace("file:///", "file:/")


def check_opens(session: SparkSession, checkpoint: str, batch: int) -> None:
    """Let Spark load every part of the copied state. session: with the settings that the state is written with.

    Raises StatementError SNAPSHOT_FAILED.
    """
    try:
        with plain_path(checkpoint) as path:
            for row in session.read.format("state-metadata").load(path).collect():
                reader = session.read.format("statestore").option("operatorId", row.operatorId).option("batchId", batch)
                reader.option("storeName", row.stateStoreName).load(path).selectExpr("count(*)").collect()
    except PySparkException as error:
        message = f"The copy of the state does not open: {cause_of(error).message}"
        raise StatementError("SNAPSHOT_FAILED", message, hint="Try again; the job itself goes on.") from error
