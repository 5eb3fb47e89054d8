"""The filter before Spark's parser: it matches every statement of JetSQL, and no long statement of Spark."""

from __future__ import annotations

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import StatementError
from jetsql.language import can_be_jetsql, parse
from tests.language.test_grammar_corpus import accepted, accepted_files

ACCEPTED = [text for file in accepted_files() for text in accepted(file)]
# Statements that begin behind comments, and statements with an error that JetSQL reports.
ODD = (
    "-- one\n\n  /* two * / ** */ /**/ SHOW MEMBERS",
    "-- goes on \\\nSHOW TABLES\n SHOW JOBS",
    "/* a /* nested */ comment of more than seven words in all */ SHOW MEMBERS",
    "CREATE /* " + "a long comment * " * 200 + "*/ OR REPLACE -- and another\n JOB j AS INSERT INTO t SELECT 1",
    "EXPLAIN FORMATTED CREATE OR REPLACE JOB j AS INSERT INTO t SELECT 1",
    "ALTER TABLE lake.sales.europe.orders OWNER TO ann",
    "ALTER VIEW `lake` . sales . europe . north . orders OWNER TO ann",
    "RESUM JOB j",
    "PAUSE JOB j",
    "SINK INTO t SELECT 1",
    "EXPLAIN EXTENDED SINK INTO t SELECT 1",
    "AUTO -- a\nCDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n",
    "EXPLAIN AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n",
    "EXPLAIN EXTENDED AUTO CDC INTO t FROM STREAM s KEYS (id) SEQUENCE BY n",
    "WITH a AS (\n" + "SELECT 1 UNION ALL " * 500 + "SELECT 1)\nSINK INTO t SELECT * FROM a",
    "EXPLAIN WITH a AS (SELECT 1) SINK /* a */ INTO t SELECT * FROM a",
    "EXPLAIN EXTENDED WITH a AS (SELECT 1) SINK INTO t SELECT * FROM a",
    "`a label`: BEGIN SELECT 1; DROP JOB j; END",
    "größe : begin\n" + "SELECT 1;\n" * 500 + "SUSPEND JOB j; end",
)
SPARKS = (
    "SELECT id FROM flights WHERE carrier = 'UA'",
    "INSERT INTO flights VALUES (1), (2)",
    "CREATE TABLE flights (id INT, carrier STRING, job STRING)",
    "-- a list of jobs\nSELECT 1",
    "/* SHOW JOBS */ SELECT 1",
    "WITH a AS (SELECT 1 AS sinks) SELECT * FROM a",
    "BEGIN SELECT 1; END",
    "",
)


@pytest.mark.parametrize("text", [*ACCEPTED, *ODD])
def test_the_filter_admits_every_statement_of_jetsql(text: str) -> None:
    try:
        assert parse(text) is not None
    except StatementError:
        assert text in ODD
    assert can_be_jetsql(text)
    assert can_be_jetsql(f"\n -- before\n/* /* and */ */{text}")
    assert can_be_jetsql(text.swapcase())


@pytest.mark.parametrize("text", SPARKS)
def test_the_filter_keeps_statements_of_spark_from_python(text: str) -> None:
    assert not can_be_jetsql(text)


@pytest.mark.spark
def test_spark_parser_returns_a_command_for_every_jetsql_statement(engine: EngineInstance) -> None:
    parser = engine.spark._jsparkSession.sessionState().sqlParser()
    plans = {text: parser.parsePlan(text).getClass().getName() for text in ACCEPTED}
    assert {text for text, plan in plans.items() if plan != "dev.jetsql.parser.StatementCommand"} == set()


@pytest.mark.spark
def test_the_filter_reads_comments_of_any_length(engine: EngineInstance) -> None:
    parser = engine.spark._jsparkSession.sessionState().sqlParser()
    for comment in ("-- a line\n" * 20_000, "/* " + "a * star / slash\n" * 20_000 + "*/", "/* a /* b */ */" * 5_000):
        assert parser.parsePlan(f"{comment} SHOW MEMBERS").getClass().getName() == "dev.jetsql.parser.StatementCommand"


@pytest.mark.spark
def test_show_members_through_spark_sql(engine: EngineInstance) -> None:
    columns = [column.name for column in engine.run("SHOW MEMBERS").columns]
    assert engine.spark.sql("SHOW MEMBERS").columns == columns
