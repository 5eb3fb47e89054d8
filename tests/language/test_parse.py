"""`parse` on texts of users: the owner of a statement, its content, and the spans in it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from jetsql.errors import Span, StatementError
from jetsql.language import parse
from jetsql.language.statement import (
    AlterJobOptions,
    CreateJob,
    CreateSnapshot,
    DescribeJob,
    DropJob,
    ExplainCreateJob,
    Name,
    OptionText,
    ShowJobs,
    ShowMembers,
    ShowSnapshots,
    SuspendJob,
    WaitForJob,
    WaitGoal,
)
from tests.support.golden_reports import raises
from tests.support.hypothesis_profiles import examples


def rejected(text: str) -> StatementError:
    with raises(StatementError) as caught:
        parse(text)
    return caught.value


def marked(text: str, place: Span | None) -> str:
    assert place is not None
    return text[place.start : place.stop]


SPARKS_OWN = """
SELECT 1
SELECT job FROM jobs
SELECT sink FROM sink
INSERT INTO sink SELECT 1
SINK
CREATE TABLE job (a INT)
CREATE OR REPLACE TABLE job USING parquet AS SELECT 1
CREATE VIEW snapshot AS SELECT 1
CREATE TEMPORARY VIEW job AS SELECT 1
CREATE FUNCTION job AS 'x'
CREATE SCHEMA job
CREATE INDEX job ON TABLE t (a)
DROP TABLE jobs
DROP TABLE IF EXISTS job
DROP VIEW snapshot
ALTER TABLE job ADD COLUMN a INT
SHOW TABLES IN job
SHOW TABLES 'job*'
SHOW COLUMNS IN jobs
SHOW PARTITIONS jobs
SHOW TBLPROPERTIES job
SHOW ALL FUNCTIONS
SHOW CREATE TABLE job
DESCRIBE job
DESC job;
DESCRIBE job -- comment
DESCRIBE job AS JSON
DESC EXTENDED job
DESC EXTENDED job AS JSON
DESCRIBE FORMATTED job a
DESCRIBE TABLE job
DESCRIBE job.col
DESCRIBE job PARTITION (day = 1)
DESCRIBE jobs a
DESCRIBE snapshot a
DESCRIBE `JOB` j
DESCRIBE SELECT 1
EXPLAIN SELECT 1
EXPLAIN CREATE TABLE job AS SELECT 1
EXPLAIN EXTENDED SELECT * FROM job
EXPLAIN DESCRIBE job
RESET job
SET job = 1
SET restart
USE job
TABLE job
VALUES (1)
WITH job AS (SELECT 1) SELECT * FROM job
WITH sink AS (SELECT 1) SELECT * FROM sink
WITH a AS (SELECT 'x') FROM (SELECT 1) sink INTO
WITH a AS (SELECT 'x') SELECT ' ) SINK INTO t'
WITH a; SELECT (1) SINK INTO t
BEGIN WITH sink AS (SELECT 1) SELECT * FROM sink; END
FROM job SELECT 1
REFRESH TABLE job
REFRESH job
CACHE TABLE job
INSERT INTO job SELECT 1
DELETE FROM job
UPDATE job SET a = 1
TRUNCATE TABLE job
ANALYZE TABLE job COMPUTE STATISTICS
COMMENT ON TABLE job IS 'x'
CALL job()
`SUSPEND` JOB j
'SUSPEND' JOB j
(SELECT 1)
SELECT 1; SUSPEND JOB j
SELECT 'SUSPEND JOB j
-- SUSPEND JOB j
/* SUSPEND JOB j */
/* SUSPEND JOB j
BEGIN SELECT 1; suspend: LOOP LEAVE suspend; END LOOP; END
BEGIN SELECT 'CREATE JOB'; SELECT job FROM t; DESCRIBE job; END
BEGIN SELECT 1; -- SUSPEND JOB j
;
nonsense
CREATE
SHOW
DROP
EXPLAIN
CREATE x y z
SHOW SNAPS
SHOW JOBSJOB
{{ job }}
\N{SNOWMAN}
""".strip("\n").split("\n")


@pytest.mark.parametrize("text", ["", " \n", "CREATE\nTABLE\njob\n(a INT)", *SPARKS_OWN])
def test_statements_of_spark_are_passed_to_spark(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "before",
    [
        "",
        "-- a comment\n",
        "EXPLAIN ",
        "explain formatted ",
        "BEGIN SELECT 1; ",
        "BEGIN IF a THEN ",
        "WITH a AS (SELECT 1) ",
        "WITH RECURSIVE a (n) MAX RECURSION LEVEL 5 AS (SELECT (1)), sink AS (SELECT 2)\n",
        "EXPLAIN WITH a AS (SELECT 1) ",
        "explain formatted with a as (SELECT 1) ",
        "BEGIN SELECT 1; WITH a AS (SELECT 1) ",
    ],
)
def test_sink_into_belongs_into_create_job(before: str) -> None:
    text = f"{before}sink into t SELECT * FROM s"
    error = rejected(text)
    assert (error.condition, marked(text, error.place)) == ("JETSQL.PARSE_SYNTAX_ERROR", "sink")
    assert error.place is not None and error.place.start == len(before)
    assert "SINK INTO is allowed only in CREATE JOB" in error.message
    assert "Write CREATE JOB name AS SINK INTO" in error.hint


@pytest.mark.parametrize("before", ["", "EXPLAIN ", "explain formatted "])
def test_auto_cdc_belongs_into_create_job(before: str) -> None:
    text = f"{before}auto cdc INTO t FROM STREAM s KEYS (id) SEQUENCE BY n"
    error = rejected(text)
    assert (error.condition, marked(text, error.place)) == ("JETSQL.PARSE_SYNTAX_ERROR", "auto")
    assert error.message == "AUTO CDC is allowed only in CREATE JOB."
    assert error.hint == "Write CREATE JOB name AS AUTO CDC ... for a job."


def test_a_whole_create_job() -> None:
    options = "OPTIONS ('a'='b', \"c\" = r'\\d')"
    text = f"CREATE OR REPLACE JOB `late ``ones``` COMMENT 'it''s' {options} AS SINK INTO t SELECT 1 ;"
    statement = parse(text)
    assert isinstance(statement, CreateJob)
    assert statement.name.text == "late `ones`"
    assert marked(text, statement.name.place) == "`late ``ones```"
    assert (statement.or_replace, statement.if_not_exists, statement.comment) == (True, False, "it's")
    assert [(option.key, option.value) for option in statement.options] == [("a", "b"), ("c", "\\d")]
    assert marked(text, statement.options[1].value_place) == "r'\\d'"
    assert statement.text == text.removesuffix(" ;")


def test_comments_everywhere() -> None:
    text = "-- one\n/* two /* nested */ */ CREATE /* x */ JOB -- y\n j AS -- z\n INSERT INTO t SELECT 1 /* w */ ; -- v"
    statement = parse(text)
    assert isinstance(statement, CreateJob)
    assert statement.name.text == "j"
    assert statement.text == text[text.index("CREATE") : text.index(" /* w")]
    assert statement.body.text == "INSERT INTO t SELECT 1"


