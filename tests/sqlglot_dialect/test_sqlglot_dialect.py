"""The dialect of sqlglot: every statement to an expression and back, and Spark's statements as sqlglot has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, UnsupportedError

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement import CreateJob, TestStatement
from jetsql.language.tokens import tokens
from jetsql.sqlglot_dialect import JetSQL
from jetsql.sqlglot_dialect.faithful_trees import WRITTEN
from jetsql.sqlglot_dialect.same_text import called_names, is_same
from tests.support.golden_reports import compare
from tests.support.sql_corpus import accepted_statements, document_statements, parts


def ours(texts: list[str]) -> list[str]:
    """Return JetSQL's statements among the texts."""
    found = []
    for text in texts:
        try:
            if parse(text) is not None:
                found.append(text)
        except StatementError:
            continue  # an example of an error
    return found


ACCEPTED = accepted_statements()
pytestmark = pytest.mark.usefixtures("quiet_sqlglot")

DOCUMENTS = document_statements()
OURS = ours(DOCUMENTS)
STREAMS = re.compile(r"STREAM|FROM orders WITH|MATCH_RECOGNIZE")  # what sqlglot's own dialect misreads


def one(text: str) -> exp.Expression:
    [tree] = sqlglot.parse(text, read=JetSQL)
    assert isinstance(tree, exp.Expression)
    return tree


def has_text(tree: exp.Expression) -> bool:
    """Return whether a body is in the tree as a text, or keeps its text."""
    commands = any(command.this != "WAIT FOR JOB" for command in tree.find_all(exp.Command))
    return commands or any(WRITTEN in node.args for node in tree.walk())


def outline(tree: exp.Expression, depth: int = 0) -> Iterator[str]:
    """Yield the expressions of a tree with the arguments that are set, a line each."""
    values = {name: value for name, value in sorted(tree.args.items()) if value}
    plain = [f" {name}={value}" for name, value in values.items() if isinstance(value, (str, bool))]
    yield f"{'  ' * depth}{type(tree).__name__}{''.join(plain)}"
    for name, value in values.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield f"{'  ' * depth} {name}:"
                yield from outline(child, depth + 1)


# --- every statement -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ACCEPTED)
def test_statements_come_back_with_all_their_parts(text: str) -> None:
    tree = one(text)
    for pretty in (False, True):
        again = tree.sql(JetSQL, pretty=pretty)
        assert parts(parse(again)) == parts(parse(text))
        assert one(again).sql(JetSQL, pretty=pretty) == again
        assert one(again).sql(JetSQL) == tree.sql(JetSQL)


@pytest.mark.parametrize("text", OURS)
def test_statements_of_the_documentation_come_back(text: str) -> None:
    for pretty in (False, True):
        again = one(text).sql(JetSQL, pretty=pretty)
        assert parts(parse(again)) == parts(parse(text))


@pytest.fixture(scope="module")
def with_text() -> list[str]:
    """Return the statements that sqlglot cannot parse: they stay as they are written."""
    ours = [text for text in [*ACCEPTED, *OURS] if not isinstance(parse(text), get_args(TestStatement))]
    return [text for text in ours if has_text(one(text))]


def test_bodies_are_expressions_of_spark(with_text: list[str]) -> None:
    compare(sorted({" ".join(text.split()) for text in with_text}))


