"""CREATE, ALTER and DROP USER, ROLE and TOKEN."""

from __future__ import annotations

from typing import Final

from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.errors import StatementError
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import UserToken
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.user_limits import limits_of
from jetsql.jobs.access.user_tokens import make_token
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.job_settings import LIMIT_NAMES, unknown_limit
from jetsql.jobs.statements.access.objects import describe_object
from jetsql.jobs.statements.show import all_views
from jetsql.language.objects.rights_statement import (
    AlterUser,
    CreateRole,
    CreateToken,
    CreateUser,
    DropRole,
    DropToken,
    DropUser,
)
from jetsql.language.statement import Name
from jetsql.request import OWNER
from jetsql.resultset import Column, Table

RESULT_COLUMNS: Final = (Column("name"), Column("message"))
TOKEN_COLUMNS: Final = (
    Column("id", comment="names the token in DROP TOKEN"),
    Column("token", comment="the token, which is shown only here"),
    Column("user", comment="the user who logs in with it"),
    Column("expires", "timestamp", "when it expires; NULL for a token without end"),
    Column("message"),
)
_DAY: Final = 86400.0
_LATEST: Final = 253402300799.0  # the year 9999
_FIRST_USER: Final = (
    "This is the first user, so rights apply from now on. "
    f"The token of the home still has all rights, as the user {OWNER}. "
    f"Clients of Thrift and Spark Connect name the user of their token, which is {OWNER} for that of the home. "
    "Spark Connect needs the right ADMIN, and /metrics the right MONITOR. "
    "A user has no rights until GRANT gives them. DROP USER of all users ends this."
)


def result(name: str, message: str) -> Table:
    """Return the result of a statement: the name of its object, and a message."""
    return Table(RESULT_COLUMNS, ((name, message),))


def create_user(manager: Manager, statement: CreateUser) -> Table:
    """Create a user. Raises StatementError USER_ALREADY_EXISTS, INVALID_NAME, ENDPOINT_NOT_ENCRYPTED."""
    access, name = manager.access, statement.name
    if statement.if_not_exists and (existing := access.state.user(name_key(name.text))) is not None:
        return result(existing.name, "A user with this name already exists.")
    is_first = not access.state.has_users
    if is_first and access.readable_on_network:
        message = (
            f"Cannot create the first user {name.text}: others on the network could read the tokens of users, because"
            f" an endpoint without TLS is open to it: {', '.join(access.readable_on_network)}."
        )
        hint = f"{CONDITIONS['ENDPOINT_NOT_ENCRYPTED'].remedy} Then start the engine again."
        raise StatementError("ENDPOINT_NOT_ENCRYPTED", message, place=name.place, hint=hint)
    access.change(lambda state: access_changes.add_user(state, name, manager.clock()))
    hint = f"CREATE TOKEN FOR {_written(name)} makes a token to log in with."
    return result(name.text, join_sentences("Created.", hint, _FIRST_USER if is_first else ""))


def alter_user(manager: Manager, statement: AlterUser) -> Table:
    """Disable or enable a user, or set limits. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN, UNKNOWN_OPTION."""
    name, disable = statement.name, statement.disable
    if disable is None:
        return _set_limits(manager, statement)
    user = access_changes.find_user(manager.access.state, name)
    if user.disabled is disable:
        return result(user.name, f"The user is {'disabled' if disable else 'enabled'} already.")
    change = manager.access.change(lambda state: access_changes.set_disabled(state, name, disable, manager.clock()))
    if not disable:
        return result(user.name, "Enabled. The tokens of the user are accepted again.")
    if user.key == OWNER:
        return result(user.name, "Disabled. All endpoints refuse the token of the home from now on.")
    return result(user.name, join_sentences("Disabled. The tokens of the user are refused from now on.", change.note))


def _set_limits(manager: Manager, statement: AlterUser) -> Table:
    name = statement.name
    changes: dict[str, int | None] = dict.fromkeys(LIMIT_NAMES) if statement.reset_all else {}
    for limit, value in statement.limits:
        if unknown := unknown_limit(limit.text):
            message, hint = unknown
            raise StatementError("UNKNOWN_OPTION", message, place=limit.place, hint=hint)
        changes[limit.text.lower()] = value
    state = manager.access.change(lambda state: access_changes.set_limits(state, name, changes)).state
    user = access_changes.find_user(state, name)
    if state.is_admin(user.key):
        return result(user.name, "Changed. The user has ADMIN, so no limits apply to it.")
    applied = limits_of(state, user.key, manager.access.limits)
    shown = ", ".join(f"{key} = {value:g}" for key, value in applied._asdict().items())
    return result(user.name, f"Changed. From the next statement on, the limits are {shown} (0 for none).")


