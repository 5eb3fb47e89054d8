"""The requirements of the option lateRows."""

from __future__ import annotations

from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Trigger
from jetsql.jobs.model.table_names import SESSION_CATALOG
from jetsql.jobs.planning.options import LATE_ROWS_TABLE, Options

_HINT: Final = (
    "Late rows are kept for a query with a WATERMARK and one operator with state that uses it. This is GROUP BY with a"
    " window or with the column of the watermark, the removal of duplicates, OVER (ORDER BY that column), or a join."
    " Leave out 'lateRows' for other queries."
)


def choose_late_rows_table(analysis: Analysis, options: Options) -> str:
    """Return the qualified name of the table for late rows; empty to drop them.

    Raises StatementError INVALID_OPTION_VALUE for a query whose late rows cannot be kept.
    """
    if not options.late_rows.startswith(LATE_ROWS_TABLE):
        return ""
    reason = _refusal(analysis, options)
    if reason:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The late rows of this job cannot be kept: {reason}.",
            place=options.value_place("lateRows"),
            hint=_HINT,
        )
    name = options.late_rows.removeprefix(LATE_ROWS_TABLE)
    session = analysis.session
    schema = session.schema if session.catalog == SESSION_CATALOG else "default"
    return f"{SESSION_CATALOG}.{name if '.' in name else f'{schema}.{name}'}"


def _refusal(analysis: Analysis, options: Options) -> str:
    if not analysis.streaming:
        return "it reads no stream"
    if options.trigger is Trigger.REAL_TIME:
        return "with the trigger realTime, Spark writes rows before their batch ends"
    return analysis.late_rows_refusal