def test_a_backslash_continues_a_line_comment_as_in_spark() -> None:
    assert parse("-- one \\\n SUSPEND JOB j") is None
    assert parse("-- one \\ \n SUSPEND JOB j") is not None


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("ALTER JOB suspend SUSPEND", SuspendJob(Name("suspend", Span(10, 17)))),
        ("DROP JOB if", DropJob(Name("if", Span(9, 11)))),
        ("DROP JOB IF EXISTS if", DropJob(Name("if", Span(19, 21)), if_exists=True)),
        ("DESC JOB extended", DescribeJob(Name("extended", Span(9, 17)))),
        ("DESC JOB EXTENDED x", DescribeJob(Name("x", Span(18, 19)), extended=True)),
        ("WAIT FOR JOB until", WaitForJob(Name("until", Span(13, 18)))),
        (
            "WAIT FOR JOB j UNTIL BATCH 7 TIMEOUT 9 SECONDS",
            WaitForJob(Name("j", Span(13, 14)), WaitGoal.BATCH, 7, 9),
        ),
        ("WAIT FOR JOB j UNTIL IDLE", WaitForJob(Name("j", Span(13, 14)), WaitGoal.IDLE)),
        ("show all jobs like 'a_%'", ShowJobs(all_jobs=True, pattern="a_%")),
        ("SHOW JOBS LIKE 'a\\_%'", ShowJobs(pattern="a\\_%")),
        ("SHOW SNAPSHOTS", ShowSnapshots()),
        ("show members", ShowMembers()),
        (
            "SUSPEND JOB '0401-9f77-b9c0-0001'",
            SuspendJob(Name("0401-9f77-b9c0-0001", Span(12, 33), is_id=True)),
        ),
        (
            "DROP JOB j WITH SNAPSHOT with",
            DropJob(Name("j", Span(9, 10)), with_snapshot=Name("with", Span(25, 29))),
        ),
        (
            "CREATE OR REPLACE SNAPSHOT s FOR JOB for",
            CreateSnapshot(Name("s", Span(27, 28)), Name("for", Span(37, 40)), or_replace=True),
        ),
        (
            "ALTER JOB j OPTIONS('a'='b')RESUME",
            AlterJobOptions(Name("j", Span(10, 11)), (OptionText("a", "b", Span(20, 23), Span(24, 27)),), resume=True),
        ),
    ],
)
def test_statements_say_what_was_written(text: str, statement: object) -> None:
    assert parse(text) == statement


