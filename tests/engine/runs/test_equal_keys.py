"""Keys that are equal with different bytes, such as 0.0 and -0.0: state has one key for them, as a batch query does."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres
from tests.support.tables.json_files import create_stream

pytestmark = pytest.mark.spark

ROWS: Final = (
    ((1, 0.0, "a "), (2, 1.0, "b")),
    ((3, -0.0, "A "), (4, "NaN", "c")),
    ((5, 0.0, "a"), (6, "NaN", "c")),
    ((7, -0.0, "A"), (8, 0.0, "a")),
    ((99, 99.0, "z"),),
)
"""The rows of each batch: id, number and text. The last one closes the others."""

OPERATORS: Final = {
    "over": ("INTO", "SELECT id, count(*) OVER (PARTITION BY d, k ORDER BY ts, id) AS n FROM {s} WHERE id < 99"),
    "patterns": (
        "INTO",
        "SELECT n, l FROM {s} MATCH_RECOGNIZE (PARTITION BY d, k ORDER BY ts, id MEASURES count(*) AS n, LAST(A.id) AS"
        " l ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS id < 99, B AS id < 99)",
    ),
    "asof": (
        "INTO",
        "SELECT a.id, b.id AS n FROM {s} AS a ASOF JOIN {s} AS b MATCH_CONDITION (a.ts > b.ts)"
        " ON a.d = b.d AND a.k = b.k",
    ),
    "top": ("OVERWRITE", "SELECT id FROM {s} QUALIFY row_number() OVER (PARTITION BY d, k ORDER BY id) <= 2"),
    "first": ("INTO", "SELECT id FROM {h} QUALIFY row_number() OVER (PARTITION BY d, k ORDER BY ts) = 1"),
    "distinct": ("INTO", "SELECT to_json(struct(d, k)) AS k FROM (SELECT DISTINCT d, k FROM {s})"),
    "forgotten rows": ("INTO", "SELECT to_json(struct(k)) AS k FROM (SELECT DISTINCT k FROM {b})"),
    "forgotten join": (
        "INTO",
        "SELECT a.id, b.id AS n FROM {b} a JOIN {b} b ON a.d = b.d AND a.k = b.k AND a.id < b.id",
    ),
    "join": ("INTO", "SELECT a.id, b.id AS n FROM {s} a JOIN {s} b ON a.d = b.d AND a.k = b.k AND a.ts > b.ts"),
    "groups": ("OVERWRITE", "SELECT count(*) AS n FROM {s} GROUP BY d, k"),
    "values": (
        "OVERWRITE",
        "SELECT count(DISTINCT d) AS a, count(DISTINCT k) AS b, count(DISTINCT d, k) AS c FROM {s}",
    ),
}
"""Operators that keep state by the key d, k.

