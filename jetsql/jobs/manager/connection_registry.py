"""The secrets and connections of an engine: in memory for each statement, in the store, and where Spark reads options.

A change is stored first, then it is published to Java, which merges the options of a connection into those of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

from jetsql.jobs.access.connection_records import NO_CONNECTIONS, ConnectionRecord, SecretRecord, StoredConnections
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.jobs.lifecycle.runtime import Connections

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store


class ConnectionRegistry:
    """The secrets and connections of one store. Any thread can use it."""

    def __init__(
        self,
        store: Store,
        runtime: Connections,
        submit: Callable[[Callable[[], None]], Future[None]],
        audit: AuditLog = NO_AUDIT,
    ) -> None:
        """Create it without connections. submit: runs an operation on the only thread that writes to the store."""
        self._store = store
        self._runtime = runtime
        self._submit = submit
        self._audit = audit
        self._state = NO_CONNECTIONS
        self.changing = Lock()
        """Held by a statement from its checks to its change."""

    def load(self) -> None:
        """Read the secrets and connections of the store, and publish them before the jobs start."""
        self._state = self._store.connections()
        self._runtime.publish_connections(self._state.published())

    @property
    def state(self) -> StoredConnections:
        """Return the secrets and connections as they are now."""
        return self._state

    def save(self, changed: SecretRecord | ConnectionRecord) -> None:
        """Store and publish a new or changed secret or connection."""
        self._submit(lambda: self._store.save_connection(changed)).result()
        self._note(changed, "was created or changed")
        state = self._state
        if isinstance(changed, SecretRecord):
            self._publish(state.with_secret(changed))
        else:
            self._publish(state.with_connection(changed))

    def remove(self, gone: SecretRecord | ConnectionRecord) -> None:
        """Delete a secret or a connection."""
        self._submit(lambda: self._store.remove_connection(gone)).result()
        self._note(gone, "was dropped")
        self._publish(self._state.without(gone))

    def _note(self, record: SecretRecord | ConnectionRecord, change: str) -> None:
        kind = "secret" if isinstance(record, SecretRecord) else "connection"
        self._audit.note("connections", detail=f"The {kind} {record.name} {change}.")

    def _publish(self, state: StoredConnections) -> None:
        self._state = state
        self._runtime.publish_connections(state.published())
