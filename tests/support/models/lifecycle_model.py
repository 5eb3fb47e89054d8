"""Random sequences of actions of users, runs and engines on a job, compared with a model of checkpoints and sink.

The actions of the life cycle are executed one after another, as by the workers. Their events and those of the run are
in a mailbox until they are delivered. Users act at any time, on a state of the job that may be out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from jetsql.jobs.lifecycle.events import (
    AlterOptions,
    Cancel,
    DiscardFiles,
    DiscardVersion,
    EngineCrashed,
    EngineStarted,
    EngineStopping,
    Event,
    FilesDiscarded,
    MembersChanged,
    MembersSettled,
    Outcome,
    PrepareUpdate,
    ProbeTrial,
    RecoverSink,
    Restart,
    Resume,
    RetryDue,
    ScheduleRetry,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    StartRun,
    Step,
    StopFailed,
    Stopped,
    StopRun,
    Submit,
    Superseded,
    Suspend,
    TakeSnapshot,
    TrialProbed,
    Update,
    UpdateFailed,
    UpdatePrepared,
    WriteSnapshot,
)
from jetsql.jobs.lifecycle.runtime import (
    BatchCommitted,
    ResourceExhausted,
    RestartRequested,
    RunCompleted,
    RunFailed,
    RunIdle,
)
from jetsql.jobs.lifecycle.step_context import CRASHES_MOST, StepContext
from jetsql.jobs.lifecycle.transitions import apply_event
from jetsql.jobs.model.cluster_member import ClusterState
from jetsql.jobs.model.job import CANCELLED, Cause, Job, RunId, Snapshot, SnapshotRequest, Status, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body

RETRYABLE_ERROR = Cause("the disk is full", "DISK", retryable=True)
FATAL_ERROR = Cause("1/0", "DIVIDE_BY_ZERO", retryable=False)


def new_job(chosen: dict[str, str]) -> Job:
    statement_body = body()
    plan = make_plan(analysis(), parse_options((), before=chosen), statement_body.verb, None)
    return Job("1", "j", Version("v0", statement_body, plan), 0.0)


@dataclass
class Checkpoint:
    """A checkpoint of a job."""

    number: int  # unique among checkpoints
    text: str  # of the version that it was made for
    begin: int = -1  # the newest committed batch when it was made
    committed: int = -1  # the newest committed batch
    planned: bool = False  # the batch after that is planned


@dataclass
class RunModel:
    """The state of the engine, which has at most one run."""

    run: int = 0
    alive: bool = False
    start_reported: bool = True


MOVES: Final = (
    *(f"user: {what}" for what in ("look", "replace", "alter", "alter, resume")),
    *(f"user: {what}" for what in ("suspend", "resume", "restart", "drop")),
    *(f"snapshot: {what}" for what in ("create s", "create t", "drop job with s")),
    *(
        f"run: {what}"
        for what in ("plan", "put", "batch", "idle", "fail", "hopeless", "replaced", "complete", "endangers")
    ),
    *(f"action: {how}" for how in ("works", "forced", "fails")),
    *(f"engine: {how}" for how in ("killed", "crashed", "crashed by it", "closed", "closed, late")),
    *(
        f"members: {what}"
        for what in ("one joins", "one is lost", "all are lost", "one leaves", "one has left", "settled")
    ),
    *("copy: ", "late report: ", "delay is over: ", "newer job: "),
)
OF: Final = "version"  # an option with the version that a plan was made for
COMMON: Final = ("go on: 1", "go on: 2", "go on: 6", "user: look", "user: replace", "run: batch")
OPENINGS: Final = {
    "new": (),
    "running": ("go on: 9", "run: batch", "go on: 9"),
    "suspended": ("go on: 9", "run: batch", "go on: 9", "user: suspend", "go on: 9"),
    "on trial": ("go on: 9", "run: batch", "go on: 9", "user: look", "user: replace", "go on: 9"),
}


class Life:
    """The life of a job."""

    def __init__(
        self, trigger: str, attempts: int, opening: Sequence[str], scaling: bool = True, protection: bool = False
    ) -> None:
        self.cluster = ClusterState(frozenset({"m0", "m1"}), cores=2)
        self.member_ids = count(2)  # Spark uses no id twice
        flags = {"autoScaling": str(scaling).lower(), "splitBrainProtectionEnabled": str(protection).lower()}
        self.submit({"trigger": trigger, "restartAttempts": str(attempts), **flags})
        for move in opening:
            self.do(move)

    def submit(self, options: dict[str, str]) -> None:
        self.job = self.seen = new_job(options)  # `seen` is the job as a statement read it
        self.queue: list[object] = []
        self.mail: list[Event] = []
        self.ends: list[Event] = []
        self.timers: list[RunId] = []
        self.engine = RunModel()
        self.checkpoints: dict[int, Checkpoint] = {}  # by number
        self.sink: dict[int, int] = {}  # the checkpoint that wrote each batch
        self.folders: dict[str, tuple[int, str]] = {}  # of snapshots: the batch and the text of the copied version
        self.snapshots: dict[str, Snapshot] = {}  # those in the store, by name
        self.beside: list[tuple[SnapshotRequest, Job]] = []  # copies of the running job in progress
        self.now = 0.0
        self.count = 0
        self.closing = False
        self.take(Submit())

    def do(self, move: str) -> None:
        """Execute a move of MOVES; one that is not possible has no effect. Raises AssertionError."""
        match move.split(": "):
            case ["user", what]:
                self.ask(what)
            case ["snapshot", what]:
                self.snapshot(what[-1], cancel=what.startswith("drop"))
            case ["run", what] if self.engine.alive:
                self.happen(what)
            case ["action", how] if self.queue and self.engine.start_reported:
                self.act(works=how != "fails", gently=how != "forced")
            case ["engine", how]:
                self.end_engine(how)
            case ["go on", steps]:
                self.go_on(int(steps))
            case ["members", what]:
                self.change_members(what)
            case ["copy", _] if self.beside:
                self.copy()
            case ["late report", _] if self.ends:
                self.deliver_end()
            case ["delay is over", _] if self.timers:
                self.take(RetryDue(self.timers.pop(0)))
            case ["newer job", _] if self.job.status is Status.COMPLETED:
                self.take(Superseded())
        self.check_always()

    # --- the record, as the manager keeps it -------------------------------------------------------------------------

    def take(self, event: Event) -> Step:
        before = self.job
        taken = apply_event(before, event, StepContext(self.now, closing=self.closing, cluster=self.cluster))
        self.job = taken.job
        self.queue.extend(action for action in taken.actions if not isinstance(action, ScheduleRetry))
        self.timers.extend(action.run for action in taken.actions if isinstance(action, ScheduleRetry))
        if taken.snapshot is not None:
            self.keep(taken.snapshot, taken.replaced_snapshot_id)
        self.check(before, taken)
        return taken

    def check(self, before: Job, taken: Step) -> None:
        after = taken.job
        if taken.outcome in (Outcome.REFUSED, Outcome.STALE):
            assert after == before and not taken.actions
        if after.status is not before.status:
            assert taken.history_event
        if (
            before.is_live
            and not after.is_live
            and before.snapshot_request is not None
            and before.snapshot_request.then_cancel
        ):
            assert taken.snapshot is not None, "dropped without the snapshot that was to be kept"
        if before.is_live and after.status is Status.FAILED and after.cause != CANCELLED:
            assert before.batch is None, "an error has deleted a state that no statement dropped"
        if before.rollback_version is not None and after.version.checkpoint == before.rollback_version.checkpoint:
            trial = self.checkpoints.get(before.version.checkpoint)
            assert trial is None or trial.number not in self.sink.values(), "gone back behind what is in the sink"
        if self.closing:
            assert not any(isinstance(action, StartRun) for action in taken.actions), "started while the engine goes"

    def keep(self, snapshot: Snapshot, replaces: str | None) -> None:
        self.snapshots = {name: kept for name, kept in self.snapshots.items() if kept.id != replaces}
        assert snapshot.name not in self.snapshots, "two snapshots of one name"
        self.snapshots[snapshot.name] = snapshot

    def number(self) -> int:
        self.count += 1
        return self.count

    def change_members(self, what: str) -> None:
        there, leaving, left = self.cluster.members, self.cluster.leaving, self.cluster.left
        oldest = frozenset([min(there)] if there else [])
        match what:
            case "one joins":
                there |= {f"m{next(self.member_ids)}"}
            case "one is lost":
                there -= oldest
            case "all are lost":
                there = frozenset()
            case "one leaves":
                leaving |= oldest
            case "one has left":
                there, left = there - oldest, left | oldest
        leaving &= there
        self.cluster = ClusterState(there, leaving, left, cores=len(there - leaving))
        if what == "settled":
            self.take(MembersSettled())
        else:
            before = self.job
            self.check_members(before, self.take(MembersChanged()))

    def check_members(self, before: Job, taken: Step) -> None:
        """Check that a planned departure neither stops a run that has members left nor is taken for a loss."""
        lost = set(before.members) - self.cluster.members - self.cluster.left
        enough = len(self.cluster.members) >= max(1, before.quorum)
        if before.status in (Status.STARTING, Status.RUNNING) and enough and not lost:
            assert taken.job.status is before.status, "stopped for a planned departure"
        if taken.job.status in (Status.STARTING, Status.RUNNING):
            assert not set(taken.job.members) & self.cluster.planned, "runs on a member that has left"
            assert len(self.cluster.members) >= max(1, taken.job.quorum) or self.closing, "runs without its members"

    # --- users -------------------------------------------------------------------------------------------------------

    def ask(self, what: str) -> None:
        match what:
            case "look":
                self.seen = self.job
            case "suspend":
                self.take(Suspend())
            case "resume":
                self.take(Resume())
            case "restart":
                self.take(Restart())
            case "drop" if self.job.has_files:
                self.take(Cancel())
            case "drop":
                self.submit({name: value for name, value in self.job.plan.options.given.items() if name != OF})
            case "replace":
                text, seen = f"v{self.number()}", self.seen
                given = {**seen.plan.options.given, OF: text}
                plan = replace(seen.plan, options=replace(seen.plan.options, given=given))
                self.take(Update(Version(text, seen.body, plan), seen.plan))
            case _:
                options = replace(self.seen.plan.options, restart_attempts=self.number() % 4)
                plan = replace(self.seen.plan, options=options)
                self.take(AlterOptions(plan, self.seen.plan, ("restartAttempts",), resume="resume" in what))

    def snapshot(self, name: str, cancel: bool) -> None:
        """Run CREATE OR REPLACE SNAPSHOT, or DROP JOB WITH SNAPSHOT, which does not replace a snapshot."""
        there = self.snapshots.get(name)
        writing = [export.name for export, _ in self.beside] + (
            [self.job.snapshot_request.name] if self.job.snapshot_request else []
        )
        if name in writing or self.job.batch is None or (cancel and (there or not self.job.is_live)):
            return
        export = SnapshotRequest(str(self.number()), name, there.id if there else None, then_cancel=cancel)
        taken = self.take(Cancel(export) if cancel else TakeSnapshot(export))
        if not cancel and taken.outcome is Outcome.UNCHANGED:
            self.beside.append((export, taken.job))

    def copy(self) -> None:
        """Let the engine copy the state of the running job; with the next call, report that copy."""
        export, asked = self.beside[0]
        source = self.checkpoints.get(asked.version.checkpoint)
        if export.id in self.folders:
            self.beside.pop(0)
            self.take(SnapshotWritten(export, asked.version, self.folders[export.id][0], 1000))
        elif source is None or source.committed < 0:
            self.beside.pop(0)
        else:
            self.folders[export.id] = (source.committed, source.text)

    # --- workers -----------------------------------------------------------------------------------------------------

    @property
    def run(self) -> RunId:
        return RunId(self.job.id, self.engine.run)

    def under_way(self) -> bool:
        return bool(self.queue or self.mail or not self.engine.start_reported)

    def go_on(self, steps: int) -> None:
        """Continue the actions in progress. Without any, deliver the end of a run or the end of a delay."""
        if self.ends and not self.under_way():
            self.deliver_end()
        elif self.timers and not self.under_way():
            self.take(RetryDue(self.timers.pop(0)))
        while steps and self.under_way():
            steps -= 1
            if not self.engine.start_reported:
                self.tell_started()
            elif self.mail:
                self.deliver()
            else:
                self.act(works=True, gently=True)

    def act(self, works: bool, gently: bool) -> None:
        match self.queue.pop(0):
            case StartRun(started):
                self.start(started, works)
            case StopRun(stopped):
                self.engine.alive = self.engine.alive and not works
                run = RunId(stopped.id, stopped.run)
                self.mail.append(Stopped(run, gently) if works else StopFailed(run, RETRYABLE_ERROR))
            case DiscardFiles(ended):
                assert not self.engine.alive, "files of a live run are deleted"
                self.checkpoints, self.sink = {}, {}
                self.mail.append(FilesDiscarded(RunId(ended.id, ended.run)))
            case RecoverSink():
                assert not self.engine.alive, "the sink of a live run is recovered"
            case PrepareUpdate(updated):
                self.mail.append(self.prepare(updated, RunId(updated.id, updated.run), works, gently))
            case WriteSnapshot(asked):
                self.mail.append(self.write(asked, RunId(asked.id, asked.run), works, gently))
            case ProbeTrial(tried):
                held = (
                    self.checkpoints[tried.version.checkpoint] if tried.version.checkpoint in self.checkpoints else None
                )
                run = RunId(tried.id, tried.run)
                self.mail.append(
                    TrialProbed(run, self.holds(held)) if works else TrialProbed(run, None, RETRYABLE_ERROR)
                )
            case DiscardVersion(_, version):
                self.discard(version.checkpoint)

    def start(self, started: Job, works: bool) -> None:
        assert not self.engine.alive, "two runs on one checkpoint"
        for stale in set(self.checkpoints) - self.wanted(started):
            self.discard(stale)
        if started.version.checkpoint not in self.checkpoints:
            assert not self.sink and started.version.checkpoint == 0, "a run starts on a checkpoint that is not there"
            self.checkpoints[0] = Checkpoint(self.number(), started.version.statement)
        begins = self.checkpoints[started.version.checkpoint]
        assert begins.text == started.version.statement, "a version runs on the checkpoint of another one"
        assert set(self.sink) >= set(range(begins.committed + 1)), "committed and lost"
        after = {batch: number for batch, number in self.sink.items() if batch > begins.committed}
        assert after in ({}, {begins.committed + 1: begins.number}), "rows go into the sink twice"
        self.engine = RunModel(started.run, works, start_reported=not works)
        if not works:
            self.mail.append(StartFailed(self.run, RETRYABLE_ERROR))

    def tell_started(self) -> None:
        self.engine.start_reported = True
        self.mail.append(Started(self.run))

    @staticmethod
    def wanted(job: Job) -> set[int]:
        others = (version.checkpoint for version in (job.rollback_version, job.pending_version) if version is not None)
        return {job.version.checkpoint, *others}

    def discard(self, number: int) -> None:
        in_force = {
            self.job.version.checkpoint,
            *([self.job.rollback_version.checkpoint] if self.job.rollback_version else []),
        }
        assert number not in in_force or not self.job.has_files, "a checkpoint goes that is still needed"
        self.checkpoints.pop(number, None)

    def holds(self, trial: Checkpoint | None) -> bool:
        return trial is not None and trial.number in self.sink.values()

    def finish_pending(self, source: Checkpoint, run: RunId, works: bool) -> bool:
        """Commit a planned batch before a state is copied, and return whether that succeeded."""
        if source.planned and works:
            self.mail.append(self.commit(source, run))
        return works or not source.planned

    def prepare(self, updated: Job, run: RunId, finishes: bool, works: bool) -> Event:
        assert not self.engine.alive, "the state of a live run is moved"
        pending_version = updated.pending_version
        assert pending_version is not None and pending_version.checkpoint != updated.version.checkpoint, (
            "a checkpoint is copied onto itself"
        )
        source = self.checkpoints.get(updated.version.checkpoint)
        if source is None:
            assert not self.sink, "the checkpoint that is to be copied is not there"
            source = self.checkpoints[updated.version.checkpoint] = Checkpoint(self.number(), updated.version.statement)
        untried = updated.version.checkpoint > 0 and source.committed == source.begin and not self.holds(source)
        left = source.committed + 1 not in self.sink  # a batch that can't be finished, and that the sink doesn't have
        if not ((untried or self.finish_pending(source, run, finishes) or left) and works):
            return UpdateFailed(run, RETRYABLE_ERROR)
        copied = Checkpoint(self.number(), pending_version.statement, source.committed, source.committed)
        self.checkpoints[pending_version.checkpoint] = copied
        return UpdatePrepared(run)

    def write(self, asked: Job, run: RunId, finishes: bool, works: bool) -> Event:
        assert not self.engine.alive, "a job that is being exported runs"
        source = self.checkpoints[asked.version.checkpoint]
        if not (self.finish_pending(source, run, finishes) and works) or source.committed < 0:
            return SnapshotFailed(run, RETRYABLE_ERROR)
        assert asked.snapshot_request is not None
        self.folders[asked.snapshot_request.id] = (source.committed, source.text)
        return SnapshotFinished(run, SnapshotWritten(asked.snapshot_request, asked.version, source.committed, 1000))

    def deliver(self) -> None:
        self.take(self.mail.pop(0))

    def deliver_end(self) -> None:
        """Deliver the end of a run. A thread of its own reports it: after earlier events, maybe after the stop."""
        while self.mail:
            self.deliver()
        self.take(self.ends.pop(0))

    # --- the run -----------------------------------------------------------------------------------------------------

    def commit(self, checkpoint: Checkpoint, run: RunId) -> Event:
        self.put(checkpoint)
        checkpoint.committed += 1
        checkpoint.planned = False
        return BatchCommitted(run, checkpoint.committed, self.now, 1, 1.0)

    def put(self, checkpoint: Checkpoint) -> None:
        """Write the next batch into the sink, which knows the batches that the checkpoint has written before."""
        checkpoint.planned = True
        wrote = self.sink.setdefault(checkpoint.committed + 1, checkpoint.number)
        assert wrote == checkpoint.number, "two versions wrote the same rows"

    def happen(self, what: str) -> None:
        """Let an event happen in the run; a run that ends reports this once."""
        self.now += 1.0
        run, checkpoint = self.run, self.checkpoints[self.job.version.checkpoint]
        endings: dict[str, Event] = {
            "fail": RunFailed(run, RETRYABLE_ERROR),
            "hopeless": RunFailed(run, FATAL_ERROR),
            "replaced": RestartRequested(run, "replaced"),
            "complete": RunCompleted(run),
        }
        match what:
            case "plan":
                checkpoint.planned = True
            case "put":
                self.put(checkpoint)
            case "batch":
                self.mail.append(self.commit(checkpoint, run))
            case "endangers":
                self.mail.append(ResourceExhausted(run, FATAL_ERROR))
            case "idle" if not checkpoint.planned:
                self.mail.append(RunIdle(run, self.now))
            case _ if what in endings:
                self.engine.alive = False
                if what == "complete" and checkpoint.planned:
                    self.mail.append(self.commit(checkpoint, run))
                self.ends.append(endings[what])

    # --- the engine --------------------------------------------------------------------------------------------------

    def end_engine(self, how: str) -> None:
        if how.startswith("crashed"):
            self.take(EngineCrashed("the heap was full", "by it" in how))
        elif how != "killed":
            self.close(late=how != "closed")
        self.come_back()

    def come_back(self) -> None:
        """Restart the engine: runs and unstored state are lost, the record of the job is not."""
        self.engine = RunModel(self.engine.run)
        self.queue, self.mail, self.ends, self.timers, self.beside = [], [], [], [], []
        self.folders = {id: self.folders[id] for id in self.folders if id in self.stored()}
        self.take(EngineStarted())
        self.seen = self.job

    def stored(self) -> set[str]:
        return {snapshot.id for snapshot in self.snapshots.values()}

    def close(self, late: bool) -> None:
        """Stop the engine gracefully, after all actions in progress."""
        self.timers = []
        self.closing = True
        stuck = any(isinstance(event, StopFailed) for event in self.mail)
        self.take(EngineStopping())
        while self.queue or self.mail or self.ends or not self.engine.start_reported:
            if not self.engine.start_reported:
                self.tell_started()
            if self.queue:
                self.act(works=True, gently=True)
            elif self.mail and not (late and self.ends):
                self.deliver()
            elif self.ends:
                self.deliver_end()
        self.closing = False
        assert not self.engine.alive or stuck
        assert self.job.status not in (Status.STARTING, Status.RUNNING, Status.COMPLETING)
        assert self.job.status is not Status.SUSPENDED_EXPORTING_SNAPSHOT

    # --- what always holds -------------------------------------------------------------------------------------------

    def check_always(self) -> None:
        self.nothing_is_stuck()
        self.what_is_under_way_belongs_to_a_status()
        self.a_plan_belongs_to_its_text()
        self.no_files_are_forgotten()
        self.the_way_back_is_there()
        self.snapshots_are_whole()

    def nothing_is_stuck(self) -> None:
        """Check that a job in transition has an action in progress that ends the transition."""
        status = self.job.status
        under_way = self.under_way() or self.ends
        if status in (Status.STARTING, Status.COMPLETING, Status.SUSPENDED_EXPORTING_SNAPSHOT):
            assert under_way
        if status is Status.RUNNING:
            assert self.engine.alive or under_way
        if status is Status.NOT_RUNNING:
            assert self.timers or under_way or self.job.waiting_for_members
        if self.job.waiting_for_members:
            assert status is Status.NOT_RUNNING and len(self.cluster.staying) < max(1, self.job.quorum)
        if status in (Status.SUSPENDED, Status.FAILED, Status.COMPLETED):
            assert not self.engine.alive

    def what_is_under_way_belongs_to_a_status(self) -> None:
        job = self.job
        assert (job.stop_goal is not None) == (job.status is Status.COMPLETING)
        assert job.crashes < CRASHES_MOST or job.status not in (Status.STARTING, Status.RUNNING)
        assert job.stop_cause is None or job.status is Status.COMPLETING
        assert (job.end_time is not None) == job.status.is_final
        assert job.pending_version is None or job.status is Status.COMPLETING
        assert job.snapshot_request is None or job.status in (Status.COMPLETING, Status.SUSPENDED_EXPORTING_SNAPSHOT)
        assert job.rollback_version is None or job.rollback_version.checkpoint != job.version.checkpoint

    def a_plan_belongs_to_its_text(self) -> None:
        assert self.job.plan.options.given.get(OF, "v0") == self.job.version.statement

    def no_files_are_forgotten(self) -> None:
        if self.checkpoints:
            assert self.job.has_files
        if self.job.status is Status.RUNNING and not self.under_way():
            assert set(self.checkpoints) == self.wanted(self.job)

    def the_way_back_is_there(self) -> None:
        if self.job.is_live and self.job.rollback_version is not None:
            assert self.job.rollback_version.checkpoint in self.checkpoints

    def snapshots_are_whole(self) -> None:
        for snapshot in self.snapshots.values():
            assert self.folders.get(snapshot.id) == (snapshot.batch, snapshot.plan.options.given.get(OF, "v0"))
