"""Cells of the life cycle for members of the cluster that come and go. `scaling` says what is done, this does it.

A run is judged by the members that were there when it began: one that began since a change knows of it, and one that is
being stopped will start on what there is then. So several changes in one moment are one restart.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs import scaling
from jetsql.jobs.answers import keep
from jetsql.jobs.events import MembersChanged, MembersSettled, Step
from jetsql.jobs.model import Job, StopGoal
from jetsql.jobs.moves import Moment, noted, start
from jetsql.jobs.scaling import Reaction
from jetsql.jobs.stops import stop

_GOALS = {Reaction.RESTART: StopGoal.RESTART, Reaction.SUSPEND: StopGoal.SUSPEND, Reaction.FAIL: StopGoal.FAIL}


def enough(job: Job, event: MembersChanged, moment: Moment) -> Step:
    """A job that waits for members starts when they are there."""
    if not job.waiting or moment.closing or scaling.missing(job, len(moment.members)):
        return keep(job, event, moment)
    return start(job, "members joined", "The members that it has waited for are there.", moment)


def lost(job: Job, event: MembersChanged, moment: Moment) -> Step:
    """A run goes on, or is ended, when members are gone that it began on."""
    gone = set(job.members) - moment.members
    reaction = scaling.on_loss(job, len(moment.members)) if gone and not moment.closing else Reaction.GO_ON
    if reaction is Reaction.GO_ON:
        return keep(job, event, moment)
    return stop(job, _GOALS[reaction], "member lost", scaling.loss(gone, reaction))


def raise_quorum(job: Job, event: MembersSettled, moment: Moment) -> Step:
    raised = replace(job, quorum=scaling.raised(job, len(moment.members)))
    if raised.quorum == job.quorum or moment.closing:
        return keep(job, event, moment)
    return noted(raised, "quorum raised", f"The cluster has grown: the job needs {raised.quorum} members from now on.")


def grown(job: Job, event: MembersSettled, moment: Moment) -> Step:
    """A run that began before members joined starts again, to use them too."""
    taken = raise_quorum(job, event, moment)
    new = moment.members - set(job.members)
    if not new or moment.closing or scaling.on_growth(job.plan) is Reaction.GO_ON:
        return taken
    return stop(taken.job, StopGoal.RESTART, "members joined", scaling.growth(new))
