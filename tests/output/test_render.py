"""The rendering of results for users and programs, through `render.lines`."""

import csv
import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jetsql.output.render import SAMPLED_ROWS, Format, render_lines
from jetsql.output.terminal_text import width
from jetsql.resultset import Column


@dataclass
class StubRows:
    columns: tuple[Column, ...]
    rows: Iterator[tuple[object, ...]]


class SparkRow(tuple[object, ...]):
    """A row like pyspark.sql.Row: a tuple with the names of its fields."""

    __fields__: list[str]


def row(**fields: object) -> SparkRow:
    spark_row = SparkRow(fields.values())
    spark_row.__fields__ = list(fields)
    return spark_row


def render_text(form: Format, columns: dict[str, str], *rows: tuple[object, ...]) -> list[str]:
    return list(render_lines(StubRows(tuple(Column(name, kind) for name, kind in columns.items()), iter(rows)), form))


def one(form: Format, value: object, kind: str = "string") -> str:
    """Return a single value as CSV field or JSON member."""
    last = render_text(form, {"v": kind}, (value,))[-1]
    return last.removeprefix('{"v":').removesuffix("}") if form is Format.JSON else last


def counted() -> Iterator[tuple[int, ...]]:
    """Yield more rows than memory has room for: the numbers from 0."""
    return ((number,) for number in itertools.count())


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import time as clock

    monkeypatch.setenv("TZ", "America/New_York")
    clock.tzset()
    yield
    monkeypatch.undo()
    clock.tzset()


def test_table_aligns_numbers_right_and_text_left() -> None:
    assert render_text(Format.TABLE, {"id": "bigint", "name": "string"}, (7, "x"), (100, "long name")) == [
        " id | name",
        "----+----------",
        "  7 | x",
        "100 | long name",
    ]


def test_table_distinguishes_null_from_texts() -> None:
    table = render_text(Format.TABLE, {"a": "string", "b": "int"}, (None, None), ("NULL", 1), ("", 2))
    assert table[2:] == ["NULL   | NULL", '"NULL" |    1', "       |    2"]


def test_table_without_rows_says_so_and_without_columns_shows_nothing() -> None:
    assert render_text(Format.TABLE, {"a": "string"}) == ["a", "-", "(no rows)"]
    assert [render_text(form, {}) for form in Format] == [[] for _ in Format]


def test_rows_without_columns_are_read() -> None:
    rows: Iterator[tuple[object, ...]] = iter([(), ()])
    assert list(render_lines(StubRows((), rows), Format.CSV)) == []
    assert list(rows) == []


def test_wide_characters_are_aligned() -> None:
    table = render_text(
        Format.TABLE, {"city": "string", "n": "int"}, ("東京", 1), ("Zürich", 2), ("e\u0301", 3), ("👩‍🚀", 4)
    )
    assert len({width(line[: line.rindex("|")]) for line in [table[0], *table[2:]]}) == 1


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a\nb", "a\\nb"),
        ("a\tb\r", "a\\tb\\r"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("abc\u202edef", "abc\\u202edef"),
        ("line\u2028end", "line\\u2028end"),
        ("\ud800", "\\ud800"),
        ("नमस्ते 👩‍🚀", "नमस्ते 👩‍🚀"),
    ],
)
def test_table_and_header_escape_control_characters(text: str, cell: str) -> None:
    table = render_text(Format.TABLE, {"v": "string", text: "int"}, (text, 1))
    assert table[0].endswith(cell)
    assert table[2].startswith(cell)
    assert render_text(Format.VERTICAL, {text: "int"}, (1,))[1] == f"{cell} | 1"


def test_a_lone_text_keeps_its_lines() -> None:
    assert render_text(Format.TABLE, {"plan": "string"}, ("one\n  two\x1b\n",)) == ["plan", "----", "one", "  two\\x1b"]


def test_table_looks_ahead_a_limited_number_of_rows() -> None:
    rows = counted()
    table = render_lines(StubRows((Column("v", "int"),), rows), Format.TABLE)
    assert next(table).strip() == "v"
    assert next(rows) == (SAMPLED_ROWS,)


def test_a_wider_cell_further_down_widens_its_own_line() -> None:
    rows = [("x", 1)] * SAMPLED_ROWS + [("much longer", 1)]
    assert render_text(Format.TABLE, {"a": "string", "b": "int"}, *rows)[-2:] == ["x | 1", "much longer | 1"]


