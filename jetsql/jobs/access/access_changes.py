"""The changes of users, roles, tokens and rights: each returns the next state, or raises StatementError.

Pure functions, so that the rules need no store: names are unique among users and roles, a role never has itself, and an
admin can always log in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.access.access_records import Grant, Ownership, Right, RoleMember, Securable, User, UserRole, UserToken
from jetsql.jobs.access.access_state import BUILT_IN, AccessState, containers
from jetsql.jobs.model.job import name_key
from jetsql.language.statement import Name
from jetsql.request import OWNER

RESERVED: Final = frozenset({*BUILT_IN, "system", "public", *(name_key(right.value) for right in Right)})
"""The names that no user or role can have: GRANT would read some of them as rights."""


# --- users ------------------------------------------------------------------------------------------------------------


def add_user(state: AccessState, name: Name, now: float) -> AccessState:
    """Add a user. Raises StatementError USER_ALREADY_EXISTS, INVALID_NAME."""
    _check_new(state, name)
    return replace(state, users=(*state.users, User(name.text, now)))


def remove_user(state: AccessState, name: Name, owned: Collection[str], now: float) -> AccessState:
    """Remove a user with tokens and rights.

    owned: descriptions of what the user owns. Raises StatementError OBJECT_NOT_FOUND, USER_OWNS_OBJECTS, LAST_ADMIN.
    """
    user = find_user(state, name)
    if user.key == OWNER:
        message = f"The user {OWNER} is built in."
        raise StatementError("INVALID_GRANT", message, place=name.place, hint=f"Run ALTER USER {OWNER} DISABLE.")
    if owned:
        shown = ", ".join(sorted(owned))
        raise StatementError(
            "USER_OWNS_OBJECTS",
            f"Cannot drop the user {user.name}, who owns {shown}.",
            place=name.place,
            hint=f"Drop them, or run REASSIGN OWNED BY {user.name} TO another user first.",
        )
    without = _without_name(state, user.key)
    tokens = tuple(token for token in state.tokens if token.user != user.key)
    after = replace(without, users=tuple(each for each in state.users if each.key != user.key), tokens=tokens)
    return _with_admin(after, now, f"drop the user {user.name}", name.place)


def set_disabled(state: AccessState, name: Name, disabled: bool, now: float) -> AccessState:
    """Disable or enable a user, also the built-in one. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    user = find_user(state, name)
    others = tuple(each for each in state.users if each.key != user.key)
    is_needed = disabled or user.key != OWNER
    after = replace(state, users=(*others, replace(user, disabled=disabled)) if is_needed else others)
    return _with_admin(after, now, f"disable the user {user.name}", name.place)


def set_limits(state: AccessState, name: Name, limits: Mapping[str, Any]) -> AccessState:
    """Set limits of a user by their names; None for those of the settings. Raises StatementError OBJECT_NOT_FOUND."""
    user = find_user(state, name)
    if user.key == OWNER:
        message = f"The user {OWNER} has all rights, so it has no limits."
        raise StatementError("INVALID_GRANT", message, place=name.place, hint="Name another user.")
    changed = replace(user, **limits)
    return replace(state, users=tuple(changed if each.key == user.key else each for each in state.users))


def find_user(state: AccessState, name: Name) -> User:
    """Return the user with a name, also the built-in one. Raises StatementError OBJECT_NOT_FOUND."""
    key = name_key(name.text)
    user = state.user(key)
    if user is not None:
        return user
    if key == OWNER:
        return User(OWNER, 0.0)
    if state.role(key) is not None:
        message, hint = f"{name.text} is a role, not a user.", "Name a user; SHOW USERS lists them."
    else:
        message, hint = f"There is no user named {name.text}.", "SHOW USERS lists the users."
    raise StatementError("OBJECT_NOT_FOUND", message, place=name.place, hint=hint)


# --- roles ------------------------------------------------------------------------------------------------------------


def add_role(state: AccessState, name: Name, now: float) -> AccessState:
    """Add a role. Raises StatementError USER_ALREADY_EXISTS, INVALID_NAME."""
    _check_new(state, name)
    return replace(state, roles=(*state.roles, UserRole(name.text, now)))


