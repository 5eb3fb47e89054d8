"""Report results of tests: as text, and for programs as JUnit's XML, as annotations of GitHub and as JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import Enum
from typing import Final
from xml.etree import ElementTree

from jetsql.output.diagnostics import Diagnostic
from jetsql.output.layout import cells, natural_layout
from jetsql.resultset import Column
from jetsql.sqltests.compare_rows import RowDifference
from jetsql.sqltests.coverage import Coverage, Site
from jetsql.sqltests.run_test import Result, Verdict

_GITHUB: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY: Final = _GITHUB | str.maketrans({":": "%3A", ",": "%2C"})
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ReportFormat(Enum):
    """The formats of reports."""

    TEXT = "text"
    JUNIT = "junit"
    GITHUB = "github"
    JSON = "json"


def result_line(result: Result) -> str:
    """Return the line of a test."""
    return f"{result.test.file}::{result.test.name} {result.verdict.value.upper()} ({result.seconds:.2f} s)"


def problem_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines about tests that have not passed. An error that several tests have is shown once."""
    several: dict[str, list[Result]] = {}
    for result in results:
        if result.problem is not None:
            lines = "\n".join(_lines(result.problem, result.difference))
            several.setdefault(lines, []).append(result)
    for lines, same in several.items():
        yield ""
        yield from (f"{result.verdict.value.upper()} {result.test.file}::{result.test.name}" for result in same)
        yield from lines.splitlines()


def _lines(problem: Diagnostic, difference: RowDifference | None) -> list[str]:
    return [*str(problem).splitlines(), *(difference_lines(difference) if difference is not None else ())]


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


def coverage_lines(coverage: Coverage | None) -> Iterator[str]:
    """Yield the lines about what no test has reached."""
    if coverage is not None:
        yield ""
        yield from (site.describe(gap) for site, gap in coverage.gaps)
        yield coverage.summary


def report_results(
    results: Sequence[Result], invalid: Sequence[Diagnostic], form: ReportFormat, coverage: Coverage | None = None
) -> Iterator[str]:
    """Yield the lines of a report for programs. invalid: the errors of files that cannot be run"""
    if form is ReportFormat.GITHUB:
        yield from (_annotation(problem, None) for problem in invalid)
        yield from (_annotation(result.problem, result.difference) for result in results if result.problem is not None)
        yield from (_warning(*gap) for gap in coverage.gaps) if coverage is not None else ()
    elif form is ReportFormat.JSON:
        report: dict[str, object] = {
            "tests": [_json(result) for result in results],
            "invalid": [_place(each) for each in invalid],
        }
        if coverage is not None:
            report["coverage"] = {
                "sites": coverage.sites,
                "gaps": [asdict(site) | {"gap": gap} for site, gap in coverage.gaps],
            }
        yield json.dumps(report)
    else:
        yield _junit(results, invalid)


def _annotation(problem: Diagnostic, difference: RowDifference | None) -> str:
    script, at = problem.script, problem.offset
    title = problem.condition or "test"
    message = " ".join(part for part in (problem.message, problem.hint) if part)
    if difference is not None:
        message = "\n".join([message, *difference_lines(difference)])
    file = script.name.translate(_GITHUB_PROPERTY)
    place = f"file={file},line={script.line(at)},col={script.column(at)}"
    return f"::error {place},title={title.translate(_GITHUB_PROPERTY)}::{message.translate(_GITHUB)}"


def _warning(site: Site, gap: str) -> str:
    file = site.file.translate(_GITHUB_PROPERTY)
    message = site.describe(gap).translate(_GITHUB)
    return f"::warning file={file},line={site.line},col={site.column},title=coverage::{message}"


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
    element = ElementTree.SubElement(
        case, kind, message=_xml_text(problem.message), type=_xml_text(problem.condition or kind)
    )
    element.text = _xml_text("\n".join(_lines(problem, difference)))


def _xml_text(text: str) -> str:
    """Return a text without the characters that XML cannot have."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
