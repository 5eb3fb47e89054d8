"""Building blocks of the cells of the life cycle: facts about a job, and the kinds of step.

Messages to users have no subject ("is suspended already"): the caller puts the job's name in front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import Action, DiscardFiles, Outcome, RecoverSink, StartRun, Step
from jetsql.jobs.model.job import Cause, Guarantee, Job, Status, Trigger


@dataclass(frozen=True)
class StepContext:
    """The circumstances of a step."""

    now: float  # seconds since the epoch
    retry_initial: float = 1.0  # delay before the first restart, seconds
    retry_max: float = 60.0  # longest delay before a restart, seconds
    closing: bool = False  # the engine is going to end: no run starts
    members: frozenset[str] = frozenset({"driver"})  # ids of the members that are there
    cores: int = 0  # of all members; 0 when unknown

    def retry_time(self, attempts: int) -> float:
        """Return the time of the next restart after so many restarts without progress."""
        return self.now + min(self.retry_initial * 2.0 ** min(attempts, 60), self.retry_max)


def can_run_again(job: Job) -> bool:
    """Return whether a COMPLETED job can run again over what is new: it read a stream, and its state is still there."""
    return (
        job.status is Status.COMPLETED
        and job.has_files
        and not job.expired
        and job.plan.analysis.streaming
        and job.plan.trigger is Trigger.AVAILABLE_NOW
    )


def restart_note(job: Job) -> str:
    """Return what the user should know about the next start of the job; empty when it continues its work."""
    if not job.plan.analysis.streaming:
        return "A batch job starts over when it is resumed."
    if job.plan.guarantee is Guarantee.NONE:
        return "With processingGuarantee 'none' every start is from scratch."
    return ""


def join_sentences(*sentences: str) -> str:
    """Join sentences; empty ones are left out."""
    return " ".join(sentence for sentence in sentences if sentence)


def as_sentence(text: str) -> str:
    """Return the text with a full stop, unless it has one or is empty."""
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."


def describe_cause(cause: Cause) -> str:
    """Return the cause and its hint as sentences."""
    return join_sentences(as_sentence(cause.message), cause.hint)


def remedy(cause: Cause) -> str:
    """Return what the user can do about an error that suspended a job."""
    return cause.hint or "When that is put right, start the job with RESUME JOB."


def unchanged(job: Job, message: str) -> Step:
    return Step(job, Outcome.UNCHANGED, message=message)


def refuse(job: Job, message: str, hint: str) -> Step:
    return Step(job, Outcome.REFUSED, message=message, hint=hint)


def refuse_stale_plan(job: Job) -> Step:
    """Refuse an event that was decided on an outdated plan of the job."""
    return refuse(job, "was changed by another statement in the meantime", "Look at it again, and try again.")


def note(job: Job, title: str, words: str) -> Step:
    return Step(job, Outcome.UNCHANGED, history_event=title, history_message=words)


def start(job: Job, title: str, words: str, context: StepContext, before: tuple[Action, ...] = ()) -> Step:
    """Start the next run, or wait for the members that it needs. The last error is kept until progress is made."""
    quorum = job.quorum or scaling.initial_quorum(job.plan, len(context.members))
    ready = replace(
        job, stop_goal=None, stop_cause=None, end_time=None, run_ended=False, quorum=quorum, waiting_for_members=False
    )
    lacks = scaling.describe_missing_members(ready, len(context.members))
    if lacks:
        waiting = replace(ready, status=Status.NOT_RUNNING, waiting_for_members=True)
        return Step(waiting, Outcome.CHANGED, before, history_event=title, history_message=join_sentences(words, lacks))
    members = tuple(sorted(context.members))
    next_job = replace(ready, status=Status.STARTING, run=job.run + 1, has_files=True, members=members)
    return Step(next_job, Outcome.CHANGED, (*before, StartRun(next_job)), history_event=title, history_message=words)


def fail(job: Job, context: StepContext, words: str, title: str = "failed") -> Step:
    failed = replace(
        job, status=Status.FAILED, stop_goal=None, stop_cause=None, end_time=context.now, waiting_for_members=False
    )
    return Step(failed, Outcome.CHANGED, cleanup_actions(failed), history_event=title, history_message=words)


def cleanup_actions(job: Job) -> tuple[Action, ...]:
    """Finish what is half moved into the sink before its files go."""
    return (RecoverSink(job), DiscardFiles(job)) if job.has_files else ()
