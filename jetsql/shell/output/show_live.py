"""Show an unbounded result until q or Ctrl-C, its normal end.

A terminal shows the newest rows above a status line (see `live_views`). Without a terminal, and for csv, json and
markdown, every row is a line, and nothing is read ahead, so a slow reader slows down the stream.
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
from jetsql.output.live_progress import LiveProgress
from jetsql.output.render import SAMPLED_ROWS, Format, Row
from jetsql.resultset import Column
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.live_views import LiveView, ReplacedView, TailView, ViewStyle
from jetsql.shell.output.refresher import refreshing
from jetsql.shell.output.screen import Screen

_DRAWN_FORMS: Final = (Format.TABLE, Format.VERTICAL)


def show_live(
    columns: tuple[Column, ...],
    live: Live,
    screen: Screen,
    form: Format,
    null: str,
    keyboard: Keyboard,
    clock: Callable[[], float] = monotonic,
) -> None:
    """Show a live result on a terminal until it ends; the last frame stays, with a summary.

    Raises what reading raises, and KeyboardInterrupt.
    """
    style = ViewStyle(screen.paint, null, form is Format.VERTICAL, lambda: keyboard.quit_key)
    view: LiveView = (TailView if live.mode is LiveMode.APPEND else ReplacedView)(columns, style, clock)
    with refreshing(screen, lambda: view.render_frame(screen.size), lambda: keyboard.poll_quit(0)) as refresher:
        try:
            for batch in live.batches:
                for row in batch.rows:
                    view.add_row(row)
                view.end_batch()
                refresher.raise_failure()
        finally:
            view.close()


def is_drawn(screen: Screen, form: Format) -> bool:
    """Return whether a live result in this form is drawn on this screen; otherwise every row is a line."""
    return screen.can_redraw and form in _DRAWN_FORMS


def count_live_rows(live: Live, progress: LiveProgress) -> Live:
    """Return the same result, which updates `progress` as it is read."""

    def rows(batch: LiveBatch) -> Iterator[Row]:
        for row in batch.rows:
            progress.rows += 1
            yield row

    def batches() -> Generator[LiveBatch, None, None]:
        with closing(live.batches) as given:
            for batch in given:
                yield LiveBatch(batch.number, rows(batch))
                progress.end_batch()

    return Live(live.mode, batches())


def plain_lines(
    columns: tuple[Column, ...], live: Live, form: Format, flush: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """Yield every row as a line, without waiting for the next row; an empty line separates replaced results.

    flush: called after the lines of each batch. Raises what reading raises.
    """
    batches = _flushing(live.batches, flush)
    if live.mode is LiveMode.REPLACE:
        yield from _replaced_lines(columns, batches, form)
    elif form is Format.TABLE:
        yield from _table_lines(columns, batches)
    else:
        yield from render.render_lines(RemoteRows(columns, (row for batch in batches for row in batch.rows)), form)


def _flushing(batches: Iterator[LiveBatch], flush: Callable[[], None]) -> Iterator[LiveBatch]:
    for batch in batches:
        yield batch
        flush()


def _replaced_lines(columns: tuple[Column, ...], batches: Iterator[LiveBatch], form: Format) -> Iterator[str]:
    for index, batch in enumerate(batches):
        if index and form is not Format.JSON:
            yield ""
        yield from render.render_lines(RemoteRows(columns, batch.rows), form)


def _table_lines(columns: tuple[Column, ...], batches: Iterator[LiveBatch]) -> Iterator[str]:
    """Yield the lines of a table whose columns fit the rows that have arrived, and only grow."""
    layout: Layout | None = None
    for batch in batches:
        while rows := [cells(columns, row) for row in islice(batch.rows, SAMPLED_ROWS)]:
            if layout is None:
                layout = natural_layout(columns, rows)
                yield from layout.header_lines()
            else:
                layout = grow_layout(layout, columns, rows)
            yield from (layout.row_line(row) for row in rows)
