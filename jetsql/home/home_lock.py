"""The lock of a home folder: only one engine can use it, and the error for a second one names the first.

The lock is one of the operating system, which releases it when the process ends in any way. A file next to it names the
owner. `filelock` is imported when the lock is used, because commands of a running engine do not need it.
"""

from __future__ import annotations

import errno
import json
import os
import pwd
import shlex
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.home.private_files import (
    MODE,
    is_of_user_or_root,
    is_writable_by_others,
    private_folder,
    read_own,
    write_private,
)

# `owner` takes the lock for some microseconds, which must not be reported as a running engine.
_ACQUIRE_SECONDS: Final = 0.2
PLACE: Final = "engine.place"
_FILES: Final = ("engine.lock", "start.lock", "engine.owner", "engine.log", "engine.json", "engine.token", PLACE)
"""The files that an engine writes in its home, and that it can write again."""


class HomeLock:
    """The lock of a home folder, from construction to `release`."""

    def __init__(self, home: Path, service: bool = False, handed_over: int | None = None) -> None:
        """Take the lock. service: whether the engine has endpoints for clients.

        handed_over: the descriptor of `hand_over`, which has the lock until now.
        Raises EngineError HOME_IN_USE, HOME_NOT_USABLE.
        """
        from filelock import FileLock, Timeout

        self._owner = home / "engine.owner"
        self._lock = FileLock(home / "engine.lock", mode=MODE, thread_local=False)  # any thread releases it
        if handed_over is not None:  # not before the import, which takes longer than commands wait for an owner
            os.close(handed_over)
        try:
            self._lock.acquire(timeout=_ACQUIRE_SECONDS, poll_interval=_ACQUIRE_SECONDS / 10)
            owner = {"pid": os.getpid(), "since": time.time(), "service": service}
            write_private(self._owner, json.dumps(owner))
        except Timeout:
            raise self._in_use(home) from None
        except OSError as error:
            self._lock.release()
            raise not_usable(home, error) from error

    def release(self) -> None:
        """Release the lock."""
        self._owner.unlink(missing_ok=True)
        self._lock.release()

    def hand_over(self) -> int:
        """Return a descriptor that has the lock, for the next program of this process.

        So commands find an engine on the home all the time.
        """
        import fcntl

        self._lock.release()
        descriptor = os.open(self._lock.lock_file, os.O_RDWR | os.O_CREAT, MODE)
        with suppress(OSError):  # a file system without locks; or another engine has it now, which the program reports
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.set_inheritable(descriptor, True)
        return descriptor

    def _in_use(self, home: Path) -> EngineError:
        return EngineError(
            "HOME_IN_USE",
            f"The home {home} is in use by the engine of {_describe_owner(self._owner)}.",
            hint="Stop that engine first, or use another folder (--home).",
        )


def owner(home: Path) -> str | None:
    """Return the process that has the lock of a home, as a phrase; None when no engine runs."""
    lock, note = home / "engine.lock", home / "engine.owner"
    if not lock.exists():
        return None
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, mode=MODE, timeout=0):
            return None
    except Timeout:
        return _describe_owner(note)
    except PermissionError:  # the home of another user, whose lock cannot be tested
        return _describe_owner(note) if note.exists() else None
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return _describe_owner(note) if _is_locked(lock) else None


def _is_locked(lock: Path) -> bool:
    """Return whether a process has the lock of a home on a read-only disk, where `filelock` opens no file."""
    import fcntl

    descriptor = os.open(lock, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _describe_owner(note: Path) -> str:
    try:
        return f"process {json.loads(note.read_text())['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def make_home(home: Path) -> Path:
    """Create the home folder if necessary and return its absolute path. Raises EngineError HOME_NOT_USABLE."""
    home = home.expanduser().absolute()
    try:
        private_folder(home)
    except OSError as error:
        raise not_usable(home, error) from error
    check_owner(home)
    check_files(home)
    return home


def check_owner(home: Path) -> None:
    """Raise EngineError HOME_NOT_USABLE for a home that belongs to another user, or in which others can write.

    Its files are code and rows: other users could have put them there. For root, too, a home of another user is none.
    """
    try:
        status = home.stat()
    except OSError as error:
        raise not_usable(home, error) from error
    if not is_of_user_or_root(status):
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The home {home} belongs to {_user(status.st_uid)}.",
            hint="Run the command as that user, or use a folder of your own (--home).",
        )
    if is_writable_by_others(status):
        raise EngineError(
            "HOME_NOT_USABLE",
            f"Other users of this machine can write to the home {home}.",
            hint=f"Check that its files are yours, then run: chmod go-w {shlex.quote(str(home))}."
            " Or use a new folder in it as the home (--home).",
        )


def _user(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"the user with the id {uid}"


def check_files(home: Path) -> None:
    """Raise EngineError HOME_NOT_USABLE if a folder is in the place of a file of the home."""
    for path in (home / name for name in _FILES):
        if path.is_dir():
            raise EngineError(
                "HOME_NOT_USABLE",
                f"{path} is a folder, but an engine keeps a file there.",
                hint="Move the folder away; the engine writes the file again.",
            )


def check_location(home: Path) -> None:
    """Store the path of a home with tables. Raises EngineError HOME_NOT_USABLE when it was copied or moved.

    The catalogue has the absolute paths of tables: an engine on a copy would write to the original.
    """
    note = home / PLACE
    if not note.exists():
        try:
            write_private(note, f"{home.resolve()}\n")
        except OSError as error:
            raise not_usable(home, error) from error
        return
    original = original_place(home)
    if original is not None:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The folder {home.resolve()} was copied or moved from {original}, but its catalogue has the old paths.",
            hint="Move it back, or use a new folder (--home) and create tables and jobs again.",
        )


def original_place(home: Path) -> Path | None:
    """Return the path from which a home was copied or moved; None for a home in its place.

    Raises EngineError HOME_NOT_USABLE when the note of the path is damaged, OSError.
    """
    note = home / PLACE
    try:
        text = read_own(note).strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    if not text or "\0" in text or not Path(text).is_absolute():
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The file {note}, which names the folder of the home, is damaged.",
            hint=f"If the home was never copied or moved, delete the file: rm {shlex.quote(str(note))}. The next start"
            " writes it again. Otherwise first move the home back, because its catalogue has the old paths.",
        )
    return None if Path(text) == home.resolve() else Path(text)


def not_usable(home: Path, error: OSError) -> EngineError:
    """Return the error for a home, or a file in it, that cannot be read or written."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else home
    target = f"{path} in the home" if path != home and path.is_relative_to(home) else f"the folder {home}"
    if error.errno == errno.ELOOP:
        return EngineError(
            "HOME_NOT_USABLE",
            f"Cannot use {target}: it is a symbolic link.",
            hint="Replace the link by its file. An engine does not follow the links of others.",
        )
    return EngineError(
        "HOME_NOT_USABLE",
        f"Cannot use {target}: {error.strerror or error}.",
        hint="Choose a folder with write permission (--home).",
    )
