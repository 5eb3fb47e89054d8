"""The requirements of the option idleTimeoutMillis."""

from __future__ import annotations

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Trigger
from jetsql.jobs.planning.options import Options


def check_idle_timeout(analysis: Analysis, options: Options) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a query that no idle source can hold back."""
    if options.idle_timeout_millis is None:
        return
    reason = _refusal(analysis, options)
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"No idle source can hold back the watermark of this job: {reason}.",
            place=options.value_place("idleTimeoutMillis"),
            hint="Leave out 'idleTimeoutMillis'. It applies to queries over several streams with a WATERMARK each.",
        )


def _refusal(analysis: Analysis, options: Options) -> str:
    if not analysis.streaming:
        return "it reads no stream"
    if options.trigger is Trigger.REAL_TIME:
        return "with the trigger realTime, rows do not wait for a watermark"
    return analysis.idle_timeout_refusal
