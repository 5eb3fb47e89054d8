"""Users, roles, tokens and rights, as the store keeps them: plain frozen classes.

Names of users and roles are compared without case; `key` has them in this form. A user and a role never share a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.table_names import join_table


class Right(StrEnum):
    """The rights. `rights_table` says what each one is for."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    MODIFY = "MODIFY"
    CREATE = "CREATE"
    OPERATE = "OPERATE"
    USAGE = "USAGE"
    MONITOR = "MONITOR"
    FUNCTION = "FUNCTION"
    ADMIN = "ADMIN"
    OWNER = "OWNER"  # never granted: who owns an object has it


class SecurableKind(StrEnum):
    """The kinds of objects that rights are about."""

    TABLE = "TABLE"  # tables and views
    SCHEMA = "SCHEMA"
    CATALOG = "CATALOG"
    JOB = "JOB"
    FUNCTION = "FUNCTION"  # in Python
    SECRET = "SECRET"
    CONNECTION = "CONNECTION"
    LOCATION = "LOCATION"
    ALERT = "ALERT"  # it has an owner, and no rights are granted on it
    ENGINE = "ENGINE"  # the engine itself, and all schemas of all catalogues


@dataclass(frozen=True, order=True)
class Securable:
    """An object that rights are about."""

    kind: SecurableKind
    name: tuple[str, ...] = ()
    """The name from the catalogue on, without case; the id of a job; the URL of a location; empty for the engine."""

    @property
    def text(self) -> str:
        """Return the name as one text, unique among objects of the kind, in the form that the store has."""
        return join_table(self.name)


ENGINE_ITSELF: Final = Securable(SecurableKind.ENGINE)


@dataclass(frozen=True)
class User:
    """A user."""

    name: str
    created: float  # seconds since the epoch
    disabled: bool = False
    # The limits of the user; None for those of the settings, and 0 for none, see `user_limits`.
    statements_most: int | None = None
    rows_most: int | None = None
    statement_seconds: int | None = None

    @property
    def key(self) -> str:
        return name_key(self.name)


@dataclass(frozen=True)
class UserRole:
    """A role: a set of rights that users and other roles can have."""

    name: str
    created: float  # seconds since the epoch

    @property
    def key(self) -> str:
        return name_key(self.name)


@dataclass(frozen=True, order=True)
class RoleMember:
    """The membership of a user or a role in a role, by their keys."""

    role: str
    member: str


@dataclass(frozen=True)
class UserToken:
    """A token of a user: what is stored of it."""

    id: str
    user: str  # the key of the user
    digest: str  # SHA-256 of the secret part, in hexadecimal digits
    created: float  # seconds since the epoch
    expires: float | None = None  # None for a token without end
    comment: str | None = None
    last_used: float | None = None  # at most a minute too old

    def is_valid(self, now: float) -> bool:
        """Return whether the token has not expired."""
        return self.expires is None or now < self.expires


@dataclass(frozen=True)
class Grant:
    """A right that a user or a role has on an object."""

    grantee: str  # the key of the user or the role
    right: Right
    object: Securable
    with_option: bool = False  # the grantee can grant it to others
    grantor: str = ""  # the user who granted it
    granted: float = 0.0  # seconds since the epoch

    @property
    def key(self) -> tuple[str, Right, Securable]:
        return self.grantee, self.right, self.object


@dataclass(frozen=True)
class Ownership:
    """The owner of an object other than a job, which has its owner itself."""

    object: Securable
    owner: str  # the key of the user
