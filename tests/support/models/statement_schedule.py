"""Run statements and ends of runs on threads of their own, end engines meanwhile, and record each answer with its time.

`statement_oracle` decides whether the answers are possible.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event, local
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from jetsql.errors import EngineError, StatementError
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.store.job_store import Store
from tests.support.engines.disk_runtime import FATAL_ERROR, RETRYABLE_ERROR, DiskRuntime
from tests.support.engines.jobs_harness import QUICK, JobsHarness, in_thread
from tests.support.models.statement_forms import body_of
from tests.support.models.statement_model import REPORTED_LATER, Answer, Item, LiveJob, Seen

T = TypeVar("T")
SECONDS: Final = 60.0  # the time limit of every wait
FAULTS: Final = {"RETRYABLE_ERROR": RETRYABLE_ERROR, "FATAL_ERROR": FATAL_ERROR}
COMPLETE: Final = "COMPLETE"
_AT_REST: Final = (Status.RUNNING, Status.SUSPENDED, Status.FAILED, Status.COMPLETED)


@dataclass
class Scheduler:
    """An engine on a store and a disk, which can be ended and restarted."""

    folder: Path
    engine: DiskRuntime = field(default_factory=DiskRuntime)
    ticks: Iterator[int] = field(default_factory=count)  # the order of events
    threads: local = field(default_factory=local)
    # The events are set when a statement has ended, or waits for an effect of another one.
    waiting: WeakKeyDictionary[Future[Item], Event] = field(default_factory=WeakKeyDictionary)
    opened: int = 0

    def __post_init__(self) -> None:
        self.path = self.folder / "jetsql.db"
        self.open()

    def open(self) -> None:
        store = Store(self.path)
        manager = Manager(store, self.engine, QUICK)
        manager.start()
        for owner, call in (
            (manager.registry, "wait"),
            (manager.workers, "call"),
            (manager.workers, "wait_for_job"),
            (self.engine, "_pass"),
        ):
            self._notice(owner, call)
        self.jobs = JobsHarness(self.engine, manager, store)

    def _notice(self, owner: object, call: str) -> None:
        """Notice when a statement reaches a call that may wait for another statement."""
        real = getattr(owner, call)

        def noticed(*args: Any) -> Any:
            waits: Event | None = getattr(self.threads, "waits", None)
            if waits is not None:
                waits.set()
            return real(*args)

        setattr(owner, call, noticed)

    def close(self) -> None:
        """Stop the engine gracefully, and start the next one."""
        self.jobs.manager.close()
        self.jobs.store.close()
        self.engine = DiskRuntime(disk=self.engine.disk, there=self.engine.there)

    def kill(self) -> Callable[[], None]:
        """End the engine immediately: the next one finds the current store and disk.

        The killed engine continues on copies that are never read; the caller stops it in the end.
        """
        dead, self.opened = self.jobs, self.opened + 1
        self.path = self.folder / f"jetsql-{self.opened}.db"
        with self.engine.lock:
            with (
                closing(sqlite3.connect(dead.store.database.name)) as there,
                closing(sqlite3.connect(self.path)) as copy,
            ):
                there.backup(copy)
            self.engine = DiskRuntime(disk=self.engine.frozen(), there=self.engine.there)

        def stop_killed() -> None:
            dead.manager.close()
            dead.store.close()

        return stop_killed

    # --- a round -----------------------------------------------------------------------------------------------------

    def run(self, texts: Sequence[str], late: Sequence[str] = (), held: str = "", end: str = "") -> list[Item]:
        """Run all texts concurrently, the late ones after the held call has begun (or all others have ended).

        held: a call of the engine.
        end: "close" or "kill", while the texts run.
        """
        with self._holding(held) as reached:
            running = [self._begin(text) for text in texts]
            reached(running)
            second = [self._begin(text) for text in late]
            for each in second if held else ():  # they come as far as they can without the held call
                assert self.waiting[each].wait(SECONDS), "a statement neither ends nor waits"
            ended, stop_killed = next(self.ticks), lambda: None
            if end == "kill":
                stop_killed = self.kill()
            elif end == "close":
                closing_down = in_thread(self.close)
        if end == "close":
            _result("the engine's end", closing_down)
        items = [_result(text, each) for text, each in zip((*texts, *late), (*running, *second), strict=True)]
        stop_killed()
        if end:
            self.open()
            items = [item.unknown_after(ended) for item in items]
        return items

    @contextmanager
    def _holding(self, call: str) -> Iterator[Callable[[Sequence[Future[Item]]], None]]:
        """Hold the first call of this name. Without a call, the round continues when all texts are answered."""
        engine = self.engine

        def reached(running: Sequence[Future[Item]]) -> None:
            entered = engine.entered.get(call)
            if entered is not None:

                def answered(_: Future[Item]) -> None:
                    if all(each.done() for each in running):
                        entered.set()

                for each in running:
                    each.add_done_callback(answered)
                assert entered.wait(SECONDS), f"neither {call} was called nor were all answered"

        if not call:
            yield reached
            return
        with engine.gate(call):
            yield reached

    def _begin(self, text: str) -> Future[Item]:
        jobs, started, waits = self.jobs, Event(), Event()

        def run() -> Item:
            self.threads.waits = waits
            begin = next(self.ticks)
            started.set()
            if text.split()[0] in (*FAULTS, COMPLETE):
                return Item(text, self._end_run(jobs, text), begin, REPORTED_LATER)
            return Item(text, _answer(jobs, text), begin, next(self.ticks))

        reply = in_thread(run)
        reply.add_done_callback(lambda _: waits.set())
        self.waiting[reply] = waits
        assert started.wait(SECONDS), "no thread starts"
        return reply

    def _end_run(self, jobs: JobsHarness, text: str) -> Answer:
        """Let an event happen to the current run of a job, if it has one."""
        fault, name = text.split()
        engine = jobs.runtime
        assert isinstance(engine, DiskRuntime)
        with engine.lock:
            run = engine.run_named(name)
            if run is None or (fault == COMPLETE and run.job.plan.options.trigger is not Trigger.AVAILABLE_NOW):
                return Answer("nothing")
            if fault == COMPLETE:
                engine.complete(run.job.id)
            else:
                engine.fail(run.job.id, FAULTS[fault])
        return Answer("happened", job=run.job.id)

    # --- what is there -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until nothing is in progress."""
        manager = self.jobs.manager
        for _ in range(1000):
            before = [(view.job.id, view.job.status, view.job.run) for view in manager.registry.live()]
            for view in manager.registry.live():
                after = manager.registry.wait(view, lambda now: now.job.status in _AT_REST, SECONDS)
                assert after.job.status in _AT_REST, f"{after.job.name} does not come to rest: {after}"
            assert manager.workers.wait_all(SECONDS), "something is never done"
            for job in self.jobs.store.all_jobs()[-1:]:
                manager.view_after_pending_events(job)  # after all earlier events
            rest = [(view.job.id, view.job.status, view.job.run) for view in manager.registry.live()]
            if rest == before and manager.workers.is_idle():
                return
        raise AssertionError("the jobs never come to rest")

    def seen(self) -> Seen:
        """Return the jobs and snapshots in the store."""
        store = self.jobs.store
        ended = {job.name: job for job in store.ended_jobs()}
        live = store.live_jobs()
        return Seen(
            {job.name: _at_rest(job) for job in live},
            {name: _at_rest(job) for name, job in ended.items() if all(each.name != name for each in live)},
            {each.name: (each.job_id, each.plan.analysis.sources[0].name) for each in store.snapshots()},
        )


