"""Handlers of the life cycle for members that join, leave as planned or are lost. `scaling` has the rules.

A reaction depends on the members that were available when the run began. A run that began after a change uses the new
members, and a job that is being stopped will start on the members available then. So several changes in a short time
cause one restart.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import AbandonUpdate, MembersChanged, MembersSettled, Outcome, Step
from jetsql.jobs.lifecycle.scaling import ScalingDecision
from jetsql.jobs.lifecycle.step_context import StepContext, as_sentence, join_sentences, note, start
from jetsql.jobs.lifecycle.steps import keep
from jetsql.jobs.lifecycle.stop import end_waiting_job, restart_rescaled, stop
from jetsql.jobs.lifecycle.update import is_rescaling
from jetsql.jobs.model.job import Cause, Job, StopGoal

_GOALS = {
    ScalingDecision.RESTART: StopGoal.RESTART,
    ScalingDecision.SUSPEND: StopGoal.SUSPEND,
    ScalingDecision.FAIL: StopGoal.FAIL,
}


def members_changed(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """Start a job that waits for members when they are available, or end a job that waits for a retry.

    The run can have failed because of the loss, which is reported after the error. The reaction is the same as for a
    running job.
    """
    staying = len(context.cluster.staying)
    if job.waiting_for_members and not context.closing and not scaling.missing_members(job, staying):
        return start(job, "members joined", "The required members are available.", context)
    lost, reaction = _loss(job, context)
    if (
        job.waiting_for_members
        or job.rollback_version is not None
        or reaction in (ScalingDecision.CONTINUE, ScalingDecision.RESTART)
    ):
        return keep(job, event, context)
    return end_waiting_job(job, _GOALS[reaction], scaling.loss_cause(lost, reaction), context)


def run_members_changed(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """Continue or stop a run when members that it began on are lost, or leave as planned."""
    lost, reaction = _loss(job, context)
    if reaction is not ScalingDecision.CONTINUE:
        return stop(job, _GOALS[reaction], "member lost", scaling.loss_cause(lost, reaction))
    departed = frozenset(job.members) & context.cluster.planned
    if context.closing:
        return keep(job, event, context)
    rest = tuple(member for member in job.members if member not in departed)
    reduced = replace(job, members=rest, members_left=job.members_left or bool(departed))
    available = len(context.cluster.members)
    if scaling.missing_members(job, available):
        return stop(reduced, StopGoal.RESTART, "members missing", scaling.shortage_cause(job, available))
    if not departed:
        return keep(job, event, context)
    if scaling.react_to_departure(job.plan) is ScalingDecision.RESTART:
        return stop(reduced, StopGoal.RESTART, "member leaving", scaling.departure_cause(departed))
    return note(reduced, "member leaving", scaling.describe_departure(departed))


def members_lost_while_stopping(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """Abandon repartitioning the state when no member is left; the job then waits for a member."""
    if context.cluster.members or context.closing or job.stop_goal is not StopGoal.UPDATE or not is_rescaling(job):
        return keep(job, event, context)
    cause = Cause("No executor is left to repartition the state, which is unchanged")
    stopping = replace(job, stop_goal=StopGoal.RESTART, stop_cause=cause)
    return Step(
        stopping,
        Outcome.CHANGED,
        (AbandonUpdate(stopping),),
        history_event="member lost",
        history_message=as_sentence(cause.message),
    )


def _loss(job: Job, context: StepContext) -> tuple[frozenset[str], ScalingDecision]:
    """Return the lost members of the newest run, and the reaction to their loss."""
    cluster = context.cluster
    lost = frozenset(job.members) - cluster.members - cluster.left
    if not lost or context.closing:
        return lost, ScalingDecision.CONTINUE
    return lost, scaling.react_to_loss(job, len(cluster.members))


def raise_quorum(job: Job, event: MembersSettled, context: StepContext) -> Step:
    """Raise the job's quorum when the cluster has grown."""
    raised = replace(job, quorum=scaling.raised_quorum(job, len(context.cluster.staying)))
    if raised.quorum == job.quorum or context.closing:
        return keep(job, event, context)
    return note(raised, "quorum raised", f"The cluster has grown: the job needs {raised.quorum} members from now on.")


def members_joined(job: Job, event: MembersSettled, context: StepContext) -> Step:
    """Restart a run to use members that joined after it began, or continue with them in place of those that left."""
    quorum_step = raise_quorum(job, event, context)
    new = context.cluster.staying - set(job.members)
    if not new or context.closing:
        return quorum_step
    if scaling.react_to_growth(job, context.cluster.cores) is ScalingDecision.RESTART:
        step = restart_rescaled(quorum_step.job, "members joined", context, scaling.growth_cause(new))
    elif job.members_left:
        taken_over = replace(quorum_step.job, members=tuple(sorted({*job.members, *new})))
        step = note(taken_over, "members replaced", scaling.describe_replacement(new))
    else:
        return quorum_step
    return replace(step, history_message=join_sentences(step.history_message, quorum_step.history_message))
