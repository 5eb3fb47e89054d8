"""The statements about secrets and connections, as the parser returns them; see `statement`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.language.objects.object_names import Name, OptionText


class SourceKind(Enum):
    """The kind of place where the engine reads a secret."""

    FILE = "FILE"
    ENV = "ENV"


@dataclass(frozen=True)
class SecretSource:
    """The place that has the value of a secret."""

    kind: SourceKind
    name: Name  # the path of the file, or the name of the variable


@dataclass(frozen=True)
class CreateSecret:
    """Creates a secret: a name for a password that the engine reads from a file or from its environment.

    With FOR, the engine sends it only to these hosts.
    """

    name: Name
    source: SecretSource
    hosts: tuple[Name, ...] = ()
    comment: str | None = None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSecret:
    """Changes where a secret is read, or to which hosts it may go. New statements use it immediately."""

    name: Name
    source: SecretSource | None
    hosts: tuple[Name, ...] = ()  # empty to keep them


@dataclass(frozen=True)
class DropSecret:
    """Drops a secret that no connection, no table and no alert uses."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowSecrets:
    """Lists the secrets: where they are read and to which hosts they may go, never their values."""


class ConnectionType(Enum):
    """The systems that connections are for."""

    KAFKA = "kafka"
    JDBC = "jdbc"
    S3 = "s3"
    REGISTRY = "registry"


@dataclass(frozen=True)
class CreateConnection:
    """Creates a connection: the address of a system and the login there, for any number of tables."""

    name: Name
    type: ConnectionType
    options: tuple[OptionText, ...]
    comment: str | None = None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterConnection:
    """Changes options of a connection. New statements use them immediately, jobs from their next start on."""

    name: Name
    options: tuple[OptionText, ...]


@dataclass(frozen=True)
class DropConnection:
    """Drops a connection that no table uses."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowConnections:
    """Lists the connections, with the running jobs that still use an older version of each."""


@dataclass(frozen=True)
class DescribeConnection:
    """Shows the options of a connection, with the names of its secrets in place of their values."""

    name: Name


ConnectionStatement = (
    CreateSecret
    | AlterSecret
    | DropSecret
    | ShowSecrets
    | CreateConnection
    | AlterConnection
    | DropConnection
    | ShowConnections
    | DescribeConnection
)
"""The statements about secrets and connections."""
