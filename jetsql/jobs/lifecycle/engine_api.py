"""The engine as the manager knows it: a small protocol, and the events that come back from a run.

The tests have an in-memory twin. Everything but what a statement asks first (`analyse`, `check_conf`,
`check_real_time`, `explain`) is called on worker threads and may block; the manager's writer thread never calls an
engine.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from jetsql.jobs.model.cluster_member import Member
from jetsql.jobs.model.job import Analysis, Cause, Job, Plan, RunId, Version
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.statement import Body


@dataclass(frozen=True)
class BatchCommitted:
    """A micro-batch is committed. trigger_time: when its trigger began, seconds since the epoch. again: it was planned
    by an earlier run, so it holds what was there then and not when its trigger began. measure: all that is known of
    it."""

    run: RunId
    batch: int
    trigger_time: float
    input_rows: int
    rows_per_second: float
    late_rows: int = 0
    again: bool = False
    measure: BatchMetrics | None = None


@dataclass(frozen=True)
class RunIdle:
    """A trigger that began at trigger_time (seconds since the epoch) found nothing to do, or has left nothing to do of
    what was there when it began; rows_per_second: what it did."""

    run: RunId
    trigger_time: float
    rows_per_second: float = 0.0


@dataclass(frozen=True)
class RunProgressed:
    """Rows go through a batch that takes long by its nature; none of it is committed before its end. rows: since this
    was told the last time."""

    run: RunId
    rows: int
    rows_per_second: float


@dataclass(frozen=True)
class RunBlocked:
    """The run goes on and gets nowhere, because a system that it needs does not answer or does not let it go on. cause:
    what is the matter; None when that is over."""

    run: RunId
    cause: Cause | None


@dataclass(frozen=True)
class RunCompleted:
    """The run ended by itself and everything it was to do is committed. message: what people should know of it."""

    run: RunId
    message: str = ""


@dataclass(frozen=True)
class RunFailed:
    """The run ended with an error."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class SinkNotice:
    """Something about the sink that belongs into the job's history, in words; the run goes on."""

    run: RunId
    message: str


@dataclass(frozen=True)
class RestartRequested:
    """The run ended because something it reads was replaced; it should start again at once, no attempt is counted."""

    run: RunId
    message: str


@dataclass(frozen=True)
class CopiedState:
    """A copy of a job's state. batch: the newest committed one in it."""

    batch: int
    size_bytes: int


EngineEvent = (
    BatchCommitted | RunIdle | RunProgressed | RunBlocked | RunCompleted | RunFailed | SinkNotice | RestartRequested
)
Report = Callable[[EngineEvent], None]
MembersListener = Callable[[frozenset[str], int], None]
"""Called with the ids of all members that run tasks, and with how many tasks Spark takes them to run at once."""


class UserSession(Protocol):
    """A handle of the session that a statement came from; only the engine looks inside."""


class Engine(Protocol):
    """What runs the jobs."""

    def analyse(self, body: Body, session: UserSession) -> Analysis:
        """Find out what a body reads and writes. Makes nothing.

        Raises StatementError for what JetSQL refuses, and Spark's own error for what Spark does not understand.
        """

    def check_conf(self, name: str, value: str) -> None:
        """Try whether a run could be given this `spark.*` setting.

        Raises StatementError OPTION_NOT_CHANGEABLE for one of the engine's own, INVALID_OPTION_VALUE for a bad value.
        """

    def check_reachable(self, plan: Plan) -> None:
        """Ask the external systems of a plan directly whether the job could work (5 s); of a plan with the trigger
        realTime, those that `check_real_time` has not asked.

        Raises StatementError (EXTERNAL_SYSTEM_UNAVAILABLE, SOURCE_NOT_READY, SINK_NOT_READY).
        """

    def check_real_time(self, body: Body, plan: Plan, job: Job | None) -> None:
        """Ask Spark, and the topics that are read, whether the body could run with the trigger realTime now. job: whose
        it would be from now on; None for a new one.

        Raises StatementError TRIGGER_NOT_POSSIBLE, and as `check_reachable`.
        """

    def explain(self, body: Body, plan: Plan, session: UserSession, formatted: bool) -> str:
        """Spark's plan of the body, as text."""

    def start(self, job: Job, report: Report) -> None:
        """Start `job.run` from the job's checkpoint and return when it runs; `report` is called from then on.

        Raises any error that keeps it from starting (JetSQLError JOB_CHANGED and SINK_CHANGED do not heal).
        After this returns, exactly one of RunCompleted, RunFailed, RestartWanted is reported unless `stop` is called.
        """

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        """End a run at a batch boundary; by force after the deadline. Blocks until it ended.

        Returns whether it was graceful. A run that is not there counts as stopped. A run that is being stopped
        reports nothing but RunFailed, before this returns, when its last batch ended with an error.
        """

    def watch_idle(self, run: RunId) -> None:
        """Report RunIdle at the next trigger that begins from now on and finds nothing to do.

        Also when the run has been idle before; a trigger that is under way may be reported too, but is not the last.
        """

    def recover(self, job: Job) -> None:
        """Finish what a dead engine left half done in the job's sink, without starting the job."""

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        """Copy the job's state as of its newest committed batch into the folder of a new snapshot.

        A running job goes on meanwhile. Of one that does not run, a batch that was planned and not committed is run to
        its commit first, which `report` is told. Returns when the copy is whole and opens.
        Raises JetSQLError SNAPSHOT_FAILED and whatever such a batch fails with; nothing is left of the copy then.
        """

    def delete_snapshot(self, snapshot: str) -> None:
        """Delete the folder of a snapshot; nothing there is fine."""

    def snapshot_folders(self) -> tuple[str, ...]:
        """Return the ids of all snapshots that there are folders of, whole or not."""

    def prepare_update(self, job: Job, report: Report, unwanted: Future[None]) -> None:
        """Make the checkpoint that `job.pending_version` will run on from that of the job, which does not run.

        As in `copy_state`, a batch that is pending is committed first, under the job's own statement. That of a version
        which has written nothing yet is forgotten: it may be what that version hangs in. Another one that hangs is
        ended when `unwanted` is done: the update has been given up.
        Raises whatever keeps it from that.
        """

    def discard_version(self, job: Job, version: Version) -> None:
        """Delete the checkpoint of a version that the job does not run any more, and what it left staged."""

    def holds_batch(self, job: Job) -> bool:
        """Return whether the job's sink has a batch that the job's checkpoint has not: it was written, and not
        committed."""

    def discard(self, job: Job) -> None:
        """Delete the job's checkpoint and staged rows. A folder that is not there is fine."""

    def cause_of(self, error: Exception) -> Cause:
        """Return an exception of this engine in the words of a Cause, with `retryable` from the table of such
        errors."""

    def versions(self) -> dict[str, str]:
        """Versions to store with a new job: jetsql, spark, manifest, ledger, part_names."""

    def defaults(self) -> dict[str, str]:
        """Settings of this release's sessions to store with a new job, which keeps them after an upgrade."""

    def members(self) -> tuple[Member, ...]:
        """Return the processes that run tasks, those that are gone too."""

    def watch_members(self, told: MembersListener) -> None:
        """Tell who is there: before this returns, and from then on whenever members join or are lost.

        Who is there is told as a whole and in order, from any thread. A member that gets no tasks for a while is there.
        """