def _result(what: str, running: Future[T]) -> T:
    try:
        return running.result(SECONDS)
    except TimeoutError:
        raise AssertionError(f"{what} hangs") from None


def _at_rest(job: Job) -> LiveJob:
    attempts = job.plan.options.given.get("restartAttempts", "")
    text = body_of(job.body.text, ends=job.plan.options.trigger is Trigger.AVAILABLE_NOW)
    return LiveJob(job.id, job.shown_status, text, attempts, job.batch is not None, can_run_again(job))


def _answer(jobs: JobsHarness, text: str) -> Answer:
    try:
        table = jobs.sql(text)
    except EngineError as error:
        assert error.condition == "JETSQL.ENGINE_NOT_STARTED", error
        return Answer("unknown")
    except StatementError as error:
        return Answer("refused", error.condition.removeprefix("JETSQL."), words=f"{error.message} {error.hint}")
    if text.startswith("SHOW"):
        return Answer("shown", rows=tuple(tuple(map(str, row)) for row in table.rows))
    if text.startswith("DESCRIBE"):
        facts = {str(row[0]): str(row[1]) for row in table.rows}
        return Answer("reported", facts["status"], job=facts["id"])
    [row] = table.rows
    return Answer("reported", str(row[2] or ""), job=str(row[0] or ""), words=str(row[3]))