def test_a_body_that_sqlglot_cannot_parse_stays_a_text(with_text: list[str]) -> None:
    for text in with_text:
        statement = parse(text)
        body = statement.body.text if isinstance(statement, CreateJob) else text.partition(" USING ")[2]
        assert body in one(text).sql(JetSQL) and body in one(text).sql(JetSQL, pretty=True)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB j AS FROM STREAM s AS x INSERT INTO t WITH ('k' = 'v') SELECT a SINK INTO c.u SELECT b WHERE b > 1",
        "CREATE JOB j AS FROM STREAM s JOIN r ON s.k = r.k INSERT INTO t SELECT a INSERT INTO u SELECT b",
        "CREATE JOB j AS FROM (SELECT a FROM STREAM s) AS x INSERT INTO t SELECT a INSERT INTO u SELECT COUNT(*)",
        "WITH c AS (SELECT a FROM s) FROM c INSERT INTO t SELECT a INSERT INTO u SELECT a",
        "FROM s LATERAL VIEW EXPLODE(b) x AS y INSERT INTO t SELECT a INSERT INTO u SELECT y",
    ],
)
def test_several_tables_are_written_by_inserts_of_one_source(text: str) -> None:
    tree = one(text)
    inserts = tree.find(exp.MultitableInserts)
    assert inserts is not None and len(inserts.expressions) == 2 and not has_text(tree)
    assert tree.sql(JetSQL) == text
    assert one(tree.sql(JetSQL, pretty=True)).sql(JetSQL) == text
    assert {table.name for table in tree.find_all(exp.Table)} >= {"t", "u"}


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE JOB j COMMENT 'c' OPTIONS ('a' = 'b', 'c' = 'd') AS SINK INTO t SELECT a FROM STREAM s",
        "CREATE JOB j AS AUTO CDC INTO t FROM STREAM s KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n",
        "CREATE JOB j AS FROM STREAM s INSERT INTO t SELECT a SINK INTO u SELECT b",
        "CREATE OR REFRESH STREAMING TABLE t JOB OPTIONS ('a' = 'b') USING DELTA AS SELECT a FROM STREAM s",
        "CREATE FUNCTION f(x INT DEFAULT 1) RETURNS TABLE (n INT COMMENT 'c') LANGUAGE PYTHON HANDLER 'F' AS $$ F $$",
        "EXPLAIN FORMATTED CREATE JOB j AS INSERT INTO t SELECT 1",
        "ALTER JOB j OPTIONS ('a' = 'b') RESUME",
        "DROP JOB IF EXISTS j WITH SNAPSHOT s",
        "WAIT FOR JOB j UNTIL BATCH 3 TIMEOUT 10 SECONDS",
        "SHOW ALL JOBS LIKE 'a*'",
        "DESCRIBE JOB EXTENDED '0401-9f77-b9c0-0001'",
        "REFRESH MATERIALIZED VIEW a.v",
    ],
)
def test_statements_give_these_trees(text: str) -> None:
    tree = one(text)
    assert tree.sql(JetSQL) == text
    compare([text, *outline(tree)])


def test_the_clauses_of_streams_belong_to_their_relations() -> None:
    text = (
        "SELECT o.id FROM STREAM orders WITH ('a' = 'b') WATERMARK ts + x AS t DELAY OF INTERVAL '5' MINUTES AS o"
        " JOIN STREAM c.s.rates FOR SYSTEM_TIME AS OF o.ts WATERMARK at DELAY OF INTERVAL '1' HOUR AS r ON o.k = r.k"
    )
    job = one(f"CREATE JOB j AS INSERT INTO t WITH ('k' = 'v') {text}")
    sink, orders, rates = job.find_all(exp.Table, bfs=False)
    assert (sink.name, orders.name, rates.db) == ("t", "orders", "s")
    assert [bool(table.args.get("stream")) for table in (sink, orders, rates)] == [False, True, True]
    assert [each.name for each in sink.args["options"]] == ["k"]
    assert [each.name for each in orders.args["options"]] == ["a"]
    assert isinstance(orders.args["watermark"], exp.Alias)
    assert isinstance(rates.args["watermark_delay"], exp.Interval)
    assert rates.args["watermark"].sql() == "at"
    assert {column.name for column in job.find_all(exp.Column)} == {"id", "ts", "x", "at", "k"}


@pytest.mark.parametrize("clause", ["", " WITHIN INTERVAL '1' HOUR", " AFTER MATCH SKIP TO NEXT ROW"])
def test_patterns_of_rows_are_expressions(clause: str) -> None:
    skip, within = (clause, "") if "SKIP" in clause else ("", clause)
    match = (
        f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(A.x, 1) AS x{skip} PATTERN (A (B | C){{2,3}}?)"
        f"{within} DEFINE A AS A.x > 1) m"
    )
    for text in (f"SELECT * FROM s {match}", f"CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s {match}"):
        tree = one(text)
        assert tree.find(exp.MatchRecognize) is not None
        assert tree.sql(JetSQL) == text
        _, later = sqlglot.parse(f"SHOW JOBS;\n\n{text}", read=JetSQL)
        assert later == tree  # sqlglot cuts the pattern from the text of the script


def test_a_changed_tree_gives_a_changed_statement() -> None:
    tree = one("CREATE JOB j AS SINK INTO t SELECT a FROM STREAM s WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS x")
    changed = tree.transform(
        lambda node: exp.to_table("z") if isinstance(node, exp.Table) and node.name == "t" else node
    )
    assert "SINK INTO z SELECT a FROM STREAM s WATERMARK ts DELAY OF INTERVAL '1' MINUTE AS x" in changed.sql(JetSQL)
    assert tree.copy() == tree and changed != tree
    table = next(table for table in tree.find_all(exp.Table) if table.name == "s")
    assert table.sql(JetSQL) == "STREAM s WATERMARK ts DELAY OF INTERVAL '1' MINUTE AS x"


