"""The checks of every CREATE JOB before the job is created: the engine's analysis, the plan, and external systems."""

from __future__ import annotations

from collections.abc import Iterator

from jetsql.errors import ErrorPlace, Span, StatementError
from jetsql.jobs.access.rights_table import USER_SETTINGS
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.model.job_options import StatementOptions, Trigger
from jetsql.jobs.planning.commit_groups import check_group_unused
from jetsql.jobs.planning.compatibility import has_utc_windows
from jetsql.jobs.planning.option_rules import COMMIT_GROUP
from jetsql.jobs.planning.output_mode import modes_of
from jetsql.jobs.planning.overwrite_conflicts import check_overwrite_conflicts
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.table_verb import check_reads_stream
from jetsql.jobs.statements.creation.job_owners import owner_of
from jetsql.jobs.statements.creation.rewritten_bodies import add_rewritten_body
from jetsql.jobs.statements.creation.start_positions import check_start
from jetsql.language import find_name
from jetsql.language.statement import Body, CreateJob, OptionText, Verb
from jetsql.secret_references import is_reference


def make_statement_plan(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession, job: Job | None = None
) -> Plan:
    """Return the plan of a statement. job: the one that it replaces. Raises as `JobRuntime.analyse` and `make_plan`."""
    check_confs(manager, options)
    owner = owner_of(manager, statement)

    def is_useful(changed: CreateJob) -> bool:
        plan = _make_plan(manager, changed, options, session, job, owner)
        # Without keys, SINK INTO would add a row for each change.
        return plan.sinks[0].upsert or changed.body.verb in (
            statement.body.verb,
            Verb.INSERT_INTO,
            Verb.INSERT_OVERWRITE,
        )

    try:
        plan = _make_plan(manager, statement, options, session, job, owner)
    except StatementError as error:
        add_rewritten_body(error, manager, statement, options, session, is_useful)
        raise
    check_start(statement, options, plan)
    return plan


def _make_plan(
    manager: Manager,
    statement: CreateJob,
    options: StatementOptions,
    session: UserSession,
    job: Job | None,
    owner: str,
) -> Plan:
    body = statement.body
    session = manager.runtime.as_user(session, owner)
    modes = modes_of(body.verb, options.values.output_mode)
    local_windows = job is None or not has_utc_windows(job)
    analysis = manager.runtime.analyse(body, session, modes, options.values.state_ttl_millis, local_windows)
    check_reads_stream(body, analysis, statement.kind)
    branches = [(branch.verb, branch.target) for branch in body.branches]
    plan = make_plan(analysis, options, body.verb, body.target, branches)
    check_writes(manager, plan, owner, body.target)
    if plan.options.trigger is Trigger.REAL_TIME:
        check_real_time(manager, statement.body, plan, options, job)
    return plan


def check_real_time(manager: Manager, body: Body, plan: Plan, options: StatementOptions, job: Job | None) -> None:
    """Raise StatementError TRIGGER_NOT_POSSIBLE at the option when Spark cannot run the body in real-time mode now."""
    with ErrorPlace(options.value_place("trigger")):
        manager.runtime.check_real_time(body, plan, job)


def check_confs(manager: Manager, options: StatementOptions) -> None:
    """Check the `spark.*` settings of a statement, so that an invalid value fails the statement and not the next start.

    Raises StatementError at the key or the value at fault.
    """
    for name, value in options.values.spark_confs.items():
        text = options.texts.get(name)
        if text is None:  # the job has it already
            continue
        _check_allowed_conf(manager, name, value, text)
        try:
            manager.runtime.check_conf(name, value)
        except StatementError as error:
            key_at_fault = error.condition != "JETSQL.INVALID_OPTION_VALUE"
            raise error.at(text.key_place if key_at_fault else text.value_place) from None


def _check_allowed_conf(manager: Manager, name: str, value: str, text: OptionText) -> None:
    """Raise StatementError NOT_ALLOWED for a setting that only an admin may give a job."""
    is_of_users = name.lower() in map(str.lower, USER_SETTINGS)
    if manager.access.is_admin or (is_of_users and not is_reference(value)):
        return
    message = f"Only an ADMIN may give a job the setting '{name}'."
    if is_of_users:
        message = f"Only an ADMIN may give a job a setting from a secret, as here '{name}'."
    hint = f"Users set only {', '.join(USER_SETTINGS)}, to a value."
    raise StatementError("NOT_ALLOWED", message, place=text.key_place, hint=hint)


def check_writes(manager: Manager, plan: Plan, owner: str, place: Span | None) -> None:
    """Check the rights of a job's owner on the tables that the job writes. Raises StatementError NOT_ALLOWED."""
    with ErrorPlace(place):
        manager.runtime.check_writes(plan, owner)


def check_conflicts(
    manager: Manager, statement: CreateJob, options: StatementOptions, plan: Plan, job: Job | None = None
) -> None:
    """Check that other jobs let this one write its tables and its consumer group. job: the one that is replaced.

    Raises StatementError RELATION_READ_ONLY at the sink's name, and as `check_overwrite_conflicts` and `check_group`.
    """
    if statement.kind is None:  # otherwise the table belongs to this job
        _check_own_tables(manager, statement.body, plan)
    check_overwrite_conflicts(plan, statement.body, _other_jobs(manager, job), manager.access.sees_job)
    check_group(manager, options, plan, job)


def check_group(manager: Manager, options: StatementOptions, plan: Plan, job: Job | None) -> None:
    """Raise StatementError INVALID_OPTION_VALUE at the option when another job has the consumer group."""
    with ErrorPlace(options.value_place(COMMIT_GROUP)):
        check_group_unused(plan, _other_jobs(manager, job), manager.access.sees_job)


def _other_jobs(manager: Manager, job: Job | None) -> Iterator[Job]:
    return (view.job for view in manager.registry.live() if job is None or view.job.id != job.id)


def _check_own_tables(manager: Manager, body: Body, plan: Plan) -> None:
    """Raise StatementError for a streaming table or a materialized view of another job."""
    targets = [branch.target for branch in body.branches] or [body.target]
    for sink, target in zip(plan.analysis.sinks, targets, strict=True):
        table = manager.runtime.find_table(sink.table)
        if table is not None and table.kind:
            raise StatementError(
                "RELATION_READ_ONLY",
                f"Cannot write to the {table.kind.lower()} {sink.table}: only its own job writes it.",
                place=target,
                hint=f"Write to another table, or change its query with CREATE OR REFRESH {table.kind}.",
            )


def check_reachable(manager: Manager, statement: CreateJob, plan: Plan) -> None:
    """Raise StatementError at the name of the table at fault, such as one whose external system is unavailable."""
    body = statement.body
    try:
        owner = owner_of(manager, statement)
        manager.workers.call(lambda: manager.runtime.check_reachable(plan, owner)).result()
    except StatementError as error:
        rules = (rule.action_place for rule in plan.analysis.expectations if error.table and rule.table == error.table)
        source = find_name(body.spark_text, error.table.split("."), body.target.stop) if error.table else None
        error.at(next(rules, source or body.target))
        raise
