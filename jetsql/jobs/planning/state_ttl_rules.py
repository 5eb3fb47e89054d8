"""The requirements of the option stateTtlMillis."""

from __future__ import annotations

from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.job import Trigger
from jetsql.jobs.planning.options import Options

_RULE: Final = "state time to live"  # of the Java module


def check_state_ttl(analysis: Analysis, options: Options, mode: OutputMode | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE for a query without state that a time to live can remove."""
    if options.state_ttl_millis is None:
        return
    reason = _refusal(analysis, options, mode)
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"No state of this job can have a time to live: {reason}.",
            place=options.value_place("stateTtlMillis"),
            hint="Leave out 'stateTtlMillis'. It applies to SELECT DISTINCT, to GROUP BY without a watermark in SINK"
            " INTO a table with 'key.columns', and to JOIN ... ON equal columns of two streams.",
        )


def _refusal(analysis: Analysis, options: Options, mode: OutputMode | None) -> str:
    if not analysis.streaming:
        return "it reads no stream"
    if options.trigger is Trigger.REAL_TIME:
        return "with the trigger realTime, no batch ends at which it could be removed"
    if mode is OutputMode.COMPLETE:
        return "INSERT OVERWRITE writes the whole result, which would lose rows"
    if not any(rewrite.rule == _RULE for rewrite in analysis.rewrites):
        return "a watermark removes it, or it has no operator that can forget"
    return ""
