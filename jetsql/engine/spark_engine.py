"""The engine of `jobs.engine.Engine` on Spark: analysis, runs, sinks and checkpoints put together."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from jetsql.engine import failures
from jetsql.engine.analysis import ResolvedBody, resolve
from jetsql.engine.catalog import Catalog
from jetsql.engine.checkpoints import Checkpoints
from jetsql.engine.filesystem import FileSystem
from jetsql.engine.jvm import bridge
from jetsql.engine.runs import BatchRun, Run, RunParts, StreamingRun
from jetsql.engine.sessions import Sessions
from jetsql.engine.sinks import SinkContext, SinkWriter
from jetsql.engine.sinks.append import PartitionOverwrite, PlainAppend
from jetsql.engine.sinks.dialects import LEDGER_FORMAT
from jetsql.engine.sinks.files import PART_NAMES, StagedFiles
from jetsql.engine.sinks.jdbc import JdbcAppend, JdbcTransactions, needs_transactions
from jetsql.engine.sinks.manifests import FORMAT as MANIFEST_FORMAT
from jetsql.engine.sinks.rehearsal import rehearse
from jetsql.engine.sinks.versions import TableVersions
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.engine import EngineEvent, Report, RestartWanted, RunCompleted, RunFailed, SinkNoticed, UserSession
from jetsql.jobs.model import Analysis, Cause, Guarantee, Job, Plan, RunId, SinkKind
from jetsql.language.statements import Body
from jetsql.version import VERSION


@dataclass(frozen=True)
class EngineSettings:
    """checkpoint_root: path or URI. The others: see `jetsql.settings.Settings`."""

    checkpoint_root: str
    single_file_bytes: int = 256 * 1024
    old_versions_seconds: float = 600.0


class SparkEngine:
    """Runs jobs on one Spark session's context."""

    def __init__(self, spark: SparkSession, settings: EngineSettings) -> None:
        self._spark = spark
        self._settings = settings
        self._sessions = Sessions(spark)
        self._catalog = Catalog(spark)
        self._files = FileSystem(spark)
        self._checkpoints = Checkpoints(self._files.qualified(settings.checkpoint_root), self._files)
        self._runs: dict[RunId, Run] = {}
        self._lock = threading.Lock()

    def analyse(self, body: Body, session: UserSession) -> Analysis:
        spark = _spark(session)
        return resolve(body, spark, self._sessions.capture(spark)).analysis

    def check_reachable(self, plan: Plan) -> None:
        """File tables are reached through Spark itself; analysing the statement has asked for them already."""
        if plan.analysis.sink.kind is SinkKind.JDBC:
            rehearse(self._spark, self._catalog, plan)

    def explain(self, body: Body, plan: Plan, session: UserSession, formatted: bool) -> str:
        spark = _spark(session)
        query = resolve(body, spark, plan.analysis.session).query
        dataset = bridge(spark).dataset(spark._jsparkSession, query)
        jvm: Any = self._spark.sparkContext._jvm
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted" if formatted else "simple")
        return str(dataset.queryExecution().explainString(mode))

    def start(self, job: Job, report: Report) -> None:
        run = RunId(job.id, job.run)
        if job.plan.guarantee is Guarantee.NONE:
            self._checkpoints.start_over(job.id)
        session = self._sessions.for_job(job)
        resolved = resolve(job.body, session, job.plan.analysis.session)
        _same_query(job, resolved)
        writer = self._writer(job, session, report)
        writer.recover()
        checkpoint = self._checkpoints.spark(job.id)
        told = self._forgetting_ended_runs(report)
        parts = RunParts(job, session, resolved.query, writer, checkpoint, told, resolved.static_locations)
        started: Run = StreamingRun(parts) if job.plan.analysis.streaming else BatchRun(parts)
        with self._lock:
            self._runs[run] = started
        failpoint("run-starting", job.name)
        try:
            started.start()
            failpoint("run-started", job.name)
        except BaseException:
            self._forget(run)
            raise

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        running = self._forget(run)
        return True if running is None else running.stop(deadline_seconds)

    def watch_idle(self, run: RunId) -> None:
        running = self._runs.get(run)
        if running is not None:
            running.watch_idle()

    def recover(self, job: Job) -> None:
        self._writer(job, self._spark, _no_report).recover()

    def discard(self, job: Job) -> None:
        self._writer(job, self._spark, _no_report).discard()
        failpoint("staging-discarded", job.name)
        self._checkpoints.discard(job.id)

    def cause_of(self, error: Exception) -> Cause:
        return failures.cause_of(error)

    def versions(self) -> dict[str, str]:
        return {
            "jetsql": VERSION,
            "spark": pyspark.__version__,
            "manifest": str(MANIFEST_FORMAT),
            "part_names": str(PART_NAMES),
            "ledger": str(LEDGER_FORMAT),
        }

    def _forget(self, run: RunId) -> Run | None:
        with self._lock:
            return self._runs.pop(run, None)

    def _forgetting_ended_runs(self, report: Report) -> Report:
        def told(event: EngineEvent) -> None:
            if isinstance(event, RunCompleted | RunFailed | RestartWanted):
                self._forget(event.run)
            report(event)

        return told

    def _writer(self, job: Job, session: SparkSession, report: Report) -> SinkWriter:
        run = RunId(job.id, job.run)
        context = SinkContext(
            job=job,
            spark=session,
            catalog=self._catalog,
            checkpoints=self._checkpoints,
            single_file_bytes=self._settings.single_file_bytes,
            old_versions_seconds=self._settings.old_versions_seconds,
            notice=lambda words: report(SinkNoticed(run, words)),
        )
        return writer_for(context)


def _spark(session: UserSession) -> SparkSession:
    """The session behind the handle that statements carry."""
    assert isinstance(session, SparkSession)
    return session


def writer_for(context: SinkContext) -> SinkWriter:
    """The way into a job's table that gives the guarantee of its plan."""
    plan = context.job.plan
    if plan.analysis.sink.kind is SinkKind.FILES and plan.overwrite:
        return PartitionOverwrite(context) if plan.analysis.sink.partition_columns else TableVersions(context)
    if plan.analysis.sink.kind is SinkKind.FILES and plan.guarantee is Guarantee.EXACTLY_ONCE:
        return StagedFiles(context)
    if plan.analysis.sink.kind is SinkKind.JDBC:
        return JdbcTransactions(context) if needs_transactions(plan) else JdbcAppend(context)
    return PlainAppend(context)


def _same_query(job: Job, resolved: ResolvedBody) -> None:
    """Raises StatementError JOB_CHANGED when what the job's text means is no longer what its state was made by."""
    then, now = job.plan.analysis.fingerprint, resolved.analysis.fingerprint
    if then == now or not job.established:
        return
    gone = [fact for fact in then if fact not in now]
    new = [fact for fact in now if fact not in then]
    raise StatementError(
        "JOB_CHANGED",
        "A view or table under the job was changed, so its text means something else now."
        f" It was: {'; '.join(gone) or '-'}. It is: {'; '.join(new) or '-'}.",
        hint="Undo that change and RESUME the job, or DROP it and create it again.",
    )


def _no_report(event: object) -> None:
    """For writers that only clean up: there is no run whose history could take notices."""
