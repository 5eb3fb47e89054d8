"""Building blocks for the handlers of the life cycle: facts about a job, and constructors of steps.

Replies to statements have no subject ("is already suspended"): the caller adds the job's name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import Action, DiscardFiles, Outcome, RecoverSink, StartRun, Step
from jetsql.jobs.model.cluster_member import ClusterState
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.jobs.model.job_options import Guarantee, Trigger

CRASHES_MOST: Final = 2
"""A job that has ended the engine's Spark so often in a row is not started again."""
_STABLE_SECONDS: Final = 300.0
_ONLY_DRIVER: Final = ClusterState(frozenset({"driver"}))


@dataclass(frozen=True)
class StepContext:
    """The circumstances of a step."""

    now: float  # seconds since the epoch
    retry_initial: float = 1.0  # delay before the first restart, seconds
    retry_max: float = 60.0  # longest delay before a restart, seconds
    closing: bool = False  # the engine is going to end: no run starts
    cluster: ClusterState = _ONLY_DRIVER
    fixed_partitions: str = ""  # why the engine cannot repartition state; empty when it can

    def retry_time(self, attempts: int) -> float:
        """Return the time of the next restart after so many restarts without progress."""
        return self.now + min(self.retry_initial * 2.0 ** min(attempts, 60), self.retry_max)


def can_run_again(job: Job) -> bool:
    """Return whether a COMPLETED job can process new rows: it read a stream, and its state still exists."""
    return (
        job.status is Status.COMPLETED
        and job.has_files
        and not job.expired
        and job.plan.analysis.streaming
        and job.plan.options.trigger is Trigger.AVAILABLE_NOW
    )


def restart_note(job: Job) -> str:
    """Return what the user should know about the next start of the job; empty when it continues its work."""
    if not job.plan.analysis.streaming:
        return "A batch job starts from the beginning when it is resumed."
    if job.plan.guarantee is Guarantee.NONE:
        return "With processingGuarantee 'none' every start is from scratch."
    return ""


def join_sentences(*sentences: str) -> str:
    """Join the sentences that are not empty."""
    return " ".join(sentence for sentence in sentences if sentence)


def as_sentence(text: str) -> str:
    """Return the text with a full stop, unless it has one or is empty."""
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."


def describe_cause(cause: Cause) -> str:
    """Return the cause and its hint as sentences."""
    return join_sentences(as_sentence(cause.message), cause.hint)


def remedy(cause: Cause) -> str:
    """Return what the user can do about an error that suspended a job."""
    return cause.hint or "Fix the cause, then start the job with RESUME JOB."


def unchanged(job: Job, message: str) -> Step:
    """Return a step that changes nothing. message: the reply, a sentence without its subject."""
    return Step(job, Outcome.UNCHANGED, message=message)


def refuse(job: Job, message: str, hint: str) -> Step:
    """Return a step that refuses a statement. message: a predicate to the job's name, without a full stop."""
    return Step(job, Outcome.REFUSED, message=message, hint=hint)


def refuse_stale_plan(job: Job) -> Step:
    """Refuse an event that was decided on an outdated plan of the job."""
    return refuse(job, "was changed by another statement in the meantime", "Check it with DESCRIBE JOB and try again.")


def note(job: Job, history_event: str, message: str) -> Step:
    """Return a step that only writes a history row."""
    return Step(job, Outcome.UNCHANGED, history_event=history_event, history_message=message)


def start(job: Job, history_event: str, message: str, context: StepContext, before: tuple[Action, ...] = ()) -> Step:
    """Start the next run, or wait for the members that it needs. The last error is kept until the job makes progress.

    Members that are leaving do not count: Spark would schedule no task of the run on them.
    before: actions to carry out before the start.
    """
    if job.crashes >= CRASHES_MOST:
        return _suspend_crash_loop(job, before)
    staying = context.cluster.staying
    quorum = job.quorum or scaling.initial_quorum(job.plan, len(staying))
    ready = replace(
        job, stop_goal=None, stop_cause=None, end_time=None, run_ended=False, quorum=quorum, waiting_for_members=False
    )
    missing_members = scaling.describe_missing_members(ready, len(staying))
    if missing_members:
        waiting = replace(ready, status=Status.NOT_RUNNING, waiting_for_members=True)
        waiting_message = join_sentences(message, missing_members)
        return Step(waiting, Outcome.CHANGED, before, history_event=history_event, history_message=waiting_message)
    stable_after = context.now + _STABLE_SECONDS if job.crashes else None
    next_job = replace(
        ready,
        status=Status.STARTING,
        run=job.run + 1,
        has_files=True,
        members=tuple(sorted(staying)),
        members_left=False,
        cores=context.cluster.cores,
        stable_after=stable_after,
    )
    actions = (*before, StartRun(next_job))
    return Step(next_job, Outcome.CHANGED, actions, history_event=history_event, history_message=message)


def _suspend_crash_loop(job: Job, before: tuple[Action, ...]) -> Step:
    """Leave a job suspended that has ended the engine's Spark too often."""
    cause = Cause(
        f"The job was not started, because it has ended the engine {job.crashes} times in a row. {job.crash_reason}",
        "JETSQL.CRASH_LOOP",
        SQLSTATES["CRASH_LOOP"],
        retryable=False,
        hint="Give the engine more memory (driver_memory), since the next start repeats the batch. Then RESUME JOB.",
    )
    suspended = replace(job, status=Status.SUSPENDED, stop_goal=None, stop_cause=None, attempts=0, cause=cause)
    message = f"{describe_cause(cause)} It keeps its state."
    return Step(suspended, Outcome.CHANGED, before, history_event="crash loop", history_message=message)


def without_crashes(job: Job) -> Job:
    """Return the job with its crashes forgotten, since a user starts it or it has run well."""
    return replace(job, crashes=0, crash_reason="", stable_after=None)


def fail(job: Job, context: StepContext, message: str, history_event: str = "failed") -> Step:
    """End the job as FAILED and delete its files."""
    failed = replace(
        job, status=Status.FAILED, stop_goal=None, stop_cause=None, end_time=context.now, waiting_for_members=False
    )
    actions = cleanup_actions(failed)
    return Step(failed, Outcome.CHANGED, actions, history_event=history_event, history_message=message)


def cleanup_actions(job: Job) -> tuple[Action, ...]:
    """Return the actions that recover the sink from a partly moved batch and then delete the job's files."""
    return (RecoverSink(job), DiscardFiles(job)) if job.has_files else ()