@pytest.mark.parametrize("form", [Format.VERTICAL, Format.CSV, Format.JSON, Format.MARKDOWN])
def test_the_other_formats_hold_no_rows_back(form: Format) -> None:
    rows = counted()
    text = render_lines(StubRows((Column("v", "int"),), rows), form)
    assert len([next(text) for _ in range(4)]) == 4
    assert next(rows) <= (4,)


def test_vertical_lists_columns_under_each_other() -> None:
    rows = [("job", "first\nsecond"), (None, "x")]
    assert render_text(Format.VERTICAL, {"name": "string", "last_error": "string"}, *rows) == [
        "-- row 1 --",
        "name       | job",
        "last_error | first",
        "           | second",
        "-- row 2 --",
        "name       | NULL",
        "last_error | x",
    ]
    assert render_text(Format.VERTICAL, {"name": "string"}) == ["(no rows)"]


def test_markdown_is_a_table_in_which_nothing_is_markup() -> None:
    rows = [("a|b *c* `d`", 1), ("first\nsecond", None), (None, 2), ("_x_ y_z <b> &lt;", 3)]
    assert render_text(Format.MARKDOWN, {"last_error": "string", "n": "int"}, *rows) == [
        "| last_error | n |",
        "| --- | ---: |",
        r"| a\|b \*c\* \`d\` | 1 |",
        "| first<br>second | *NULL* |",
        "| *NULL* | 2 |",
        r"| \_x\_ y_z \<b\> \&lt; | 3 |",
    ]
    assert render_text(Format.MARKDOWN, {"a": "string"}) == ["| a |", "| --- |"]


def test_csv_quotes_if_needed_and_distinguishes_null() -> None:
    rows = [("plain", 1), ('say "hi", now', 2), ("two\nlines\r", 3), ("", 4), (None, None)]
    assert render_text(Format.CSV, {"a,b": "string", "n": "int"}, *rows) == [
        '"a,b",n',
        "plain,1",
        '"say ""hi"", now",2',
        '"two\nlines\r",3',
        '"",4',
        ",",
    ]


@given(some.lists(some.tuples(some.text(some.characters(codec="utf-8")), some.text(some.characters(codec="utf-8")))))
def test_csv_can_be_read_back(rows: list[tuple[str, str]]) -> None:
    text = "".join(line + "\n" for line in render_text(Format.CSV, {"a": "string", "b": "string"}, *rows))
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [list(row) for row in rows]


@given(some.text(some.characters(codec="utf-8")))
def test_json_texts_can_be_read_back_from_one_line(text: str) -> None:
    (line,) = render_text(Format.JSON, {text: "string"}, (text,))
    assert "\n" not in line
    assert json.loads(line) == {text: text}


def test_json_names_that_come_again_get_a_number() -> None:
    kinds = [Column("id", "int"), Column("id", "int"), Column("id_2", "int"), Column("id", "int")]
    (line,) = render_lines(StubRows(tuple(kinds), iter([(1, 2, 3, 4)])), Format.JSON)
    assert line == '{"id":1,"id_3":2,"id_2":3,"id_4":4}'


VALUES: list[tuple[Any, str, str, str]] = [
    (None, "int", "", "null"),
    (True, "boolean", "true", "true"),
    (9223372036854775807, "bigint", "9223372036854775807", "9223372036854775807"),
    (0.1, "double", "0.1", "0.1"),
    (0.10000000149011612, "float", "0.1", "0.1"),
    (3.4028234663852886e38, "float", "3.4028235e+38", "3.4028235e+38"),
    (float("nan"), "double", "NaN", '"NaN"'),
    (float("-inf"), "double", "-Infinity", '"-Infinity"'),
    (
        Decimal("123456789012345678.12345678"),
        "decimal(26,8)",
        "123456789012345678.12345678",
        "123456789012345678.12345678",
    ),
    (Decimal("1E+3"), "decimal(4,0)", "1000", "1000"),
    (Decimal("0E-7"), "decimal(10,7)", "0.0000000", "0.0000000"),
    (date(2013, 1, 2), "date", "2013-01-02", '"2013-01-02"'),
    (time(1, 2, 3, 4), "time(6)", "01:02:03.000004", '"01:02:03.000004"'),
    (datetime(2013, 1, 2, 3, 4), "timestamp_ntz", "2013-01-02T03:04:00", '"2013-01-02T03:04:00"'),
    (timedelta(days=1, hours=2, seconds=3.5), "interval day to second", "1 02:00:03.5", '"1 02:00:03.5"'),
    (-timedelta(minutes=1), "interval day to second", "-0 00:01:00", '"-0 00:01:00"'),
    (bytearray(b"\x00\xff"), "binary", "00ff", '"AP8="'),
    ([1, None, "x"], "array<string>", '"[1,null,""x""]"', '[1,null,"x"]'),
    ({"k": Decimal("1.10"), 2: b"a"}, "map<string,string>", '"{""k"":1.10,""2"":""YQ==""}"', '{"k":1.10,"2":"YQ=="}'),
    (
        row(a=1, b=row(c=None)),
        "struct<a:int,b:struct<c:int>>",
        '"{""a"":1,""b"":{""c"":null}}"',
        '{"a":1,"b":{"c":null}}',
    ),
    (
        row(t=datetime(2013, 1, 2)),
        "struct<t:timestamp_ntz>",
        '"{""t"":""2013-01-02T00:00:00""}"',
        '{"t":"2013-01-02T00:00:00"}',
    ),
    (SimpleNamespace(a=1), "some_type", "namespace(a=1)", '"namespace(a=1)"'),
]


