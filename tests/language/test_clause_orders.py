"""Clauses in all orders: JetSQL refuses exactly those that Spark refuses, and its hints can be followed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.foreign_words import foreign_statement_hint
from jetsql.language.statement import CreateJob, CreateStreamingTable
from jetsql.language.tokens import tokens
from tests.support.spark_parser import SparkParser

DELAY = "WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
JOB = "CREATE JOB j AS INSERT INTO t "
READ = f"{JOB}SELECT * FROM STREAM s "
TABLE = "CREATE STREAMING TABLE t "
PATTERN = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS v > 1)"

# A statement, the word at which the error points, a part of its hint, and the statement that follows the hint.
CASES = [
    (f"{READ}WATERMARK ts DELAY INTERVAL 1 MINUTE", "DELAY", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts DELAY OF 1 MINUTE", "1", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts DELAY OF '1 minute'", "'1 minute'", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts DELAY OF INTERVAL '1 minute'", "'1 minute'", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts INTERVAL 1 MINUTE", "WATERMARK", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts AS ts - INTERVAL 1 MINUTE", "WATERMARK", DELAY, READ + DELAY),
    (f"{READ}WATERMARK FOR ts AS ts - INTERVAL 1 MINUTE", "WATERMARK", DELAY, READ + DELAY),
    (f"{READ}WATERMARK DELAY OF INTERVAL 1 MINUTE", "DELAY", DELAY, READ + DELAY),
    (f"{READ}WATERMARK (ts, '1 minute')", "WATERMARK", DELAY, READ + DELAY),
    (f"{READ}WATERMARK ts", "WATERMARK", DELAY, READ + DELAY),
    (f"{READ}WITH {DELAY}", "WITH", DELAY, READ + DELAY),
    (f"{READ}DELAY OF INTERVAL 1 MINUTE WATERMARK ts", "DELAY", DELAY, READ + DELAY),
    (f"{READ}{DELAY} {DELAY}", "WATERMARK", "one WATERMARK", READ + DELAY),
    (f"{READ}TABLESAMPLE (10 PERCENT) {DELAY}", "TABLESAMPLE", "WHERE pmod", f"{READ}WHERE pmod(xxhash64(id), 10) = 0"),
    (
        f"{JOB}SELECT * FROM s {DELAY} TABLESAMPLE (10 PERCENT)",
        "TABLESAMPLE",
        f"TABLESAMPLE (10 PERCENT) {DELAY}",
        f"{JOB}SELECT * FROM s TABLESAMPLE (10 PERCENT) {DELAY}",
    ),
    (
        f"{JOB}SELECT * FROM s TABLESAMPLE (10 PERCENT) WITH ('k' = 'v')",
        "WITH",
        "WITH ('key' = 'value') TABLESAMPLE (10 PERCENT)",
        f"{JOB}SELECT * FROM s WITH ('k' = 'v') TABLESAMPLE (10 PERCENT)",
    ),
    (
        f"{READ}{PATTERN} WITH ('k' = 'v')",
        "WITH",
        "WITH ('key' = 'value') MATCH_RECOGNIZE (...)",
        f"{READ}WITH ('k' = 'v') {PATTERN}",
    ),
    (
        f"{JOB}SELECT * FROM (SELECT * FROM STREAM s) WITH ('k' = 'v')",
        "WITH",
        "FROM STREAM t WITH ('key' = 'value')",
        f"{READ}WITH ('k' = 'v')",
    ),
    (f"{READ}EMIT CHANGES LIMIT 5", "EMIT", "Leave out EMIT CHANGES", f"{READ}LIMIT 5"),
    (f"{READ}EMIT ON WINDOW CLOSE", "EMIT", "Leave out EMIT ON WINDOW CLOSE", READ),
    (
        f"{JOB}OPTIONS ('a' = 'b') SELECT 1",
        "OPTIONS",
        "OPTIONS (...) before AS",
        "CREATE JOB j OPTIONS ('a' = 'b') AS INSERT INTO t SELECT 1",
    ),
    (f"{JOB}SELECT 1 COMMENT 'c'", "COMMENT", "before AS", "CREATE JOB j COMMENT 'c' AS INSERT INTO t SELECT 1"),
    (f"{JOB}(a) WITH ('k' = 'v') SELECT 1", "WITH", "table, WITH (...)", f"{JOB}WITH ('k' = 'v') (a) SELECT 1"),
    (f"{JOB}(a) BY NAME SELECT 1", "BY", "columns in parentheses or BY NAME", f"{JOB}BY NAME SELECT 1"),
    (f"{JOB}SELECT 1 BY NAME", "BY", "BY NAME, query", f"{JOB}BY NAME SELECT 1"),
    (
        f"{TABLE}OPTIONS ('a' = 'b') USING json AS SELECT 1",
        "USING",
        "USING format first",
        f"{TABLE}USING json AS SELECT 1",
    ),
    (
        f"{TABLE}AS SELECT 1 AS a PARTITIONED BY (a)",
        "PARTITIONED",
        "before AS",
        f"{TABLE}PARTITIONED BY (a) AS SELECT 1",
    ),
    (
        f"{TABLE}IF NOT EXISTS AS SELECT 1",
        "IF",
        "before the name",
        "CREATE STREAMING TABLE IF NOT EXISTS t AS SELECT 1",
    ),
    (f"{TABLE}WITH ('a' = 'b') AS SELECT 1", "WITH", "JOB OPTIONS", f"{TABLE}JOB OPTIONS ('a' = 'b') AS SELECT 1"),
    ("CREATE JOB j INSERT INTO t SELECT 1", "INSERT", "AS is missing", f"{JOB}SELECT 1"),
    ("CREATE JOB OR REPLACE j AS INSERT INTO t SELECT 1", "REPLACE", "CREATE OR REPLACE", f"{JOB}SELECT 1"),
    (
        "CREATE JOB j WITH ('a' = 'b') AS INSERT INTO t SELECT 1",
        "WITH",
        "Write OPTIONS ('option'",
        "CREATE JOB j OPTIONS ('a' = 'b') AS INSERT INTO t SELECT 1",
    ),
    ("ALTER JOB j SET ('a' = 'b')", "SET", "Write OPTIONS (", "ALTER JOB j OPTIONS ('a' = 'b')"),
    (
        "ALTER JOB j RENAME TO k",
        "RENAME",
        "'initialSnapshotName'",
        "CREATE JOB k OPTIONS ('initialSnapshotName' = 's') AS INSERT INTO t SELECT 1",
    ),
    ("START JOB j", "JOB", "RESUME JOB name", "RESUME JOB j"),
    ("SHOW JOB j HISTORY", "j", "HISTORY comes before", "SHOW JOB HISTORY j"),
    ("SHOW JOBS ALL", "ALL", "SHOW ALL JOBS", "SHOW ALL JOBS"),
    ("STOP JOB j WITH SAVEPOINT", "STOP", "DROP JOB name WITH SNAPSHOT", "DROP JOB j WITH SNAPSHOT s"),
    ("DROP JOB j SNAPSHOT s", "SNAPSHOT", "DROP JOB [IF EXISTS]", "DROP JOB j WITH SNAPSHOT s"),
    ("WAIT FOR JOB j IDLE", "IDLE", "UNTIL", "WAIT FOR JOB j UNTIL IDLE"),
    ("WAIT JOB j", "JOB", "WAIT FOR JOB", "WAIT FOR JOB j"),
    ("CREATE SNAPSHOT s OF JOB j", "OF", "SNAPSHOT snapshot FOR JOB", "CREATE SNAPSHOT s FOR JOB j"),
    ("EXPECT TABLE (a) t AS VALUES (1)", "(", "EXPECT TABLE table [(name", "EXPECT TABLE t (a) AS VALUES (1)"),
    ("EXPECT TABLE t VALUES (1)", "VALUES", "AS query", "EXPECT TABLE t AS VALUES (1)"),
    ("EXPECT NO ROWS FROM t", "FROM", "EXPECT NO ROWS AS query", "EXPECT NO ROWS AS FROM t"),
    ("EXPECT JOB j LATE = 1", "=", "LATE ROWS) = expression", "EXPECT JOB j LATE ROWS = 1"),
    ("EXPECT WATERMARK = 1", "WATERMARK", "EXPECT JOB", "EXPECT JOB j WATERMARK = NULL"),
    ("EXPECT ERROR 'X' SELECT 1", "SELECT", "AS statement", "EXPECT ERROR 'X' AS SELECT 1"),
    ("RUN FILE 'a.sql' 'b.sql'", "'b.sql'", "RUN FILE 'file' [, ...]", "RUN FILE 'a.sql', 'b.sql'"),
    ("RUN 'a.sql'", "'a.sql'", "RUN FILE 'file'", "RUN FILE 'a.sql'"),
    ("ADVANCE CLOCK INTERVAL 1 HOUR", "INTERVAL", "ADVANCE CLOCK (TO | BY)", "ADVANCE CLOCK BY INTERVAL 1 HOUR"),
]


@pytest.mark.parametrize(("statement", "word", "hint", "right"), CASES)
def test_errors_point_at_the_word_and_have_usable_hints(statement: str, word: str, hint: str, right: str) -> None:
    with pytest.raises(StatementError) as caught:
        parse(statement)
    place = caught.value.place
    assert place is not None and statement[place.start : place.stop] == word
    assert hint in caught.value.hint
    assert parse(right) is not None


@pytest.mark.parametrize(
    "statement",
    [
        f"{JOB}SELECT watermark, delay FROM s watermark WHERE watermark BETWEEN ts - INTERVAL 1 DAY AND now()",
        f"{JOB}SELECT * FROM s watermark JOIN u delay ON watermark.a > delay.b - INTERVAL 1 DAY",
        f"{JOB}SELECT CASE WHEN watermark IS NULL THEN ts - INTERVAL 1 DAY END FROM s",
        f"{JOB}SELECT * FROM s watermark (a, b), u tablesample (c, d)",
        f"{JOB}WITH watermark AS (SELECT ts - INTERVAL 1 DAY) SELECT * FROM watermark LIMIT ALL",
        f"{JOB}SELECT a comment, options (a) FROM s GROUP BY name",
        f"{JOB}(SELECT 1)",
        f"{READ}{PATTERN} {DELAY} AS m",
        f"{JOB}SELECT * FROM STREAM s WATERMARK ts DELAY OF INTERVAL '1' MINUTE AS watermark",
        f"{JOB}SELECT * FROM STREAM s WATERMARK ts DELAY OF INTERVAL '1' MINUTE emit",
        f"{JOB}SELECT * FROM s x JOIN u FOR SYSTEM_TIME AS OF ts WITH ('k' = 'v') AS y ON x.k = y.k",
        f"{TABLE}USING json LOCATION '/x' COMMENT 'c' AS SELECT * FROM a JOIN b USING (k)",
    ],
)
def test_names_that_are_words_of_clauses_are_kept(statement: str) -> None:
    assert parse(statement) is not None


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("CREATE OR REFRESH LIVE TABLE t AS SELECT 1", "without LIVE"),
        ("CREATE STREAM s AS SELECT 1", "CREATE STREAMING TABLE name AS SELECT"),
        ("CREATE STREAMING VIEW v AS SELECT 1", "CREATE STREAMING TABLE name AS SELECT"),
        ("CREATE MATERIALIZED TABLE t AS SELECT 1", "CREATE MATERIALIZED VIEW name"),
        ("CREATE IF NOT EXISTS JOB j AS INSERT INTO t SELECT 1", "CREATE JOB IF NOT EXISTS name"),
        ("SELECT * FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k", "GROUP BY window(ts, '1 hour')"),
        ("SELECT * FROM s JOIN u WITHIN 1 HOUR ON s.k = u.k", "Write the bound in ON"),
        ("ASSERT VALUES t (a) VALUES (1)", "EXPECT TABLE name AS VALUES"),
        ("CREATE TABLE stream (a INT)", ""),
        ("CREATE JOB j AS INSERT INTO t SELECT", ""),
        ("CREATE OR REFRESH STREAMING TABLE t AS SELECT", ""),
        ("CREATE TABLE job (a INT)", ""),
        ("CREATE VIEW streaming AS SELECT 1", ""),
    ],
)
def test_a_statement_of_another_system_has_a_hint(statement: str, hint: str) -> None:
    found = foreign_statement_hint(list(tokens(statement)))
    assert hint in found if hint else not found


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkParser]:
    parser = SparkParser()
    yield parser
    parser.close()


def orders(clauses: tuple[str, ...], most: int) -> Iterator[str]:
    """Yield up to so many of the clauses in all orders."""
    for number in range(1, most + 1):
        yield from map(" ".join, permutations(clauses, number))


def is_refused(statement: str) -> bool:
    try:
        parse(statement)
    except StatementError:
        return True
    return False


def spark_text(statement: str) -> str:
    """Return the text that Spark reads for a statement of the right order with the same words."""
    parsed = parse(statement)
    assert isinstance(parsed, CreateJob | CreateStreamingTable)
    return (parsed if isinstance(parsed, CreateJob) else parsed.create).body.spark_text


@pytest.mark.spark
@pytest.mark.parametrize("relation", ["STREAM s", "s", "STREAM(s)", "(SELECT * FROM STREAM s)"])
def test_the_clauses_of_a_relation_in_the_orders_of_spark(spark: SparkParser, relation: str) -> None:
    for clauses in orders((DELAY, "WITH ('k' = 'v')", "AS x", "TABLESAMPLE (10 PERCENT)"), 3):
        query = f"INSERT INTO t SELECT * FROM {relation} {clauses}"
        assert is_refused(f"CREATE JOB j AS {query}") == (spark.plan(query) is None), query


@pytest.mark.spark
def test_the_clauses_of_a_target_in_the_orders_of_spark(spark: SparkParser) -> None:
    for clauses in orders(("WITH ('k' = 'v')", "PARTITION (p = 1)", "(a, b)", "BY NAME"), 3):
        query = f"INSERT INTO t {clauses} SELECT 1"
        assert is_refused(f"CREATE JOB j AS {query}") == (spark.plan(query) is None), query


@pytest.mark.spark
def test_clauses_of_a_new_table_in_the_orders_of_spark(spark: SparkParser) -> None:
    table = (
        "USING json",
        "OPTIONS ('k' = 'v')",
        "PARTITIONED BY (a)",
        "LOCATION '/x'",
        "COMMENT 'c'",
        "AS SELECT 1 AS a",
    )
    for clauses in orders((*table, "TBLPROPERTIES ('a' = 'b')"), 4):
        if "AS SELECT" in clauses:
            expected = spark.plan(f"CREATE TABLE t {clauses}") is None
            assert is_refused(f"CREATE STREAMING TABLE t {clauses}") == expected, clauses


@pytest.mark.spark
def test_each_clause_of_match_recognize_has_its_place(spark: SparkParser) -> None:
    clauses = [
        *("PARTITION BY k", "ORDER BY ts", "MEASURES A.v AS v", "ONE ROW PER MATCH", "AFTER MATCH SKIP PAST LAST ROW"),
        *("PATTERN (A)", "WITHIN INTERVAL '1' MINUTE", "DEFINE A AS v > 1"),
    ]
    for moved in clauses:
        for at in range(len(clauses)):
            order = [clause for clause in clauses if clause != moved]
            order.insert(at, moved)
            text = f"SELECT * FROM s MATCH_RECOGNIZE ({' '.join(order)}) AS m"
            error = spark.flink_error(text)
            assert (error is None) == (order == clauses), text
            if error is not None:
                message, column = error
                wrong = next(clause for clause in clauses if text[column:].startswith(clause))
                assert "Write the clauses in the order PARTITION BY," in message, text
                assert clauses.index(wrong) < clauses.index(order[order.index(wrong) - 1]), text
    repeated = spark.flink_error(f"SELECT * FROM s MATCH_RECOGNIZE ({' '.join(clauses)} {clauses[-1]})")
    assert repeated is not None and "Write one of them" in repeated[0]


@pytest.mark.spark
def test_spark_parses_what_hints_say(spark: SparkParser) -> None:
    for _, _, _, right in CASES:
        if right.startswith(("CREATE JOB", "CREATE STREAMING")) and "MATCH_RECOGNIZE" not in right:
            assert spark.plan(spark_text(right)) is not None, right
