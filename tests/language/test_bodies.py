"""The body of a job: the text that Spark runs, with all positions kept, and the spans of names in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from jetsql.errors import Span, StatementError
from jetsql.language import find_function, find_name, parse
from jetsql.language.body.several_inserts import SOURCE_NAME, branch_text, source_text
from jetsql.language.statement import Body, CreateJob, Verb
from tests.support.golden_reports import raises
from tests.support.hypothesis_profiles import examples


def body(text: str) -> Body:
    statement = parse(text)
    assert isinstance(statement, CreateJob)
    return statement.body


def lines_and_columns(text: str, words: list[str]) -> list[tuple[int, int]]:
    places = [Span(text.index(word), text.index(word)) for word in words]
    return [(place.line(text), place.column(text)) for place in places]


@pytest.mark.parametrize("verb", ["INSERT INTO", "insert  overwrite", "Insert /* x */ Into"])
def test_insert_is_passed_to_spark_verbatim_after_blanks(verb: str) -> None:
    text = f"\nCREATE JOB j -- why\r\nAS\n\t{verb} t SELECT 'a' -- b\n, 2 ; -- end"
    found = body(text)
    stop = text.index(" ; --")
    assert found.place == Span(text.index(verb), stop)
    assert found.text == text[found.place.start : stop]
    assert found.spark_text == "\n" + " " * 19 + "\r\n  \n " + found.text
    assert found.verb.value == " ".join(verb.upper().replace("/* X */", "").split())
    assert found.target == Span(text.index(" t ") + 1, text.index(" t ") + 2)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB j AS SINK INTO t SELECT a FROM s",
        "CREATE JOB j AS\nSINK INTO t SELECT a FROM s",
        "CREATE JOB j AS\n\n-- x\nSINK\nINTO t SELECT a FROM s",
        "CREATE\nJOB\nj\nAS\nSINK\nINTO\nt SELECT a FROM s",
        "CREATE JOB j AS WITH c AS (SELECT 1)  SINK INTO t SELECT a FROM s",
        "CREATE JOB j AS WITH c AS (SELECT 1) /* x */SINK INTO t SELECT a FROM s",
        "CREATE JOB j AS\nWITH c AS (SELECT 1)\n  SINK INTO t SELECT a FROM s",
        "CREATE JOB j AS WITH c AS (SELECT 1) -- much\nSINK INTO t SELECT a FROM s",
        "CREATE JOB j AS WITH c AS (SELECT 1)\nSINK   INTO t SELECT a FROM s",
    ],
)
def test_sink_into_becomes_insert_into_and_nothing_moves(text: str) -> None:
    found = body(text)
    assert found.verb is Verb.SINK_INTO
    assert found.text == text[found.place.start :]
    assert len(found.spark_text) == len(text)
    assert found.spark_text.count("INSERT") == 1
    into = text.index("INTO")
    assert found.spark_text[into:] == text[into:]
    assert [at for at, sign in enumerate(found.spark_text) if sign == "\n"] == [
        at for at, sign in enumerate(text) if sign == "\n"
    ]
    assert found.spark_text[:into].split()[-1].endswith("INSERT")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB j AS\nWITH c AS (\n  SELECT b FROM r)\nSINK INTO t\nSELECT a FROM s",
        "CREATE JOB j AS\nWITH c AS (\n  SELECT b FROM r)\r\nSINK INTO t\nSELECT a FROM s",
    ],
)
def test_insert_without_room_is_on_the_line_before(text: str) -> None:
    spark_text = body(text).spark_text
    assert spark_text.replace("\r", "").strip().splitlines()[2:] == ["     INTO t", "SELECT a FROM s"]
    assert spark_text[text.index("INTO") :] == text[text.index("INTO") :]
    words = ["WITH", "b FROM r", "INTO", "t\n", "SELECT a", "s"]
    assert lines_and_columns(spark_text, words[:-1]) == lines_and_columns(text, words[:-1])


def test_with_clause_on_the_same_line_is_shifted() -> None:
    text = "CREATE JOB j AS WITH c AS (SELECT 1) SINK INTO t SELECT 1"
    assert body(text).spark_text == " " * 15 + "WITH c AS (SELECT 1)INSERT INTO t SELECT 1"


@pytest.mark.parametrize(
    ("table", "target"),
    [
        ("t", "t"),
        ("TABLE t", "t"),
        ("`a b` . c /* x */ . `d`", "`a b` . c /* x */ . `d`"),
        ("table", "table"),
        ("TABLE `table`", "`table`"),
        ("IDENTIFIER('a' || 'b')", "IDENTIFIER('a' || 'b')"),
        ("identifier", "identifier"),
        ("IDENTIFIER('a' || lower('B'))", "IDENTIFIER('a' || lower('B'))"),
        ("IDENTIFIER('a'", "IDENTIFIER('a' SELECT 1"),
        ("directory", "directory"),
        ("local", "local"),
        ("insert", "insert"),
        ("parquet.`/tmp/x`", "parquet.`/tmp/x`"),
    ],
)
def test_the_target_is_the_tables_name(table: str, target: str) -> None:
    text = f"CREATE JOB j AS INSERT INTO {table} SELECT 1"
    place = body(text).target
    assert text[place.start : place.stop] == target


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v:a, v:b.c[0], v['d']:e, f(v):g, (v):h, `v`:i FROM s",
        "SELECT v:a::int, TRY_CAST(v AS int), a?::int FROM s",
        "SELECT from_json(c, 'a: int, b: string') FROM s WHERE x:y",
        "SELECT CAST(a AS STRUCT<all: INT, from: STRING>) FROM s",
        "SELECT f(x => 1), transform(a, x -> x + 1) FROM s",
        "SELECT 'a?', \":b\", `c?d`, '$ {e}', '{f}', '$5' FROM s -- ? :g ${h}",
        "SELECT /* ${a} */ 1 /* ? */",
        "SELECT v:a, 1 AS b FROM s WHERE c >:",
        "SELECT '''' || '${' || \"}\"",
    ],
)
def test_text_that_resembles_a_parameter_is_accepted(query: str) -> None:
    assert body(f"CREATE JOB j AS INSERT INTO t {query}").text.endswith(query.split(" -- ")[0].split(" /* ?")[0])


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("SELECT :a", ":a"),
        ("SELECT 1 LIMIT : a", ": a"),
        ("SELECT * FROM s WHERE a = :b AND c", ":b"),
        ("SELECT f(:a)", ":a"),
        ("SELECT 1, ?", "?"),
        ("SELECT * FROM IDENTIFIER(:a)", ":a"),
        ("SELECT a FROM s WHERE b IN (?)", "?"),
        ("SELECT /* ${a} */ '${b}'", "${b}"),
        ("SELECT * FROM ${spark:a}", "${spark:a}"),
        ("SELECT `${a}`", "${a}"),
        ("SELECT /*+ REPARTITION(${a}) */ 1", "${a}"),
    ],
)
def test_parameters_and_substitutions_are_refused_at_their_token(query: str, at: str) -> None:
    text = f"CREATE JOB j AS INSERT INTO t {query}"
    with raises(StatementError) as caught:
        parse(text)
    assert caught.value.condition == "JETSQL.PARAMETER_IN_BODY"
    assert caught.value.place == Span(text.index(at, 30), text.index(at, 30) + len(at))


def test_substitution_ends_before_the_comment_after_the_body() -> None:
    assert body("CREATE JOB j AS INSERT INTO t SELECT '${a'--}").text == "INSERT INTO t SELECT '${a'"


def test_second_insert_is_refused_and_a_column_named_insert_accepted() -> None:
    assert body("CREATE JOB j AS INSERT INTO t SELECT insert, sink FROM s WHERE insert > 1").verb is Verb.INSERT_INTO
    assert body("CREATE JOB j AS INSERT INTO t SELECT replace(a, 'b') FROM s").verb is Verb.INSERT_INTO


GAPS = some.sampled_from([" ", "\n", "  ", "\n\n", " -- c\n", "/* c */", "\t", "\r\n"])


@settings(max_examples=examples(200))
@given(some.lists(GAPS, min_size=9, max_size=9), some.booleans())
def test_lines_and_what_follows_into_always_hold(gaps: list[str], common: bool) -> None:
    a, b, c, d, e, f, g, h, i = gaps
    with_part = f"WITH{e}x AS (SELECT 1){f}" if common else ""
    text = f"CREATE{a}JOB{b}j{c}AS{d}{with_part}SINK{g}INTO{h}t{i}SELECT 1"
    found = body(text)
    into = text.index("INTO")
    assert len(found.spark_text) == len(text)
    assert found.spark_text[into:] == text[into:]
    assert found.spark_text.count("\n") == text.count("\n")
    assert found.spark_text[:into].rstrip().endswith("INSERT")
    assert found.spark_text[into - 1].isspace()


TEXT = "INSERT INTO orders SELECT o.`Total Sum`, count(o.id) FROM STREAM shop.`orders` o JOIN db.shop.items -- items"


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (["orders"], "orders"),
        (["shop", "orders"], "shop.`orders`"),
        (["spark_catalog", "Shop", "ORDERS"], "shop.`orders`"),
        (["total sum"], "`Total Sum`"),
        (["db", "shop", "items"], "db.shop.items"),
        (["items"], "items"),
        (["o"], "o JOIN"),
        (["count"], None),
        (["nowhere"], None),
    ],
)
def test_names_are_found_where_they_are_written(parts: list[str], written: str | None) -> None:
    place = find_name(TEXT, parts)
    expected = None if written is None else TEXT.index(written)
    assert (place.start if place else None) == expected
    if place and written and written != "o JOIN":
        assert TEXT[place.start : place.stop] == written


def test_names_are_found_from_a_start_on() -> None:
    assert find_name("a a", ["a"], 1) == Span(2, 3)
    assert find_name("a.b", ["a", "b", "c"]) is None
    assert find_name("", ["a"]) is None


def test_functions_are_found_where_they_are_called() -> None:
    assert find_function(TEXT, "COUNT") == Span(TEXT.index("count"), TEXT.index("count") + 5)
    assert find_function("SELECT f, db.f (1)", "f") == Span(13, 14)
    assert find_function(TEXT, "orders") is None


# --- several tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB j AS FROM STREAM s INSERT INTO a SELECT x INSERT INTO b SELECT y WHERE z IS DISTINCT FROM 1",
        "CREATE JOB j AS\nFROM s\nSINK INTO a\nSELECT x\nSINK INTO b\nSELECT y",
        "CREATE JOB j AS FROM s SINK /* one */ INTO a SELECT x\r\n-- INTO c\r\nINSERT INTO TABLE b SELECT 'INTO'",
        "CREATE JOB j AS FROM (SELECT 1\nINTERSECT SELECT 1) q INSERT INTO a SELECT q.x INSERT INTO b SELECT q.y",
    ],
)
def test_the_parts_of_several_inserts_keep_their_places(text: str) -> None:
    found = body(text)
    assert [text[branch.target.start : branch.target.stop] for branch in found.branches] == ["a", "b"]
    assert source_text(found).endswith(" SELECT *")
    start = found.branches[0].place.start
    assert source_text(found)[found.place.start : start] == text[found.place.start : start]
    for branch in found.branches:
        part = branch_text(found, branch)
        assert len(part) == branch.place.stop
        assert part[branch.into :] == text[branch.into : branch.place.stop]
        assert part[: branch.into].split() == ["FROM", SOURCE_NAME, "INSERT"]
        assert [at for at, sign in enumerate(part) if sign == "\n"] == [
            at for at, sign in enumerate(text[: branch.place.stop]) if sign == "\n"
        ]


def test_several_inserts_with_one_word_per_line_keep_lines() -> None:
    text = "CREATE JOB j AS FROM s SINK INTO a SELECT x SINK INTO b SELECT y".replace(" ", "\n")
    found = body(text)
    for branch in found.branches:
        part = branch_text(found, branch)
        assert part.split("INTO")[0].split() == ["FROM", SOURCE_NAME, "INSERT"]
        assert part.count("\n") == text[: branch.place.stop].count("\n")


def test_the_verb_of_several_inserts() -> None:
    both = body("CREATE JOB j AS FROM s SINK INTO a SELECT x SINK INTO b SELECT y")
    assert both.verb is Verb.SINK_INTO
    one = body("CREATE JOB j AS FROM s SINK INTO a SELECT x INSERT INTO b SELECT y")
    assert (one.verb, [branch.verb for branch in one.branches]) == (
        Verb.INSERT_INTO,
        [Verb.SINK_INTO, Verb.INSERT_INTO],
    )