def test_explain_holds_the_statement_it_explains() -> None:
    text = "EXPLAIN FORMATTED CREATE JOB j AS INSERT INTO t SELECT 1"
    statement = parse(text)
    assert isinstance(statement, ExplainCreateJob)
    assert statement.formatted
    assert statement.create.text == text[text.index("CREATE") :]
    assert statement.create.body.spark_text == " " * 34 + "INSERT INTO t SELECT 1"


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'a\'b'", "a'b"),
        ("'a''b'", "a'b"),
        ('"a""b\'\'"', "a\"b''"),
        (r"'\n\t\\\u00e9\101'", "\n\t\\é" + "A"),
        (r"'\U0001F600'", "\N{GRINNING FACE}"),
        (r"'\uD7FF\uE000\U0010FFFF'", "\ud7ff\ue000\U0010ffff"),
        (r"'\ud800\uDFFF\U00110000'", r"\ud800\uDFFF\U00110000"),
        (r"'\%\_\x'", r"\%\_x"),
        (r"r'\n'", r"\n"),
        ("$$a'b$$", "a'b"),
        ("$t$a$$b$t$", "a$$b"),
        ("''", ""),
        ("'line\nbreak'", "line\nbreak"),
    ],
)
def test_string_literals_are_read_as_spark_reads_them(literal: str, value: str) -> None:
    statement = parse(f"CREATE JOB j COMMENT {literal} AS INSERT INTO t SELECT 1")
    assert isinstance(statement, CreateJob)
    assert statement.comment == value


@pytest.mark.parametrize("word", ["LPAR", "STRAY", "BODY", "JOB_NAME", "SEMICOLON", "WHOLE_NUMBER", "COMMA"])
def test_the_grammars_inner_words_are_no_keywords(word: str) -> None:
    statement = parse(f"SUSPEND JOB {word}")
    assert isinstance(statement, SuspendJob)
    assert statement.name.text == word
    assert rejected(f"ALTER JOB j {word}").condition == "JETSQL.PARSE_SYNTAX_ERROR"
    assert rejected(f"ALTER JOB j OPTIONS {word} 'a' = 'b')").condition == "JETSQL.PARSE_SYNTAX_ERROR"


