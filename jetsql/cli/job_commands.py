"""Commands about jobs and snapshots, in the words of Hazelcast Jet's command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.flags import ENGINE_OPTIONS, ExitCode, flags_of, with_these
from jetsql.cli.statement_commands import Answer, Order, ask, carry_out, give, picked, show, with_engine

if TYPE_CHECKING:
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.output.console import Console
    from jetsql.output.render import Format, Rows

_JOB_COLUMNS: Final = (
    "id",
    "status",
    "submission_time",
    "name",
    "delivery",
    "rows_per_second",
    "last_error",
)
_SNAPSHOT_COLUMNS: Final = ("created", "size_bytes", "job", "name", "batch")
_MORE_OF_SNAPSHOTS: Final = ("job_id", "age_seconds", "statement")
_NAME_CHARS: Final = 24
_RESTARTED: Final = ("RUNNING", "STARTING", "NOT_RUNNING")

JOB_ARGUMENT: Final = click.argument("job", metavar="JOB")


@click.command("list-jobs")
@click.option("-a", "--all", "all_jobs", is_flag=True, help="Those too that have ended.")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def list_jobs(context: click.Context, /, all_jobs: bool, **given: Any) -> None:
    """List the jobs, newest first.

    \b
    Examples:
      jetsql list-jobs
      jetsql list-jobs -a --format json
    """
    text = "SHOW ALL JOBS" if all_jobs else "SHOW JOBS"
    context.exit(ask(flags_of(context, given), text, lambda rows, form: _titled(picked(rows, _JOB_COLUMNS), form)))


@click.command()
@JOB_ARGUMENT
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def suspend(context: click.Context, /, job: str, **given: Any) -> None:
    """Suspend a job, with its state kept.

    It finishes its batch first. JOB is a name or an id. Returns when it is SUSPENDED; Ctrl-C ends the waiting, not the
    suspending.

    \b
    Examples:
      jetsql suspend orders
      jetsql suspend 660c-82e2-3cc9-c000
    """
    context.exit(give(flags_of(context, given), _order("SUSPEND JOB", job, f"suspending {job}")))


@click.command()
@JOB_ARGUMENT
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def resume(context: click.Context, /, job: str, **given: Any) -> None:
    """Start a suspended job where it stopped.

    JOB is a name or an id. Returns when it is RUNNING; Ctrl-C ends the waiting, not the starting.

    \b
    Examples:
      jetsql resume orders
    """
    context.exit(give(flags_of(context, given), _order("RESUME JOB", job, f"resuming {job}")))


@click.command()
@click.argument("job", metavar="JOB", required=False)
@click.option("--all", "all_jobs", is_flag=True, help="Every job that runs, one after the other.")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def restart(context: click.Context, /, job: str | None, all_jobs: bool, **given: Any) -> None:
    """Stop a job and start it again.

    It stops between two batches. JOB is a name or an id. Returns when it is RUNNING again; Ctrl-C ends the waiting, not
    the restart.

    \b
    Examples:
      jetsql restart orders
      jetsql restart --all
    """
    if (job is None) is not all_jobs:
        raise click.UsageError("Name a job, or give --all.", context)
    flags = flags_of(context, given)
    if job is not None:
        context.exit(give(flags, _restart(job, job)))
    context.exit(with_engine(flags, lambda engine, console: _restart_all(engine, console, flags)))


@click.command()
@JOB_ARGUMENT
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def cancel(context: click.Context, /, job: str, **given: Any) -> None:
    """Stop a job for good. Its state is lost, its table stays.

    JOB is a name or an id. Its status is FAILED then, cancelled by user. To keep its state under a name, use
    `save-snapshot -C`. Ctrl-C ends the waiting, not the cancelling.

    \b
    Examples:
      jetsql cancel orders
    """
    context.exit(give(flags_of(context, given), _order("DROP JOB", job, f"cancelling {job}")))


@click.command("save-snapshot")
@JOB_ARGUMENT
@click.argument("name", metavar="NAME")
@click.option("-C", "--cancel", "then_cancel", is_flag=True, help="Cancel the job when its snapshot is saved.")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def save_snapshot(context: click.Context, /, job: str, name: str, then_cancel: bool, **given: Any) -> None:
    """Keep a copy of a job's state under a name.

    A running job runs on. JOB is a name or an id. A new job starts from it with `submit -s NAME`.

    \b
    Examples:
      jetsql save-snapshot orders friday
      jetsql save-snapshot -C orders last-words
    """
    from jetsql.jobs.model.job import quoted_name

    snapshot = quoted_name(name)
    save = f"CREATE SNAPSHOT {snapshot} FOR JOB {named(job)}"
    text = f"DROP JOB {named(job)} WITH SNAPSHOT {snapshot}" if then_cancel else save
    context.exit(give(flags_of(context, given), Order(text, f"saving snapshot {name} of {job}")))


@click.command("list-snapshots")
@click.option("-F", "--full", "full", is_flag=True, help="Whole names of jobs, and everything else that is known.")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def list_snapshots(context: click.Context, /, full: bool, **given: Any) -> None:
    """List the snapshots, newest first.

    \b
    Examples:
      jetsql list-snapshots
      jetsql list-snapshots -F --format vertical
    """

    def shape(rows: Rows, form: Format) -> Rows:
        return _titled(picked(rows, _SNAPSHOT_COLUMNS + (_MORE_OF_SNAPSHOTS if full else ())), form, shorten=not full)

    context.exit(ask(flags_of(context, given), "SHOW SNAPSHOTS", shape))


@click.command("delete-snapshot")
@click.argument("name", metavar="NAME")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def delete_snapshot(context: click.Context, /, name: str, **given: Any) -> None:
    """Delete a snapshot. Jobs that were started from it don't notice.

    \b
    Examples:
      jetsql delete-snapshot friday
    """
    from jetsql.jobs.model.job import quoted_name

    order = Order(f"DROP SNAPSHOT {quoted_name(name)}", f"deleting snapshot {name}")
    context.exit(give(flags_of(context, given), order))


@click.command()
@JOB_ARGUMENT
@click.option("-x", "--extended", is_flag=True, help="What it captured, its versions and its runs' facts as well.")
@with_these(*ENGINE_OPTIONS)
@click.pass_context
def describe(context: click.Context, /, job: str, extended: bool, **given: Any) -> None:
    """Tell everything that is known of a job.

    JOB is a name or an id.

    \b
    Examples:
      jetsql describe orders
      jetsql describe -x --format json orders
    """
    context.exit(ask(flags_of(context, given), f"DESCRIBE JOB {'EXTENDED ' if extended else ''}{named(job)}"))


def _order(statement: str, job: str, doing: str) -> Order:
    """A statement about a job that is said again until it is done."""
    return Order(f"{statement} {named(job)}", doing, lambda job_id: f"{statement} '{job_id}'")


def _restart(job: str, shown: str) -> Order:
    """Said again, it would restart the job again; to wait for it to run is what RESUME does with one that starts."""
    return Order(f"RESTART JOB {named(job)}", f"restarting {shown}", lambda job_id: f"RESUME JOB '{job_id}'")


def _restart_all(engine: RemoteEngine, console: Console, flags: Any) -> ExitCode:
    """Each is tried, whatever became of those before it."""
    from jetsql.cli.statement_commands import mistake_words
    from jetsql.errors import ReportedError

    answers, code = [], ExitCode.FINE
    for job_id, status, name in picked(engine.run("SHOW JOBS"), ("id", "status", "name")).table:
        if status not in _RESTARTED:
            continue
        try:
            answers.append(carry_out(engine, console, _restart(job_id, name)))
        except ReportedError as error:
            console.mistake(mistake_words(error.report))
            code = ExitCode.STATEMENT_FAILED
    if answers:
        show(console, Answer(answers[0].columns, tuple(row for answer in answers for row in answer.table)), flags)
    else:
        console.say("No job was restarted.")
    return code


def named(job: str) -> str:
    """A job as statements name it. What looks like an id is one, as with Jet."""
    from jetsql.jobs.model.ids import canonical_id
    from jetsql.jobs.model.job import quoted_name

    job_id = canonical_id(job)
    return quoted_name(job) if job_id is None else f"'{job_id}'"


def _titled(rows: Answer, form: Format, shorten: bool = False) -> Answer:
    """In a table, titles for people and names that leave room for the rest; programs get columns by their names."""
    from jetsql.output.render import Format

    if form is not Format.TABLE:
        return rows
    columns = tuple(replace(column, name=column.name.replace("_", " ").upper()) for column in rows.columns)
    cut = [shorten and column.name == "job" for column in rows.columns]
    table = tuple(
        tuple(_short(value) if short else value for value, short in zip(row, cut, strict=True)) for row in rows.table
    )
    return Answer(columns, table)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 3]}..."
