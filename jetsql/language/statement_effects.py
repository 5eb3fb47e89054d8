"""Classify statements by their effects: on the session, on data, on the objects and the state that they drop."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.body.name_in_body import reads_stream
from jetsql.language.parser import parse
from jetsql.language.statement import CreateJob, DropJob, DropSnapshot, DropStreamingTable, Statement
from jetsql.language.statement_head import CONTROL_VERBS, QUERY_WORDS, head_of, name_at, read_head
from jetsql.language.statement_owner import is_jetsql, lead_of
from jetsql.language.tokens import tokens

_SHOWING_VERBS: Final = ("SHOW", "DESCRIBE", "DESC")
_READING_VERBS: Final = frozenset({*QUERY_WORDS, *_SHOWING_VERBS, "EXPLAIN", "LIST"})
_WRITING_VERBS: Final = frozenset("INSERT MERGE UPDATE DELETE SINK".split())
_SESSION_VERBS: Final = frozenset({"SET", "ADD", "DECLARE", "CACHE"})
# Spark's verbs that never change the session. Others may: SET, USE, DECLARE, CACHE, CREATE TEMPORARY VIEW ...
_STATELESS_VERBS: Final = frozenset({*QUERY_WORDS, *_SHOWING_VERBS, "EXPLAIN", "INSERT", "TRUNCATE"})
_SCHEMA_VERBS: Final = frozenset({"USE", "SET", "EXECUTE", "BEGIN"})
_MAX_TOKENS: Final = 64


def changes_session(text: str) -> bool:
    """Return whether a statement changes the session: a setting, a temporary view, a variable."""
    head = head_of(text)
    return (head.verb == "CREATE" and head.is_temporary) or head.verb in _SESSION_VERBS


def keeps_session(text: str) -> bool:
    """Return whether a statement certainly leaves the session as it is. All statements of JetSQL do."""
    lead = lead_of(tokens(text))
    head = read_head(lead)
    if head.verb in _STATELESS_VERBS or is_jetsql(lead):
        return True
    kinds = {"CREATE": ("TABLE", "SCHEMA", "FUNCTION"), "DROP": ("TABLE", "SCHEMA")}.get(head.verb, ())
    return head.kind in kinds and not head.is_temporary


def is_read_only(text: str) -> bool:
    """Return whether a statement can safely be repeated."""
    return bool(text.split()) and not writing_word(text)


def is_about_existing(text: str) -> bool:
    """Return whether a statement, JetSQL's or Spark's, only shows what exists or controls a job that exists."""
    return head_of(text).verb in (*_SHOWING_VERBS, *CONTROL_VERBS)


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
    return head_of(text).verb in _SCHEMA_VERBS


def drop_question(text: str) -> str | None:
    """Return the question to ask before a statement drops an object or a state; None for other statements."""
    leading = list(islice(tokens(text), _MAX_TOKENS))
    head = read_head(leading)
    if head.verb != "DROP":
        return None
    if head.kind in ("TABLE", "VIEW", "SCHEMA") and not head.has_job:
        name = name_at(leading, head.name_at)
        is_whole = head.kind == "SCHEMA" and any(token.word == "CASCADE" for token in leading)
        written = "" if name is None else "".join(token.text for token in leading[head.name_at : name[1]])
        return f"Drop {head.kind.lower()} {written}{' with everything in it' if is_whole else ''}?" if written else None
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
    head = head_of(text)
    if head.verb != "CREATE" or head.kind != "JOB":
        return False
    try:
        statement = parse(text)
    except StatementError:
        return False
    return isinstance(statement, CreateJob) and not reads_stream(statement.body)
