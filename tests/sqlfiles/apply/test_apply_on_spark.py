"""`jetsql apply` on a real engine: what a user does with a folder of SQL files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.sqlfiles.apply.plan_steps import PlanAction
from tests.support.servers.http_server import TOKEN, run_server

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance
    from tests.conftest import Sql

pytestmark = pytest.mark.spark

Apply = Callable[..., Result]

TABLES = """
CREATE SCHEMA IF NOT EXISTS ${schema};
USE ${schema};
CREATE TABLE orders (id BIGINT COMMENT 'the id', customer VARCHAR(20), amount NUMERIC(10, 2), day DATE NOT NULL)
USING json OPTIONS ('multiLine' 'false') PARTITIONED BY (day) COMMENT 'all' TBLPROPERTIES ('team' = 'a,b=c');
CREATE TABLE totals (customer STRING, orders BIGINT, s STRUCT<a INTEGER, b: ARRAY<STRING>>) USING parquet;
CREATE TABLE ticks USING rate OPTIONS ('rowsPerSecond' = '1');
CREATE TABLE topic (id BIGINT, name STRING) USING kafka
OPTIONS ('kafka.bootstrap.servers' = 'localhost:1', 'topic' = 't', 'value.format' = 'json');
CREATE VIEW large (id, amount COMMENT 'in euros') COMMENT 'above 10' AS
SELECT id, amount FROM orders -- not the small ones
WHERE amount > 10;
CREATE FUNCTION plus(x int DEFAULT 1) RETURNS INTEGER LANGUAGE PYTHON AS $$ return x + 1 $$;
"""
JOBS = """
USE ${schema};
CREATE OR REPLACE JOB totals OPTIONS ('snapshotIntervalMillis' = '200')
AS INSERT OVERWRITE totals
SELECT customer, count(*), named_struct('a', 1, 'b', array('x')) FROM STREAM orders GROUP BY customer;
CREATE STREAMING TABLE names JOB OPTIONS ('snapshotIntervalMillis' = '200') AS SELECT customer FROM STREAM orders;
CREATE JOB made OPTIONS ('snapshotIntervalMillis' = '200')
AS CREATE TABLE ids USING parquet AS SELECT id FROM STREAM orders;
CREATE MATERIALIZED VIEW biggest AS SELECT max(amount) AS biggest FROM orders;
"""


@pytest.fixture
def apply(
    engine: EngineInstance, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Result]]:
    schema = str(sql.value("SELECT current_schema()"))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    Path("sql").mkdir()
    with run_server(engine) as server:

        def run(*arguments: str) -> Result:
            given = ["apply", "--url", server.url, "--set", f"schema={schema}_applied", *arguments, "sql"]
            return CliRunner().invoke(cli.cli, given, catch_exceptions=False, prog_name="jetsql")

        yield run


def actions(ended: Result) -> dict[str, list[str]]:
    """Return the names of the steps by their actions, of a run with --format json."""
    steps = json.loads(ended.stdout)["steps"]
    return {
        action.value: [step["name"] for step in steps if step["action"] == action.value]
        for action in PlanAction
        if any(step["action"] == action.value for step in steps)
    }


@pytest.mark.slow
def test_a_folder_is_applied_changed_and_pruned(apply: Apply, sql: Sql) -> None:
    Path("sql/tables.sql").write_text(TABLES)
    Path("sql/jobs.sql").write_text(JOBS)
    planned = apply("--plan", "--group", "shop")
    assert planned.exit_code == 2 and not sql("SHOW JOBS"), planned.output
    ended = apply("--group", "shop")
    assert ended.exit_code == 0, ended.output
    again = apply("--group", "shop", "--format", "json")
    assert actions(again).keys() == {"leave"} and again.exit_code == 0, again.stdout

    Path("sql/jobs.sql").write_text(JOBS.replace("count(*)", "count(id)"))
    plan = apply("--plan", "--group", "shop")
    assert plan.exit_code == 1 and "count(id) replaced count(*) in the aggregate" in plan.output, plan.output

    changed = JOBS.replace("SELECT customer FROM STREAM orders", "SELECT customer FROM STREAM orders WHERE id > 1")
    Path("sql/jobs.sql").write_text(changed.replace("CREATE JOB made", "CREATE JOB other").replace("ids", "ids2"))
    planned = apply("--plan", "--group", "shop", "--prune", "--format", "json")
    assert planned.exit_code == 2 and actions(planned) | {"leave": []} == {
        **{"create": ["other"], "replace": ["names"], "drop": ["made"], "leave": []}
    }
    ended = apply("--group", "shop", "--prune", "--yes")
    assert ended.exit_code == 0, ended.output
    assert {row[1] for row in sql("SHOW JOBS")} == {
        "totals",
        "other",
        f"{sql.value('SELECT current_schema()')}_applied.names",
    }
    assert apply("--plan", "--group", "shop", "--prune").exit_code == 0


def test_next_run_continues_after_a_broken_statement(apply: Apply, sql: Sql) -> None:
    Path("sql/a.sql").write_text(TABLES)
    wrong = "\nUSE ${schema};\nCREATE JOB a_job AS\n  INSERT INTO totals SELECT nothing, 1, NULL FROM STREAM orders;"
    Path("sql/b.sql").write_text(wrong)
    ended = apply()
    assert ended.exit_code == 1 and "sql/b.sql:4:29: [UNRESOLVED_COLUMN" in ended.stderr, ended.output
    assert "Failed: create job a_job." in ended.stderr and "Done: create schema" in ended.stderr
    planned = apply("--plan")
    assert planned.exit_code == 1 and "Nothing was changed." in planned.stderr
    Path("sql/b.sql").write_text(wrong.replace("nothing", "customer"))
    planned = apply("--format", "json")
    assert planned.exit_code == 0 and actions(planned)["create"] == ["a_job"], planned.output


def test_statements_of_spark_are_checked_before_the_first_change(apply: Apply, sql: Sql) -> None:
    Path("sql/a.sql").write_text(
        "CREATE SCHEMA IF NOT EXISTS ${schema};\nCREATE TABLE ${schema}.t (a FOO) USING json;\n"
        "CREATE VIEW v AS SELECT * FROM missing;"
    )
    ended = apply()
    assert ended.exit_code == 1 and "2 errors in 1 file. Nothing was changed." in ended.stderr, ended.output
    assert "sql/a.sql:2:29: [UNSUPPORTED_DATATYPE]" in ended.stderr
    assert "sql/a.sql:3:32: [TABLE_OR_VIEW_NOT_FOUND]" in ended.stderr


def test_tables_that_differ_are_errors_and_stay(apply: Apply, sql: Sql) -> None:
    Path("sql/a.sql").write_text(TABLES)
    assert apply().exit_code == 0
    Path("sql/a.sql").write_text(
        TABLES.replace("day DATE NOT NULL)", "day DATE, more INT)").replace("'team' = 'a,b=c'", "'team' = 'b'")
    )
    ended = apply()
    assert ended.exit_code == 1 and "2 errors in 1 file." in ended.stderr, ended.output
    [hint] = [line for line in ended.stderr.splitlines() if "ADD COLUMNS" in line]
    sql(hint.removeprefix("Run ").removesuffix(", or change the file."))
    [hint] = [line for line in ended.stderr.splitlines() if "SET TBLPROPERTIES" in line]
    sql(hint.removeprefix("Run ").removesuffix(", or change the file."))
    assert apply().exit_code == 0
    Path("sql/a.sql").write_text(TABLES.replace("amount > 10;", "amount > 20;").replace("x + 1 $$", "x + 2 $$"))
    ended = apply()
    assert ended.exit_code == 1 and "it has the column more, which the file does not declare" in ended.stderr


def test_alerts_of_new_jobs_are_created_changed_and_pruned(apply: Apply, sql: Sql) -> None:
    text = """
