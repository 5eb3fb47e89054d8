"""Scripts: the ends of statements, open quotes and blocks, and variables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from jetsql.errors import Span, StatementError
from jetsql.language import Substituted, split, substitute
from tests.support.golden_reports import raises
from tests.support.hypothesis_profiles import examples


def texts(script: str) -> list[str]:
    return [fragment.text for fragment in split(script)]


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        (" ;; \n;", []),
        ("-- only\n/* comments; */", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("-- a;\nSELECT 1 -- b;\n, 2 /* c; /* d; */ ; */ ; -- e", ["SELECT 1 -- b;\n, 2"]),
        (
            "SELECT ';', \";\", `;`, r';', R\";\", $$;$$, $a$;$$;$a$; x",
            ["SELECT ';', \";\", `;`, r';', R\";\", $$;$$, $a$;$$;$a$", "x"],
        ),
        (r"SELECT 'a\';', 'b'';', '\\'; x", [r"SELECT 'a\';', 'b'';', '\\'", "x"]),
        (r"SELECT r'\'; x", [r"SELECT r'\'", "x"]),
        ("SELECT `a``;`; x", ["SELECT `a``;`", "x"]),
        ("-- a \\\n; still a comment\nSELECT 1; x", ["SELECT 1", "x"]),
        ("SELECT /*+ REPARTITION(2) */ 1; x", ["SELECT /*+ REPARTITION(2) */ 1", "x"]),
        ("SELECT 1 /**/; x", ["SELECT 1", "x"]),
        ("LOAD DATA INPATH abfss://a/b--c INTO t; x", ["LOAD DATA INPATH abfss://a/b--c INTO t", "x"]),
        ("SELECT '${a}', $${b}; x", ["SELECT '${a}', $${b}", "x"]),
    ],
)
def test_semicolons_end_statements_unless_hidden(script: str, statements: list[str]) -> None:
    assert texts(script) == statements


@pytest.mark.parametrize(
    "block",
    [
        "BEGIN END",
        "BEGIN SELECT 1; SELECT 2; END",
        "begin not atomic select 1; end",
        "l: BEGIN SELECT 1; END l",
        "BEGIN BEGIN SELECT 1; END; BEGIN END; END",
        "BEGIN IF a THEN SELECT 1; ELSEIF b THEN SELECT 2; ELSE SELECT 3; END IF; END",
        "BEGIN IF if(a, b, c) THEN SELECT if(1, 2, 3); END IF; END",
        "BEGIN SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END ELSE 3 END; END",
        "BEGIN CASE WHEN a THEN SELECT 1; ELSE SELECT 2; END CASE; SELECT 3; END",
        "BEGIN WHILE CASE WHEN a THEN b END DO SELECT 1; END WHILE; END",
        "BEGIN l: LOOP LEAVE l; END LOOP l; END",
        "BEGIN REPEAT SELECT 1; UNTIL CASE a WHEN 1 THEN b END END REPEAT; END",
        "BEGIN FOR r AS SELECT do, end FROM t DO SELECT 1; END FOR; END",
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END",
        "BEGIN DECLARE a INT DEFAULT 1; SET a = 2; SELECT begin, end, t.end, t.case, loop FROM t; END",
        "BEGIN SELECT ';'; /* END; */ SELECT `END`; END",
    ],
)
def test_blocks_are_one_statement(block: str) -> None:
    assert texts(f"SELECT 0; {block}; SELECT 9") == ["SELECT 0", block, "SELECT 9"]
    assert split(block)[0].closed


def test_begin_alone_opens_no_block() -> None:
    assert texts("BEGIN; SELECT 1; END; SELECT begin; COMMIT") == ["BEGIN", "SELECT 1", "END", "SELECT begin", "COMMIT"]


def test_fragments_know_where_they_are() -> None:
    script = "-- x\n  SELECT 1;  /* y\n */ SELECT\n2;\n\n\tSELECT 3"
    assert [(one.line, one.column) for one in split(script)] == [(2, 2), (3, 4), (6, 1)]
    assert all(script[one.start :].startswith(one.text) for one in split(script))
    assert [(one.line, one.column) for one in split("\nSELECT 1;\nSELECT 2")] == [(2, 0), (3, 0)]


@pytest.mark.parametrize(
    ("script", "terminated", "closed"),
    [
        ("SELECT 1;", True, True),
        ("SELECT 1", False, True),
        ("SELECT 1; -- done;", True, True),
        ("SELECT 'a;", False, False),
        ("SELECT `a;", False, False),
        ("SELECT r'a;", False, False),
        ('SELECT "a\\";', False, False),
        ("SELECT $$a;", False, False),
        ("SELECT /* a;", False, False),
        ("SELECT 1; /* a", False, False),
        ("/* a /* b */", False, False),
        ("BEGIN SELECT 1;", False, False),
        ("BEGIN SELECT 1; END", False, True),
        ("BEGIN SELECT 1; END;", True, True),
        ("BEGIN IF a THEN SELECT 1;", False, False),
    ],
)
def test_missing_closing_token_is_reported_to_the_shell(script: str, terminated: bool, closed: bool) -> None:
    last = split(script)[-1]
    assert (last.terminated, last.closed, last.complete) == (terminated, closed, terminated and closed)


@pytest.mark.parametrize("opening", ["'", '"', "`", "r'", "/*", "$$", "$x$"])
def test_strict_refuses_unclosed_texts_at_their_beginning(opening: str) -> None:
    script = f"SELECT 1;\nSELECT {opening} 2;\nSELECT 3;"
    with raises(StatementError) as caught:
        split(script, strict=True)
    assert caught.value.condition == "JETSQL.PARSE_SYNTAX_ERROR"
    assert caught.value.place == Span(script.index(opening), script.index(opening) + 1)


STATEMENTS = some.sampled_from(
    [
        "SELECT 1",
        "SELECT ';'",
        "SELECT `;`",
        "x /* ; */ y",
        "a -- ;\n b",
        "BEGIN SELECT 1; END",
        "SELECT 'a''b;\\';'",
        "r';\\'",
    ]
)
NOTHING = some.sampled_from(["", " ", "\n", " -- ;\n", "/* ; /* ; */ */", "\t;", " ;; "])


@settings(max_examples=examples(200))
@given(some.lists(some.tuples(NOTHING, STATEMENTS, NOTHING), max_size=8))
def test_joined_statements_are_split_again(parts: list[tuple[str, str, str]]) -> None:
    script = "".join(f"{before}{statement}{behind};" for before, statement, behind in parts)
    assert texts(script) == [statement for _, statement, _ in parts]


SIGNS = some.text(alphabet="ab ;'\"`\\\n-/*+$rR{}:?.()é\x00", max_size=60) | some.text(max_size=40)


@settings(max_examples=examples(500))
@given(SIGNS)
def test_fragments_cover_the_whole_text(script: str) -> None:
    position = 0
    for fragment in split(script):
        between = script[position : fragment.start]
        assert not split(between) or re.fullmatch(r"[\s;]*", between)
        assert script[fragment.start :].startswith(fragment.text)
        place = Span(fragment.start, fragment.start)
        assert (fragment.line, fragment.column) == (place.line(script), place.column(script))
        position = fragment.start + len(fragment.text)
    assert not split(script[position:])


@settings(max_examples=examples(200))
@given(SIGNS)
def test_a_fragment_is_its_own_only_statement(script: str) -> None:
    for fragment in split(script):
        if fragment.closed:
            assert texts(fragment.text) == [fragment.text]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ${a}", "SELECT xyz"),
        ("SELECT '${a}', `${a}`, \"${a}\", ${ä_1}", "SELECT 'xyz', `xyz`, \"xyz\", 2"),
        ("SELECT ${b:-d}, ${a:-d}, ${b:-}", "SELECT d, xyz, "),
        ("SELECT ${b:-'a ; b'}", "SELECT 'a ; b'"),
        ("SELECT $${a} /* ${no} */ -- ${no}\n, '${a} -- ${a}'", "SELECT ${a} /* ${no} */ -- ${no}\n, 'xyz -- xyz'"),
        ("SELECT /*+ REPARTITION(${ä_1}) */ 1", "SELECT /*+ REPARTITION(2) */ 1"),
        ("${nested}", "${a}"),
        ("$a {a} $ {a}", "$a {a} $ {a}"),
        ("SELECT 1 /* ${no}", "SELECT 1 /* ${no}"),
    ],
)
def test_variables_are_filled_in(text: str, result: str) -> None:
    assert substitute(text, {"a": "xyz", "ä_1": "2", "nested": "${a}"}).text == result


@pytest.mark.parametrize(
    ("text", "condition", "at", "message"),
    [
        ("SELECT\n ${day}", "VARIABLE_NOT_SET", "${day}", "${day:-default}"),
        ("SELECT '${tabel}'", "VARIABLE_NOT_SET", "${tabel}", "Did you mean ${table}?"),
        ("SELECT ${}", "PARSE_SYNTAX_ERROR", "${", "$${"),
        ("SELECT ${env:HOME}", "PARSE_SYNTAX_ERROR", "${", "${name:-default}"),
        ("SELECT ${table", "PARSE_SYNTAX_ERROR", "${", "is not a variable"),
        ("SELECT ${1a}", "PARSE_SYNTAX_ERROR", "${", "is not a variable"),
    ],
)
def test_variable_without_value_is_refused_at_its_place(text: str, condition: str, at: str, message: str) -> None:
    with raises(StatementError) as caught:
        substitute(text, {"table": "t"})
    assert caught.value.condition == f"JETSQL.{condition}"
    assert caught.value.place == Span(text.index(at), text.index(at) + len(at))
    assert message in caught.value.explanation


def test_only_a_similar_name_is_a_correction() -> None:
    for text, correction in (("${tabel}", "${table}"), ("${day}", ""), ("${}", "")):
        with pytest.raises(StatementError) as caught:
            substitute(text, {"table": "t"})
        assert caught.value.correction == correction


def test_places_go_back_to_the_text_as_written() -> None:
    text = "a ${long} b ${short} c $${ d ${no:-} e"
    result = substitute(text, {"long": "1", "short": "123456789"})
    assert result.text == "a 1 b 123456789 c ${ d  e"
    for word in "abcde":
        assert result.original(result.text.index(word)) == text.index(word)
    assert {result.original(at) for at in range(6, 15)} == {text.index("${short}")}
    assert result.original(len(result.text)) == len(text)


def test_a_text_without_variables_maps_to_itself() -> None:
    assert substitute("SELECT 1", {}) == Substituted("SELECT 1")
    assert Substituted("SELECT 1").original(5) == 5


@settings(max_examples=examples(200))
@given(
    some.lists(some.sampled_from(["${a}", "${b}", "${c:-d}", "$${", " ", "x", "'", "\n", "-- z\n", "é"]), max_size=12)
)
def test_offsets_keep_their_order_and_plain_text_its_place(parts: list[str]) -> None:
    text = "".join(parts)
    result = substitute(text, {"a": "", "b": "longer than that"})
    offsets = [result.original(at) for at in range(len(result.text) + 1)]
    assert offsets == sorted(offsets)
    assert offsets[-1] <= len(text)
    assert all(text[offsets[at]] == sign for at, sign in enumerate(result.text) if sign in "x\né'")