def test_queries_of_spark_can_read_streams() -> None:
    text = "SELECT a FROM STREAM s WATERMARK ts DELAY OF INTERVAL '1' MINUTE AS x LIMIT 10"
    assert one(text).sql(JetSQL) == text
    assert [table.name for table in one("SELECT * FROM STREAM s").find_all(exp.Table)] == ["s"]
    assert one("SELECT * FROM t WITH ('a' = 'b') AS x").sql(JetSQL) == "SELECT * FROM t WITH ('a' = 'b') AS x"
    assert one("SELECT * FROM stream").sql(JetSQL) == "SELECT * FROM stream"
    with pytest.raises(ParseError, match=r"Line 1, Col: 3[25]\b"):  # WATERMARK, or in older versions the next word
        one("SELECT a FROM STREAM s WATERMARK ts DELAY OF")


def test_scripts_keep_the_places_and_comments_of_their_statements() -> None:
    text = """-- first
SELECT a FROM b; /* second */ SUSPEND JOB j;
CREATE JOB k -- third
AS INSERT INTO t SELECT c; -- last"""
    select, suspend, create = sqlglot.parse(text, read=JetSQL)
    assert select is not None and suspend is not None and create is not None
    assert (select.comments, suspend.comments, create.comments) == ([" first"], [" second "], [" third", " last"])
    [column] = [each for each in create.find_all(exp.Column)]
    assert text[column.this.meta["start"]] == "c" and column.this.meta["line"] == 4
    assert suspend.sql(JetSQL) == "/* second */ SUSPEND JOB j"
    assert suspend.sql(JetSQL, comments=False) == "SUSPEND JOB j"


def test_optimizers_find_the_tables_of_streams() -> None:
    from sqlglot.optimizer.scope import traverse_scope

    insert = one("CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s JOIN r USING (k)").args["expression"]
    assert {name for scope in traverse_scope(insert.expression) for name in scope.sources} == {"s", "r"}


# --- what is Spark's -------------------------------------------------------------------------------------------------

SPARKS = (
    *("SELECT suspend, resume AS wait FROM restart", "SELECT wait(1)", "DESCRIBE job", "DROP TABLE job", "SHOW TABLES"),
    *(
        "DESCRIBE EXTENDED t",
        "EXPLAIN SELECT 1",
        "CREATE TABLE job (job INT) USING delta",
        "SET a = b",
        "REFRESH TABLE t",
    ),
    *("ALTER TABLE job ADD COLUMN job INT", "SELECT 1; SELECT 2", "", ";", "-- a comment", "SELECT 1 -- a comment"),
    *(
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1",
        "CREATE MATERIALIZED x AS SELECT 1",
        "INSERT INTO t SELECT 1",
    ),
)


@pytest.mark.parametrize(
    "text", [*SPARKS, *(text for text in DOCUMENTS if not STREAMS.search(text) and text not in OURS)]
)
def test_statements_of_spark_stay_as_they_were(text: str) -> None:
    try:
        trees = sqlglot.parse(text, read=Spark)
    except SqlglotError:
        with pytest.raises(SqlglotError):
            sqlglot.parse(text, read=JetSQL)
        return
    found = sqlglot.parse(text, read=JetSQL)
    if len(trees) != 1 or trees[0] is None or is_same(text, trees[0].sql(Spark, comments=False)):
        assert found == trees
        for tree in trees:
            if tree is not None:
                assert tree.sql(JetSQL, pretty=True) == tree.sql(Spark, pretty=True)
    else:  # sqlglot writes CAST('...' AS TIMESTAMP) for TIMESTAMP '...'
        [one_tree] = found
        assert one_tree is not None and is_same(text, one_tree.sql(JetSQL, comments=False))


@pytest.mark.parametrize(
    "text",
    ["SELECT suspend, resume AS wait FROM restart", "SELECT a.wait, wait(1) FROM suspend.restart AS resume"],
)
def test_words_of_jetsql_stay_names_in_spark_queries(text: str) -> None:
    assert JetSQL().parser().parse(JetSQL().tokenize(text), text) == sqlglot.parse(text, read=Spark)


@pytest.mark.parametrize("text", ["SUSPEND JOB j", "WAIT FOR JOB j", "RESUME JOB j", "RESTART JOB j"])
def test_verbs_of_jetsql_are_commands_for_the_parser_of_sqlglot(text: str) -> None:
    """Parse without the dialect's own method, which reads the verbs of JetSQL as statements."""
    [command] = JetSQL().parser().parse(JetSQL().tokenize(text), text)
    assert isinstance(command, exp.Command) and command.sql(JetSQL) == text


