"""`jetsql test` on Spark: one run over files whose tests pass, fail and err."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

JOBS = """
CREATE TABLE orders (id INT, customer STRING, amount DECIMAL(10,2), at TIMESTAMP) USING json;
CREATE TABLE totals (customer STRING, minute TIMESTAMP, total DECIMAL(20,2)) USING delta;
CREATE TABLE newest (customer STRING, total DECIMAL(20,2)) USING jdbc
OPTIONS ('url' 'jdbc:postgresql://127.0.0.1/none', 'dbtable' 'newest', 'key.columns' 'customer');
CREATE TABLE ratios (id INT, ratio INT, seen TIMESTAMP) USING parquet;
CREATE TABLE names (customer STRING, name STRING) USING parquet;
CREATE TABLE named (name STRING, total DECIMAL(20,2)) USING parquet;
CREATE VIEW paid AS SELECT * FROM STREAM orders WHERE amount > 0;
CREATE JOB totals AS INSERT INTO totals
SELECT customer, window.start, sum(amount)
FROM STREAM orders WATERMARK at DELAY OF INTERVAL 10 SECONDS
GROUP BY customer, window(at, '1 minute');
CREATE JOB newest AS SINK INTO newest SELECT customer, sum(amount) FROM STREAM orders GROUP BY customer;
CREATE JOB ratios AS INSERT INTO ratios SELECT id, 100 DIV id, current_timestamp() FROM STREAM orders;
CREATE JOB named AS INSERT INTO named SELECT n.name, t.total FROM STREAM totals t JOIN names n USING (customer);
"""
TESTS = """
START TEST steps;
INSERT INTO orders VALUES (1, 'ada', 10, TIMESTAMP '2026-01-01 00:00:05');
EXPECT NO ROWS AS FROM totals;
EXPECT TABLE newest AS VALUES ('ada', 10);
INSERT INTO names VALUES ('ada', 'Ada Lovelace');
INSERT INTO orders VALUES
  (2, 'bob', 1, TIMESTAMP '2026-01-01 00:02:00'), (3, 'ada', 2, TIMESTAMP '2026-01-01 00:02:01');
EXPECT TABLE totals AS VALUES ('ada', TIMESTAMP '2026-01-01 00:00:00', 10);
EXPECT TABLE named AS VALUES ('Ada Lovelace', 10);
EXPECT TABLE newest AS VALUES ('bob', 1), ('ada', 12);
EXPECT JOB totals WATERMARK = TIMESTAMP '2026-01-01 00:01:51';
INSERT INTO orders VALUES (4, 'late', 1, TIMESTAMP '2026-01-01 00:00:00');
EXPECT JOB totals LATE ROWS = 1;

START TEST the_clock_stands_still;
ADVANCE CLOCK TO TIMESTAMP '2026-03-01 00:00:00';
INSERT INTO orders (id, customer) VALUES (5, 'ada');
ADVANCE CLOCK BY INTERVAL 1 HOUR;
EXPECT TABLE ratios AS VALUES (5, 20, TIMESTAMP '2026-03-01 01:00:00');

START TEST errors;
EXPECT ERROR 'NO_OUTPUT_MODE' AS CREATE JOB n AS INSERT INTO ratios SELECT count(*), 1, now() FROM STREAM orders;
INSERT INTO orders (id) VALUES (0);
EXPECT ERROR 'DIVIDE_BY_ZERO' IN JOB ratios;

START TEST other_rows;
INSERT INTO orders (id, customer, amount) VALUES (1, 'ada', 10);
EXPECT TABLE newest AS VALUES ('ada', 11), ('eve', 1);

START TEST a_number_that_does_not_fit;
INSERT INTO orders (id, customer, amount) VALUES (1, 'ada', 10);
EXPECT TABLE ratios (id) AS VALUES (1.5);

START TEST a_job_that_fails;
INSERT INTO orders (id) VALUES (0);
EXPECT TABLE totals (customer) AS VALUES ('x');

START TEST an_unknown_table;
INSERT INTO nothing VALUES (1);
EXPECT NO ROWS AS FROM totals;

START TEST wrong_columns;
EXPECT TABLE newest AS VALUES (1);

START TEST an_unknown_job;
EXPECT JOB nothing LATE ROWS = 0;
"""

KAFKA_JOBS = """
CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2), at TIMESTAMP) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'orders', 'value.format' 'json', 'key.columns' 'id',
  'on.error' 'table:bad_orders', 'kafka.ssl.keystore.password' 'secret:env:NO_SUCH_SECRET');
