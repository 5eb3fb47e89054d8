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


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sql")
    (folder / "jobs.sql").write_text(JOBS, encoding="utf-8")
    (folder / "jobs.test.sql").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "jetsql", "test", "--format", "json", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    assert ended.returncode == 1 and ended.stdout, ended.stderr
    return {test["name"]: test for test in json.loads(ended.stdout)["tests"]}


@pytest.mark.parametrize("name", ["steps", "the_clock_stands_still", "errors"])
def test_these_pass(results: dict[str, dict[str, Any]], name: str) -> None:
    assert results[name]["verdict"] == "passed", results[name]


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
    ],
)
def test_errors_are_at_their_statements(
    results: dict[str, dict[str, Any]], name: str, condition: str, message: str
) -> None:
    assert results[name]["verdict"] == "error"
    problem = results[name]["problem"]
    assert problem["condition"] == condition
    assert message in problem["message"]
    assert problem["file"].endswith("jobs.test.sql") and problem["line"] > results[name]["line"]