def test_dialect_subclasses_only_what_compiled_builds_allow() -> None:
    assert JetSQL.parser_class is Spark.parser_class and JetSQL.generator_class is Spark.generator_class
    text = "SELECT a FROM t DISTRIBUTE BY a SORT BY b"  # a subclass in older versions leaves this out
    assert JetSQL().generator().generate(one(text)) == text


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (exp.Create(this=exp.to_identifier("j"), kind="JOB", expression=exp.Cast()), "from a tree of Create: "),
        (exp.Cast(this=exp.column("a")), "from a tree of Cast: KeyError"),
        (exp.Create(this=exp.to_identifier("j"), kind="JOB"), "from a tree of Create: AttributeError"),
        (exp.Alter(this=exp.to_identifier("j"), kind="JOB"), "from a tree of Alter: KeyError"),
    ],
)
def test_a_tree_that_sqlglot_cannot_write_is_unsupported(tree: exp.Expression, message: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^Cannot generate SQL {message}"):
        tree.sql(JetSQL)


@pytest.mark.parametrize("name", ["postgres", "trino", "duckdb", "snowflake", "spark"])
def test_other_dialects_can_be_written_in_it(name: str) -> None:
    assert sqlglot.transpile("SELECT a FROM b", read=name, write=JetSQL) == ["SELECT a FROM b"]


# --- the same meaning ------------------------------------------------------------------------------------------------

KEPT = (
    "SELECT v:x FROM s",
    "SELECT * FROM a, b FULL JOIN c ON b.x = c.x",
    "SELECT -128::tinyint AS x",
    "SELECT a IS NOT NULL FROM s",
    "SELECT * FROM (WITH c AS (SELECT 1 AS a) SELECT * FROM c) x JOIN (WITH c AS (SELECT 2 AS a) SELECT * FROM c) y",
    "SELECT (WITH c AS (SELECT 1 AS a) SELECT max(a) FROM c) AS m, a FROM c",
)
WRITTEN_AGAIN = (
    ("SELECT ts - INTERVAL 1 HOUR 30 MINUTES AS x FROM s", "SELECT ts - INTERVAL 1 HOUR 30 MINUTES AS x FROM s"),
    ("SELECT parse_json(a), current_catalog()", "SELECT PARSE_JSON(a), CURRENT_CATALOG()"),
    ("SELECT rlike(a, 'x') = true FROM s", "SELECT RLIKE(a, 'x') = TRUE FROM s"),
    ("SELECT a FROM s WHERE a < TIME '10:00:00'", "SELECT a FROM s WHERE a < TIME '10:00:00'"),
    ("SELECT 'it''s', r'\\d', 1L, 'a' 'b'", "SELECT 'it\\'s', '\\\\d', 1L, 'a' 'b'"),
    ("SELECT struct(a, 1) AS s FROM t", "SELECT STRUCT(a, 1) AS s FROM t"),
    ("SELECT substr(a, 1), nvl(b, c), x.y::int FROM t", "SELECT SUBSTR(a, 1), NVL(b, c), CAST(x.y AS INT) FROM t"),
    ("SELECT map('a') AS m", "SELECT MAP('a') AS m"),
)
HEADS = (
    "",
    "CREATE JOB j AS INSERT INTO t ",
    "CREATE STREAMING TABLE t AS ",
    "CREATE MATERIALIZED VIEW v AS ",
    "CREATE TABLE t AS ",
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("text", KEPT)
def test_statements_that_sqlglot_would_misread_keep_their_text(text: str, head: str) -> None:
    tree = one(f"{head}{text}")
    for pretty in (False, True):
        again = tree.sql(JetSQL, pretty=pretty)
        assert called_names(again) == called_names(text) and is_same(f"{head}{text}", again)
    assert {table.name for table in tree.find_all(exp.Table)} >= {"s"} or "FROM s" not in text


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("text", "again"), WRITTEN_AGAIN)
def test_parts_that_sqlglot_would_change_are_kept(text: str, again: str, head: str) -> None:
    tree = one(f"{head}{text}")
    assert tree.sql(JetSQL) == f"{head}{again}" and not has_text(tree)


def test_delays_and_partitions_keep_their_values() -> None:
    for text in (
        "INSERT INTO t SELECT * FROM STREAM s WATERMARK ts DELAY OF INTERVAL 1 HOUR 30 MINUTES",
        "INSERT INTO t PARTITION(d = DATE '2020-01-01') SELECT 1",
    ):
        assert one(f"CREATE JOB j AS {text}").sql(JetSQL) == f"CREATE JOB j AS {text}"


def test_tree_with_kept_text_accepts_only_a_limit() -> None:
    select = one("SELECT v:x FROM s -- why")
    assert isinstance(select, exp.Select)
    assert select.limit(3).sql(JetSQL) == "SELECT v:x FROM s\nLIMIT 3"
    around = exp.select("*").from_(select.subquery("q")).limit(3)
    assert around.sql(JetSQL) == "SELECT * FROM (SELECT v:x FROM s) AS q LIMIT 3"
    with pytest.raises(UnsupportedError, match=r"It was: SELECT v:x FROM s$"):
        select.where("a > 1").sql(JetSQL)
    job = one("CREATE JOB j AS INSERT INTO t SELECT v:x FROM s")
    next(table for table in job.find_all(exp.Table) if table.name == "s").set("this", exp.to_identifier("z"))
    with pytest.raises(UnsupportedError):
        job.sql(JetSQL)


@pytest.mark.parametrize(
    ("written", "generated"),
    [
        ("select a b from t", "SELECT a AS b FROM t"),
        ("a::int", "CAST(a AS INT)"),
        ("f(a)[1].b::struct<x long, y: array<integer>>", "CAST(f(a)[1].b AS STRUCT<x: BIGINT, y: ARRAY<INT>>)"),
        ("a::int::string", "CAST(CAST(a AS INT) AS STRING)"),
        ("WHERE a NOT IN (1) AND b IS NOT NULL", "WHERE NOT a IN (1) AND NOT b IS NULL"),
        ("INTERVAL 5 minutes", "INTERVAL '5' MINUTE"),
        ("INTERVAL '5 minutes'", "INTERVAL '5' MINUTES"),
        ("OPTIONS (user 'a', `b` = 1, c.d 'e')", "OPTIONS ('user'='a', 'b'=1, 'c.d'='e')"),
        ('a == "x" OR !b', "a = 'x' OR NOT b"),
        ("FROM a LEFT OUTER JOIN b INNER JOIN c", "FROM a LEFT JOIN b JOIN c"),
        ("a <=> b", "a IS NOT DISTINCT FROM b"),
    ],
)
def test_texts_with_the_same_meaning(written: str, generated: str) -> None:
    assert is_same(written, generated)


@pytest.mark.parametrize(
    ("written", "generated"),
    [
        ("SELECT A", "SELECT a"),
        ("'a'", "'A'"),
        ("v:x", "v AS :x"),
        ("FROM a NEAREST JOIN b", "FROM a AS NEAREST JOIN b"),
        ("-1::int", "-CAST(1 AS INT)"),
        ("CASE WHEN a THEN 1 END::int", "CASE WHEN a THEN 1 CAST(END AS INT)"),
        ("a = b NOT IN (1)", "a = NOT b IN (1)"),
        ("a <=> b = c", "a IS NOT DISTINCT FROM b = c"),
        ("a - (b - c)", "a - b - c"),
        ("1.0", "1"),
        ("1L", "1"),
        ("`select`", "select"),
        ("CAST(a AS STRUCT<long: INT>)", "CAST(a AS STRUCT<bigint: INT>)"),
        ("INTERVAL 1 HOUR 30 MINUTES", "INTERVAL '1' HOUR + INTERVAL '30' MINUTES"),
        ("/*+ BROADCAST(a) */ 1", "1"),
        ("ORDER BY a", "ORDER BY a NULLS LAST"),
        ("count(DISTINCT a)", "count(a)"),
        ("INSERT INTO table SELECT 1", "INSERT INTO SELECT 1"),
    ],
)
def test_texts_with_different_meanings(written: str, generated: str) -> None:
    assert not is_same(written, generated)


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_has_its_place_in_the_script() -> None:
    with pytest.raises(ParseError) as caught:
        sqlglot.parse("SELECT 1;\nSUSPEND JOBS x", read=JetSQL)
    [error] = caught.value.errors
    assert (error["line"], error["col"], error["highlight"]) == (2, 9, "JOBS")
    assert "Did you mean JOB?" in str(caught.value)


def test_errors_can_be_ignored_as_elsewhere_in_sqlglot() -> None:
    [command] = sqlglot.parse("SUSPEND JOBS x", read=JetSQL, error_level=ErrorLevel.IGNORE)
    assert isinstance(command, exp.Command) and command.sql(JetSQL) == "SUSPEND JOBS x"


@pytest.mark.parametrize("text", ACCEPTED[::5])
def test_a_truncated_statement_is_an_error_of_sqlglot_or_parsed(text: str) -> None:
    for token in tokens(text):
        try:
            sqlglot.parse(text[: token.start + 1], read=JetSQL)
        except SqlglotError as error:
            assert str(error)
