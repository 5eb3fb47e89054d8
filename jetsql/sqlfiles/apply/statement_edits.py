"""Change the head of a declaration: create the object, or replace it; and note the group of a job in its options.

The changed statement knows the places of its words in the file, so that the errors of the engine are shown there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jetsql.errors import Span
from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.planning.options import APPLY_GROUP, spec_of
from jetsql.language import statement as st
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
}


def creating(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that creates the object, and fails if it exists. group: of a job, see `replacing`."""
    # The table of a job can exist without the job: only OR REFRESH continues to use it.
    if declaration.kind in (ObjectKind.STREAMING_TABLE, ObjectKind.MATERIALIZED_VIEW):
        return replacing(declaration, group)
    return _edited(declaration, "", group)


def replacing(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that creates the object, or replaces it.

    group: the group of a job; empty to leave the options as they are.
    """
    return _edited(declaration, _REPLACED[declaration.kind], group)


def explaining(declaration: Declaration, group: str = "") -> PreparedStatement:
    """Return the statement that explains what `replacing` would do."""
    return replace(replacing(declaration, group), prefix="EXPLAIN ")


def group_of(declaration: Declaration) -> st.OptionText | None:
    """Return the option with the group of a job as the statement has it, or None."""
    job = declaration.checked.job
    return None if job is None else _group_option(job)


def stored_group(statement: st.Statement | None) -> str:
    """Return the group in the statement of a job; empty without one."""
    create = statement.create if isinstance(statement, st.CreateStreamingTable) else statement
    option = _group_option(create) if isinstance(create, st.CreateJob) else None
    return "" if option is None else option.value


def _group_option(job: st.CreateJob) -> st.OptionText | None:
    named = (each for each in job.options if (spec := spec_of(each.key)) is not None and spec.name == APPLY_GROUP)
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
    job = declaration.checked.job
    if not group or job is None or _group_option(job) is not None:
        return
    option = f"{quoted_text(APPLY_GROUP)} = {quoted_text(group)}"
    if job.options:
        at = job.options[0].key_place.start
        yield Span(at, at), f"{option}, "
    elif declaration.kind is ObjectKind.JOB:
        at = _as_before(list(tokens(declaration.text)), job.body.place.start)
        yield Span(at, at), f"OPTIONS ({option}) "
    else:
        at = declaration.place.stop
        yield Span(at, at), f" JOB OPTIONS ({option})"


def _as_before(found: Sequence[Token], body: int) -> int:
    """Return the offset of the AS before the body of a job."""
    return next(token.start for token in reversed(found) if token.stop <= body)
