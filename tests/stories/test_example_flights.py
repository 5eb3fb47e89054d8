"""The example with flights: the layout of its files and the rows of its tables, with made-up rows; and a short run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from examples import verdict
from examples.flights import expected, layout
from examples.verdict import Facts
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "flights"

if TYPE_CHECKING:
    from tests.conftest import Sql

DAY = {"year": 2013, "month": 1, "day": 1}


def raw(hour: str, minute: int, carrier: str = "UA", **more: Any) -> dict[str, object]:
    """Return a row as the package has it, by default landed ten minutes late."""
    row = {
        **DAY,
        "time_hour": f"2013-01-{hour}:00:00Z",
        "minute": minute,
        "carrier": carrier,
        "tailnum": "N1",
        "origin": "EWR",
        "dest": "IAH",
        "flight": 1,
        "dep_time": 517.0,
        "arr_time": 830.0,
        "dep_delay": 2.0,
        "arr_delay": 10.0,
        "air_time": 227.0,
        "distance": 1400,
    }
    return {**row, **more}


def flights(*rows: dict[str, object]) -> pd.DataFrame:
    return layout.flights_of(pd.DataFrame(list(rows)))


CANCELLED: dict[str, Any] = {"dep_time": None, "arr_time": None, "dep_delay": None, "arr_delay": None, "air_time": None}


def test_one_file_per_day_with_exact_times_and_complete_rows(tmp_path: Path) -> None:
    rows = flights(
        raw("02T04", 59, day=1, tailnum=None, **CANCELLED),
        raw("01T10", 15),
        raw("02T10", 0, day=2),
    )
    files = list(layout.lay_out(rows, tmp_path / "days"))
    assert [file.name for file in files] == ["2013-01-01.json", "2013-01-02.json"]
    first, second = (json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines())
    assert first == {
        "scheduled": "2013-01-02T04:59:00Z",
        "day": "2013-01-01",
        "carrier": "UA",
        "flight": 1,
        "origin": "EWR",
        "dest": "IAH",
        "distance": 1400,
    }
    assert (second["scheduled"], second["dep_time"], second["tailnum"]) == ("2013-01-01T10:15:00Z", 517, "N1")


def test_files_arrive_in_order_each_later_than_the_one_before(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    files = [waiting / f"{number}.json" for number in range(20)]
    for file in reversed(files):
        file.write_text("{}", encoding="utf-8")
    arrivals = layout.Arrivals(tmp_path / "table")
    for part in layout.parts(files, 3):
        arrivals.arrive(part)
    arrived = sorted((tmp_path / "table").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    assert [file.name for file in arrived] == [file.name for file in files]
    milliseconds = [file.stat().st_mtime_ns // 1_000_000 for file in arrived]
    assert len(set(milliseconds)) == len(files)
    assert list(waiting.iterdir()) == []


@pytest.mark.parametrize(("count", "sizes"), [(4, [1, 1, 1, 2]), (2, [2, 3]), (5, [1, 1, 1, 1, 1])])
def test_parts_are_of_nearly_the_same_size(count: int, sizes: list[int]) -> None:
    files = [Path(f"{number}") for number in range(5)]
    parts = layout.parts(files, count)
    assert [len(part) for part in parts] == sizes
    assert [file for part in parts for file in part] == files


def test_an_hour_is_closed_when_the_watermark_reaches_its_end() -> None:
    hours = expected.hours(
        flights(
            raw("01T10", 0),
            raw("01T10", 59, arr_delay=16.0),
            raw("01T10", 30, **CANCELLED),
            raw("01T10", 30, carrier="AA", **CANCELLED),
            raw("01T11", 0),
            raw("01T13", 0),
        )
    )
    ten, eleven, thirteen = (pd.Timestamp(f"2013-01-01T{hour}:00Z").timestamp() for hour in (10, 11, 13))
    assert hours.closed == {(ten, "UA"): (3, 2, 1, 26), (ten, "AA"): (1, 0, 0, 0)}
    assert hours.open == {(eleven, "UA"): (1, 1, 0, 10), (thirteen, "UA"): (1, 1, 0, 10)}


def test_flights_that_landed_by_day_and_by_names() -> None:
    rows = flights(raw("01T10", 0), raw("01T11", 0, dest="SJU"), raw("02T10", 0, day=2, **CANCELLED))
    assert expected.landed_by_day(rows) == {("2013-01-01",): (2, 20)}
    airlines = pd.DataFrame({"carrier": ["UA", "AA"], "name": ["United", "American"]})
    airports = pd.DataFrame({"faa": ["IAH"], "name": ["Houston"]})
    by_names = expected.landed_by_names(rows, airlines, airports)
    assert by_names == {("United", "Houston"): (1,), ("United", None): (1,)}


def test_rejected_flights_by_what_is_missing() -> None:
    rows = flights(
        raw("01T10", 0),
        raw("01T10", 1, **CANCELLED),
        raw("01T10", 2, arr_time=None, arr_delay=None, air_time=None),
        raw("01T10", 3, arr_delay=None, air_time=None),
        raw("01T10", 4, arr_delay=None, air_time=None),
    )
    assert expected.rejected(rows) == {
        ("no departure",): (1,),
        ("departure, but no arrival",): (1,),
        ("departure and arrival, but no air time and delay",): (2,),
    }


def test_equally_busy_routes_are_ordered_by_name() -> None:
    rows = flights(raw("01T10", 0), raw("01T10", 1, dest="ATL"), raw("01T10", 2, dest="ZZZ"), raw("01T10", 3))
    assert expected.top_routes(rows, 2) == {("EWR", "IAH"): (2, 2800), ("EWR", "ATL"): (1, 1400)}


def test_a_row_too_many_is_a_difference() -> None:
    source: Facts = {("a",): (1, 5), ("b",): (2, 7), ("c",): (1, 1)}
    found = verdict.facts([("a", 1, 5), ("b", 2, 7), ("b", 2, 7), ("d", 1, 0)], 1)
    assert verdict.differences(source, found) == [
        "b: 4, 14 in the table, 2, 7 in the source",
        "c: nothing in the table, 1, 1 in the source",
        "d: 1, 0 in the table, nothing in the source",
    ]
    assert verdict.differences(source, source) == []


def test_the_whole_year_is_in_the_package() -> None:
    year = layout.read_flights()
    assert (len(year), year["day"].nunique()) == (336_776, 365)
    assert sum(numbers[0] for numbers in expected.rejected(year).values()) == 9_430


def test_folder_with_other_files_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    command = [sys.executable, "-m", "examples.flights.demo", "--home", str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environ)
    assert ended.returncode == 2
    assert f"{tmp_path} is not empty" in ended.stderr
    assert (tmp_path / "mine").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_the_first_days_of_the_demo(sql: "Sql", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the story on the engine of the tests; `make demo` runs it on an engine of its own, over the year."""
    from examples.flights import demo  # here, because it imports PySpark
    from examples.story import Story, in_literal

    few = demo.first_days(layout.read_flights(), 4)
    layout.lay_out_names(tmp_path)
    files = list(layout.lay_out(few, tmp_path / "waiting"))
    zone = sql.value("SELECT current_timezone()")
    story = Story(sql.engine, EXAMPLE, {"data": in_literal(tmp_path)})
    try:
        demo.narrate(story, layout.Arrivals(tmp_path / "flights"), layout.parts(files, 4))
        assert demo.check(story, few) == 0
    finally:
        sql(f"SET TIME ZONE '{zone}'")
    assert capsys.readouterr().out.count("| same") == 5


@pytest.mark.spark
def test_surplus_row_of_a_table_is_reported(sql: "Sql") -> None:
    from examples.flights import demo
    from examples.story import Story

    sql("CREATE TABLE rejected (reason STRING) USING parquet")
    sql("INSERT INTO rejected VALUES ('no departure'), ('no departure')")
    rows = flights(raw("01T10", 0, **CANCELLED))
    comparison = demo.Comparison(
        "rejected", expected.rejected(rows), "SELECT reason, count(*) FROM rejected GROUP BY reason"
    )
    assert comparison.verdict(Story(sql.engine, EXAMPLE, {})).differences == (
        "no departure: 2 in the table, 1 in the source",
    )
