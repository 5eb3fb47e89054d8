"""DESCRIBE JOB, SHOW CREATE JOB and SHOW JOB HISTORY: the facts about a job, without its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.scaling import describe_missing_members, required_members
from jetsql.jobs.lifecycle.update import is_rescaling
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView, ReportedTrigger
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Job, Plan, Snapshot, StopGoal, quoted_text
from jetsql.jobs.model.redaction import REDACTED, redact_urls, show
from jetsql.jobs.model.table_names import join_table, quoted_table, split_table
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.statements.command_result import describe_error
from jetsql.jobs.statements.explain import describe_sink, describe_source, describe_trigger, describe_write
from jetsql.jobs.statements.job_metrics import count_rules, describe_count
from jetsql.jobs.statements.lookup import (
    find_job,
    sees_texts,
    visible_cause,
    visible_jobs,
    visible_plan,
    visible_text,
)
from jetsql.jobs.store.metrics import Totals
from jetsql.language import parse
from jetsql.language.body.expectations import rule_text
from jetsql.language.statement import (
    CreateJob,
    CreateStreamingTable,
    DescribeJob,
    Expectation,
    ShowCreateJob,
    ShowJobHistory,
    StartMode,
)
from jetsql.language.tokens import quoted_name
from jetsql.resultset import Cell, Column, Table, Value

FACT_COLUMNS: Final = (Column("key"), Column("value"))
TEXT_COLUMNS: Final = (Column("create_statement"),)
HISTORY_COLUMNS: Final = (
    Column("time", "timestamp", "when it happened"),
    Column("event", comment="the event in a few words"),
    Column("from_status", comment="NULL in the job's first row"),
    Column("to_status", comment="the status after the event"),
    Column("run", "bigint", "the job's newest run at that time"),
    Column("by", comment="the user who requested it, or engine; NULL for an event of an earlier release"),
    Column("message", comment="details and cause; NULL without the right OPERATE"),
)
JOB_HISTORY_COLUMNS: Final = (
    Column("job", comment="the name of the job"),
    Column("job_id", comment="the id of the job"),
    *HISTORY_COLUMNS,
    Column(
        "endpoint",
        comment="the user's way to the engine: http, console, connect, thrift, spark.sql, kubernetes, embedded or"
        " notebook",
    ),
    Column("address", comment="the IP address of the user's client; NULL inside the engine's process"),
)

_OF_STATEMENT: Final = ("statement", "way back", "fingerprint ", "rule ")
"""The facts with the text of a statement or parts of it, for which the right to see the job is not enough."""

Fact = tuple[str, str | None]


def describe(manager: Manager, statement: DescribeJob) -> Table:
    """Return a row for each fact. EXTENDED adds facts about runs, session, state and software versions."""
    view = find_job(manager, statement.name)
    view = replace(view, job=replace(view.job, cause=visible_cause(manager, view.job)))
    plan = visible_plan(manager, view.job.plan)
    more = _more_facts(view, plan, manager.metrics.totals(view.job.id)) if statement.extended else ()
    facts = (*_facts(view, plan, len(manager.members)), *more)
    if not sees_texts(manager, view.job):
        facts = tuple(fact for fact in facts if not fact[0].startswith(_OF_STATEMENT))
    return Table(FACT_COLUMNS, facts)


def _facts(view: JobView, plan: Plan, members: int) -> Iterator[Fact]:
    """Return the facts. plan: as the caller may see it"""
    job = view.job
    yield "id", job.id
    yield "name", job.name
    yield "comment", job.version.comment
    yield "status", _status(job)
    yield "submission time", _time(job.submission_time)
    yield "end time", _time(job.end_time)
    if job.waiting_for_members:
        yield "waits", describe_missing_members(job, members)
    yield "last error", describe_error(job.cause) or None
    if job.cause is not None:
        yield from _cause_facts(job.cause)
    yield "kind", "streaming" if plan.analysis.streaming else "batch"
    for source in plan.analysis.sources:
        yield "source", describe_source(source)
    if job.version.start_mode is not None:
        yield "start mode", job.version.start_mode.text
    shown = {source.name for source in plan.analysis.sources}
    for start in job.version.starts:
        if start.source in shown:
            yield "began", f"{start.source}: {start.text}"
    for each in plan.sinks:
        yield "sink", f"{describe_sink(each.sink)}; {describe_write(plan, each)}"
    yield "delivery", f"{GUARANTEE_TEXTS[plan.guarantee]}: {plan.guarantee_reason}"
    if plan.analysis.streaming:
        yield "trigger", describe_trigger(plan)
        yield "output mode", plan.output_mode.value if plan.output_mode is not None else None
    for count in count_rules(job):
        yield f"rule {count.rule}", describe_count(count)
    if plan.options.split_brain_protection:
        yield "quorum", f"{required_members(job)} members; {members} available"
    for name, value in show(plan.options.given).items():
        yield f"option {name}", value
    yield "statement", redact_urls(job.body.text)


def _cause_facts(cause: Cause) -> Iterator[Fact]:
    """Return the facts that are known about an error."""
    if cause.error_class:
        yield "last error class", cause.error_class
    if cause.where:
        yield "last error at", cause.where
    if cause.batch is not None:
        yield "last error in batch", str(cause.batch)


def _more_facts(view: JobView, plan: Plan, totals: Totals) -> Iterator[Fact]:
    """Return the facts for EXTENDED. plan: as the caller may see it"""
    job, facts = view.job, view.stats
    yield "run", str(job.run)
    yield "restarts without progress", f"{job.attempts} of {job.plan.options.restart_attempts}"
    yield "suspend on failure", str(job.plan.suspend_on_failure).lower()
    yield "newest batch", None if job.batch is None else str(job.batch)
    yield "updates", str(job.version.checkpoint)
    if job.rollback_version is not None:
        yield (
            "way back",
            f"to: {redact_urls(job.rollback_version.body.text)}; until this version has committed a batch",
        )
    if job.is_live:
        yield "newest batch began", _time(_began(facts.batch_trigger))
        yield "last found nothing", _time(_began(facts.idle_trigger))
        yield "rows read since the engine started", str(totals.input_rows)
        yield "rows too late since the engine started", str(totals.late_rows)
    session = job.plan.analysis.session
    yield "catalog", session.catalog
    yield "schema", session.schema
    yield from _pairs("session", show(session.confs))
    yield from _pairs("default", job.version.session_defaults)
    if plan.analysis.sources == job.plan.analysis.sources:  # it names them
        for number, fact in enumerate(job.plan.analysis.fingerprint, 1):
            yield f"fingerprint {number}", redact_urls(fact)
    yield from _pairs("version of", job.version.software_versions)


def _pairs(prefix: str, values: Mapping[str, str]) -> Iterator[Fact]:
    for name in sorted(values):
        yield f"{prefix} {name}", values[name]


def _status(job: Job) -> str:
    goal = StopGoal.RESTART if is_rescaling(job) else job.stop_goal
    return f"{job.status.value} ({goal.value})" if goal is not None else job.shown_status


def _began(trigger: ReportedTrigger | None) -> float | None:
    return None if trigger is None else trigger.began


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def show_create(manager: Manager, statement: ShowCreateJob) -> Table:
    """Return the statement that creates the job, with its current options."""
    return Table(TEXT_COLUMNS, ((create_text(find_job(manager, statement.name).job),),))


def create_text(job: Job) -> str:
    """Return the statement that creates a job, with the user's body, and with its table if the job belongs to one.

    Secrets are redacted, which a comment says.
    """
    options, body = job.plan.options.given, job.body.text
    if job.version.table_kind is not None:
        lines = _create_table_lines(job.name, options, job.version.start_mode, _created_table(body))
    else:
        lines = _create_job_lines(
            job.name, job.body.expectations, job.version.comment, options, job.version.start_mode, body
        )
    return "\n".join((*_secrets_note(options, body), *lines))


def fork_text(snapshot: Snapshot) -> str:
    """Return a statement that creates a job from a snapshot, next to the job of the snapshot. Secrets are redacted."""
    own = {name: value for name, value in snapshot.plan.options.given.items() if name != "initialSnapshotName"}
    options, body = {"initialSnapshotName": snapshot.name, **own}, snapshot.statement
    try:
        written = parse(body)
    except StatementError:  # of a release with another grammar
        written = None
    if isinstance(written, CreateStreamingTable):
        *schema, table = split_table(snapshot.job_name)
        note = "-- Another table is created, and continues from the snapshot."
        lines = _create_table_lines(join_table((*schema, f"{table}_fork")), options, None, written)
    else:
        # Earlier releases kept the whole statement.
        body = written.body.text if isinstance(written, CreateJob) else body
        note = "-- Choose another table, unless both jobs are to write into the same one."
        rules = snapshot.plan.analysis.expectations
        lines = _create_job_lines(f"{snapshot.job_name}_fork", rules, None, options, None, body)
    return "\n".join((*_secrets_note(options, body), note, *lines))


def _create_job_lines(
    name: str,
    rules: Sequence[Expectation],
    comment: str | None,
    options: Mapping[str, str],
    start_mode: StartMode | None,
    body: str,
) -> Iterator[str]:
    yield f"CREATE JOB {quoted_name(name)}{_rules_clause(rules)}"
    if comment is not None:
        yield f"COMMENT {quoted_text(comment)}"
    if options:
        yield _options_clause(options)
    yield from _start_lines(start_mode)
    yield f"AS {redact_urls(body)}"


def _created_table(body: str) -> CreateStreamingTable:
    written = parse(body)
    assert isinstance(written, CreateStreamingTable)
    return written


def _start_lines(start_mode: StartMode | None) -> Iterator[str]:
    if start_mode is not None:
        yield f"START_MODE = {start_mode.text}"


def _create_table_lines(
    name: str, options: Mapping[str, str], start_mode: StartMode | None, written: CreateStreamingTable
) -> Iterator[str]:
    assert written.create.table is not None, "the statement has a table"
    yield f"CREATE {written.kind.value} {quoted_table(name)}{_rules_clause(written.create.body.expectations)}"
    if options:
        yield f"JOB {_options_clause(options)}"
    yield from _start_lines(start_mode)
    yield redact_urls(written.create.table.clauses)


def _secrets_note(options: Mapping[str, str], body: str) -> tuple[str, ...]:
    """Return a comment that says that a statement is shown without its secrets, if it has any."""
    if dict(show(options)) == dict(options) and REDACTED not in redact_urls(body):
        return ()
    return ("-- Secrets are shown as ***: insert them before you run this statement.",)


def _rules_clause(rules: Sequence[Expectation]) -> str:
    """Return rules as statements have them after the name, with a space before them; empty without rules."""
    return " (\n" + ",\n".join(f"  {redact_urls(rule_text(rule))}" for rule in rules) + "\n)" if rules else ""


def _options_clause(options: Mapping[str, str]) -> str:
    """Return options as an OPTIONS clause; secrets are redacted."""
    pairs = (f"  {quoted_text(name)} = {quoted_text(value)}" for name, value in show(options).items())
    return "OPTIONS (\n" + ",\n".join(pairs) + "\n)"


def show_history(manager: Manager, statement: ShowJobHistory) -> Table:
    """Return the history of a job, oldest row first."""
    job = find_job(manager, statement.name).job
    shows_text = sees_texts(manager, job)
    rows = (_history_row(manager, row, shows_text, job.is_dropped) for row in manager.store.history(job.id))
    return Table(HISTORY_COLUMNS, tuple(rows))


def history_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `jetsql.job_history`: the history of all jobs, oldest row first."""
    jobs = {job.id: (job, sees_texts(manager, job)) for job in visible_jobs(manager, manager.store.all_jobs())}
    for row in manager.store.history():
        if row.job_id not in jobs:
            continue
        job, shows_text = jobs[row.job_id]
        origin = (None, None) if row.by is None else (row.by.endpoint or None, row.by.address or None)
        yield (job.name, row.job_id, *_history_row(manager, row, shows_text, job.is_dropped), *origin)


def _history_row(manager: Manager, row: HistoryRow, shows_text: bool, is_dropped: bool) -> tuple[Value, ...]:
    before, after = row.shown_before(is_dropped), row.shown_status(is_dropped)
    by = row.by.user if row.by is not None else None
    message = visible_text(manager, row.message) if shows_text else None
    return (row.time, row.event, before, after, row.run, by, message)
