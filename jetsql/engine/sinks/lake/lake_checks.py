"""Check a Delta or Iceberg table before a job that writes it is created."""

from __future__ import annotations

from typing import Final

from jetsql.engine.session.catalog import Catalog
from jetsql.errors import StatementError
from jetsql.jobs.model.job import SinkPlan
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.planning.sink_traits import replaces_part

_RETENTION: Final = "delta.setTransactionRetentionDuration"
_APPEND_ONLY: Final = "delta.appendOnly"
_STAGED: Final = "write.wap.enabled"


def check_lake_table(catalog: Catalog, plan: SinkPlan) -> None:
    """Raise StatementError SINK_NOT_READY for a table whose properties do not allow what the job needs."""
    table = catalog.require_sink_table(plan.sink)
    if plan.guarantee is Guarantee.EXACTLY_ONCE and table.option(_RETENTION.lower()):
        raise StatementError(
            "SINK_NOT_READY",
            f"{table.name} forgets which batches it has: its property '{_RETENTION}' is set.",
            hint=f"Run ALTER TABLE {table.name} UNSET TBLPROPERTIES ('{_RETENTION}'), or use OPTIONS"
            " ('processingGuarantee' = 'atLeastOnce').",
        )
    if (plan.overwrite or plan.upsert or replaces_part(plan.sink)) and table.option(
        _APPEND_ONLY.lower()
    ).lower() == "true":
        raise StatementError(
            "SINK_NOT_READY",
            f"Rows can only be added to {table.name}: its property '{_APPEND_ONLY}' is set.",
            hint=f"Use INSERT INTO, or run ALTER TABLE {table.name} UNSET TBLPROPERTIES ('{_APPEND_ONLY}').",
        )
    if table.option(_STAGED).lower() == "true":
        raise StatementError(
            "SINK_NOT_READY",
            f"{table.name} can keep commits unpublished: its property '{_STAGED}' is set.",
            hint=f"Run ALTER TABLE {table.name} UNSET TBLPROPERTIES ('{_STAGED}').",
        )