CREATE TABLE copies (id BIGINT, customer STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'copies', 'value.format' 'avro');
CREATE TABLE counts (customer STRING, n BIGINT) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'counts', 'value.format' 'csv', 'key.columns' 'customer');
CREATE TABLE typed USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'typed', 'includeHeaders' 'true');
CREATE TABLE strict (id INT) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'strict', 'value.format' 'json');
CREATE TABLE ids (id BIGINT, customer STRING, offset BIGINT) USING parquet;
CREATE TABLE none (id INT) USING parquet;
CREATE JOB copies AS INSERT INTO copies SELECT id, customer FROM STREAM orders;
CREATE JOB ids OPTIONS ('kafka.commit.group' = 'ids') AS INSERT INTO ids
SELECT id, customer, _offset FROM STREAM copies;
CREATE JOB counts OPTIONS ('outputMode' = 'complete') AS
SINK INTO counts SELECT customer, count(*) FROM STREAM ids GROUP BY customer HAVING count(*) < 2;
CREATE JOB typed AS INSERT INTO typed (value, headers)
SELECT CAST(customer AS BINARY), array(struct('type' AS key, X'FF' AS value)) FROM STREAM copies;
CREATE JOB none AS INSERT INTO none SELECT id FROM STREAM strict;
"""
KAFKA_TESTS = """
CREATE TABLE order_texts (value STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'orders', 'value.format' 'raw');
CREATE TABLE strict_texts (value STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'strict', 'value.format' 'raw');
CREATE TABLE count_texts (customer STRING, value STRING) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'counts', 'value.format' 'raw', 'key.columns' 'customer');

START TEST rows_go_through_the_formats;
INSERT INTO orders VALUES (1, 'ada', 10, NULL), (2, 'bob', 1, NULL);
EXPECT TABLE order_texts AS
VALUES ('{"id":1,"customer":"ada","amount":10.00}'), ('{"id":2,"customer":"bob","amount":1.00}');
EXPECT TABLE ids AS VALUES (1, 'ada', 0), (2, 'bob', 1);
EXPECT TABLE count_texts AS VALUES ('ada', 'ada,1'), ('bob', 'bob,1');
EXPECT TABLE typed (value, headers) AS
VALUES ('ada', array(struct('type', X'FF'))), ('bob', array(struct('type', X'FF')));
EXPECT NO ROWS AS FROM bad_orders;
INSERT INTO orders VALUES (1, 'ada', 10, NULL);
EXPECT TABLE count_texts AS VALUES ('ada', 'ada,1'), ('bob', 'bob,1'), ('ada', NULL);

START TEST bytes_that_do_not_fit;
INSERT INTO order_texts VALUES ('{"id": 1'), ('{"id": 2, "customer": "eve"}');
EXPECT TABLE ids AS VALUES (2, 'eve', 0);
EXPECT TABLE bad_orders (topic, offset, value) AS VALUES ('orders', 0, '{"id": 1');
INSERT INTO strict_texts VALUES ('x');
EXPECT ERROR 'MESSAGE_NOT_READABLE' IN JOB none;

START TEST no_registry;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS CREATE TABLE r (id INT) USING kafka OPTIONS (
  'kafka.bootstrap.servers' 'broker:9092', 'topic' 'r', 'value.format' 'avro', 'avro.schema.registry.url' 'http://x');
"""

TABLE_JOBS = """
CREATE TABLE orders (id INT, customer STRING, amount INT) USING json;
CREATE STREAMING TABLE big JOB OPTIONS ('trigger' = 'availableNow') USING delta AS
SELECT id, amount FROM STREAM orders WHERE amount > 5;
CREATE MATERIALIZED VIEW total AS SELECT sum(amount) AS total FROM big;
CREATE JOB latest AS CREATE TABLE latest USING jdbc OPTIONS (
  'url' 'jdbc:postgresql://127.0.0.1/none', 'dbtable' 'latest', 'key.columns' 'customer')
AS SELECT customer, count(*) AS n FROM STREAM orders GROUP BY customer;
CREATE TABLE changes (id INT, name STRING, op STRING, version INT) USING json;
CREATE TABLE sizes (size STRING) USING parquet;
CREATE JOB sizes AS INSERT INTO sizes
SELECT CASE WHEN amount > 8 THEN 'l' WHEN amount > 100 THEN 'xl' ELSE 's' END FROM STREAM orders WHERE id > 0;
CREATE JOB pairs AS INSERT INTO sizes
SELECT 'both' FROM STREAM orders o JOIN STREAM changes c ON c.id = o.id AND c.version > o.amount;
CREATE TABLE customers (id INT, name STRING) USING delta TBLPROPERTIES ('key.columns' = 'id');
CREATE TABLE history (id INT, name STRING, __START_AT INT, __END_AT INT) USING delta
TBLPROPERTIES ('key.columns' = 'id, __START_AT');
CREATE JOB customers AS AUTO CDC INTO customers FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'D'
SEQUENCE BY version COLUMNS * EXCEPT (op, version);
CREATE JOB history AS AUTO CDC INTO history FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'D'
SEQUENCE BY version COLUMNS * EXCEPT (op, version) STORED AS SCD TYPE 2;
"""
TABLE_TESTS = """
CREATE TABLE ticks USING rate;
CREATE TABLE times (at TIMESTAMP) USING parquet;

