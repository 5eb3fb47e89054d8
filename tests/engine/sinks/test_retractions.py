"""SINK INTO PostgreSQL with 'outputMode' = 'complete': rows that leave the result are deleted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

COMPLETE = "OPTIONS ('snapshotIntervalMillis' = '100', 'outputMode' = 'complete')"
LARGE = "SINK INTO totals SELECT page, sum(n) FROM STREAM visits GROUP BY page HAVING sum(n) > 10"
_schemas = itertools.count(1)


class Totals:
    """A table in the database, and the stream that it sums."""

    def __init__(self, server: Postgres, sql: Sql) -> None:
        self.server, self.sql = server, sql
        self.schema = f"totals_{next(_schemas)}"
        server(f"CREATE SCHEMA {self.schema}")
        server(f"CREATE TABLE {self.schema}.totals (page text PRIMARY KEY, n bigint)")
        sql(f"CREATE TABLE totals {server.options(f'{self.schema}.totals', key_columns='page')}")
        sql("CREATE TABLE visits (page STRING, n BIGINT) USING json")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.server(f"SELECT * FROM {self.schema}.totals ORDER BY 1")

    def tables(self) -> list[tuple[Any, ...]]:
        return self.server(
            f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{self.schema}'"
            " AND table_name LIKE 'jetsql_keys%'"
        )

    def rows_after(self, *visits: tuple[str, int]) -> list[tuple[Any, ...]]:
        """Return the rows after the job `j` has read these visits."""
        self.sql(f"INSERT INTO visits VALUES {', '.join(map(str, visits))}")
        self.sql("WAIT FOR JOB j UNTIL IDLE")
        return self.rows()


@pytest.fixture
def totals(postgres: Postgres, sql: Sql) -> Iterator[Totals]:
    totals = Totals(postgres, sql)
    yield totals
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {totals.schema} CASCADE")


def test_rows_that_leave_the_result_are_deleted(totals: Totals) -> None:
    totals.server(f"INSERT INTO {totals.schema}.totals VALUES ('other', 0)")
    totals.sql(f"CREATE JOB j {COMPLETE} AS {LARGE}")
    other = ("other", 0)
    assert totals.rows_after(("a", 20), ("b", 20), ("c", 5)) == [("a", 20), ("b", 20), other]
    assert totals.rows_after(("a", -15), ("c", 6)) == [("b", 20), ("c", 11), other]
    totals.sql("SUSPEND JOB j")
    totals.sql("RESUME JOB j")
    assert totals.rows_after(("b", -20), ("a", 20)) == [("a", 25), ("c", 11), other]
    assert totals.rows_after(("a", -20), ("c", -11)) == [other]
    assert len(totals.tables()) == 1
    totals.sql("DROP JOB j")
    assert totals.tables() == []


def test_top_rows_leave_the_table(totals: Totals) -> None:
    top = "SELECT page, n, row_number() OVER (PARTITION BY 1 ORDER BY n DESC) AS rank FROM STREAM visits"
    totals.sql(f"CREATE JOB j {COMPLETE} AS SINK INTO totals SELECT page, n FROM ({top}) WHERE rank <= 2")
    assert totals.rows_after(("a", 1), ("b", 2)) == [("a", 1), ("b", 2)]
    assert totals.rows_after(("c", 3)) == [("b", 2), ("c", 3)]


@pytest.mark.slow
def test_the_part_above_the_first_aggregate_may_lose_rows(totals: Totals) -> None:
    counts = "SELECT page, count(*) AS n FROM STREAM visits GROUP BY page"
    totals.sql(
        f"CREATE JOB j {COMPLETE} AS SINK INTO totals"
        f" SELECT concat('pages with ', n), count(*) FROM ({counts}) GROUP BY n"
    )
    assert totals.rows_after(("a", 1), ("b", 1)) == [("pages with 1", 2)]
    assert totals.rows_after(("a", 1), ("b", 1)) == [("pages with 2", 2)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_table_is_the_result_of_a_batch_query(totals: Totals, seed: int) -> None:
    random = Random(seed)
    totals.sql(f"CREATE JOB j {COMPLETE} AS {LARGE}")
    for _ in range(6):
        rows = totals.rows_after(*((f"p{random.randrange(40)}", random.randrange(-20, 20)) for _ in range(60)))
        query = LARGE.partition("totals ")[2].replace("STREAM ", "")
        assert rows == sorted(totals.sql(query))


def test_explain_and_refusals(totals: Totals) -> None:
    lines = "\n".join(str(row[0]) for row in totals.sql(f"EXPLAIN CREATE JOB j {COMPLETE} AS {LARGE}"))
    assert (
        "rows that leave the result are deleted; each batch writes the whole result, and nothing removes the state"
        in lines
    )
    assert totals.tables() == []
    error = totals.sql.error(f"CREATE JOB j {COMPLETE} AS SINK INTO totals SELECT page, n FROM STREAM visits")
    assert error.condition == "JETSQL.NO_OUTPUT_MODE"
    totals.sql("CREATE TABLE copy (page STRING, n BIGINT) USING parquet")
    error = totals.sql.error(f"CREATE JOB j {COMPLETE} AS {LARGE.replace('totals', 'copy')}")
    assert "it is a file table, whose rows cannot be updated" in error.message
