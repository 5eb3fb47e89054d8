"""The differences between rows: missing, extra and changed."""

from __future__ import annotations

from jetsql.sqltests.compare_rows import compare_rows

COLUMNS = ("id", "name", "total")


def test_equal_rows_in_another_order_have_no_difference() -> None:
    rows: list[list[str | None]] = [["1", "a", None], ["2", "b", "3"]]
    assert not compare_rows(COLUMNS, rows, rows[::-1])


def test_the_number_of_equal_rows_counts() -> None:
    difference = compare_rows(COLUMNS, [["1", "a", "1"]] * 3, [["1", "a", "1"]])
    assert difference.extra == (("1", "a", "1"),) * 2
    assert difference.summary == "2 extra"


def test_a_row_that_differs_in_few_values_is_changed() -> None:
    difference = compare_rows(COLUMNS, [["1", "a", None], ["9", "x", "y"]], [["1", "a", "5"], ["2", "b", "3"]])
    assert difference.changed == ((("1", "a", "5"), ("1", "a", None)),)
    assert difference.missing == (("2", "b", "3"),)
    assert difference.extra == (("9", "x", "y"),)
    assert difference.cells() == [
        ("missing", "2", "b", "3"),
        ("extra", "9", "x", "y"),
        ("changed", "1", "a", "5 -> NULL"),
    ]


def test_a_null_is_not_the_text_null() -> None:
    assert compare_rows(("a",), [[None]], [["NULL"]])
