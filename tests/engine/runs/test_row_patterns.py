"""MATCH_RECOGNIZE: a stream returns the matches of a table, and both those of a simple matcher in Python."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import Sql
from tests.support.hypothesis_profiles import examples
from tests.support.models.row_patterns import UNBOUNDED, Chain, Either, Match, Times, Variable, View, compare
from tests.support.tables.json_files import write_json_files

pytestmark = pytest.mark.spark

COLUMNS: Final = "id INT, k INT, v INT, ts TIMESTAMP"
START: Final = datetime(2026, 1, 1)
VARIABLES: Final = ("A", "B", "C")
Condition = Callable[[View], bool]


def _conditions(x: str) -> dict[str, Condition]:
    """Return texts of conditions of a variable, and what they mean."""
    return {
        f"{x}.v > 1": lambda view: compare(view.value("v"), operator.gt, 1),
        "v % 2 = 0": lambda view: compare(view.value("v"), lambda v, _: v % 2 == 0, 0),
        f"{x}.v < PREV({x}.v)": lambda view: compare(view.value("v"), operator.lt, view.value("v", distance=-1)),
        f"{x}.v >= LAST({x}.v, 1)": lambda view: compare(view.value("v", x), operator.ge, view.value("v", x, 1)),
        f"coalesce(sum({x}.v), 0) < 6": lambda view: sum(view.values("v", x)) < 6,
        "count(*) <= 3": lambda view: len(view.indexes()) <= 3,
        f"{x}.v <> A.v OR A.v IS NULL": lambda view: (
            view.value("v", "A") is None or compare(view.value("v", x), operator.ne, view.value("v", "A"))
        ),
        f"{x}.v > FIRST(v)": lambda view: compare(view.value("v"), operator.gt, view.value("v", first=True)),
        "NEXT(v) > 0": lambda view: compare(view.value("v", distance=1), operator.gt, 0),
        f"count({x}.*) + count(B.v) < 4 AND v < 4": lambda view: (
            len(view.indexes(x)) + len(view.values("v", "B")) < 4 and compare(view.value("v"), operator.lt, 4)
        ),
    }


MEASURES: Final[dict[str, Callable[[View], Any]]] = {
    "FIRST(A.id)": lambda view: view.value("id", "A", first=True),
    "LAST(id)": lambda view: view.value("id"),
    "count(*)": lambda view: len(view.indexes()),
    "sum(B.v)": lambda view: sum(view.values("v", "B")) if view.values("v", "B") else None,
    "max(v) - min(A.v)": lambda view: (
        max(view.values("v")) - min(view.values("v", "A")) if view.values("v", "A") else None
    ),
    "CLASSIFIER()": lambda view: view.labels[-1],
    "MATCH_NUMBER()": lambda view: view.number,
    "PREV(FIRST(v, 1), 2)": lambda view: (
        view.value("v", "", 1, first=True, distance=-2) if len(view.indexes()) > 1 else None
    ),
    "C.id": lambda view: view.value("id", "C"),
}
"""Texts of measures, and what they mean."""


@dataclass(frozen=True)
class Query:
    """A query over `s`, and the same match in Python."""

    text: str
    match: Match

    def order(self) -> Callable[[dict[str, Any]], Any]:
        """Return the order of the rows of a key: rows with equal times have that of the columns that are read."""
        columns = [name for name in ("id", "v") if self.match.all_rows or re.search(rf"\b{name}\b", self.text)]
        return lambda row: (row["t"], [(row[name] is not None, row[name]) for name in columns])


def _patterns() -> st.SearchStrategy[Any]:
    variables = st.sampled_from([Variable(name) for name in VARIABLES])
    counts = st.sampled_from([(0, UNBOUNDED), (1, UNBOUNDED), (0, 1), (2, 3), (1, 2), (0, 2)])
    return st.recursive(
        variables,
        lambda parts: st.one_of(
            st.lists(parts, min_size=2, max_size=3).map(lambda found: Chain(tuple(found))),
            st.lists(parts, min_size=2, max_size=2).map(lambda found: Either(tuple(found))),
            st.builds(lambda part, n, lazy: Times(part, n[0], n[1], lazy), parts, counts, st.booleans()),
        ),
        max_leaves=5,
    )


@st.composite
def queries(draw: st.DrawFn) -> Query:
    pattern = draw(_patterns())
    if next(pattern.ways((), lambda labels: False), None) is not None:  # it matches no rows
        pattern = Chain((Variable("A"), pattern))
    used = [name for name in VARIABLES if name in pattern.text()]
    defined = draw(st.lists(st.sampled_from(used), min_size=1, unique=True))
    chosen = {name: draw(st.sampled_from(sorted(_conditions(name)))) for name in defined}
    allowed = [name for name in sorted(MEASURES) if all(f"{x}." not in name or x in used for x in VARIABLES)]
    conditions = {}
    for name, text in chosen.items():
        others = [x for x in VARIABLES if x not in used and f"{x}." in text]
        if others:
            text = f"{name}.v > 1"
        conditions[name] = text
    measures = draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=4, unique=True))
    all_rows, to_next_row = draw(st.booleans()), draw(st.booleans())
    within = draw(st.sampled_from((None, 3, 6)))
    text = (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts"
        f" MEASURES {', '.join(f'{each} AS m{n}' for n, each in enumerate(measures))}"
        f" {'ALL ROWS' if all_rows else 'ONE ROW'} PER MATCH"
        f" AFTER MATCH SKIP {'TO NEXT ROW' if to_next_row else 'PAST LAST ROW'}"
        f" PATTERN ({pattern.text()})"
        f"{'' if within is None else f' WITHIN INTERVAL {chr(39)}{within}{chr(39)} SECOND'}"
        f" DEFINE {', '.join(f'{name} AS {condition}' for name, condition in conditions.items())}) AS m"
    )
    return Query(
        text,
        Match(
            pattern,
            {name: _conditions(name)[condition] for name, condition in conditions.items()},
            [MEASURES[each] for each in measures],
            all_rows,
            to_next_row,
            within,
        ),
    )


ROWS: Final = st.fixed_dictionaries(
    {"k": st.integers(0, 1), "v": st.none() | st.integers(0, 5), "late": st.integers(0, 2)}
)
EVENTS: Final = st.lists(ROWS, min_size=4, max_size=24)


class Comparison:
    """An engine with tables of random rows, and views `s` that stream them or read them all."""

    def __init__(self, sql: Sql, folder: Path) -> None:
        self.sql = sql
        self._folder = folder
        self._numbers = count()

    def compare(self, events: list[dict[str, Any]], found: list[Query], batches: int) -> None:
        """Compare the results of a table, a job and the matcher in Python."""
        number = next(self._numbers)
        rows = [
            # A row of every second or third second, written up to two seconds too late.
            {"id": n, "k": event["k"], "v": event["v"], "t": n + n % 2 - event["late"] + 2}
            for n, event in enumerate(events)
        ]
        files = [rows[n::batches] for n in range(batches)] if batches == 1 else _split(rows, batches)
        name = f"patterns_{number}"
        parts = [[_stored(row) for row in part] for part in files if part]
        closing = [[{"id": 10_000 + k, "k": k, "v": 0, "ts": "2100-01-01T00:00:00"} for k in range(2)]]
        write_json_files(self._folder / name, parts + closing)
        self.sql(
            f"CREATE TABLE default.{name} ({COLUMNS}) USING json LOCATION '{self._folder / name}'"
            " OPTIONS ('maxFilesPerTrigger' = '1')"
        )
        stream = f"STREAM default.{name} WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
        for schema, source in (("streamed", stream), ("whole", f"default.{name} WHERE ts < '2100-01-01'")):
            self.sql(f"CREATE SCHEMA {schema}_{number}")
            self.sql(f"CREATE VIEW {schema}_{number}.s AS SELECT * FROM {source}")
        jobs = [f"{name}_{n}" for n in range(len(found))]
        for job, query in zip(jobs, found, strict=True):
            self.sql(f"USE whole_{number}")
            whole = _seconds(self.sql(query.text))
            assert Counter(whole) == Counter(query.match.results(rows, query.order())), query.text
            self.sql(f"CREATE TABLE result_{job} USING parquet AS {query.text} LIMIT 0")
            self.sql(f"USE streamed_{number}")
            self.sql(
                f"CREATE JOB {job} OPTIONS ('trigger' = 'availableNow')"
                f" AS INSERT INTO whole_{number}.result_{job} {query.text}"
            )
        self.sql(f"USE whole_{number}")
        for job, query in zip(jobs, found, strict=True):
            self.sql(f"WAIT FOR JOB {job} UNTIL COMPLETED TIMEOUT 120")
            written = _seconds(self.sql(f"SELECT * FROM result_{job}"))
            expected = query.match.results(rows, query.order(), is_stream=True)
            assert Counter(written) == Counter(expected), query.text
        self.sql("USE default")
        for schema in ("streamed", "whole"):
            self.sql(f"DROP SCHEMA {schema}_{number} CASCADE")
        self.sql(f"DROP TABLE {name}")


def _split(rows: list[Any], parts: int) -> list[list[Any]]:
    size = -(-len(rows) // parts)
    return [rows[at : at + size] for at in range(0, len(rows), size)]


def _stored(row: dict[str, Any]) -> dict[str, Any]:
    return {**{key: row[key] for key in ("id", "k", "v")}, "ts": (START + timedelta(seconds=row["t"])).isoformat()}


def _seconds(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows with numbers of seconds for times."""
    return [
        tuple(
            int((value.replace(tzinfo=None) - START).total_seconds()) if isinstance(value, datetime) else value
            for value in row
        )
        for row in rows
    ]


