"""Where lines of results go that are not for the screen: a file, a command, a pager.

All of them take lines until nobody wants more, which they tell by `ReaderLeft`. A pager reads no faster than a person
scrolls, so a result of any length is only read as far as somebody looks at it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Final, Protocol

from jetsql.errors import JetSQLError

# -S: wide tables scroll sideways. -R: colours. -X: what was looked at stays on the screen. Not -F: it would cut a table
# that is wide, not long.
_LESS: Final = "SRX"


class ReaderLeft(Exception):
    """Nobody wants more lines."""


class OutputWriter(Protocol):
    def line(self, text: str) -> None:
        """Raises ReaderLeft, JetSQLError OUTPUT_NOT_WRITABLE."""

    def flush(self) -> None:
        """What was written so far can be read. Raises as `line`."""

    def close(self) -> None:
        """Whatever was written is there when this returns. Raises as `line`."""


class FileOutlet:
    """Raises JetSQLError OUTPUT_NOT_WRITABLE, at once and at each line."""

    def __init__(self, file: Path, append: bool) -> None:
        self._name = str(file)
        with _writing(self._name):
            self._file = file.open("a" if append else "w", encoding="utf-8", errors="backslashreplace")

    def line(self, text: str) -> None:
        with self._closing_on_failure():
            self._file.write(text + "\n")

    def flush(self) -> None:
        with self._closing_on_failure():
            self._file.flush()

    def close(self) -> None:
        with _writing(self._name):
            self._file.close()

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            with _writing(self._name):
                yield
        except JetSQLError:
            with suppress(OSError):  # what it fails at now is what was told
                self._file.close()
            raise


class CommandOutlet:
    """A command of the system's shell that reads the lines. left: called, on another thread, when it ends before it
    was told that there are no more. outlasts: Ctrl-C, which is meant for a statement, does not end it."""

    def __init__(
        self,
        command: str,
        left: Callable[[], None] = lambda: None,
        environ: Mapping[str, str] | None = None,
        outlasts: bool = False,
    ) -> None:
        with _deaf() if outlasts else nullcontext():  # what is ignored when a process begins, it ignores too
            self._process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)
        self._outlasts = outlasts
        assert self._process.stdin is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._left = left
        self._closing = False
        self._watch = threading.Thread(target=self._wait, name="outlet", daemon=True)
        self._watch.start()

    def line(self, text: str) -> None:
        try:
            self._stdin.write((text + "\n").encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise ReaderLeft from error

    def flush(self) -> None:
        try:
            self._stdin.flush()
        except OSError as error:
            raise ReaderLeft from error

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def code(self) -> int:
        """That it ended with; 0 as long as it runs."""
        return self._process.poll() or 0

    def close(self) -> None:
        """Wait until it has ended, which takes as long as somebody looks; Ctrl-C meanwhile ends the command."""
        self._closing = True
        try:
            with nullcontext() if self._outlasts else _deaf():
                self.discard()
                self._watch.join()
        except KeyboardInterrupt:
            self._process.terminate()

    def discard(self) -> None:
        """No more lines come. Waits for nothing."""
        with suppress(OSError):  # it has ended, and what it had not read is nobody's loss
            self._stdin.close()

    def _wait(self) -> None:
        self._process.wait()
        if not self._closing:
            self._left()


def pager_command(setting: str, environ: Mapping[str, str] = os.environ) -> str:
    """The command of a pager; empty when there is to be none, or there is none. setting: `auto`, `off`, a command."""
    if setting == "off":
        return ""
    given = setting if setting != "auto" else environ.get("JETSQL_PAGER") or environ.get("PAGER") or "less"
    return given if shutil.which(_program(given)) else ""


def _program(command: str) -> str:
    """The program of a command, behind the variables that it is given; empty when there is none to be found."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is not closed
        return ""
    return next((word for word in words if "=" not in word), "")


def open_pager(command: str, left: Callable[[], None], environ: Mapping[str, str] = os.environ) -> CommandOutlet:
    return CommandOutlet(command, left, {"LESS": _LESS, "LESSCHARSET": "utf-8", **environ})


class Kind(Enum):
    """What `.output` was given."""

    SCREEN = "screen"
    FILE = "file"
    APPENDED = "appended file"
    COMMAND = "command"


@dataclass(frozen=True)
class Target:
    """Where results are to go. name: a file's path, a command."""

    kind: Kind
    name: str = ""


def target(text: str) -> Target:
    """What stands behind `.output`: nothing, FILE, >FILE, >>FILE or |COMMAND; a file's name may stand in quotes."""
    text = text.strip()
    if not text:
        return Target(Kind.SCREEN)
    if text.startswith("|"):
        return Target(Kind.COMMAND, text[1:].strip())
    kind = Kind.APPENDED if text.startswith(">>") else Kind.FILE
    name = text.lstrip(">").strip()
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "'\""
    return Target(kind, os.path.expanduser(name[1:-1] if quoted else name))


def opened(wanted: Target, left: Callable[[], None] = lambda: None) -> OutputWriter:
    """left: see `CommandOutlet`. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
    if not wanted.name:
        raise JetSQLError("OUTPUT_NOT_WRITABLE", "There is no name of a file or command.", hint="Write .output FILE.")
    if wanted.kind is Kind.COMMAND:
        return CommandOutlet(wanted.name, left, outlasts=True)
    return FileOutlet(Path(wanted.name), wanted.kind is Kind.APPENDED)


@contextmanager
def _writing(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        told = (error.strerror if isinstance(error, OSError) else None) or str(error)
        words = f"{name} can't be written: {told}."
        raise JetSQLError("OUTPUT_NOT_WRITABLE", words, hint="Results go to the screen.") from error


@contextmanager
def _deaf() -> Iterator[None]:
    """Ctrl-C reaches every process at the terminal; here it is not meant for this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
