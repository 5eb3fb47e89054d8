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
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, partitions_wanted, stays_cut


class Reaction(Enum):
    """What is done with the run of a job."""

    GO_ON = "go on"
    RESTART = "restart"
    SUSPEND = "suspend"
    FAIL = "fail"


def on_loss(job: Job, there: int) -> Reaction:
    """One that ran on a member that is gone. there: how many members are left."""
    plan = job.plan
    if plan.auto_scaling:
        restarts = plan.analysis.streaming or missing(job, there)
        return Reaction.RESTART if restarts else Reaction.GO_ON
    return Reaction.FAIL if plan.guarantee is Guarantee.NONE else Reaction.SUSPEND


def on_growth(plan: Plan) -> Reaction:
    """One that runs on fewer members than there are."""
    return Reaction.RESTART if plan.auto_scaling and plan.analysis.streaming else Reaction.GO_ON


def wider(job: Job, cores: int) -> int | None:
    """Over how many partitions the state of a job is to be spread that restarts with so many cores; None: it stays as
    it is cut, because more would be of no use, the user has chosen the number, or Spark can't."""
    free = partitions_wanted(job.plan) is None and not stays_cut(job.plan)
    return cores if free and _too_few(job, cores) else None


def uncut_words(job: Job, cores: int) -> str:
    """Why the job's state is not spread over more cores though that would help; empty where nothing is to be said."""
    if not (_too_few(job, cores) and stays_cut(job.plan)):
        return ""
    return (
        f"Its state stays in {partitions(job)} partitions, so no more cores than that work on it: the state of a LIMIT"
        " can't be spread over others."
    )


def partitions(job: Job) -> int:
    """Into how many its state is cut where nobody has said so; 0 when that is not known."""
    return int(job.defaults.get(SHUFFLE_PARTITIONS, 0))


def _too_few(job: Job, cores: int) -> bool:
    """Real-time mode holds a core for each partition, so it stays what it was tried with."""
    plan = job.plan
    return plan.analysis.stateful and plan.trigger is Trigger.INTERVAL and 0 < partitions(job) < cores


def quorum(plan: Plan, there: int) -> int:
    """How many members a job needs that is made, or altered, while so many are there; 0: it asks for no quorum."""
    return there // 2 + 1 if plan.split_brain_protection else 0


def raised(job: Job, there: int) -> int:
    """The job's quorum in a cluster of so many members: never less than it was."""
    return max(job.quorum, quorum(job.plan, there)) if job.plan.split_brain_protection else job.quorum


def needed(job: Job) -> int:
    """How many members must be there for the job to run."""
    return max(1, job.quorum) if job.plan.split_brain_protection else 1


def missing(job: Job, there: int) -> int:
    """How many members the job lacks to run; 0 when it can."""
    return max(0, needed(job) - there)


def waiting_words(job: Job, there: int) -> str:
    """Why a job waits that lacks members, and what for; empty when it lacks none."""
    lacks = missing(job, there)
    if not lacks:
        return ""
    if not there and needed(job) == 1:
        return "It waits for a member: none is there that could run its tasks. It starts by itself when one joins."
    return (
        f"It waits for members: {there} {_are(there)} there and it needs {needed(job)} (splitBrainProtectionEnabled),"
        f" so {lacks} {_are(lacks)} missing. It starts by itself when there are enough."
    )


def loss(lost: Iterable[str], reaction: Reaction) -> Cause:
    """Why the run is ended. lost: the members that are gone."""
    what = {
        Reaction.RESTART: "the job restarts on those that are left",
        Reaction.SUSPEND: "with autoScaling 'false' the job is suspended",
        Reaction.FAIL: "with autoScaling 'false' and processingGuarantee 'none' the job fails",
    }[reaction]
    hint = "SHOW MEMBERS tells why. RESUME JOB starts the job on the members that there are."
    return Cause(
        f"{_named(lost)} gone: {what}",
        "JETSQL.MEMBER_LOST",
        SQLSTATES["MEMBER_LOST"],
        hint=hint if reaction is Reaction.SUSPEND else "",
    )


def growth(joined: Iterable[str]) -> Cause:
    """Why the run is ended. joined: the members that it does not know."""
    return Cause(f"{_named(joined)} new: the job restarts to use every core")


def _named(members: Iterable[str]) -> str:
    """As the beginning of a sentence, with its verb."""
    names = sorted(members, key=lambda name: (len(name), name))
    if len(names) == 1:
        return f"Member {names[0]} is"
    return f"Members {', '.join(names[:-1])} and {names[-1]} are"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
