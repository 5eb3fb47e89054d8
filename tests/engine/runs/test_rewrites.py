"""Queries that Spark cannot run over streams: rewritten, each returns what batch returns for the same text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import StatementError
from tests.conftest import Sql
from tests.support.tables.json_files import write_json_files

pytestmark = pytest.mark.spark

HOUR: Final = "WATERMARK ts DELAY OF INTERVAL 2 SECONDS"

QUERIES: Final = {
    # a name: the verb, the query over `s`, and the words of EXPLAIN
    "rank": (
        "OVERWRITE",
        "SELECT k, v, r FROM (SELECT *, rank() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST) r FROM s) WHERE r < 3",
        "rank() <= 2 is kept as the top 2 of each (k); state: 2 rows and their peers for each key",
    ),
    "dense_rank": (
        "OVERWRITE",
        "SELECT k, v FROM s QUALIFY dense_rank() OVER (PARTITION BY k ORDER BY v NULLS FIRST, w) = 2",
        "dense_rank() <= 2",
    ),
    "top_of_all": (
        "OVERWRITE",
        "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY w DESC, id) n FROM s) WHERE 3 >= n",
        "row_number() <= 3",
    ),
    "top_of_a_window": (
        "INTO",
        "SELECT id, v, w.start AS b FROM (SELECT id, v, window(ts, '10 seconds') AS w FROM s)"
        " QUALIFY row_number() OVER (PARTITION BY w ORDER BY v DESC, id) <= 2",
        "row_number() <= 2",
    ),
    "first_of_a_window": (
        "INTO",
        "SELECT id, v, w.start AS b FROM (SELECT id, v, window(ts, '10 seconds') AS w FROM s)"
        " QUALIFY row_number() OVER (PARTITION BY w ORDER BY v, id DESC) = 1",
        "row_number() <= 1 is kept as the top 1 of each (w); state: 1 row for each key",
    ),
    "first_by_both_directions": (
        "OVERWRITE",
        "SELECT k, id, v, w, r FROM (SELECT *, row_number() OVER"
        " (PARTITION BY k ORDER BY v DESC NULLS FIRST, ts, id) r FROM s) WHERE r < 2",
        "row_number() <= 1",
    ),
    "distinct_counts": (
        "OVERWRITE",
        "SELECT k, count(DISTINCT v) a, count(DISTINCT v, w) b, count(DISTINCT v) FILTER (WHERE id > 20) c,"
        " max(DISTINCT v) d FROM s GROUP BY k",
        "count(DISTINCT v) is the size of a set",
    ),
    "distinct": ("INTO", "SELECT DISTINCT k, w FROM s", "DISTINCT keeps the first of equal rows"),
    "union": ("INTO", "SELECT v FROM s UNION SELECT id FROM s WHERE id < 5", "DISTINCT keeps the first of equal rows"),
    "aggregate_of_aggregate": (
        "OVERWRITE",
        "SELECT n, count(*) c FROM (SELECT k, v, count(*) n FROM s GROUP BY k, v) GROUP BY n ORDER BY n",
        "the stream runs to its first aggregate",
    ),
    "over_the_result": (
        "OVERWRITE",
        "SELECT k, n, rank() OVER (ORDER BY n DESC) r FROM (SELECT k, count(*) n FROM s GROUP BY k)",
        "the stream runs to its first aggregate",
    ),
    "pivot": (
        "OVERWRITE",
        "SELECT * FROM (SELECT k, w, v FROM s) PIVOT (max(v) FOR w IN ('a', 'b'))",
        "the stream runs to its first aggregate",
    ),
    "join_of_aggregates": (
        "OVERWRITE",
        "SELECT x.k, x.n, y.m, z.t FROM (SELECT k, count(*) n FROM s GROUP BY k) x"
        " LEFT JOIN (SELECT v AS k, max(id) m FROM s GROUP BY v) y USING (k) CROSS JOIN (SELECT sum(v) t FROM s) z",
        "the streams run to their first aggregates, side by side",
    ),
    "aggregate_joined_to_itself": (
        "OVERWRITE",
        "WITH c AS (SELECT k, w, count(*) n FROM s GROUP BY k, w)"
        " SELECT a.k, a.n, b.n AS m FROM c a FULL JOIN c b ON a.k = b.k AND a.w < b.w",
        "the streams run to their first aggregates, side by side",
    ),
    "union_of_aggregates": (
        "OVERWRITE",
        "SELECT k, count(DISTINCT v) n FROM s GROUP BY k UNION ALL SELECT max(v), count(*) FROM s GROUP BY w",
        "count(DISTINCT v) is the size of a set",
    ),
    "join_below": (
        "OVERWRITE",
        "SELECT x.k, max(y.v) m FROM s x JOIN s y ON x.id = y.id + 1 GROUP BY x.k",
        "State that nothing removes: each group by k; all rows of both sides of the join on id",
    ),
    "window_bounds": (
        "INTO",
        "SELECT b, e, max(n) m FROM (SELECT k, count(*) n, window.start b, window.end e FROM s"
        " GROUP BY k, window(ts, '10 seconds')) GROUP BY b, e",
        "groups by window.end are closed by the watermark",
    ),
    "lateral": (
        "INTO",
        "SELECT s.id, x.m FROM s, LATERAL (SELECT max(f.b) m FROM facts f WHERE f.a = s.v) x",
        "the query runs over the rows of each batch",
    ),
    "asof": (  # Spark itself runs it over streams
        "INTO",
        "SELECT s.id, f.b FROM s LEFT ASOF JOIN facts f MATCH_CONDITION (s.id >= f.b) ON s.k = f.a",
        "SortMergeAsOfJoin",
    ),
}

GATE: Final = frozenset(("rank", "distinct", "distinct_counts", "join_below", "window_bounds", "top_of_a_window"))
"""The queries of the gate. The others are slow together."""


class Tables:
    """A table of files, and two schemas with a view `s` of it: one streams, one reads the whole table.

    The jobs of the queries run in parallel.
    """

    def __init__(self, sql: Sql, folder: Path, names: list[str]) -> None:
        self.sql = sql
        self.explained: dict[str, str] = {}
        """Return the explanation of each job."""
        self.refusals: dict[str, Exception] = {}
        """The error of each query that did not become a job. Its own test raises it."""
        _write_files(folder)
        columns = "id INT, k INT, v INT, w STRING, ts TIMESTAMP"
        sql(f"CREATE TABLE events ({columns}) USING json LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '2')")
        sql("CREATE TABLE facts USING parquet AS SELECT id % 7 AS a, id AS b FROM range(20)")
        for schema, source in (("streamed", f"STREAM default.events {HOUR}"), ("whole", "default.events")):
            sql(f"CREATE SCHEMA {schema}")
            sql(f"CREATE VIEW {schema}.s AS SELECT * FROM {source}")
            sql(f"CREATE VIEW {schema}.facts AS SELECT * FROM default.facts")
        for name in names:
            try:
                self.explained[name] = self._create(name)
            except Exception as error:
                self.refusals[name] = error

    def _create(self, name: str) -> str:
        verb, query, _ = QUERIES[name]
        self.sql("USE whole")
        self.sql(f"CREATE TABLE default.{name} USING parquet AS {query} LIMIT 0")
        self.sql("USE streamed")
        body = f"INSERT {verb} TABLE default.{name} {query}"
        explained = self.sql.value(f"EXPLAIN CREATE JOB {name} OPTIONS ('trigger' = 'availableNow') AS {body}")
        self.sql(f"CREATE JOB {name} OPTIONS ('trigger' = 'availableNow') AS {body}")
        return str(explained)

    def difference(self, name: str) -> tuple[int, int]:
        """Return the numbers of missing and extra rows. Rows of the last file stay in open windows and are left out."""
        self.sql(f"WAIT FOR JOB {name} UNTIL COMPLETED TIMEOUT 120")
        self.sql("USE whole")
        written, whole = f"SELECT * FROM default.{name}", QUERIES[name][1]
        if "window" in QUERIES[name][1]:
            whole = f"SELECT * FROM ({whole}) WHERE b < '2090-01-01'"
        counted = "SELECT count(*) FROM ({} EXCEPT ALL {})"
        pairs = ((f"({whole})", f"({written})"), (f"({written})", f"({whole})"))
        missing, extra = (self.sql.value(counted.format(*pair)) for pair in pairs)
        return missing, extra


def _write_files(folder: Path) -> None:
    rows = [
        {
            "id": n,
            "k": n * 7 % 5,
            "v": None if n % 11 == 0 else n * 13 % 9,
            "w": "ab"[n % 2],
            "ts": f"2026-01-01T00:{n // 30:02}:{n * 2 % 60:02}",
        }
        for n in range(120)
    ]
    last = [{"id": 1000, "k": 0, "v": 1, "w": "a", "ts": "2100-01-01T00:00:00"}]
    write_json_files(folder, [rows[:40], rows[40:70], rows[70:100], rows[100:], last])


@pytest.fixture(scope="module")
def tables(
    request: pytest.FixtureRequest, engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tables]:
    sql = Sql(engine)
    here = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    selected = {item.callspec.params.get("name") for item in here if hasattr(item, "callspec")}
    names = [name for name in QUERIES if name in selected]
    shared_tables = Tables(sql, tmp_path_factory.mktemp("rewrites") / "events", names)
    yield shared_tables
    for row in sql("SHOW ALL JOBS"):
        if row[2] not in ("COMPLETED", "DROPPED", "FAILED"):
            sql(f"DROP JOB '{row[0]}'")
    sql("USE default")
    for schema in ("streamed", "whole"):
        sql(f"DROP SCHEMA {schema} CASCADE")
    for table in ("events", "facts", *QUERIES):
        sql(f"DROP TABLE IF EXISTS {table}")


def _marks(name: str) -> list[pytest.MarkDecorator]:
    query = QUERIES[name][1]
    newer = [spark for clause, spark in (("MATCH_CONDITION", "4.3"), ("QUALIFY", "4.2")) if clause in query]
    return [*([] if name in GATE else [pytest.mark.slow]), *map(pytest.mark.needs_spark, newer)]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in QUERIES])
def test_a_rewritten_query_returns_what_batch_returns(tables: Tables, name: str) -> None:
    if name in tables.refusals:
        raise tables.refusals[name]
    assert QUERIES[name][2] in tables.explained[name]
    assert tables.difference(name) == (0, 0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        # Each batch's whole result would be joined as if its rows were new.
        (
            "INSERT OVERWRITE t SELECT s.k, x.n FROM s JOIN (SELECT k, count(*) n FROM s GROUP BY k) x ON s.k = x.k",
            "not supported in Complete output mode",
        ),
        # A better row takes the rank of several peers, and no update removes them.
        (
            "SINK INTO t SELECT k, v FROM (SELECT *, rank() OVER (PARTITION BY k ORDER BY v) r FROM s) WHERE r = 1",
            "rank",
        ),
        # The watermark would close groups by the start of a window too early.
        (
            "INSERT INTO t SELECT max(n), CAST(unix_seconds(b) AS INT) FROM"
            " (SELECT CAST(count(*) AS INT) n, window.start b FROM s GROUP BY k, window(ts, '10 seconds')) GROUP BY b",
            "without watermark",
        ),
    ],
)
def test_wrong_rewrites_stay_refused(tables: Tables, body: str, words: str) -> None:
    tables.sql("CREATE TABLE IF NOT EXISTS default.t (a INT, b INT) USING parquet")
    tables.sql("USE streamed")
    with pytest.raises(StatementError, match="NO_OUTPUT_MODE") as caught:
        tables.sql(f"EXPLAIN CREATE JOB refused AS {body.replace(' t ', ' default.t ', 1)}")
    assert words.casefold() in str(caught.value).casefold()


@pytest.mark.needs_spark("4.2")
@pytest.mark.slow
def test_the_first_row_by_time_is_the_first_to_arrive(tables: Tables) -> None:
    tables.sql("USE streamed")
    body = "SELECT id, k, v FROM s QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts) = 1"
    tables.sql("CREATE TABLE default.firsts (id INT, k INT, v INT) USING parquet")
    [(_, _, _, message)] = tables.sql(
        f"CREATE JOB firsts OPTIONS ('trigger' = 'availableNow') AS INSERT INTO default.firsts {body}"
    )
    assert "The job keeps the first row that arrives for each key, and forgets the key once" in message
    tables.sql("WAIT FOR JOB firsts UNTIL COMPLETED TIMEOUT 120")
    assert tables.sql.value("SELECT count(DISTINCT id) = count(*) AND count(*) = 121 FROM default.firsts") is True
    tables.sql("DROP TABLE default.firsts")
