"""What `jetsql check` found, in words for people and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterator

from jetsql.check.check_home import HomeReport
from jetsql.check.findings import Severity
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult

COLUMNS = (Column("severity"), Column("what"), Column("where"), Column("what_to_do"))


def words(report: HomeReport) -> Iterator[str]:
    """Lines of text: a paragraph for each finding, and a summary."""
    for finding in report.findings:
        yield f"{finding.severity.value}: {finding.what}"
        if finding.where:
            yield f"  where: {finding.where}"
        if finding.remedy:
            yield f"  do:    {finding.remedy}"
        yield ""
    counts = ((severity, [each.severity for each in report.findings].count(severity)) for severity in Severity)
    found = ", ".join(_number(count, severity.value) for severity, count in counts if count and severity.is_problem)
    things = f"{_number(report.jobs, 'job')} and {_number(report.snapshots, 'snapshot')}"
    if report.unchecked_storage:
        yield f"{found or 'The store is well'}: looked at what {report.home} says of {things}, and not at their files."
    else:
        yield f"{found or 'All is well'}: looked at {things} in {report.home}."


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def result(report: HomeReport) -> StatementResult:
    """Return a row for each finding; empty where there is nothing to say."""
    rows = ((each.severity.value, each.what, each.where or None, each.remedy or None) for each in report.findings)
    return StatementResult(COLUMNS, rows)
