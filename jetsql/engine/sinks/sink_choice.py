"""The choice of the sink that provides the guarantee of a job's plan."""

from __future__ import annotations

from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter
from jetsql.engine.sinks.branched_sink import BranchedSink, BranchRun, branch_contexts
from jetsql.engine.sinks.file_tables import StagedFiles
from jetsql.engine.sinks.jdbc import JdbcAppend, JdbcTransactions, needs_transactions
from jetsql.engine.sinks.kafka.transactional_topics import KafkaTransactions
from jetsql.engine.sinks.lake.lake_sink import LakeSink
from jetsql.engine.sinks.result_changes import ResultChanges
from jetsql.engine.sinks.spark_sinks import KafkaAppend, KafkaStream, PartitionOverwrite, PlainAppend
from jetsql.engine.sinks.table_snapshots import TableSnapshots
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously


def choose_sink(context: SinkContext, branches: BranchRun | None = None) -> SinkWriter:
    """Return the sink of a job, which provides the guarantee of its plan. branches: see `BranchedSink`"""
    if len(context.job.plan.sinks) > 1:
        return BranchedSink(context, [_choose_branch(each) for each in branch_contexts(context)], branches)
    return choose_writer(context)


def choose_writer(context: SinkContext) -> SinkWriter:
    """Return the writer of one of the tables of a job."""
    plan = context.sink_plan
    if plan.sink.kind is SinkKind.FILES and plan.overwrite:
        return PartitionOverwrite(context) if plan.sink.partition_columns else TableSnapshots(context)
    if plan.sink.kind is SinkKind.FILES and plan.guarantee is Guarantee.EXACTLY_ONCE:
        return StagedFiles(context)
    if plan.sink.kind is SinkKind.JDBC:
        return JdbcTransactions(context) if needs_transactions(plan) else JdbcAppend(context)
    if plan.sink.kind is SinkKind.KAFKA:
        return _choose_topic_sink(context)
    if plan.sink.kind.is_lake:
        return ResultChanges(context, LakeSink(context)) if plan.retracts else LakeSink(context)
    return PlainAppend(context)


def _choose_branch(context: SinkContext) -> BatchWriter:
    writer = choose_writer(context)
    assert not isinstance(writer, StreamWriter), "the branches of a job are written in batches"
    return writer


def _choose_topic_sink(context: SinkContext) -> SinkWriter:
    plan = context.sink_plan
    if context.job.plan.options.trigger is Trigger.REAL_TIME or tracks_asynchronously(context.job.plan):
        return KafkaStream(context)
    writer = KafkaTransactions(context) if plan.guarantee is Guarantee.EXACTLY_ONCE else KafkaAppend(context)
    return ResultChanges(context, writer) if plan.retracts else writer
