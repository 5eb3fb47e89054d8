"""Cells of the life cycle for members of the cluster that come and go. `scaling` says what is done, this does it.

A run is judged by the members that were there when it began: one that began since a change knows of it, and one that is
being stopped will start on what there is then. So several changes in one moment are one restart.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import AbandonUpdate, MembersChanged, MembersSettled, Outcome, Step
from jetsql.jobs.lifecycle.scaling import Reaction
from jetsql.jobs.lifecycle.step_context import StepContext, as_sentence, join_sentences, note, start
from jetsql.jobs.lifecycle.steps import keep
from jetsql.jobs.lifecycle.stop import end_waiting_job, restart_rescaled, stop
from jetsql.jobs.lifecycle.update import is_rescaling
from jetsql.jobs.model.job import Cause, Job, StopGoal

_GOALS = {Reaction.RESTART: StopGoal.RESTART, Reaction.SUSPEND: StopGoal.SUSPEND, Reaction.FAIL: StopGoal.FAIL}


def members_changed(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """Nothing runs: a job that waits for members starts when they are there. One that waits to be tried again may have
    failed because of the loss, which then is told after it: it must not go on where a run of it would not have."""
    if job.waiting_for_members and not context.closing and not scaling.missing_members(job, len(context.members)):
        return start(job, "members joined", "The members that it has waited for are there.", context)
    gone, reaction = _loss(job, context)
    if job.waiting_for_members or job.rollback_version is not None or reaction in (Reaction.CONTINUE, Reaction.RESTART):
        return keep(job, event, context)
    return end_waiting_job(job, _GOALS[reaction], scaling.loss_cause(gone, reaction), context)


def members_lost(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """A run goes on, or is ended, when members are gone that it began on."""
    gone, reaction = _loss(job, context)
    if reaction is Reaction.CONTINUE:
        return keep(job, event, context)
    return stop(job, _GOALS[reaction], "member lost", scaling.loss_cause(gone, reaction))


def members_lost_while_stopping(job: Job, event: MembersChanged, context: StepContext) -> Step:
    """Its state can't be spread when nobody is left to do it: it stays as it is, and the job waits for a member."""
    if context.members or context.closing or job.stop_goal is not StopGoal.UPDATE or not is_rescaling(job):
        return keep(job, event, context)
    cause = Cause("No member is left that could spread its state, which stays as it is")
    stopping = replace(job, stop_goal=StopGoal.RESTART, stop_cause=cause)
    return Step(
        stopping,
        Outcome.CHANGED,
        (AbandonUpdate(stopping),),
        history_event="member lost",
        history_message=as_sentence(cause.message),
    )


def _loss(job: Job, context: StepContext) -> tuple[frozenset[str], Reaction]:
    """Return the members that its newest run began on and that are gone, and what that means."""
    gone = frozenset(job.members) - context.members
    return gone, scaling.react_to_loss(job, len(context.members)) if gone and not context.closing else Reaction.CONTINUE


def raise_quorum(job: Job, event: MembersSettled, context: StepContext) -> Step:
    raised = replace(job, quorum=scaling.raised_quorum(job, len(context.members)))
    if raised.quorum == job.quorum or context.closing:
        return keep(job, event, context)
    return note(raised, "quorum raised", f"The cluster has grown: the job needs {raised.quorum} members from now on.")


def members_joined(job: Job, event: MembersSettled, context: StepContext) -> Step:
    """A run that began before members joined starts again, to use them too."""
    taken = raise_quorum(job, event, context)
    new = context.members - set(job.members)
    if not new or context.closing or scaling.react_to_growth(job.plan) is Reaction.CONTINUE:
        return taken
    stopping = restart_rescaled(taken.job, "members joined", context, scaling.growth_cause(new))
    return replace(stopping, history_message=join_sentences(stopping.history_message, taken.history_message))
