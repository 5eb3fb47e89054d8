"""The engine as the manager knows it: a protocol, and the events that a run reports.

The tests have an in-memory twin. `analyse`, `check_conf`, `check_real_time` and `explain` are called on the thread of a
statement, all other methods on worker threads; they may block. The manager's writer thread never calls an engine.
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
    """The run committed a micro-batch."""

    run: RunId
    batch: int
    trigger_time: float  # when its trigger began, seconds since the epoch
    input_rows: int
    rows_per_second: float
    late_rows: int = 0
    is_replay: bool = False  # an earlier run planned the batch, so it has the rows of that time
    metrics: BatchMetrics | None = None


@dataclass(frozen=True)
class RunIdle:
    """A trigger found no rows, or has left none of the rows that were there when it began."""

    run: RunId
    trigger_time: float  # when the trigger began, seconds since the epoch
    rows_per_second: float = 0.0


@dataclass(frozen=True)
class RunProgressed:
    """Rows go through a batch that is long by its nature and is committed only at its end."""

    run: RunId
    rows: int  # since the last report
    rows_per_second: float


@dataclass(frozen=True)
class RunBlocked:
    """The run makes no progress, because an external system does not answer or refuses the job."""

    run: RunId
    cause: Cause | None  # None when the run is not blocked any more


@dataclass(frozen=True)
class RunCompleted:
    """The run ended by itself, and everything is committed."""

    run: RunId
    message: str = ""  # for the job's history


@dataclass(frozen=True)
class RunFailed:
    """The run ended with an error."""

    run: RunId
    cause: Cause


@dataclass(frozen=True)
class SinkNotice:
    """A notice about the sink for the job's history; the run continues."""

    run: RunId
    message: str


@dataclass(frozen=True)
class RestartRequested:
    """The run ended because a table that it reads was replaced. It starts again immediately; this is no attempt."""

    run: RunId
    message: str


@dataclass(frozen=True)
class CopiedState:
    """A copy of a job's state."""

    batch: int  # the newest committed batch in it
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
    """The engine that runs the jobs."""

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

        Raises any error that keeps it from starting (JetSQLError JOB_CHANGED and SINK_CHANGED are not retryable).
        Then the run reports exactly one of RunCompleted, RunFailed and RestartRequested, unless `stop` is called.
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

    def recover_sink(self, job: Job) -> None:
        """Finish a batch that a dead engine left half written in the job's sink, without starting the job."""

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

    def prepare_update(self, job: Job, report: Report, cancelled: Future[None]) -> None:
        """Make the checkpoint that `job.pending_version` will run on from that of the job, which does not run.

        As in `copy_state`, a pending batch is committed first, under the job's own statement. The pending batch of a
        version that has written nothing yet is discarded, because that version may hang in it. Another one that hangs
        is ended when `cancelled` is done: the update is abandoned. Raises any error.
        """

    def discard_version(self, job: Job, version: Version) -> None:
        """Delete the checkpoint of a version that the job does not run any more, and what it left staged."""

    def sink_has_batch(self, job: Job) -> bool:
        """Return whether the job's sink has a batch that is not committed in the job's checkpoint."""

    def discard_files(self, job: Job) -> None:
        """Delete the job's checkpoints and staged rows, if there are any."""

    def cause_of(self, error: Exception) -> Cause:
        """Return an exception of this engine as a Cause."""

    def software_versions(self) -> dict[str, str]:
        """Return the versions to store with a new job: jetsql, spark, manifest, ledger, part_names."""

    def session_defaults(self) -> dict[str, str]:
        """Return the settings of this release's sessions to store with a new job, which keeps them after an upgrade."""

    def members(self) -> tuple[Member, ...]:
        """Return the processes that run tasks, those that are gone too."""

    def watch_members(self, listener: MembersListener) -> None:
        """Report the members: before this returns, and whenever members join or are lost.

        Each report has all members; reports come in order, from any thread. An EXCLUDED member counts as a member.
        """
