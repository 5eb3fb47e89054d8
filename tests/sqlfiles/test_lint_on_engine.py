"""`jetsql lint --engine`: what an engine is asked, and where its answers are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from jetsql.errors import EngineError, ErrorReport, StatementError
from jetsql.output.render import Rows
from jetsql.resultset import Column
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_on_engine import lint_on_engine
from jetsql.sqlfiles.read_sql_files import SqlFile

if TYPE_CHECKING:
    from tests.conftest import Sql


class NoRows:
    columns = (Column("plan"),)
    rows: Iterator[tuple[object, ...]] = iter(())


class ListeningEngine:
    """An engine that notes the statements, and refuses those with a word."""

    def __init__(self, condition: str = "JETSQL.NO_OUTPUT_MODE") -> None:
        self.texts: list[str] = []
        self.condition = condition

    def run(self, text: str) -> Rows:
        self.texts.append(" ".join(text.split()))
        if "refused" in text:
            raise StatementError("NO_OUTPUT_MODE", "Refused.")
        if "lost" in text:
            raise EngineError("CONNECTION_LOST", "The engine is gone.")
        return NoRows()

    def error(self, exc: Exception, text: str) -> ErrorReport:
        at = text.index("refused")
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        return ErrorReport(self.condition, "0A000", "Refused.", "Write another word.", line, column)

    def close(self) -> None:
        raise AssertionError("the command closes it")


def ask(text: str, engine: ListeningEngine) -> list[tuple[str, int, int, str]]:
    run = LintRun({"sink": "refused"})
    run.check([SqlFile("a.sql", text)])
    return [
        (each.level.value, each.line, each.column, each.condition) for each in lint_on_engine(run.statements, engine)
    ]


def test_lint_explains_jobs_and_changes_only_the_session() -> None:
    engine = ListeningEngine()
    text = """USE a; SET x = 1; SHOW JOBS; CREATE TABLE t (a INT); DROP JOB j; SELECT 1; SUSPENDD JOB j;
CREATE JOB j OPTIONS ('nothing' = '1') AS INSERT INTO t SELECT 1;
CREATE JOB j AS INSERT INTO t SELECT 1;
CREATE STREAMING TABLE s AS SELECT 1 AS a;
EXPLAIN FORMATTED CREATE JOB k AS INSERT INTO t SELECT 1;"""
    assert ask(text, engine) == []
    assert engine.texts == [
        *("USE a", "SET x = 1", "EXPLAIN CREATE JOB j AS INSERT INTO t SELECT 1"),
        "EXPLAIN CREATE STREAMING TABLE s AS SELECT 1 AS a",
        "EXPLAIN FORMATTED CREATE JOB k AS INSERT INTO t SELECT 1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB j AS INSERT INTO t\n  SELECT refused;",
        "SHOW JOBS;\n CREATE JOB j AS INSERT INTO\n  ${sink} SELECT 1;",
        "EXPLAIN CREATE JOB j AS INSERT INTO t SELECT refused;",
    ],
)
def test_an_error_of_the_engine_is_shown_in_the_file(text: str) -> None:
    at = text.index("${sink}") if "${sink}" in text else text.index("refused")
    place = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    assert ask(text, ListeningEngine()) == [("error", *place, "JETSQL.NO_OUTPUT_MODE")]


def test_a_table_that_the_engine_lacks_is_a_note() -> None:
    found = ask("CREATE JOB j AS INSERT INTO refused SELECT 1;", ListeningEngine("TABLE_OR_VIEW_NOT_FOUND"))
    assert found == [("note", 1, 29, "JETSQL.STATEMENT_NOT_CHECKED")]


def test_an_engine_that_is_lost_ends_the_check() -> None:
    with pytest.raises(EngineError):
        ask("CREATE JOB j AS INSERT INTO t SELECT lost;", ListeningEngine())


@pytest.mark.spark
def test_a_real_engine_creates_nothing(sql: Sql) -> None:
    sql("CREATE TABLE orders (id INT, k STRING) USING json")
    sql("CREATE TABLE totals (k STRING, n BIGINT) USING parquet")
    text = """CREATE JOB fine AS INSERT INTO totals SELECT k, 1 FROM STREAM orders;
CREATE JOB never AS INSERT INTO totals SELECT k, count(*) FROM STREAM orders GROUP BY k;
CREATE JOB wrong AS INSERT INTO totals SELECT nothing, 1 FROM STREAM orders;
CREATE JOB later AS INSERT INTO later SELECT k FROM STREAM orders;
CREATE STREAMING TABLE made AS SELECT k FROM STREAM orders;"""
    run = LintRun({})
    assert run.check([SqlFile("a.sql", text)]) == []
    found = list(lint_on_engine(run.statements, sql.engine))
    assert [(each.line, each.level.value) for each in found] == [(2, "error"), (3, "error"), (4, "note")]
    assert found[0].condition == "JETSQL.NO_OUTPUT_MODE" and found[1].condition.startswith("UNRESOLVED_COLUMN")
    assert found[1].column == text.split("\n")[2].index("nothing") + 1
    assert "fine" not in str(sql("SHOW ALL JOBS"))
    assert [row[1] for row in sql("SHOW TABLES")] == ["orders", "totals"]