START TEST tables_with_their_jobs;
INSERT INTO orders VALUES (1, 'ada', 10), (2, 'ada', 5);
EXPECT TABLE big AS VALUES (1, 10);
EXPECT TABLE total AS VALUES (10);
EXPECT TABLE latest AS VALUES ('ada', 2);
INSERT INTO orders VALUES (3, 'bob', 7);
EXPECT TABLE latest AS VALUES ('ada', 2), ('bob', 1);
EXPECT TABLE total AS VALUES (10);
REFRESH MATERIALIZED VIEW total;
EXPECT TABLE total AS VALUES (17);
EXPECT ERROR 'TABLE_ALREADY_EXISTS' AS CREATE STREAMING TABLE big AS SELECT * FROM STREAM orders;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS CREATE STREAMING TABLE other AS SELECT * FROM orders;

START TEST changes_of_rows;
INSERT INTO changes VALUES (1, 'ada', 'I', 1), (2, 'bob', 'I', 1);
INSERT INTO changes VALUES (1, 'Ada', 'U', 3);
EXPECT TABLE customers AS VALUES (1, 'Ada'), (2, 'bob');
INSERT INTO changes VALUES (1, 'late', 'U', 2), (2, NULL, 'D', 2);
EXPECT TABLE customers AS VALUES (1, 'Ada');
EXPECT TABLE history AS VALUES (1, 'ada', 1, 2), (1, 'late', 2, 3), (1, 'Ada', 3, NULL), (2, 'bob', 1, 2);

START TEST refused;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS CREATE JOB j AS INSERT INTO times SELECT timestamp FROM STREAM ticks;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$return x$$;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS SHOW JOBS;

START TEST statements_that_reach_files;
INSERT INTO sizes VALUES ('l');
EXPECT ERROR 'UNSUPPORTED_QUERY' AS TRUNCATE TABLE sizes;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS DELETE FROM sizes;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS MERGE INTO sizes USING latest ON size = customer WHEN MATCHED THEN DELETE;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS FROM sizes INSERT INTO sizes SELECT size INSERT INTO latest SELECT size, 1;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS INSERT OVERWRITE DIRECTORY '/tmp/none' USING json SELECT 1;
EXPECT ERROR 'UNSUPPORTED_QUERY' AS ALTER TABLE sizes ADD COLUMN n INT;
EXPECT ERROR 'TABLE_IN_USE' AS DROP TABLE sizes;
EXPECT ERROR 'PARSE_SYNTAX_ERROR' AS CREATE VIEW v AS SELECT * FROM STREAM orders WATERMARK at DELAY INTERVAL 1 MINUTE;
EXPECT TABLE sizes AS VALUES ('l');

START TEST rows_of_new_and_overwritten_tables;
CREATE TABLE copies USING parquet PARTITIONED BY (p) AS SELECT 1 AS id, 'a' AS p;
WITH two AS (SELECT 2 AS id, 'b' AS p) INSERT INTO copies SELECT * FROM two;
EXPECT TABLE copies AS VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE copies PARTITION (p = 'b') VALUES (3);
EXPECT TABLE copies AS VALUES (1, 'a'), (3, 'b');
WITH one AS (SELECT 4 AS id, 'c' AS p) INSERT OVERWRITE copies SELECT * FROM one;
EXPECT TABLE copies AS VALUES (4, 'c');
DROP TABLE copies;
CREATE TABLE copies (name STRING) USING parquet;
EXPECT NO ROWS AS FROM copies;

START TEST a_block_of_statements;
BEGIN INSERT INTO sizes VALUES ('m'); END;
EXPECT NO ROWS AS FROM sizes;

START TEST a_clock_needs_an_interval;
ADVANCE CLOCK BY 5;
EXPECT NO ROWS AS FROM sizes;
"""

# Two files that begin with the same definitions, and continue with others.
SHARED_DEFINITIONS = """
CREATE TABLE words (word STRING) USING json;
CREATE VIEW long AS SELECT * FROM STREAM words WHERE length(word) > 3;
"""
SHARED_JOBS = """
CREATE TABLE found (word STRING) USING parquet;
CREATE JOB found AS INSERT INTO found SELECT * FROM long;
"""
SHARED_TESTS = """
RUN FILE 'words.sql', '{name}.sql';

START TEST {name}_with_its_definitions;
INSERT INTO words VALUES ('a'), ('word');
EXPECT TABLE found AS VALUES ('{expected}');

