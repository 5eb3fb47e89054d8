"""An engine without Spark for the HTTP endpoint, with sessions and with statements that wait."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow

from jetsql.backup.backup_manifest import BackupManifest, SavedJob
from jetsql.errors import EngineError, ErrorReport, JetSQLError
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.request import current
from jetsql.resultset import Column
from jetsql.server.prometheus import PrometheusResponse
from jetsql.server.statement_result import StatementResult
from tests.support.engines.stub_engine import StubEngine, StubReport


@dataclass
class ServedSession:
    """A session with these statements, in addition to those of `StubEngine`.

    USE NAME         sets the schema             SET, DECLARE, CACHE, CREATE   do nothing
    WAIT             waits for its cancellation  ENDLESS                       returns rows without an end
    ARGS             returns the parameters      LOOK N ...                    returns live batches of N or ENDLESS rows
    """

    engine: ServedEngine
    current: str = "default"

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        verb, _, rest = text.strip().partition(" ")
        match verb:
            case "USE":
                self.current = rest
                return StatementResult((), iter(()))
            case "SET" | "DECLARE" | "CACHE" | "CREATE":
                return StatementResult((), iter(()))
            case "WAIT":
                self._wait()
            case "ENDLESS":
                return StatementResult((Column("n", "bigint"), Column("pad", "string")), self._endless())
            case "LOOK" if live:
                return StatementResult(
                    (Column("n", "bigint"),), iter(()), Live(LiveMode.APPEND, self._looked(rest.split()))
                )
            case "ARGS":
                return StatementResult((Column("args", "string"),), iter([(repr(parameters),)]))
        found = self.engine.statements.run(text)
        return StatementResult(found.columns, found.rows)

    def run_arrow(self, text: str, parameters: Any = None) -> Iterator[bytes]:
        """Yield an Arrow stream as Spark's: the schema, with the columns in its metadata, then a batch for each row."""
        result = self.run(text, parameters)
        types = {"int": pyarrow.int32(), "bigint": pyarrow.int64(), "string": pyarrow.string()}
        columns = json.dumps([asdict(column) for column in result.columns])
        fields = [(column.name, types[column.type]) for column in result.columns]
        sink = io.BytesIO()
        with pyarrow.ipc.new_stream(sink, stream_schema(fields, columns)) as stream:
            for row in result.rows:
                arrays = [pyarrow.array([value], of) for value, (_, of) in zip(row, fields, strict=True)]
                stream.write_batch(pyarrow.record_batch(arrays, stream_schema(fields, columns)))
                yield taken(sink)
        yield taken(sink)

    def schema(self) -> str:
        return self.current

    def _wait(self) -> None:
        woken = threading.Event()
        with current().cancellation.on_cancel(woken.set):
            self.engine.waiting.set()
            assert woken.wait(60)
        self.engine.woken.set()
        current().cancellation.check()

    def _looked(self, sizes: list[str]) -> Generator[LiveBatch, None, None]:
        try:
            for number, size in enumerate(sizes):
                endless = ((n,) for n, _ in self._endless())
                rows = endless if size == "ENDLESS" else ((number * 100 + n,) for n in range(int(size)))
                yield LiveBatch(number, rows)
        finally:
            self.engine.ended.set()

    def _endless(self) -> Iterator[tuple[object, ...]]:
        try:
            while True:
                self.engine.fetched += 1
                yield self.engine.fetched, "x" * 1000
        finally:
            self.engine.ended.set()


def stream_schema(fields: Any, columns: str) -> Any:
    return pyarrow.schema(fields, {"jetsql.columns": columns})


def taken(sink: io.BytesIO) -> bytes:
    """Return what was written since the last call."""
    written = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return written


@dataclass
class ServedEngine:
    """An engine, and the events of its statements."""

    statements: StubEngine = field(default_factory=StubEngine)
    waiting: threading.Event = field(default_factory=threading.Event)  # a WAIT has begun
    woken: threading.Event = field(default_factory=threading.Event)  # a WAIT was cancelled
    ended: threading.Event = field(default_factory=threading.Event)  # the client of ENDLESS has disconnected
    fetched: int = 0  # rows of ENDLESS so far
    jobs_now: list[JobSample] = field(default_factory=list)
    closed: bool = False
    leads: bool = True
    home: str = "nowhere"
    audit: AuditLog = NO_AUDIT
    limits: UserLimits = field(default_factory=lambda: UserLimits(LimitSettings(), None))

    def session(self) -> ServedSession:
        return ServedSession(self)

    def run(self, text: str) -> StatementResult:
        return StatementResult((Column("name"), Column("said")), iter([("j", text)]))

    def prometheus_response(self, sessions: int, statements: int) -> PrometheusResponse:
        lines = f"jetsql_sessions {sessions}\njetsql_statements {statements}\n"
        return PrometheusResponse(lines.encode(), "text/plain; version=1.0.0; charset=utf-8")

    def sample_jobs(self) -> tuple[JobSample, ...]:
        return tuple(self.jobs_now)

    def about(self) -> dict[str, Any]:
        return {"version": "0", "home": self.home}

    def back_up(self, folder: Path) -> BackupManifest:
        """Return a manifest; for a folder named `full`, fail, and for `slow`, wait until the engine stops."""
        if folder.name == "full":
            raise EngineError("BACKUP_FAILED", f"The disk of {folder} is full.")
        if folder.name == "slow":
            woken = threading.Event()
            with current().cancellation.on_cancel(woken.set):
                self.waiting.set()
                assert woken.wait(60)
            current().cancellation.check()
        job = SavedJob("0001-0000-0000-0001", "j", "RUNNING", 6, 7)
        return BackupManifest("id", 1.5, "0", str(folder), "file:/home", "", jobs=(job,), snapshots=("s",))

    def without_secrets(self, text: str) -> str:
        return text

    def error(self, error: BaseException, text: str) -> ErrorReport:
        if isinstance(error, JetSQLError):
            return error.report(text)
        report: StubReport = self.statements.error(error, text)  # type: ignore[arg-type]
        return ErrorReport(report.condition, "42000", report.message, report.hint, report.line, report.column)
