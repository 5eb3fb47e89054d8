"""START_MODE: where a new job begins to read its sources, and what the clause means for a job that exists.

The position is decided once, before the job is stored, and stored with it. So an engine that dies before the first
batch begins at the same position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.errors import ErrorPlace, StatementError
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.body_analysis import Replay, Source
from jetsql.jobs.model.job import Job, Plan, SourceStart
from jetsql.jobs.model.job_options import StatementOptions
from jetsql.jobs.planning.compatibility import StateCompatibility
from jetsql.jobs.planning.update_verdict import is_same_text
from jetsql.language.objects.start_mode import StartMode, StartPosition
from jetsql.language.statement import CreateJob

_LAKES: Final = ("delta", "iceberg")
_AGREEING: Final = {
    StartPosition.BEGINNING: frozenset({"'startingOffsets' = 'earliest'"}),
    StartPosition.NOW: frozenset({"'startingOffsets' = 'latest'", "'startingVersion' = 'latest'"}),
}
_MEANINGS: Final = {
    StartPosition.BEGINNING: "at the beginning of each source",
    StartPosition.NOW: "with what arrives after the statement",
    StartPosition.TIMESTAMP: "at this time in each source",
    StartPosition.OFFSETS: "at these offsets",
}


def check_start(statement: CreateJob, options: StatementOptions, plan: Plan) -> None:
    """Raise StatementError START_NOT_POSSIBLE at the clause START_MODE of a statement, if no job can begin there."""
    mode = statement.start_mode
    if mode is None:
        return
    if not plan.analysis.streaming:
        raise _not_possible(
            mode, "its query reads no stream, so it has no position", "Leave out START_MODE, or read with FROM STREAM."
        )
    if options.values.initial_snapshot is not None:
        raise _not_possible(
            mode,
            "it starts from a snapshot, which has the position",
            "Leave out START_MODE, or the option 'initialSnapshotName'.",
        )
    for source in plan.analysis.sources:
        for reason, hint in _refusals(source, mode):
            raise _not_possible(mode, reason, hint)


def _refusals(source: Source, mode: StartMode) -> Iterator[tuple[str, str]]:
    """Yield why a job cannot begin to read a source at a position, a clause, each with a hint."""
    name = source.name
    agrees = source.start_option in _AGREEING.get(mode.position, ()) and not mode.argument
    if source.start_option and not agrees:
        yield (
            f"the option {source.start_option} of {name} says otherwise",
            "Leave out START_MODE, or remove the option from the table, or from WITH in the query.",
        )
    if mode.position is StartPosition.BEGINNING:
        return
    hint = "Use START_MODE = FROM_BEGINNING, or leave the clause out."
    is_table = source.created != 0 or source.identity != ""
    if source.replay is not Replay.YES or source.endless or not is_table:
        yield f"the source {name} ({source.format}) makes its rows while the job runs, and has no positions", hint
    if source.format == "iceberg":
        yield (
            f"the source {name} is an Iceberg table, whose positions are not supported",
            ("Use START_MODE = FROM_BEGINNING, or the option 'stream-from-timestamp' in WITH, without the clause."),
        )
    is_file = not source.is_topic and source.format not in _LAKES
    if mode.position is StartPosition.OFFSETS and not source.is_topic:
        yield (
            f"the source {name} ({source.format}) has no offsets",
            "Use FROM_TIMESTAMP: only topics have offsets.",
        )
    if is_file and source.has_dead_letters:
        yield (
            f"the lines of older files of {name} would go to the table of its 'on.error'",
            f"Set another 'on.error' of {name}, or use START_MODE = FROM_BEGINNING.",
        )


def _not_possible(mode: StartMode, reason: str, hint: str) -> StatementError:
    message = f"The job cannot begin {_MEANINGS[mode.position]}: {reason}."
    return StatementError("START_NOT_POSSIBLE", message, place=mode.place, hint=hint)


def decide_starts(manager: Manager, statement: CreateJob, plan: Plan) -> tuple[SourceStart, ...]:
    """Return the positions at which a new job begins, after `check_start`; none if the statement has no clause.

    Raises as `JobRuntime.decide_starts`.
    """
    mode = statement.start_mode
    if mode is None:
        return ()
    now = manager.clock()
    with ErrorPlace(mode.argument_place):
        return manager.workers.call(lambda: manager.runtime.decide_starts(plan, mode, now)).result()


def refuse_to_begin_again(job: Job, statement: CreateJob, compatibility: StateCompatibility) -> StatementError | None:
    """Return the error START_NOT_POSSIBLE for a statement that would move a live job to another position, or None.

    With RESUME_OR_, the job continues if its state fits. It never loses state that the user has not dropped.
    """
    mode = statement.start_mode
    if mode is None or is_same_text(job, statement) or (mode.resumes and not compatibility.reasons):
        return None
    if mode.resumes:
        reason = f"it cannot continue with this statement: {'; '.join(compatibility.reasons)}"
    else:
        reason = "it exists and has a position" + (" and state" if job.plan.analysis.stateful else "")
    return StatementError(
        "START_NOT_POSSIBLE",
        f"Job {job.name} cannot begin again {_MEANINGS[mode.position]}: {reason}. The job is unchanged.",
        place=mode.place,
        hint=_remedy(job, mode),
    )


def _remedy(job: Job, mode: StartMode) -> str:
    kind = "JOB" if job.version.table_kind is None else job.version.table_kind.value
    loss = "which deletes its state" if kind == "JOB" else "which deletes its state and its rows"
    again = f"To begin again, run DROP {kind}, {loss}, and the statement again."
    return again if mode.resumes else f"{again} To continue, leave out START_MODE, or write RESUME_OR_{mode.text}."


def describe_start_mode(mode: StartMode) -> str:
    """Return the meaning of the clause, as a phrase."""
    given = f" ({mode.argument})" if mode.argument else ""
    begins = f"begins {_MEANINGS[mode.position]}{given}; decided when the statement runs"
    return f"a job of this name continues; a new one {begins}" if mode.resumes else begins
