"""CREATE TABLE as a file has it, compared with what SHOW CREATE TABLE returns."""

from __future__ import annotations

import pytest

from jetsql.sqlfiles.apply.compare_tables import TableComparison, compare_table, compare_view
from jetsql.sqlfiles.apply.table_definitions import TableDefinition, read_definition

SHOWN = """CREATE TABLE spark_catalog.shop.orders (
  id INT COMMENT 'the id',
  customer VARCHAR(20) COLLATE UTF8_BINARY,
  amount DECIMAL(10,2) DEFAULT 1,
  s STRUCT<a: INT NOT NULL COMMENT 'x, y', b: ARRAY<STRING COLLATE UTF8_BINARY>>,
  day DATE,
  hour INT)
USING {provider}
OPTIONS (
  'multiLine' = 'false',
  'password' = '*********(redacted)')
PARTITIONED BY (day, hour)
COMMENT 'all orders'
TBLPROPERTIES (
  'b,c' = 'd=e',
  'team' = 'ada')
"""
WRITTEN = """CREATE TABLE IF NOT EXISTS orders (
  day date, hour integer, id INTEGER NOT NULL COMMENT 'the id', Customer VARCHAR(20), -- a comment
  amount NUMERIC(10, 2) DEFAULT (1), s STRUCT<a INT, b: ARRAY<STRING>>, CONSTRAINT c CHECK (id > 0))
USING {provider} OPTIONS ('multiLine' = 'false', password 'secret') PARTITIONED BY (day, hour)
LOCATION '/data/orders' COMMENT 'all orders' TBLPROPERTIES ('team' = 'ada', 'b,c' 'd=e')
"""


def definition(text: str) -> TableDefinition:
    found = read_definition(text)
    assert found is not None
    return found


def compared(change: tuple[str, str] = ("", ""), provider: str = "json") -> TableComparison:
    text = WRITTEN.format(provider=provider)
    assert change[0] in text
    declared = definition(text.replace(*change) if change[0] else text)
    return compare_table("shop.orders", declared, definition(SHOWN.format(provider=provider)))


def test_other_spellings_are_no_difference() -> None:
    assert compared() == TableComparison(notes=("the catalogue hides the values of password, which were not compared",))


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("hour integer", "hour BIGINT"), "its column hour has the type INT, not BIGINT", "copy the rows"),
        (("a INT, b", "a BIGINT, b"), "its column s has the type", "copy the rows"),
        (("VARCHAR(20)", "VARCHAR(30)"), "its column customer has the type VARCHAR(20)", "copy the rows"),
        (("NUMERIC(10, 2)", "NUMERIC"), "its column amount has the type DECIMAL(10,2), not NUMERIC", "copy"),
        (("'the id'", "'an id'"), "another comment", "ALTER TABLE `shop`.`orders` ALTER COLUMN `id` COMMENT 'an id'"),
        (("(day, hour)\nLOCATION", "(day)\nLOCATION"), "it is partitioned by day, hour", "copy the rows"),
        (("USING json", "USING parquet"), "its format is json, not parquet", "copy the rows"),
        (("'all orders'", "'new'"), "its comment differs", "COMMENT ON TABLE `shop`.`orders` IS 'new'"),
        (("'false'", "'true'"), "its option 'multiline' is 'false'", "copy the rows"),
        (("'multiLine' =", "'lineSep' = '\n', 'multiLine' ="), "it lacks the option 'linesep'", "copy the rows"),
        (("'ada'", "'bob'"), "its property 'team' is 'ada'", "SET TBLPROPERTIES ('team' = 'bob')"),
        (("'team' = 'ada'", "'team' = 'ada', 'x' = 'y'"), "it lacks the property 'x'", "SET TBLPROPERTIES ('x' = 'y')"),
        (
            ("day date,", "day date, n ARRAY<INT> COMMENT 'c',"),
            "it lacks the column n",
            "ADD COLUMNS (`n` ARRAY<INT> COMMENT 'c')",
        ),
        ((" Customer VARCHAR(20),", ""), "it has the column customer, which the file does not declare", "Add customer"),
    ],
)
def test_a_difference_has_a_hint(change: tuple[str, str], message: str, hint: str) -> None:
    [difference] = compared(change).differences
    assert message in difference.message and hint in difference.hint


