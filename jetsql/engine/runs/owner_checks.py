"""The check of a job as its owner: of its body, by Spark's gates in a session of the owner, and of its writes.

The run itself is one of the engine, which no right limits. So the check comes before each run.
"""

from __future__ import annotations

import json
import logging
from typing import Final

from pyspark.errors import PySparkException

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.analysis import resolve_with_plan
from jetsql.engine.session.engine_sessions import as_user, is_allowed, is_restricted
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.sinks.job_sinks import JobSinks
from jetsql.engine.sinks.table_snapshots import snapshots_folder
from jetsql.errors import JetSQLError, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.access.job_rights import lost_rights, needed_rights
from jetsql.jobs.model.job import Job, Plan, SinkPlan
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.option_rules import COMMIT_GROUP
from jetsql.jobs.planning.sink_traits import traits_of

_LOG: Final = logging.getLogger(__name__)


def check_owner(job: Job, sessions: JobSessions, sinks: JobSinks) -> None:
    """Check that the owner of a job may do what the job does.

    Raises StatementError NOT_ALLOWED, whose cause says what is missing, and names objects that other users may not see.
    Raises as `resolve_with_plan` if the body cannot be analysed for another reason.
    """
    if not is_restricted(sinks.spark, job.owner):
        return
    session = as_user(sessions.open_for_job(job), job.owner)
    try:
        resolve_with_plan(job.body, session, job.plan)
        check_writes(job.owner, job.plan, sinks)
    except Exception as error:
        if _condition(error) != "JETSQL.NOT_ALLOWED":
            # An object without a right has the error of a missing one. The engine finds it, unless it is missing.
            resolve_with_plan(job.body, sessions.open_for_job(job), job.plan)
        _LOG.info("Job %s is not allowed: %s", job.id, error)
        raise lost_rights(job.owner) from error


def _condition(error: Exception) -> str | None:
    if isinstance(error, JetSQLError):
        return error.condition
    return error.getCondition() if isinstance(error, PySparkException) else None


def check_writes(owner: str, plan: Plan, sinks: JobSinks) -> None:
    """Check the rights on all tables that a job writes, and on topics whose offsets it sets in a consumer group.

    Those on what it reads are checked with its body.

    Raises StatementError NOT_ALLOWED, in the same words for a table that the owner cannot see and for a missing one.
    """
    if not is_restricted(sinks.spark, owner):
        return
    _check_group(owner, plan, sinks)
    for written in plan.sinks:
        check_folder(owner, written, sinks)
    for right, table in needed_rights(plan, sinks.side_tables(plan)):
        exists = sinks.catalog.table(table) is not None
        if is_allowed(sinks.spark, owner, right if exists else Right.CREATE, table):
            continue
        seen = any(is_allowed(sinks.spark, owner, each, table) for each in (Right.SELECT, Right.INSERT, Right.MODIFY))
        on_schema = not (seen and exists) and not is_allowed(sinks.spark, owner, Right.CREATE, table)
        needed, on = (Right.CREATE, f"the schema of {table}") if on_schema else (right, table)
        message = f"The user {owner} lacks the right {needed.value} on {on}, which the job needs."
        raise StatementError("NOT_ALLOWED", message, hint="Ask an admin to grant it.")


def _check_group(owner: str, plan: Plan, sinks: JobSinks) -> None:
    """Check the right to set offsets of a consumer group, which other consumers of the topics may use.

    The login of the table can set those of all its groups. Raises StatementError NOT_ALLOWED.
    """
    if plan.options.commit_group is None:
        return
    for source in plan.analysis.sources:
        if not source.is_topic or is_allowed(sinks.spark, owner, Right.MODIFY, source.name):
            continue
        seen = any(is_allowed(sinks.spark, owner, each, source.name) for each in (Right.SELECT, Right.INSERT))
        table = source.name if seen else "a table USING kafka that it reads through a view"
        message = f"The user {owner} lacks the right MODIFY on {table}, which the option '{COMMIT_GROUP}' needs."
        raise StatementError("NOT_ALLOWED", message, hint="Ask an admin to grant it, or leave out the option.")


def check_folder(owner: str, written: SinkPlan, sinks: JobSinks) -> None:
    """Check the right on the folder of the results of a job that replaces all rows of a table at a location.

    It is next to the folder of the table. Raises StatementError NOT_ALLOWED.
    """
    sink = written.sink
    if sink.managed or not (traits_of(sink).has_rows_in_folder and written.overwrite and sink.replaces_whole_table):
        return
    new_owner = owner if sinks.catalog.table(sink.table) is None else None
    name, folder = json.dumps(split_table(sink.table)), snapshots_folder(sink.location)
    locations = java(sinks.spark).connections.TableLocations
    refusal = locations.folderRefusal(sinks.spark._jsparkSession, name, new_owner, folder)
    if refusal is not None:
        hint = "INSERT OVERWRITE writes next to the location of the table: grant the folder around it."
        raise StatementError("NOT_ALLOWED", str(refusal), hint=hint)
