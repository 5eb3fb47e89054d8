"""Secrets and connections, as the store keeps them: plain frozen classes. No record has the value of a secret.

Names are compared without case; `key` has them in this form. A secret and a connection can share a name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from jetsql.jobs.model.job import name_key
from jetsql.secret_references import named_secret

T = TypeVar("T", "SecretRecord", "ConnectionRecord")


class SecretKind(StrEnum):
    """The kind of place where the engine reads a secret."""

    FILE = "FILE"
    ENV = "ENV"


@dataclass(frozen=True)
class SecretRecord:
    """A name for a value that the engine reads from a file or from its environment."""

    name: str
    kind: SecretKind
    place: str  # the path of the file, or the name of the variable
    created: float  # seconds since the epoch
    changed: float  # of the last statement that changed it
    hosts: tuple[str, ...] = ()  # the URLs that it may be sent to; empty for any
    comment: str | None = None

    @property
    def key(self) -> str:
        return name_key(self.name)

    @property
    def source(self) -> str:
        """Return where the value is read, as in CREATE SECRET."""
        return f"{self.kind.value} '{self.place}'"


@dataclass(frozen=True)
class ConnectionRecord:
    """The address of a system and the login there."""

    name: str
    type: str  # kafka, jdbc, s3 or registry
    options: Mapping[str, str]  # the secret ones are references
    created: float  # seconds since the epoch
    changed: float  # of the last statement that changed it
    comment: str | None = None

    @property
    def key(self) -> str:
        return name_key(self.name)

    @property
    def secrets(self) -> frozenset[str]:
        """Return the keys of the secrets that the options name."""
        named = (named_secret(value) for value in self.options.values())
        return frozenset(name_key(name) for name in named if name is not None)


@dataclass(frozen=True)
class StoredConnections:
    """All secrets and connections at one moment, by their keys in order."""

    secrets: tuple[SecretRecord, ...] = ()
    connections: tuple[ConnectionRecord, ...] = ()

    def secret(self, key: str) -> SecretRecord | None:
        """Return the secret with a key, or None."""
        return next((each for each in self.secrets if each.key == key), None)

    def connection(self, key: str) -> ConnectionRecord | None:
        """Return the connection with a key, or None."""
        return next((each for each in self.connections if each.key == key), None)

    def changed(self, connection: ConnectionRecord) -> float:
        """Return when a connection or one of its secrets was changed last."""
        secrets = (self.secret(key) for key in connection.secrets)
        return max(connection.changed, *(each.changed for each in secrets if each is not None), 0.0)

    def with_secret(self, secret: SecretRecord) -> StoredConnections:
        """Return the state with a new or changed secret."""
        others = (each for each in self.secrets if each.key != secret.key)
        return StoredConnections(_sorted((*others, secret)), self.connections)

    def with_connection(self, connection: ConnectionRecord) -> StoredConnections:
        """Return the state with a new or changed connection."""
        others = (each for each in self.connections if each.key != connection.key)
        return StoredConnections(self.secrets, _sorted((*others, connection)))

    def without(self, gone: SecretRecord | ConnectionRecord) -> StoredConnections:
        """Return the state without a secret or a connection."""
        return StoredConnections(
            tuple(each for each in self.secrets if each != gone),
            tuple(each for each in self.connections if each != gone),
        )

    def published(self) -> str:
        """Return what Java needs to read the options of tables, as JSON (`Connections.java`)."""
        return json.dumps(
            {
                "secrets": {
                    each.key: {"kind": each.kind.value.lower(), "place": each.place, "hosts": each.hosts}
                    for each in self.secrets
                },
                "connections": {
                    each.key: {"type": each.type, "options": dict(each.options), "changed": self.changed(each)}
                    for each in self.connections
                },
            }
        )


def _sorted(records: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(records, key=lambda each: each.key))


NO_CONNECTIONS: Final = StoredConnections()