def drop_user(manager: Manager, statement: DropUser) -> Table:
    """Drop a user. Raises StatementError OBJECT_NOT_FOUND, USER_OWNS_OBJECTS, LAST_ADMIN."""
    name = statement.name
    if statement.if_exists and manager.access.state.user(name_key(name.text)) is None:
        return result(name.text, f"There is no user named {name.text}; nothing to drop.")
    key = name_key(name.text)
    jobs = [f"the job {view.job.name}" for view in all_views(manager) if view.job.owner == key]
    snapshots = [f"the snapshot {each.name}" for each in manager.store.snapshots() if each.owner == key]

    def drop(state: AccessState) -> AccessState:
        things = [describe_object(manager, thing) for thing in state.owned_by(key)]
        return access_changes.remove_user(state, name, [*jobs, *snapshots, *things], manager.clock())

    change = manager.access.change(drop)
    last = "" if change.state.has_users else "The engine has no users any more, so rights do not apply."
    return result(name.text, join_sentences("Dropped, with tokens and rights.", last, change.note))


def create_role(manager: Manager, statement: CreateRole) -> Table:
    """Create a role. Raises StatementError USER_ALREADY_EXISTS, INVALID_NAME."""
    name = statement.name
    if statement.if_not_exists and (existing := manager.access.state.role(name_key(name.text))) is not None:
        return result(existing.name, "A role with this name already exists.")
    manager.access.change(lambda state: access_changes.add_role(state, name, manager.clock()))
    return result(name.text, f"Created. GRANT {_written(name)} TO user gives it to a user.")


def drop_role(manager: Manager, statement: DropRole) -> Table:
    """Drop a role. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    name = statement.name
    if statement.if_exists and manager.access.state.role(name_key(name.text)) is None:
        return result(name.text, f"There is no role named {name.text}; nothing to drop.")
    change = manager.access.change(lambda state: access_changes.remove_role(state, name, manager.clock()))
    return result(name.text, join_sentences("Dropped, with its rights.", change.note))


def create_token(manager: Manager, statement: CreateToken) -> Table:
    """Create a token, and return it once. Raises StatementError OBJECT_NOT_FOUND, INVALID_GRANT."""
    user = access_changes.find_user(manager.access.state, statement.user)
    if user.key == OWNER:
        message = f"The token of the user {OWNER} is in the file engine.token of the home."
        raise StatementError("INVALID_GRANT", message, place=statement.user.place, hint="Name another user.")
    now, made = manager.clock(), make_token()
    expires = None if statement.days is None else min(now + statement.days * _DAY, _LATEST)
    token = UserToken(made.id, user.key, made.digest, now, expires, statement.comment)

    def add(state: AccessState) -> AccessState:
        access_changes.find_user(state, statement.user)
        return access_changes.add_token(state, token)

    manager.access.change(add)
    disabled = "The user is disabled, so it is not accepted yet." if user.disabled else ""
    message = join_sentences("Keep it: it is shown only here. The engine has only its hash.", disabled)
    return Table(TOKEN_COLUMNS, ((made.id, made.text, user.name, expires, message),))


def drop_token(manager: Manager, statement: DropToken) -> Table:
    """Drop a token: of any user as an admin, or an own one. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    access, name = manager.access, statement.token
    token = access.state.token(name.text)
    if token is not None and not access.is_admin and token.user != access.user:
        token = None
    if token is None and statement.if_exists:
        return result(name.text, f"There is no token with the id '{name.text}'; nothing to drop.")
    if token is None:
        if name.text == OWNER:
            hint = f"Run ALTER USER {OWNER} DISABLE to refuse the token of the home."
        else:
            hint = "SHOW TOKENS lists the ids of the tokens, which are their characters 5 to 12."
        message = f"There is no token with the id '{name.text}'."
        raise StatementError("OBJECT_NOT_FOUND", message, place=name.place, hint=hint)
    found = token
    access.change(lambda state: access_changes.remove_token(state, found, manager.clock(), name.place))
    return result(token.id, f"Dropped. The token of {access.state.shown_name(token.user)} is refused from now on.")


def _written(name: Name) -> str:
    from jetsql.language.tokens import written_name

    return written_name(name.text)
