"""Joins of a stream with a table of PostgreSQL that read only the rows of the batch's keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Sql, until
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

_schemas = itertools.count(1)
_CUSTOMERS = "id bigint PRIMARY KEY, name text, country text, rate numeric(10, 2), since date"


@dataclass
class Shop:
    """A stream of orders, and customers in a database, with and without lookups."""

    server: Postgres
    sql: Sql
    schema: str

    def register(self, name: str, table: str = "customers", **options: str) -> None:
        """Register a table of the database under a name."""
        self.sql(f"CREATE TABLE {name} {self.server.options(f'{self.schema}.{table}', **options)}")

    def run(self, name: str, select: str, columns: str, verb: str = "INSERT INTO") -> list[tuple[Any, ...]]:
        """Return the rows of a job, sorted."""
        self.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
        self.sql(f"CREATE JOB {name} OPTIONS ('snapshotIntervalMillis' = '100') AS {verb} {name} {select}")
        self.sql(f"WAIT FOR JOB {name} UNTIL IDLE")
        return self.rows(name)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(self.sql(f"SELECT * FROM {table}"), key=repr)

    def batch(self, select: str) -> list[tuple[Any, ...]]:
        """Return the rows of the same query without a stream."""
        return sorted(self.sql(select.replace("STREAM ", "")), key=repr)

    def explain(self, select: str) -> str:
        self.sql("CREATE TABLE IF NOT EXISTS explained (id INT, name STRING) USING parquet")
        return "\n".join(str(row[0]) for row in self.sql(f"EXPLAIN CREATE JOB j AS INSERT INTO explained {select}"))

    def rows_read(self) -> int:
        """Return how many rows of the customers the database has read."""
        [(read,)] = self.server(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
            f" WHERE schemaname = '{self.schema}' AND relname = 'customers'"
        )
        return int(read)


@pytest.fixture
def shop(postgres: Postgres, sql: Sql) -> Iterator[Shop]:
    schema = f"lookups_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.customers ({_CUSTOMERS})")
    postgres(
        f"INSERT INTO {schema}.customers SELECT i, CASE WHEN i % 7 > 0 THEN 'it''s ' || i END,"
        " CASE i % 3 WHEN 0 THEN 'DE' WHEN 1 THEN 'FR' END, i / 4.0, date '2020-01-01' + i"
        f" FROM generate_series(1, 5000) AS i; ANALYZE {schema}.customers"
    )
    sql("CREATE TABLE orders (id INT, customer INT, country STRING, day DATE) USING json")
    sql(
        "INSERT INTO orders SELECT id, if(id % 5 = 0, NULL, 4000 + id % 1500),"
        " if(id % 2 = 0, 'DE', 'FR'), date_add('2020-01-01', CAST(4000 + id % 1500 AS INT)) FROM range(3000) AS t(id)"
    )
    yield Shop(postgres, sql, schema)
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {schema} CASCADE")


LEFT = "SELECT o.id, c.name FROM STREAM orders o LEFT JOIN c ON o.customer = c.id AND c.country = o.country"
KEYS = 1200  # different customers in the orders


def test_only_the_rows_of_the_keys_are_read(shop: Shop) -> None:
    shop.register("c", lookup="true")
    expected = shop.batch(LEFT)
    before = shop.rows_read()
    assert shop.run("looked_up", LEFT, "id INT, name STRING") == expected
    assert 0 < shop.rows_read() - before <= 2 * KEYS  # two tasks have the same keys
    assert "Lookup:      c by id, country" in shop.explain(LEFT)


@pytest.mark.slow
def test_rows_of_the_cache_are_used_again(shop: Shop) -> None:
    shop.register("c", lookup_cache_ttl="1 hour")
    select = "SELECT o.id, c.name FROM STREAM orders o JOIN c ON o.customer = c.id"
    assert shop.run("kept", select, "id INT, name STRING") == shop.batch(select)
    before = shop.rows_read()
    shop.sql("INSERT INTO orders VALUES (-1, 4001, 'DE', NULL), (-2, 5499, 'DE', NULL), (-3, NULL, 'DE', NULL)")
    shop.sql("WAIT FOR JOB kept UNTIL IDLE")
    assert (-1, "it's 4001") in shop.rows("kept")
    assert shop.rows_read() == before
    assert "Lookup:      c by id; rows are used again for 3600 s" in shop.explain(select)


@pytest.mark.slow
@pytest.mark.parametrize(
    "join",
    [
        "LEFT JOIN c ON o.customer = c.id",
        "JOIN c ON o.customer = c.id AND c.country = o.country",
        "LEFT JOIN c ON o.customer = c.id AND length(c.name) > 8 AND o.id < 2000",
        "JOIN (SELECT id AS n, upper(name) AS name FROM c WHERE country IS NULL) c ON c.n = o.customer",
        "LEFT JOIN c ON c.name = 'it''s ' || o.customer",
        "JOIN c ON c.since = o.day",
        "JOIN c ON c.rate = CAST(o.customer / 4.0 AS DECIMAL(10, 2))",
    ],
)
def test_a_lookup_returns_the_rows_of_the_join(shop: Shop, join: str) -> None:
    shop.register("c", lookup="true")
    select = f"SELECT o.id, c.name FROM STREAM orders o {join}"
    assert "Lookup:      c by " in shop.explain(select)
    assert shop.run("joined", select, "id INT, name STRING") == shop.batch(select)


@pytest.mark.slow
def test_the_stream_may_be_on_the_right(shop: Shop) -> None:
    shop.register("c", lookup="true")
    select = "SELECT o.id, c.name FROM c RIGHT JOIN STREAM orders o ON o.customer = c.id"
    assert "Lookup:      c by id" in shop.explain(select)
    assert shop.run("joined", select, "id INT, name STRING") == shop.batch(select)


@pytest.mark.slow
def test_several_lookups_below_an_aggregate(shop: Shop) -> None:
    shop.register("c", lookup="true")
    shop.register("d", lookup_cache_ttl="1 minute", lookup_cache_rows="10")
    select = (
        "SELECT c.country, count(d.name), sum(c.rate) FROM STREAM orders o"
        " JOIN c ON o.customer = c.id LEFT JOIN d ON o.id = d.id GROUP BY c.country"
    )
    columns = "country STRING, names BIGINT, rates DECIMAL(20, 2)"
    assert shop.run("totals", select, columns, "INSERT OVERWRITE") == shop.batch(select)


@pytest.mark.slow
@pytest.mark.parametrize("join", ["c.id + 1 = o.customer", "CAST(c.id AS STRING) = o.country", "c.id > o.customer"])
def test_a_computed_column_of_the_table_is_no_key(shop: Shop, join: str) -> None:
    shop.register("c", lookup="true")
    assert "Lookup" not in shop.explain(f"SELECT o.id, c.name FROM STREAM orders o JOIN c ON {join}")


@pytest.mark.slow
def test_a_table_without_the_option_is_read_whole(shop: Shop) -> None:
    shop.register("c")
    assert "Lookup" not in shop.explain(LEFT)


@pytest.mark.slow
def test_text_that_is_no_uuid_matches_nothing(shop: Shop) -> None:
    known = "6f1c3a52-0000-4000-8000-000000000001"
    shop.server(f"CREATE TABLE {shop.schema}.things (id uuid PRIMARY KEY, name text)")
    shop.server(f"INSERT INTO {shop.schema}.things VALUES ('{known}', 'one')")
    shop.register("things", "things", lookup="true")
    shop.sql("CREATE TABLE texts (id INT, thing STRING) USING json")
    shop.sql(f"INSERT INTO texts VALUES (1, '{known}'), (2, 'no uuid'), (3, chr(0))")
    select = "SELECT t.id, g.name FROM STREAM texts t LEFT JOIN things g ON t.thing = g.id"
    assert shop.run("joined", select, "id INT, name STRING") == [(1, "one"), (2, None), (3, None)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"lookup": "maybe"}, {"lookup_cache_ttl": "soon"}, {"lookup": "true", "lookup_cache_rows": "0"}]
)
def test_wrong_options_are_reported(shop: Shop, options: dict[str, str]) -> None:
    shop.register("c", **options)
    shop.sql("CREATE TABLE joined (id INT, name STRING) USING parquet")
    error = shop.sql.error(f"CREATE JOB j AS INSERT INTO joined {LEFT}")
    assert "INVALID_OPTION_VALUE" in str(error)


@pytest.mark.slow
def test_job_waits_for_an_unreachable_database(shop: Shop) -> None:
    shop.register("c", lookup="true")
    select = "SELECT o.id, c.name FROM STREAM orders o JOIN c ON o.customer = c.id"
    expected = shop.run("joined", select, "id INT, name STRING")
    shop.server.stop()
    try:
        shop.sql("INSERT INTO orders VALUES (-1, 4001, 'DE', NULL)")
        until(lambda: "retry" in [row[1] for row in shop.sql("SHOW JOB HISTORY joined")])
    finally:
        shop.server.start()
    shop.sql("WAIT FOR JOB joined UNTIL IDLE")
    assert shop.rows("joined") == sorted([*expected, (-1, "it's 4001")], key=repr)
