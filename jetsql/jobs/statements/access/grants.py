"""GRANT, REVOKE, ALTER ... OWNER TO and REASSIGN OWNED BY."""

from __future__ import annotations

from dataclasses import replace

from jetsql.errors import StatementError
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import Grant, Right, Securable, SecurableKind
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.rights_table import RIGHTS
from jetsql.jobs.access.token_accounts import refused
from jetsql.jobs.lifecycle.events import ChangeOwner
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, name_key
from jetsql.jobs.statements.access.checks import check_owner
from jetsql.jobs.statements.access.objects import describe_object, find_object, find_table_object
from jetsql.jobs.statements.access.users import result
from jetsql.jobs.statements.lookup import find_job
from jetsql.jobs.statements.show import all_views
from jetsql.language.objects.rights_statement import (
    AlterOwner,
    GrantRights,
    GrantRole,
    ReassignOwned,
    RevokeRights,
    RevokeRole,
    RightsObject,
)
from jetsql.language.statement import Name
from jetsql.output.counts import counted
from jetsql.resultset import Table


def grant_rights(manager: Manager, statement: GrantRights, session: UserSession) -> Table:
    """Give rights. Raises StatementError OBJECT_NOT_FOUND, INVALID_GRANT, NOT_ALLOWED, and as `find_object`."""
    access = manager.access
    thing, rights = _checked(manager, statement, session)
    grantor, now = access.user, manager.clock()

    def add(state: AccessState) -> AccessState:
        grantee = access_changes.find_grantee(state, statement.grantee)
        made = (Grant(grantee, right, thing, statement.with_option, grantor, now) for right in rights)
        return access_changes.grant(state, made)

    before = access.state
    after = access.change(add).state
    words = ", ".join(right.value for right in rights)
    if before == after:
        return result(_shown(after, statement.grantee), f"{_subject(after, statement.grantee)} has {words} already.")
    on = f" on {describe_object(manager, thing)}" if statement.object.kind is not RightsObject.ENGINE else ""
    return result(_shown(after, statement.grantee), f"Granted {words}{on}.")


def revoke_rights(manager: Manager, statement: RevokeRights, session: UserSession) -> Table:
    """Take rights. Raises StatementError OBJECT_NOT_FOUND, INVALID_GRANT, NOT_ALLOWED, LAST_ADMIN."""
    access, place = manager.access, statement.grantee.place
    thing, rights = _checked(manager, statement, session)

    def remove(state: AccessState) -> AccessState:
        grantee = access_changes.find_grantee(state, statement.grantee)
        return access_changes.revoke(state, grantee, rights, thing, manager.clock(), place)

    before = access.state
    after, note = access.change(remove)
    words = ", ".join(right.value for right in rights)
    shown = _shown(after, statement.grantee)
    key = name_key(shown)
    kept = [right for right in rights if after.user(key) is not None and after.allowed(key, right, thing)]
    if before == after:
        return result(shown, f"{_subject(after, statement.grantee)} did not have {words} there, so nothing changed.")
    if kept:
        rest = ", ".join(right.value for right in kept)
        keeps = f"The user keeps {rest} by another grant: SHOW GRANTS FOR {shown}."
        return result(shown, join_sentences(f"Revoked {words}.", keeps, note))
    return result(shown, join_sentences(f"Revoked {words}.", note))


def _checked(
    manager: Manager, statement: GrantRights | RevokeRights, session: UserSession
) -> tuple[Securable, tuple[Right, ...]]:
    """Return the object and the rights of a statement, after the check that the caller can grant them."""
    thing = find_object(manager, statement.object, session)
    rights = tuple(dict.fromkeys(_right(name, thing, statement.object.kind) for name in statement.rights))
    access_changes.find_grantee(manager.access.state, statement.grantee)
    is_owner = thing.kind is SecurableKind.JOB and _owns(manager, thing)
    for right in rights:
        if not manager.access.state.may_grant(manager.access.user, right, thing, is_owner):
            verb = "GRANT" if isinstance(statement, GrantRights) else "REVOKE"
            raise refused(manager.access.user, f"{verb} {right.value}", Right.ADMIN)
    return thing, rights


