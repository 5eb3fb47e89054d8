"""The report of `jetsql check`, as text for users and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterator

from jetsql.check.check_home import HomeReport
from jetsql.check.findings import Severity
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult

COLUMNS = (Column("severity"), Column("what"), Column("where"), Column("what_to_do"))


def report_lines(report: HomeReport) -> Iterator[str]:
    """Return the lines of a text with a paragraph for each finding and a summary."""
    for finding in report.findings:
        yield f"{finding.severity.value}: {finding.message}"
        if finding.where:
            yield f"  where: {finding.where}"
        if finding.remedy:
            yield f"  do:    {finding.remedy}"
        yield ""
    counts = ((severity, [each.severity for each in report.findings].count(severity)) for severity in Severity)
    problems = ", ".join(_number(count, severity.value) for severity, count in counts if count and severity.is_problem)
    objects = f"{_number(report.jobs, 'job')} and {_number(report.snapshots, 'snapshot')}"
    if report.unchecked_storage:
        outcome = problems or "The store has no problems"
        yield f"{outcome}: checked {objects} in the store of {report.home}, not their files."
    else:
        yield f"{problems or 'No problems found'}: checked {objects} in {report.home}."


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def result(report: HomeReport) -> StatementResult:
    """Return a row for each finding."""
    rows = ((each.severity.value, each.message, each.where or None, each.remedy or None) for each in report.findings)
    return StatementResult(COLUMNS, rows)