{s} is a stream whose watermark has no delay, {h} one with a delay of an hour, and {b} one without a watermark.
"""

OURS: Final = ("over", "patterns", "asof", "forgotten rows", "forgotten join")
"""The operators that Spark does not have."""

KEYS: Final = {
    "nested": "struct(d AS x, array(CAST(d AS FLOAT)) AS y)",
    "struct": "struct(d AS x, struct(CAST(d AS FLOAT) AS z) AS y)",
    "array": "array(d, d)",
    "computed": "struct(d * CAST(0 AS DOUBLE) AS x)",  # a NaN with other bytes
    "integers": "array(id % 3)",
}
UNKEPT: Final = {
    "case": "s COLLATE UTF8_LCASE",
    "spaces": "s COLLATE UTF8_BINARY_RTRIM",
    "nested": "struct(s COLLATE UNICODE_CI AS x)",
    "array": "array(s COLLATE UTF8_LCASE)",
}
_schemas = itertools.count(1)


@pytest.fixture
def nasty(sql: Sql, tmp_path: Path) -> Sql:
    """Create the table `nasty`, whose stream reads a batch of `ROWS` after the other."""
    parts = [
        [{"id": i, "d": d, "s": s, "ts": moment(number, i)} for i, d, s in rows] for number, rows in enumerate(ROWS)
    ]
    create_stream(sql, tmp_path / "nasty", "id INT, d DOUBLE, s STRING, ts TIMESTAMP", parts)
    return sql


def moment(batch: int, row: int) -> str:
    return "2100-01-01T00:00:00" if row == 99 else f"2026-03-02T10:00:{batch:02}"


def texts(query: str, key: str) -> tuple[str, str]:
    """Return a query of `OPERATORS` over the stream, and over the table. key: the expression of k"""
    columns, delay = f"SELECT id, ts, d, {key} AS k FROM", "WATERMARK ts DELAY OF INTERVAL"
    names = {"{s}": f"{delay} 0 SECONDS", "{h}": f"{delay} 1 HOUR", "{b}": ""}
    streamed = whole = query
    for name, watermark in names.items():
        streamed = streamed.replace(name, f"({columns} STREAM nasty {watermark})")
        whole = whole.replace(name, f"({columns} nasty)")
    return streamed, whole


def compare(sql: Sql, key: str, names: Iterable[str]) -> None:
    """Run operators as jobs, and compare their rows with those of the batch query."""
    expected = {}
    for name in names:
        verb, query = OPERATORS[name]
        job = name.replace(" ", "_")
        streamed, expected[job] = texts(query, key)
        sql(f"CREATE TABLE {job} USING parquet AS {expected[job]} LIMIT 0")
        more = ", 'stateTtlMillis' = '3600000'" if "forgotten" in name else ""
        sql(f"CREATE JOB {job} OPTIONS ('trigger' = 'availableNow'{more}) AS INSERT {verb} {job} {streamed}")
    for job, whole in expected.items():
        sql(f"WAIT FOR JOB {job} UNTIL COMPLETED TIMEOUT 120")
        assert rows_of(sql, f"SELECT * FROM {job}") == rows_of(sql, whole), job


def rows_of(sql: Sql, query: str) -> list[str]:
    return sorted(str(row).replace("-0.0", "0.0") for row in sql(query))


def test_our_operators_have_one_key_for_equal_values(nasty: Sql) -> None:
    compare(nasty, KEYS["nested"], OURS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
def test_each_operator_has_one_key_for_equal_values(nasty: Sql, kind: str) -> None:
    compare(nasty, KEYS[kind], OPERATORS)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "case" else pytest.mark.slow) for kind in UNKEPT]
)
def test_collations_are_refused_as_keys_of_state(nasty: Sql, kind: str) -> None:
    for name, (verb, query) in OPERATORS.items():
        if name in ("join", "values"):  # Spark joins collated values, and refuses to count them
            continue
        streamed, whole = texts(query, UNKEPT[kind])
        nasty(f"CREATE TABLE t USING parquet AS {whole} LIMIT 0")
        more = "'stateTtlMillis' = '3600000'" if "forgotten" in name else "'trigger' = 'availableNow'"
        error = nasty.error(f"CREATE JOB refused OPTIONS ({more}) AS INSERT {verb} t {streamed}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE", (name, error.message)
        assert " COLLATE " in error.message, (name, error.message)
        assert "which the state cannot keep" in error.message, (name, error.message)
        assert "lower(CAST(" in str(error.hint), name
        nasty("DROP TABLE t")


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    schema = f"equal_keys_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}; CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public")
    yield schema
    postgres(f"DROP SCHEMA {schema} CASCADE")


def test_changed_results_have_one_key_for_equal_numbers(nasty: Sql, database: str, postgres: Postgres) -> None:
    queries = {
        "groups": "SELECT d, count(*) AS n, CAST(max(id) AS BIGINT) AS m FROM"
        " (SELECT id % 4 AS g, -max(d) AS d, max(id) AS id FROM {s} GROUP BY id % 4) GROUP BY d",
        "forgotten": "SELECT d, count(*) AS n, CAST(max(id) AS BIGINT) AS m FROM {s} GROUP BY d",
    }
    for name, query in queries.items():
        postgres(f"CREATE TABLE {database}.{name} (d float8 PRIMARY KEY, n bigint, m bigint)")
        nasty(f"CREATE TABLE {name} {postgres.options(f'{database}.{name}', key_columns='d')}")
        more = ", 'stateTtlMillis' = '3600000'" if name == "forgotten" else ""
        options = f"OPTIONS ('trigger' = 'availableNow'{more})"
        nasty(f"CREATE JOB {name} {options} AS SINK INTO {name} {query.replace('{s}', 'STREAM nasty')}")
    for name, query in queries.items():
        nasty(f"WAIT FOR JOB {name} UNTIL COMPLETED TIMEOUT 120")
        assert rows_of(nasty, f"SELECT * FROM {name}") == rows_of(nasty, query.replace("{s}", "nasty")), name


def test_rows_of_a_changed_join_with_equal_keys_are_reported(nasty: Sql, database: str, postgres: Postgres) -> None:
    postgres(f"CREATE TABLE {database}.joined (d float8 PRIMARY KEY, n bigint)")
    nasty(f"CREATE TABLE joined {postgres.options(f'{database}.joined', key_columns='d')}")
    totals = "(SELECT s, count(*) AS n FROM STREAM nasty GROUP BY s)"
    query = f"SELECT a.d, b.n FROM STREAM nasty a JOIN {totals} b ON a.s = b.s AND a.id IN (1, 3)"
    nasty(f"CREATE JOB joined OPTIONS ('trigger' = 'availableNow') AS SINK INTO joined {query}")
    error = nasty.error("WAIT FOR JOB joined UNTIL COMPLETED TIMEOUT 120")
    assert "[JETSQL.DUPLICATE_KEY] Several rows of the result have the same key (d)" in error.message


@pytest.mark.parametrize(
    ("kind", "names", "key"), [("citext", "rtrim(s)", "lower(name)"), ("char(3)", "lower(s)", "rtrim(name)")]
)
def test_keys_that_are_equal_for_the_database_only(
    nasty: Sql, database: str, postgres: Postgres, kind: str, names: str, key: str
) -> None:
    rows = f"SELECT {names} AS name, CAST(id AS BIGINT) AS n FROM nasty WHERE id IN (1, 3, 5)"
    nasty(f"CREATE TABLE one USING json AS {rows}")
    postgres(f"CREATE TABLE {database}.names (name {kind} PRIMARY KEY, n bigint)")
    nasty(f"CREATE TABLE names {postgres.options(f'{database}.names', key_columns='name')}")
    counts = "SINK INTO names SELECT {} AS name, count(*) AS n FROM STREAM one GROUP BY 1"
    deletions = "AUTO CDC INTO names FROM STREAM one KEYS (name) APPLY AS DELETE WHEN n = 3 SEQUENCE BY n"
    for body in (counts.format("name"), deletions):
        error = nasty.error(f"CREATE JOB names AS {body}")
        assert "[JETSQL.DUPLICATE_KEY] Two rows of batch 0 have the same key (name)" in error.message
        assert "by lower(key) for citext, by rtrim(key) for char(n)" in error.message + str(error.hint)
        assert postgres(f"SELECT * FROM {database}.names") == []
    nasty(f"CREATE JOB names AS {counts.format(key)}")
    assert [(name.strip(), n) for name, n in postgres(f"SELECT * FROM {database}.names")] == [("a", 3)]
