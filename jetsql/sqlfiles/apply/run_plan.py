"""Carry out a plan: one statement after the other, until one fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from jetsql.errors import EngineError, JetSQLError, ReportedError
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.sqlfiles.apply.engine_state import EngineSessions, StatementFailed
from jetsql.sqlfiles.apply.plan_steps import PlanAction, PlanStep
from jetsql.sqlfiles.lint_problems import PREFIX

# A statement that creates an object, which another program has created since the plan was made.
_CREATED_MEANWHILE: Final = frozenset(
    (
        f"{PREFIX}JOB_ALREADY_EXISTS",
        f"{PREFIX}TABLE_ALREADY_EXISTS",
        f"{PREFIX}FUNCTION_ALREADY_EXISTS",
        f"{PREFIX}OBJECT_ALREADY_EXISTS",
        f"{PREFIX}USER_ALREADY_EXISTS",
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        "SCHEMA_ALREADY_EXISTS",
        "ROUTINE_ALREADY_EXISTS",
    )
)
_MEANWHILE: Final = "Another program has created it since the plan was made. Run `jetsql apply` again."


class StepStatus(Enum):
    """The outcome of a step."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # the engine may have done it, or not
    NOT_RUN = "not run"


@dataclass
class StepOutcome:
    """The outcome of one step."""

    step: PlanStep
    status: StepStatus = StepStatus.NOT_RUN
    message: str = ""  # of the engine
    error: Diagnostic | None = None


@dataclass
class ApplyRun:
    """A plan while it is carried out."""

    outcomes: list[StepOutcome] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Return whether all steps were carried out."""
        return all(outcome.status is StepStatus.DONE for outcome in self.outcomes)


Waiting = Callable[[PlanStep], AbstractContextManager[None]]


def run_plan(
    steps: Sequence[PlanStep],
    sessions: EngineSessions,
    waiting: Waiting,
    report: Callable[[StepOutcome], None],
    run: ApplyRun,
) -> None:
    """Carry out steps, and stop at the first one that fails.

    waiting: returns a context that shows what is done. report: called after each step. run: gets the outcomes, also if
    the caller is interrupted. Raises EngineError if the engine is lost, and KeyboardInterrupt.
    """
    run.outcomes[:] = [StepOutcome(step) for step in steps]
    for outcome in run.outcomes:
        try:
            with waiting(outcome.step):
                outcome.message = _run(outcome.step, sessions)
            outcome.status = StepStatus.DONE
        except StatementFailed as failed:
            outcome.status = StepStatus.FAILED
            outcome.error = _explained(outcome.step, failed.diagnostic)
        except (EngineError, KeyboardInterrupt):
            outcome.status = StepStatus.INTERRUPTED
            raise
        report(outcome)
        if outcome.status is StepStatus.FAILED:
            return


def _run(step: PlanStep, sessions: EngineSessions) -> str:
    if step.statement is not None and step.declaration is not None:
        rows = sessions.run(step.statement, step.declaration.context)
        return str(rows[-1].get("message") or "") if rows else ""
    try:
        rows = sessions.run_text(step.text)
    except EngineError:
        raise
    except (ReportedError, JetSQLError) as error:
        report = error.report if isinstance(error, ReportedError) else error.report(step.text)
        place = Script("", step.text)
        raise StatementFailed(Diagnostic(place, 0, report.condition, report.message, report.hint)) from error
    return str(rows[-1].get("message") or "") if rows else ""


def _explained(step: PlanStep, error: Diagnostic) -> Diagnostic:
    if step.action is PlanAction.CREATE and error.condition in _CREATED_MEANWHILE:
        return replace(error, hint=_MEANWHILE)
    return error
