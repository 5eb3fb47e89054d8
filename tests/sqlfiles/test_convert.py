"""`jetsql convert`: SQL of other systems in Spark's words, and what could not be converted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.language import parse, split
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.convert_script import convert_script


def converted(text: str, dialect: str) -> tuple[str, list[str]]:
    result = convert_script(Script("a.sql", text), dialect)
    return " ".join(result.text.split()), [f"{each.line}:{each.column} {each.message}" for each in result.problems]


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("postgres", 'SELECT a::text AS "Col" FROM t;', "SELECT CAST(a AS STRING) AS `Col` FROM t;"),
        ("trino", "SELECT approx_distinct(a) FROM t", "SELECT APPROX_COUNT_DISTINCT(a) FROM t;"),
        ("snowflake", "SELECT IFF(a, 1, 2) FROM t;", "SELECT IF(a, 1, 2) FROM t;"),
        ("duckdb", "SELECT * EXCLUDE (a) FROM t", "SELECT * EXCEPT (a) FROM t;"),
        ("bigquery", "SELECT * FROM `a.b`", "SELECT * FROM `a`.`b`;"),
        ("tsql", "SELECT TOP 3 [a b] FROM t", "SELECT `a b` FROM t LIMIT 3;"),
        ("mysql", "SELECT `a` FROM t # why\n;", "SELECT `a` FROM t /* why */;"),
    ],
)
def test_statements(dialect: str, text: str, expected: str) -> None:
    assert converted(text, dialect) == (expected, [])


@pytest.mark.parametrize("dialect", ["spark", "databricks"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT rlike(a, 'x') = TRUE, parse_json(b), 'it\\'s', 1L FROM s;",
        "CREATE JOB j AS SINK INTO t SELECT CAST(x AS INT) FROM STREAM s WHERE NOT x IS NULL;",
    ],
)
def test_sql_of_spark_keeps_its_meaning(text: str, dialect: str) -> None:
    assert converted(text.replace("\\'", "''"), dialect) == (text, [])


@pytest.mark.parametrize("text", ["SELECT * FROM a, b;", "CREATE JOB j AS INSERT INTO t SELECT v:x FROM s;"])
def test_statements_that_sqlglot_would_change_stay_and_are_reported(text: str) -> None:
    for dialect in ("spark", "databricks"):
        written, [problem] = converted(text, dialect)
        assert written == text and problem.endswith("Not converted: sqlglot would write it with another meaning.")


def test_only_the_bodies_of_jobs_are_of_the_other_system() -> None:
    text = (
        "CREATE JOB j OPTIONS ('trigger' = 'interval') AS SINK INTO t SELECT x::int FROM STREAM s;\n"
        "create streaming table u job options ('a' = 'b') as select 1 as n;\nSUSPEND JOB j;"
    )
    written, problems = converted(text, "postgres")
    assert problems == []
    assert "OPTIONS ('trigger' = 'interval') AS SINK INTO t SELECT CAST(x AS INT) FROM STREAM s;" in written
    assert "create streaming table u job options ('a' = 'b') as SELECT 1 AS n; SUSPEND JOB j;" in written
    for fragment in split(written):
        assert parse(fragment.text) is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT 1;\n  SELECT FROM WHERE;", "2:15 Cannot read this as SQL of postgres: "),
        ("SELECT my_function(1);", "1:8 The function my_function is written as it was: sqlglot does not know it."),
        ("CREATE TABLE t (a JSONB);", "1:19 Spark has no type JSONB."),
        ("SELECT tags @> ARRAY['a'] FROM t;", "1:1 Spark has no operator for tags @> ARRAY['a']."),
        ("VACUUM t;", "1:1 sqlglot does not know this statement of postgres."),
        ("CREATE JOB j AS INSERT INTO t SELECT $1;", "1:1 The result is no statement of JetSQL: "),
        ("SELECT 'a", "1:8 Cannot read the script: "),
    ],
)
def test_unconverted_statements_are_reported(text: str, problem: str) -> None:
    _, problems = converted(text, "postgres")
    assert problems[0].startswith(problem)


def test_a_statement_that_cannot_be_read_stays() -> None:
    written, problems = converted("SELECT 1; SELECT FROM WHERE", "duckdb")
    assert written == "SELECT 1; SELECT FROM WHERE;" and len(problems) == 1


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)
    Path("a.sql").write_text("SELECT a::text FROM t;", encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        ended = CliRunner().invoke(cli.cli, arguments, input="SELECT f(1)", catch_exceptions=False, prog_name="jetsql")
        return ended.exit_code, ended.stdout, ended.stderr

    done = "SELECT\n  CAST(a AS STRING)\nFROM t;\n"
    assert run("convert", "--from", "Postgres", "a.sql") == (ExitCode.SUCCESS, done, "No problems in 1 file.\n")
    code, out, messages = run("convert", "--from", "trino", "-")
    assert (code, out) == (ExitCode.SUCCESS, "SELECT\n  f(1);\n") and "1 note in 1 file." in messages
    Path("b.sql").write_text("SELECT FROM WHERE", encoding="utf-8")
    assert run("convert", "--from", "trino", "b.sql")[0] == ExitCode.PROBLEMS_FOUND
    code, _, messages = run("convert", "--from", "flink", "a.sql")
    assert code == ExitCode.USAGE and "There is no dialect 'flink'. The dialects are: athena, " in messages
    assert run("convert", "a.sql")[0] == ExitCode.USAGE
