"""Connections to the PostgreSQL of a store, and the errors of its driver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.home.store_url import StoreUrl
from jetsql.jobs.model.redaction import REDACTED

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS: Final = 5
_SESSION: Final = {
    "statement_timeout": "60s",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "120s",
    # PostgreSQL notices an engine whose machine is gone, and releases its lock.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_LIBPQ: Final = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_OUTAGES: Final = ("08", "57P01", "57P02", "57P03", "57P05", "53")
"""The SQLSTATEs, or their beginnings, of a connection that is lost or refused, or of a server without space, memory or
connections: they may succeed later."""
_NOISE: Final = re.compile(
    r"^connection failed: |connection to server at .* failed: |FATAL: +| Is the server running .*\?$"
)
"""The parts of an error of libpq around the reason for a refused connection."""


class StoreServer:
    """The server of a store."""

    def __init__(self, url: StoreUrl, application_name: str) -> None:
        """Create it for a URL with its password, without connecting.

        application_name: the name of this engine's connections in PostgreSQL.
        Raises EngineError STORE_NOT_USABLE when the driver of PostgreSQL is not installed.
        """
        self.url = url
        self.application_name = application_name
        self.driver = _load_driver()

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Return a new connection whose current schema is the store's. Raises psycopg.Error."""
        session = {"search_path": self.url.schema, **_SESSION}
        connection: psycopg.Connection[Any] = self.driver.connect(
            host=self.url.host,
            port=self.url.port,
            dbname=self.url.database,
            user=self.url.user or None,
            password=self.url.password or None,
            options=" ".join(f"-c {key}={value}" for key, value in session.items()),
            application_name=self.application_name,
            autocommit=autocommit,
            client_encoding="UTF8",
            **_LIBPQ,
            **self.url.tls,
        )
        return connection

    def create_engine(self) -> sa.Engine:
        """Return an engine whose connections are checked before each use."""
        return sa.create_engine(
            "postgresql+psycopg://", creator=self.connect, pool_size=4, max_overflow=-1, pool_pre_ping=True
        )

    def is_outage(self, error: BaseException | None) -> bool:
        """Return whether an error means that the server is out of reach or of resources, and may succeed later."""
        if not isinstance(error, self.driver.OperationalError):
            return False
        return error.sqlstate is None or error.sqlstate.startswith(_OUTAGES)

    def damage(self, error: BaseException) -> str | None:
        """Return the message of an error that means other tables than those of a store; None for other errors."""
        errors = self.driver.ProgrammingError, self.driver.DataError
        is_damage = isinstance(error, errors) and not isinstance(error, self.driver.errors.InsufficientPrivilege)
        return self._message(error) if is_damage else None

    def explain(self, error: BaseException) -> EngineError:
        """Return an error of the driver as EngineError STORE_NOT_USABLE."""
        message = self._message(error)
        if "authentication failed" in message or "no password supplied" in message:
            return self.not_usable(message, "Check the user in the URL, and store_password.")
        if isinstance(error, self.driver.errors.InsufficientPrivilege):
            return self.not_usable(message, "Grant the user this right, or use a database that it owns.")
        hint = "Check the URL in the setting store, and whether PostgreSQL runs and accepts connections from here."
        return self.not_usable(message, hint)

    def not_usable(self, reason: str, hint: str) -> EngineError:
        """Return the error for a store that cannot be used. reason: a phrase without a full stop."""
        return EngineError("STORE_NOT_USABLE", f"Cannot use the store {self.url}: {reason}.", hint=hint)

    def _message(self, error: BaseException) -> str:
        diagnostics = getattr(error, "diag", None)
        text = (diagnostics and diagnostics.message_primary) or _NOISE.sub("", " ".join(str(error).split()))
        secret = self.url.password
        return (text.replace(secret, REDACTED) if secret else text).rstrip(".")


def _load_driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise EngineError(
            "STORE_NOT_USABLE",
            f"A store on PostgreSQL needs the driver psycopg, which cannot be loaded: {error}.",
            hint="Install it: pip install 'jetsql[postgresql]'.",
        ) from error
    return psycopg
