"""The tokens around the cursor: they do not depend on earlier scans, which only save time."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jetsql.completion.complete import complete
from jetsql.completion.complete_sql import position_at
from jetsql.completion.known_names import KnownName, Names, TableKey, TableName
from jetsql.completion.statement_at_cursor import at_cursor, is_open
from jetsql.completion.visible_columns import relations_in_scope
from jetsql.shell.input.input_parsing import command_end
from tests.support.hypothesis_profiles import examples

NAMES = Names(
    tables={"default": (TableName("t"), TableName("u"))},
    columns={TableKey("default", "t"): (KnownName("a"), KnownName("b")), TableKey("default", "u"): (KnownName("c"),)},
)
_PIECES = st.sampled_from(
    "SELECT|FROM t|FROM u x|(SELECT a|(|)|,|;|;\n.mode csv\n|\n.watch SELECT (1,\n2);\n|'|`|--|/*|*/|\n| |BEGIN|END;"
    "|CASE|WITH w AS (SELECT|WHERE|JOIN u ON|INSERT INTO t|VALUES (1, 2),|1e|+5|abc|://x|$t$|{|\\\n|a.|UNION ALL"
    "|IF a THEN|CREATE JOB j AS|AS|.".split("|")
)
_LONG = st.lists(_PIECES, min_size=1, max_size=8).map(lambda pieces: " ".join(pieces) * 40)


@dataclass(frozen=True)
class Edit:
    """An edit at a relative position of the text: characters are deleted, and others inserted."""

    at: float
    gone: int
    new: str


_EDITS = st.lists(
    st.builds(Edit, st.floats(0, 1), st.integers(0, 3), st.one_of(_PIECES, st.sampled_from(["", "x", "'", " "]))),
    min_size=1,
    max_size=8,
)


def seen(text: str, cursor: int) -> Any:
    at = at_cursor(text, cursor, command_end)
    position = position_at(at)
    relations = [(relation.name, relation.parts) for relation in relations_in_scope(position.query)]
    menu = [(each.text, each.start) for each in complete(text, cursor, NAMES)]
    return at, position.clause, position.expected, position.is_nested, relations, menu, is_open(text, command_end)


def seen_anew(text: str, cursor: int) -> Any:
    """Return the tokens at the cursor after a full scan: no earlier text begins like this one."""
    seen(f"~{text}", 1)
    at_cursor("~~", 2, command_end)
    position_at(at_cursor("~ ~ ~", 5))
    return seen(text, cursor)


@pytest.mark.parametrize("quote", ["'", '"', "`", "r'", "R'", 'R"'])
def test_an_open_quote_ends_at_its_own_kind(quote: str) -> None:
    text = f"SELECT {quote}ab{quote[-1]} c"
    found = at_cursor(text, text.index("b"))
    assert (found.half and found.half.text, found.closed, found.silent) == (f"{quote}a", False, False)
    assert [token.text for token in found.behind] == ["c"]
    assert at_cursor(text, text.index("b") + 1).closed


@pytest.mark.parametrize(("text", "silent"), [("SELECT a|b", True), ("SELECT a|_", True), ("SELECT a|.b", False)])
def test_nothing_is_completed_within_a_word(text: str, silent: bool) -> None:
    assert at_cursor(text.replace("|", ""), text.index("|")).silent is silent


def test_a_key_costs_no_scan_of_the_whole_text() -> None:
    """Count the calls of the function that finds commands; it is called at the beginning of each scanned statement."""
    calls: list[int] = []

    def count(text: str, start: int) -> int:
        calls.append(start)
        return start

    text = "SELECT 1;\n" * 400
    for key in ("S", "SE", "SEL"):
        calls.clear()
        at_cursor(text + key, len(text) + len(key), count)
    assert 0 < len(calls) < 100


@settings(max_examples=examples(60))
@given(_LONG, _EDITS)
@example("\n.watch SELECT (1,\n2);\n --" * 40, [Edit(0.1875, 0, "'"), Edit(1.0, 0, "'")])
def test_earlier_reads_do_not_change_the_result(text: str, edits: list[Edit]) -> None:
    found = []
    for edit in edits:
        cursor = int(edit.at * len(text))
        text = text[:cursor] + edit.new + text[cursor + edit.gone :]
        cursor += len(edit.new)
        found.append((text, cursor, seen(text, cursor)))
    for text, cursor, expected in found:
        assert seen_anew(text, cursor) == expected
