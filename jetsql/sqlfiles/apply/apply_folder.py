"""Apply the SQL files of a folder: check them, plan, show the plan, and carry it out."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from jetsql.errors import EngineError
from jetsql.jobs.openlineage.parent_runs import new_parent
from jetsql.sqlfiles.apply.declarations import read_declarations
from jetsql.sqlfiles.apply.dependencies import OrderedDeclarations, order_declarations
from jetsql.sqlfiles.apply.engine_state import ApplyEngine, EngineSessions
from jetsql.sqlfiles.apply.make_plan import add_undeclared_alerts, make_plan
from jetsql.sqlfiles.apply.plan_report import outcome_line, plan_lines, plan_summary, report, stopped_lines
from jetsql.sqlfiles.apply.plan_steps import ApplyPlan, PlanStep
from jetsql.sqlfiles.apply.run_plan import ApplyRun, StepOutcome, run_plan
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_problems import LintProblem, ProblemLevel
from jetsql.sqlfiles.lint_report import summary
from jetsql.sqlfiles.read_sql_files import SqlFile


class ApplyStatus(Enum):
    """The outcome of `jetsql apply`."""

    NOT_POSSIBLE = "not possible"  # an error in the files, or of the plan; nothing was changed
    NOTHING_TO_DO = "nothing to do"
    PLANNED = "planned"  # there is something to do, and only the plan was requested
    DECLINED = "declined"  # the user did not confirm; nothing was changed
    APPLIED = "applied"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class ApplyOptions:
    """The options of `jetsql apply`."""

    group: str = ""  # of the folder's jobs; empty for none
    prune: bool = False  # drop the jobs of the group that no file declares
    only_plan: bool = False
    as_json: bool = False


class ApplyConsole(Protocol):
    """The output of the command; `Console` is one."""

    def write_line(self, line: str, /) -> None: ...
    def show_error(self, text: str, /) -> None: ...
    def flush(self) -> None: ...
    def show_waiting(self, what: str, /) -> AbstractContextManager[None]: ...


class FolderApply:
    """One application of a folder."""

    def __init__(self, options: ApplyOptions, console: ApplyConsole, confirm: Callable[[str], bool]) -> None:
        """Create it. confirm: asks the user before something that exists is replaced or dropped."""
        self._options = options
        self._console = console
        self._confirm = confirm
        self._problems: list[LintProblem] = []
        self._files = 0
        self._ordered = OrderedDeclarations()
        self._plan = ApplyPlan()
        self._run: ApplyRun | None = None

    def check(self, files: Sequence[SqlFile], values: Mapping[str, str]) -> bool:
        """Check the files without an engine; report their problems if they cannot be applied.

        values: the variables of the files. Return whether they can.
        """
        self._files = len(files)
        lint = LintRun(values)
        self._problems = [each for each in lint.check(files) if each.level is ProblemLevel.ERROR]
        declared = read_declarations(lint.statements)
        known = {(id(problem.script.text), problem.offset) for problem in self._problems}
        self._add_problems([each for each in declared.problems if (id(each.script.text), each.offset) not in known])
        if self._has_errors:
            self._finish(ApplyStatus.NOT_POSSIBLE)
            return False
        self._ordered = order_declarations(declared.items)
        self._add_problems(self._ordered.problems)
        if self._has_errors:
            self._finish(ApplyStatus.NOT_POSSIBLE)
            return False
        return True

    def run(self, engine: ApplyEngine) -> ApplyStatus:
        """Plan, show the plan, and carry it out. Raises EngineError, ReportedError."""
        sessions = EngineSessions(engine)
        try:
            with self._console.show_waiting("comparing with the engine"):
                options = self._options
                self._plan = make_plan(self._ordered, sessions, options.group, options.prune)
                if options.group:
                    add_undeclared_alerts(self._plan, self._ordered, sessions, options.group, options.prune)
            self._add_problems(self._plan.problems)
            return self._finish(self._decide(sessions))
        finally:
            sessions.close()

    @property
    def _has_errors(self) -> bool:
        return any(problem.level is ProblemLevel.ERROR for problem in self._problems)

    def _add_problems(self, problems: Sequence[LintProblem]) -> None:
        self._problems = [*self._problems, *problems]

    def _decide(self, sessions: EngineSessions) -> ApplyStatus:
        self._show_plan()
        if not self._plan.is_possible:
            return ApplyStatus.NOT_POSSIBLE
        steps = self._plan.to_do
        if not steps:
            return ApplyStatus.NOTHING_TO_DO
        if self._options.only_plan:
            return ApplyStatus.PLANNED
        if self._plan.needs_consent and not self._confirm(f"{plan_summary(self._plan.steps)} Continue?"):
            return ApplyStatus.DECLINED
        return self._carry_out(steps, sessions)

    def _carry_out(self, steps: Sequence[PlanStep], sessions: EngineSessions) -> ApplyStatus:
        run = self._run = ApplyRun()
        name = ".".join(("apply", *filter(None, (self._options.group,))))
        try:
            sessions.set_parent(new_parent("jetsql", name, str(uuid.uuid4()), os.environ))
            run_plan(steps, sessions, self._waiting, self._report, run)
        except KeyboardInterrupt:
            self._show_stopped(run)
            return ApplyStatus.INTERRUPTED
        except EngineError:
            self._show_stopped(run)
            if self._options.as_json:
                self._finish(ApplyStatus.INTERRUPTED)
            raise
        if run.is_done:
            return ApplyStatus.APPLIED
        self._show_stopped(run)
        return ApplyStatus.FAILED

    def _waiting(self, step: PlanStep) -> AbstractContextManager[None]:
        return self._console.show_waiting(f"{step.action.value} {step.kind.value} {step.name}")

    def _report(self, outcome: StepOutcome) -> None:
        if self._options.as_json:
            return
        if outcome.error is not None:
            self._console.flush()
            self._console.show_error(str(outcome.error))
        else:
            self._console.write_line(outcome_line(outcome))
            self._console.flush()

    def _show_plan(self) -> None:
        if self._options.as_json:
            return
        for line in plan_lines(self._plan):
            self._console.write_line(line)
        self._console.flush()

    def _show_stopped(self, run: ApplyRun) -> None:
        if not self._options.as_json:
            self._console.show_error("\n".join(stopped_lines(run)))

    def _finish(self, status: ApplyStatus) -> ApplyStatus:
        if self._options.as_json:
            found = report(self._plan, self._problems, self._run, status.value)
            self._console.write_line(json.dumps(found, indent=2, ensure_ascii=False))
            self._console.flush()
            return status
        for problem in self._problems:
            self._console.show_error(str(problem.diagnostic()))
        if status is ApplyStatus.NOT_POSSIBLE:
            self._console.show_error(f"{summary(self._problems, self._files)} Nothing was changed.")
        elif status is ApplyStatus.DECLINED:
            self._console.show_error("Nothing was changed.")
        return status
