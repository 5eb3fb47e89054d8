"""What becomes of a job when members of the cluster come and go: Hazelcast Jet's rules, as pure functions.

    autoScaling  guarantee                  member joined                   member lost
    true         any                        restart, when it has lasted     restart
    false        none                       go on                           fail
    false        atLeastOnce, exactlyOnce   go on                           suspend

A batch job has nothing to gain from a restart, which would start it over: Spark hands its tasks to new members anyway,
and repeats those that were lost. Members that Spark only gives no tasks for a while are no loss.

Quorum: a job with splitBrainProtectionEnabled runs only while more than half of the members are there that there were
when it was made; the number grows with the cluster and shrinks only by ALTER JOB. Every other job needs one member:
without any, Spark would take the job and leave it hanging.

State is cut into partitions, and each is the work of one core. When a job restarts and there are more cores than that,
its state is spread over as many partitions as there are cores. With fewer cores nothing is gained, and it stays cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from jetsql.errors import SQLSTATES
from jetsql.jobs.model.job import Cause, Guarantee, Job, Plan, Trigger
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, has_fixed_partitions, requested_partitions


class Reaction(Enum):
    """What is done with the run of a job."""

    CONTINUE = "go on"
    RESTART = "restart"
    SUSPEND = "suspend"
    FAIL = "fail"


def react_to_loss(job: Job, member_count: int) -> Reaction:
    """One that ran on a member that is gone. there: how many members are left."""
    plan = job.plan
    if plan.auto_scaling:
        restarts = plan.analysis.streaming or missing_members(job, member_count)
        return Reaction.RESTART if restarts else Reaction.CONTINUE
    return Reaction.FAIL if plan.guarantee is Guarantee.NONE else Reaction.SUSPEND


def react_to_growth(plan: Plan) -> Reaction:
    """One that runs on fewer members than there are."""
    return Reaction.RESTART if plan.auto_scaling and plan.analysis.streaming else Reaction.CONTINUE


def rescaled_partitions(job: Job, cores: int) -> int | None:
    """Over how many partitions the state of a job is to be spread that restarts with so many cores; None: it stays as
    it is cut, because more would be of no use, the user has chosen the number, or Spark can't."""
    free = requested_partitions(job.plan) is None and not has_fixed_partitions(job.plan)
    return cores if free and _too_few(job, cores) else None


def describe_fixed_partitions(job: Job, cores: int) -> str:
    """Why the job's state is not spread over more cores though that would help; empty where nothing is to be said."""
    if not (_too_few(job, cores) and has_fixed_partitions(job.plan)):
        return ""
    return (
        f"Its state stays in {current_partitions(job)} partitions, so no more cores than that work on it: the state of"
        " a LIMIT can't be spread over others."
    )


def current_partitions(job: Job) -> int:
    """Into how many its state is cut where nobody has said so; 0 when that is not known."""
    return int(job.version.session_defaults.get(SHUFFLE_PARTITIONS, 0))


def _too_few(job: Job, cores: int) -> bool:
    """Real-time mode holds a core for each partition, so it stays what it was tried with."""
    plan = job.plan
    return plan.analysis.stateful and plan.trigger is Trigger.INTERVAL and 0 < current_partitions(job) < cores


def initial_quorum(plan: Plan, member_count: int) -> int:
    """How many members a job needs that is made, or altered, while so many are there; 0: it asks for no quorum."""
    return member_count // 2 + 1 if plan.split_brain_protection else 0


def raised_quorum(job: Job, member_count: int) -> int:
    """The job's quorum in a cluster of so many members: never less than it was."""
    return max(job.quorum, initial_quorum(job.plan, member_count)) if job.plan.split_brain_protection else job.quorum


def required_members(job: Job) -> int:
    """How many members must be there for the job to run."""
    return max(1, job.quorum) if job.plan.split_brain_protection else 1


def missing_members(job: Job, member_count: int) -> int:
    """How many members the job lacks to run; 0 when it can."""
    return max(0, required_members(job) - member_count)


def describe_missing_members(job: Job, member_count: int) -> str:
    """Why a job waits that lacks members, and what for; empty when it lacks none."""
    lacks = missing_members(job, member_count)
    if not lacks:
        return ""
    if not member_count and required_members(job) == 1:
        return "Waiting for an executor: none is available. The job starts automatically when one joins."
    available = f"{member_count} {_are(member_count)} available"
    return (
        f"Waiting for executors: {available} and the job needs {required_members(job)}"
        f" (splitBrainProtectionEnabled), so {lacks} {_are(lacks)} missing. The job starts automatically when enough"
        " have joined."
    )


def loss_cause(lost: Iterable[str], reaction: Reaction) -> Cause:
    """Why the run is ended. lost: the members that are gone."""
    what = {
        Reaction.RESTART: "the job restarts on those that are left",
        Reaction.SUSPEND: "with autoScaling 'false' the job is suspended",
        Reaction.FAIL: "with autoScaling 'false' and processingGuarantee 'none' the job fails",
    }[reaction]
    hint = "SHOW MEMBERS tells why. RESUME JOB starts the job on the members that there are."
    return Cause(
        f"{_members_phrase(lost)} gone: {what}",
        "JETSQL.MEMBER_LOST",
        SQLSTATES["MEMBER_LOST"],
        hint=hint if reaction is Reaction.SUSPEND else "",
    )


def growth_cause(joined: Iterable[str]) -> Cause:
    """Why the run is ended. joined: the members that it does not know."""
    return Cause(f"{_members_phrase(joined)} new: the job restarts to use every core")


def _members_phrase(members: Iterable[str]) -> str:
    """As the beginning of a sentence, with its verb."""
    names = sorted(members, key=lambda name: (len(name), name))
    if len(names) == 1:
        return f"Member {names[0]} is"
    return f"Members {', '.join(names[:-1])} and {names[-1]} are"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
