"""The names in a statement of a file: jobs, tables, views, functions, snapshots and alerts, and how it uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from itertools import islice
from typing import Final, get_args

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from jetsql.errors import Span
from jetsql.language import statement as st
from jetsql.language.objects.alert_statement import AlertStatement, CreateAlert
from jetsql.language.objects.connection_statement import ConnectionStatement
from jetsql.language.objects.rights_statement import RightsStatement
from jetsql.language.tokens import tokens
from jetsql.sqlfiles.lint_statement import CheckedStatement
from jetsql.sqlfiles.statement_names import created_by_spark, job_targets
from jetsql.sqlglot_dialect.sqlglot_calls import generate

_HEAD_TOKENS: Final = 40
"""The tokens of a statement up to the name that it creates."""


class NamedKind(Enum):
    """The kind of a named thing."""

    JOB = "job"
    TABLE = "table"
    VIEW = "view"
    FUNCTION = "function"
    SNAPSHOT = "snapshot"
    ALERT = "alert"


class NameUse(Enum):
    """The way in which a statement uses a thing."""

    CREATES = "creates"
    WRITES = "writes"  # the table of a job
    USES = "uses"


@dataclass(frozen=True)
class StatementName:
    """A name in a statement."""

    kind: NamedKind
    use: NameUse
    parts: tuple[str, ...]  # without back quotes
    place: Span  # in the statement


_CREATED: Final = {st.CreateSnapshot: NamedKind.SNAPSHOT, CreateAlert: NamedKind.ALERT}
_OF_OTHER_THINGS: Final = (*get_args(RightsStatement), *get_args(ConnectionStatement), st.StartTest)


@dataclass(frozen=True)
class DefinedColumn:
    """A column in a CREATE TABLE."""

    name: str
    type: str


def statement_names(checked: CheckedStatement) -> Iterator[StatementName]:
    """Yield the names in a statement, as far as it can be read."""
    statement = checked.statement
    if statement is None:
        yield from _names_of_spark(checked)
        return
    if isinstance(statement, st.CreateFunction):
        yield StatementName(NamedKind.FUNCTION, NameUse.CREATES, statement.name, statement.place)
        return
    job = checked.job
    if job is not None:
        yield from _names_of_job(job, checked)
        return
    for field in fields(statement):
        value = getattr(statement, field.name)
        if isinstance(value, st.TableIdentifier):
            yield StatementName(NamedKind.TABLE, NameUse.USES, value.parts, value.place)
        elif isinstance(value, st.Name) and (kind := _kind_of(statement, field.name)) is not None:
            creates = _CREATED.get(type(statement)) is kind
            yield StatementName(kind, NameUse.CREATES if creates else NameUse.USES, (value.text,), value.place)


def _kind_of(statement: st.Statement, field: str) -> NamedKind | None:
    """Return the kind of a name in a statement; None for users, roles, secrets, connections and tests."""
    if isinstance(statement, _OF_OTHER_THINGS):
        return None
    if isinstance(statement, get_args(AlertStatement)) and field == "name":
        return NamedKind.ALERT
    is_snapshot = "snapshot" in field or isinstance(statement, st.DropSnapshot)
    return NamedKind.SNAPSHOT if is_snapshot else NamedKind.JOB


def defined_columns(checked: CheckedStatement) -> tuple[DefinedColumn, ...]:
    """Return the columns that a CREATE TABLE lists."""
    tree = checked.query.tree
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
        return ()
    columns = (each for each in tree.this.expressions if isinstance(each, exp.ColumnDef))
    typed = ((each.name, each.kind) for each in columns)
    return tuple(DefinedColumn(name, _type_text(kind)) for name, kind in typed if kind is not None)


def _type_text(kind: exp.DataType) -> str:
    try:
        return generate(Spark(), kind).lower()
    except (SqlglotError, RecursionError):  # its generator recurses more deeply than its parser
        return f"{kind.this.value.lower()}<...>"


def _names_of_spark(checked: CheckedStatement) -> Iterator[StatementName]:
    created = created_by_spark(list(islice(tokens(checked.text), _HEAD_TOKENS)))
    if created is not None and created.kind != "SCHEMA":
        yield StatementName(NamedKind[created.kind], NameUse.CREATES, created.parts, created.place)
    for use in checked.query.reads:
        if created is None or use.place != created.place:
            yield StatementName(NamedKind.TABLE, NameUse.USES, use.parts, use.place)


def _names_of_job(job: st.CreateJob, checked: CheckedStatement) -> Iterator[StatementName]:
    is_table = isinstance(checked.statement, (st.CreateStreamingTable, st.ExplainCreateStreamingTable))
    creates = not isinstance(checked.statement, (st.ExplainCreateJob, st.ExplainCreateStreamingTable))
    use = NameUse.CREATES if creates else NameUse.USES
    if not is_table:
        yield StatementName(NamedKind.JOB, use, (job.name.text,), job.name.place)
    for target in job_targets(job, checked.text):
        writes = NameUse.WRITES if creates and job.table is None else use
        yield StatementName(NamedKind.TABLE, writes, target.parts, target.place)
    for read in checked.query.reads:
        yield StatementName(NamedKind.TABLE, NameUse.USES, read.parts, read.place)
