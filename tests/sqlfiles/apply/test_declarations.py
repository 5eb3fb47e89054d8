"""The declarations of files: what is refused, in which order they are created, and how their heads are changed."""

from __future__ import annotations

import pytest

from jetsql.sqlfiles.apply.declarations import Declarations, read_declarations
from jetsql.sqlfiles.apply.dependencies import OrderedDeclarations, order_declarations
from jetsql.sqlfiles.apply.statement_edits import creating, explaining, replacing
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_problems import LintProblem
from jetsql.sqlfiles.read_sql_files import SqlFile


def read(*texts: str) -> Declarations:
    """Return the declarations of files a.sql, b.sql and so on."""
    run = LintRun({"name": "t", "options": "'trigger' = 'interval'"})
    run.check([SqlFile(f"{chr(97 + index)}.sql", text) for index, text in enumerate(texts)])
    return read_declarations(run.statements)


def ordered(*texts: str) -> OrderedDeclarations:
    found = read(*texts)
    assert found.problems == []
    return order_declarations(found.items)


def names(*texts: str) -> list[str]:
    found = ordered(*texts)
    assert found.problems == []
    return [item.name for item in found.items]


def shown(problem: LintProblem) -> str:
    return f"{problem.script.name}:{problem.line}:{problem.column} {problem.condition.removeprefix('JETSQL.')}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SUSPEND JOB j", "`jetsql run`"),
        ("DROP JOB j", "--prune"),
        ("DROP TABLE t", "--prune"),
        ("ALTER TABLE t ADD COLUMNS (b INT)", "Change the statement"),
        ("INSERT INTO t VALUES (1)", "`jetsql run`"),
        ("WAIT FOR JOB j", "`jetsql run`"),
        ("SELECT 1", "`jetsql run`"),
        ("SHOW JOBS", "in the shell"),
        ("EXPLAIN CREATE JOB j AS INSERT INTO t SELECT 1", "--plan"),
        ("CREATE SNAPSHOT s FOR JOB j", "`jetsql run`"),
        ("CREATE OR REPLACE TABLE t (a INT) USING delta", "Write CREATE TABLE"),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", "Remove TEMPORARY"),
        ("CREATE TEMPORARY FUNCTION f AS 'x'", "Remove TEMPORARY"),
        ("SET VARIABLE x = 1", "`jetsql run`"),
        ("DECLARE x INT", "`jetsql run`"),
        ("BEGIN SELECT 1; END", "`jetsql run`"),
    ],
)
def test_other_statements_are_refused_at_their_place(text: str, hint: str) -> None:
    [problem] = read("CREATE SCHEMA s;", f"-- a comment\n  {text};").problems
    assert shown(problem) == "b.sql:2:3 NOT_A_DECLARATION" and hint in problem.hint


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("CREATE JOB j AS INSERT INTO t SELECT 1", "CREATE OR REPLACE JOB `J` AS INSERT INTO t SELECT 2"),
        ("CREATE TABLE t (a INT)", "CREATE VIEW default.T AS SELECT 1"),
        ("CREATE TABLE s.t (a INT)", "USE s; CREATE TABLE IF NOT EXISTS t (a INT)"),
        ("CREATE TABLE spark_catalog.s.t (a INT)", "CREATE STREAMING TABLE s.t AS SELECT 1 AS a"),
        ("CREATE JOB j AS CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE t (a INT)"),
        ("CREATE SCHEMA s", "CREATE DATABASE IF NOT EXISTS S"),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", "CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN 2"),
    ],
)
def test_an_object_that_is_declared_twice_is_an_error(first: str, second: str) -> None:
    [problem] = read(first, second).problems
    assert problem.script.name == "b.sql" and problem.condition == "JETSQL.DECLARED_TWICE"
    assert "also at a.sql:1:" in problem.message


def test_names_of_different_kinds_and_schemas_are_different() -> None:
    text = "CREATE JOB x AS INSERT INTO t SELECT 1; CREATE TABLE x (a INT); CREATE FUNCTION x() RETURNS INT RETURN 1;"
    assert read(f"{text} CREATE SCHEMA x; USE s; CREATE TABLE x (a INT);", "CREATE TABLE y (a INT)").problems == []


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (
            ["CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s", "CREATE TABLE s (a INT); CREATE TABLE t (a INT)"],
            "s t j",
        ),
        (["CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM c; CREATE TABLE c (a INT)"], "c b a"),
        (
            ["CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s.x; CREATE STREAMING TABLE s.x AS SELECT 1 AS a"],
            "s.x j",
        ),
        (
            ["CREATE JOB b AS INSERT INTO t SELECT * FROM STREAM x; CREATE JOB a AS CREATE TABLE x AS SELECT 1 AS a"],
            "a b",
        ),
        (["CREATE TABLE s.t (a INT); USE z; CREATE TABLE u (a INT)", "CREATE SCHEMA z; CREATE SCHEMA s"], "z s s.t u"),
        (
            ["CREATE VIEW v AS SELECT f(a) FROM t; CREATE TABLE t (a INT)", "CREATE FUNCTION F() RETURNS INT RETURN 1"],
            "F t v",
        ),
        (
            ["CREATE TABLE k (a INT) USING kafka OPTIONS ('on.error' = 'table:dead'); CREATE TABLE dead (a INT)"],
            "dead k",
        ),
        (
            [
                "CREATE VIEW v AS FROM t |> SELECT a; CREATE VIEW w AS FROM STREAM v |> WHERE a > 1",
                "CREATE TABLE t (a INT)",
            ],
            "t v w",
        ),
        (["CREATE TABLE b (x INT); CREATE TABLE a (x INT)", "CREATE VIEW z AS SELECT 1"], "b a z"),
        (
            [
                "CREATE JOB j OPTIONS ('lateRows' = 'table:late') AS INSERT INTO t SELECT 1",
                "CREATE STREAMING TABLE late AS SELECT 1 AS a",
            ],
            "late j",
        ),
        (["CREATE VIEW v AS WITH t AS (SELECT 1 AS a) SELECT * FROM t; CREATE VIEW t AS SELECT * FROM v"], "v t"),
        (
            ["CREATE JOB m AS FROM STREAM s INSERT INTO x SELECT a INSERT INTO y SELECT b; CREATE TABLE y (b INT)"],
            "y m",
        ),
    ],
)
def test_dependencies_come_before_a_statement(texts: list[str], order: str) -> None:
    assert names(*texts) == order.split()


