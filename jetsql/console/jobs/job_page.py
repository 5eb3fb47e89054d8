"""The contents of the page of a job, from memory and the store; secrets are redacted as in DESCRIBE JOB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from jetsql.console.jobs.graph_layout import JobGraph
from jetsql.console.jobs.job_actions import JobAction, allowed_actions, job_reference
from jetsql.console.jobs.job_graph import job_graph
from jetsql.console.jobs.shown_snapshots import ShownSnapshot, shown_snapshots
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Job, RuleCount
from jetsql.jobs.model.redaction import redact_urls, show
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.planning.options import OPTIONS
from jetsql.jobs.statements.describe import create_text
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.job_queries import JobQueries

HISTORY_ROWS: Final = 50
_SHOWN_ELSEWHERE: Final = ("id", "name", "comment", "status", "last error", "statement", "submission time", "end time")


@dataclass(frozen=True)
class ShownOption:
    """An option of a job."""

    name: str
    value: str  # of a default, a phrase
    is_default: bool
    explanation: str  # a sentence; empty for a setting of Spark


@dataclass(frozen=True)
class JobPage:
    """The page of a job."""

    job: Job
    metrics: JobMetrics
    reference: str  # the job in statements
    not_running: str  # why it does not run; empty for an error, which `cause` has
    cause: Cause | None
    graph: JobGraph
    actions: Sequence[JobAction]
    delivery: str
    delivery_reason: str
    options: Sequence[ShownOption]
    facts: Sequence[tuple[str, str]]
    may_operate: bool  # the user can operate the job, and see its statement
    create_statement: str  # empty without the right to see it
    replace_statement: str  # changes the job; empty for an ended one, for the job of a table, and for other users
    rules: Sequence[RuleCount]  # with an empty condition without the right to see the statement
    history: Sequence[HistoryRow]  # newest first
    history_total: int
    snapshots: Sequence[ShownSnapshot]  # newest first


def job_page(jobs: JobQueries, job_id: str, history_rows: int | None = HISTORY_ROWS) -> JobPage:
    """Return the page of a job. history_rows: the limit of rows; None for all. Raises StatementError JOB_NOT_FOUND."""
    job = jobs.find(job_id)
    metrics = jobs.metrics(job)
    history = jobs.history(job.id)
    facts = jobs.facts(job.id)
    may_operate = jobs.may_operate(job)
    return JobPage(
        job=job,
        metrics=metrics,
        reference=job_reference(jobs, job),
        not_running=jobs.not_running(job) if job.waiting_for_members else "",
        cause=job.cause,
        graph=job_graph(job.plan, metrics),
        actions=allowed_actions(jobs, job),
        delivery=GUARANTEE_TEXTS[job.plan.guarantee],
        delivery_reason=job.plan.guarantee_reason,
        options=shown_options(job),
        facts=[(str(key), str(value)) for key, value in facts if value is not None and _is_shown(str(key))],
        may_operate=may_operate,
        create_statement=create_text(job) if may_operate else "",
        replace_statement=_replace(job) if jobs.owns(job) else "",
        rules=[replace(each, condition=redact_urls(each.condition) if may_operate else "") for each in metrics.rules],
        history=history if history_rows is None else history[:history_rows],
        history_total=len(history),
        snapshots=shown_snapshots(jobs, job.id),
    )


def _is_shown(key: str) -> bool:
    return key not in _SHOWN_ELSEWHERE and not key.startswith(("option ", "rule ", "last error", "delivery"))


def shown_options(job: Job) -> list[ShownOption]:
    """Return the options that the user has set, then the others with their defaults."""
    given = show(job.plan.options.given)
    explanations = {spec.name: spec.explanation for spec in OPTIONS}
    own = [ShownOption(name, value, False, explanations.get(name, "")) for name, value in given.items()]
    rest = [ShownOption(spec.name, spec.default, True, spec.explanation) for spec in OPTIONS if spec.name not in given]
    return [*own, *rest]


def _replace(job: Job) -> str:
    if not job.is_live or job.version.table_kind is not None:
        return ""
    return create_text(job).replace("CREATE JOB", "CREATE OR REPLACE JOB", 1)
