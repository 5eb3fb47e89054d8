"""Change the head of a declaration: create the object, or replace it; and note the group of a job or an alert in it.

The changed statement knows the places of its words in the file, so that the errors of the engine are shown there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jetsql.errors import Span
from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.planning.options import spec_of
from jetsql.language import statement as st
from jetsql.language.objects.alert_statement import CreateAlert
from jetsql.language.objects.object_names import APPLY_GROUP
from jetsql.language.statement_head import read_head
from jetsql.language.tokens import Token, tokens
from jetsql.script import PreparedStatement
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind

_REPLACED: dict[ObjectKind, str] = {
    ObjectKind.JOB: "OR REPLACE",
    ObjectKind.VIEW: "OR REPLACE",
    ObjectKind.FUNCTION: "OR REPLACE",
    ObjectKind.SECRET: "OR REPLACE",
    ObjectKind.CONNECTION: "OR REPLACE",
    ObjectKind.STREAMING_TABLE: "OR REFRESH",
    ObjectKind.MATERIALIZED_VIEW: "OR REFRESH",
    ObjectKind.ALERT: "OR REPLACE",
}


def creating(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that creates the object, and fails if it exists. group: see `replacing`"""
    # The table of a job can exist without the job: only OR REFRESH continues to use it.
    if declaration.kind in (ObjectKind.STREAMING_TABLE, ObjectKind.MATERIALIZED_VIEW):
        return replacing(declaration, group)
    return _edited(declaration, "", group)


def replacing(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that creates the object, or replaces it.

    group: the group of a job or an alert; empty to leave the options as they are.
    """
    return _edited(declaration, _REPLACED[declaration.kind], group)


def explaining(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that explains what `replacing` would do."""
    return replace(replacing(declaration, group), prefix="EXPLAIN ")


def group_of(declaration: Declaration) -> st.OptionText | None:
    """Return the option with the group of a job or an alert as the statement has it, or None."""
    statement = declaration.checked.statement
    return _group_option(statement if isinstance(statement, CreateAlert) else declaration.checked.job)


def stored_group(statement: st.Statement | None) -> str:
    """Return the group in the statement of a job; empty without one."""
    option = _group_option(created_job(statement))
    return "" if option is None else option.value


def created_job(statement: st.Statement | None) -> st.CreateJob | None:
    """Return the job that a statement of an engine creates, or None."""
    create = statement.create if isinstance(statement, st.CreateStreamingTable) else statement
    return create if isinstance(create, st.CreateJob) else None


def _group_option(statement: st.CreateJob | CreateAlert | None) -> st.OptionText | None:
    options = () if statement is None else statement.options
    named = (each for each in options if (spec := spec_of(each.key)) is not None and spec.name == APPLY_GROUP)
    return next(named, None)


def _edited(declaration: Declaration, after_create: str, group: str) -> PreparedStatement:
    prepared = declaration.prepared
    edits = [*_head_edits(declaration, after_create), *_group_edits(declaration, group)]
    return replace(prepared, filled=prepared.filled.edit(edits)) if edits else prepared


def _head_edits(declaration: Declaration, after_create: str) -> Iterator[tuple[Span, str]]:
    found = list(tokens(declaration.text))
    head = read_head(found)
    written = f"OR {head.replaces}" if head.replaces else ""
    if written and written != after_create:
        yield Span(found[1].start, found[2].stop), after_create
    elif after_create and not written:
        yield Span(found[0].stop, found[0].stop), f" {after_create}"
    if head.guard:
        yield Span(found[head.name_at - len(head.guard.split())].start, found[head.name_at - 1].stop), ""


def _group_edits(declaration: Declaration, group: str) -> Iterator[tuple[Span, str]]:
    statement = declaration.checked.statement
    created = statement if isinstance(statement, CreateAlert) else declaration.checked.job
    if not group or created is None or _group_option(created) is not None:
        return
    option = f"{quoted_text(APPLY_GROUP)} = {quoted_text(group)}"
    if created.options:
        at = created.options[0].key_place.start
        yield Span(at, at), f"{option}, "
    elif isinstance(created, CreateAlert):
        at = created.call.name.place.stop
        yield Span(at, at), f" OPTIONS ({option})"
    elif declaration.kind is ObjectKind.JOB:
        at = _as_before(list(tokens(declaration.text)), created.body.place.start)
        yield Span(at, at), f"OPTIONS ({option}) "
    else:
        at = declaration.place.stop
        yield Span(at, at), f" JOB OPTIONS ({option})"


def _as_before(found: Sequence[Token], body: int) -> int:
    """Return the offset of the AS before the body of a job."""
    return next(token.start for token in reversed(found) if token.stop <= body)
