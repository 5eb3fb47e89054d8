"""The clauses of AUTO CDC: the texts that Spark parses have the offsets of the statement."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.change_clauses import clause_texts
from jetsql.language.statement import Body, CreateJob

HEAD = "CREATE JOB j -- why\nAS AUTO CDC INTO t FROM STREAM s "


def body(clauses: str) -> Body:
    statement = parse(HEAD + clauses)
    assert isinstance(statement, CreateJob)
    return statement.body


def texts(clauses: str) -> dict[str, Any]:
    found = clause_texts(body(clauses))
    assert found is not None
    return found


def at(statement: str, part: str) -> str:
    """Return a part at its offset in the statement, with only blanks and line breaks before it."""
    before = statement[: statement.index(part)]
    return "".join(c if c == "\n" else " " for c in before) + part


def test_each_part_keeps_its_place() -> None:
    clauses = (
        "KEYS (id, `two words`)\nAPPLY AS DELETE WHEN op = 'd'\nSEQUENCE BY ts + 1\nCOLUMNS (a, b) STORED AS SCD TYPE 2"
    )
    assert texts(clauses) == {
        "keys": [at(HEAD + clauses, "id"), at(HEAD + clauses, "`two words`")],
        "delete": at(HEAD + clauses, "op = 'd'"),
        "sequence": at(HEAD + clauses, "ts + 1"),
        "columns": at(HEAD + clauses, "COLUMNS (a, b)").replace("COLUMNS (a, b)", "struct(  a, b)"),
        "history": True,
    }
    changes = body(clauses).changes
    assert changes is not None
    assert changes.keys == ("id", "two words")


def test_omitted_clauses() -> None:
    found = texts("KEYS (id) SEQUENCE BY ts")
    assert found["delete"] is None
    assert found["columns"] == "struct(*)"
    assert found["history"] is False


@pytest.mark.parametrize(
    ("written", "columns"),
    [
        ("COLUMNS (a)", "struct(  a)"),
        ("COLUMNS\n(a, b)", "struct(\n a, b)"),
        ("COLUMNS * EXCEPT (a)", "struct( * EXCEPT (a))"),
        ("COLUMNS *", "struct( *)"),
    ],
)
def test_columns_become_a_struct(written: str, columns: str) -> None:
    clauses = f"KEYS (id) SEQUENCE BY ts {written} STORED AS SCD TYPE 1"
    assert texts(clauses)["columns"] == at(HEAD + clauses, written).removesuffix(written) + columns


def test_a_body_without_changes_has_no_clauses() -> None:
    statement = parse("CREATE JOB j AS INSERT INTO t SELECT 1")
    assert isinstance(statement, CreateJob)
    assert clause_texts(statement.body) is None


def test_clause_words_are_names_in_expressions_and_the_source() -> None:
    found = texts("KEYS (keys) APPLY AS DELETE WHEN columns = stored SEQUENCE BY sequence")
    assert found["delete"].strip() == "columns = stored"
    assert found["sequence"].strip() == "sequence"
    source = body("keys KEYS (id) SEQUENCE BY (SELECT max(a) FROM b SEQUENCE BY c)")
    assert source.changes is not None
    assert source.changes.keys == ("id",)


@pytest.mark.parametrize(
    ("clauses", "word", "message"),
    [
        ("SEQUENCE BY ts KEYS (id)", "KEYS", "KEYS comes before SEQUENCE BY"),
        ("KEYS (id) KEYS (a) SEQUENCE BY ts", "KEYS (a)", "KEYS is written twice."),
        ("KEYS (id, ID) SEQUENCE BY ts", "ID)", "KEYS names ID twice."),
        ("KEYS (id SEQUENCE BY ts", "SEQUENCE", "Expected ',' or ')' after a column"),
        ("KEYS () SEQUENCE BY ts", ") SEQ", "Expected a column"),
        ("KEYS (id) a SEQUENCE BY ts", "a SEQ", "Expected APPLY AS DELETE WHEN or SEQUENCE BY after KEYS"),
        ("KEYS (id) SEQUENCE BY ts COLUMNS (a) b", "b", "Expected STORED AS or the end after COLUMNS"),
        ("KEYS (id) SEQUENCE BY ts COLUMNS * EXCEPT a", "a", "Expected '(' and columns"),
        ("KEYS (id) SEQUENCE BY ts STORED AS SCD TYPE 3", "3", "Expected 1 or 2"),
        ("KEYS (id) SEQUENCE BY ts STORED AS TYPE 1", "TYPE", "Expected SCD"),
        ("KEYS (id) SEQUENCE BY ts STORED AS SCD TYPE 1 x", "x", "Expected the end of the statement"),
        ("KEYS (id) IGNORE NULL UPDATES SEQUENCE BY ts", "IGNORE", "IGNORE NULL UPDATES is not supported"),
        ("KEYS (id) APPLY AS TRUNCATE WHEN a SEQUENCE BY ts", "APPLY", "APPLY AS TRUNCATE is not supported"),
        ("KEYS (id) SEQUENCE BY ts STORED AS SCD TYPE 2 TRACK HISTORY ON a", "TRACK", "TRACK HISTORY is not supported"),
    ],
)
def test_a_wrong_clause_is_refused_at_its_place(clauses: str, word: str, message: str) -> None:
    with pytest.raises(StatementError) as error:
        parse(HEAD + clauses)
    assert error.value.condition == "JETSQL.UNSUPPORTED_BODY"
    assert message in error.value.message
    assert error.value.place is not None
    assert (HEAD + clauses)[error.value.place.start :].startswith(word)


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("SEQUENCE BY ts", "AUTO CDC needs the clause KEYS"),
        ("KEYS (id)", "AUTO CDC needs the clause SEQUENCE BY"),
        ("KEYS (id", "Expected ',' or '\\)' after a column"),
        ("KEYS (id,", "Expected a column"),
    ],
)
def test_missing_parts_are_reported_at_the_end(clauses: str, message: str) -> None:
    with pytest.raises(StatementError, match=message) as error:
        parse(HEAD + clauses)
    assert error.value.place is not None
    assert error.value.place.start == len(HEAD + clauses)
