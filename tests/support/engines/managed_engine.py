"""A whole engine without Spark: the manager with the in-memory engine, a home, sessions and endpoints.

`Managed` replaces `EngineInstance` in the service. It runs JetSQL's statements and `SELECT n`, which returns n rows.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow

from jetsql.backup.backup_manifest import BackupManifest
from jetsql.backup.make_backup import BackedUpHome, OnlineBackups
from jetsql.embedded.endpoints import Addresses
from jetsql.embedded.open_engine import Service
from jetsql.engine.spark.spark_end import SparkEnd
from jetsql.errors import ErrorReport, JetSQLError, StatementError
from jetsql.home.home_lock import HomeLock, make_home
from jetsql.home.machine_use import Heap, MachineUse
from jetsql.home.storage import storage_of
from jetsql.identity.open_issuer import open_issuer
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.jobs.audit.audit_settings import AuditSettings
from jetsql.jobs.lifecycle.runtime import CheckpointImage
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.job_settings import JobSettings, LimitSettings
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.jobs.statements.statement_table import execute
from jetsql.jobs.store.job_store import Store
from jetsql.language import parse
from jetsql.resultset import Column
from jetsql.server.prometheus import PrometheusResponse, prometheus_response
from jetsql.server.statement_result import StatementResult, from_table
from jetsql.settings.engine_settings import EndpointSettings, Settings
from jetsql.settings.identity_settings import IdentitySettings
from jetsql.version import VERSION
from tests.support.engines.in_memory_runtime import InMemoryRuntime, Session
from tests.support.engines.server_engine import taken


class ManagedSession:
    """The session of a client."""

    def __init__(self, engine: Managed) -> None:
        self._engine = engine

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        statement = parse(text)
        if statement is not None:
            return from_table(execute(self._engine.manager, statement, Session), UTC)
        verb, _, number = text.strip().partition(" ")
        if verb != "SELECT":
            raise StatementError("PARSE_SYNTAX_ERROR", f"This is no statement: {verb}.")
        return StatementResult((Column("n", "int"),), self._rows(int(number)))

    def run_arrow(self, text: str, parameters: Any = None) -> Iterator[bytes]:
        """Yield an Arrow stream of whole messages, with each row as a text."""
        schema, sink = pyarrow.schema([("row", pyarrow.string())]), io.BytesIO()
        with pyarrow.ipc.new_stream(sink, schema) as stream:
            for row in self.run(text, parameters).rows:
                stream.write_batch(pyarrow.record_batch([[repr(row)]], schema))
                yield taken(sink)
        yield taken(sink)

    def schema(self) -> str:
        return "default"

    def _rows(self, count: int) -> Iterator[tuple[int]]:
        return ((number,) for number in range(count))


class StillEngine:
    """An engine without sinks and checkpoints, for a backup."""

    def copying_files(self) -> AbstractContextManager[None]:
        return nullcontext()

    def closed_sinks(self, seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def pinned_image(self, job: Job) -> AbstractContextManager[CheckpointImage]:
        return nullcontext(CheckpointImage((), None, None))

    def back_up_catalog(self, metastore: Path, folder: Path) -> None:
        (folder / "metastore").mkdir()
        (folder / "metastore" / "service.properties").touch()


class Managed:
    """An engine. `dead` is set to simulate the end of its Spark."""

    def __init__(
        self,
        home: Path,
        service: bool = False,
        jobs: JobSettings | None = None,
        runtime: InMemoryRuntime | None = None,
        has_lock: bool = True,
        identity: IdentitySettings = IdentitySettings(),  # noqa: B008  # it is frozen
        limits: LimitSettings = LimitSettings(),  # noqa: B008  # it is frozen
    ) -> None:
        self.home = make_home(home)
        self.runtime = runtime or InMemoryRuntime()
        self._lock = HomeLock(self.home, service) if has_lock else None
        self.store = Store(self.home / "jetsql.db")
        audit = AuditLog(AuditFile(self.home), AuditSettings())
        settings = jobs or JobSettings(create_wait_seconds=20.0)
        self.manager = Manager(self.store, self.runtime, settings, audit=audit, limits=limits)
        self.queries = JobQueries(self.manager)
        self.accounts = self.manager.access
        self.issuer_users = open_issuer(identity, self.accounts, self.accounts.change, self.manager.clock)
        self.limits = UserLimits(limits, self.accounts)
        self.manager.start()
        self.dead = threading.Event()
        self.end_reason: str | None = None  # of the application of its Spark
        self.is_closing = False

    @property
    def closed(self) -> bool:
        return self.is_closing

    @property
    def leads(self) -> bool:
        return self.store.database.leadership.is_confirmed

    def run(self, text: str) -> StatementResult:
        return self.session().run(text)

    def session(self) -> ManagedSession:
        return ManagedSession(self)

    def sample_jobs(self) -> tuple[JobSample, ...]:
        return self.queries.all_samples()

    @property
    def catalogs(self) -> tuple[str, ...]:
        return ("spark_catalog", "lake")

    @property
    def facts(self) -> dict[str, str]:
        return {"version": VERSION, "home": str(self.home)}

    def machine_use(self) -> MachineUse:
        return MachineUse(0.5, 2, 60 * 2**30, 100 * 2**30, Heap(300 * 2**20, 2**30))

    def about(self) -> dict[str, Any]:
        facts = {"version": VERSION, "spark": "none", "master": "local[2]"}
        return {**facts, "home": str(self.home), "pid": os.getpid(), "jobs": dict(self.queries.statuses())}

    def prometheus_response(self, sessions: int, statements: int) -> PrometheusResponse:
        return prometheus_response(self.queries, sessions, statements)

    def back_up(self, folder: Path) -> BackupManifest:
        source = BackedUpHome(self.home, storage_of(self.home), self.store.database)
        return OnlineBackups(source, StillEngine()).write(folder)

    @property
    def audit(self) -> AuditLog:
        return self.manager.audit

    def without_secrets(self, text: str) -> str:
        return text

    def error(self, error: BaseException, text: str) -> ErrorReport:
        if isinstance(error, JetSQLError):
            return error.report(text)
        return ErrorReport("JETSQL.INTERNAL_ERROR", "XX000", f"{type(error).__name__}: {error}")

    def open_endpoints(self, settings: EndpointSettings, token: str) -> AbstractContextManager[Addresses]:
        return nullcontext(Addresses())

    def watch_spark(self) -> Callable[[], SparkEnd]:
        def wait() -> SparkEnd:
            self.dead.wait()
            return SparkEnd(-9, self.end_reason)

        return wait

    def close(self) -> None:
        if self.is_closing:
            return
        self.is_closing = True
        self.manager.close()
        self.store.close()
        if self._lock is not None:
            self._lock.release()


def open_managed(settings: Settings, service: Service | None = None) -> Managed:
    """Open an engine instead of `open_engine.open_service`."""
    engine = Managed(settings.home, jobs=settings.jobs, has_lock=service is None, identity=settings.identity)
    if service is not None:
        try:
            service.check_store(engine.store)
        except JetSQLError:
            engine.close()
            raise
    return engine
