"""Live results: the tail of appended rows, the replaced table, and plain lines without a terminal."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.client.response_rows import RemoteRows
from jetsql.errors import EngineError
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.output.layout import COLOURS, Cell, cells
from jetsql.output.live_progress import mark_changes
from jetsql.output.render import Format
from jetsql.output.result_summary import ShowOutcome
from jetsql.shell.output import refresher
from jetsql.shell.output.in_place_table import InPlaceTable
from jetsql.shell.output.live_views import ReplacedView, TailView, ViewStyle
from jetsql.shell.output.screen import ScreenFrame, ScreenSize
from jetsql.shell.output.show_live import plain_lines
from tests.support.screens.terminal import ScreenTerminal, columns, create_output

N = columns(n="bigint", text="string")
SIZE = ScreenSize(80, 12)


class ManualClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def live(batches: Iterable[Iterable[tuple[Any, ...]]], mode: str = "append") -> Live:
    return Live(LiveMode(mode), (LiveBatch(number, iter(rows)) for number, rows in enumerate(batches)))


def live_result(batches: Iterable[Iterable[tuple[Any, ...]]], mode: str = "append") -> RemoteRows:
    return RemoteRows(N, iter(()), live(batches, mode))


def interrupted(*batches: Iterable[tuple[Any, ...]]) -> Iterator[Iterable[tuple[Any, ...]]]:
    yield from batches
    raise KeyboardInterrupt


def numbers(first: int, count: int, text: str = "x") -> list[tuple[int, str]]:
    return [(number, text) for number in range(first, first + count)]


def tail(**style: Any) -> tuple[TailView, ManualClock]:
    clock = ManualClock()
    return TailView(N, ViewStyle(**style), clock), clock


def feed(view: TailView | ReplacedView, rows: Iterable[tuple[Any, ...]]) -> ScreenFrame:
    for row in rows:
        view.add_row(row)
    view.end_batch()
    return view.render_frame(SIZE)


# --- the tail ---------------------------------------------------------------------------------------------------------


def test_rows_come_below_each_other_and_the_head_once() -> None:
    view, _ = tail()
    assert view.render_frame(SIZE).scrolled_lines == []
    assert feed(view, numbers(1, 2)).scrolled_lines == ["   n | text", "-----+--------", "   1 | x", "   2 | x"]
    assert feed(view, numbers(3, 1)).scrolled_lines == ["   3 | x"]
    assert feed(view, []).scrolled_lines == []


def test_rows_of_a_batch_are_seen_before_it_has_ended() -> None:
    view, _ = tail()
    view.add_row((1, "x"))
    assert view.render_frame(SIZE).scrolled_lines[-1] == "   1 | x"


def test_the_columns_grow_without_another_head() -> None:
    view, _ = tail()
    feed(view, numbers(1, 1))
    assert feed(view, [(10, "longer than the name")]).scrolled_lines == ["  10 | longer than the name"]
    assert feed(view, [(12345, "x")]).scrolled_lines == ["  12345 | x"]


def test_the_head_comes_again_with_each_screenful() -> None:
    view, _ = tail()
    shown = [line for number in range(1, 30) for line in feed(view, numbers(number, 1)).scrolled_lines]
    assert [index for index, line in enumerate(shown) if "text" in line] == [0, 11, 22, 33]
    assert feed(view, numbers(30, 30)).scrolled_lines[-11].startswith("   n | text")
    view.add_row((60, "x"))
    assert "text" in view.render_frame(ScreenSize(70, 12)).scrolled_lines[0]


def test_the_head_of_no_rows_comes_at_the_end() -> None:
    view, _ = tail()
    assert view.render_frame(SIZE).scrolled_lines == []
    view.close()
    assert view.render_frame(SIZE).scrolled_lines == ["   n | text", "-----+--------"]


def test_more_rows_than_the_screen_has_lines_are_counted() -> None:
    view, _ = tail()
    frame = feed(view, numbers(1, 10_000))
    assert frame.scrolled_lines[0] == "… 9,900 rows not shown …"
    assert frame.scrolled_lines[-1] == "   10000 | x"
    assert len(frame.scrolled_lines) == 103
    assert "9,900 not shown" in frame.lines[0]
    assert feed(view, numbers(10_001, 1)).scrolled_lines[-1] == "   10001 | x"


@pytest.mark.parametrize(("width", "shown"), [(30, "waiting for the… · Ctrl-C ends"), (14, "waiting for t…"), (1, "…")])
def test_narrow_screen_still_shows_how_to_quit(width: int, shown: str) -> None:
    view, _ = tail()
    [line] = view.render_frame(ScreenSize(width, 5)).lines
    assert line == shown


def test_status_line_shows_progress() -> None:
    view, clock = tail()
    clock.now += 2
    assert view.render_frame(SIZE).lines == ["waiting for the first rows, 2 s · Ctrl-C ends"]
    feed(view, numbers(1, 500))
    clock.now += 3
    feed(view, numbers(501, 500))
    assert view.render_frame(SIZE).lines[0].startswith("batch 2 · 1,000 rows · 200 rows/s · 5 s")
    clock.now += 30
    assert " · 0 rows/s · 35 s" in feed(view, []).lines[0]
    view.close()
    assert view.render_frame(SIZE).lines == ["1,000 rows in 3 batches, 35.0 s, 800 not shown"]


def test_the_status_is_no_wider_than_the_screen() -> None:
    for view in (TailView(N, ViewStyle(COLOURS), ManualClock()), ReplacedView(N, ViewStyle(COLOURS), ManualClock())):
        view.add_row((1, "x"))
        view.end_batch()
        assert len(re.sub("\x1b\\[[0-9;]*m", "", view.render_frame(ScreenSize(20, 5)).lines[-1])) == 20


def test_narrow_screen_omits_columns_and_counts_them() -> None:
    wide = columns(**{f"c{number}": "bigint" for number in range(20)})
    view = TailView(wide, ViewStyle(), ManualClock())
    view.add_row(tuple(range(10**9, 10**9 + 20)))
    frame = view.render_frame(ScreenSize(60, 12))
    assert max(map(len, frame.scrolled_lines)) <= 60
    assert "16 more" in frame.lines[0]


def test_a_vertical_tail_numbers_its_rows() -> None:
    view, _ = tail(vertical=True)
    assert feed(view, numbers(1, 1)).scrolled_lines == ["-- row 1 --", "n    | 1", "text | x"]
    frame = feed(view, numbers(2, 200))
    assert frame.scrolled_lines[0] == "… 167 rows not shown …"
    assert frame.scrolled_lines[-3:] == ["-- row 201 --", "n    | 201", "text | x"]


# --- the table that is replaced ---------------------------------------------------------------------------------------


def test_each_batch_replaces_the_one_before() -> None:
    view = ReplacedView(N, ViewStyle(), ManualClock())
    assert feed(view, [(1, "a")]).lines[:-1] == ["n | text", "--+-----", "1 | a"]
    frame = feed(view, [(2, "b"), (3, "c")])
    assert frame.scrolled_lines == ()
    assert frame.lines[:-1] == ["n | text", "--+-----", "2 | b", "3 | c"]
    assert frame.lines[-1] == "batch 2 · 2 rows · 0 s · Ctrl-C ends"


def test_batch_is_shown_when_complete() -> None:
    view = ReplacedView(N, ViewStyle(), ManualClock())
    feed(view, [(1, "a")])
    view.add_row((2, "b"))
    assert view.render_frame(SIZE).lines[2] == "1 | a"


def test_a_table_is_no_higher_than_the_screen() -> None:
    view = ReplacedView(N, ViewStyle(), ManualClock())
    frame = feed(view, numbers(1, 10_000))
    assert len(frame.lines) <= SIZE.lines - 1
    assert frame.lines[-2] == "… 9,993 more rows"
    assert frame.lines[-1].startswith("batch 1 · 10,000 rows")


@pytest.mark.parametrize("lines", range(1, 12))
@pytest.mark.parametrize("count", [0, 1, 5, 30])
def test_in_place_table_keeps_its_size(lines: int, count: int) -> None:
    rows = tuple(cells(N, row) for row in numbers(1, count))
    drawn = InPlaceTable(N, rows, count).render(ScreenSize(5, lines), COLOURS)
    assert len(drawn) <= max(lines, 3)


def texts(*rows: tuple[str, ...]) -> list[list[Cell]]:
    return [[Cell(text) for text in row] for row in rows]


def changes(before: list[list[Cell]], after: list[list[Cell]]) -> list[str]:
    return [
        f"{row[0].text}{''.join('*' if cell.changed else '.' for cell in row)}" for row in mark_changes(before, after)
    ]


def test_changed_cells_are_found_by_the_first_columns() -> None:
    before = texts(("a", "1", "x"), ("b", "2", "x"))
    assert changes(before, texts(("b", "3", "x"), ("a", "1", "x"), ("c", "1", "y"))) == ["b.*.", "a...", "c***"]


def test_two_columns_are_the_key_where_one_is_not() -> None:
    before = texts(("10:00", "a", "1"), ("10:00", "b", "2"))
    assert changes(before, texts(("10:00", "a", "1"), ("10:00", "b", "3"))) == ["10:00...", "10:00..*"]


def test_without_a_key_only_new_rows_are_marked() -> None:
    before = texts(("a", "1"), ("a", "1"))
    assert changes(before, texts(("a", "1"), ("a", "2"))) == ["a..", "a**"]
    assert changes([], []) == []


# --- on a terminal ----------------------------------------------------------------------------------------------------


def show_on(answer: RemoteRows, terminal: ScreenTerminal, **settings: Any) -> ShowOutcome:
    return create_output(terminal.screen(is_coloured=True), **settings).show(answer)


def test_last_state_and_summary_stay_after_ctrl_c() -> None:
    terminal = ScreenTerminal(60, 10)
    assert show_on(live_result(interrupted(numbers(1, 2), numbers(3, 1))), terminal) is ShowOutcome.ABANDONED
    assert terminal.visible_lines[:-1] == ["   n | text", "-----+--------", "   1 | x", "   2 | x", "   3 | x"]
    assert terminal.visible_lines[-1].startswith("3 rows in 2 batches, ")


def test_a_replaced_table_marks_what_changed() -> None:
    terminal = ScreenTerminal(60, 10)
    assert show_on(live_result([[(1, "a"), (2, "b")], [(1, "a"), (2, "c")]], "replace"), terminal) is ShowOutcome.DONE
    assert terminal.visible_lines[:-1] == ["n | text", "--+-----", "1 | a", "2 | c"]
    assert terminal.colours_of("c")[1]
    assert not terminal.colours_of("a")[1]


def test_a_stream_of_any_speed_shows_its_newest_rows() -> None:
    terminal = ScreenTerminal(60, 10)
    batches = (numbers(first, 10_000) for first in range(1, 200_000, 10_000))
    assert show_on(live_result(batches), terminal) is ShowOutcome.DONE
    assert terminal.visible_lines[-2].strip() == "200000 | x"
    assert terminal.visible_lines[-1].startswith("200,000 rows in 20 batches, ")


def test_error_keeps_the_shown_rows() -> None:
    def batches() -> Iterator[list[tuple[int, str]]]:
        yield numbers(1, 1)
        raise EngineError("CONNECTION_LOST", "The engine ended.")

    terminal = ScreenTerminal(60, 10)
    with pytest.raises(EngineError):
        show_on(live_result(batches()), terminal)
    assert terminal.visible_lines[2] == "   1 | x"
    assert terminal.getvalue().endswith("\x1b[?25h")


# --- plain lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "vertical", "csv", "json", "markdown"])
def test_plain_lines_are_written_immediately(form: str) -> None:
    """Show and flush all rows of a batch before the wait for the next batch."""
    written: list[str] = []
    flushed: list[int] = []

    def batches() -> Iterator[list[tuple[int, str]]]:
        for number in itertools.count():
            if number > 1:
                assert any(str(number - 1) in line for line in written)
                assert flushed[-1] == len(written)
            if number == 4:
                return
            yield [(number, "x")]

    for line in plain_lines(N, live(batches()), Format(form), lambda: flushed.append(len(written))):
        written.append(line)
    assert any("3" in line for line in written)


def test_a_plain_table_has_its_head_once() -> None:
    assert list(plain_lines(N, live([numbers(1, 1), [], [(22, "yy")]]), Format.TABLE)) == [
        "n | text",
        "--+-----",
        "1 | x",
        "  22 | yy",
    ]


def test_plain_whole_results_are_parted() -> None:
    results = [[(1, "a")], [(2, "b")]]
    assert list(plain_lines(N, live(results, "replace"), Format.CSV)) == ["n,text", "1,a", "", "n,text", "2,b"]
    assert len(list(plain_lines(N, live(results, "replace"), Format.JSON))) == 2


def test_output_without_terminal_gets_every_row() -> None:
    plain = ScreenTerminal(200, 10)
    shows = create_output(plain.screen(is_terminal=False, can_redraw=False), mode="json")
    assert shows.show(live_result(interrupted(numbers(1, 2000)))) is ShowOutcome.ABANDONED
    assert len(plain.getvalue().splitlines()) == 2000


def test_a_live_result_goes_to_a_file(tmp_path: Path) -> None:
    terminal = ScreenTerminal(200, 10)
    shows = create_output(terminal.screen())
    shows.redirect(str(tmp_path / "out.csv"))
    shows.show(live_result(interrupted(numbers(1, 2))))
    [line] = terminal.visible_lines
    assert line.startswith("2 rows in 1 batch, ")
    assert line.endswith(f", to {tmp_path / 'out.csv'}")
    assert (tmp_path / "out.csv").read_text() == "n,text\n1,x\n2,x\n"
    shows.close()


def test_early_ctrl_c_leaves_no_refresher(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            begun.append(self)
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(refresher, "Thread", Interrupted)
    terminal = ScreenTerminal(60, 12)
    with pytest.raises(KeyboardInterrupt), refresher.refreshing(terminal.screen(), lambda: ScreenFrame(["last"])):
        pass
    assert not begun[0].is_alive()
    assert terminal.visible_lines[-1] == "last"
