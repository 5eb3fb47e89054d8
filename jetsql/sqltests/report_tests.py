"""Report results of tests: as text, and for programs as JUnit's XML, as annotations of GitHub and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final
from xml.etree import ElementTree

from jetsql.output.diagnostics import Diagnostic
from jetsql.output.layout import cells, natural_layout
from jetsql.resultset import Column
from jetsql.sqltests.compare_rows import RowDifference
from jetsql.sqltests.run_test import Result, Verdict

_GITHUB: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})


class ReportFormat(Enum):
    """The formats of reports."""

    TEXT = "text"
    JUNIT = "junit"
    GITHUB = "github"
    JSON = "json"


def result_line(result: Result) -> str:
    """Return the line of a test."""
    return f"{result.test.file}::{result.test.name} {result.verdict.value.upper()} ({result.seconds:.2f} s)"


def problem_lines(result: Result) -> Iterator[str]:
    """Yield the lines about a test that has not passed."""
    assert result.problem is not None
    yield ""
    yield f"{result.verdict.value.upper()} {result.test.file}::{result.test.name}"
    yield from str(result.problem).splitlines()
    if result.difference is not None:
        yield from difference_lines(result.difference)


def difference_lines(difference: RowDifference) -> Iterator[str]:
    """Yield the lines of a table with the rows that are missing, extra and changed."""
    columns = (Column(""), *map(Column, difference.columns))
    shown = [cells(columns, row) for row in difference.cells()]
    layout = natural_layout(columns, shown)
    yield from layout.header_lines()
    for row in shown:
        yield layout.row_line(row)


def summary(results: Sequence[Result], invalid: Sequence[Diagnostic], seconds: float) -> str:
    """Return the numbers of tests by their outcomes."""
    counts = Counter(result.verdict for result in results)
    parts = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
    if invalid:
        parts.append(f"{len(invalid)} invalid")
    return f"{', '.join(parts) or 'No tests'} in {seconds:.1f} s"


def report_results(results: Sequence[Result], invalid: Sequence[Diagnostic], form: ReportFormat) -> Iterator[str]:
    """Yield the lines of a report for programs. invalid: the errors of files that cannot be run"""
    if form is ReportFormat.GITHUB:
        yield from map(_annotation, [*invalid, *(result.problem for result in results if result.problem)])
    elif form is ReportFormat.JSON:
        yield json.dumps(
            {"tests": [_json(result) for result in results], "invalid": [_place(each) for each in invalid]}
        )
    else:
        yield _junit(results, invalid)


def _annotation(problem: Diagnostic) -> str:
    script, at = problem.script, problem.offset
    title = problem.condition or "test"
    message = " ".join(part for part in (problem.message, problem.hint) if part).translate(_GITHUB)
    return f"::error file={script.name},line={script.line(at)},col={script.column(at)},title={title}::{message}"


def _json(result: Result) -> dict[str, object]:
    found: dict[str, object] = {
        "file": result.test.file,
        "line": result.test.line,
        "name": result.test.name,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 3),
    }
    if result.problem is not None:
        found["problem"] = _place(result.problem)
    if result.difference is not None:
        difference = result.difference
        found["difference"] = {
            "columns": difference.columns,
            "missing": difference.missing,
            "extra": difference.extra,
            "changed": difference.changed,
        }
    return found


def _place(problem: Diagnostic) -> dict[str, object]:
    return {
        "file": problem.script.name,
        "line": problem.script.line(problem.offset),
        "column": problem.script.column(problem.offset),
        "condition": problem.condition,
        "message": problem.message,
        "hint": problem.hint,
    }


def _junit(results: Sequence[Result], invalid: Sequence[Diagnostic]) -> str:
    counts = Counter(result.verdict for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name="jetsql test",
        tests=str(len(results) + len(invalid)),
        failures=str(counts[Verdict.FAILED]),
        errors=str(counts[Verdict.ERROR] + len(invalid)),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        test = result.test
        case = ElementTree.SubElement(
            suite, "testcase", classname=test.file, name=test.name, line=str(test.line), time=f"{result.seconds:.3f}"
        )
        if result.problem is not None:
            kind = "failure" if result.verdict is Verdict.FAILED else "error"
            _add_problem(case, kind, result.problem, result.difference)
    for problem in invalid:
        case = ElementTree.SubElement(suite, "testcase", classname=problem.script.name, name="file", time="0")
        _add_problem(case, "error", problem, None)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _add_problem(case: ElementTree.Element, kind: str, problem: Diagnostic, difference: RowDifference | None) -> None:
    element = ElementTree.SubElement(case, kind, message=problem.message, type=problem.condition or kind)
    lines = [str(problem), *(difference_lines(difference) if difference is not None else ())]
    element.text = "\n".join(lines)
