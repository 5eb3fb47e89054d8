"""The kinds of sinks: one entry for each, and the choice of the writer that provides the guarantee of a job's plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jdbc.jdbc_databases import Database
from jetsql.engine.jdbc.jdbc_dialects import find_dialect
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, check_topic
from jetsql.engine.sinks import BatchWriter, ExternalSystem, SinkContext, SinkWriter, StreamWriter
from jetsql.engine.sinks.branched_sink import BranchedSink, BranchRun, branch_contexts
from jetsql.engine.sinks.file_tables import StagedFiles
from jetsql.engine.sinks.jdbc import JdbcAppend, JdbcTransactions, needs_transactions
from jetsql.engine.sinks.kafka.messages import TopicTable
from jetsql.engine.sinks.kafka.transactional_topics import KafkaTransactions, check_transactions
from jetsql.engine.sinks.lake.lake_checks import check_lake_table
from jetsql.engine.sinks.lake.lake_sink import LakeSink
from jetsql.engine.sinks.preflight import check_jdbc_sink
from jetsql.engine.sinks.refused.converted_rows import with_converted_rows
from jetsql.engine.sinks.refused.refused_rows import with_refused_rows
from jetsql.engine.sinks.result_changes import ResultChanges
from jetsql.engine.sinks.spark_sinks import KafkaAppend, KafkaStream, PartitionOverwrite, PlainAppend
from jetsql.engine.sinks.table_snapshots import TableSnapshots
from jetsql.jobs.model.body_analysis import Analysis, SinkKind
from jetsql.jobs.model.job import Plan, SinkPlan
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.jobs.planning.sink_traits import SINK_TRAITS


@dataclass(frozen=True)
class SinkSupport:
    """The functions of the engine for the sinks of a kind."""

    choose: Callable[[SinkContext], SinkWriter]
    """Returns the writer that provides the guarantee of the plan."""
    describe: Callable[[SparkSession, TableFacts], ExternalSystem] = lambda spark, table: ExternalSystem()
    """Returns the external system of a table."""
    check: Callable[[SparkSession, Catalog, Plan, SinkPlan], None] = lambda spark, catalog, plan, sink_plan: None
    """Raises StatementError for a sink that is not reachable, or that refuses the job."""
    connect: Callable[[SparkSession, TableFacts], None] | None = None
    """Connects to the external system of a table. Raises StatementError. None: no system, or a topic."""


def choose_sink(context: SinkContext, branches: BranchRun | None = None) -> SinkWriter:
    """Return the sink of a job, which provides the guarantee of its plan. branches: see `BranchedSink`"""
    if len(context.job.plan.sinks) > 1:
        return BranchedSink(context, [_choose_branch(each) for each in branch_contexts(context)], branches)
    writer = choose_writer(context)
    return writer if isinstance(writer, StreamWriter) else with_refused_rows(context, writer)


def choose_writer(context: SinkContext) -> SinkWriter:
    """Return the writer of one of the tables of a job."""
    return SINK_KINDS[context.sink_plan.sink.kind].choose(context)


def find_kind(table: TableFacts) -> SinkKind | None:
    """Return the kind of a table as a sink, or None for a table that jobs cannot write."""
    for kind, traits in SINK_TRAITS.items():
        if table.provider in traits.providers and (table.identity or not traits.has_identity):
            return kind
    return None


def check_sinks(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Check the external systems of the sinks of a plan. Raises StatementError."""
    for sink_plan in plan.sinks:
        SINK_KINDS[sink_plan.sink.kind].check(spark, catalog, plan, sink_plan)


def connect_to_sinks(spark: SparkSession, catalog: Catalog, analysis: Analysis) -> None:
    """Connect to the external systems of a job's sinks that are no topics. Raises StatementError."""
    for sink in analysis.sinks:
        connect = SINK_KINDS[sink.kind].connect
        table = catalog.table(sink.table) if connect is not None else None
        if connect is not None and table is not None and not table.stands_in:
            connect(spark, table)


def _choose_branch(context: SinkContext) -> BatchWriter:
    writer = choose_writer(context)
    assert not isinstance(writer, StreamWriter), "the branches of a job are written in batches"
    converted = with_converted_rows(context, with_refused_rows(context, writer))
    assert not isinstance(converted, StreamWriter)
    return converted


def _choose_for_files(context: SinkContext) -> SinkWriter:
    plan = context.sink_plan
    if plan.overwrite:
        return PartitionOverwrite(context) if plan.sink.partition_columns else TableSnapshots(context)
    return StagedFiles(context) if plan.guarantee is Guarantee.EXACTLY_ONCE else PlainAppend(context)


def _choose_for_lake(context: SinkContext) -> SinkWriter:
    return _with_changes(context, LakeSink(context))


def _check_lake(spark: SparkSession, catalog: Catalog, plan: Plan, sink_plan: SinkPlan) -> None:
    check_lake_table(spark, catalog, sink_plan)


def _choose_for_jdbc(context: SinkContext) -> SinkWriter:
    return JdbcTransactions(context) if needs_transactions(context.sink_plan) else JdbcAppend(context)


def _describe_jdbc(spark: SparkSession, table: TableFacts) -> ExternalSystem:
    if table.stands_in and not table.option("url"):
        return ExternalSystem()
    database = Database(spark, table.options)
    return ExternalSystem(f"{database.server}, {database.table}", find_dialect(database.driver) is not None)


def _connect_to_jdbc(spark: SparkSession, table: TableFacts) -> None:
    Database(spark, table.options).connect()


def _check_jdbc(spark: SparkSession, catalog: Catalog, plan: Plan, sink_plan: SinkPlan) -> None:
    check_jdbc_sink(spark, catalog, sink_plan, plan.analysis.marks_deleted)


def _choose_for_kafka(context: SinkContext) -> SinkWriter:
    plan = context.job.plan
    if plan.options.trigger is Trigger.REAL_TIME or tracks_asynchronously(plan):
        return KafkaStream(context)
    is_exact = context.sink_plan.guarantee is Guarantee.EXACTLY_ONCE
    return _with_changes(context, KafkaTransactions(context) if is_exact else KafkaAppend(context))


def _describe_kafka(spark: SparkSession, table: TableFacts) -> ExternalSystem:
    return ExternalSystem(KafkaTopic.of_table(table).description)


def _check_kafka(spark: SparkSession, catalog: Catalog, plan: Plan, sink_plan: SinkPlan) -> None:
    table = catalog.require_sink_table(sink_plan.sink)
    if sink_plan.guarantee is Guarantee.EXACTLY_ONCE:
        check_transactions(spark, table)
    else:
        check_topic(spark, table, KafkaOperation.WRITE)
    TopicTable(spark, table.name, sink_plan.sink.columns).check_encoding()


def _with_changes(context: SinkContext, writer: BatchWriter) -> BatchWriter:
    """Return a writer that gets the changes of the result if rows that leave it have to be deleted."""
    return ResultChanges(context, writer) if context.sink_plan.retracts else writer


SINK_KINDS: Final[Mapping[SinkKind, SinkSupport]] = {
    SinkKind.FILES: SinkSupport(_choose_for_files),
    SinkKind.DELTA: SinkSupport(_choose_for_lake, check=_check_lake),
    SinkKind.ICEBERG: SinkSupport(_choose_for_lake, check=_check_lake),
    SinkKind.JDBC: SinkSupport(_choose_for_jdbc, _describe_jdbc, _check_jdbc, _connect_to_jdbc),
    SinkKind.KAFKA: SinkSupport(_choose_for_kafka, _describe_kafka, _check_kafka),
}
