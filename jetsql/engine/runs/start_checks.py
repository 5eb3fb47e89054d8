"""The checks before a run starts: its sources, its query, and the formats that its state is written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.kafka_topics import check_topic
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.planning.compatibility import describe_replacements, outdated_rules


def check_sources(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Check that the topics that a plan reads are reachable. Raises StatementError."""
    for source in plan.analysis.sources:
        table = catalog.table(source.name) if source.format == "kafka" and source.created else None
        if table is None:
            continue
        try:
            check_topic(spark, table, KafkaOperation.READ)
        except StatementError as error:
            error.table = source.name
            raise


def check_same_query(job: Job, now: Analysis, accepts_functions: bool) -> None:
    """Check that the job's text still resolves to a query that fits its state. now: the analysis of its body.

    Raises StatementError JOB_CHANGED, or STATE_NOT_COMPATIBLE for a state that an earlier release has made otherwise.
    """
    if not job.version.first_trigger_done:
        return
    before = job.plan.analysis
    outdated = outdated_rules(before, now)
    if outdated:
        raise StatementError(
            "STATE_NOT_COMPATIBLE",
            f"An earlier version of JetSQL has made the job's state ({'; '.join(outdated)}). It can lack rows"
            " that IGNORE NULLS reads, or have several keys for equal values, such as 0.0 and -0.0, so results can be"
            " wrong.",
            hint="Run DROP JOB and CREATE JOB. The new job reads its sources from their beginning, so delete the rows"
            " that the job has written, or write to a new table.",
        )
    now = now.in_words_of(before)
    compared = replace(now, functions=before.functions) if accepts_functions else now
    changes = describe_replacements(before, compared)
    undo = "" if before.fingerprint == compared.fingerprint else "Undo the change and RESUME JOB, or "
    if changes:
        raise StatementError(
            "JOB_CHANGED",
            f"A view, table or function of the job was changed, so its query is another one now. {' '.join(changes)}",
            hint=f"{undo}{'accept' if undo else 'Accept'} it with CREATE OR REPLACE JOB, which checks whether the state"
            " can be kept.",
        )


def check_formats(job: Job, versions: Mapping[str, str]) -> None:
    """Raise StatementError FORMAT_NOT_READABLE for a job that a later release has written in a newer format."""
    made_with = job.version.software_versions
    for name in ("manifest", "part_names", "ledger"):
        if int(made_with.get(name, "0")) > int(versions[name]):
            raise StatementError(
                "FORMAT_NOT_READABLE",
                f"The job was created by JetSQL {made_with.get('jetsql', '')} with format {made_with[name]} of its"
                f" {name.replace('_', ' ')}. This release reads formats up to {versions[name]}.",
                hint="Start the engine with that release or a later one, and RESUME JOB.",
            )
