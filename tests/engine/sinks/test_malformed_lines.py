"""Lines of JSON and CSV files that do not fit the columns of their table: the option 'on.error' of streams."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark

JSON = (
    b'{"id":1,"s":1.10}',
    b'{"id":2}{"id":3}',
    b"not json",
    b"",
    b'{"id":4,"s":"\xff"}',
    b'{"id":"x","s":"y"}',
    b'[{"id":5},{"id":6,"s":{"a":1.10}}]',
    b'{"s":"no id"}',
    b"12",
)
# The lines that do not fit by their numbers, with the reason.
BROKEN = {
    2: "it has text after its JSON object",
    3: "it is not valid JSON",
    5: "it is not valid JSON",
    6: "id is not of type INT",
    9: "it is not a JSON object",
}
ROWS = [(1, "1.10", 7), (5, None, 7), (6, '{"a":1.10}', 7), (None, "no id", 7)]


def run(sql: Sql, job: str, columns: str, source: str) -> list[tuple[Any, ...]]:
    """Run a job over all files of a stream, and return its rows."""
    sql(f"CREATE TABLE {job}_rows ({columns}) USING parquet")
    names = ", ".join(column.split()[0] for column in columns.split(", "))
    sql(f"CREATE JOB {job} OPTIONS ('trigger' = 'availableNow') AS INSERT INTO {job}_rows SELECT {names} FROM {source}")
    sql(f"WAIT FOR JOB {job} UNTIL COMPLETED TIMEOUT 60 SECONDS")
    return sql(f"SELECT * FROM {job}_rows")


def table(
    sql: Sql, name: str, columns: str, folder: Path, form: str = "json", partitioned: str = "", **options: str
) -> None:
    """Create a table of the files in a folder. options: `_` in a name is replaced by a dot"""
    pairs = ", ".join(f"'{key.replace('_', '.')}' = '{value}'" for key, value in options.items())
    clauses = f"OPTIONS ({pairs})" if pairs else ""
    sql(f"CREATE TABLE {name} ({columns}) USING {form} {clauses} {partitioned} LOCATION '{folder}'")
    if partitioned:
        sql(f"MSCK REPAIR TABLE {name}")


def write(path: Path, lines: Iterable[bytes]) -> str:
    """Write the lines of a file, compressed if its name says so, and return the name of the file in messages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return f"file:{path}"


