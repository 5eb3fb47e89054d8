"""Reactions of a job to members that join or are lost: Hazelcast Jet's rules, as pure functions.

    autoScaling  guarantee                  member joined                   member lost
    true         any                        restart after a delay           restart
    false        none                       continue                        fail
    false        atLeastOnce, exactlyOnce   continue                        suspend

A batch job is not restarted, since a restart would begin from scratch: Spark schedules its tasks on new members anyway,
and repeats lost tasks. Members that Spark has excluded for a time do not count as lost.

A member that leaves as planned is not lost: Spark decommissions its executor, which gets no more tasks and leaves when
its tasks have ended. If it is ended before, Spark repeats its tasks. The job continues without a restart, whatever its
options are. It also continues when new members take the place of a member that left: they bring no more cores than the
run began with. In real-time mode the job restarts: its tasks end only with the batch, and each needs a core.

Quorum: a job with splitBrainProtectionEnabled runs only while more than half of the members are available that were
available when it was created. The quorum grows with the cluster, and only ALTER JOB reduces it. Every other job needs
one member: without one, Spark would accept the query and never run its tasks. A member that leaves as planned counts
for a run until it is gone, but not for a start, and not for a new quorum.

State has partitions, and each is processed by one core. When a job restarts and there are more cores than partitions,
its state is repartitioned to the number of cores. With fewer cores that would not help, and the state is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from jetsql.errors import SQLSTATES
from jetsql.jobs.model.job import Cause, Job, Plan
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, has_fixed_partitions, requested_partitions


class ScalingDecision(Enum):
    """The reaction to a change of the cluster's members."""

    CONTINUE = "go on"
    RESTART = "restart"
    SUSPEND = "suspend"
    FAIL = "fail"


def react_to_loss(job: Job, member_count: int) -> ScalingDecision:
    """Return the reaction of a job that ran on a lost member. member_count: the number of available members."""
    plan = job.plan
    if plan.options.auto_scaling:
        restarts = plan.analysis.streaming or missing_members(job, member_count)
        return ScalingDecision.RESTART if restarts else ScalingDecision.CONTINUE
    return ScalingDecision.FAIL if plan.guarantee is Guarantee.NONE else ScalingDecision.SUSPEND


def react_to_departure(plan: Plan) -> ScalingDecision:
    """Return the reaction of a job to a member of its run that leaves as planned."""
    return ScalingDecision.RESTART if plan.options.trigger is Trigger.REAL_TIME else ScalingDecision.CONTINUE


def react_to_growth(job: Job, cores: int) -> ScalingDecision:
    """Return the reaction of a job that runs on fewer members than are available.

    cores: the number of available cores; 0 when unknown.
    """
    plan = job.plan
    has_gained = not job.members_left or not 0 < cores <= job.cores
    restarts = plan.options.auto_scaling and plan.analysis.streaming and has_gained
    return ScalingDecision.RESTART if restarts else ScalingDecision.CONTINUE


def rescaled_partitions(job: Job, cores: int, fixed_partitions: str = "") -> int | None:
    """Return the partition count to rescale the job's state to when it restarts, or None to leave it unchanged.

    It is unchanged when more partitions would not help, when the user has set the number, or when Spark cannot
    repartition the state. cores: the number of available cores. fixed_partitions: why the engine cannot repartition any
    state; empty when it can.
    """
    if requested_partitions(job.plan) is not None or has_fixed_partitions(job.plan) or fixed_partitions:
        return None
    return cores if _has_too_few_partitions(job, cores) else None


def describe_fixed_partitions(job: Job, cores: int, fixed_partitions: str = "") -> str:
    """Return why the job's state cannot use more cores, as a sentence; empty when that does not apply."""
    if not _has_too_few_partitions(job, cores):
        return ""
    kept = f"keeps {current_partitions(job)} partitions, and no more cores than that process it."
    if has_fixed_partitions(job.plan):
        return f"The state of a LIMIT cannot be repartitioned: it {kept}"
    return f"{fixed_partitions}. The state {kept}" if fixed_partitions else ""


def current_partitions(job: Job) -> int:
    """Return the number of state partitions of a job without a setting of its own; 0 when it is not known."""
    return int(job.version.session_defaults.get(SHUFFLE_PARTITIONS, 0))