def test_the_order_of_columns_counts() -> None:
    [difference] = compared(
        (
            "day date, hour integer, id INTEGER NOT NULL COMMENT 'the id', Customer VARCHAR(20)",
            "day date, hour integer, Customer VARCHAR(20), id INTEGER",
        )
    ).differences
    assert "order id, customer, amount" in difference.message


@pytest.mark.parametrize(
    ("provider", "hint"), [("kafka", "run DROP TABLE"), ("iceberg", "ALTER COLUMN `hour` TYPE BIGINT")]
)
def test_hints_depend_on_the_format(provider: str, hint: str) -> None:
    [difference] = compared(("hour integer", "hour BIGINT"), provider).differences
    assert hint in difference.hint


def test_only_what_the_file_writes_is_compared() -> None:
    declared = definition("CREATE TABLE t USING kafka OPTIONS ('topic' = 't')")
    existing = definition(
        "CREATE TABLE t (a INT) USING kafka OPTIONS ('topic' = 't', 'x' = '1') TBLPROPERTIES ('y' = '2')"
    )
    assert compare_table("t", declared, existing) == TableComparison(
        notes=("it also has the options x, which the file does not declare",)
    )
    rate = definition("CREATE TABLE t (timestamp TIMESTAMP, value BIGINT)")
    assert compare_table(
        "t", definition("CREATE TABLE t USING rate OPTIONS (rowsPerSecond 3)"), rate
    ) == TableComparison(notes=("the catalogue does not show its format and options, which were not compared",))


def test_partitions_with_types_and_transforms() -> None:
    declared = definition("CREATE TABLE t (a INT) USING iceberg PARTITIONED BY (d STRING, days(`ts`), bucket(4, a))")
    assert declared.partitions == ["d", "days(ts)", "bucket(4,a)"]
    assert [column.name for column in declared.columns or ()] == ["a", "d"]
    buckets = definition("CREATE TABLE t (a INT) USING parquet CLUSTERED BY (a) INTO 4 BUCKETS COMMENT 'c'")
    assert buckets.buckets == "by ( a ) into 4 buckets" and buckets.comment == "c"


VIEW = """CREATE VIEW default.v (
  a COMMENT 'x',
  b)
COMMENT 'c'
TBLPROPERTIES (
  't' = '1')
WITH SCHEMA COMPENSATION
AS SELECT id,   c FROM orders
"""


@pytest.mark.parametrize(
    ("text", "differences"),
    [
        ("CREATE OR REPLACE VIEW v (a COMMENT 'x', b) COMMENT 'c' AS select id, c -- all\n FROM orders", ()),
        ("CREATE VIEW v AS SELECT id, c FROM orders", ()),
        ("CREATE VIEW v WITH SCHEMA BINDING AS SELECT id, d FROM orders", ("another query",)),
        ("CREATE VIEW v (a, c) AS SELECT id, c FROM orders", ("other columns",)),
        ("CREATE VIEW v (a COMMENT 'y', b) AS SELECT id, c FROM orders", ("other comments of columns",)),
        (
            "CREATE VIEW v COMMENT 'd' TBLPROPERTIES ('t' = '2') AS SELECT id, c FROM orders",
            ("another comment", "other properties"),
        ),
    ],
)
def test_views_are_compared_by_their_query(text: str, differences: tuple[str, ...]) -> None:
    assert compare_view(definition(text), definition(VIEW)) == differences


def test_other_statements_have_no_definition() -> None:
    assert read_definition("CREATE STREAMING TABLE t AS SELECT 1") is None
    assert read_definition("SELECT 1") is None and read_definition("CREATE SCHEMA s") is None
