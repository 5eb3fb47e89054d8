"""Show the problems of SQL files: as text, as JSON, as SARIF, or as commands of GitHub's workflows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final

from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.output.counts import counted
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel
from jetsql.version import VERSION

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_COMMANDS: Final = {ProblemLevel.ERROR: "error", ProblemLevel.WARNING: "warning", ProblemLevel.NOTE: "notice"}
_SPARKS: Final = {
    "TABLE_OR_VIEW_NOT_FOUND": "No file creates a table or view with this name.",
    "UNRESOLVED_ROUTINE": "There is no function with this name.",
}


class LintFormat(Enum):
    """A format of the report."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def report_problems(problems: Sequence[LintProblem], form: LintFormat) -> Iterator[str]:
    """Yield the lines of a report."""
    if form is LintFormat.JSON:
        yield json.dumps([problem_entry(problem) for problem in problems], indent=2, ensure_ascii=False)
    elif form is LintFormat.SARIF:
        yield json.dumps(_sarif(problems), indent=2, ensure_ascii=False)
    elif form is LintFormat.GITHUB:
        yield from map(_command, problems)
    else:
        yield from (str(problem.diagnostic()) for problem in problems)


def summary(problems: Sequence[LintProblem], files: int) -> str:
    """Return a sentence with the number of problems."""
    counts = Counter(problem.level for problem in problems)
    found = ", ".join(counted(counts[level], level.value) for level in ProblemLevel if counts[level])
    return f"{found or 'No problems'} in {counted(files, 'file')}."


def problem_entry(problem: LintProblem) -> dict[str, Any]:
    """Return a problem as an object for JSON."""
    return {
        "file": problem.script.name,
        "line": problem.line,
        "column": problem.column,
        "end_line": problem.script.line(problem.stop),
        "end_column": problem.script.column(problem.stop),
        "level": problem.level.value,
        "condition": problem.condition,
        "sqlstate": problem.sqlstate,
        "message": problem.message,
        "hint": problem.hint,
    }


def _sarif(problems: Sequence[LintProblem]) -> dict[str, Any]:
    conditions = sorted({problem.condition for problem in problems})
    driver = {
        "name": "jetsql lint",
        "version": VERSION,
        "rules": [{"id": each, "shortDescription": {"text": _meaning(each)}} for each in conditions],
    }
    results = [_result(problem, conditions.index(problem.condition)) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _meaning(condition: str) -> str:
    known = CONDITIONS.get(condition.removeprefix(PREFIX))
    return _SPARKS.get(condition, condition) if known is None else known.meaning


def _result(problem: LintProblem, rule: int) -> dict[str, Any]:
    region = {
        "startLine": problem.line,
        "startColumn": problem.column,
        "endLine": problem.script.line(problem.stop),
        "endColumn": problem.script.column(problem.stop),
    }
    place = {"artifactLocation": {"uri": problem.script.name.replace("\\", "/")}, "region": region}
    return {
        "ruleId": problem.condition,
        "ruleIndex": rule,
        "level": problem.level.value,
        "message": {"text": f"{problem.message} {problem.hint}".strip()},
        "locations": [{"physicalLocation": place}],
        "properties": {"sqlstate": problem.sqlstate},
    }


def _command(problem: LintProblem) -> str:
    """Return the command that shows a problem at its line in a pull request."""
    place = f"file={_escaped(problem.script.name, ':,')},line={problem.line},col={problem.column}"
    title = _escaped(problem.condition, ":,")
    text = _escaped(f"{problem.message} {problem.hint}".strip(), "")
    return f"::{_COMMANDS[problem.level]} {place},title={title}::{text}"


def _escaped(text: str, further: str) -> str:
    for sign in f"%\r\n{further}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
