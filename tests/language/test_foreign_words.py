"""Spellings of Flink and ksqlDB in a body: each error points at the clause and names Spark's spelling."""

from __future__ import annotations

import pytest

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.misplaced_clauses import refuse_misplaced_clauses
from jetsql.language.body.several_inserts import read_body
from jetsql.language.foreign_words import foreign_statement_hint
from jetsql.language.tokens import tokens
from tests.support.golden_reports import raises


@pytest.mark.parametrize(
    ("query", "word", "hint"),
    [
        ("SELECT * FROM b EMIT CHANGES", "EMIT", "SINK INTO"),
        ("SELECT * FROM b EMIT FINAL", "EMIT", "INSERT INTO"),
    ],
)
def test_a_foreign_clause_is_refused_at_its_place(query: str, word: str, hint: str) -> None:
    text = f"INSERT INTO t {query}"
    with raises(StatementError) as caught:
        read_body(text, 0)
    error = caught.value
    assert error.condition.endswith("UNSUPPORTED_QUERY")
    assert error.place is not None
    assert text[error.place.start : error.place.stop] == word
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM emit changes",
        "SELECT * FROM TABLE(tumble(1, 2))",
        "SELECT tumble(ts), descriptor(x) FROM s",
        "SELECT * FROM s match_recognize (a, b)",
        "SELECT * FROM s match_recognize (all)",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A? (B | C)+? D{2,3}) DEFINE A AS a > 1)",
        "SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND))",
        "SELECT * FROM b JOIN d FOR SYSTEM_TIME AS OF b.p ON b.k = d.k",
    ],
)
def test_clauses_and_names_that_spark_accepts_are_kept(query: str) -> None:
    assert read_body(f"INSERT INTO t {query}", 0).text.endswith(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ? FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A) DEFINE A AS a > 1)",
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A?) DEFINE A AS a > ?)",
        "SELECT * FROM s match_recognize (pattern, a) WHERE pattern (?)",
    ],
)
def test_a_parameter_outside_of_a_pattern_is_refused(query: str) -> None:
    with pytest.raises(StatementError, match="PARAMETER_IN_BODY"):
        read_body(f"INSERT INTO t {query}", 0)