def test_circular_statements_are_an_error_with_places() -> None:
    found = ordered(
        "CREATE VIEW a AS SELECT * FROM b;", "CREATE VIEW b AS SELECT * FROM c;\nCREATE VIEW c AS SELECT * FROM a;"
    )
    [problem] = found.problems
    assert problem.message == (
        "The statements need each other:"
        " view a (a.sql:1:13) needs view b (b.sql:1:13) needs view c (b.sql:2:13) needs a."
    )
    assert shown(problem) == "a.sql:1:13 DEPENDENCY_CYCLE"


def test_jobs_in_a_circle_of_declared_tables_are_no_cycle() -> None:
    text = "CREATE TABLE a (x INT); CREATE TABLE b (x INT);"
    jobs = "CREATE JOB i AS INSERT INTO a SELECT * FROM STREAM b; CREATE JOB j AS INSERT INTO b SELECT * FROM STREAM a;"
    assert names(text + jobs) == ["a", "b", "i", "j"]


@pytest.mark.parametrize(
    ("text", "creation", "replacement"),
    [
        (
            "CREATE JOB j AS INSERT INTO t SELECT 1",
            "CREATE JOB j OPTIONS ({group}) AS INSERT INTO t SELECT 1",
            "CREATE OR REPLACE JOB j OPTIONS ({group}) AS INSERT INTO t SELECT 1",
        ),
        (
            "create job if not exists j options ('trigger' = 'interval') as insert into t select 1 as x",
            "create job j options ({group}, 'trigger' = 'interval') as insert into t select 1 as x",
            "create OR REPLACE job j options ({group}, 'trigger' = 'interval') as insert into t select 1 as x",
        ),
        (
            "CREATE JOB IF NOT EXISTS `as` COMMENT 'AS' OPTIONS (${options}) AS INSERT INTO t SELECT 1",
            "CREATE JOB `as` COMMENT 'AS' OPTIONS ({group}, 'trigger' = 'interval') AS INSERT INTO t SELECT 1",
            "CREATE OR REPLACE JOB `as` COMMENT 'AS' OPTIONS ({group}, 'trigger' = 'interval') AS"
            " INSERT INTO t SELECT 1",
        ),
        (
            "CREATE STREAMING TABLE x PARTITIONED BY (a) AS SELECT 1 AS a",
            "CREATE OR REFRESH STREAMING TABLE x JOB OPTIONS ({group}) PARTITIONED BY (a) AS SELECT 1 AS a",
            "CREATE OR REFRESH STREAMING TABLE x JOB OPTIONS ({group}) PARTITIONED BY (a) AS SELECT 1 AS a",
        ),
        (
            "CREATE JOB j AS WITH x AS (SELECT 1) INSERT INTO t SELECT 1 FROM x",
            "CREATE JOB j OPTIONS ({group}) AS WITH x AS (SELECT 1) INSERT INTO t SELECT 1 FROM x",
            "CREATE OR REPLACE JOB j OPTIONS ({group}) AS WITH x AS (SELECT 1) INSERT INTO t SELECT 1 FROM x",
        ),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1"),
        (
            "CREATE VIEW IF NOT EXISTS v AS SELECT /* IF NOT EXISTS */ 1",
            "CREATE VIEW v AS SELECT /* IF NOT EXISTS */ 1",
            "CREATE OR REPLACE VIEW v AS SELECT /* IF NOT EXISTS */ 1",
        ),
        (
            "CREATE FUNCTION IF NOT EXISTS f() RETURNS INT LANGUAGE PYTHON AS 'return 1'",
            "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS 'return 1'",
            "CREATE OR REPLACE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS 'return 1'",
        ),
    ],
)
def test_the_head_of_a_statement_is_changed(text: str, creation: str, replacement: str) -> None:
    [item] = read(f"CREATE SCHEMA x;\n  {text};").items[1:]
    group = r"'applyGroup' = 'a\'b'"
    assert " ".join(creating(item, "a'b").filled.text.split()) == creation.replace("{group}", group)
    assert " ".join(replacing(item, "a'b").filled.text.split()) == replacement.replace("{group}", group)
    explained = explaining(item, "a'b")
    assert explained.text.startswith("EXPLAIN \n")
    for word in ("t SELECT", "SELECT 1", "select 1", "return"):
        if word in explained.text:
            at = explained.origin(explained.text.index(word))
            assert explained.script.text[at:].startswith(word)


def test_error_in_added_text_is_at_the_word_before() -> None:
    [item] = read("CREATE JOB j AS INSERT INTO ${name} SELECT 1;").items
    explained = explaining(item, "g")
    script = explained.script.text
    assert script[explained.origin(explained.text.index("applyGroup")) :].startswith("AS INSERT")
    assert script[explained.origin(explained.text.index("t SELECT")) :].startswith("${name} SELECT")
    assert script[explained.origin(explained.text.index("OR REPLACE")) :].startswith(" JOB j")