def by_text(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


def test_handling_of_unreadable_json_lines(sql: Sql, tmp_path: Path) -> None:
    sql("SET spark.sql.files.maxPartitionBytes = 40")  # a part of a file has one or two lines
    plain = write(tmp_path / "in/p=7/a.json", JSON)
    packed = write(tmp_path / "in/p=7/b.json.gz", JSON[1::-1])
    columns = "id INT, s STRING, p INT"
    for name, on_error in (("fails", ""), ("skips", "skip"), ("nulls", "NULL"), ("keeps", "table:dead")):
        options = {"on_error": on_error} if on_error else {}
        table(sql, name, columns, tmp_path / "in", partitioned="PARTITIONED BY (p)", **options)
    good = [*ROWS, ROWS[0]]
    assert by_text(run(sql, "a", columns, "STREAM skips")) == by_text(good)
    assert by_text(run(sql, "b", columns, "STREAM nulls")) == by_text([*good, *[(None, None, 7)] * (len(BROKEN) + 1)])
    assert by_text(run(sql, "c", columns, "STREAM keeps")) == by_text(good)
    assert by_text(sql("SELECT file, line, value, reason FROM dead")) == by_text(
        [
            *((plain, number, JSON[number - 1], reason) for number, reason in BROKEN.items()),
            (packed, 1, JSON[1], BROKEN[2]),
        ]
    )
    for name, applies in (("a", "on.error: skip"), ("c", "on.error: table:dead")):
        assert dict(sql(f"DESCRIBE JOB {name}"))["source"].endswith(applies)

    sql("CREATE TABLE d_rows (p INT) USING parquet")
    # The query reads none of the columns that do not fit.
    error = sql.error("CREATE JOB d AS INSERT INTO d_rows SELECT p FROM STREAM fails")
    sql("RESET spark.sql.files.maxPartitionBytes")
    message = error.message.replace("file:///", "file:/")
    places = {f"Line {number} of the file {plain} ": reason for number, reason in BROKEN.items()}
    places[f"Line 1 of the file {packed} "] = BROKEN[2]
    assert any(place in message and f": {reason}. " in message for place, reason in places.items()), message
    assert sql("SELECT * FROM d_rows") == []
    [remedy] = re.findall(r"ALTER TABLE \S+ SET SERDEPROPERTIES \(.*?\)", error.message)
    sql(remedy)
    assert len(run(sql, "e", "p INT", "STREAM fails")) == len(good)


def test_lines_of_csv(sql: Sql, tmp_path: Path) -> None:
    lines = (
        b"id,s,d",
        b"1,a,2026-01-01",
        b"# 2",
        b"",
        b"3,c",
        b"4,d,2026-01-01,more",
        b"5,e,never",
        b"x,,",
        b'6,"f,g",',
    )
    file = write(tmp_path / "in/a.csv", lines)
    columns = "id INT, s STRING, d DATE"
    settings = {"header": "true", "comment": "#", "on_error": "table:dead"}
    table(sql, "t", columns, tmp_path / "in", "csv", **settings)
    assert by_text(run(sql, "a", "id INT, s STRING", "STREAM t")) == [(1, "a"), (6, "f,g")]
    assert by_text(sql("SELECT * FROM dead")) == [
        (file, 5, lines[4], "it has 2 values for 3 columns"),
        (file, 6, lines[5], "it has 4 values for 3 columns"),
        (file, 7, lines[6], "d is not of type DATE"),
        (file, 8, lines[7], "id is not of type INT"),
    ]
    # Records of several lines, and a file that is one document: there is no number of a line.
    write(tmp_path / "many/a.csv", (b'1,"a', b'b"', b"2", b"3,c"))
    table(sql, "m", "id INT, s STRING", tmp_path / "many", "csv", multiLine="true", on_error="table:more")
    assert by_text(run(sql, "b", "id INT, s STRING", "STREAM m")) == [(1, "a\nb"), (3, "c")]
    assert [row[1:] for row in sql("SELECT * FROM more")] == [(None, b"2", "it has 1 values for 2 columns")]
    write(tmp_path / "docs/a.json", (b"[", b'{"id": 1},', b'{"id": 2}]'))
    broken = write(tmp_path / "docs/b.json", (b'{"id": 3', b"}", b'{"id": 4}'))
    table(sql, "w", "id INT", tmp_path / "docs", multiLine="true", on_error="table:whole")
    assert by_text(run(sql, "c", "id INT", "STREAM w")) == [(1,), (2,)]
    assert [row[:2] for row in sql("SELECT * FROM whole")] == [(broken, None)]


def test_spark_options_and_earlier_jobs_keep_rows_of_nulls(sql: Sql, tmp_path: Path) -> None:
    write(tmp_path / "in/a.json", (b'{"id": 1}', b"?"))
    table(sql, "t", "id INT", tmp_path / "in")
    table(sql, "drops", "id INT", tmp_path / "in", mode="DROPMALFORMED")
    table(sql, "corrupt", "id INT, _corrupt_record STRING", tmp_path / "in")
    assert run(sql, "a", "id INT", "STREAM drops") == [(1,)]
    found = run(sql, "b", "id INT, _corrupt_record STRING", "STREAM corrupt")
    assert by_text(found) == [(1, None), (None, "?")]
    for job in "ab":
        assert dict(sql(f"DESCRIBE JOB {job}"))["source"].endswith(
            "malformed lines: as the table's own options of Spark say"
        )
    sql("SET spark.jetsql.files.onError = earlier")  # as the session of a job that an earlier release has created
    assert by_text(run(sql, "c", "id INT", "STREAM t")) == [(1,), (None,)]
    assert dict(sql("DESCRIBE JOB c"))["source"].endswith("malformed lines: rows of NULLs, as when the job was created")
    sql("RESET spark.jetsql.files.onError")
    assert run(sql, "d", "id INT", "STREAM t WITH ('on.error' = 'skip')") == [(1,)]
    assert by_text(sql("SELECT id FROM t")) == [(1,), (None,)]


def test_the_option_is_checked_at_its_place(sql: Sql, tmp_path: Path) -> None:
    table(sql, "t", "id INT", tmp_path, on_error="table:dead")
    table(sql, "u", "id INT", tmp_path)
    table(sql, "o", "id INT", tmp_path / "o", "parquet")
    new, job = "CREATE TABLE v (id INT) USING", "CREATE JOB j AS INSERT INTO o SELECT id FROM STREAM"
    for text, condition, place, words in (
        (f"{new} json OPTIONS ('on.error' = 'skp')", "INVALID_OPTION_VALUE", "'skp'", "'table:NAME'"),
        (f"{new} parquet OPTIONS ('on.error' = 'skip')", "UNKNOWN_OPTION", "'on.error'", "json, csv"),
        (f"{job} u WITH ('on.error' = 'table:dead')", "INVALID_OPTION_VALUE", "'table:dead'", "'skip'"),
        (f"{job} t WITH ('on.error' = 'skip')", "OPTION_NOT_CHANGEABLE", "'on.error'", "dead letters"),
        (f"{job} t WITH ('dateFormat' = 'y')", "OPTION_NOT_CHANGEABLE", "'dateFormat'", "dead letters"),
        ("SELECT id FROM u WITH ('on.error' = 'skip')", "OPTION_NOT_CHANGEABLE", "'on.error'", "applies to streams"),
        ("SELECT id FROM o WITH ('on.error' = 'skip')", "UNKNOWN_OPTION", "'on.error'", "USING parquet"),
    ):  # fmt: skip
        error = sql.error(text)
        assert error.condition == f"JETSQL.{condition}" and words in error.message, (text, error.message)
        assert (error.line, error.column) == (1, text.index(place) + 1), text
    table(sql, "both", "id INT", tmp_path, mode="FAILFAST", on_error="skip")
    assert "Set either 'on.error' or the option 'mode'" in sql.error(f"{job} both").message
