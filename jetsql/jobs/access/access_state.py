"""All users, roles and rights at one moment, and the questions about them. Pure: no store, clock or request.

A right holds if it was granted to the user, or to a role that the user has, directly or through other roles; on the
object, or on one that contains it. Who owns an object, or has ADMIN, needs no right on it. A user who is disabled or
unknown has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jetsql.jobs.access.access_records import (
    ENGINE_ITSELF,
    Grant,
    Ownership,
    Right,
    RoleMember,
    Securable,
    SecurableKind,
    User,
    UserRole,
    UserToken,
)
from jetsql.jobs.access.rights_table import CONTAINERS, RIGHTS
from jetsql.jobs.model.job import Job, Snapshot, name_key
from jetsql.jobs.model.table_names import SESSION_CATALOG, split_table
from jetsql.request import ENGINE, OWNER

BUILT_IN: frozenset[str] = frozenset({OWNER, ENGINE.user})
"""The users who always have all rights: who knows the engine's token, and the engine itself."""
_FIRST_SCHEMA = Securable(SecurableKind.SCHEMA, (SESSION_CATALOG, "default"))


@dataclass(frozen=True)
class AccessState:
    """The users, roles, tokens, grants and owners of an engine."""

    users: tuple[User, ...] = ()
    roles: tuple[UserRole, ...] = ()
    members: tuple[RoleMember, ...] = ()
    tokens: tuple[UserToken, ...] = ()
    grants: tuple[Grant, ...] = ()
    owners: tuple[Ownership, ...] = ()

    # --- names -------------------------------------------------------------------------------------------------------

    @property
    def has_users(self) -> bool:
        """Return whether rights apply. The built-in user alone has all of them."""
        return any(user.key != OWNER for user in self.users)

    @cached_property
    def _users(self) -> Mapping[str, User]:
        return {user.key: user for user in self.users}

    @cached_property
    def _role_names(self) -> Mapping[str, UserRole]:
        return {role.key: role for role in self.roles}

    @cached_property
    def _tokens(self) -> Mapping[str, UserToken]:
        return {token.id: token for token in self.tokens}

    @cached_property
    def _known_roles(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _grants(self) -> Mapping[str, Sequence[Grant]]:
        by_grantee = defaultdict[str, list[Grant]](list)
        for grant in self.grants:
            by_grantee[grant.grantee].append(grant)
        return by_grantee

    @cached_property
    def _owners(self) -> Mapping[Securable, str]:
        return {ownership.object: ownership.owner for ownership in self.owners}

    def user(self, key: str) -> User | None:
        """Return the user with a key, or None."""
        return self._users.get(key)

    def role(self, key: str) -> UserRole | None:
        """Return the role with a key, or None."""
        return self._role_names.get(key)

    def token(self, token_id: str) -> UserToken | None:
        """Return the token with an id, or None."""
        return self._tokens.get(token_id)

    def shown_name(self, key: str) -> str:
        """Return the name of a user or a role as it was created."""
        found = self.user(key) or self.role(key)
        return key if found is None else found.name

    def tokens_of(self, user: str) -> tuple[UserToken, ...]:
        """Return the tokens of a user. user: the key"""
        return tuple(token for token in self.tokens if token.user == user)

    # --- roles -------------------------------------------------------------------------------------------------------

    def roles_of(self, member: str) -> frozenset[str]:
        """Return the roles of a user or a role, also those through other roles, by their keys."""
        if member not in self._known_roles:
            found: set[str] = set()
            waiting = [member]
            while waiting:
                current = waiting.pop()
                new = [each.role for each in self.members if each.member == current and each.role not in found]
                found.update(new)
                waiting += new
            self._known_roles[member] = frozenset(found)
        return self._known_roles[member]

    def is_cycle(self, role: str, member: str) -> bool:
        """Return whether the role would have itself if the member had it."""
        return role == member or member in self.roles_of(role)

    # --- rights ------------------------------------------------------------------------------------------------------

    def effective(self, user: str) -> tuple[Grant, ...]:
        """Return the grants that a user has, directly and through roles. user: the key"""
        return tuple(grant for name in {user, *self.roles_of(user)} for grant in self._grants.get(name, ()))

    def is_active(self, user: str) -> bool:
        """Return whether a user exists and is not disabled. user: the key"""
        found = self.user(user)
        return found is not None and not found.disabled

    def is_admin(self, user: str) -> bool:
        """Return whether a user has all rights."""
        if not self.has_users or user in BUILT_IN:
            return True
        return self.is_active(user) and any(grant.right is Right.ADMIN for grant in self.effective(user))

    def owner_of(self, thing: Securable) -> str:
        """Return the key of the owner of an object other than a job."""
        return self._owners.get(thing, OWNER)

    def owned_by(self, user: str) -> tuple[Securable, ...]:
        """Return the objects other than jobs that a user owns."""
        return tuple(sorted(ownership.object for ownership in self.owners if ownership.owner == user))

    def allowed(self, user: str, right: Right, thing: Securable, within: Collection[Securable] = ()) -> bool:
        """Return whether a user has a right on an object.

        within: for a job, what `containers_of_job` returns.
        """
        if self.is_admin(user):
            return True
        if not self.is_active(user):
            return False
        places = {thing, *containers(thing)}
        if any(self.owner_of(place) == user for place in places):
            return True
        held = {grant.object for grant in self.effective(user) if grant.right is right}
        return not held.isdisjoint(places) or _all_within(held, within) or _below(held, thing)

    def sees(self, user: str, thing: Securable, within: Collection[Securable] = ()) -> bool:
        """Return whether a user has any right on an object; otherwise it does not exist for the user.

        The first schema of all sessions is no secret: BI tools name it when they connect.
        """
        if thing == _FIRST_SCHEMA and self.is_active(user):
            return True
        about = (spec.right for spec in RIGHTS.values() if thing.kind in spec.objects)
        if any(self.allowed(user, right, thing, within) for right in about):
            return True
        if thing.kind is SecurableKind.JOB:
            return self.allowed(user, Right.MONITOR, ENGINE_ITSELF)
        return thing.kind in (SecurableKind.SCHEMA, SecurableKind.CATALOG) and self._has_parts(user, thing)

    def allowed_on_job(self, user: str, right: Right, job: Job) -> bool:
        """Return whether a user has a right on a job."""
        owns = job.owner == user and self.is_active(user)
        return owns or self.allowed(user, right, job_object(job), containers_of_job(job))

    def owns_snapshot(self, user: str, snapshot: Snapshot) -> bool:
        """Return whether a user owns a snapshot, as the owner of its job."""
        return snapshot.owner == user and self.is_active(user)

    def sees_job(self, user: str, job: Job) -> bool:
        """Return whether a user has any right on a job; otherwise it does not exist for the user."""
        owns = job.owner == user and self.is_active(user)
        return owns or self.sees(user, job_object(job), containers_of_job(job))

    def _has_parts(self, user: str, container: Securable) -> bool:
        """Return whether a user has a right on a part of a schema or a catalogue, or on all of it."""
        if self.is_admin(user):
            return True
        if not self.is_active(user):
            return False
        about = [grant.object for grant in self.effective(user)] + list(self.owned_by(user))
        depth = len(container.name)
        nested = (SecurableKind.TABLE, SecurableKind.FUNCTION, SecurableKind.SCHEMA, SecurableKind.CATALOG)
        return any(
            (each.kind in nested and each.name[:depth] == container.name) or each in containers(container)
            for each in about
            if each != ENGINE_ITSELF
        )

    def may_grant(self, user: str, right: Right, thing: Securable, is_owner: bool = False) -> bool:
        """Return whether a user can grant a right on an object. is_owner: of a job: whether the user owns it."""
        if self.is_admin(user):
            return True
        if not self.is_active(user):
            return False
        places = {thing, *containers(thing)}
        if is_owner or any(self.owner_of(place) == user for place in places):
            return True
        return any(
            grant.with_option and grant.right is right and grant.object in places for grant in self.effective(user)
        )

    def admins(self) -> Iterator[User]:
        """Return the users who have ADMIN and are not disabled."""
        return (user for user in self.users if user.key != OWNER and not user.disabled and self.is_admin(user.key))

    def lets_admin_in(self, now: float) -> bool:
        """Return whether an admin can log in: with the engine's token, or with a valid token of a user."""
        built_in = self.user(OWNER)
        if built_in is None or not built_in.disabled:
            return True
        return any(token.is_valid(now) for user in self.admins() for token in self.tokens_of(user.key))


def table_object(table: str) -> Securable:
    """Return the object of the rights on a table or view. table: its qualified name"""
    return Securable(SecurableKind.TABLE, qualified(split_table(table)))


def alert_object(name: str) -> Securable:
    """Return the object that has the owner of an alert."""
    return Securable(SecurableKind.ALERT, (name_key(name),))


def job_object(job: Job) -> Securable:
    """Return the object of the rights on a job. A new job with the name of an ended one begins without rights."""
    return Securable(SecurableKind.JOB, (job.id,))


def containers_of_job(job: Job) -> tuple[Securable, ...]:
    """Return the schemas that a job is in: those of the tables that it writes."""
    names = (split_table(sink.table) for sink in job.plan.analysis.sinks)
    schemas = (Securable(SecurableKind.SCHEMA, qualified(name)[:-1]) for name in names)
    return tuple(dict.fromkeys(schemas))


def without_case(name: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a name of Spark's catalogue as Spark compares them. `casefold` would equate more names."""
    return tuple(part.lower() for part in name)


def qualified(name: Iterable[str]) -> tuple[str, ...]:
    """Return the name of a table with its catalogue, without case."""
    parts = without_case(name)
    return (SESSION_CATALOG, *parts) if len(parts) < 3 else parts


def containers(thing: Securable) -> tuple[Securable, ...]:
    """Return the objects that contain an object, the nearest first; those of a job are in `containers_of_job`."""
    if thing.kind is SecurableKind.JOB:
        return (ENGINE_ITSELF,)
    lengths = {
        SecurableKind.SCHEMA: range(len(thing.name) - 1, 1, -1),  # some catalogues have schemas in schemas
        SecurableKind.CATALOG: (1,),
        SecurableKind.ENGINE: (0,),
    }
    return tuple(Securable(kind, thing.name[:length]) for kind in CONTAINERS[thing.kind] for length in lengths[kind])


def _all_within(held: set[Securable], schemas: Collection[Securable]) -> bool:
    """Return whether a right on a job is held by one on each of its schemas."""
    return bool(schemas) and all(not held.isdisjoint({schema, *containers(schema)}) for schema in schemas)


def _below(held: set[Securable], thing: Securable) -> bool:
    """Return whether a location is below one with the right."""
    if thing.kind is not SecurableKind.LOCATION:
        return False
    [url] = thing.name
    return any(each.kind is SecurableKind.LOCATION and url.startswith(f"{each.name[0].rstrip('/')}/") for each in held)