def remove_role(state: AccessState, name: Name, now: float) -> AccessState:
    """Remove a role with its rights. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    role = find_role(state, name)
    after = replace(_without_name(state, role.key), roles=tuple(each for each in state.roles if each.key != role.key))
    return _with_admin(after, now, f"drop the role {role.name}", name.place)


def find_role(state: AccessState, name: Name) -> UserRole:
    """Return the role with a name. Raises StatementError OBJECT_NOT_FOUND."""
    role = state.role(name_key(name.text))
    if role is None:
        message, hint = f"There is no role named {name.text}.", "SHOW ROLES lists the roles."
        if state.user(name_key(name.text)) is not None:
            message, hint = (
                f"{name.text} is a user, not a role.",
                "Grant a role or a right; SHOW ROLES lists the roles.",
            )
        raise StatementError("OBJECT_NOT_FOUND", message, place=name.place, hint=hint)
    return role


def grant_role(state: AccessState, role: Name, to: Name) -> AccessState:
    """Give a role to a user or a role. Raises StatementError OBJECT_NOT_FOUND, INVALID_GRANT."""
    member = find_grantee(state, to)
    key = find_role(state, role).key
    if state.is_cycle(key, member):
        has = "is the same role" if key == member else f"has the role {state.shown_name(member)} itself"
        message = f"Cannot grant the role {state.shown_name(key)} to {state.shown_name(member)}, because it {has}."
        raise StatementError(
            "INVALID_GRANT", message, place=to.place, hint="Revoke one of the two, or use another role."
        )
    return replace(state, members=tuple(dict.fromkeys((*state.members, RoleMember(key, member)))))


def revoke_role(state: AccessState, role: Name, of: Name, now: float) -> AccessState:
    """Take a role from a user or a role. Raises StatementError OBJECT_NOT_FOUND, LAST_ADMIN."""
    member = find_grantee(state, of)
    gone = RoleMember(find_role(state, role).key, member)
    after = replace(state, members=tuple(each for each in state.members if each != gone))
    return _with_admin(after, now, f"revoke the role {role.text} from {state.shown_name(member)}", of.place)


def set_roles(state: AccessState, name: str, roles: frozenset[str], now: float) -> AccessState:
    """Set the direct roles of a user, who is created with the first one. roles: the keys.

    Raises StatementError LAST_ADMIN.
    """
    key = name_key(name)
    if state.user(key) is None and not roles:
        return state
    users = state.users if state.user(key) is not None else (*state.users, User(name, now))
    kept = tuple(each for each in state.members if each.member != key or each.role in roles)
    added = (RoleMember(role, key) for role in sorted(roles))
    after = replace(state, users=users, members=tuple(dict.fromkeys((*kept, *added))))
    return _with_admin(after, now, f"revoke a role from {name}", None)


def find_grantee(state: AccessState, name: Name) -> str:
    """Return the key of the user or role that gets or loses a right. Raises StatementError OBJECT_NOT_FOUND."""
    key = name_key(name.text)
    if key == OWNER:
        message = f"The user {OWNER} has all rights, which cannot be changed."
        raise StatementError("INVALID_GRANT", message, place=name.place, hint="Name another user, or a role.")
    if state.user(key) is None and state.role(key) is None:
        hint = "SHOW USERS lists the users, and SHOW ROLES the roles."
        message = f"There is no user or role named {name.text}."
        raise StatementError("OBJECT_NOT_FOUND", message, place=name.place, hint=hint)
    return key


# --- tokens -----------------------------------------------------------------------------------------------------------


def add_token(state: AccessState, token: UserToken) -> AccessState:
    """Add a token of a user that exists."""
    return replace(state, tokens=(*state.tokens, token))


def remove_token(state: AccessState, token: UserToken, now: float, place: Span | None = None) -> AccessState:
    """Remove a token. Raises StatementError LAST_ADMIN."""
    after = replace(state, tokens=tuple(each for each in state.tokens if each.id != token.id))
    return _with_admin(after, now, f"drop the token {token.id}", place)


def note_use(state: AccessState, token: UserToken, now: float) -> AccessState:
    """Set the time when a token was used last; a token that was dropped meanwhile stays dropped."""
    tokens = (replace(each, last_used=now) if each.id == token.id else each for each in state.tokens)
    return replace(state, tokens=tuple(tokens))


# --- rights -----------------------------------------------------------------------------------------------------------


def grant(state: AccessState, grants: Iterable[Grant]) -> AccessState:
    """Give rights. A grant with the option replaces one without, and not the other way round."""
    by_key = {each.key: each for each in state.grants}
    for each in grants:
        before = by_key.get(each.key)
        if before is None or (each.with_option and not before.with_option):
            by_key[each.key] = each
    return replace(state, grants=tuple(by_key.values()))


def revoke(
    state: AccessState, grantee: str, rights: Collection[Right], thing: Securable, now: float, place: Span | None = None
) -> AccessState:
    """Take rights on an object. Raises StatementError LAST_ADMIN."""
    gone = {(grantee, right, thing) for right in rights}
    after = replace(state, grants=tuple(each for each in state.grants if each.key not in gone))
    return _with_admin(after, now, f"revoke ADMIN from {state.shown_name(grantee)}", place)


def set_owner(state: AccessState, thing: Securable, owner: str) -> AccessState:
    """Make a user the owner of an object other than a job. owner: the key"""
    others = tuple(each for each in state.owners if each.object != thing)
    return replace(state, owners=others if owner == OWNER else (*others, Ownership(thing, owner)))


def reassign(state: AccessState, before: str, after: str) -> AccessState:
    """Give all objects of a user other than jobs to another one. before, after: the keys"""
    for thing in state.owned_by(before):
        state = set_owner(state, thing, after)
    return state


def create_object(state: AccessState, thing: Securable, owner: str) -> AccessState:
    """Make a user the owner of a new object, without rights of an earlier one with its name. owner: the key"""
    return set_owner(drop_object(state, thing), thing, owner)


def rename_object(state: AccessState, thing: Securable, renamed: Securable) -> AccessState:
    """Move the rights on an object to its new name. An earlier object with this name had rights of its own."""
    state = drop_object(state, renamed)
    return replace(
        state,
        grants=tuple(replace(each, object=renamed) if each.object == thing else each for each in state.grants),
        owners=tuple(replace(each, object=renamed) if each.object == thing else each for each in state.owners),
    )


def drop_object(state: AccessState, thing: Securable) -> AccessState:
    """Remove the rights on an object that was dropped and on what it contained, and their owners."""

    def remains(each: Securable) -> bool:
        return each != thing and thing not in containers(each)

    return replace(
        state,
        grants=tuple(each for each in state.grants if remains(each.object)),
        owners=tuple(each for each in state.owners if remains(each.object)),
    )


def _check_new(state: AccessState, name: Name) -> None:
    key = name_key(name.text)
    if key in RESERVED:
        message = f"The name {name.text} is reserved."
        raise StatementError("INVALID_NAME", message, place=name.place, hint="Use another name.")
    for kind, found in (("user", state.user(key)), ("role", state.role(key))):
        if found is not None:
            message = f"A {kind} named {found.name} already exists."
            raise StatementError("USER_ALREADY_EXISTS", message, place=name.place, hint="Use another name.")


def _without_name(state: AccessState, key: str) -> AccessState:
    """Return the state without the rights and memberships of a user or a role."""
    return replace(
        state,
        members=tuple(each for each in state.members if key not in (each.role, each.member)),
        grants=tuple(each for each in state.grants if each.grantee != key),
    )


def _with_admin(after: AccessState, now: float, change: str, place: Span | None) -> AccessState:
    """Return the state, or raise StatementError LAST_ADMIN if no admin could log in then."""
    if after.lets_admin_in(now):
        return after
    raise StatementError(
        "LAST_ADMIN",
        f"Cannot {change}: no user with ADMIN and a valid token would be left.",
        place=place,
        hint=f"Grant ADMIN to another user with a token first, or run ALTER USER {OWNER} ENABLE.",
    )
