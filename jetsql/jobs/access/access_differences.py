"""The changes between two states of users and rights, as sentences for the audit log."""

from __future__ import annotations

from collections.abc import Iterator

from jetsql.jobs.access.access_records import Grant, Ownership, RoleMember, Securable, SecurableKind, User, UserToken
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.model.job_settings import LIMIT_NAMES


def differences(before: AccessState, after: AccessState) -> Iterator[str]:
    """Yield a sentence for each change. The use of a token is none."""
    yield from _users(before, after)
    old_roles, new_roles = ({role.key: role.name for role in state.roles} for state in (before, after))
    yield from (f"The role {old_roles[key]} was dropped." for key in old_roles.keys() - new_roles.keys())
    yield from (f"The role {new_roles[key]} was created." for key in new_roles.keys() - old_roles.keys())
    yield from (f"{_member(each)} was revoked." for each in sorted(set(before.members) - set(after.members)))
    yield from (f"{_member(each)} was granted." for each in sorted(set(after.members) - set(before.members)))
    yield from _tokens(before, after)
    yield from _grants(before, after)
    yield from _owners(before, after)


def _users(before: AccessState, after: AccessState) -> Iterator[str]:
    old, new = ({user.key: user for user in state.users} for state in (before, after))
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if now is None:
            yield f"The user {key} was dropped."
        elif was is None:
            yield f"The user {now.name} was created."
            yield from _disabled(False, now)
        else:
            yield from _disabled(was.disabled, now)
            yield from _limits(was, now)


def _limits(was: User, now: User) -> Iterator[str]:
    for name in LIMIT_NAMES:
        before, after = getattr(was, name), getattr(now, name)
        if before != after:
            yield f"The limit {name} of the user {now.name} was {'reset' if after is None else f'set to {after}'}."


def _disabled(was: bool, user: User) -> Iterator[str]:
    if user.disabled != was:
        yield f"The user {user.name} was {'disabled' if user.disabled else 'enabled'}."


def _member(member: RoleMember) -> str:
    return f"The role {member.role} of {member.member}"


def _tokens(before: AccessState, after: AccessState) -> Iterator[str]:
    old, new = ({token.id: token for token in state.tokens} for state in (before, after))
    yield from (f"{_token(old[key])} was dropped." for key in sorted(old.keys() - new.keys()))
    yield from (f"{_token(new[key])} was created." for key in sorted(new.keys() - old.keys()))


def _token(token: UserToken) -> str:
    return f"The token {token.id} of {token.user}"


def _grants(before: AccessState, after: AccessState) -> Iterator[str]:
    old, new = ({grant.key: grant for grant in state.grants} for state in (before, after))
    for key in old.keys() - new.keys():
        yield f"{_grant(old[key])} was revoked from {old[key].grantee}."
    for key, grant in new.items():
        option = " with grant option" if grant.with_option else ""
        if key not in old:
            yield f"{_grant(grant)} was granted to {grant.grantee}{option}."
        elif old[key].with_option != grant.with_option:
            yield f"{_grant(grant)} of {grant.grantee} was changed to one with{'' if option else 'out'} grant option."


def _grant(grant: Grant) -> str:
    return f"{grant.right.value} on {_object(grant.object)}"


def _owners(before: AccessState, after: AccessState) -> Iterator[str]:
    old, new = (_by_object(state.owners) for state in (before, after))
    for thing in old.keys() - new.keys():
        yield f"{_object(thing)} does not belong to {old[thing]} any more."
    for thing, owner in new.items():
        if old.get(thing) != owner:
            yield f"{_object(thing)} belongs to {owner}."


def _by_object(owners: tuple[Ownership, ...]) -> dict[Securable, str]:
    return {ownership.object: ownership.owner for ownership in owners}


def _object(thing: Securable) -> str:
    return "the engine" if thing.kind is SecurableKind.ENGINE else f"{thing.kind.value.lower()} {thing.text}"
