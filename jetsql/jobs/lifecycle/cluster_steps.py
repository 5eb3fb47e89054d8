"""Cells of the life cycle for members of the cluster that come and go. `scaling` says what is done, this does it.

A run is judged by the members that were there when it began: one that began since a change knows of it, and one that is
being stopped will start on what there is then. So several changes in one moment are one restart.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle import scaling
from jetsql.jobs.lifecycle.events import GiveUpUpdate, MembersChanged, MembersSettled, Outcome, Step
from jetsql.jobs.lifecycle.scaling import Reaction
from jetsql.jobs.lifecycle.step_context import StepContext, joined, noted, sentence, start
from jetsql.jobs.lifecycle.steps import keep
from jetsql.jobs.lifecycle.stop import end_waiting, restart_wider, stop
from jetsql.jobs.lifecycle.update import widens
from jetsql.jobs.model.job import Cause, Job, StopGoal

_GOALS = {Reaction.RESTART: StopGoal.RESTART, Reaction.SUSPEND: StopGoal.SUSPEND, Reaction.FAIL: StopGoal.FAIL}


def changed(job: Job, event: MembersChanged, moment: StepContext) -> Step:
    """Nothing runs: a job that waits for members starts when they are there. One that waits to be tried again may have
    failed because of the loss, which then is told after it: it must not go on where a run of it would not have."""
    if job.waiting and not moment.closing and not scaling.missing(job, len(moment.members)):
        return start(job, "members joined", "The members that it has waited for are there.", moment)
    gone, reaction = _loss(job, moment)
    if job.waiting or job.previous is not None or reaction in (Reaction.GO_ON, Reaction.RESTART):
        return keep(job, event, moment)
    return end_waiting(job, _GOALS[reaction], scaling.loss(gone, reaction), moment)


def lost(job: Job, event: MembersChanged, moment: StepContext) -> Step:
    """A run goes on, or is ended, when members are gone that it began on."""
    gone, reaction = _loss(job, moment)
    if reaction is Reaction.GO_ON:
        return keep(job, event, moment)
    return stop(job, _GOALS[reaction], "member lost", scaling.loss(gone, reaction))


def lost_while_stopping(job: Job, event: MembersChanged, moment: StepContext) -> Step:
    """Its state can't be spread when nobody is left to do it: it stays as it is, and the job waits for a member."""
    if moment.members or moment.closing or job.stop_goal is not StopGoal.UPDATE or not widens(job):
        return keep(job, event, moment)
    cause = Cause("No member is left that could spread its state, which stays as it is")
    stopping = replace(job, stop_goal=StopGoal.RESTART, stop_cause=cause)
    return Step(stopping, Outcome.MOVED, (GiveUpUpdate(stopping),), title="member lost", words=sentence(cause.message))


def _loss(job: Job, moment: StepContext) -> tuple[frozenset[str], Reaction]:
    """The members that its newest run began on and that are gone, and what that means."""
    gone = frozenset(job.members) - moment.members
    return gone, scaling.on_loss(job, len(moment.members)) if gone and not moment.closing else Reaction.GO_ON


def raise_quorum(job: Job, event: MembersSettled, moment: StepContext) -> Step:
    raised = replace(job, quorum=scaling.raised(job, len(moment.members)))
    if raised.quorum == job.quorum or moment.closing:
        return keep(job, event, moment)
    return noted(raised, "quorum raised", f"The cluster has grown: the job needs {raised.quorum} members from now on.")


def grown(job: Job, event: MembersSettled, moment: StepContext) -> Step:
    """A run that began before members joined starts again, to use them too."""
    taken = raise_quorum(job, event, moment)
    new = moment.members - set(job.members)
    if not new or moment.closing or scaling.on_growth(job.plan) is Reaction.GO_ON:
        return taken
    stopping = restart_wider(taken.job, "members joined", moment, scaling.growth(new))
    return replace(stopping, words=joined(stopping.words, taken.words))
