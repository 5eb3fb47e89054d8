"""The engine of a notebook: one that runs at an address or on a home, or the one inside the notebook."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol

from jetsql.client.engine_address import parse_address
from jetsql.client.engine_client import EngineClient
from jetsql.live_rows import Live
from jetsql.output.render import Rows
from jetsql.request import Cancellation
from jetsql.script import ErrorDetails


class LiveRows(Rows, Protocol):
    """The result of a statement, or the batches of a SELECT over a stream."""

    @property
    def live(self) -> Live | None: ...


class NotebookEngine(Protocol):
    """A session on an engine."""

    @property
    def description(self) -> str:
        """Return where the engine is, without its token."""

    def run(self, text: str) -> LiveRows:
        """Run one statement; a SELECT over a stream has no end. Raises the errors of the engine."""

    def error(self, error: Exception, text: str) -> ErrorDetails:
        """Return the parts of an error that `run` raised for the text."""

    def cancel(self, cancellation: Cancellation) -> None:
        """Cancel the running statement, from another thread. cancellation: its token."""

    def abandon(self) -> None:
        """Leave the rest of a response unread, after its statement was cancelled."""

    def close(self) -> None:
        """Close the session."""


class RemoteSession:
    """A session on an engine in another process."""

    def __init__(self, engine: EngineClient, description: str) -> None:
        self.engine = engine
        self.description = description

    def run(self, text: str) -> LiveRows:
        return self.engine.run(text, live=True)

    def error(self, error: Exception, text: str) -> ErrorDetails:
        return self.engine.error(error, text)

    def cancel(self, cancellation: Cancellation) -> None:
        cancellation.cancel()
        self.engine.cancel()

    def abandon(self) -> None:
        self.engine.abandon_response()

    def close(self) -> None:
        self.engine.close()


class EmbeddedSession:
    """The engine inside this process, in the session of its `spark`."""

    def __init__(self, engine: Any) -> None:
        """Create it. engine: an `EngineInstance`."""
        self.engine = engine
        self.description = f"the engine in this notebook, on {engine.home}"

    def run(self, text: str) -> LiveRows:
        result: LiveRows = self.engine.run(text, live=True)
        return result

    def error(self, error: Exception, text: str) -> ErrorDetails:
        report: ErrorDetails = self.engine.error(error, text)
        return report

    def cancel(self, cancellation: Cancellation) -> None:
        cancellation.cancel()

    def abandon(self) -> None:
        """Do nothing: the rows are not sent."""

    def close(self) -> None:
        """Leave the engine as it is: the notebook has opened it."""


def open_address(url: str | None, home: str | None) -> RemoteSession:
    """Open a session on the engine at a URL or of a home, which is started if it does not run.

    Raises ValueError for a wrong URL, EngineError and ReportedError if there is no engine.
    """
    address = parse_address(home, url, None, None, True)
    found, token, trust = address.endpoint()
    engine = EngineClient(found, token, trust)
    engine.current_schema()  # an engine that does not answer is reported now
    if address.schema:
        quoted = ".".join(f"`{part.replace('`', '``')}`" for part in address.schema.split("."))
        for _ in engine.run(f"USE {quoted}").rows:
            continue
    return RemoteSession(engine, f"the engine at {found}")


def open_default() -> NotebookEngine:
    """Return the engine inside this process; without one, a session at JETSQL_URL or on the default home."""
    engine = embedded_engine()
    if engine is not None:
        return EmbeddedSession(engine)
    return open_address(os.environ.get("JETSQL_URL") or None, None)


def embedded_engine() -> Any:
    """Return the `EngineInstance` that is open in this process, or None; without loading its modules."""
    module = sys.modules.get("jetsql.embedded.open_engine")
    return None if module is None else module.current_engine()


def enable_spark(spark: Any, home: str | None) -> EmbeddedSession:
    """Add JetSQL to a Spark session of the notebook. Raises EngineError as `jetsql.enable`."""
    import jetsql

    return EmbeddedSession(jetsql.enable(spark, home=home))
