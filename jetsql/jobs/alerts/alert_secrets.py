"""Read the secrets of an alert when a message is sent, with the rights of its owner, for the hosts of the secret."""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import urlsplit

from jetsql.errors import EngineError
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.connection_records import SecretRecord, StoredConnections
from jetsql.jobs.model.job import name_key
from jetsql.secret_references import named_secret, resolved

_LOG: Final = logging.getLogger(__name__)


class SecretRefused(Exception):
    """A secret that cannot be read or may not be used. The message is a sentence without its value and its place."""

    def __init__(self, message: str, condition: str = "") -> None:
        """Create it. condition: of the error that reading has raised; empty if the secret was not read"""
        super().__init__(message)
        self.condition = condition


def find_secret(reference: str, owner: str, access: AccessState, connections: StoredConnections) -> SecretRecord:
    """Return the secret of a reference `secret:NAME`. Raises SecretRefused if it does not exist for the owner."""
    name = named_secret(reference) or ""
    secret = connections.secret(name_key(name))
    thing = Securable(SecurableKind.SECRET, (name_key(name),))
    if secret is None or not access.allowed(owner, Right.USAGE, thing):
        raise SecretRefused(f"There is no secret named {name}.")
    return secret


def resolve(secret: SecretRecord) -> str:
    """Return the value of a secret. Raises SecretRefused."""
    try:
        return resolved(f"secret:{secret.kind.value.lower()}:{secret.place}", f"the secret {secret.name}")
    except EngineError as error:
        _LOG.warning("%s", error.message)  # the path of a file is for the engine's log only
        raise SecretRefused(f"The secret {secret.name} cannot be read.", error.condition) from error


def check_host(secret: SecretRecord, url: str) -> None:
    """Raise SecretRefused if a secret is for other hosts than that of a URL."""
    if secret.hosts and not any(_covers(host, url) for host in secret.hosts):
        raise SecretRefused(f"The secret {secret.name} is for {', '.join(secret.hosts)}, and not for this URL.")


def _covers(host: str, url: str) -> bool:
    allowed, wanted = urlsplit(host.strip().lower()), urlsplit(url.lower())
    is_same = (allowed.scheme, allowed.hostname) == (wanted.scheme, wanted.hostname)
    return is_same and allowed.port in (None, wanted.port)
