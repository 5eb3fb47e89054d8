"""The statements about users, roles, tokens and rights, as the parser returns them; see `statement`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.language.objects.object_names import Name, TableIdentifier


@dataclass(frozen=True)
class CreateUser:
    """Creates a user, who has no rights yet. With the first user, the engine begins to check rights."""

    name: Name
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterUser:
    """Disables a user, whose tokens are refused from then on, enables the user again, or sets limits of the user."""

    name: Name
    disable: bool | None = None  # None for a change of limits
    limits: tuple[tuple[Name, int | None], ...] = ()  # None to reset the limit to that of the settings
    reset_all: bool = False

    @property
    def sets_limits(self) -> bool:
        """Return whether the statement sets limits, and resets none."""
        return bool(self.limits) and all(value is not None for _, value in self.limits)


@dataclass(frozen=True)
class DropUser:
    """Drops a user with tokens and rights. Who owns objects cannot be dropped."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class CreateRole:
    """Creates a role: a set of rights for users and other roles."""

    name: Name
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropRole:
    """Drops a role. Its rights end for all who have the role."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class CreateToken:
    """Creates a token with which a user logs in, and shows it once. The engine keeps only its hash."""

    user: Name
    days: int | None = None  # None for a token without end
    comment: str | None = None


@dataclass(frozen=True)
class DropToken:
    """Drops a token, which is refused from then on."""

    token: Name  # its id
    if_exists: bool = False


class RightsObject(Enum):
    """The kinds of objects in GRANT, as written after ON."""

    TABLE = "TABLE"
    VIEW = "VIEW"
    SCHEMA = "SCHEMA"
    JOBS_IN_SCHEMA = "JOBS IN SCHEMA"
    CATALOG = "CATALOG"
    ALL_SCHEMAS = "ALL SCHEMAS"
    JOB = "JOB"
    FUNCTION = "FUNCTION"
    SECRET = "SECRET"
    CONNECTION = "CONNECTION"
    LOCATION = "LOCATION"
    ENGINE = ""  # of rights without ON


@dataclass(frozen=True)
class GrantedObject:
    """The object of rights, as written after ON."""

    kind: RightsObject
    name: TableIdentifier  # without parts for ALL SCHEMAS and the engine
    job: Name | None = None


@dataclass(frozen=True)
class GrantRights:
    """Gives rights on an object to a user or a role. They hold immediately, and for new sessions and running ones."""

    rights: tuple[Name, ...]  # in capitals
    object: GrantedObject
    grantee: Name
    with_option: bool = False  # the grantee can grant them to others


@dataclass(frozen=True)
class GrantRole:
    """Gives a role to a user or to another role."""

    role: Name
    grantee: Name


@dataclass(frozen=True)
class RevokeRights:
    """Takes rights on an object from a user or a role."""

    rights: tuple[Name, ...]  # in capitals
    object: GrantedObject
    grantee: Name


@dataclass(frozen=True)
class RevokeRole:
    """Takes a role from a user or from another role."""

    role: Name
    grantee: Name


@dataclass(frozen=True)
class AlterOwner:
    """Gives a table, a view or a job to another user. A job runs with the rights of its owner."""

    object: GrantedObject
    owner: Name


@dataclass(frozen=True)
class ReassignOwned:
    """Gives everything that a user owns to another user."""

    before: Name
    after: Name


@dataclass(frozen=True)
class ShowUsers:
    """Lists the users."""


@dataclass(frozen=True)
class ShowRoles:
    """Lists the roles, with the users and roles that have them."""


@dataclass(frozen=True)
class ShowTokens:
    """Lists the tokens: their users, when they expire, and when they were used last."""

    user: Name | None = None


@dataclass(frozen=True)
class ShowGrants:
    """Lists the rights of all users and roles, of one, or on one object."""

    grantee: Name | None = None
    object: GrantedObject | None = None


RightsStatement = (
    CreateUser
    | AlterUser
    | DropUser
    | CreateRole
    | DropRole
    | CreateToken
    | DropToken
    | GrantRights
    | GrantRole
    | RevokeRights
    | RevokeRole
    | AlterOwner
    | ReassignOwned
    | ShowUsers
    | ShowRoles
    | ShowTokens
    | ShowGrants
)
"""The statements about users and rights."""
