"""A manager with the in-memory engine, for tests that consist of statements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from jetsql.errors import Span, StatementError
from jetsql.jobs.alerts.alert_commands import AlertSettings
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.jobs.audit.audit_settings import AuditSettings
from jetsql.jobs.lifecycle.runtime import JobRuntime
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.run_reports import RunReports
from jetsql.jobs.model.job import Job, Status, Version, quoted_text
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.jobs.openlineage.openlineage_settings import OpenLineageSettings
from jetsql.jobs.opentelemetry.opentelemetry_settings import OpenTelemetrySettings
from jetsql.jobs.statements.statement_table import columns, execute
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.metrics import Metrics
from jetsql.language import parse
from jetsql.language.statement import Body, CreateJob, Name, OptionText, Statement, Verb
from jetsql.request import Endpoint, inside_process
from jetsql.resultset import Table
from tests.support.engines.in_memory_runtime import InMemoryRuntime, Session
from tests.support.golden_reports import raises

T = TypeVar("T")
QUICK = JobSettings(
    retry_first_seconds=0.0,
    retry_most_seconds=0.0,
    store_retry_seconds=0.0,
    create_wait_seconds=20.0,
    scale_up_delay_seconds=0.0,
)


def name(text: str, *, is_id: bool = False) -> Name:
    return Name(text, Span(4, 4 + len(text)), is_id)


def body(verb: Verb = Verb.INSERT_INTO, table: str = "out", query: str = "SELECT * FROM STREAM src") -> Body:
    text = f"{verb.value} {table} {query}"
    return Body(verb, text, Span(50, 50 + len(text)), " " * 50 + text, Span(62, 62 + len(table)))


def option(key: str, value: str, at: int = 20) -> OptionText:
    return OptionText(key, value, Span(at, at + len(key)), Span(at + 100, at + 100 + len(value)))


def changed(job: Job, **changes: Any) -> Job:
    """Return the job with other values for fields of the job or its version."""
    names = {field.name for field in fields(Version)}
    of_version = {name: value for name, value in changes.items() if name in names}
    of_job = {name: value for name, value in changes.items() if name not in names}
    return replace(job, version=replace(job.version, **of_version), **of_job)


def create(job: str = "j", options: Mapping[str, str] | None = None, **changes: object) -> CreateJob:
    given = {
        "options": tuple(option(key, value, 20 + at) for at, (key, value) in enumerate((options or {}).items())),
        "body": body(),
        **changes,
    }
    pairs = ", ".join(f"{quoted_text(key)} = {quoted_text(value)}" for key, value in (options or {}).items())
    text = f"CREATE JOB {job} {f'OPTIONS ({pairs}) ' if pairs else ''}AS {given['body'].text}"  # type: ignore[attr-defined]
    return CreateJob(name=name(job), **{"text": text, **given})  # type: ignore[arg-type]


@dataclass
class JobsHarness:
    """A running manager with its runtime and store."""

    runtime: InMemoryRuntime
    manager: Manager
    store: Store

    def run(self, statement: Statement) -> Table:
        with inside_process(Endpoint.EMBEDDED):
            return execute(self.manager, statement, Session)

    def sql(self, text: str) -> Table:
        statement = parse(text)
        assert statement is not None, text
        table = self.run(statement)
        assert table.columns == columns(statement)
        assert all(len(row) == len(table.columns) for row in table.rows)
        return table

    def row(self, statement: Statement | str) -> dict[str, object]:
        """Return the only row of a statement, by column."""
        table = self.sql(statement) if isinstance(statement, str) else self.run(statement)
        assert len(table.rows) == 1
        return dict(zip((column.name for column in table.columns), table.rows[0], strict=True))

    def describe(self, text: str) -> dict[Any, Any]:
        """Return the facts that a DESCRIBE JOB lists, by their names."""
        return {name: value for name, value in self.sql(text).rows}

    def reply(self, text: str) -> tuple[Any, Any]:
        """Return status and message of a command."""
        row = self.row(text)
        return row["status"], row["message"]

    def error_of(self, text: str) -> StatementError:
        with raises(StatementError) as caught:
            self.sql(text)
        return caught.value

    def in_background(self, text: str) -> Future[Table]:
        """Run a statement on a thread of its own, as another session would."""
        return in_thread(lambda: self.sql(text))

    def begin(self, text: str) -> tuple[Future[Table], Job]:
        """Run a CREATE JOB on a thread of its own. Return it, which still waits, and its job, which is running."""
        with self.runtime.gate("start"):
            creating = self.in_background(text)
            self.runtime.wait_entered("start")
        assert self.runtime.newest is not None
        return creating, self.wait_status(self.runtime.newest.id, Status.RUNNING)

    def make(self, job: str = "j", options: Mapping[str, str] | None = None, **changes: object) -> str:
        """Create a job and return its id."""
        return str(self.row(create(job, options, **changes))["id"])

    def job(self, job_id: str) -> Job:
        job = self.store.job(job_id)
        assert job is not None
        return self.manager.view(job).job

    def wait_status(self, job_id: str, *statuses: Status) -> Job:
        """Wait until the job has one of these statuses."""
        view = self.manager.view(self.job(job_id))
        after = self.manager.registry.wait(view, lambda now: now.job.status in statuses, 20.0)
        assert after.job.status in statuses, after
        return after.job

    def wait_run(self, job_id: str, run: int) -> Job:
        """Wait until this run of the job is running."""
        view = self.manager.view(self.job(job_id))

        def runs(now: object) -> bool:
            job = now.job  # type: ignore[attr-defined]
            return job.run == run and job.status is Status.RUNNING

        after = self.manager.registry.wait(view, runs, 20.0)
        assert runs(after), after
        return after.job

    def titles(self, job_id: str) -> list[str]:
        return [row.event for row in self.store.history(job_id)]


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Run a function on a thread of its own, and return a future of its result."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # the test that waits for the result gets it
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    return result


@contextmanager
def run_manager(
    place: Path | StoreDatabase,
    runtime: InMemoryRuntime | None = None,
    settings: JobSettings = QUICK,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
    alerts: AlertSettings = AlertSettings(),  # noqa: B008  # it is frozen
    metrics: Metrics | None = None,
    openlineage: OpenLineageSettings = OpenLineageSettings(),  # noqa: B008
    opentelemetry: OpenTelemetrySettings = OpenTelemetrySettings(),  # noqa: B008
) -> Iterator[JobsHarness]:
    """Run a manager. place: the database of its store, or the folder of one on SQLite. metrics: of an earlier one"""
    runtime = runtime or InMemoryRuntime()
    opened = store or Store(place / "jetsql.db" if isinstance(place, Path) else place)
    as_protocol: JobRuntime = runtime
    audit = AuditLog(AuditFile(place), AuditSettings()) if isinstance(place, Path) else NO_AUDIT
    manager = Manager(
        opened,
        as_protocol,
        settings,
        clock,
        metrics,
        audit=audit,
        alerts=alerts,
        reports=RunReports(openlineage, opentelemetry, clock),
    )
    manager.start()
    try:
        yield JobsHarness(runtime, manager, opened)
    finally:
        for gate in runtime.gates.values():
            gate.set()
        manager.close()
        opened.close()
