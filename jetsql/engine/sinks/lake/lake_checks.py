"""Check a Delta or Iceberg table before a job that writes it is created."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.model.job import SinkPlan
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.sink_traits import replaces_part

_RETENTION: Final = "delta.setTransactionRetentionDuration"
_APPEND_ONLY: Final = "delta.appendOnly"
_STAGED: Final = "write.wap.enabled"
_OLDEST_DELTA: Final = (4, 3)
"""The oldest Delta whose commits can note a batch. A session that was built without JetSQL can have an older one."""


def check_lake_table(spark: SparkSession, catalog: Catalog, plan: SinkPlan) -> None:
    """Raise StatementError SINK_NOT_READY for a table whose properties, or its connector, do not allow the job."""
    table = catalog.require_sink_table(plan.sink)
    if plan.guarantee is Guarantee.EXACTLY_ONCE and plan.sink.kind is SinkKind.DELTA:
        _check_delta(spark, plan.sink.table)
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


def _check_delta(spark: SparkSession, table: str) -> None:
    version: str = java(spark).lake.DeltaAppends.version(spark._jsparkSession, json.dumps(split_table(table)))
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_DELTA:
        oldest = ".".join(map(str, _OLDEST_DELTA))
        raise StatementError(
            "SINK_NOT_READY",
            f"Jobs write to Delta tables exactly once from Delta {oldest} on, and this session has Delta {version}.",
            hint=f"Build the session with Delta {oldest} or newer, or use OPTIONS"
            " ('processingGuarantee' = 'atLeastOnce').",
            where=table,
        )
