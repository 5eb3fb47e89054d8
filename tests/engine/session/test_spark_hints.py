"""Hints for Spark's errors: tables and schemas with similar names, and missing semicolons."""

from __future__ import annotations

import pytest

from jetsql.language.foreign_words import SPARK_FUNCTIONS
from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.fixture
def shop(sql: Sql) -> Sql:
    sql("CREATE TABLE orders (id INT, name STRING) USING parquet")
    sql("CREATE TABLE `2019_sales` (id INT) USING parquet")
    sql("CREATE TEMPORARY VIEW recent AS SELECT 1 AS id")
    return sql


@pytest.mark.slow
def test_misspelled_names(shop: Sql) -> None:
    schema = shop.value("SELECT current_schema()")
    for text, hint in {
        "SELECT * FROM ordres": "Did you mean orders?",
        "SELECT * FROM 2019_salse": "Did you mean `2019_sales`?",
        "SELECT * FROM recentt": "Did you mean recent?",
        "INSERT INTO ORDER VALUES (1, 'a')": "Did you mean orders?",
        f"SELECT * FROM {schema}.ordres": f"Did you mean {schema}.orders?",
        f"SELECT * FROM spark_catalog.x{schema}.orders": f"Did you mean spark_catalog.{schema}.orders?",
        "DROP TABLE ordres": f"Did you mean spark_catalog.{schema}.orders?",
        f"USE x{schema}": f"Did you mean {schema}?",
        "SELECT * FROM jobs": "Did you mean jetsql.jobs?",
        "SELECT * FROM nothing_like_it": "",
        "INSERT INTO orders BY NAME SELECT 1 AS idd": "The columns of the table: id, name.",
        "CREATE JOB j AS INSERT INTO orders SELECT * FROM STREAM ordres": "Did you mean orders?",
        "SELECT idd FROM orders": "",  # Spark's message suggests a column
    }.items():
        error = shop.error(text)
        assert (text, error.hint) == (text, hint)
    shop("DROP VIEW recent")


@pytest.mark.slow
def test_functions_of_other_systems_have_an_example_that_works(sql: Sql) -> None:
    row = "SELECT '2026-01-01' AS text, '{}' AS json, 1 AS value, 0L AS millis, TIMESTAMP'2026-01-01' AS ts"
    for name, example in SPARK_FUNCTIONS.items():
        assert sql.error(f"SELECT {name}(ts, 1) FROM ({row})").hint == f"In Spark, write {example}."
        sql(f"SELECT {example.partition(', which')[0]} FROM ({row})")
    assert sql.error("SELECT unknown_function(1)").hint == ""


def test_a_semicolon_that_is_missing(shop: Sql) -> None:
    for text, word in {
        "SELECT 1\nSHOW JOBS": "SHOW",
        "SELECT 1\nSELECT 2": "SELECT",
        "SELECT * FROM orders DROP JOB x": "DROP",
        "CREATE TABLE y (a INT) USING parquet\nCREATE JOB j AS INSERT INTO y SELECT 1": "CREATE",
        "CREATE JOB j AS INSERT INTO orders SELECT * FROM STREAM orders\nSHOW JOBS": "SHOW",
    }.items():
        assert shop.error(text).hint == f"A semicolon is missing before {word}, which begins another statement."
    assert shop.error("SELECT FROM\nWHERE SHOW").hint == ""
    assert shop.error("CREATE VIEW v\nSELECT 1").hint == ""