@pytest.mark.parametrize(
    ("value", "kind", "field", "member"), VALUES, ids=[f"{kind}-{field}" for _, kind, field, _ in VALUES]
)
def test_values_keep_all_their_digits(value: object, kind: str, field: str, member: str) -> None:
    assert one(Format.CSV, value, kind) == field
    assert one(Format.JSON, value, kind) == member


def test_members_are_written_by_their_types() -> None:
    fields = [{"name": "f", "type": "float"}, {"name": "d", "type": "double"}, {"name": "v", "type": "variant"}]
    array = {"type": "array", "elementType": {"type": "struct", "fields": fields}}
    column = Column("c", "...", structure={"type": "map", "keyType": "float", "valueType": array})
    single = 0.10000000149011612
    value = {single: [row(f=single, d=0.1, v='{"a":1}'), None]}
    expected = '{"0.1":[{"f":0.1,"d":0.1,"v":{"a":1}},null]}'
    assert list(render_lines(StubRows((column,), iter([(value,)])), Format.JSON)) == [f'{{"c":{expected}}}']
    assert list(render_lines(StubRows((column,), iter([(value,)])), Format.VERTICAL))[1] == f"c | {expected}"


def test_a_variant_is_json_already() -> None:
    class Variant:
        def __str__(self) -> str:
            return '{"a":[1]}'

    assert one(Format.JSON, Variant(), "variant") == '{"a":[1]}'


def test_timestamps_have_offsets_only_in_formats_for_programs() -> None:
    moment = datetime(2013, 7, 1, 8, 30, tzinfo=ZoneInfo("America/New_York"))
    assert one(Format.JSON, moment, "timestamp") == '"2013-07-01T08:30:00-04:00"'
    assert one(Format.CSV, moment, "timestamp") == "2013-07-01T08:30:00-04:00"
    assert one(Format.TABLE, moment, "timestamp") == "2013-07-01 08:30:00"
    assert one(Format.TABLE, [moment], "array<timestamp>") == '["2013-07-01T08:30:00-04:00"]'


def test_time_zone_of_the_machine_is_ignored(new_york: None) -> None:
    assert one(Format.JSON, datetime(2013, 7, 1, tzinfo=UTC), "timestamp") == '"2013-07-01T00:00:00+00:00"'
    assert one(Format.JSON, datetime(2013, 7, 1), "timestamp_ntz") == '"2013-07-01T00:00:00"'
    assert one(Format.JSON, datetime.min, "timestamp") == '"0001-01-01T00:00:00"'


def test_an_error_while_rows_are_read_passes_through() -> None:
    def rows() -> Iterator[tuple[object, ...]]:
        yield (1,)
        raise OSError("the batch failed")

    for form in Format:
        with pytest.raises(OSError, match="the batch failed"):
            list(render_lines(StubRows((Column("v", "int"),), rows()), form))


@pytest.mark.parametrize("form", Format)
def test_an_error_before_the_first_row_leaves_nothing_shown(form: Format) -> None:
    def rows() -> Iterator[tuple[object, ...]]:
        raise OSError("the batch failed")
        yield

    with pytest.raises(OSError, match="the batch failed"):
        next(render_lines(StubRows((Column("v", "int"),), rows()), form))
