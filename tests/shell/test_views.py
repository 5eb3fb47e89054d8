"""The views with which the shell shows the result of a statement."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jetsql.client.background_connection import EngineConnection
from jetsql.client.engine_client import EngineClient
from jetsql.client.response_rows import RemoteRows
from jetsql.output.console import Console
from jetsql.resultset import Column
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.watch import WatchRequest
from jetsql.shell.repl.views import Views
from jetsql.shell.settings.shell_settings import ShellSettings


class WaitingConsole(Console):
    """A console that records whether it shows that it is waiting."""

    now = False

    @contextmanager
    def show_waiting(self, what: str, detail: Callable[[], str] = lambda: "") -> Iterator[None]:
        self.now = True
        yield
        self.now = False


class SlowEngine:
    """A stub engine whose columns are available immediately and whose rows take time."""

    def __init__(self, console: WaitingConsole) -> None:
        self._console = console
        self.waited: list[bool] = []

    def run(self, text: str, live: bool) -> RemoteRows:
        return RemoteRows((Column("n", "int"),), self._rows())

    def cancel(self) -> None:
        raise AssertionError

    def _rows(self) -> Iterator[tuple[int]]:
        for number in range(2):
            self.waited.append(self._console.now)
            yield (number,)


def test_wait_for_the_first_row_is_shown() -> None:
    out = io.StringIO()
    console = WaitingConsole(out, out, is_terminal=False)
    engine = SlowEngine(console)
    connection = EngineConnection(lambda progress: EngineClient("http://nowhere", ""), lambda: None, lambda words: None)
    Views(console, connection, ShellSettings, Keyboard(), console.print_message).show(engine, "SELECT n")  # type: ignore[arg-type]
    assert engine.waited == [True, False]
    assert out.getvalue() == "n\n-\n0\n1\n"


class WatchedEngine:
    """A stub engine with one row that records whether its response was abandoned."""

    is_abandoned = False

    def current_schema(self) -> str:
        return "default"

    def run(self, text: str) -> RemoteRows:
        return RemoteRows((Column("n", "int"),), iter([(1,)]))

    def abandon_response(self) -> None:
        self.is_abandoned = True


def test_result_stays_after_watching() -> None:
    out, engine = io.StringIO(), WatchedEngine()
    connection = EngineConnection(lambda progress: engine, lambda: None, lambda words: None)  # type: ignore[arg-type, return-value]
    console = Console(out, out, is_terminal=False)
    Views(console, connection, ShellSettings, Keyboard(), console.print_message).watch(WatchRequest("SELECT n"))
    assert engine.is_abandoned
    assert out.getvalue() == "n\n-\n1\n"