@pytest.mark.parametrize(
    ("statement", "word", "hint"),
    [
        ("CREATE JOB j AS INSERT INTO t SELECT 1 OPTIONS ('a' = 'b')", "OPTIONS", "before AS"),
        ("CREATE JOB j AS INSERT INTO t SELECT a FROM STREAM s OPTIONS ('a' = 'b')", "OPTIONS", "WITH ("),
        (
            "CREATE JOB j AS FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b OPTIONS ('a' = 'b')",
            "OPTIONS",
            "before AS",
        ),
        ("CREATE JOB j OPTIONS ('a' = 'b') COMMENT 'c' AS INSERT INTO t SELECT 1", "COMMENT", "before OPTIONS"),
        ("CREATE JOB j JOB OPTIONS ('a' = 'b') AS INSERT INTO t SELECT 1", "JOB", "Write OPTIONS"),
        ("CREATE STREAMING TABLE t AS SELECT 1 JOB OPTIONS ('a' = 'b')", "JOB", "after the name of the table"),
        ("CREATE STREAMING TABLE t USING json JOB OPTIONS ('a' = 'b') AS SELECT 1", "JOB", "after the name"),
        ("CREATE STREAMING TABLE t USING json START_MODE = FROM_NOW AS SELECT 1", "START_MODE", "after its name"),
        ("CREATE JOB j AS INSERT INTO t SELECT * FROM s START_MODE = RESUME_OR_FROM_NOW", "START_MODE", "before AS"),
        ("CREATE JOB j START_MODE = FROM_BEGINNING COMMENT 'c' AS INSERT INTO t SELECT 1", "COMMENT", "before OPTIONS"),
        (
            "CREATE JOB j START_MODE = FROM_NOW OPTIONS ('a' = 'b') AS INSERT INTO t SELECT 1",
            "OPTIONS",
            "before START_MODE",
        ),
        ("ALTER STREAMING TABLE t OPTIONS ('a' = 'b')", "OPTIONS", "Write JOB OPTIONS"),
        ("CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s x WATERMARK ts DELAY OF INTERVAL 1 DAY", "x", "AS x."),
        ("CREATE JOB j AS SINK INTO t SELECT * FROM s AS x WATERMARK ts DELAY OF INTERVAL 1 DAY", "x", "AS x."),
        ("CREATE JOB j AS INSERT INTO t SELECT * FROM (SELECT 1) x WATERMARK a DELAY OF INTERVAL 1 DAY", "x", "AS x."),
        (
            "CREATE JOB j AS INSERT INTO t SELECT * FROM a JOIN STREAM b ON k = l WATERMARK ts DELAY OF INTERVAL 1 DAY",
            "WATERMARK",
            "FROM STREAM t WATERMARK",
        ),
        ("CREATE STREAMING TABLE t AS SELECT * FROM STREAM s x WITH ('k' = 'v')", "x", "WITH ('key' = 'value') AS x."),
        ("DROP JOB j IF EXISTS", "IF", "before the name"),
        ("WAIT FOR JOB j TIMEOUT 10 SECONDS UNTIL IDLE", "UNTIL", "before TIMEOUT"),
        ("SHOW JOBS WHERE status = 'RUNNING'", "WHERE", "SELECT * FROM jetsql.jobs WHERE"),
        ("SHOW JOB j", "j", "DESCRIBE JOB shows one"),
    ],
)
def test_misplaced_clause_has_a_hint(statement: str, word: str, hint: str) -> None:
    with raises(StatementError) as caught:
        parse(statement)
    place = caught.value.place
    assert place is not None and statement[place.start : place.stop] == word
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM a.s WATERMARK ts DELAY OF INTERVAL 1 DAY AS x",
        "CREATE JOB j AS INSERT INTO t SELECT * FROM a, s WATERMARK ts DELAY OF INTERVAL 1 DAY",
        "CREATE JOB j AS INSERT INTO t SELECT a AS watermark FROM s JOIN STREAM u WATERMARK b DELAY OF INTERVAL 1 DAY",
        "CREATE JOB j AS INSERT INTO t SELECT * FROM s WITH ('k' = 'v') WATERMARK ts DELAY OF INTERVAL 1 DAY x",
        "CREATE JOB j AS INSERT INTO t SELECT * FROM (SELECT 1) WATERMARK ts DELAY OF INTERVAL 1 DAY x",
        "CREATE JOB j AS INSERT INTO t SELECT * FROM s AS options (a, b)",
        "CREATE JOB j AS CREATE TABLE t OPTIONS ('path' = 'x') AS SELECT 1",
        "CREATE STREAMING TABLE t JOB OPTIONS ('a' = 'b') OPTIONS ('path' = 'x') AS SELECT 1",
        "CREATE JOB j AS INSERT INTO a.t WITH ('k' = 'v') SELECT * FROM watermark WITH ('k' = 'v') AS x",
        "CREATE JOB j AS SINK INTO t WITH ('k' = 'v') SELECT * FROM (SELECT 1 WHERE a) JOIN s WITH ('k' = 'v') AS x",
    ],
)
def test_clauses_at_the_right_place_are_kept(statement: str) -> None:
    assert parse(statement) is not None


WATERMARK = "WATERMARK ts DELAY OF INTERVAL 1 MINUTE"


