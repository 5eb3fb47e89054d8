"""`.watch`: the statements that it accepts, its screen, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jetsql.errors import EngineError, ErrorReport, ReportedError
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.watch import WatchRequest, parse_watch, watch
from tests.support.engines.stub_engine import StubResult
from tests.support.screens.terminal import ScreenTerminal, columns


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ("SHOW JOBS", WatchRequest("SHOW JOBS")),
        ("SHOW JOBS;", WatchRequest("SHOW JOBS")),
        ("5 SHOW JOBS", WatchRequest("SHOW JOBS", 5.0)),
        (".5 select 1", WatchRequest("select 1", 0.5)),
        ("0 select 1", WatchRequest("select 1", 0.1)),
        ("-- all\nSELECT 1", WatchRequest("-- all\nSELECT 1")),
        ("WITH a AS (SELECT 1) SELECT * FROM a", WatchRequest("WITH a AS (SELECT 1) SELECT * FROM a")),
        ("(SELECT 1)", WatchRequest("(SELECT 1)")),
        ("EXPLAIN SELECT 1", WatchRequest("EXPLAIN SELECT 1")),
    ],
)
def test_reading_statements_can_be_watched(argument: str, wanted: WatchRequest) -> None:
    assert parse_watch(argument) == wanted


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ("DROP JOB j", "DROP"),
        ("2 create table t (a int)", "CREATE"),
        ("SUSPEND JOB j", "SUSPEND"),
        ("INSERT INTO t SELECT 1", "INSERT"),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT"),
        ("FROM a INSERT INTO t SELECT *", "INSERT"),
        ("SET a = 1", "SET"),
    ],
)
def test_changing_statements_cannot_be_watched(argument: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"{word} is not read-only"):
        parse_watch(argument)


@pytest.mark.parametrize("argument", ["", "  ", "5", ";"])
def test_a_statement_is_needed(argument: str) -> None:
    with pytest.raises(ValueError, match=r"\.watch \[SECONDS\] STATEMENT|is not read-only"):
        parse_watch(argument)


class ScriptedUser:
    """A user who checks the screen after each turn and presses q at the end."""

    def __init__(self, terminal: ScreenTerminal, *checks: Callable[[list[str]], None]) -> None:
        self._terminal = terminal
        self._checks = list(checks)
        self.quit_key = "q"

    def poll_quit(self, seconds: float) -> bool:
        self._checks.pop(0)(self._terminal.visible_lines)
        return not self._checks


def statement(*answers: object) -> Callable[[], StubResult]:
    given = iter(answers)

    def run() -> StubResult:
        answer = next(given)
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, list)
        return StubResult(columns(id="string", n="int"), iter(answer))

    return run


AT_ONCE = WatchRequest("SELECT   *\nFROM t", 0.0)


def test_rows_replace_earlier_ones_until_q() -> None:
    terminal = ScreenTerminal(60, 12)

    def first(shown: list[str]) -> None:
        assert shown[0].startswith("every 0 s until q: SELECT * FROM t ")
        assert shown[1:] == ["id | n", "---+--", "a  | 1"]

    def second(shown: list[str]) -> None:
        assert shown[1:] == ["id | n", "---+--", "a  | 1", "b  | 2"]

    run = statement([("a", 1)], [("a", 1), ("b", 2)])
    watch(run, AT_ONCE, terminal.screen(), ScriptedUser(terminal, first, second))
    assert terminal.visible_lines[-1:] == ["b  | 2"]


def test_changed_cells_are_marked() -> None:
    terminal = ScreenTerminal(60, 12)
    person = ScriptedUser(terminal, lambda shown: None, lambda shown: None)
    run = statement([("a", 1), ("b", 888)], [("a", 777), ("b", 888)])
    watch(run, AT_ONCE, terminal.screen(is_coloured=True), person)
    assert terminal.colours_of("777")[1]
    assert not terminal.colours_of("888")[1]


def test_error_is_shown_below_the_result_and_retried() -> None:
    terminal = ScreenTerminal(100, 12)

    def failing_statement(shown: list[str]) -> None:
        assert shown[-2:] == ["a  | 1", "[TABLE_OR_VIEW_NOT_FOUND] There is no t."]

    def gone(shown: list[str]) -> None:
        assert shown[-1] == "[JETSQL.ENGINE_NOT_REACHABLE] No engine answers. Retrying."

    def back(shown: list[str]) -> None:
        assert shown[-1:] == ["a  | 2"]

    run = statement(
        [("a", 1)],
        ReportedError(ErrorReport("TABLE_OR_VIEW_NOT_FOUND", "42P01", "There is no t.")),
        EngineError("ENGINE_NOT_REACHABLE", "No engine answers."),
        [("a", 2)],
    )
    watch(run, AT_ONCE, terminal.screen(), ScriptedUser(terminal, lambda shown: None, failing_statement, gone, back))


def test_long_result_fits_the_screen_after_resizing() -> None:
    terminal = ScreenTerminal(60, 12)

    def first(shown: list[str]) -> None:
        assert len(shown) < 12
        assert shown[-1] == "… 93 more rows"
        terminal.resize(30, 8)

    def second(shown: list[str]) -> None:
        assert len(shown) < 8
        assert shown[-1] == "… 97 more rows"

    rows = [(str(number), number) for number in range(100)]
    watch(statement(rows, rows), AT_ONCE, terminal.screen(), ScriptedUser(terminal, first, second))


def test_ctrl_c_ends_watching_and_restores_the_screen() -> None:
    terminal = ScreenTerminal(60, 12)
    with pytest.raises(KeyboardInterrupt):
        watch(statement([("a", 1)], KeyboardInterrupt()), AT_ONCE, terminal.screen(), Keyboard())
    assert terminal.visible_lines[-1:] == ["a  | 1"]
    assert terminal.getvalue().endswith("\n\x1b[?25h")


def test_without_terminal_the_result_is_shown_once() -> None:
    plain = ScreenTerminal(60, 12)
    watch(statement([("a", 1)]), AT_ONCE, plain.screen(is_terminal=False, can_redraw=False), Keyboard())
    assert plain.getvalue() == "id | n\n---+--\na  | 1\n"


def test_statement_without_columns_can_be_watched() -> None:
    terminal = ScreenTerminal(60, 12)
    watch(lambda: StubResult((), iter(())), AT_ONCE, terminal.screen(), ScriptedUser(terminal, lambda shown: None))
    assert terminal.visible_lines[0].startswith("every 0 s")


def test_only_counted_rows_are_read() -> None:
    terminal = ScreenTerminal(60, 12)
    read = 0

    def endless() -> Iterator[tuple[str, int]]:
        nonlocal read
        while True:
            read += 1
            yield str(read), read

    result = StubResult(columns(id="string", n="int"), endless())
    watch(lambda: result, AT_ONCE, terminal.screen(), ScriptedUser(terminal, lambda shown: None))
    assert read < 20_000
    assert terminal.visible_lines[-1].startswith("… more than 10,")
