"""SINK INTO PostgreSQL of joins of two streams without a bound for the times, and of joins of aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres
from tests.support.tables.changed_tables import Tables, changed_tables, streamed, with_aggregates_above
from tests.support.tables.json_files import create_stream, write_json_files

pytestmark = pytest.mark.spark

LEFT: Final = "id INT, k INT, g STRING, v INT"
RIGHT: Final = "id INT, k INT, g STRING, w INT"
PAIRS: Final = "SELECT s.id AS i, coalesce(u.id, -1) AS j, s.v, u.w FROM s LEFT JOIN u ON s.k = u.k"
GROUPED: Final = "SELECT k, g, count(*) AS n FROM u GROUP BY k, g"
COUNTS: Final = "SELECT k, count(*) AS n, sum(w) AS t FROM u GROUP BY k"
Rows = list[list[dict[str, Any]]]


def random_rows(seed: int, value: str, parts: int = 4, rows: int = 6) -> Rows:
    """Return parts with rows of few different values, among them equal ones and NULL. Some parts are empty."""
    chosen = Random(seed * 2 + (value == "w"))
    result: Rows = []
    for part in range(parts):
        count = 0 if part and chosen.random() < 0.2 else rows
        result.append([])
        for _ in range(count):
            k, g, number = chosen.choice((None, 0, 1, 2, 3)), chosen.choice((None, "a", "b")), chosen.randrange(-1, 3)
            result[-1].append(
                {"id": sum(map(len, result)), "k": k, "g": g, value: chosen.choice((None, number, number))}
            )
    return result


@pytest.fixture
def tables(postgres: Postgres, sql: Sql) -> Iterator[Tables]:
    with changed_tables(postgres, sql) as tables:
        yield tables


def create_streams(sql: Sql, folder: Path, seed: int) -> None:
    create_stream(sql, folder / "s", LEFT, random_rows(seed, "v"))
    create_stream(sql, folder / "u", RIGHT, random_rows(seed, "w"))


def test_rows_without_a_partner_are_replaced(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", LEFT, [])
    create_stream(sql, tmp_path / "u", RIGHT, [])
    query = "SELECT s.id, s.v, u.w FROM s LEFT JOIN u ON s.k = u.k AND s.v <> u.w"
    tables.create("r", query, "id")
    sql(f"CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS SINK INTO r {streamed(query)}")
    batches: list[tuple[str, list[dict[str, object]]]] = [
        ("s", [{"id": 1, "k": 1, "v": 10}, {"id": 2, "k": None, "v": 20}, {"id": 3, "k": 3, "v": 30}]),
        ("u", [{"id": 1, "k": 1, "w": 100}, {"id": 2, "k": None, "w": 5}]),
        ("u", [{"id": 3, "k": 3, "w": 30}]),
        ("u", [{"id": 4, "k": 3, "w": 31}]),
    ]
    results = []
    for number, (stream, rows) in enumerate(batches):
        write_json_files(tmp_path / stream, [rows], first=number)
        sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
        results.append(tables.server(f"SELECT * FROM {tables.schema}.r ORDER BY id"))
    assert results == [
        [(1, 10, None), (2, 20, None), (3, 30, None)],
        [(1, 10, 100), (2, 20, None), (3, 30, None)],
        [(1, 10, 100), (2, 20, None), (3, 30, None)],
        [(1, 10, 100), (2, 20, None), (3, 30, 31)],
    ]
    write_json_files(tmp_path / "u", [[{"id": 5, "k": 3, "w": 32}]], first=len(batches))
    error = sql.error("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert "Several rows of the result have the same key (id)" in error.message
    assert "Add columns to 'key.columns' until each row of the result has its own key" in error.message + error.hint


def test_joins_write_what_batch_returns(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_streams(sql, tmp_path, 1)
    full = "FROM s FULL JOIN u ON s.k = u.k AND s.g = u.g AND s.v <= u.w"
    tables.compare(
        [
            (f"SELECT coalesce(s.id, -1) AS i, coalesce(u.id, -1) AS j, s.v, u.w {full}", "i, j"),
            (f"SELECT s.id, s.v, c.n, c.t FROM s JOIN ({COUNTS}) c ON s.k = c.k", "id"),
            ("SELECT coalesce(k, -1) AS k, count(*) AS n, sum(w) AS t, max(v) AS m FROM"
             " (SELECT s.k, s.v, u.w FROM s LEFT JOIN u ON s.k = u.k) GROUP BY coalesce(k, -1)", "k"),
        ]
    )  # fmt: skip


# Each side has the columns i, which no two of its rows share, k, g and v.
SIDES: Final = (
    "SELECT id AS i, k, g, {v} AS v FROM {s}",
    "SELECT id AS i, k, g, {v} AS v FROM {s} WHERE {v} > 0",
    "SELECT coalesce(k, -1) AS i, k, max(g) AS g, count(*) AS v FROM {s} GROUP BY k",
    "SELECT coalesce({v}, -9) AS i, sum(k) AS k, min(g) AS g, count(k) AS v FROM {s} GROUP BY {v}",
    "SELECT k AS i, k, max(g) AS g, sum({v}) AS v FROM {s} WHERE k IS NOT NULL GROUP BY k HAVING sum({v}) % 2 = 0",
    "SELECT DISTINCT coalesce(k, -1) * 10 + coalesce({v}, 5) AS i, k, '-' AS g, {v} AS v FROM {s}",
    "SELECT coalesce(k, -1) * 10 + r AS i, k, g, {v} AS v FROM"
    " (SELECT *, row_number() OVER (PARTITION BY k ORDER BY {v}, id) AS r FROM {s}) WHERE r <= 2",
    "SELECT n AS i, n AS k, 'a' AS g, count(*) AS v FROM (SELECT k, count(*) AS n FROM {s} GROUP BY k) GROUP BY n",
)
CONDITIONS: Final = (
    *("a.k = b.k", "a.k = b.k", "a.k = b.k AND a.g = b.g", "a.k <=> b.k", "a.k = b.v", "a.i = b.i"),
    *("a.k = b.k AND a.v < b.v", "a.k = b.k AND a.v BETWEEN b.v - 1 AND b.v + 1", "a.k = b.k + 1 AND b.v > 0"),
    *("a.k = b.k AND a.v > 0", "CAST(a.k AS DOUBLE) * -1 = CAST(b.k AS DOUBLE)", "(a.k, a.g) = (b.k, b.g)"),
)
KINDS: Final = ("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "FULL JOIN", "JOIN")
WHERE: Final = ("", "", "", " WHERE a.v IS NULL OR b.v IS NULL OR a.v <> b.v", " WHERE b.i IS NULL", " WHERE a.v > 0")


def random_query(chosen: Random) -> tuple[str, str]:
    """Return a query with a join, and its key columns."""
    kind = chosen.choice(KINDS)
    first, second = chosen.choice(SIDES), chosen.choice(SIDES)
    if kind == "JOIN" and max(SIDES.index(first), SIDES.index(second)) < 2:
        second = SIDES[2]  # Spark joins the rows of two streams
    left, right = first.format(s="s", v="v"), second.format(s="u", v="w")
    condition, where = chosen.choice(CONDITIONS), chosen.choice(WHERE)
    columns = "coalesce(a.i, -99) AS i, coalesce(b.i, -99) AS j, a.k, a.v, b.g, b.v AS w"
    query = f"SELECT {columns} FROM ({left}) a {kind} ({right}) b ON {condition}{where}"
    groups, calls = (
        ("coalesce(k, -1)", "coalesce(g, '-')", "j % 3"),
        "count(*) AS n, sum(v) AS s, count(w) AS c, max(w) AS m, count(DISTINCT v) AS d",
    )
    return with_aggregates_above(chosen, query, "i, j", groups, calls)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_joins_write_what_batch_returns(tables: Tables, sql: Sql, tmp_path: Path, seed: int) -> None:
    create_streams(sql, tmp_path, seed)
    chosen = Random(seed)
    tables.compare([random_query(chosen) for _ in range(6)])


@pytest.mark.slow
def test_a_job_keeps_its_state(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    left, right = (random_rows(5, value, parts=5) for value in ("v", "w"))
    create_stream(sql, tmp_path / "s", LEFT, left[:1])
    create_stream(sql, tmp_path / "u", RIGHT, right[:1])
    query = (
        "SELECT coalesce(a.id, -1) AS i, coalesce(b.id, -1) AS j, a.v, b.w, c.n"
        f" FROM s a FULL JOIN u b ON a.k = b.k AND a.g = b.g LEFT JOIN ({COUNTS}) c ON a.k = c.k"
    )

    def add_files(number: int) -> None:
        write_json_files(tmp_path / "s", left[number : number + 1], first=number)
        write_json_files(tmp_path / "u", right[number : number + 1], first=number)

    tables.keep_state(query, "i, j", "su", add_files)


@pytest.fixture
def pairs(tables: Tables, sql: Sql, tmp_path: Path) -> Sql:
    """Create streams without rows and the table `r` for `PAIRS`, and return the session."""
    create_streams(sql, tmp_path, 0)
    tables.create("r", PAIRS, "i, j")
    return sql


def test_explain_and_create_name_the_stored_rows(pairs: Sql) -> None:
    lines = pairs.value(f"EXPLAIN CREATE JOB j AS SINK INTO r {streamed(PAIRS)}").partition("== Physical Plan")[0]
    assert "changed rows are updated by i, j, and rows that leave the result are deleted" in lines
    assert "the rows of both sides of the join on k are kept, and only the changes of its result go on" in lines
    assert "the row of each i, j is kept" in lines
    assert "getexternalrowfield" not in lines
    created = str(pairs(f"CREATE JOB j AS SINK INTO r {streamed(PAIRS)}"))
    assert "all rows of both sides of the join on k" in created and "the row of each i, j" in created


def test_changed_query_does_not_continue_the_state(pairs: Sql) -> None:
    pairs(f"CREATE JOB j AS SINK INTO r {streamed(PAIRS)}")
    for changed in (f"{PAIRS} WHERE u.w > 0", f"{PAIRS} AND s.g = u.g", PAIRS.replace("s.v", "s.v + 1")):
        error = pairs.error(f"CREATE OR REPLACE JOB j AS SINK INTO r {streamed(changed)}")
        assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE", error


@pytest.mark.parametrize(
    ("query", "reason", "hint", "followed"),
    [
        (
            PAIRS.replace("s.k = u.k", "s.v < u.w"),
            "the join compares no columns of both sides with =",
            "Compare a column of each side by =",
            PAIRS.replace("s.k = u.k", "s.k = u.k AND s.v < u.w"),
        ),
        (
            f"SELECT s.id AS i, c.n AS j, 0, 0 FROM s JOIN ({GROUPED}) c ON s.k = c.k",
            "g is neither one of the key columns nor equal to one",
            "compare them with columns of the other side by =",
            f"SELECT s.id AS i, c.n AS j, 0, 0 FROM s JOIN ({GROUPED}) c ON s.k = c.k AND s.g = c.g",
        ),
        (
            PAIRS.replace("u.w", "year(current_date()) AS w"),
            "can change between the batches",
            "Leave this out of the query",
            PAIRS,
        ),
        (
            f"{PAIRS} JOIN range(3) AS x ON x.id = s.k",
            "the join reads a table, which can change between the batches",
            "Leave this out of the query",
            PAIRS,
        ),
    ],
    ids=["no equal columns", "grouped columns", "current date", "table"],
)
def test_hint_of_a_refused_join_can_be_followed(pairs: Sql, query: str, reason: str, hint: str, followed: str) -> None:
    error = pairs.error(f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(query)}")
    assert error.condition == "JETSQL.NO_OUTPUT_MODE" and reason in error.message, error
    assert hint in error.hint, error
    pairs(f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(followed)}")


def test_changes_of_a_join_need_keys_and_no_time_limit(pairs: Sql) -> None:
    pairs("CREATE TABLE copy (i INT, j INT, v INT, w INT) USING parquet")
    error = pairs.error(f"EXPLAIN CREATE JOB x AS INSERT INTO copy {streamed(PAIRS)}")
    assert "Without times, use SINK INTO a table with 'key.columns', and compare" in error.hint
    for option in ("'stateTtlMillis' = '1000'", "'trigger' = 'realTime'"):
        error = pairs.error(f"EXPLAIN CREATE JOB x OPTIONS ({option}) AS SINK INTO r {streamed(PAIRS)}")
        assert error.condition.startswith("JETSQL."), error
