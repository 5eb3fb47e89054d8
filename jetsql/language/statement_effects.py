"""Classify statements by their effects: on the session, on data, on the objects and the state that they drop."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.bodies import reads_stream
from jetsql.language.statement import CreateJob, DropJob, DropSnapshot, DropStreamingTable, Statement
from jetsql.language.tokens import Token, tokens

_SESSION_VERBS: Final = frozenset({"SET", "ADD", "DECLARE", "CACHE"})
_READING_VERBS: Final = frozenset("SELECT WITH VALUES TABLE FROM SHOW DESCRIBE DESC EXPLAIN LIST".split())
_WRITING_VERBS: Final = frozenset("INSERT MERGE UPDATE DELETE SINK".split())
_SCHEMA_VERBS: Final = frozenset({"USE", "SET", "EXECUTE", "BEGIN"})
_KINDS: Final = {"TABLE": "table", "VIEW": "view", "SCHEMA": "schema", "DATABASE": "schema", "NAMESPACE": "schema"}
_HEAD: Final = 6  # tokens up to JOB in CREATE OR REPLACE JOB, after EXPLAIN
_MAX_TOKENS: Final = 64


def first_words(text: str, count: int = 6) -> list[str]:
    """Return the first words of a statement, in capitals."""
    return [token.word or token.text for token in islice(tokens(text), count)]


def changes_session(text: str) -> bool:
    """Return whether a statement changes the session: a setting, a temporary view, a variable."""
    first = first_words(text)
    creates_temporary = first[:1] == ["CREATE"] and any(word in ("TEMP", "TEMPORARY") for word in first)
    return creates_temporary or (bool(first) and first[0] in _SESSION_VERBS)


def is_read_only(text: str) -> bool:
    """Return whether a statement can safely be repeated."""
    return bool(text.split()) and not writing_word(text)


def writing_word(text: str) -> str:
    """Return the word by which a non-empty statement writes, or an empty string if it only reads."""
    keywords = [token.word for token in tokens(text)]
    first = next((word for word in keywords if word), "")
    if first not in _READING_VERBS:
        return first or text.split()[0]
    writing = (word for word in keywords if word in _WRITING_VERBS)
    return next(writing, "") if first in ("WITH", "FROM") else ""


def may_change_schema(text: str) -> bool:
    """Return whether a statement may change the session's current schema."""
    first = first_words(text, 1)
    return bool(first) and first[0] in _SCHEMA_VERBS


def drop_question(text: str) -> str | None:
    """Return the question to ask before a statement drops an object or a state; None for other statements."""
    leading = list(islice(tokens(text), _MAX_TOKENS))
    if not leading or leading[0].word != "DROP":
        return None
    kind = leading[1].word if len(leading) > 1 else ""
    if kind in _KINDS:
        name = _object_name(leading[2:])
        everything = " with everything in it" if _KINDS[kind] == "schema" and _has_word(leading, "CASCADE") else ""
        return f"Drop {_KINDS[kind]} {name}{everything}?" if name else None
    try:
        statement = parse(text)
    except StatementError:
        return None  # the engine reports the error
    return _state_question(statement)


def _state_question(statement: Statement | None) -> str | None:
    """Return the question before a statement of JetSQL that drops a state."""
    match statement:
        case DropJob(name=name, with_snapshot=None):
            return f"Stop and drop job {name} for good? Its state is lost."
        case DropJob(name=name, with_snapshot=snapshot):
            return f"Stop and drop job {name} for good? Snapshot {snapshot} keeps its state."
        case DropStreamingTable(table=table, kind=kind):
            return f"Drop {kind.value.lower()} {table}? Its rows, its job and the job's state are lost."
        case DropSnapshot(snapshot=name):
            return f"Drop snapshot {name}? Its copy of the state is lost."
        case _:
            return None


def may_lack_stream(text: str) -> bool:
    """Return whether a statement creates a job whose query has no word STREAM, so that it may be a batch job."""
    head = [token.word for token in islice(tokens(text), _HEAD)]
    if head[:1] != ["CREATE"] or "JOB" not in head:
        return False
    try:
        statement = parse(text)
    except StatementError:
        return False
    return isinstance(statement, CreateJob) and not reads_stream(statement.body)


def _object_name(leading: list[Token]) -> str:
    if len(leading) > 1 and leading[0].word == "IF" and leading[1].word == "EXISTS":
        leading = leading[2:]
    parts: list[str] = []
    for token in leading:
        if token.text == ";" or (parts and parts[-1] != "." and token.text != "."):
            break
        parts.append(token.text)
    return "".join(parts)


def _has_word(leading: list[Token], word: str) -> bool:
    return any(token.word == word for token in leading)
