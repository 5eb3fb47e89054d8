"""The output of results: on a terminal, through a pager, into files and commands, and their summaries."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from jetsql.client.response_rows import RemoteRows
from jetsql.errors import ErrorReport, JetSQLError, ReportedError
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.output.render import Format
from jetsql.output.result_summary import ResultSummary, ShowOutcome, format_duration, summary_line
from jetsql.shell.output.output_writers import pager_command
from jetsql.shell.output.screen import ScreenFrame
from jetsql.shell.output.show_results import ResultOutput
from tests.support.screens.terminal import ScreenTerminal, columns, create_output

LOOK = f"{sys.executable} -c 'import sys; print(sys.stdin.readline().strip(), flush=True)'"


def numbers(count: int | None = None) -> RemoteRows:
    endless = itertools.count() if count is None else range(count)
    return RemoteRows(columns(n="int"), ((number,) for number in endless))


def output(terminal: ScreenTerminal, **settings: Any) -> ResultOutput:
    return create_output(terminal.screen(), **settings)


@pytest.mark.parametrize(
    ("tally", "ended", "words"),
    [
        (ResultSummary(2345, 0.8), ShowOutcome.DONE, "2,345 rows in 0.8 s"),
        (ResultSummary(1, 0.012), ShowOutcome.DONE, "1 row in 12 ms"),
        (ResultSummary(0, 3.21), ShowOutcome.DONE, "0 rows in 3.2 s"),
        (ResultSummary(0, 0.3, has_columns=False), ShowOutcome.DONE, "done in 0.3 s"),
        (ResultSummary(500, 8.1, 3.2), ShowOutcome.DONE, "500 rows in 8.1 s, the first after 3.2 s"),
        (ResultSummary(500, 8.1, 8.0), ShowOutcome.DONE, "500 rows in 8.1 s"),
        (ResultSummary(10_000_000, 75, 0.4), ShowOutcome.DONE, "10,000,000 rows in 1 min 15 s, the first after 0.4 s"),
        (ResultSummary(42, 7.0, 6.9), ShowOutcome.INTERRUPTED, "42 rows, interrupted after 7.0 s"),
        (ResultSummary(42, 7.0, 6.9), ShowOutcome.ABANDONED, "42 rows read"),
    ],
)
def test_summary_of_a_result(tally: ResultSummary, ended: ShowOutcome, words: str) -> None:
    assert summary_line(tally, ended) == words


HOSTILE = "a\x1b[2J\x9b31m\x07\x1b]0;owned\x1b\\b"


def hostile() -> RemoteRows:
    return RemoteRows(columns(**{f"n{HOSTILE}": "string"}), iter([(HOSTILE,), (f"{HOSTILE}\n{HOSTILE}",)]))


@pytest.mark.parametrize("mode", [form.value for form in Format])
@pytest.mark.parametrize("live", [False, True])
def test_no_output_format_emits_control_characters(mode: str, live: bool) -> None:
    terminal = ScreenTerminal()
    found = hostile()
    if live:
        found = replace(
            found, rows=iter(()), live=Live(LiveMode.APPEND, (LiveBatch(n, hostile().rows) for n in (0, 1)))
        )
    output(terminal, mode=mode).show(found)
    written = re.sub(r"\x1b(\[[0-9;?]*[mhlKJAH])", "", terminal.getvalue().replace("\x1b[2J\x9b", "CLEARED"))
    assert "CLEARED" not in written
    assert not [char for char in written if char in "\x1b\x9b\x07"]
    assert "]0;owned" in written


@pytest.mark.parametrize("mode", [form.value for form in Format])
def test_pager_gets_no_control_characters(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", f"cat > {tmp_path / 'seen'}")
    terminal = ScreenTerminal(lines=6)
    rows = ((HOSTILE,) for _ in range(50))
    output(terminal, mode=mode, pager="auto").show(RemoteRows(columns(name="string"), rows))
    seen = terminal.getvalue() + ((tmp_path / "seen").read_text() if (tmp_path / "seen").exists() else "")
    assert seen.count("]0;owned") >= 50
    assert "\x1b[2J" not in seen and "\x9b" not in seen and "\x07" not in seen


def test_csv_in_a_file_is_unchanged_data(tmp_path: Path) -> None:
    shown = output(ScreenTerminal())
    file = tmp_path / "all.csv"
    shown.redirect(str(file))
    shown.show(hostile())
    shown.close()
    assert file.read_bytes().decode() == f'n{HOSTILE}\n{HOSTILE}\n"{HOSTILE}\n{HOSTILE}"\n'


def test_summary_without_timing_has_only_rows() -> None:
    assert summary_line(ResultSummary(2, 8.1, 3.2), timing=False) == "2 rows"
    assert summary_line(ResultSummary(2, 8.1), timing=False, where="out.csv") == "2 rows to out.csv"
    assert summary_line(ResultSummary(2, 8.1), where="out.csv") == "2 rows to out.csv in 8.1 s"


def test_durations_are_readable() -> None:
    assert [format_duration(seconds) for seconds in (0.0004, 1.25, 59.9, 61, 7265)] == [
        "0 ms",
        "1.2 s",
        "59.9 s",
        "1 min 1 s",
        "2 h 1 min",
    ]


def test_result_on_a_terminal_has_its_summary_below() -> None:
    terminal = ScreenTerminal()
    assert output(terminal).show(numbers(2)) is ShowOutcome.DONE
    assert terminal.visible_lines == ["n", "-", "0", "1", "2 rows"]


def test_output_without_terminal_gets_only_the_result() -> None:
    plain = ScreenTerminal()
    create_output(plain.screen(is_terminal=False, can_redraw=False), mode="csv", timing=True).show(numbers(2))
    assert plain.getvalue() == "n\n0\n1\n"


def test_ctrl_c_stops_reading_rows() -> None:
    def rows() -> Iterator[tuple[int]]:
        yield from ((number,) for number in range(30))
        raise KeyboardInterrupt

    terminal = ScreenTerminal(lines=60)
    assert output(terminal, mode="csv").show(RemoteRows(columns(n="int"), rows())) is ShowOutcome.INTERRUPTED
    assert terminal.visible_lines[-1] == "30 rows, interrupted"


def test_error_after_the_first_rows_follows_them() -> None:
    def rows() -> Iterator[tuple[int]]:
        yield from ((number,) for number in range(2000))
        raise ReportedError(ErrorReport("DIVIDE_BY_ZERO", "22012", "Division by zero."))

    terminal = ScreenTerminal()
    with pytest.raises(ReportedError):
        output(terminal).show(RemoteRows(columns(n="int"), rows()))
    assert terminal.visible_lines[-1].strip() == "1999"


def test_a_long_result_goes_through_the_pager(tmp_path: Path) -> None:
    terminal = ScreenTerminal()
    seen = tmp_path / "seen"
    assert output(terminal, pager=f"cat > {seen}").show(numbers(5000)) is ShowOutcome.DONE
    assert len(seen.read_text().splitlines()) == 5002
    assert terminal.visible_lines == ["5,000 rows"]
    output(terminal, pager=f"cat > {seen}2").show(numbers(3))
    assert not Path(f"{seen}2").exists()


def test_closing_the_pager_ends_the_statement() -> None:
    terminal = ScreenTerminal()
    assert output(terminal, pager=LOOK).show(numbers()) is ShowOutcome.ABANDONED
    assert terminal.visible_lines[-1].endswith(" rows read")


def test_closing_the_pager_does_not_wait_for_rows() -> None:
    cancelled = threading.Event()

    def rows() -> Iterator[tuple[int]]:
        yield from ((number,) for number in range(2000))
        assert cancelled.wait(60)
        raise ReportedError(ErrorReport("JETSQL.STATEMENT_CANCELLED", "57014", "The statement was cancelled."))

    shown = output(ScreenTerminal(), pager=LOOK).show(RemoteRows(columns(n="int"), rows()), cancel=cancelled.set)
    assert shown is ShowOutcome.ABANDONED


@pytest.mark.parametrize("pager", ["no-such-pager-anywhere", "less '", "A=b", " "])
def test_missing_pager_is_ignored(pager: str) -> None:
    terminal = ScreenTerminal(lines=30)
    output(terminal, pager=pager).show(numbers(50))
    assert terminal.visible_lines[-2:] == ["49", "50 rows"]


@pytest.mark.parametrize(
    ("setting", "environ", "command"),
    [
        ("auto", {}, "less"),
        ("auto", {"PAGER": "cat"}, "cat"),
        ("auto", {"PAGER": "cat", "JETSQL_PAGER": "sort -r"}, "sort -r"),
        ("auto", {"PAGER": ""}, "less"),
        ("off", {"PAGER": "cat"}, ""),
        ("LC_ALL=C sort", {}, "LC_ALL=C sort"),
    ],
)
def test_pager_comes_from_the_setting_or_the_environment(
    setting: str, environ: dict[str, str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda program: f"/bin/{program}")
    assert pager_command(setting, environ) == command


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.csv", "n\n0\n1\n\nn\n0\n"),
        ("out.json", '{"n":0}\n{"n":1}\n{"n":0}\n'),
        ("out.md", "| n |\n| ---: |\n| 0 |\n| 1 |\n\n| n |\n| ---: |\n| 0 |\n"),
        ("out.txt", "n\n-\n0\n1\n\nn\n-\n0\n"),
        ("with blanks.txt", "n\n-\n0\n1\n\nn\n-\n0\n"),
    ],
)
def test_file_name_decides_the_output_format(tmp_path: Path, name: str, content: str) -> None:
    terminal = ScreenTerminal(200)
    shows, file = output(terminal), tmp_path / name
    assert f"{file} as " in shows.redirect(f"'{file}'")
    shows.show(numbers(2))
    shows.show(numbers(1))
    assert terminal.visible_lines == [f"2 rows to {file}", f"1 row to {file}"]
    assert shows.redirect("") == "Results go to the screen."
    assert file.read_text() == content
    shows.show(numbers(1))
    assert terminal.visible_lines[-1] == "1 row"


def test_file_is_replaced_or_appended_to(tmp_path: Path) -> None:
    shows, file = output(ScreenTerminal(), mode="csv"), tmp_path / "out"
    for how in (str(file), f">> {file}", f">{file}", f">>{file}"):
        shows.redirect(how)
        shows.show(numbers(1))
        shows.close()
    assert file.read_text() == "n\n0\nn\n0\n"


def test_results_go_to_a_command(tmp_path: Path) -> None:
    terminal = ScreenTerminal(200)
    shows = output(terminal, mode="csv")
    shows.redirect(f"| sort -r > {tmp_path / 'sorted'}")
    shows.show(numbers(3))
    shows.close()
    assert (tmp_path / "sorted").read_text() == "n\n2\n1\n0\n"


def test_command_that_ends_during_a_result_restores_screen_output() -> None:
    terminal = ScreenTerminal(120)
    shows = output(terminal)
    shows.redirect("| head -n 1 > /dev/null")
    assert shows.show(numbers()) is ShowOutcome.ABANDONED
    assert "`head -n 1 > /dev/null` has ended; results go to the screen." in terminal.visible_lines
    assert shows.show(numbers(1)) is ShowOutcome.DONE
    assert terminal.visible_lines[-2].strip() == "0"


def test_command_that_ends_between_results_is_reported_immediately() -> None:
    terminal, messages = ScreenTerminal(120), Queue[str]()
    shows = create_output(terminal.screen(), messages.put)
    shows.redirect("| exit 3")
    assert messages.get(timeout=60) == "`exit 3` has ended with exit code 3; results go to the screen."
    assert shows.show(numbers(1)) is ShowOutcome.DONE
    assert terminal.visible_lines[-2].strip() == "0"
    assert messages.empty()


@pytest.mark.parametrize("name", ["", "/no/such/folder/file", "/", "a\x00b"])
def test_unwritable_target_is_reported_immediately_and_changes_nothing(tmp_path: Path, name: str) -> None:
    terminal = ScreenTerminal(120)
    shows = output(terminal)
    shows.redirect(str(tmp_path / "first"))
    with pytest.raises(JetSQLError, match=r"is missing|Cannot write"):
        shows.redirect(f">{name}")
    shows.show(numbers(1))
    shows.close()
    assert terminal.visible_lines == [f"1 row to {tmp_path / 'first'}"]


def test_full_disk_is_reported_and_restores_screen_output() -> None:
    terminal = ScreenTerminal()
    shows = output(terminal)
    shows.redirect("/dev/full")
    with pytest.raises(JetSQLError, match="No space left"):
        shows.show(numbers(100_000))
    shows.show(numbers(1))
    assert terminal.visible_lines[-1] == "1 row"


# --- drawing in place -------------------------------------------------------------------------------------------------


def test_frame_replaces_the_one_before() -> None:
    terminal = ScreenTerminal(20, 6)
    screen = terminal.screen()
    screen.write_line("before")
    with screen.drawing():
        screen.draw(ScreenFrame(["one", "two", "three"]))
        screen.draw(ScreenFrame(["ONE", "TWO"]))
        assert terminal.visible_lines == ["before", "ONE", "TWO"]
        screen.draw(ScreenFrame(["status"], scrolled_lines=["first", "second"]))
        screen.draw(ScreenFrame(["status 2"], scrolled_lines=["third"]))
    screen.write_line("after")
    assert terminal.visible_lines == ["first", "second", "third", "status 2", "after"]
    assert terminal.scrolled_lines == ["before"]


def test_a_frame_that_is_not_kept_leaves_nothing() -> None:
    terminal = ScreenTerminal(20, 6)
    screen = terminal.screen()
    with screen.drawing(keep=False):
        screen.draw(ScreenFrame(["one", "two"]))
    screen.write_line("after")
    assert terminal.visible_lines == ["after"]


def test_a_frame_is_cut_to_the_screen() -> None:
    terminal = ScreenTerminal(10, 4)
    screen = terminal.screen()
    with screen.drawing():
        for _ in range(3):
            screen.draw(ScreenFrame(["a line that is too long", "full width", "c", "d", "e"]))
    assert terminal.visible_lines == ["a line th…", "full width", "c"]


def test_screen_is_drawn_again_after_a_size_change() -> None:
    terminal = ScreenTerminal(40, 6)
    screen = terminal.screen()
    with screen.drawing():
        screen.draw(ScreenFrame(["a line of thirty characters ..", "two"]))
        terminal.resize(20, 6)
        screen.draw(ScreenFrame(["one", "two"]))
    assert terminal.visible_lines == ["one", "two"]
