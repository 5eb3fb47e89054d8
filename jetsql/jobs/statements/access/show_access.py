"""SHOW USERS, ROLES, TOKENS and GRANTS: all rows for an admin, and the rows about oneself for other users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import ENGINE_ITSELF, Grant, Right, Securable, SecurableKind, UserToken
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.token_accounts import refused
from jetsql.jobs.access.user_limits import Limits, limits_of
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.job_settings import LIMIT_NAMES
from jetsql.jobs.statements.access.objects import find_object, object_name
from jetsql.jobs.statements.show import all_views
from jetsql.language.objects.rights_statement import ShowGrants, ShowRoles, ShowTokens, ShowUsers
from jetsql.language.statement import Name
from jetsql.request import OWNER
from jetsql.resultset import Column, Table, Value

USER_COLUMNS: Final = (
    Column("name", comment=f"its name; {OWNER} has the token of the home"),
    Column("status", comment="ENABLED or DISABLED"),
    Column("roles", comment="the roles of the user, without those through other roles"),
    Column("is_admin", "boolean", "whether the user has all rights"),
    Column("tokens", "bigint", "the number of tokens that have not expired"),
    Column("last_used", "timestamp", "when one of the tokens was used last, to the minute"),
    Column("created", "timestamp", "when CREATE USER created it; NULL for the built-in user"),
    Column("statements_most", "bigint", "the limit of statements at a time that applies; 0 for none"),
    Column("rows_most", "bigint", "the limit of rows of a statement that applies; 0 for none"),
    Column("statement_seconds", "double", "the limit of the time of a statement that applies; 0 for none"),
    Column("own_limits", comment="those of them that ALTER USER has set; NULL if all are of the settings"),
)
ROLE_COLUMNS: Final = (
    Column("name", comment="its name"),
    Column("members", comment="the users and roles that have it directly; NULL for others than an admin"),
    Column("created", "timestamp", "when CREATE ROLE created it"),
)
ACCESS_TOKEN_COLUMNS: Final = (
    Column("id", comment="names the token in DROP TOKEN"),
    Column("user", comment="the user who logs in with it"),
    Column("status", comment="VALID, EXPIRED, or DISABLED with its user"),
    Column("comment", comment="the COMMENT of the token"),
    Column("created", "timestamp", "when CREATE TOKEN created it"),
    Column("expires", "timestamp", "when it expires; NULL for a token without end"),
    Column("last_used", "timestamp", "when it was used last, to the minute; NULL if never"),
)
GRANT_COLUMNS: Final = (
    Column("grantee", comment="the user or the role"),
    Column("right", comment="the right; OWNER for the owner of the object, ROLE for a role"),
    Column("kind", comment="the kind of the object: TABLE, which includes views, SCHEMA, JOB, ENGINE ..."),
    Column("object", comment="its name; NULL for the engine and all schemas"),
    Column("with_option", "boolean", "whether the grantee can grant the right to others"),
    Column("grantor", comment="the user who granted it"),
    Column("granted", "timestamp", "when"),
)


def show_users(manager: Manager, statement: ShowUsers) -> Table:
    """Return the users by name, the built-in one first."""
    return Table(USER_COLUMNS, tuple(_user_rows(manager)))


def _user_rows(manager: Manager) -> Iterator[tuple[Value, ...]]:
    access, now = manager.access, manager.clock()
    state = access.state
    if access.is_admin:
        built_in = state.user(OWNER)
        status = "DISABLED" if built_in is not None and built_in.disabled else "ENABLED"
        yield (OWNER, status, None, True, None, None, None, *Limits(), None)
    for user in sorted(state.users, key=lambda user: user.key):
        if user.key == OWNER or not (access.is_admin or user.key == access.user):
            continue
        tokens = state.tokens_of(user.key)
        used = [token.last_used for token in tokens if token.last_used is not None]
        roles = ", ".join(sorted(state.shown_name(each.role) for each in state.members if each.member == user.key))
        valid = sum(token.is_valid(now) for token in tokens)
        status = "DISABLED" if user.disabled else "ENABLED"
        last_used = max(used, default=None)
        own = ", ".join(name for name in LIMIT_NAMES if getattr(user, name) is not None)
        facts = (user.name, status, roles or None, state.is_admin(user.key), valid, last_used, user.created)
        yield (*facts, *limits_of(state, user.key, access.limits), own or None)


def show_roles(manager: Manager, statement: ShowRoles) -> Table:
    """Return the roles by name, with their members; other users than an admin see their own roles, without members."""
    access = manager.access
    state = access.state
    own = state.roles_of(access.user)
    rows: list[tuple[Value, ...]] = []
    for role in sorted(state.roles, key=lambda role: role.key):
        if access.is_admin or role.key in own:
            members = ", ".join(
                sorted(state.shown_name(each.member) for each in state.members if each.role == role.key)
            )
            rows.append((role.name, (members or None) if access.is_admin else None, role.created))
    return Table(ROLE_COLUMNS, tuple(rows))


def show_tokens(manager: Manager, statement: ShowTokens) -> Table:
    """Return the tokens, newest first. Raises StatementError OBJECT_NOT_FOUND, NOT_ALLOWED for another user."""
    access, now = manager.access, manager.clock()
    wanted = _wanted(manager, statement.user, "SHOW TOKENS FOR another user")
    tokens = sorted(access.state.tokens, key=lambda token: token.created, reverse=True)
    rows = (_token_row(access.state, token, now) for token in tokens if wanted in (None, token.user))
    return Table(ACCESS_TOKEN_COLUMNS, tuple(rows))


def _token_row(state: AccessState, token: UserToken, now: float) -> tuple[Value, ...]:
    status = "VALID" if token.is_valid(now) else "EXPIRED"
    if not state.is_active(token.user):
        status = "DISABLED"
    user = state.shown_name(token.user)
    return (token.id, user, status, token.comment, token.created, token.expires, token.last_used)


def show_grants(manager: Manager, statement: ShowGrants, session: UserSession) -> Table:
    """Return the rights, by user or role. Rights through roles are those of the roles.

    Raises StatementError OBJECT_NOT_FOUND, NOT_ALLOWED for another user, and as `find_object`.
    """
    access = manager.access
    state = access.state
    if statement.grantee is not None and state.role(name_key(statement.grantee.text)) is not None:
        wanted: str | None = name_key(statement.grantee.text)
        if not access.is_admin and wanted not in state.roles_of(access.user):
            raise refused(access.user, "SHOW GRANTS FOR another role", Right.ADMIN)
    else:
        wanted = _wanted(manager, statement.grantee, "SHOW GRANTS FOR another user")
    thing = None if statement.object is None else find_object(manager, statement.object, session)
    names = None if wanted is None else {wanted, *state.roles_of(wanted)}
    rows = [
        _grant_row(manager, grant)
        for grant in sorted((*state.grants, *_ownerships(manager)), key=lambda grant: grant.key)
        if (names is None or grant.grantee in names) and thing in (None, grant.object)
    ]
    if thing is None:
        rows += [
            (state.shown_name(each.member), "ROLE", "ROLE", state.shown_name(each.role), None, None, None)
            for each in sorted(state.members)
            if names is None or each.member in names
        ]
    return Table(GRANT_COLUMNS, tuple(rows))


def _ownerships(manager: Manager) -> Iterator[Grant]:
    """Return the owners of objects in the form of grants, without what belongs to the built-in user."""
    for each in manager.access.state.owners:
        yield Grant(each.owner, Right.OWNER, each.object)
    for view in all_views(manager):
        if view.job.owner != OWNER:
            yield Grant(view.job.owner, Right.OWNER, Securable(SecurableKind.JOB, (view.job.id,)))


def _grant_row(manager: Manager, grant: Grant) -> tuple[Value, ...]:
    state = manager.access.state
    is_owner = grant.right is Right.OWNER
    return (
        state.shown_name(grant.grantee),
        grant.right.value,
        grant.object.kind.value,
        None if grant.object == ENGINE_ITSELF else object_name(manager, grant.object),
        None if is_owner else grant.with_option,
        None if is_owner else state.shown_name(grant.grantor),
        None if is_owner else grant.granted,
    )


def _wanted(manager: Manager, name: Name | None, what: str) -> str | None:
    """Return the key of the user whose rows are wanted; None for all."""
    access = manager.access
    if name is None:
        return None if access.is_admin else access.user
    if not access.is_admin and name_key(name.text) != access.user:
        raise refused(access.user, what, Right.ADMIN)
    return access_changes.find_user(access.state, name).key