CREATE SCHEMA ${schema};
USE ${schema};
CREATE ALERT applied_lag ON JOB `${schema}.copied` LAG > 60 SECONDS CALL 'https://h/canary' COMMENT 'it''s';
CREATE ALERT applied_rule ON JOB kept EXPECTATION positive CALL 'https://h/canary' DISABLE;
CREATE TABLE orders (id BIGINT) USING json;
CREATE TABLE ids (id BIGINT) USING parquet;
CREATE STREAMING TABLE copied AS SELECT id FROM STREAM orders;
CREATE JOB kept (CONSTRAINT positive EXPECT (id > 0)) AS INSERT INTO ids SELECT id FROM STREAM orders;
"""
    Path("sql/a.sql").write_text(text)
    try:
        created = apply("--group", "alerts", "--format", "json")
        assert created.exit_code == 0, created.output
        assert actions(created)["create"][-2:] == ["applied_lag", "applied_rule"]
        [(shown,)] = sql("SHOW CREATE ALERT applied_rule")
        assert shown.endswith("'applyGroup' = 'alerts'\n)\nDISABLE")
        assert apply("--plan", "--group", "alerts").exit_code == 0

        Path("sql/a.sql").write_text(text.replace("positive CALL", "wrong CALL"))
        ended = apply("--group", "alerts")
        assert ended.exit_code == 1 and "sql/a.sql:5:51: [JETSQL.OBJECT_NOT_FOUND]" in ended.stderr, ended.output

        rule = next(line for line in text.splitlines() if "applied_rule" in line)
        Path("sql/a.sql").write_text(text.replace("60 SECONDS", "61 SECONDS").replace(rule, ""))
        ended = apply("--group", "alerts", "--prune", "--yes")
        assert ended.exit_code == 0 and "canary" not in ended.output, ended.output
        assert "+LAG > 61 SECONDS" in ended.output and "dropped alert applied_rule" in ended.output
        assert apply("--plan", "--group", "alerts", "--prune").exit_code == 0
    finally:
        for name in ("applied_lag", "applied_rule"):
            sql(f"DROP ALERT IF EXISTS {name}")
