"""Show a plan and its outcome: as lines with differences for a reader, and as one JSON object for programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any, Final

from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.jobs.model.redaction import redact_urls
from jetsql.sqlfiles.apply.declarations import Declaration
from jetsql.sqlfiles.apply.plan_steps import ApplyPlan, PlanAction, PlanStep
from jetsql.sqlfiles.apply.run_plan import ApplyRun, StepOutcome, StepStatus
from jetsql.sqlfiles.formatting.format_script import format_statement
from jetsql.sqlfiles.lint_problems import LintProblem
from jetsql.sqlfiles.lint_report import problem_entry
from jetsql.sqlfiles.statement_names import name_place

_SIGNS: Final = {PlanAction.CREATE: "+", PlanAction.REPLACE: "~", PlanAction.DROP: "-", PlanAction.LEAVE: "="}
_LEFT: Final = "left as it is"
_INDENT: Final = "    "
# What SHOW CREATE adds to the statement of a view.
_ADDED_BY_SPARK: Final = re.compile(r"\bTBLPROPERTIES \(\s*'transient_lastDdlTime' = '\d+'\)\s*|\bWITH SCHEMA \w+\s*")


def plan_lines(plan: ApplyPlan) -> Iterator[str]:
    """Yield the lines of a plan. Objects that are left are shown only if there is something to say about them."""
    for step in plan.steps:
        if step.changes_something or step.notes:
            yield from _step_lines(step)
    if plan.to_do or plan.is_possible:
        yield plan_summary(plan.steps)


def plan_summary(steps: Sequence[PlanStep]) -> str:
    """Return a sentence with the number of steps."""
    counts = Counter(step.action for step in steps)
    verbs = {PlanAction.CREATE: "to create", PlanAction.REPLACE: "to replace", PlanAction.DROP: "to drop"}
    texts = [f"{counts[action]} {verb}" for action, verb in verbs.items() if counts[action]]
    left = f"{counts[PlanAction.LEAVE]} {_LEFT}" if counts[PlanAction.LEAVE] else ""
    if not texts:
        return f"Nothing to do: {left or 'no objects'}."
    return f"{', '.join([*texts, *filter(None, [left])])}."


def outcome_line(outcome: StepOutcome) -> str:
    """Return the line about a step that was carried out."""
    step = outcome.step
    done = {PlanAction.CREATE: "created", PlanAction.REPLACE: "replaced", PlanAction.DROP: "dropped"}
    word = done[step.action] if outcome.status is StepStatus.DONE else outcome.status.value
    message = f": {outcome.message}" if outcome.message else ""
    return f"{word} {step.kind.value} {step.name}{message}"


def stopped_lines(run: ApplyRun) -> Iterator[str]:
    """Yield, after a failure, what was done and what was not."""
    for status, text in (
        (StepStatus.DONE, "Done"),
        (StepStatus.FAILED, "Failed"),
        (StepStatus.INTERRUPTED, "Interrupted, and perhaps done"),
        (StepStatus.NOT_RUN, "Not done"),
    ):
        names = [f"{each.step.action.value} {each.step.kind.value} {each.step.name}" for each in run.outcomes]
        found = [name for name, each in zip(names, run.outcomes, strict=True) if each.status is status]
        if found:
            yield f"{text}: {', '.join(found)}."
    yield "Run `jetsql apply` again to do the rest: what is done is left as it is."


def report(plan: ApplyPlan, problems: Sequence[LintProblem], run: ApplyRun | None, status: str) -> dict[str, Any]:
    """Return the report for programs.

    problems: those of the files and of the plan. run: None if nothing was carried out. status: the outcome, a word.
    """
    outcomes = {id(outcome.step): outcome for outcome in run.outcomes} if run is not None else {}
    counts = Counter(step.action for step in plan.steps)
    return {
        "status": status,
        "summary": {action.value: counts[action] for action in PlanAction},
        "steps": [_entry(step, outcomes.get(id(step))) for step in plan.steps],
        "problems": [problem_entry(problem) for problem in problems],
    }


def difference(step: PlanStep) -> Iterator[str]:
    """Yield the lines of a unified diff of the statement that exists and the one in the file."""
    if step.declaration is None or not step.before:
        return
    before, after = step.before, step.after
    if not after:
        before, after = _formatted(_old_text(step, step.declaration)), _formatted(_new_text(step, step.declaration))
    name = step.declaration.location
    yield from unified_diff(before.splitlines(), after.splitlines(), "engine", name, lineterm="", n=2)


def _step_lines(step: PlanStep) -> Iterator[str]:
    place = "" if step.declaration is None else f"  {step.declaration.location}"
    yield f"{_SIGNS[step.action]} {step.action.value} {step.kind.value} {step.name}{place}"
    for text in filter(None, (step.verdict, *step.notes)):
        yield f"{_INDENT}{text}"
    if step.action is PlanAction.REPLACE:
        yield from (f"{_INDENT}{line}" for line in difference(step))


def _entry(step: PlanStep, outcome: StepOutcome | None) -> dict[str, Any]:
    declared = step.declaration
    found = None if declared is None else declared.problem("", "")
    entry: dict[str, Any] = {
        "action": step.action.value,
        "kind": step.kind.value,
        "name": step.name,
        "file": None if found is None else found.script.name,
        "line": None if found is None else found.line,
        "column": None if found is None else found.column,
        "verdict": step.verdict or None,
        "checked": step.is_checked,
        "notes": list(step.notes),
        "diff": list(difference(step)) if step.action is PlanAction.REPLACE else [],
        "outcome": None,
        "message": None,
        "error": None,
    }
    if outcome is not None:
        entry |= {"outcome": outcome.status.value, "message": outcome.message or None}
        if outcome.error is not None:
            error = outcome.error
            line, column = error.script.line(error.offset), error.script.column(error.offset)
            place = {"file": error.script.name or None, "line": line, "column": column}
            entry["error"] = {
                **place,
                "condition": error.condition,
                "message": error.message,
                "hint": error.hint,
            }
    return entry


def _old_text(step: PlanStep, declared: Declaration) -> str:
    """Return the statement of the object that exists, with its name and head as in the file."""
    text = _ADDED_BY_SPARK.sub("", step.before)
    place = name_place(text)
    written = declared.text[declared.place.start : declared.place.stop]
    return text if place is None else f"{text[: place.start]}{written}{text[place.stop :]}"


def _new_text(step: PlanStep, declared: Declaration) -> str:
    """Return the statement in the file, without secrets and without the words that only change what exists."""
    text = (step.statement or declared.prepared).filled.text
    for words in ("OR REPLACE ", "OR REFRESH "):
        text = text.replace(f"CREATE {words}", "CREATE ", 1)
    return redact_urls(redact_sql(text))


def _formatted(text: str) -> str:
    return format_statement(text).text
