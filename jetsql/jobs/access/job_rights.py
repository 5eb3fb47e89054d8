"""The rights that a job needs on the tables that it writes, and whose jobs a change of rights can concern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jetsql.errors import StatementError
from jetsql.jobs.access.access_records import Right, SecurableKind
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.model.job import Job, Plan
from jetsql.request import OWNER


def needed_rights(plan: Plan, side_tables: Sequence[str]) -> Iterator[tuple[Right, str]]:
    """Return the rights that the owner of a job needs on the tables that it writes, with their qualified names.

    side_tables: the tables for late rows and dead letters
    """
    for written in plan.sinks:
        changes_rows = written.upsert or written.deletes or written.retracts
        if not written.overwrite:
            yield Right.INSERT, written.sink.table
        if written.overwrite or changes_rows:
            yield Right.MODIFY, written.sink.table
    yield from ((Right.INSERT, table) for table in side_tables)


def used_tables(job: Job) -> Iterator[tuple[str, str]]:
    """Return the tables that a job reads and writes, with the right that each needs, as the audit log names them."""
    for source in job.plan.analysis.sources:
        yield Right.SELECT.value, source.name
    for right, table in needed_rights(job.plan, ()):
        yield right.value, table


def lost_rights(owner: str) -> StatementError:
    """Return the error for a job whose owner may not do what it does. It names no object: others see it, too."""
    return StatementError(
        "NOT_ALLOWED",
        f"The owner of the job, {owner}, lacks a right that the job needs.",
        hint="The owner and admins see which one with RESUME JOB, which also starts the job when the right is granted.",
    )


def unchecked_rights(owner: str) -> StatementError:
    """Return the error for a job whose body cannot be analysed to check the rights of its owner. It names no object."""
    return StatementError(
        "NOT_ALLOWED",
        f"The rights of the job's owner, {owner}, cannot be checked now: its statement cannot be analysed.",
        hint="The owner and admins see the reason with RESUME JOB, which also starts the job when the check succeeds.",
    )


def weakened_owners(before: AccessState, after: AccessState) -> frozenset[str] | None:
    """Return the users who may do less after a change; None if the jobs of all users can be concerned.

    A view is read with the rights of its owner, so a change of its owner concerns the jobs of others.
    """
    if not after.has_users:
        return frozenset()
    users = {user.key for user in before.users} - {OWNER}
    weakened = frozenset(user for user in users if not _held(before, user) <= _held(after, user))
    own_tables = {user for user in weakened if _tables(before, user) or _tables(after, user)}
    return None if own_tables else weakened


def _held(state: AccessState, user: str) -> frozenset[object]:
    """Return all that a user may do, as values that can be compared."""
    if not state.is_active(user):
        return frozenset()
    granted = {(grant.right, grant.object) for grant in state.effective(user)}
    owned = {(Right.OWNER, thing) for thing in state.owned_by(user)}
    return frozenset({"active", *granted, *owned})


def _tables(state: AccessState, user: str) -> bool:
    return any(thing.kind is SecurableKind.TABLE for thing in state.owned_by(user))
