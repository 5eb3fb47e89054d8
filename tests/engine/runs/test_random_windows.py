"""Random window functions in the order of the watermark's column: a job over several batches returns what batch does.

Rows arrive in any order that the watermark allows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import Sql
from tests.support.hypothesis_profiles import examples
from tests.support.tables.json_files import create_stream

pytestmark = pytest.mark.spark

DELAY: Final = 4
"""The delay of the watermark in seconds."""
VALUES: Final = ("v", "w", "nullif(v, 2)", "v + id")
LAST: Final = {"id": 10_000, "k": 0, "v": 1, "w": "z", "ts": "2100-01-01T00:00:00"}
Batches = list[list[dict[str, Any]]]


@dataclass(frozen=True)
class Window:
    """The columns of PARTITION BY and ORDER BY, and calls of functions with their frames."""

    keys: str
    order: str
    calls: tuple[str, ...]

    def query(self, rows: str) -> str:
        partition = f"PARTITION BY {self.keys} " if self.keys else ""
        calls = [call.replace("OVER (", f"OVER ({partition}ORDER BY {self.order} ") for call in self.calls]
        return f"SELECT id, to_json(struct({', '.join(calls)})) AS c FROM {rows}"


def side_by_side(windows: Sequence[Window], rows: str) -> str:
    """Return a query for the rows of all windows, because one job of several takes less time than several jobs."""
    return " UNION ALL ".join(f"SELECT {n} AS n, * FROM ({each.query(rows)})" for n, each in enumerate(windows))


@st.composite
def offsets(draw: st.DrawFn) -> str:
    """Return a call of lag() or lead() that reads earlier rows."""
    value, rows = draw(st.sampled_from(VALUES)), draw(st.integers(0, 3))
    default = draw(st.sampled_from(("", ", NULL", f", {value}", ", id" if value in ("v", "v + id") else ", NULL")))
    offset = f"lag({value}, {rows}{default})" if draw(st.booleans()) else f"lead({value}, -{rows}{default})"
    return f"{offset} {draw(st.sampled_from(('', 'IGNORE NULLS', 'RESPECT NULLS')))} OVER ()"


ROWS_FRAMES: Final = (
    "",
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING",
    "ROWS CURRENT ROW",
)
RANGE_FRAMES: Final = (
    "",
    "RANGE UNBOUNDED PRECEDING",
    "RANGE CURRENT ROW",
    "RANGE BETWEEN INTERVAL 6 SECONDS PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL 9 SECONDS PRECEDING AND INTERVAL 3 SECONDS PRECEDING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 2 SECONDS PRECEDING",
)
ORDERED: Final = ("first_value", "last_value", "any_value", "first", "last")
SETS: Final = (
    "count(*)",
    "count({})",
    "min({})",
    "max({})",
    "sum(v)",
    "count_if(v > 1)",
    "sort_array(collect_list({}))",
)


@st.composite
def aggregates(draw: st.DrawFn, frames: tuple[str, ...], has_ties: bool) -> str:
    """Return a call over a frame. has_ties: whether its result may not depend on the order of equal times"""
    value, frame = draw(st.sampled_from(VALUES)), draw(st.sampled_from(frames))
    kind = draw(st.integers(0, 0 if has_ties else 2))
    where = draw(st.sampled_from(("", " FILTER (WHERE v > 1)", " FILTER (WHERE w IS NULL)")))
    nulls = draw(st.sampled_from(("", " IGNORE NULLS", " RESPECT NULLS")))
    if kind == 0:
        call = draw(st.sampled_from(SETS)).format(value)
        if call.startswith("sort_array("):
            return f"sort_array({call.removeprefix('sort_array(').removesuffix(')')}{where} OVER ({frame}))"
        return f"{call}{where} OVER ({frame})"
    if kind == 1:
        return f"{draw(st.sampled_from(ORDERED))}({value}){where}{nulls} OVER ({frame})"
    return f"nth_value({value}, {draw(st.integers(1, 3))}){nulls} OVER ({frame})"


@st.composite
def windows(draw: st.DrawFn, kinds: tuple[str, ...]) -> Window:
    keys, kind = draw(st.sampled_from(("", "k", "k, w"))), draw(st.sampled_from(kinds))
    ranks = st.sampled_from(("rank() OVER ()", "dense_rank() OVER ()"))
    if kind == "ties":
        calls = st.one_of(ranks, aggregates(RANGE_FRAMES, True))
    elif kind == "by id":
        calls = st.one_of(ranks, offsets(), aggregates(ROWS_FRAMES, False), st.just("row_number() OVER ()"))
    else:
        calls = st.one_of(offsets(), aggregates(ROWS_FRAMES, False), aggregates(RANGE_FRAMES, False))
    order = "ts, id" if kind == "by id" else "ts"
    return Window(keys, order, tuple(draw(st.lists(calls, min_size=1, max_size=6))))


UNIQUE: Final = ("unique", "by id")
TIES: Final = ("ties", "by id")
"""The kinds of windows over rows with different times, and over rows with equal times."""


def batches_of(chosen: random.Random, sizes: list[int], has_ties: bool) -> Batches:
    """Return rows none of which is later than the watermark that the batches before it leave."""
    batches: Batches = []
    ids, newest, used = count(), 20, set[int]()
    for size in sizes:
        batch = []
        for _ in range(size):
            near = range(newest - DELAY + 1, newest + 9)
            free = [time for time in near if has_ties or time not in used]
            time = chosen.choice(free or [max(used) + 1])
            used.add(time)
            value, word = chosen.choice((None, None, None, 1, 2, 3)), chosen.choice((None, None, "a", "b"))
            at = f"2026-01-01T00:{time // 60:02}:{time % 60:02}"
            batch.append({"id": next(ids), "k": chosen.randrange(2), "v": value, "w": word, "ts": at})
        times = [str(row["ts"]) for row in batch]
        newest = max([newest, *(int(time[14:16]) * 60 + int(time[17:]) for time in times)])
        batches.append(batch)
    return [*batches, [LAST]]


class Comparison:
    """An engine with a folder for streams."""

    def __init__(self, sql: Sql, folder: Path) -> None:
        self.sql = sql
        self._folder = folder
        self._numbers = count()

    def compare(self, windows: Sequence[Window], batches: Batches) -> None:
        """Run windows as a job with a batch for each file, and over the whole table."""
        name = f"windows_{next(self._numbers)}"
        create_stream(self.sql, self._folder / name, "id INT, k INT, v INT, w STRING, ts TIMESTAMP", batches)
        whole = f"SELECT * FROM ({side_by_side(windows, name)}) WHERE id < 10000"
        self.sql(f"CREATE TABLE {name}_written USING parquet AS {whole} LIMIT 0")
        delay = f"WATERMARK ts DELAY OF INTERVAL {DELAY} SECONDS"
        body = side_by_side(windows, f"(SELECT * FROM STREAM {name} {delay})")
        self.sql(f"CREATE JOB {name} OPTIONS ('trigger' = 'availableNow') AS INSERT INTO {name}_written {body}")
        try:
            self.sql(f"WAIT FOR JOB {name} UNTIL COMPLETED TIMEOUT 900")
        except Exception as error:
            raise AssertionError(f"{name}: {body}") from error
        written, expected = (sorted(self.sql(text)) for text in (f"SELECT * FROM {name}_written", whole))
        wrong = [pair for pair in zip(written, expected, strict=False) if pair[0] != pair[1]]
        assert written == expected, f"{wrong[:3]} of {body}"


@pytest.fixture(scope="module")
def comparison(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    sql = Sql(engine)
    sql("CREATE SCHEMA random_windows")
    sql("USE random_windows")
    yield Comparison(sql, tmp_path_factory.mktemp("windows"))
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    sql("USE default")


def test_calls_that_read_earlier_rows_do_so_over_batches(comparison: Comparison) -> None:
    calls = (
        "lag(v) IGNORE NULLS OVER ()",
        "lag(v, 2) IGNORE NULLS OVER ()",
        "lag(v, 2, id) IGNORE NULLS OVER ()",
        "lead(v, -1) IGNORE NULLS OVER ()",
        "lag(nullif(v, 2), 3) IGNORE NULLS OVER ()",
        "lag(v, 0) IGNORE NULLS OVER ()",
        "lag(w, 3) OVER ()",
        "last_value(v) IGNORE NULLS OVER (ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)",
        "nth_value(v, 2) IGNORE NULLS OVER ()",
        "sum(v) FILTER (WHERE w IS NULL) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "count_if(v > 1) FILTER (WHERE w IS NULL) OVER (ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)",
        "count_if(v > 1) OVER ()",
    )
    batches = batches_of(random.Random(3), [5, 4, 4, 1, 3, 6], has_ties=True)
    comparison.compare([Window("k", "ts, id", calls)], batches)


@pytest.mark.slow
def test_frame_of_one_day_has_25_hours_after_clock_change(comparison: Comparison) -> None:
    times = ("2026-10-24T12:00:00", "2026-10-25T11:15:00", "2026-10-25T11:30:00")  # 24.5 hours in Berlin
    batches: Batches = [[{"id": n, "k": 0, "v": n, "w": "a", "ts": time}] for n, time in enumerate(times)]
    comparison.sql("SET TIME ZONE 'Europe/Berlin'")
    day = "count(*) OVER (RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)"
    comparison.compare([Window("k", "ts", (day,))], [*batches, [LAST]])
    comparison.sql("RESET spark.sql.session.timeZone")


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [UNIQUE, TIES], ids=["unique", "ties"])
@settings(max_examples=examples(1), phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.data(), st.randoms(use_true_random=False), st.lists(st.integers(1, 6), min_size=2, max_size=5))
def test_random_windows_return_what_batch_returns(
    comparison: Comparison, kinds: tuple[str, ...], data: st.DataObject, chosen: random.Random, sizes: list[int]
) -> None:
    some = data.draw(st.lists(windows(kinds), min_size=8, max_size=8, unique=True))
    comparison.compare(some, batches_of(chosen, sizes, has_ties=kinds is TIES))