def test_back_quoted_words_are_no_keywords() -> None:
    error = rejected("SUSPEND `JOB` j")
    assert marked("SUSPEND `JOB` j", error.place) == "`JOB`"
    assert parse("CREATE `JOB` j AS INSERT INTO t SELECT 1") is None


def test_a_name_of_several_words_is_shown_in_back_quotes() -> None:
    text = "CREATE JOB late-flights.2013 AS INSERT INTO t SELECT 1"
    error = rejected(text)
    assert marked(text, error.place) == "late-flights.2013"
    assert error.hint == "Write `late-flights.2013`."


@pytest.mark.parametrize("length", [1, 128])
def test_names_go_up_to_128_characters(length: int) -> None:
    statement = parse(f"SUSPEND JOB {'x' * length}")
    assert isinstance(statement, SuspendJob)


def test_a_huge_number_is_refused_at_its_place() -> None:
    text = f"WAIT FOR JOB j UNTIL BATCH {'9' * 5000}"
    error = rejected(text)
    assert error.place == Span(27, len(text))


def test_places_count_lines_and_columns() -> None:
    text = "\n\n  ALTER JOB j\n    PAUSE"
    error = rejected(text)
    assert error.place is not None
    assert (error.place.line(text), error.place.column(text)) == (4, 4)


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN SUSPEND JOB j; END",
        "BEGIN NOT ATOMIC SUSPEND JOB j; END",
        "BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SUSPEND JOB j; END IF; END",
        "BEGIN WHILE CASE WHEN a THEN b ELSE c END DO SUSPEND JOB j; END WHILE; END",
        "BEGIN l: LOOP SUSPEND JOB j; END LOOP l; END",
        "BEGIN REPEAT SUSPEND JOB j; UNTIL a > 1 END REPEAT; END",
        "BEGIN FOR r AS SELECT end FROM t DO SUSPEND JOB j; END FOR; END",
        "BEGIN CASE x WHEN 1 THEN SELECT 1; WHEN 2 THEN SUSPEND JOB j; END CASE; END",
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SUSPEND JOB j; END; SELECT 1; END",
        "BEGIN BEGIN SELECT 1; END; SUSPEND JOB j",
    ],
)
def test_job_statements_in_blocks_are_refused_at_their_token(text: str) -> None:
    error = rejected(text)
    assert error.condition == "JETSQL.JOB_IN_BLOCK"
    assert error.place == Span(text.index("SUSPEND"), text.index("SUSPEND") + 7)


def test_sparks_statements_need_neither_lark_nor_the_grammar() -> None:
    program = (
        "import sys; from jetsql.language import parse, split, substitute; parse('SELECT 1; ' * 9);"
        "assert not {'lark', 'sqlglot', 'pyspark'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


WORDS = (
    "CREATE ALTER DROP SHOW DESCRIBE DESC SUSPEND RESUME RESTART WAIT EXPLAIN FORMATTED JOB JOBS SNAPSHOT SNAPSHOTS OR"
    " REPLACE IF NOT EXISTS AS OPTIONS COMMENT FOR WITH UNTIL BATCH IDLE TIMEOUT SECONDS LIKE ALL EXTENDED HISTORY"
    " INSERT INTO SINK OVERWRITE SELECT VALUES TABLE FROM BEGIN END CASE THEN LOOP x 'a' \"b\" 5 1.5 ( ) , = ; . : ? -"
    " -- /* */ /*+ ' \" ` `y` r' $$ ${ } \n \\ é \x00 \ud800"
).split(" ")


@settings(max_examples=examples(400))
@given(some.lists(some.sampled_from(WORDS), max_size=14).map(" ".join) | some.text(max_size=60))
def test_nothing_but_statement_errors_is_raised(text: str) -> None:
    for candidate in (text, f"CREATE JOB j AS {text}", f"ALTER JOB {text}", f"BEGIN {text}"):
        try:
            parse(candidate)
        except StatementError as error:
            assert error.place is not None
            assert 0 <= error.place.start <= error.place.stop <= len(candidate)
            assert str(error)
