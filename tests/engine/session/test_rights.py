"""A user without rights on a table, file or setting cannot reach it by any statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from pyspark.errors import PySparkException

from tests.support.rights.escape_list import ALLOWED, ESCAPES
from tests.support.rights.refused_statements import assert_nothing_hidden, outcome
from tests.support.rights.restricted_session import HIDDEN, Restricted

pytestmark = pytest.mark.spark


def _outcome(ann: Restricted, statement: str) -> tuple[str, str]:
    return outcome(lambda: ann.run(statement))


@pytest.mark.parametrize(
    ("group", "statements"), [(group, each) for group, all_of in ESCAPES.items() for each in all_of]
)
def test_statement_reaches_nothing(ann: Restricted, group: str, statements: tuple[str, ...]) -> None:
    conditions = []
    for statement in statements:
        condition, text = _outcome(ann, statement)
        conditions.append(condition)
        written_by_ann = statement + " ".join(statements)
        assert_nothing_hidden(text, written_by_ann)
    assert ann.effects() == []
    assert conditions[-1], statements


@pytest.mark.parametrize("statements", ALLOWED)
def test_statement_within_the_rights_runs(ann: Restricted, statements: tuple[str, ...]) -> None:
    for statement in statements:
        condition, text = _outcome(ann, statement)
        assert not condition, text
        assert not [word for word in (*HIDDEN, "hr.db") if word in text]
    assert ann.effects() == []


def test_hidden_table_has_the_error_of_a_missing_one(ann: Restricted) -> None:
    def words(statement: str, name: str) -> str:
        return _outcome(ann, statement.format(name))[1].replace(name, "NAME")

    for statement in (
        "SELECT * FROM hr.{}",
        "INSERT INTO hr.{} VALUES (1, 'x')",
        "DESCRIBE hr.{}",
        "DROP TABLE hr.{}",
        "SHOW COLUMNS IN hr.{}",
        "SELECT * FROM s.{}",
    ):
        for hidden in ("pay", "hidden"):
            missing = "gap" if hidden == "pay" else "gapped"  # a name of the same length, for positions
            assert words(statement, hidden) == words(statement, missing)


@pytest.fixture
def functions(ann: Restricted) -> Iterator[Restricted]:
    """Drop the functions and the view that ann creates."""
    yield ann
    ann.run_as_owner("DROP VIEW IF EXISTS hr.calls")
    ann.run_as_owner("DROP FUNCTION IF EXISTS own.other")
    for name in ("made", "rows"):
        with suppress(PySparkException):
            ann.run(f"DROP FUNCTION own.{name}")  # in the session that has called it: Spark keeps it there


def test_user_creates_functions_in_a_schema(functions: Restricted) -> None:
    functions.run("CREATE FUNCTION own.made(n INT DEFAULT 1) RETURNS INT RETURN s.twice(n) + abs(n)")
    functions.run(
        "CREATE FUNCTION own.rows(n INT) RETURNS TABLE (x INT) RETURN SELECT amount FROM s.orders WHERE id = n"
    )
    assert functions.run("SELECT own.made(2), own.made()") == [(6, 3)]
    assert functions.run("SELECT * FROM own.rows(1)") == [(10,)]
    functions.run("CREATE OR REPLACE FUNCTION own.made(n INT) RETURNS INT RETURN n")
    assert functions.run("SELECT own.made(2)") == [(2,)]
    bob = functions.session("bob")
    with pytest.raises(PySparkException, match="UNRESOLVED_ROUTINE"):
        functions.run("SELECT own.made(2)", bob)
    functions.run_as_owner("GRANT USAGE ON FUNCTION own.rows TO bob")
    with pytest.raises(PySparkException, match="uses what you have no right on"):
        functions.run("SELECT * FROM own.rows(1)", bob)
    functions.run("DROP FUNCTION own.rows")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION own.made() RETURNS STRING RETURN (SELECT max(salary_column) FROM hr.pay)",
        "CREATE FUNCTION own.made() RETURNS TABLE (x STRING) RETURN SELECT salary_column FROM hr.pay",
        "CREATE FUNCTION own.made() RETURNS INT RETURN (SELECT 1 WHERE EXISTS (SELECT * FROM hr.pay))",
        "CREATE FUNCTION own.made() RETURNS INT RETURN (SELECT max(id) FROM pay)",
        "CREATE FUNCTION own.made() RETURNS INT RETURN twice(1)",
        "CREATE FUNCTION own.made() RETURNS INT RETURN s.hidden_function(1)",
        "CREATE FUNCTION own.made() RETURNS STRING RETURN s.leak()",
        "CREATE FUNCTION own.made() RETURNS INT RETURN (SELECT max(id) FROM IDENTIFIER('hr.pay'))",
        "CREATE FUNCTION own.made() RETURNS INT RETURN (SELECT max(id) FROM IDENTIFIER('orders'))",
        "CREATE FUNCTION own.made(x STRING DEFAULT (SELECT max(salary_column) FROM hr.pay)) RETURNS STRING RETURN x",
        "CREATE FUNCTION own.made(x STRING DEFAULT reflect('java.lang.System', 'setProperty', 'jetsql.canary', 'x'))"
        " RETURNS STRING RETURN x",
        "CREATE FUNCTION own.made() RETURNS STRING RETURN reflect('java.lang.System', 'setProperty', 'jetsql.canary',"
        " 'x')",
        "CREATE FUNCTION own.made() RETURNS TABLE (x STRING) RETURN SELECT value FROM text.`{file}`",
        "CREATE FUNCTION s.made() RETURNS INT RETURN 1",
        "CREATE FUNCTION hr.made() RETURNS INT RETURN 1",
        "CREATE FUNCTION IDENTIFIER('hr.made')() RETURNS INT RETURN 1",
        "CREATE TEMPORARY FUNCTION made() RETURNS INT RETURN 1",
        "CREATE OR REPLACE FUNCTION s.twice(x INT) RETURNS INT RETURN x",
    ],
)
def test_function_of_a_user_reaches_nothing(functions: Restricted, text: str) -> None:
    condition, shown = _outcome(functions, text)
    assert condition, shown
    assert_nothing_hidden(shown, text)
    assert functions.effects() == []
    assert not [row for row in functions.run_as_owner("SHOW USER FUNCTIONS IN own") if "made" in row[0]]


def test_function_of_another_user_is_not_replaced(functions: Restricted) -> None:
    functions.run_as_owner("CREATE FUNCTION own.other() RETURNS INT RETURN 1")
    for text in ("CREATE OR REPLACE FUNCTION", "CREATE FUNCTION"):
        condition, _ = _outcome(functions, f"{text} own.other() RETURNS INT RETURN 2")
        assert condition == "ROUTINE_ALREADY_EXISTS"
    functions.run_as_owner("GRANT USAGE ON FUNCTION own.other TO ann")
    condition, _ = _outcome(functions, "CREATE OR REPLACE FUNCTION own.other() RETURNS INT RETURN 2")
    assert condition == "JETSQL.NOT_ALLOWED"
    assert functions.run("SELECT own.other()") == [(1,)]


def test_function_in_a_view_of_an_admin_is_checked(functions: Restricted) -> None:
    functions.run("CREATE FUNCTION own.made() RETURNS INT RETURN (SELECT max(id) FROM s.orders)")
    functions.run_as_owner("USE hr")
    functions.run_as_owner("CREATE VIEW hr.calls AS SELECT own.made() AS x")
    functions.run_as_owner("USE default")
    functions.run_as_owner("GRANT SELECT ON VIEW hr.calls TO ann")
    session = functions.session("ann")
    functions.run("USE s", session)
    for table in ("orders", "pay", "hr.pay"):
        with pytest.raises(PySparkException):
            text = f"CREATE OR REPLACE FUNCTION own.made() RETURNS INT RETURN (SELECT max(id) FROM {table})"
            functions.run(text, session)
    assert functions.run("SELECT * FROM hr.calls") == [(2,)]


def test_error_of_a_hidden_table_is_that_of_spark(ann: Restricted) -> None:
    with pytest.raises(PySparkException) as hidden:
        ann.run("SELECT * FROM hr.pay", ann.session("ann"))
    with pytest.raises(PySparkException) as missing:
        ann.run_as_owner("SELECT * FROM hr.gap")
    words, _, plan = str(missing.value).partition(";\n")
    assert plan
    assert hidden.value.getCondition() == missing.value.getCondition()
    assert str(hidden.value) == words.replace("gap", "pay")


@pytest.fixture(scope="module")
def calling(ann: Restricted) -> Restricted:
    """Let ann call functions whose bodies call functions, read views, and have subqueries at several places."""
    for name, body in {
        "nested() RETURNS STRING": "s.leak()",
        "nested_rows() RETURNS TABLE (x STRING)": "SELECT s.leak() AS x",
        "of_view() RETURNS STRING": "(SELECT max(salary_column) FROM hr.v)",
        "of_broken() RETURNS STRING": "(SELECT max(y) FROM s.broken)",
        "in_subquery(n INT) RETURNS INT": "(SELECT max(id) FROM s.items WHERE id IN (SELECT id FROM hr.pay))",
        "called_hidden(n INT) RETURNS INT": "s.hidden_function(n)",
        "called_inside(n INT) RETURNS INT": "(SELECT max(s.hidden_function(id)) FROM s.orders)",
        "of_orders(n INT) RETURNS INT": "(SELECT max(amount) FROM s.orders WHERE id > n)",
    }.items():
        ann.run_as_owner(f"CREATE FUNCTION s.{name} RETURN {body}")
        ann.run_as_owner(f"GRANT USAGE ON FUNCTION s.{name.partition('(')[0]} TO ann")
    return ann


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM s.leaked_rows()",
        "SELECT * FROM s.orders, LATERAL (SELECT * FROM s.leaked_rows())",
        "SELECT s.leak()",
        "SELECT s.leak() FROM s.orders",
        "SELECT * FROM s.orders WHERE s.leak() = 'x'",
        "SELECT id FROM s.orders GROUP BY id HAVING s.leak() = 'x'",
        "SELECT (SELECT s.leak())",
        "CREATE TEMPORARY VIEW called AS SELECT s.leak() AS x",
        "CREATE VIEW own.called AS SELECT s.leak() AS x",
        "CREATE TABLE own.called USING parquet AS SELECT s.leak() AS x",
        "INSERT INTO s.inbox SELECT 1, s.leak()",
        "EXECUTE IMMEDIATE 'SELECT s.leak()'",
        "BEGIN SELECT s.leak(); END",
        "DESCRIBE QUERY SELECT s.leak()",
        "SELECT s.nested()",
        "SELECT * FROM s.nested_rows()",
        "SELECT s.of_view()",
        "SELECT s.of_broken()",
        "SELECT s.in_subquery(0)",
        "SELECT s.called_hidden(1)",
        "SELECT s.called_inside(1)",
        "SELECT s.of_orders(0), s.leak()",
        "EXPLAIN SELECT s.leak()",
        "EXPLAIN SELECT s.in_subquery(0)",
    ],
)
def test_error_in_a_function_names_nothing(calling: Restricted, text: str) -> None:
    condition, shown = _outcome(calling, text)
    assert "JETSQL.NOT_ALLOWED" in condition + shown, shown
    assert not [word for word in ("pay", "hr", "hidden_function", *HIDDEN) if word in shown.replace(text, "")], shown


def test_function_within_the_rights_is_called(calling: Restricted) -> None:
    assert calling.run("SELECT s.of_orders(0), s.twice(s.of_orders(1))") == [(20, 40)]
    hidden, missing = (
        _outcome(calling, f"SELECT s.of_orders(0) FROM IDENTIFIER('hr.{name}')")[1] for name in ("pay", "gap")
    )
    assert hidden.replace("pay", "gap") == missing


def test_session_of_no_user_is_refused(ann: Restricted) -> None:
    with pytest.raises(PySparkException, match="The session has no user"):
        ann.run("SELECT 1", ann.session(None))


def test_user_who_is_not_published_may_do_nothing(ann: Restricted) -> None:
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        ann.run("SELECT * FROM s.orders", ann.session("carl"))


def test_copy_of_a_session_has_its_user(ann: Restricted) -> None:
    copy = ann.spark._jsparkSession.cloneSession()
    assert copy.sql("SELECT count(*) FROM s.orders").head().getLong(0) >= 2
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        copy.sql("SELECT * FROM hr.pay")


def test_admin_may_do_everything(ann: Restricted) -> None:
    ann.run_as_owner("GRANT ADMIN TO ann")
    try:
        assert ann.run("SELECT count(*) FROM hr.pay") == [(1,)]
        assert ann.run("SET spark.sql.warehouse.dir")
    finally:
        ann.run_as_owner("REVOKE ADMIN FROM ann")


def test_statements_of_the_engine_run(ann: Restricted) -> None:
    assert [tuple(row) for row in ann.engine.spark.sql("SELECT count(*) FROM hr.pay").collect()] == [(1,)]


def test_lists_show_what_the_user_sees(ann: Restricted) -> None:
    assert {row[1] for row in ann.run("SHOW TABLES IN s")} >= {"orders", "items", "inbox", "names", "broken"}
    assert "hidden" not in {row[1] for row in ann.run("SHOW TABLES IN s")}
    assert {row[1] for row in ann.run("SHOW VIEWS IN s")} == {"names", "broken"}
    assert {row[0] for row in ann.run("SHOW SCHEMAS")} == {"default", "jetsql", "own", "s"}


def test_first_schema_of_all_sessions_is_no_secret(ann: Restricted) -> None:
    ann.run_as_owner("CREATE TABLE default.unseen (id INT) USING parquet")
    ann.run("USE default")
    assert ann.run("SHOW TABLES IN default") == []
    ann.run_as_owner("DROP TABLE default.unseen")
    condition, text = _outcome(ann, "CREATE TABLE default.t (id INT)")
    assert condition == "JETSQL.NOT_ALLOWED" and "CREATE" in text


def test_extended_list_shows_neither_files_nor_bodies(ann: Restricted) -> None:
    shown = {row[1]: row[3] for row in ann.run("SHOW TABLE EXTENDED IN s LIKE '*'")}
    assert set(shown) == {row[1] for row in ann.run("SHOW TABLES IN s")}
    assert "Type: VIEW" in shown["names"] and " |-- " in shown["names"] and "Provider: parquet" in shown["orders"]
    assert not [word for word in ("Location", "View", "SELECT", "file:") for text in shown.values() if word in text]


def test_view_has_the_rights_of_its_owner(ann: Restricted) -> None:
    assert ann.run("SELECT * FROM s.names") == [(1, "ann")]
    with pytest.raises(PySparkException, match=r"The owner of the view spark_catalog\.s\.broken has no right"):
        ann.run("SELECT * FROM s.broken")


def test_current_user_is_the_user_of_the_session(ann: Restricted) -> None:
    assert ann.run("SELECT current_user(), user(), session_user()") == [("ann", "ann", "ann")]