@pytest.mark.parametrize(
    ("query", "word", "hint"),
    [
        (f"SELECT * FROM STREAM s AS x {WATERMARK}", "x", "MINUTE AS x."),
        (f"SELECT * FROM (SELECT * FROM STREAM s) x {WATERMARK}", "x", "MINUTE AS x."),
        (
            f"SELECT * FROM STREAM s {WATERMARK} WITH ('k' = 'v')",
            "WITH",
            "WITH ('key' = 'value') WATERMARK ts DELAY OF",
        ),
        (
            f"SELECT * FROM STREAM s {WATERMARK} AS x WITH ('k' = 'v')",
            "WITH",
            "WITH ('key' = 'value') WATERMARK ts DELAY OF",
        ),
        ("SELECT * FROM STREAM s AS x WITH ('k' = 'v')", "x", "WITH ('key' = 'value') AS x."),
        (f"SELECT * FROM STREAM s WHERE k > 1 {WATERMARK}", "WATERMARK", "FROM STREAM t WATERMARK"),
        (f"SELECT * FROM STREAM a JOIN STREAM b USING (k) {WATERMARK}", "WATERMARK", "FROM STREAM t WATERMARK"),
        (f"SELECT k FROM STREAM s GROUP BY window(ts, '1 minute'), k {WATERMARK}", "WATERMARK", "FROM STREAM t"),
        ("SELECT * FROM STREAM s WHERE k = 1 WITH ('k' = 'v')", "WITH", "FROM STREAM t WITH"),
        (
            f"SELECT * FROM STREAM s {WATERMARK} x JOIN u AS y FOR SYSTEM_TIME AS OF x.ts ON x.k = y.k",
            "y",
            "FOR SYSTEM_TIME AS OF s.ts AS y.",
        ),
        ("SELECT * FROM STREAM s EMIT CHANGES", "EMIT", "Leave out EMIT CHANGES"),
    ],
)
def test_a_query_has_the_same_errors_outside_of_jobs(query: str, word: str, hint: str) -> None:
    with raises(StatementError) as caught:
        refuse_misplaced_clauses(list(tokens(query)))
    place = caught.value.place
    assert place is not None and query[place.start : place.stop] == word
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM STREAM s WITH ('k' = 'v') {WATERMARK} AS x JOIN STREAM u {WATERMARK} y ON x.k = y.k WHERE a",
        f"SELECT * FROM a, STREAM b {WATERMARK}, c.d {WATERMARK} AS x WHERE EXISTS (SELECT 1 FROM e WITH ('k' = 'v'))",
        f"SELECT * FROM STREAM(s) {WATERMARK} x JOIN c.u FOR SYSTEM_TIME AS OF x.ts WITH ('k' = 'v') AS y ON x.k = y.k",
        "SELECT * FROM t FOR SYSTEM_TIME AS OF '2020-01-01' AS x, u FOR SYSTEM_TIME AS OF current_date() y",
        "SELECT a watermark, delay FROM s WHERE watermark = 1 GROUP BY watermark",
        "WITH watermark AS (SELECT 1) SELECT * FROM watermark",
        f"SELECT (SELECT max(k) FROM b WHERE k = 1) FROM STREAM s {WATERMARK}",
        "INSERT INTO TABLE t WITH ('k' = 'v') SELECT 1",
    ],
)
def test_the_right_order_is_kept(query: str) -> None:
    refuse_misplaced_clauses(list(tokens(query)))


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        (
            "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
            "FROM STREAM t WATERMARK ts",
        ),
        ("SET 'k' = 'v'", "SET key = value"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1", "INSERT INTO a SELECT ... INSERT INTO b"),
        ("BEGIN STATEMENT SET", "INSERT INTO a SELECT ... INSERT INTO b"),
        ("EXPLAIN JOB j", "DESCRIBE JOB"),
        ("EXPLAIN FORMATTED JOB j", "DESCRIBE JOB"),
        ("EXPLAIN SELECT job FROM t", ""),
        ("SELECT watermark FROM t FOR VERSION AS OF 1", ""),
    ],
)
def test_a_statement_of_flink_has_a_hint(statement: str, hint: str) -> None:
    found = foreign_statement_hint(list(tokens(statement)))
    assert hint in found if hint else not found