def _right(name: Name, thing: Securable, written: RightsObject) -> Right:
    """Return a right that can be granted on the object. Raises StatementError INVALID_GRANT at its word."""
    right = Right(name.text)
    spec = RIGHTS[right]
    about_jobs = written is RightsObject.JOBS_IN_SCHEMA and right is not Right.OPERATE
    on_all = written is RightsObject.ALL_SCHEMAS and spec.objects == (SecurableKind.ENGINE,)
    if thing.kind in spec.grantable_on and not about_jobs and not on_all:
        return right
    kinds = ", ".join(kind.value for kind in spec.grantable_on if kind is not SecurableKind.ENGINE)
    message = f"{right.value} cannot be granted on {written.value or 'the engine'}."
    raise StatementError("INVALID_GRANT", message, place=name.place, hint=f"{right.value} is a right on {kinds}.")


def _owns(manager: Manager, thing: Securable) -> bool:
    job = manager.store.job(thing.name[0])
    return job is not None and job.owner == manager.access.user


def grant_role(manager: Manager, statement: GrantRole) -> Table:
    """Give a role. Raises StatementError OBJECT_NOT_FOUND, INVALID_GRANT."""
    before = manager.access.state
    after = manager.access.change(
        lambda state: access_changes.grant_role(state, statement.role, statement.grantee)
    ).state
    verb = "has the role already." if before == after else f"has the role {statement.role.text} now."
    return result(_shown(after, statement.grantee), f"{_subject(after, statement.grantee)} {verb}")


def revoke_role(manager: Manager, statement: RevokeRole) -> Table:
    """Take a role. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    before = manager.access.state
    now = manager.clock()
    after, note = manager.access.change(
        lambda state: access_changes.revoke_role(state, statement.role, statement.grantee, now)
    )
    verb = "did not have the role." if before == after else f"has the role {statement.role.text} no more."
    message = join_sentences(f"{_subject(after, statement.grantee)} {verb}", note)
    return result(_shown(after, statement.grantee), message)


def alter_owner(manager: Manager, statement: AlterOwner, session: UserSession) -> Table:
    """Give an object to another user. Raises StatementError OBJECT_NOT_FOUND, NOT_ALLOWED, and as `find_object`."""
    access, written = manager.access, statement.object
    owner = access_changes.find_user(access.state, statement.owner)
    if written.job is not None:
        job = find_job(manager, written.job).job
        if not access.is_admin:
            raise refused(access.user, "ALTER JOB ... OWNER TO", Right.ADMIN)
        if job.is_live:
            check_owner(manager, replace(job, owner=owner.key))
        _give_job(manager, job, owner.key)
        manager.give_snapshots(lambda snapshot: snapshot.job_id == job.id, owner.key)
        return result(job.name, f"The owner of the job {job.name} is {owner.name}.")
    thing = find_table_object(manager, written, session)
    if not access.is_admin:
        raise refused(access.user, f"ALTER {written.kind.value} ... OWNER TO", Right.ADMIN)
    change = access.change(lambda state: access_changes.set_owner(state, thing, owner.key))
    return result(str(written.name), join_sentences(f"The owner of {written.name} is {owner.name}.", change.note))


def reassign_owned(manager: Manager, statement: ReassignOwned) -> Table:
    """Give all objects of a user to another one. Raises StatementError OBJECT_NOT_FOUND.

    A job whose new owner lacks a right that it needs is suspended.
    """
    access = manager.access
    before = access_changes.find_user(access.state, statement.before)
    after = access_changes.find_user(access.state, statement.after)
    jobs = [view.job for view in all_views(manager) if view.job.owner == before.key]
    things = access.state.owned_by(before.key)
    for job in jobs:
        _give_job(manager, job, after.key)
    snapshots = manager.give_snapshots(lambda snapshot: snapshot.owner == before.key, after.key)
    change = access.change(lambda state: access_changes.reassign(state, before.key, after.key))
    given = " and ".join((counted(len(jobs), "job"), counted(len(things) + snapshots, "other object")))
    suspended = manager.owner_rights.suspend_refused(manager.view(job).job for job in jobs)
    return result(
        after.name, join_sentences(f"{after.name} owns {given} of {before.name} now.", change.note, suspended)
    )


def _give_job(manager: Manager, job: Job, owner: str) -> None:
    if job.owner != owner:
        manager.apply(job, ChangeOwner(owner))


def _shown(state: AccessState, name: Name) -> str:
    return state.shown_name(name_key(name.text))


def _subject(state: AccessState, name: Name) -> str:
    kind = "role" if state.role(name_key(name.text)) is not None else "user"
    return f"The {kind} {_shown(state, name)}"
