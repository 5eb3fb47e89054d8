"""Serve an engine in memory for `jetsql apply` over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jetsql.errors import ErrorReport, JetSQLError, ReportedError
from jetsql.server.statement_result import StatementResult
from tests.support.engines.declared_engine import DeclaredCatalog, DeclaredEngine
from tests.support.engines.server_engine import ServedEngine, ServedSession
from tests.support.servers.http_server import RunningServer, run_server


@dataclass
class DeclaredSession(ServedSession):
    """A session with the statements of `DeclaredEngine`."""

    declared: DeclaredEngine = field(default_factory=DeclaredEngine)

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        found = self.declared.run(text)
        return StatementResult(found.columns, found.rows)


@dataclass
class DeclaredServer(ServedEngine):
    """An engine whose sessions share a catalogue."""

    catalog: DeclaredCatalog = field(default_factory=DeclaredCatalog)

    def session(self) -> ServedSession:
        return DeclaredSession(self, declared=DeclaredEngine(self.catalog))

    def error(self, error: BaseException, text: str) -> ErrorReport:
        if isinstance(error, ReportedError):
            return error.report
        assert isinstance(error, JetSQLError), error
        return error.report(text)


@contextmanager
def declared_server() -> Iterator[tuple[RunningServer, DeclaredCatalog]]:
    """Serve an engine with an empty catalogue."""
    engine = DeclaredServer()
    with run_server(engine) as server:
        yield server, engine.catalog
