"""Writers of result lines to a file, a command or a pager.

A writer raises `ReaderClosed` when its reader is gone. A pager reads no faster than the user scrolls, so a long result
is read only as far as the user scrolls.
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

# -S: wide tables scroll sideways. -R: colours. -X: the text stays on the screen. Not -F, which would cut a table that
# is wide but short.
_LESS_OPTIONS: Final = "SRX"


class ReaderClosed(Exception):
    """The reader of the lines is gone."""


class OutputWriter(Protocol):
    """Write lines of results."""

    def write_line(self, text: str) -> None:
        """Write a line. Raises ReaderClosed, JetSQLError OUTPUT_NOT_WRITABLE."""

    def flush(self) -> None:
        """Make everything written so far readable. Raises as `write_line`."""

    def close(self) -> None:
        """Finish the output. Raises as `write_line`."""


class FileWriter:
    """Write to a file. The constructor and all methods raise JetSQLError OUTPUT_NOT_WRITABLE."""

    def __init__(self, file: Path, append: bool) -> None:
        self._name = str(file)
        with _reporting_failure(self._name):
            self._file = file.open("a" if append else "w", encoding="utf-8", errors="backslashreplace")

    def write_line(self, text: str) -> None:
        with self._closing_on_failure():
            self._file.write(text + "\n")

    def flush(self) -> None:
        with self._closing_on_failure():
            self._file.flush()

    def close(self) -> None:
        with _reporting_failure(self._name):
            self._file.close()

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            with _reporting_failure(self._name):
                yield
        except JetSQLError:
            with suppress(OSError):  # the same failure; the first error is raised
                self._file.close()
            raise


class CommandWriter:
    """Write to a command of the system's shell.

    on_exit: called on another thread when the command ends before `close`. ignores_interrupt: Ctrl-C does not end the
    command, because it is meant for a statement.
    """

    def __init__(
        self,
        command: str,
        on_exit: Callable[[], None] = lambda: None,
        environ: Mapping[str, str] | None = None,
        ignores_interrupt: bool = False,
    ) -> None:
        with (
            _ignoring_interrupts() if ignores_interrupt else nullcontext()
        ):  # a process inherits ignored signals when it starts
            self._process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)
        self._ignores_interrupt = ignores_interrupt
        assert self._process.stdin is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._on_exit = on_exit
        self._closing = False
        self._waiter = threading.Thread(target=self._wait, name="output-command", daemon=True)
        self._waiter.start()

    def write_line(self, text: str) -> None:
        try:
            self._stdin.write((text + "\n").encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise ReaderClosed from error

    def flush(self) -> None:
        try:
            self._stdin.flush()
        except OSError as error:
            raise ReaderClosed from error

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def exit_code(self) -> int:
        """Return the exit code; 0 while the command runs."""
        return self._process.poll() or 0

    def close(self) -> None:
        """Close the input and wait until the command ends, such as a pager that the user quits. Ctrl-C ends it."""
        self._closing = True
        try:
            with nullcontext() if self._ignores_interrupt else _ignoring_interrupts():
                self.close_input()
                self._waiter.join()
        except KeyboardInterrupt:
            self._process.terminate()

    def close_input(self) -> None:
        """Close the command's input without waiting."""
        with suppress(OSError):  # the command ended without reading all input
            self._stdin.close()

    def _wait(self) -> None:
        self._process.wait()
        if not self._closing:
            self._on_exit()


def pager_command(setting: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the command of the pager, or an empty string if there is none. setting: `auto`, `off` or a command."""
    if setting == "off":
        return ""
    command = setting if setting != "auto" else environ.get("JETSQL_PAGER") or environ.get("PAGER") or "less"
    return command if shutil.which(_program(command)) else ""


def _program(command: str) -> str:
    """Return the program of a command without its variable assignments, or an empty string."""
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote
        return ""
    return next((word for word in words if "=" not in word), "")


def open_pager(command: str, on_exit: Callable[[], None], environ: Mapping[str, str] = os.environ) -> CommandWriter:
    return CommandWriter(command, on_exit, {"LESS": _LESS_OPTIONS, "LESSCHARSET": "utf-8", **environ})


class OutputTargetKind(Enum):
    """The kinds of targets of `.output`."""

    SCREEN = "screen"
    FILE = "file"
    APPENDED = "appended file"
    COMMAND = "command"


@dataclass(frozen=True)
class OutputTarget:
    """The target of `.output`. name: the path of a file, or a command."""

    kind: OutputTargetKind
    name: str = ""


def parse_target(text: str) -> OutputTarget:
    """Parse the argument of `.output`: nothing, FILE, >FILE, >>FILE or |COMMAND; FILE may be quoted."""
    text = text.strip()
    if not text:
        return OutputTarget(OutputTargetKind.SCREEN)
    if text.startswith("|"):
        return OutputTarget(OutputTargetKind.COMMAND, text[1:].strip())
    kind = OutputTargetKind.APPENDED if text.startswith(">>") else OutputTargetKind.FILE
    name = text.lstrip(">").strip()
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "'\""
    return OutputTarget(kind, os.path.expanduser(name[1:-1] if quoted else name))


def open_target(target: OutputTarget, on_exit: Callable[[], None] = lambda: None) -> OutputWriter:
    """Open the target. on_exit: see `CommandWriter`. Raises JetSQLError OUTPUT_NOT_WRITABLE."""
    if not target.name:
        raise JetSQLError(
            "OUTPUT_NOT_WRITABLE", "The name of a file or command is missing.", hint="Write .output FILE."
        )
    if target.kind is OutputTargetKind.COMMAND:
        return CommandWriter(target.name, on_exit, ignores_interrupt=True)
    return FileWriter(Path(target.name), target.kind is OutputTargetKind.APPENDED)


@contextmanager
def _reporting_failure(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: the name contains NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"Cannot write {name}: {reason}."
        raise JetSQLError("OUTPUT_NOT_WRITABLE", message, hint="Results go to the screen.") from error


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, which reaches every process at the terminal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
