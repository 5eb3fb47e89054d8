"""Random queries of the shapes that JetSQL rewrites: a job over several batches returns what batch returns."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import Sql
from tests.support.hypothesis_profiles import examples

pytestmark = pytest.mark.spark

COLUMNS: Final = "id INT, k INT, g STRING, v INT, d DOUBLE, t TIMESTAMP"
KEYS: Final = ("k", "g", "k % 2", "coalesce(g, 'none')", "d")
ORDERS: Final = ("v", "g", "d", "t", "-v", "id % 3", "length(g)")
FUNCTIONS: Final = ("row_number", "rank", "dense_rank")


@dataclass(frozen=True)
class Query:
    """A query over `s`, and the word of INSERT that it needs."""

    verb: str
    text: str


@st.composite
def tops(draw: st.DrawFn) -> Query:
    """Return the top rows of each key."""
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    orders = draw(st.lists(st.sampled_from(ORDERS), min_size=1, max_size=2, unique=True))
    directions = st.sampled_from(("", " ASC", " DESC", " DESC NULLS FIRST", " ASC NULLS LAST", " DESC NULLS LAST"))
    order = [f"{each}{draw(directions)}" for each in orders]
    function = draw(st.sampled_from(FUNCTIONS))
    if function == "row_number":
        order.append(draw(st.sampled_from(("id", "id DESC"))))  # batch chooses any of the peers
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    over = f"{function}() OVER ({partition}ORDER BY {', '.join(order)})"
    bound = draw(st.sampled_from(("<= 1", "= 1", "< 2", "= 2", "<= 3", "< 4", "= 4")))
    if draw(st.booleans()):
        return Query("OVERWRITE", f"SELECT id, k, g, d FROM s QUALIFY {over} {bound}")
    more = draw(st.sampled_from(("", " AND v > 1", " AND r > 1", " AND r < 3", " AND g IS NOT NULL")))
    return Query("OVERWRITE", f"SELECT id, v, t, r FROM (SELECT *, {over} AS r FROM s) WHERE r {bound}{more}")


@st.composite
def counts(draw: st.DrawFn) -> Query:
    """Return aggregates of distinct values."""
    filters = st.sampled_from(("", " FILTER (WHERE id > 5)", " FILTER (WHERE g = 'a')"))
    arguments = st.sampled_from(("count(DISTINCT {})", "count(DISTINCT {}, g)", "min(DISTINCT {})", "max(DISTINCT {})"))
    calls = [
        f"{draw(arguments).format(draw(st.sampled_from(('v', 'd', 'id % 4', 'v + k'))))}{draw(filters)} AS c{n}"
        for n in range(draw(st.integers(1, 3)))
    ]
    key = draw(st.sampled_from(KEYS))
    having = draw(st.sampled_from(("", " HAVING count(*) > 1", " HAVING count(DISTINCT v) > 1")))
    return Query("OVERWRITE", f"SELECT {key} AS key, {', '.join(calls)}, count(*) AS n FROM s GROUP BY {key}{having}")


@st.composite
def distincts(draw: st.DrawFn) -> Query:
    """Return rows without their duplicates."""
    columns = draw(st.lists(st.sampled_from((*KEYS, "v")), min_size=1, max_size=3, unique=True))
    shown = ", ".join(f"{column} AS c{n}" for n, column in enumerate(columns))
    where = draw(st.sampled_from(("", " WHERE v > 1", " WHERE k IS NULL OR id > 4")))
    if draw(st.booleans()):
        return Query("INTO", f"SELECT DISTINCT {shown} FROM s{where}")
    other = draw(st.sampled_from(("k", "v", "id % 5")))
    return Query("INTO", f"SELECT k AS c FROM s{where} UNION SELECT {other} FROM s")


@st.composite
def results(draw: st.DrawFn) -> Query:
    """Return a query over the result of an aggregate."""
    keys = draw(st.lists(st.sampled_from(("k", "g", "v")), min_size=1, max_size=2, unique=True))
    names = ", ".join(keys)
    inner = f"(SELECT {names}, count(*) AS n, max(v) AS m FROM s GROUP BY {names})"
    outer = draw(
        st.sampled_from(
            (
                "SELECT n, count(*) AS c, sum(m) AS total FROM {} GROUP BY n",
                "SELECT *, rank() OVER (ORDER BY n DESC, m) AS r FROM {}",
                "SELECT * FROM {} QUALIFY dense_rank() OVER (PARTITION BY n ORDER BY m DESC) <= 2",
                "SELECT n, count(DISTINCT m) AS c FROM {} GROUP BY n HAVING count(*) > 1",
                "SELECT DISTINCT n, m FROM {}",
                "SELECT max(n) AS n, avg(m) AS a FROM {}",
            )
        )
    )
    return Query("OVERWRITE", outer.format(inner))


@st.composite
def joined_results(draw: st.DrawFn) -> Query:
    """Return a query over the results of two aggregates."""
    left, right = (
        f"(SELECT {draw(st.sampled_from(('k', 'v', 'id % 3')))} AS key, {call} AS {name} FROM s"
        f"{draw(st.sampled_from(('', ' WHERE v > 0', ' WHERE g IS NULL')))} GROUP BY 1)"
        for call, name in (("count(*)", "n"), (draw(st.sampled_from(("max(id)", "count(DISTINCT g)"))), "m"))
    )
    total = "(SELECT count(*) AS total, max(d) AS most FROM s WHERE v = 4)"
    joined = draw(
        st.sampled_from(
            (
                "SELECT key, n, m FROM {left} {kind} JOIN {right} USING (key)",
                "SELECT a.key, n, m FROM {left} a {kind} JOIN {right} b ON a.n = b.m",
                "SELECT key, n FROM {left} UNION ALL SELECT key, m FROM {right}",
                "SELECT key, n FROM {left} EXCEPT SELECT key, m FROM {right}",
                "SELECT key, n, total, most FROM {left} CROSS JOIN {total}",
                "SELECT n, count(*) AS c, max(m) AS m FROM {left} {kind} JOIN {right} USING (key) GROUP BY n",
            )
        )
    )
    kind = draw(st.sampled_from(("INNER", "LEFT", "FULL")))
    return Query("OVERWRITE", joined.format(left=left, right=right, total=total, kind=kind))


QUERIES: Final = st.one_of(tops(), counts(), distincts(), results(), joined_results())
ROWS: Final = st.fixed_dictionaries(
    {
        "k": st.none() | st.integers(0, 2),
        "g": st.none() | st.sampled_from("ab"),
        "v": st.none() | st.integers(-1, 4),
        "d": st.none() | st.sampled_from((0.0, 1.5, -2.0, "NaN")),
        "t": st.none() | st.sampled_from(("2026-01-01T00:00:00", "2026-01-01T00:00:01")),
    }
)
BATCHES: Final = st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=2, max_size=4)


class Comparison:
    """An engine, and two schemas with a view `s`: one streams the files of a folder, one reads them all."""

    def __init__(self, sql: Sql, folder: Path) -> None:
        self.sql = sql
        self._folder = folder
        self._numbers = count()

    def compare(self, batches: list[list[dict[str, Any]]], queries: list[Query]) -> None:
        """Run each query as a job with a batch for each file, and over the whole table."""
        number = next(self._numbers)
        self.write_files(self._folder / str(number), batches)
        events = f"default.random_{number}"
        self.sql(
            f"CREATE TABLE {events} ({COLUMNS}) USING json LOCATION '{self._folder / str(number)}'"
            " OPTIONS ('maxFilesPerTrigger' = '1')"
        )
        for schema, source in (("streamed", f"STREAM {events}"), ("whole", events)):
            self.sql(f"CREATE SCHEMA {schema}_{number}")
            self.sql(f"CREATE VIEW {schema}_{number}.s AS SELECT * FROM {source}")
        jobs = [f"random_{number}_{n}" for n in range(len(queries))]
        for job, query in zip(jobs, queries, strict=True):
            self.sql(f"USE whole_{number}")
            self.sql(f"CREATE TABLE result_{job} USING parquet AS {query.text} LIMIT 0")
            self.sql(f"USE streamed_{number}")
            self.sql(
                f"CREATE JOB {job} OPTIONS ('trigger' = 'availableNow')"
                f" AS INSERT {query.verb} TABLE whole_{number}.result_{job} {query.text}"
            )
        self.sql(f"USE whole_{number}")
        for job, query in zip(jobs, queries, strict=True):
            self.sql(f"WAIT FOR JOB {job} UNTIL COMPLETED TIMEOUT 120")
            written, whole = (rows_of(self.sql, text) for text in (f"SELECT * FROM result_{job}", query.text))
            assert written == whole, f"missing: {whole - written}, extra: {written - whole}, of {query.text}"
        self.sql("USE default")
        for schema in ("streamed", "whole"):
            self.sql(f"DROP SCHEMA {schema}_{number} CASCADE")
        self.sql(f"DROP TABLE {events}")

    @staticmethod
    def write_files(folder: Path, batches: list[list[dict[str, Any]]], first: int = 0) -> None:
        """Write a file for each batch. first: the number of the first file"""
        folder.mkdir(exist_ok=True)
        ids = count(first * 100)
        for number, batch in enumerate(batches, start=first):
            draft = folder / f"_{number}"
            draft.write_text("\n".join(json.dumps({"id": next(ids), **row}) for row in batch))
            os.utime(draft, (1_700_000_000 + number,) * 2)
            draft.rename(folder / f"{number}.json")


def rows_of(sql: Sql, text: str) -> Counter[str]:
    return Counter(map(repr, sql(text)))


@pytest.fixture(scope="module")
def comparison(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    sql = Sql(engine)
    yield Comparison(sql, tmp_path_factory.mktemp("random"))
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    sql("USE default")


FIXED: Final = [
    Query(
        "OVERWRITE", "SELECT id, k, d FROM s QUALIFY rank() OVER (PARTITION BY k % 2 ORDER BY d DESC NULLS FIRST) < 3"
    ),
    Query(
        "OVERWRITE",
        "SELECT n, count(DISTINCT m) AS c FROM (SELECT k, count(*) n, max(v) m FROM s GROUP BY k) GROUP BY n",
    ),
]


@pytest.mark.slow
def test_values_with_special_comparison(comparison: Comparison) -> None:
    values = (None, 0.0, "NaN", -2.0, "NaN", None, 1.5, 0.0)
    rows = [{"k": n % 3 or None, "g": None, "v": n % 2, "d": d, "t": None} for n, d in enumerate(values)]
    comparison.compare([rows[:3], rows[3:5], rows[5:]], FIXED)


LASTING: Final = {
    "top": "SELECT id, k, v FROM s QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST, id) <= 2",
    "counts": "SELECT k, count(DISTINCT v, g) AS c, count(*) AS n FROM s GROUP BY k",
    "joined": "SELECT k, n, m FROM (SELECT k, count(*) AS n FROM s GROUP BY k)"
    " FULL JOIN (SELECT v AS k, max(id) AS m FROM s GROUP BY v) USING (k)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LASTING)
def test_a_rewritten_job_keeps_its_state(comparison: Comparison, sql: Sql, tmp_path: Path, name: str) -> None:
    rows = [{"k": n % 3, "g": "ab"[n % 2], "v": n * 7 % 5 or None, "d": None, "t": None} for n in range(24)]
    batches = [rows[n : n + 6] for n in range(0, 24, 6)]
    folder = tmp_path / "life"
    comparison.write_files(folder, batches[:1])
    sql(f"CREATE TABLE life ({COLUMNS}) USING json LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '1')")
    query = LASTING[name]
    streamed, whole = (query.replace("FROM s", f"FROM {source}") for source in ("STREAM life", "life"))
    sql(f"CREATE TABLE result USING parquet AS {whole} LIMIT 0")
    fast = "'snapshotIntervalMillis' = '50'"
    body = f"INSERT OVERWRITE result {streamed}"
    sql(f"CREATE JOB {name} OPTIONS ({fast}) AS {body}")
    for number, change in enumerate(
        (
            f"SUSPEND JOB {name}; RESUME JOB {name}",
            f"CREATE OR REPLACE JOB {name} OPTIONS ({fast}, 'spark.sql.shuffle.partitions' = '3') AS {body}",
        ),
        start=1,
    ):
        sql(f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 60")
        assert rows_of(sql, "SELECT * FROM result") == rows_of(sql, whole)
        for statement in change.split("; "):
            sql(statement)
        sql("REFRESH TABLE life")
        comparison.write_files(folder, batches[number : number + 1], first=number)
    sql(f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 60")
    assert rows_of(sql, "SELECT * FROM result") == rows_of(sql, whole)
    assert sql.value("SELECT count(*) FROM life") == 18


@pytest.mark.slow
@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(BATCHES, st.lists(QUERIES, min_size=1, max_size=5))
def test_random_queries_return_what_batch_returns(
    comparison: Comparison, batches: list[list[dict[str, Any]]], queries: list[Query]
) -> None:
    comparison.compare(batches, queries)
