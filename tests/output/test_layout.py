"""The layout of tables that are wider than the screen, and of text in cells."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jetsql.output.layout import COLOURS, Cell, Layout, add_room, cells, grow_layout, natural_layout, raw_cells
from jetsql.output.terminal_text import pad, truncate, width, wrap
from jetsql.resultset import Column

TEXTS = some.lists(some.sampled_from([*'ab 東京é🚀{}":,', "👩‍🚀", "e\u0301"]), max_size=40).map("".join)
JOB = (Column("id"), Column("name"), Column("rows_per_second", "double"), Column("last_error"))
ROWS = (
    ("0401-9f77-b9c0-0001", "orders", 12345.5, None),
    ("0401-9f77-b9c0-0002", "carrier_delays_by_day", 0.0, "[JETSQL.SINK_CHANGED] The table delays is another one now."),
)


def create_layout(columns: tuple[Column, ...] = JOB, rows: tuple[tuple[object, ...], ...] = ROWS) -> Layout:
    return natural_layout(columns, [cells(columns, row) for row in rows])


def draw_layout(
    layout: Layout, columns: tuple[Column, ...] = JOB, rows: tuple[tuple[object, ...], ...] = ROWS
) -> list[str]:
    return [*layout.header_lines(), *(layout.row_line(cells(columns, row)) for row in rows)]


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("東京都", 5, "東京…"),
        ("東京都", 6, "東京都"),
        ("東京都庁", 6, "東京…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("👩‍🚀👩‍🚀", 3, "👩‍🚀…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_text_is_cut_between_grapheme_clusters(text: str, size: int, shown: str) -> None:
    assert truncate(text, size) == shown


@given(TEXTS, some.integers(2, 30))
def test_cut_and_wrapped_texts_fit_and_lose_only_blanks(text: str, size: int) -> None:
    lines = wrap(text, size)
    assert max(width(line) for line in lines) <= size
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert width(truncate(text, size)) <= size
    assert width(pad(truncate(text, size), size)) == size


def test_wrapping_keeps_words_whole_where_it_can() -> None:
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("x" * 12, 5) == ["xxxxx", "xxxxx", "xx"]
    assert wrap("", 5) == [""]


def test_longest_texts_are_cut_first_and_numbers_never() -> None:
    assert draw_layout(create_layout().fit(80)) == [
        "id                  | name                | rows_per_second | last_error",
        "--------------------+---------------------+-----------------+-------------------",
        "0401-9f77-b9c0-0001 | orders              |         12345.5 | NULL",
        "0401-9f77-b9c0-0002 | carrier_delays_by_… |             0.0 | [JETSQL.SINK_CHAN…",
    ]
    assert [line.split("|")[2].strip() for line in draw_layout(create_layout().fit(50))[2:]] == ["12345.5", "0.0"]


def test_only_headers_are_cut_where_possible() -> None:
    rows = (("0401-9f77-b9c0-0001", "orders", 12345.5, None),)
    assert draw_layout(create_layout(rows=rows).fit(53), rows=rows)[::2] == [
        "id                  | name   | rows_per_… | last_err…",
        "0401-9f77-b9c0-0001 | orders |    12345.5 | NULL",
    ]


def test_texts_that_fit_are_unchanged() -> None:
    assert draw_layout(create_layout().fit(300)) == draw_layout(create_layout())


@pytest.mark.parametrize("most", [1, 2, 5, 10, 20, 37, 50, 79, 80, 81, 120, 200])
def test_no_line_is_longer_than_the_screen_is_wide(most: int) -> None:
    layout = create_layout().fit(most)
    assert max(width(line) for line in draw_layout(layout)) <= most
    assert layout.width <= most
    assert layout.hidden_columns == (0 if most >= 50 else layout.hidden_columns)


def test_omitted_columns_are_counted() -> None:
    assert [create_layout().fit(most).hidden_columns for most in (200, 50, 30, 15)] == [0, 0, 2, 3]


def test_single_column_uses_the_whole_width() -> None:
    columns, rows = (Column("plan"),), (("x" * 100,),)
    assert draw_layout(create_layout(columns, rows).fit(20), columns, rows)[-1] == "x" * 19 + "…"


def test_a_wrapped_row_keeps_its_text_and_its_line_breaks() -> None:
    columns, row = (Column("key"), Column("value")), ("statement", "INSERT INTO t\nSELECT a, b FROM STREAM s")
    layout = natural_layout(columns, [cells(columns, row)]).fit(30)
    assert layout.wrap_row(raw_cells(columns, row)) == [
        "statement | INSERT INTO t",
        "          | SELECT a, b FROM",
        "          | STREAM s",
    ]


def test_spare_width_is_used_for_longer_values() -> None:
    layout = create_layout()
    wider = add_room(layout, 1000)
    assert wider.width > layout.width
    assert add_room(layout, wider.width) == wider
    assert add_room(layout, wider.width - 1) == layout


def test_columns_grow_by_more_than_they_have_to() -> None:
    columns = (Column("n", "int"), Column("text"))
    first = natural_layout(columns, [cells(columns, (1, "x" * 40))])
    more = grow_layout(first, columns, [cells(columns, (1, "x" * 41))])
    assert more.sizes == (1, 50)
    assert grow_layout(more, columns, [cells(columns, (1, "x" * 50))]).sizes == more.sizes


def test_colours_change_no_column() -> None:
    row = [Cell("a", changed=True), Cell("b"), Cell("NULL", null=True), Cell("c")]
    layout = create_layout()
    coloured = layout.row_line(row, COLOURS)
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured).rstrip() == layout.row_line(row)
    assert COLOURS.null + "NULL" in coloured
    assert COLOURS.changed + "a" in coloured
