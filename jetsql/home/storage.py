"""Where a home keeps what every member of a cluster has to reach: in itself, or in a storage that they share.

The storage is chosen at the home's first start and noted there, since the state of jobs and the tables are found by it
again: from then on it holds without being said, and another one is refused. A note in the storage says whose it is: a
second home there would take the first one's snapshots for leftovers and delete them.
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
from jetsql.home.private_files import is_open_to_others, private_folder, write_private

_LOG: Final = logging.getLogger(__name__)
NOTE: Final = "engine.storage"
_OWNER: Final = "jetsql-home.json"


class Files(Protocol):
    """Files wherever the engine reaches them."""

    def read_if_there(self, path: str) -> str | None: ...

    def write(self, path: str, text: str) -> None: ...


@dataclass(frozen=True)
class Storage:
    """root: a path or URI; a home's own begins with `file:`. id: tells its home from others; empty in the home itself,
    and before it was claimed."""

    root: str
    id: str = ""

    @property
    def checkpoints(self) -> str:
        return f"{self.root}/checkpoints"

    @property
    def snapshots(self) -> str:
        return f"{self.root}/snapshots"

    @property
    def streaming_selects(self) -> str:
        """Return the folder for the checkpoints of streaming selects; it is emptied when the engine starts."""
        return f"{self.root}/looks"

    @property
    def warehouse(self) -> str:
        return f"{self.root}/warehouse"


def storage_of(home: Path) -> Storage:
    """As the home notes it. Raises EngineError HOME_NOT_USABLE for a note that can't be read."""
    try:
        return Storage(**json.loads((home / NOTE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return _in(home)
    except OSError as error:
        raise not_usable(home, error) from error
    except (ValueError, TypeError) as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"{home / NOTE}, which says where the home's checkpoints are, is damaged.",
            hint="Restore it from a backup of the home.",
        ) from error


def choose_storage(home: Path, wanted: str | None) -> Storage:
    """Return the storage that the home has, or is to have from now on. wanted: what the settings say, None for nothing.

    Raises EngineError HOME_NOT_USABLE for another one than it has.
    """
    storage = storage_of(home)
    if wanted is None or wanted == storage.root:
        return storage
    if not storage.id and not (home / "metastore").exists():
        return Storage(wanted)
    raise EngineError(
        "HOME_NOT_USABLE",
        f"The jobs and tables of {home} are in {storage.root}, and the setting storage says {wanted}.",
        hint="The storage is chosen at a home's first start: leave the setting out, or use a new home (--home).",
    )


def claim_storage(storage: Storage, home: Path, files: Files) -> None:
    """Note in the home where its storage is, and in the storage whose it is.

    Raises EngineError HOME_NOT_USABLE for the storage of another home.
    """
    if storage == _in(home):
        return
    _make_private(storage.root)
    path = f"{storage.root}/{_OWNER}"
    noted = files.read_if_there(path)
    if noted is not None and _id(noted) != storage.id:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The storage {storage.root} belongs to another home: see {path}.",
            hint="Give each home a storage of its own, such as a folder in it.",
        )
    if not storage.id:
        storage = Storage(storage.root, str(uuid4()))
        _note(home, storage)
    if noted is None:
        files.write(path, json.dumps({"id": storage.id, "home": str(home)}))


def warn_if_open(home: Path, storage: Storage) -> None:
    """Log which folders of this machine other users may read: they hold the rows of tables and the state of jobs."""
    for folder in {home, _local(storage.root) or home}:
        if folder.exists() and is_open_to_others(folder):
            _LOG.warning("Other users of this machine can read %s. Run: chmod 700 %s", folder, folder)


def _make_private(root: str) -> None:
    """Raise EngineError HOME_NOT_USABLE."""
    folder = _local(root)
    if folder is not None:
        try:
            private_folder(folder)
        except OSError as error:
            raise not_usable(folder, error) from error


def _local(root: str) -> Path | None:
    """Return the folder of this machine that a storage is, or None."""
    path = root.removeprefix("file:")
    return Path(f"/{path.lstrip('/')}") if path.startswith("/") else None


def _in(home: Path) -> Storage:
    """With its scheme: a path alone is one of Hadoop's default file system, which need not be this machine's."""
    return Storage(f"file:{home}")


def _id(noted: str) -> object:
    try:
        return dict(json.loads(noted)).get("id")
    except (ValueError, TypeError):
        return None


def _note(home: Path, storage: Storage) -> None:
    try:
        write_private(home / NOTE, json.dumps(asdict(storage)))
    except OSError as error:
        raise not_usable(home, error) from error
