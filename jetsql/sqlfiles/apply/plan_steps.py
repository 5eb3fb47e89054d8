"""The plan of `jetsql apply`: a step for each object, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from jetsql.script import PreparedStatement
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind
from jetsql.sqlfiles.lint_problems import LintProblem, ProblemLevel


class PlanAction(Enum):
    """The change of an object."""

    CREATE = "create"
    REPLACE = "replace"
    DROP = "drop"
    LEAVE = "leave"


@dataclass(frozen=True)
class PlanStep:
    """The change of one object, or that it is left."""

    action: PlanAction
    kind: ObjectKind
    name: str
    declaration: Declaration | None = None  # None for an object that no file declares
    statement: PreparedStatement | None = None  # what is run for a declaration; None if the object is left
    text: str = ""  # what is run without a declaration
    verdict: str = ""  # the engine's verdict about the state of a job, a phrase
    notes: tuple[str, ...] = ()  # phrases
    before: str = ""  # the statement of the object that is replaced
    after: str = ""  # the new statement in the same form; empty to show the one in the file
    is_checked: bool = True  # the engine has checked the statement

    @property
    def changes_something(self) -> bool:
        """Return whether there is something to do."""
        return self.action is not PlanAction.LEAVE


@dataclass
class ApplyPlan:
    """The steps in order, and what prevents them."""

    steps: list[PlanStep] = field(default_factory=list)
    problems: list[LintProblem] = field(default_factory=list)

    @property
    def is_possible(self) -> bool:
        """Return whether no error prevents the plan."""
        return all(problem.level is not ProblemLevel.ERROR for problem in self.problems)

    @property
    def to_do(self) -> Sequence[PlanStep]:
        """Return the steps that change something."""
        return [step for step in self.steps if step.changes_something]

    @property
    def needs_consent(self) -> bool:
        """Return whether a step replaces or drops something that exists."""
        return any(step.action in (PlanAction.REPLACE, PlanAction.DROP) for step in self.steps)
