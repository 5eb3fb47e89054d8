"""The status of a resource: facts about the job, its last error, and the conditions that tools wait for.

`Ready` and `Stalled` are the conditions of kstatus, which kubectl, Flux and Argo CD can read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from jetsql.job_resources.engine_statements import ResourceError
from jetsql.job_resources.reconcile_job import Reconciliation
from jetsql.job_resources.resource import CustomResource
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.store.job_lag import describe_lag, lag_of_batch
from jetsql.jobs.store.metrics import BatchMetrics

READY: Final = "Ready"
STALLED: Final = "Stalled"
MEASURES: Final = ("rowsPerSecond", "lag")
"""The fields that change with each batch."""
_TEXT_MOST: Final = 1000
"""The limit of characters of a text. A status is in each event of a watch, and etcd keeps all its versions."""
_DIGITS: Final = 3


def job_status(
    resource: CustomResource, outcome: Reconciliation, rate: float | None, latest: BatchMetrics | None
) -> dict[str, Any]:
    """Return the status of a resource with a job.

    rate: the rows per second of the job; None if it does not run. latest: its newest batch; None without one.
    """
    job = outcome.job
    facts: dict[str, Any] = dict.fromkeys(("job", "jobId", "state", "delivery", *MEASURES))
    if job is not None:
        facts = {
            "job": job.name,
            "jobId": job.id,
            "state": job.shown_status,
            "delivery": GUARANTEE_TEXTS[job.plan.guarantee],
            "rowsPerSecond": None if rate is None else float(f"{rate:.{_DIGITS}g}"),
            "lag": _shortened(describe_lag(lag_of_batch(latest)) or "") or None,
        }
    return {**facts, **common_status(resource, outcome)}


def common_status(resource: CustomResource, outcome: Reconciliation) -> dict[str, Any]:
    """Return the part of the status that all kinds of resources have."""
    return {
        "observedGeneration": resource.generation,
        "error": None if outcome.error is None else _error(outcome.error),
        "conditions": list(_conditions(resource, outcome)),
    }


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the names of the fields that differ, without regard to None."""
    return {name for name in {*before, *after} if before.get(name) != _without_none(after.get(name))}


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return value


def _error(error: ResourceError) -> dict[str, Any]:
    return {
        "condition": error.condition or None,
        "sqlstate": error.sqlstate or None,
        "message": _shortened(error.message),
        "hint": _shortened(error.hint) or None,
        "line": error.line,
        "column": error.column,
    }


def _conditions(resource: CustomResource, outcome: Reconciliation) -> Sequence[dict[str, Any]]:
    """Return the conditions. As kstatus wants it, `Stalled` is only there if it is true."""
    conditions = [_condition(resource, READY, outcome.is_ready, outcome)]
    if outcome.is_stalled:
        conditions.append(_condition(resource, STALLED, True, outcome))
    return conditions


def _condition(resource: CustomResource, kind: str, is_true: bool, outcome: Reconciliation) -> dict[str, Any]:
    status = "True" if is_true else "False"
    known = resource.status.get("conditions") or ()
    before: Mapping[str, Any] = next((each for each in known if each.get("type") == kind), {})
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": kind,
        "status": status,
        "observedGeneration": resource.generation,
        "lastTransitionTime": since or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "reason": outcome.reason,
        "message": _shortened(_with_details(outcome)),
    }


def _with_details(outcome: Reconciliation) -> str:
    """Return the message with the SQLSTATE, the place and the hint of an error."""
    error = outcome.error
    if error is None or outcome.is_ready:
        return outcome.message
    place = f"line {error.line}, column {error.column}: " if error.line is not None else ""
    codes = f"[{error.condition}] " if error.condition else ""
    sqlstate = f" SQLSTATE: {error.sqlstate}" if error.sqlstate else ""
    hint = f" {error.hint}" if error.hint else ""
    return f"{place}{codes}{outcome.message}{hint}{sqlstate}"


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_MOST else f"{text[: _TEXT_MOST - 3]}..."
