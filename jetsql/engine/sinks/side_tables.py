"""Side tables of a job: tables for rows that are not in its result, such as dead letters and late rows.

Each batch's rows are staged and moved under manifests of their own, so each row is written exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks import SinkContext
from jetsql.engine.sinks.file_tables import Manifests, StagedFiles
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Sink, SinkKind
from jetsql.jobs.model.job import SinkPlan
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.model.table_names import quoted_table


def create_side_table(
    spark: SparkSession, catalog: Catalog, name: str, columns: Mapping[str, str], purpose: str
) -> None:
    """Create a side table if it is missing.

    columns: the type of each column. purpose: a noun phrase, for the error.
    Raises StatementError UNSUPPORTED_SINK for an existing table with other columns, types or another format, and for a
    schema that does not exist.
    """
    table = catalog.table(name)
    if table is None:
        listed = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        try:
            spark.sql(f"CREATE TABLE IF NOT EXISTS {quoted_table(name)} ({listed}) USING parquet")
        except AnalysisException as error:
            if error.getCondition() != "SCHEMA_NOT_FOUND":
                raise
            raise _unfit(
                name, purpose, "its schema does not exist", "Create the schema, or name another one."
            ) from None
    elif not _has_columns(table, columns) or table.provider not in ("parquet", "orc"):
        required = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        hint = f"Name a table that does not exist yet, or a table USING parquet with ({required})."
        raise _unfit(name, purpose, "its columns or its format do not fit", hint)


def _unfit(name: str, purpose: str, problem: str, hint: str) -> StatementError:
    error = StatementError("UNSUPPORTED_SINK", f"{name} cannot be the {purpose}: {problem}.", hint=hint)
    error.table = name
    return error


def _has_columns(table: TableFacts, columns: Mapping[str, str]) -> bool:
    types = {column: kind.lower() for column, kind in columns.items()}
    return dict(zip(table.columns, table.types, strict=True)) == types


class SideTable(StagedFiles):
    """The writer of a job's rows to a side table.

    folder: the name of the folder of its manifests, and suffix: the suffix of its files' names, both unique in the job.
    """

    def __init__(self, context: SinkContext, table: TableFacts, folder: str, suffix: str) -> None:
        job = context.job
        sink = Sink(
            table.name,
            SinkKind.FILES,
            table.provider,
            table.location,
            table.created,
            table.columns,
            table.partition_columns,
        )
        super().__init__(replace(context, sink_plan=SinkPlan(sink, job.plan.guarantee)))
        self._job = f"{job.id}-{suffix}"
        self._manifests = Manifests(f"{context.checkpoints.job_folder(job.id)}/{folder}", context.checkpoints.files)
        self._appends = job.plan.guarantee is Guarantee.NONE

    def write(self, rows: DataFrame, batch: int) -> int | None:
        if not self._appends:
            return super().write(self.encode_rows(rows), batch)
        rows.write.insertInto(quoted_table(self._sink.table))  # each run counts its batches from 0 again
        return None
