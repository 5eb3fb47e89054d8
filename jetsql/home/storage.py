"""The storage of a home for files that driver and executors share: the home folder, or a shared storage.

The storage is chosen at the home's first start and stored in the home, because checkpoints and tables are in it. Later
starts use it without a setting, and refuse another one. A file in the storage names its home: the engine of a second
home would delete the snapshots of the first one as leftovers.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from jetsql.errors import EngineError
from jetsql.home.home_lock import not_usable
from jetsql.home.private_files import is_open_to_others, private_folder, read_own, write_private

_LOG: Final = logging.getLogger(__name__)
NOTE: Final = "engine.storage"
_OWNER: Final = "jetsql-home.json"
METASTORE: Final = "metastore"
"""The folder of a home with Derby's catalogue."""
_IN_USE: Final = (METASTORE, "checkpoints", "warehouse")
"""The folders that show that an engine has started on a home; the catalogue may be in a database."""


class Files(Protocol):
    """Access to files in any file system that the engine can reach."""

    def read_if_there(self, path: str) -> str | None:
        """Return the text of a file, or None if it does not exist."""

    def write(self, path: str, text: str) -> None:
        """Write a file."""


@dataclass(frozen=True)
class Storage:
    """The storage of a home."""

    root: str  # a path or URI; the home folder begins with `file:`
    id: str = ""  # identifies the home; empty for the home folder, and before the storage is claimed

    @property
    def checkpoints(self) -> str:
        return f"{self.root}/checkpoints"

    @property
    def snapshots(self) -> str:
        return f"{self.root}/snapshots"

    @property
    def streaming_selects(self) -> str:
        """Return the folder for the checkpoints of streaming selects; it is emptied when the engine starts."""
        return f"{self.root}/streaming-selects"

    @property
    def warehouse(self) -> str:
        return f"{self.root}/warehouse"


def storage_of(home: Path) -> Storage:
    """Return the storage of a home. Raises EngineError HOME_NOT_USABLE when its note is damaged or not readable."""
    try:
        return Storage(**json.loads(read_own(home / NOTE)))
    except FileNotFoundError:
        return _in(home)
    except OSError as error:
        raise not_usable(home, error) from error
    except (ValueError, TypeError) as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The file {home / NOTE}, which names the storage of the home, is damaged.",
            hint="Restore it from a backup of the home.",
        ) from error


def choose_storage(home: Path, configured: str | None) -> Storage:
    """Return the storage of a home, or the configured one for a new home. configured: the setting, or None.

    Raises EngineError HOME_NOT_USABLE when the home has another storage.
    """
    storage = storage_of(home)
    if configured is None or configured == storage.root:
        return storage
    if not storage.id and not is_used(home):
        return Storage(configured)
    raise EngineError(
        "HOME_NOT_USABLE",
        f"The jobs and tables of {home} are in {storage.root}, but the setting storage is {configured}.",
        hint="The storage of a home cannot be changed: remove the setting, or use a new home (--home).",
    )


def is_used(home: Path) -> bool:
    """Return whether an engine has started Spark on a home."""
    return (home / NOTE).exists() or any((home / name).exists() for name in _IN_USE)


def find_job_files(home: Path) -> str:
    """Return which files of jobs are in the storage of a home, as a phrase; empty for none.

    A storage that only Spark can reach has some if an engine has used it. Raises EngineError HOME_NOT_USABLE.
    """
    storage = storage_of(home)
    root = local_folder(storage.root)
    if root is None:
        return f"files of jobs in {storage.root}" if storage.id else ""
    try:
        count = len(job_folders(root))
    except OSError as error:
        raise not_usable(root, error) from error
    return f"files of {count} job{'' if count == 1 else 's'} or snapshots in {root}" if count else ""


def job_folders(root: Path) -> list[Path]:
    """Return the folders of jobs and snapshots in a local storage. Raises OSError."""
    parents = [root / name for name in ("checkpoints", "snapshots")]
    return [path for parent in parents if parent.is_dir() for path in sorted(parent.iterdir()) if path.is_dir()]


def join_storage(home: Path, storage: Storage) -> None:
    """Store that a new home uses the storage of another home, with which it shares the store."""
    _write_note(home, storage)


def claim_storage(storage: Storage, home: Path, files: Files) -> Storage:
    """Store the storage in the home, and the home in the storage. Return the storage with its id.

    Raises EngineError HOME_NOT_USABLE for the storage of another home.
    """
    if storage == _in(home):
        return storage
    _make_private(storage.root)
    path = f"{storage.root}/{_OWNER}"
    owner = files.read_if_there(path)
    if owner is not None and _read_id(owner) != storage.id:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The storage {storage.root} belongs to another home: see {path}.",
            hint="Use a separate storage for each home, such as a folder in this one.",
        )
    if not storage.id:
        storage = Storage(storage.root, str(uuid4()))
        _write_note(home, storage)
    if owner is None:
        files.write(path, json.dumps({"id": storage.id, "home": str(home)}))
    return storage


def warn_if_open(home: Path, storage: Storage) -> None:
    """Log a warning for folders that other users can read: they contain the rows of tables and the state of jobs."""
    for folder in {home, local_folder(storage.root) or home}:
        if folder.exists() and is_open_to_others(folder):
            _LOG.warning("Other users of this machine can read %s. Run: chmod 700 %s", folder, folder)


def _make_private(root: str) -> None:
    """Create the storage's folder if it is local. Raises EngineError HOME_NOT_USABLE."""
    folder = local_folder(root)
    if folder is not None:
        try:
            private_folder(folder)
        except OSError as error:
            raise not_usable(folder, error) from error


def local_folder(root: str) -> Path | None:
    """Return the path of a storage on this machine, or None."""
    path = root.removeprefix("file:")
    return Path(f"/{path.lstrip('/')}") if path.startswith("/") else None


def _in(home: Path) -> Storage:
    """Return the home folder as storage, with a scheme: Hadoop's default file system can be another one."""
    return Storage(f"file:{home}")


def _read_id(owner: str) -> object:
    try:
        return dict(json.loads(owner)).get("id")
    except (ValueError, TypeError):
        return None


def _write_note(home: Path, storage: Storage) -> None:
    try:
        write_private(home / NOTE, json.dumps(asdict(storage)))
    except OSError as error:
        raise not_usable(home, error) from error
