"""Showing a result that has no end: until q or Ctrl-C, which is how one is meant to end.

On a terminal the newest rows stand above a line that tells how it goes (see `live_views`). Everywhere else, and for
who asks for csv, json or markdown, every row is a line, and a reader who is slow holds up the stream: nothing is read
ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from time import monotonic
from typing import Final

from jetsql.client.response_rows import RemoteRows
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.output import render
from jetsql.output.layout import Layout, cells, grow_layout, natural_layout
from jetsql.output.render import SAMPLED_ROWS, Format, Row
from jetsql.resultset import Column
from jetsql.shell.output.live_views import Course, Replaced, Style, Tail, View
from jetsql.shell.output.refresher import painted
from jetsql.shell.output.screen import Screen
from jetsql.shell.session.typed_ahead import Keyboard

_DRAWN: Final = (Format.TABLE, Format.VERTICAL)


def show_live(
    columns: tuple[Column, ...],
    live: Live,
    screen: Screen,
    form: Format,
    null: str,
    keyboard: Keyboard,
    clock: Callable[[], float] = monotonic,
) -> None:
    """Show a live result on a terminal until it ends. Raises what reading raises, and KeyboardInterrupt; what was shown
    last stays then, with a line that sums it up."""
    style = Style(screen.paint, null, form is Format.VERTICAL, lambda: keyboard.ender)
    view: View = (Tail if live.mode is LiveMode.APPEND else Replaced)(columns, style, clock)
    with painted(screen, lambda: view.frame(screen.size), lambda: keyboard.quits(0)) as painter:
        try:
            for batch in live.batches:
                for row in batch.rows:
                    view.take(row)
                view.end_batch()
                painter.check()
        finally:
            view.close()


def is_drawn(screen: Screen, form: Format) -> bool:
    """Whether a live result in this form is drawn on this screen; else every row of it is a line."""
    return screen.moves and form in _DRAWN


def counting(live: Live, course: Course) -> Live:
    """The same result, which tells how it goes as it is read."""

    def rows(batch: LiveBatch) -> Iterator[Row]:
        for row in batch.rows:
            course.rows += 1
            yield row

    def batches() -> Generator[LiveBatch, None, None]:
        with closing(live.batches) as given:
            for batch in given:
                yield LiveBatch(batch.number, rows(batch))
                course.end_batch()

    return Live(live.mode, batches())


def plain_lines(
    columns: tuple[Column, ...], live: Live, form: Format, flush: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """Every row as a line, none held back for those behind it; whole results with an empty line between them.

    flush: called behind the lines of each batch. Raises what reading raises.
    """
    batches = _flushing(live.batches, flush)
    if live.mode is LiveMode.REPLACE:
        yield from _whole_results(columns, batches, form)
    elif form is Format.TABLE:
        yield from _table_lines(columns, batches)
    else:
        yield from render.render_lines(RemoteRows(columns, (row for batch in batches for row in batch.rows)), form)


def _flushing(batches: Iterator[LiveBatch], flush: Callable[[], None]) -> Iterator[LiveBatch]:
    for batch in batches:
        yield batch
        flush()


def _whole_results(columns: tuple[Column, ...], batches: Iterator[LiveBatch], form: Format) -> Iterator[str]:
    for index, batch in enumerate(batches):
        if index and form is not Format.JSON:
            yield ""
        yield from render.render_lines(RemoteRows(columns, batch.rows), form)


def _table_lines(columns: tuple[Column, ...], batches: Iterator[LiveBatch]) -> Iterator[str]:
    """The columns are as wide as the rows of a batch that have come, and only ever grow."""
    layout: Layout | None = None
    for batch in batches:
        while some := [cells(columns, row) for row in islice(batch.rows, SAMPLED_ROWS)]:
            if layout is None:
                layout = natural_layout(columns, some)
                yield from layout.header_lines()
            else:
                layout = grow_layout(layout, columns, some)
            yield from (layout.row_line(row) for row in some)