@pytest.fixture(scope="module")
def comparison(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    sql = Sql(engine)
    yield Comparison(sql, tmp_path_factory.mktemp("patterns"))
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    sql("USE default")


def _query(pattern: Any, conditions: dict[str, str], measures: list[str], clauses: str, **options: Any) -> Query:
    """Return a query of conditions and measures whose meanings are listed above."""
    text = (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts"
        f" MEASURES {', '.join(f'{each} AS m{n}' for n, each in enumerate(measures))} {clauses}"
        f" DEFINE {', '.join(f'{name} AS {condition}' for name, condition in conditions.items())}) AS m"
    )
    meanings = {name: _conditions(name)[condition] for name, condition in conditions.items()}
    return Query(text, Match(pattern, meanings, [MEASURES[each] for each in measures], **options))


FIXED: Final = [
    _query(
        Chain((Variable("A"), Times(Variable("B"), 1, UNBOUNDED, False))),
        {"B": "B.v < PREV(B.v)"},
        ["FIRST(A.id)", "LAST(id)", "count(*)", "MATCH_NUMBER()"],
        "PATTERN (A B+)",
    ),
    _query(
        Chain((Variable("A"), Times(Either((Variable("B"), Variable("C"))), 0, UNBOUNDED, False))),
        {"A": "A.v > 1", "B": "coalesce(sum(B.v), 0) < 6", "C": "v % 2 = 0"},
        ["CLASSIFIER()", "LAST(id)", "sum(B.v)"],
        "ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A (B | C)*) WITHIN INTERVAL '6' SECOND",
        all_rows=True,
        to_next_row=True,
        within=6,
    ),
]


def test_job_and_table_match_as_the_simple_matcher(comparison: Comparison) -> None:
    events = [{"k": n % 2, "v": (n * 7 + n // 5) % 6 if n % 9 else None, "late": n * n % 3} for n in range(40)]
    comparison.compare(events, FIXED, 3)


@pytest.mark.slow
@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(EVENTS, st.lists(queries(), min_size=1, max_size=4), st.integers(1, 4))
def test_random_patterns_have_the_matches_of_the_simple_matcher(
    comparison: Comparison, events: list[dict[str, Any]], found: list[Query], batches: int
) -> None:
    comparison.compare(events, found, batches)


@pytest.mark.slow
def test_an_open_match_is_kept_through_restarts_and_new_versions(sql: Sql, tmp_path: Path) -> None:
    match = (
        "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(A.id) AS first, LAST(B.id) AS last,"
        " MATCH_NUMBER() AS n PATTERN (A B+) DEFINE A AS A.v = 1, B AS B.v > PREV(B.v)) AS m"
    )
    folder = tmp_path / "rising"
    rows = [{"id": n, "k": n % 2, "v": n // 2 % 7, "t": n} for n in range(80)]
    parts = [[_stored(row) for row in part] for part in _split(rows, 4)]
    write_json_files(folder, parts[:1])
    sql(f"CREATE TABLE rising ({COLUMNS}) USING json LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '1')")
    sql("CREATE TABLE risen (k INT, first INT, last INT, n BIGINT) USING parquet")
    options = "OPTIONS ('snapshotIntervalMillis' = '100'{})"
    body = f"INSERT INTO risen SELECT * FROM STREAM rising WATERMARK ts DELAY OF INTERVAL 4 SECONDS {match}"
    sql(f"CREATE JOB risen {options.format('')} AS {body}")
    sql("WAIT FOR JOB risen UNTIL IDLE")
    changed = body.replace("A.v = 1", "A.v = 2")
    error = sql.error(f"CREATE OR REPLACE JOB risen {options.format('')} AS {changed}")
    assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE"
    three = options.format(", 'spark.sql.shuffle.partitions' = '3'")
    steps = (
        ("SUSPEND JOB risen", "RESUME JOB risen"),
        (f"CREATE OR REPLACE JOB risen {three} AS {body}",),
        ("RESTART JOB risen",),
    )
    for number, step in enumerate(steps, start=1):
        for statement in step:
            sql(statement)
        write_json_files(folder, parts[number : number + 1], first=number)
        sql("WAIT FOR JOB risen UNTIL IDLE")
    write_json_files(folder, [[_stored({"id": 1000, "k": 9, "v": 0, "t": 100_000})]], first=9)
    sql("WAIT FOR JOB risen UNTIL IDLE")
    sql("REFRESH TABLE rising")
    whole = sql(f"SELECT * FROM rising {match} WHERE last < 78")
    assert len(whole) > 6
    assert Counter(sql("SELECT * FROM risen WHERE last < 78")) == Counter(whole)
    assert sql.value("SELECT count(*) > 0 FROM jetsql.state('risen', 0, 'open')") is True


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("FROM STREAM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS v > 1)", "ts PATTERN", "has no WATERMARK"),
        ("{} MATCH_RECOGNIZE (ORDER BY ts DESC PATTERN (A) DEFINE A AS v > 1)", "ts DESC", "without DESC"),
        ("{} MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B)\nDEFINE C AS v > 1)", "C AS", "C is no variable"),
        ("{} MATCH_RECOGNIZE (ORDER BY ts\nPATTERN (A B+*) DEFINE A AS v > 1)", "*)", "follows a quantifier"),
        ("{} MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v > 1)", "MATCH_RECOGNIZE", "needs ORDER BY"),
        ("{} MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS w > 1)", "w >", "cannot be resolved"),
    ],
)
def test_a_wrong_clause_of_a_job_has_its_place(sql: Sql, text: str, place: str, message: str) -> None:
    sql(f"CREATE TABLE t ({COLUMNS}) USING json")
    sql("CREATE TABLE r (x INT) USING parquet")
    body = text.format("FROM STREAM t WATERMARK ts DELAY OF INTERVAL 4 SECONDS")
    statement = f"CREATE JOB refused AS INSERT INTO r\nSELECT 1 {body}"
    error = sql.error(statement)
    assert message in error.message
    assert error.line is not None and error.column is not None
    assert statement.splitlines()[error.line - 1][error.column - 1 :].startswith(place)


def test_explain_names_the_pattern_and_its_state(sql: Sql) -> None:
    sql(f"CREATE TABLE t ({COLUMNS}) USING json")
    sql("CREATE TABLE r (x INT) USING parquet")
    explained = str(
        sql(
            "EXPLAIN CREATE JOB j AS INSERT INTO r SELECT x FROM STREAM t WATERMARK ts DELAY OF INTERVAL 4 SECONDS"
            " MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS x PATTERN (A B+) DEFINE B AS v > PREV(v))"
        )
    )
    assert "MATCH_RECOGNIZE returns each match of PATTERN (A B+)" in explained
    assert "all rows of an open match (it has no WITHIN)" in explained
