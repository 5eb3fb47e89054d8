"""The layout of results on a screen: complete if there is room, without reading more rows than are shown."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from jetsql.output.layout import COLOURS
from jetsql.output.render import Format
from jetsql.output.terminal_text import width
from jetsql.shell.output.result_pages import Page, PageOptions, layout_page, screen_height
from jetsql.shell.output.screen import ScreenSize
from tests.support.engines.stub_engine import StubResult
from tests.support.screens.terminal import columns

ERROR = "[JETSQL.SINK_CHANGED] The table delays is not the one that the job was made for. Drop the job, or undo it."
JOBS = columns(id="string", name="string", rows_per_second="double", last_error="string")
ORDERS = ("0401-9f77-b9c0-0001", "orders", 12345.5, ERROR)


def shown(
    kinds: object, *rows: tuple[object, ...], size: tuple[int, int] = (80, 24), pager: bool = False, form: str = "table"
) -> tuple[list[str], bool]:
    assert isinstance(kinds, tuple)
    found = layout_page(StubResult(kinds, iter(rows)), PageOptions(Format(form), ScreenSize(*size), has_pager=pager))
    return list(found.lines), found.needs_pager


def test_result_that_fits_is_a_plain_table() -> None:
    assert shown(columns(n="int", text="string"), (1, "a"), (22, None)) == (
        [" n | text", "---+-----", " 1 | a", "22 | NULL"],
        False,
    )


def test_a_result_without_rows_shows_its_columns() -> None:
    assert shown(JOBS, size=(80, 24))[0][0].startswith("id | name")


def test_long_texts_are_wrapped_to_fit() -> None:
    lines, paged = shown(JOBS, ORDERS, size=(100, 24))
    assert lines == [
        "id                  | name   | rows_per_second | last_error",
        "--------------------+--------+-----------------+----------------------------------------------------",
        "0401-9f77-b9c0-0001 | orders |         12345.5 | [JETSQL.SINK_CHANGED] The table delays is not the",
        "                    |        |                 | one that the job was made for. Drop the job, or",
        "                    |        |                 | undo it.",
    ]
    assert not paged


def test_the_line_breaks_of_a_text_are_shown() -> None:
    lines, _ = shown(columns(key="string", value="string"), ("statement", "INSERT INTO t\nSELECT 1\x1b"))
    assert lines[2:] == ["statement | INSERT INTO t", "          | SELECT 1\\x1b"]


def test_too_narrow_columns_are_shown_vertically() -> None:
    lines, paged = shown(JOBS, ORDERS, size=(50, 24))
    assert lines[:3] == ["-- row 1 --", "id              | 0401-9f77-b9c0-0001", "name            | orders"]
    assert not paged


def test_too_many_columns_are_shown_vertically() -> None:
    many = columns(**{f"c{number}": "bigint" for number in range(40)})
    lines, _ = shown(many, tuple(range(40)), size=(80, 50))
    assert lines[:2] == ["-- row 1 --", "c0  | 0"]


def test_result_longer_than_the_screen_is_paged_uncut() -> None:
    lines, paged = shown(JOBS, *[ORDERS] * 30, pager=True)
    assert paged
    assert len(lines) == 32
    assert lines[-1].endswith(ERROR)


@pytest.mark.parametrize("columns_of_screen", [40, 60, 80, 100, 200])
def test_long_result_without_pager_has_one_line_per_row(columns_of_screen: int) -> None:
    lines, paged = shown(JOBS, *[ORDERS] * 30, size=(columns_of_screen, 24))
    assert not paged
    if columns_of_screen >= 60:
        assert len(lines) == 32
    assert max(width(line) for line in lines if not line.startswith("last_error")) <= columns_of_screen


def test_few_rows_that_cannot_fit_are_paged() -> None:
    lines, paged = shown(columns(a="string"), *[("x" * 2000,)] * 3, pager=True)
    assert (len(lines), paged) == (5, True)
    lines, paged = shown(columns(a="string"), *[("x" * 2000,)] * 3)
    assert (lines[-1], paged) == ("x" * 79 + "…", False)


def test_single_text_keeps_its_lines() -> None:
    plan = "\n".join(f"line {number}" for number in range(50))
    assert shown(columns(plan="string"), (plan,), pager=True) == (["plan", "----", *plan.split("\n")], True)
    assert shown(columns(plan="string"), (plan,))[1] is False


@pytest.mark.parametrize("form", ["table", "vertical", "csv", "json", "markdown"])
@pytest.mark.parametrize("pager", [False, True])
def test_endless_result_is_read_only_as_needed(form: str, pager: bool) -> None:
    numbers: Iterator[tuple[int]] = ((number,) for number in itertools.count())
    found: Page = layout_page(
        StubResult(columns(n="int"), numbers), PageOptions(Format(form), ScreenSize(80, 24), has_pager=pager)
    )
    first = list(itertools.islice(found.lines, 100))
    assert len(first) == 100
    assert found.needs_pager is pager
    assert next(numbers) <= (1000,)


@pytest.mark.parametrize("form", ["vertical", "csv", "json", "markdown"])
def test_long_results_of_other_formats_are_paged(form: str) -> None:
    assert shown(columns(n="int"), *[(1,)] * 3, form=form, pager=True)[1] is False
    assert shown(columns(n="int"), *[(1,)] * 30, form=form, pager=True)[1] is True
    assert shown(columns(n="string"), ("x" * 80 * 30,), form=form, pager=True)[1] is True


def test_null_text_is_configurable_and_distinguishable() -> None:
    options = PageOptions(Format.TABLE, ScreenSize(80, 24), null="-")
    rows = iter([(None,), ("-",), ("NULL",)])
    assert list(layout_page(StubResult(columns(a="string"), rows), options).lines)[2:] == ["-", '"-"', "NULL"]


def test_colours_have_no_width() -> None:
    options = PageOptions(Format.TABLE, ScreenSize(80, 24), COLOURS)
    for form in (Format.TABLE, Format.VERTICAL):
        found = layout_page(
            StubResult(JOBS, iter([ORDERS, (None,) * 4])), PageOptions(form, options.size, options.paint)
        )
        lines = list(found.lines)
        assert any(COLOURS.null + "NULL" in line for line in lines)
        plain = list(layout_page(StubResult(JOBS, iter([ORDERS, (None,) * 4])), PageOptions(form, options.size)).lines)
        assert screen_height(lines, 80) == screen_height(plain, 80)


def test_rows_without_columns_are_read() -> None:
    rows: Iterator[tuple[object, ...]] = iter([(), ()])
    assert list(layout_page(StubResult((), rows), PageOptions(Format.TABLE, ScreenSize(80, 24))).lines) == []
    assert list(rows) == []
