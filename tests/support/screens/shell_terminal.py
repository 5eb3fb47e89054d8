"""Run the shell in a pseudo terminal: send keys, read the screen."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import pyte

from jetsql.home.discovery import read_note
from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "jetsql_without_spark.py"
JETSQL = ("-m", "jetsql")
"""The arguments of a shell with Spark."""

_SECONDS = 30.0
_CURSOR_QUERY = "\x1b[6n"
_EMPTY_PROMPT = re.compile(r"\S+> ")


class ShellTerminal:
    """The program in a terminal.

    program: the code that Python runs.
    columns, lines: the size of the screen.
    seconds: the time limit of waiting.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        *arguments: str,
        program: Sequence[str] = (str(PROGRAM),),
        columns: int = 100,
        lines: int = 24,
        seconds: float = _SECONDS,
    ) -> None:
        self._seconds = seconds
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.Stream(self._screen)
        self.process = pexpect.spawn(
            sys.executable,
            [*program, *arguments],
            env=dict(environ),
            dimensions=(lines, columns),
            encoding="utf-8",
            timeout=_SECONDS,
        )

    def press(self, keys: str) -> None:
        self.process.send(keys)

    def wait_for(self, text: str, times: int = 1) -> str:
        """Wait until a text is on the screen `times` times, and return the screen."""
        until = time.monotonic() + self._seconds
        while (shown := self.screen).count(text) < times:
            assert time.monotonic() < until and self._read(), f"{text!r} does not come:\n{shown}"
        return self.screen

    def wait_for_prompt(self) -> None:
        """Wait until the shell waits for a statement at an empty prompt: a Ctrl-D before that can be lost."""
        until = time.monotonic() + self._seconds
        while not _EMPTY_PROMPT.fullmatch(self._screen.display[self._screen.cursor.y][: self._screen.cursor.x]):
            assert time.monotonic() < until and self._read(), f"there is no empty prompt:\n{self.screen}"

    def wait_for_exit(self) -> int:
        """Wait for the exit, and return the exit code."""
        while self._read():
            continue
        self.process.wait()
        return int(self.process.exitstatus if self.process.exitstatus is not None else -1)

    @property
    def current_screen(self) -> str:
        """Draw the output so far, and return the screen."""
        self._read()
        return self.screen

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def terminal(self) -> pyte.Screen:
        """Return the screen with its colours."""
        return self._screen

    @property
    def status_bar(self) -> str:
        """Return the last line of the screen."""
        return self._screen.display[-1].strip()

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        self.process.setwinsize(lines, columns)

    def colour_of(self, text: str) -> str:
        """Return the colour of the last occurrence of a text."""
        for number in reversed(range(self._screen.lines)):
            at = self._screen.display[number].find(text)
            if at >= 0:
                return str(self._screen.buffer[number][at].fg)
        raise AssertionError(f"{text!r} is not on the screen")

    def _read(self) -> bool:
        """Draw the next output. Return False at the end."""
        try:
            came = self.process.read_nonblocking(65536, 0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self._stream.feed(came)
        for _ in range(came.count(_CURSOR_QUERY)):
            cursor = self._screen.cursor
            self.process.send(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")
        return True


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process whose files are all in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JETSQL", "NO_COLOR", "COLUMNS"))}
    (folder / "config.toml").touch()
    return {
        **kept,
        "JETSQL_HOME": str(folder / "home"),
        "JETSQL_CONFIG": str(folder / "config.toml"),
        "XDG_STATE_HOME": str(folder / "state"),
        "JETSQL_SHELL_TIMING": "off",
        "TERM": "xterm-256color",
        **more,
    }


@contextmanager
def open_terminal(environ: Mapping[str, str], *arguments: str, **more: Any) -> Iterator[ShellTerminal]:
    """Open a terminal. more: arguments of `ShellTerminal`."""
    shell = ShellTerminal(environ, *arguments, **more)
    try:
        yield shell
    finally:
        shell.process.close(force=True)


def kill_engine(home: Path) -> None:
    note = read_note(home)
    assert note is not None
    os.kill(note.pid, signal.SIGKILL)
    while read_note(home) is not None and Path(f"/proc/{note.pid}/stat").exists():
        if Path(f"/proc/{note.pid}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.01)