def _has_too_few_partitions(job: Job, cores: int) -> bool:
    """Return whether more state partitions would use more cores.

    In real-time mode each partition occupies a core, so the number that was checked at CREATE JOB stays.
    """
    plan = job.plan
    return plan.analysis.stateful and plan.options.trigger is Trigger.INTERVAL and 0 < current_partitions(job) < cores


def initial_quorum(plan: Plan, member_count: int) -> int:
    """Return the quorum of a job that is created or altered with this number of members; 0 without a quorum."""
    return member_count // 2 + 1 if plan.options.split_brain_protection else 0


def raised_quorum(job: Job, member_count: int) -> int:
    """Return the job's quorum with this number of members, never less than before."""
    return max(job.quorum, initial_quorum(job.plan, member_count))


def required_members(job: Job) -> int:
    """Return the number of members that the job needs to run."""
    return max(1, job.quorum) if job.plan.options.split_brain_protection else 1


def missing_members(job: Job, member_count: int) -> int:
    """Return the number of missing members; 0 when the job can run."""
    return max(0, required_members(job) - member_count)


def describe_missing_members(job: Job, member_count: int) -> str:
    """Return which members a job waits for, as sentences; empty when none are missing."""
    missing_count = missing_members(job, member_count)
    if not missing_count:
        return ""
    if not member_count and required_members(job) == 1:
        return "Waiting for an executor: none is available. The job starts automatically when one joins."
    available = f"{member_count} {_are(member_count)} available"
    return (
        f"Waiting for executors: {available} and the job needs {required_members(job)}"
        f" (splitBrainProtectionEnabled), so {missing_count} {_are(missing_count)} missing. The job starts"
        " automatically when enough have joined."
    )


def loss_cause(lost: Iterable[str], reaction: ScalingDecision) -> Cause:
    """Return the cause of stopping a run. lost: the ids of the lost members."""
    consequence = {
        ScalingDecision.RESTART: "the job restarts on the remaining members",
        ScalingDecision.SUSPEND: "with autoScaling 'false' the job is suspended",
        ScalingDecision.FAIL: "with autoScaling 'false' and processingGuarantee 'none' the job fails",
    }[reaction]
    hint = "SHOW MEMBERS shows the reason. RESUME JOB starts the job on the available members."
    return Cause(
        f"{_members_phrase(lost)} lost: {consequence}",
        "JETSQL.MEMBER_LOST",
        SQLSTATES["MEMBER_LOST"],
        hint=hint if reaction is ScalingDecision.SUSPEND else "",
    )


def growth_cause(joined: Iterable[str]) -> Cause:
    """Return the cause of restarting a run. joined: the ids of the members that the run does not use."""
    return Cause(f"{_members_phrase(joined)} new: the job restarts to use all cores")


def departure_cause(departed: Iterable[str]) -> Cause:
    """Return the cause of restarting a real-time run. departed: the ids of the members that leave as planned."""
    return Cause(f"{_members_phrase(departed)} leaving as planned: the job ends its batch, and restarts on the others")


def shortage_cause(job: Job, member_count: int) -> Cause:
    """Return the cause of stopping a run that has fewer members than it needs, to start it when they have joined."""
    if required_members(job) == 1:
        return Cause("No executor is left: the job waits for one")
    left = f"{member_count} executor{'' if member_count == 1 else 's'} {_are(member_count)} left"
    return Cause(f"{left}, and the job needs {required_members(job)}: it waits until enough have joined")


def describe_departure(departed: Iterable[str]) -> str:
    """Return what members that leave or have left as planned mean for a run, as a sentence."""
    return f"{_members_phrase(departed)} leaving as planned: the job continues without a restart."


def describe_replacement(joined: Iterable[str]) -> str:
    """Return what members mean for a run that takes them over in place of those that have left, as a sentence."""
    return f"{_members_phrase(joined)} new, in place of members that left as planned: the job continues and uses all."


def _members_phrase(members: Iterable[str]) -> str:
    """Return the members as the beginning of a sentence, with the verb."""
    names = sorted(members, key=lambda name: (len(name), name))
    if len(names) == 1:
        return f"Member {names[0]} is"
    return f"Members {', '.join(names[:-1])} and {names[-1]} are"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
