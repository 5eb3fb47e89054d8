"""SINK INTO PostgreSQL of EXISTS, NOT EXISTS and IN over streams without a bound for the times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.conftest import Sql
from tests.engine.sinks.test_changed_joins import CONDITIONS, LEFT, RIGHT, SIDES, create_streams, random_rows
from tests.support.servers.postgres import Postgres
from tests.support.tables.changed_tables import Tables, changed_tables, streamed, with_aggregates_above
from tests.support.tables.json_files import create_stream, write_json_files

pytestmark = pytest.mark.spark

MATCHES: Final = "EXISTS (SELECT * FROM u WHERE u.k = s.k)"
UNPAID: Final = "SELECT id, v FROM s WHERE NOT EXISTS (SELECT * FROM u WHERE u.k = s.k AND u.w >= s.v)"
PAID: Final = UNPAID.replace("NOT EXISTS", "EXISTS")


@pytest.fixture
def tables(postgres: Postgres, sql: Sql) -> Iterator[Tables]:
    with changed_tables(postgres, sql) as tables:
        yield tables


def test_rows_leave_and_enter_the_result(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_stream(sql, tmp_path / "s", LEFT, [])
    create_stream(sql, tmp_path / "u", RIGHT, [])
    totals = "SELECT k, sum(w) AS t FROM u GROUP BY k HAVING sum(w) % 2 = 0"
    queries = (UNPAID, PAID, f"SELECT id, v FROM s WHERE k IN (SELECT k FROM ({totals}) WHERE t >= s.v)")
    for number, query in enumerate(queries):
        tables.create(f"r{number}", query, "id")
        sql(f"CREATE JOB j{number} AS SINK INTO r{number} {streamed(query)}")
    batches: list[tuple[str, list[dict[str, object]]]] = [
        ("s", [{"id": 1, "k": 1, "v": 10}, {"id": 2, "k": None, "v": 1}, {"id": 3, "k": 3, "v": None}]),
        ("u", [{"k": 1, "w": 10}, {"k": None, "w": 5}, {"k": 3, "w": 3}]),
        ("u", [{"k": 1, "w": 1}]),
        ("s", [{"id": 4, "k": 1, "v": 11}, {"id": 5, "k": 1, "v": 12}]),
        ("u", [{"k": 1, "w": 1}]),
    ]
    results = []
    for number, (stream, rows) in enumerate(batches):
        write_json_files(tmp_path / stream, [rows], first=number)
        for job in range(len(queries)):
            sql(f"WAIT FOR JOB j{job} UNTIL IDLE TIMEOUT 60")
        found = [tables.server(f"SELECT id FROM {tables.schema}.r{job} ORDER BY id") for job in range(len(queries))]
        results.append([[key for (key,) in rows] for rows in found])
    assert results == [
        [[1, 2, 3], [], []],
        [[2, 3], [1], [1]],
        [[2, 3], [1], []],
        [[2, 3, 4, 5], [1], []],
        [[2, 3, 4, 5], [1], [1, 4, 5]],
    ]


KINDS: Final = ("EXISTS", "EXISTS", "NOT EXISTS", "NOT EXISTS", "IN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def random_condition(chosen: Random) -> str:
    """Return a condition with a subquery for the rows of `a`."""
    rows = chosen.choice(SIDES).format(s="u", v="w")
    kind, condition = chosen.choice(KINDS[:5]), chosen.choice(CONDITIONS)
    if kind == "IN":
        return f"a.k IN (SELECT b.k FROM ({rows}) b WHERE {condition})"
    nested = " AND b.k IN (SELECT k FROM s WHERE v > 0)" if chosen.random() < 0.2 else ""
    return f"{kind} (SELECT * FROM ({rows}) b WHERE {condition}{nested})"


def random_query(chosen: Random) -> tuple[str, str]:
    """Return a query with a subquery or a semi or anti join, and its key columns."""
    left = chosen.choice(SIDES).format(s="s", v="v")
    kind = chosen.choice(KINDS)
    if kind.endswith("JOIN"):
        right = chosen.choice(SIDES).format(s="u", v="w")
        rows = f"FROM ({left}) a {kind} ({right}) b ON {chosen.choice(CONDITIONS)}"
    else:
        conditions = [random_condition(chosen), *(["a.v > 0"] if chosen.random() < 0.3 else [])]
        if chosen.random() < 0.2:
            conditions.append(random_condition(chosen))
        rows = f"FROM ({left}) a WHERE {' AND '.join(conditions)}"
    query = f"SELECT coalesce(a.i, -99) AS i, a.k, a.g, a.v {rows}"
    groups, calls = (
        ("coalesce(k, -1)", "coalesce(g, '-')", "i % 3"),
        "count(*) AS n, sum(v) AS s, max(v) AS m, count(DISTINCT v) AS d",
    )
    return with_aggregates_above(chosen, query, "i", groups, calls)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_subqueries_write_what_batch_returns(tables: Tables, sql: Sql, tmp_path: Path, seed: int) -> None:
    left, right = (random_rows(seed, value) for value in ("v", "w"))
    create_stream(sql, tmp_path / "s", LEFT, left[:1])
    create_stream(sql, tmp_path / "u", RIGHT, right[:1])

    def add_files(number: int) -> None:
        write_json_files(tmp_path / "s", left[number : number + 1], first=number)
        write_json_files(tmp_path / "u", right[number : number + 1], first=number)

    chosen = Random(seed)
    tables.compare_each([random_query(chosen) for _ in range(5)], "su", add_files, files=len(left))


@pytest.mark.slow
@pytest.mark.parametrize("query", [UNPAID, PAID])
def test_a_job_keeps_its_state(tables: Tables, sql: Sql, tmp_path: Path, query: str) -> None:
    left, right = (random_rows(5, value, parts=5) for value in ("v", "w"))
    create_stream(sql, tmp_path / "s", LEFT, left[:1])
    create_stream(sql, tmp_path / "u", RIGHT, right[:1])

    def add_files(number: int) -> None:
        write_json_files(tmp_path / "s", left[number : number + 1], first=number)
        write_json_files(tmp_path / "u", right[number : number + 1], first=number)

    totals = "SELECT k, count(*) AS n FROM u GROUP BY k HAVING count(*) % 2 = 0"
    tables.keep_state(
        f"{query} AND k NOT IN (7) AND EXISTS (SELECT * FROM ({totals}) c WHERE c.k = s.k)", "id", "su", add_files
    )


@pytest.fixture
def unpaid(tables: Tables, sql: Sql, tmp_path: Path) -> Sql:
    """Create streams without rows and the table `r` for `UNPAID`, and return the session."""
    create_streams(sql, tmp_path, 0)
    tables.create("r", UNPAID, "id")
    return sql


def test_explain_and_create_name_the_stored_rows(unpaid: Sql) -> None:
    lines = unpaid.value(f"EXPLAIN CREATE JOB j AS SINK INTO r {streamed(UNPAID)}").partition("== Physical Plan")[0]
    assert "changed rows are updated by id, and rows that leave the result are deleted" in lines
    assert "the rows of both sides of the join on k are kept, and only the changes of its result go on" in lines
    created = str(unpaid(f"CREATE JOB j AS SINK INTO r {streamed(UNPAID)}"))
    assert "all rows of both sides of the join on k" in created and "the row of each id" in created


def test_changed_query_does_not_continue_the_state(unpaid: Sql) -> None:
    unpaid(f"CREATE JOB j AS SINK INTO r {streamed(UNPAID)}")
    for changed in (PAID, UNPAID.replace(">=", ">"), UNPAID.replace("u.k", "u.id")):
        error = unpaid.error(f"CREATE OR REPLACE JOB j AS SINK INTO r {streamed(changed)}")
        assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE", error


@pytest.mark.parametrize(
    ("condition", "reason", "hint", "followed"),
    [
        ("k NOT IN (SELECT k FROM u)", "NOT IN over a stream is not supported", "NOT EXISTS", f"NOT {MATCHES}"),
        ("EXISTS (SELECT * FROM u WHERE w > 1)", "EXISTS over a stream must compare", "b.id = a.id", MATCHES),
        (f"v = 1 OR {MATCHES}", "alone or with AND", "alone or with AND", f"v = 1 AND {MATCHES}"),
        ("EXISTS (SELECT * FROM u WHERE u.k = s.k LIMIT 2 OFFSET 1)", "LIMIT and OFFSET", "without them", MATCHES),
        ("EXISTS (SELECT * FROM u WHERE u.k < s.k)", "compares no columns", "side by =", MATCHES),
        (
            "EXISTS (SELECT * FROM u WHERE u.k = s.k AND year(current_date()) > u.w + s.v)",
            "can change between the batches",
            "Leave this out of the query",
            MATCHES,
        ),
    ],
    ids=["NOT IN", "no comparison", "OR", "LIMIT and OFFSET", "no equal columns", "current date"],
)
def test_hint_of_a_refused_subquery_can_be_followed(
    unpaid: Sql, condition: str, reason: str, hint: str, followed: str
) -> None:
    text = f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(f'SELECT id, v FROM s WHERE {condition}')}"
    error = unpaid.error(text)
    assert error.condition in ("JETSQL.NO_OUTPUT_MODE", "JETSQL.UNSUPPORTED_QUERY"), error
    assert reason in error.message and hint in error.message + error.hint, error
    assert error.line == 1 and (error.column or 0) > 1, error
    unpaid(f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(f'SELECT id, v FROM s WHERE {followed}')}")


def test_changes_of_subqueries_need_keys_and_no_time_limit(unpaid: Sql, tables: Tables) -> None:
    tables.server(f"CREATE TABLE {tables.schema}.rows (id int, v int)")
    unpaid(f"CREATE TABLE plain {tables.server.options(f'{tables.schema}.rows')}")
    for query in (UNPAID, PAID, "SELECT id, v FROM s WHERE k IN (SELECT k FROM u)"):
        error = unpaid.error(f"CREATE JOB x AS INSERT INTO plain {streamed(query)}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE" and "Without times, use SINK INTO" in error.hint, error
    error = unpaid.error(f"EXPLAIN CREATE JOB x OPTIONS ('stateTtlMillis' = '1000') AS SINK INTO r {streamed(UNPAID)}")
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE", error


def test_limits_and_grouped_rows_in_subqueries(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_streams(sql, tmp_path, 3)
    newest = "SELECT *, row_number() OVER (PARTITION BY k ORDER BY w DESC, id) AS r FROM u"
    tables.compare(
        [
            ("SELECT id, v FROM s WHERE EXISTS (SELECT * FROM u WHERE u.k = s.k ORDER BY u.w LIMIT 1)", "id"),
            (
                f"SELECT id, v FROM s WHERE EXISTS (SELECT * FROM ({newest}) u WHERE u.k = s.k AND r = 1 AND w > v)",
                "id",
            ),
            # The names of the fields are none of Avro, from whose schemas Spark makes the state.
            (
                "SELECT id, q.`a b` AS v FROM (SELECT *, struct(v AS `a b`, k AS `1`, k AS `1`) AS q FROM s) AS s"
                " WHERE NOT EXISTS (SELECT * FROM u WHERE struct(u.w AS x, u.k AS y, u.k AS z) = q)",
                "id",
            ),
        ]
    )


def test_a_type_that_the_state_cannot_keep(tables: Tables, sql: Sql, tmp_path: Path) -> None:
    create_streams(sql, tmp_path, 0)
    tables.create("r", UNPAID, "id")
    match = "u.k = s.k AND u.w > length(CAST(q AS STRING))"
    text = "SELECT id, v FROM (SELECT *, {} AS q FROM s) AS s WHERE EXISTS (SELECT * FROM u WHERE " + match + ")"
    for value, name in (("make_dt_interval(v)", "INTERVAL DAY TO SECOND"), ("map(v, k)", "MAP<INT, INT>")):
        error = sql.error(f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(text.format(value))}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE", error
        assert f"q has the type {name}, which the state cannot keep" in error.message
        assert "CAST(a.x AS STRING)" in error.hint
        sql(f"EXPLAIN CREATE JOB x AS SINK INTO r {streamed(text.format(f'CAST({value} AS STRING)'))}")
