"""The sinks of jobs: for their runs, and for what happens to a sink without a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.write_gate import WriteGate
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.engine_sessions import as_user
from jetsql.engine.sinks import ComparedWriter, SinkContext, SinkWriter, is_ahead
from jetsql.engine.sinks.branched_sink import BranchRun, branch_contexts
from jetsql.engine.sinks.checked_rows import create_violation_tables, violation_tables, with_rules
from jetsql.engine.sinks.dead_letters import (
    create_dead_letter_tables,
    find_dead_letter_tables,
    has_dead_letters,
    with_dead_letters,
)
from jetsql.engine.sinks.late_rows import create_late_rows_table, with_late_rows
from jetsql.engine.sinks.refused.converted_rows import with_converted_rows
from jetsql.engine.sinks.refused.refused_rows_table import create_refused_rows_table
from jetsql.engine.sinks.result_changes import discard_result
from jetsql.engine.sinks.sink_kinds import choose_sink, choose_writer
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.lifecycle.runtime import Report, RowsChecked, SinkNotice
from jetsql.jobs.model.job import Job, Plan, RunId, Version
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.model.staging import STAGING, staging_owner
from jetsql.jobs.planning.sink_traits import traits_of

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobSinks:
    """Opens the sinks of jobs."""

    spark: SparkSession
    catalog: Catalog
    checkpoints: Checkpoints
    gate: WriteGate
    """The gate through which all sinks write."""
    single_file_bytes: int
    old_versions_seconds: float

    def writer_of_run(
        self, job: Job, session: SparkSession, report: Report, query: Any, branches: BranchRun
    ) -> SinkWriter:
        """Return the sink of a run. query: see `SinkContext`"""
        return _writer(replace(self._context(job, session, report), query=query), branches)

    def side_tables(self, plan: Plan) -> tuple[str, ...]:
        """Return the qualified names of the tables of dead letters, and of late, refused and violating rows."""
        letters = (each.table for each in find_dead_letter_tables(self.catalog, plan))
        return *letters, *filter(None, (plan.late_rows_table, plan.refused_rows_table)), *violation_tables(plan)

    def create_side_tables(self, plan: Plan, owner: str) -> None:
        """Create the missing ones of `side_tables`. They belong to the job's owner."""
        is_missing = any(self.catalog.table(table) is None for table in self.side_tables(plan))
        session = as_user(self.spark, owner) if is_missing else self.spark
        create_dead_letter_tables(session, self.catalog, plan)
        create_late_rows_table(session, self.catalog, plan)
        create_refused_rows_table(session, self.catalog, plan)
        create_violation_tables(session, self.catalog, plan)

    def check_not_ahead(self, job: Job, progress: Progress) -> None:
        """Raise StatementError SINK_CHANGED if a sink of a restored job has a batch that the checkpoint lacks."""
        if job.plan.guarantee is not Guarantee.EXACTLY_ONCE:
            return
        for branch in branch_contexts(self._context(job)):
            writer, batch = choose_writer(branch), progress.next_batch
            if progress.has_pending_batch and (writer.has_batch(batch) or not isinstance(writer, ComparedWriter)):
                batch += 1  # the sink may have the planned batch, with the same rows
            if is_ahead(writer, batch):
                table = branch.sink_plan.sink.table
                raise StatementError(
                    "SINK_CHANGED",
                    f"The job was restored from a backup with the batches before {batch}, and {table} has later ones."
                    " Nothing was written.",
                    hint=f"Restore {table} from the same time and RESUME JOB, or run DROP JOB and CREATE JOB.",
                    where=table,
                )

    def has_batch(self, job: Job, batch: int) -> bool:
        return self._writer(job).has_batch(batch)

    def has_part(self, job: Job, batch: int) -> bool:
        """Return whether the sink has a batch, or a side table has rows of it, so that no other plan may write it."""
        return self.has_batch(job, batch) or has_dead_letters(self._context(job), batch)

    def discard_result(self, job: Job, batch: int) -> None:
        """Delete what was stored to compare the results of a batch that is not in the sink."""
        discard_result(self._context(job), batch)

    def discard_results(self, job: Job) -> None:
        """Delete the stored results of a job that writes changes of its result, so that it writes the whole result."""
        self.checkpoints.delete(self.checkpoints.results_folder(job.id))

    def recover(self, job: Job) -> None:
        with self.gate.writing(job.name):
            self._writer(job).recover()

    def discard(self, job: Job) -> None:
        """Delete what the job has staged. The caller holds the gate."""
        self._writer(job).discard()

    def delete_staged_rows(self, jobs: Sequence[Job]) -> None:
        """Delete what tasks of ended jobs have staged in file tables, and log errors."""
        ended = {job.id for job in jobs}
        sinks = (sink for job in jobs for sink in job.plan.analysis.sinks if traits_of(sink).has_rows_in_folder)
        for folder in sorted({f"{sink.location}/{STAGING}" for sink in sinks}):
            try:
                for name in self.checkpoints.files.list_names(folder):
                    if staging_owner(name) in ended:
                        self.checkpoints.files.delete(f"{folder}/{name}")
                        _LOG.info("Deleted the staged rows of an ended job: %s/%s", folder, name)
            except Exception as error:  # the rows only use disk space, and must not prevent the engine's start
                _LOG.warning("Staged rows in %s cannot be deleted: %s", folder, cause_of(error).message)

    def discard_version(self, job: Job, version: Version) -> None:
        """Delete the rows that a version of the job has staged in a table that the job no longer writes.

        The caller holds the gate.
        """
        kept = dict(enumerate(sink.table for sink in job.plan.analysis.sinks))
        # In a database and at a broker, all versions of the job share staging tables and batch numbers. The current run
        # needs them, and drops leftovers of other runs.
        for context in branch_contexts(self._context(job.with_plan(version.plan))):
            old = context.sink_plan.sink
            if old.table != kept.get(context.number) and traits_of(old).has_rows_in_folder:
                with_dead_letters(context, choose_writer(context)).discard()

    def _writer(self, job: Job) -> SinkWriter:
        """Return the sink of a job, for anything but a run."""
        return _writer(self._context(job))

    def _context(self, job: Job, session: SparkSession | None = None, report: Report | None = None) -> SinkContext:
        run = RunId(job.id, job.run)
        return SinkContext(
            job=job,
            sink_plan=job.plan.sinks[0],
            spark=session or self.spark,
            catalog=self.catalog,
            checkpoints=self.checkpoints,
            single_file_bytes=self.single_file_bytes,
            old_versions_seconds=self.old_versions_seconds,
            # Without a run, events have no listener.
            notice=lambda message: None if report is None else report(SinkNotice(run, message)),
            counted=lambda counts: None if report is None else report(RowsChecked(run, counts)),
            keeps_replaced=lambda: self.gate.is_copying,
        )


def _writer(context: SinkContext, branches: BranchRun | None = None) -> SinkWriter:
    writer = with_rules(context, with_dead_letters(context, choose_sink(context, branches)))
    if len(context.job.plan.sinks) == 1:  # each of several sinks converts its own rows
        writer = with_converted_rows(context, writer)
    return with_late_rows(context, writer)
