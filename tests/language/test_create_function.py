"""CREATE FUNCTION: what is JetSQL's, and what of it is read."""

from __future__ import annotations

import pytest

from jetsql.completion.statement_at_cursor import is_open
from jetsql.language import parse, split
from jetsql.language.statement import CreateFunction, ParameterStyle


def read(text: str) -> CreateFunction:
    statement = parse(text)
    assert isinstance(statement, CreateFunction)
    return statement


def test_every_part() -> None:
    text = (
        "CREATE OR REPLACE FUNCTION s.`my f`(x DECIMAL(10, 2), y ARRAY<STRUCT<a: INT, b: STRING>> DEFAULT array(1 < 2)"
        " COMMENT 'a, b') RETURNS MAP<STRING, INT> NOT DETERMINISTIC LANGUAGE PYTHON PARAMETER STYLE ARROW HANDLER 'h'"
        " COMMENT 'c' AS $$ the source; $$"
    )
    statement = read(text)
    assert statement.name == ("s", "my f")
    assert [(each.name, each.type, each.default, each.comment) for each in statement.parameters] == [
        ("x", "DECIMAL(10, 2)", None, None),
        ("y", "ARRAY<STRUCT<a: INT, b: STRING>>", "array(1 < 2)", "a, b"),
    ]
    assert [(each.name, each.type) for each in statement.returns] == [("", "MAP<STRING, INT>")]
    assert (statement.returns_table, statement.deterministic, statement.or_replace, statement.if_not_exists) == (
        False,
        False,
        True,
        False,
    )
    assert (statement.style, statement.handler, statement.comment) == (ParameterStyle.ARROW, "h", "c")
    assert statement.source == " the source; "
    assert text[statement.source_place.start : statement.source_place.stop] == statement.source


def test_the_columns_of_a_table_function() -> None:
    statement = read(
        "CREATE FUNCTION IF NOT EXISTS f(a INT) RETURNS TABLE (b INT COMMENT 'n', c STRING) LANGUAGE PYTHON"
        " HANDLER 'F' AS $x$ class F: ... $x$;"
    )
    assert [(each.name, each.type, each.comment) for each in statement.returns] == [
        ("b", "INT", "n"),
        ("c", "STRING", None),
    ]
    assert (statement.returns_table, statement.if_not_exists, statement.comment) == (True, True, None)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f AS 'a.B' USING JAR 'b.jar'",
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1",
        "CREATE OR REPLACE TEMPORARY FUNCTION f(x INT) RETURNS INT LANGUAGE SQL RETURN x + 1",
        "CREATE FUNCTION f(language INT) RETURNS INT RETURN language",
        "DROP FUNCTION f",
        "DESCRIBE FUNCTION EXTENDED f",
        "SHOW FUNCTIONS",
    ],
)
def test_functions_of_spark_stay_with_spark(text: str) -> None:
    assert parse(text) is None


def test_a_semicolon_in_the_source_does_not_end_the_statement() -> None:
    script = "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$\n  a = 1;\n  return a;\n$$; SELECT f();"
    assert [fragment.text[:10] for fragment in split(script)] == ["CREATE FUN", "SELECT f()"]
    assert is_open(script[: script.index("return")])
