"""Run whole sessions of the shell without a terminal: send keys, read the output."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from jetsql.client.background_connection import BackgroundStartupReporter
from jetsql.client.engine_client import EngineClient
from jetsql.output.console import Console
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from jetsql.shell.repl.loop import Shell
from jetsql.shell.settings.shell_settings import ShellSettings
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN

CTRL_C, CTRL_D, ENTER, ALT_ENTER, ESC, UP = "\x03", "\x04", "\r", "\x1b\r", "\x1b", "\x1b[A"


@dataclass
class ShellEngine(ServedEngine):
    """An engine without Spark for the shell. jobs: name, status and last error, as SHOW ALL JOBS returns them."""

    jobs: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def entered_statements(self) -> list[str]:
        """Return the statements received, without the queries of completion."""
        return [text for text in self.statements.texts if text.split()[0] not in ("SHOW", "DESCRIBE")]

    def run(self, text: str) -> StatementResult:
        return StatementResult((Column("name"), Column("status"), Column("last_error")), iter(self.jobs))


def bracketed_paste(text: str) -> str:
    """Return a text as a terminal sends it when it is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


@dataclass
class ShellSession:
    """A session of the shell."""

    keys: PipeInput  # sends keys
    shell: Shell
    out: io.StringIO  # results and messages, in order
    connected_urls: list[str] = field(default_factory=list)  # one for each search of an engine

    def __call__(self, *turns: str) -> str:
        """Send the keys of each turn at its prompt, and exit; return the output without greeting and goodbye."""
        rest = iter([*turns, CTRL_D])
        app, read = self.shell._prompt._session.app, self.shell._prompt.read
        fresh: list[bool] = []

        def reading(default: str = "") -> str:
            fresh.append(True)
            return read(default)

        def press(_: object) -> None:
            if fresh:
                fresh.clear()
                self.keys.send_text(next(rest))

        self.shell._prompt.read = reading  # type: ignore[method-assign]
        app.after_render += press
        self.fine = self.shell.run()
        first, _, shown = self.out.getvalue().partition("\n")
        assert first.startswith("JetSQL ")
        return shown.replace("The engine and its jobs continue; `jetsql stop` stops them.\n", "")


@contextmanager
def open_shell_session(
    url: Callable[[], str],
    folder: Path,
    settings: ShellSettings | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[ShellSession]:
    """Open a session. url: returns the current URL of the engine's endpoint, and may raise EngineError."""
    out, reached = io.StringIO(), list[str]()

    def connect(progress: BackgroundStartupReporter) -> EngineClient:
        reached.append(url())
        return EngineClient(reached[-1], TOKEN)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        console = Console(out, out, is_terminal=False)
        history = folder / "state" / "history"
        shell = Shell(connect, console, settings or ShellSettings(timing=False), variables or {}, history)
        try:
            yield ShellSession(keys, shell, out, reached)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