START TEST {name}_with_another_table;
DROP VIEW {view};
EXPECT ERROR 'TABLE_OR_VIEW_NOT_FOUND' AS SELECT * FROM {view};
CREATE TABLE {view} (n INT) USING json;
EXPECT NO ROWS AS FROM {view};
"""
OTHER_JOBS = """
SET spark.sql.caseSensitive = true;
CREATE TEMPORARY VIEW nothing AS SELECT 1 WHERE false;
CREATE VIEW shouted AS SELECT upper(word) AS word FROM long;
CREATE VIEW other AS SELECT 1;
CREATE TABLE found (word STRING) USING parquet;
CREATE JOB found AS INSERT INTO found SELECT word FROM shouted;
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sql")
    (folder / "jobs.sql").write_text(JOBS, encoding="utf-8")
    (folder / "jobs.test.sql").write_text(TESTS, encoding="utf-8")
    (folder / "kafka.sql").write_text(KAFKA_JOBS, encoding="utf-8")
    (folder / "kafka.test.sql").write_text(KAFKA_TESTS, encoding="utf-8")
    (folder / "tables.sql").write_text(TABLE_JOBS, encoding="utf-8")
    (folder / "tables.test.sql").write_text(TABLE_TESTS, encoding="utf-8")
    (folder / "words.sql").write_text(SHARED_DEFINITIONS, encoding="utf-8")
    (folder / "shared.sql").write_text(SHARED_JOBS, encoding="utf-8")
    shared = SHARED_TESTS.format(name="shared", expected="word", view="long")
    (folder / "shared.test.sql").write_text(shared, encoding="utf-8")
    (folder / "other.sql").write_text(OTHER_JOBS, encoding="utf-8")
    other = SHARED_TESTS.format(name="other", expected="WORD", view="other")
    (folder / "other.test.sql").write_text(other, encoding="utf-8")
    command = [sys.executable, "-m", "jetsql", "test", "--coverage", "--format", "json", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    assert ended.returncode == 1 and ended.stdout, ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    assert not report["invalid"], report["invalid"]
    return report


@pytest.fixture(scope="module")
def results(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {test["name"]: test for test in report["tests"]}


@pytest.mark.parametrize(
    "name",
    [
        "steps",
        "the_clock_stands_still",
        "errors",
        "rows_go_through_the_formats",
        "bytes_that_do_not_fit",
        "no_registry",
        "tables_with_their_jobs",
        "changes_of_rows",
        "refused",
        "statements_that_reach_files",
        "rows_of_new_and_overwritten_tables",
        "shared_with_its_definitions",
        "shared_with_another_table",
        "other_with_its_definitions",
        "other_with_another_table",
    ],
)
def test_passing_tests(results: dict[str, dict[str, Any]], name: str) -> None:
    assert results[name]["verdict"] == "passed", json.dumps(results[name])


def test_the_coverage_names_conditions_branches_and_joins_without_rows(report: dict[str, Any]) -> None:
    gaps = [gap for gap in report["coverage"]["gaps"] if gap["file"].endswith("tables.sql")]
    assert [(gap["line"], gap["kind"], gap["branch"], gap["gap"]) for gap in gaps] == [
        (12, "case", 2, "no row took this branch"),
        (12, "filter", 0, "no row was rejected"),
        (14, "join", 0, "no rows met"),
    ]


def test_rows_that_differ_are_a_table(results: dict[str, dict[str, Any]]) -> None:
    assert results["other_rows"]["verdict"] == "failed"
    assert results["other_rows"]["difference"] == {
        "columns": ["customer", "total"],
        "missing": [["eve", "1.00"]],
        "extra": [],
        "changed": [[["ada", "11.00"], ["ada", "10.00"]]],
    }
    assert results["a_number_that_does_not_fit"]["difference"]["missing"] == [["1.5"]]


@pytest.mark.parametrize(
    ("name", "condition", "message"),
    [
        ("a_job_that_fails", "DIVIDE_BY_ZERO", "Job ratios failed:"),
        ("an_unknown_table", "TABLE_OR_VIEW_NOT_FOUND", "`nothing` cannot be found"),
        ("wrong_columns", "JETSQL.INVALID_TEST", "The expected rows have 1 columns, and newest has 2"),
        ("an_unknown_job", "JETSQL.JOB_NOT_FOUND", "There is no job nothing."),
        ("a_block_of_statements", "JETSQL.UNSUPPORTED_QUERY", "A unit test does not run BEGIN ... END"),
        ("a_clock_needs_an_interval", "JETSQL.INVALID_TEST", "ADVANCE CLOCK BY needs an interval."),
    ],
)
def test_errors_are_at_their_statements(
    results: dict[str, dict[str, Any]], name: str, condition: str, message: str
) -> None:
    assert results[name]["verdict"] == "error"
    problem = results[name]["problem"]
    assert problem["condition"] == condition
    assert message in problem["message"]
    assert problem["file"].endswith(".test.sql") and problem["line"] > results[name]["line"]
