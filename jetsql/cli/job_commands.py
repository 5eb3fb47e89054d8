"""Commands about jobs and snapshots, named as in Hazelcast Jet's command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.flags import ENGINE_OPTIONS, ExitCode, add_options, parse_flags
from jetsql.cli.statement_commands import (
    FetchedRows,
    JobCommand,
    print_rows,
    run_command,
    run_job_command,
    run_query,
    run_with_engine,
    select_columns,
)

if TYPE_CHECKING:
    from jetsql.client.engine_client import EngineClient
    from jetsql.output.console import Console
    from jetsql.output.render import Format, Rows

_SNAPSHOT_COLUMNS: Final = ("created", "size_bytes", "job", "name", "batch")
_FULL_SNAPSHOT_COLUMNS: Final = ("job_id", "owner", "age_seconds", "statement")
_NAME_CHARS: Final = 24

JOB_ARGUMENT: Final = click.argument("job", metavar="JOB")


@click.command("list-jobs")
@click.option("-a", "--all", "all_jobs", is_flag=True, help="Include jobs that have ended.")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def list_jobs(context: click.Context, /, all_jobs: bool, **params: Any) -> None:
    """List the jobs, newest first, as SHOW JOBS does.

    \b
    Examples:
      jetsql list-jobs
      jetsql list-jobs -a --format json
    """
    context.exit(run_query(parse_flags(context, params), "SHOW ALL JOBS" if all_jobs else "SHOW JOBS"))


@click.command()
@JOB_ARGUMENT
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def suspend(context: click.Context, /, job: str, **params: Any) -> None:
    """Suspend a job and keep its state.

    JOB is a name or an id. The job finishes its batch first. The command returns when the job is SUSPENDED; after
    Ctrl-C, the job is suspended in the background.

    \b
    Examples:
      jetsql suspend orders
      jetsql suspend 660c-82e2-3cc9-c000
    """
    context.exit(run_command(parse_flags(context, params), _job_command("SUSPEND JOB", job, f"suspending {job}")))


@click.command()
@JOB_ARGUMENT
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def resume(context: click.Context, /, job: str, **params: Any) -> None:
    """Resume a suspended job from its state.

    JOB is a name or an id. The command returns when the job is RUNNING; after Ctrl-C, the job starts in the background.

    \b
    Examples:
      jetsql resume orders
    """
    context.exit(run_command(parse_flags(context, params), _job_command("RESUME JOB", job, f"resuming {job}")))


@click.command()
@click.argument("job", metavar="JOB", required=False)
@click.option("--all", "all_jobs", is_flag=True, help="Restart all running jobs, one after the other.")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def restart(context: click.Context, /, job: str | None, all_jobs: bool, **params: Any) -> None:
    """Stop a job and start it again.

    JOB is a name or an id. The job stops between two batches. The command returns when the job is RUNNING again; after
    Ctrl-C, the job restarts in the background.

    \b
    Examples:
      jetsql restart orders
      jetsql restart --all
    """
    if (job is None) is not all_jobs:
        raise click.UsageError("Name a job, or give --all.", context)
    flags = parse_flags(context, params)
    if job is not None:
        context.exit(run_command(flags, _restart_command(job, job)))
    context.exit(run_with_engine(flags, lambda engine, console: _restart_all(engine, console, flags)))


@click.command()
@JOB_ARGUMENT
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def cancel(context: click.Context, /, job: str, **params: Any) -> None:
    """Cancel a job and delete its state. Its table is kept.

    JOB is a name or an id. The status of the job is then DROPPED, cancelled by user. Use `save-snapshot -C` to keep its
    state as a snapshot. After Ctrl-C, the job is cancelled in the background.

    \b
    Examples:
      jetsql cancel orders
    """
    context.exit(run_command(parse_flags(context, params), _job_command("DROP JOB", job, f"cancelling {job}")))


@click.command("save-snapshot")
@JOB_ARGUMENT
@click.argument("name", metavar="NAME")
@click.option("-C", "--cancel", "then_cancel", is_flag=True, help="Cancel the job when its snapshot is saved.")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def save_snapshot(context: click.Context, /, job: str, name: str, then_cancel: bool, **params: Any) -> None:
    """Save a copy of a job's state as a snapshot.

    JOB is a name or an id. A running job continues to run. `submit -s NAME` starts a new job from the snapshot.

    \b
    Examples:
      jetsql save-snapshot orders friday
      jetsql save-snapshot -C orders final
    """
    from jetsql.language.tokens import quoted_name

    snapshot = quoted_name(name)
    save = f"CREATE SNAPSHOT {snapshot} FOR JOB {job_reference(job)}"
    text = f"DROP JOB {job_reference(job)} WITH SNAPSHOT {snapshot}" if then_cancel else save
    context.exit(run_command(parse_flags(context, params), JobCommand(text, f"saving snapshot {name} of {job}")))


@click.command("list-snapshots")
@click.option("-F", "--full", "full", is_flag=True, help="Show full names of jobs, and all columns.")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def list_snapshots(context: click.Context, /, full: bool, **params: Any) -> None:
    """List the snapshots, newest first.

    \b
    Examples:
      jetsql list-snapshots
      jetsql list-snapshots -F --format vertical
    """

    from jetsql.output.render import Format

    def shape(rows: Rows, form: Format) -> Rows:
        selected = select_columns(rows, _SNAPSHOT_COLUMNS + (_FULL_SNAPSHOT_COLUMNS if full else ()))
        return selected if full or form is not Format.TABLE else _shorten_job_names(selected)

    context.exit(run_query(parse_flags(context, params), "SHOW SNAPSHOTS", shape))


@click.command("delete-snapshot")
@click.argument("name", metavar="NAME")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def delete_snapshot(context: click.Context, /, name: str, **params: Any) -> None:
    """Delete a snapshot. Jobs that were started from it are not affected.

    \b
    Examples:
      jetsql delete-snapshot friday
    """
    from jetsql.language.tokens import quoted_name

    command = JobCommand(f"DROP SNAPSHOT {quoted_name(name)}", f"deleting snapshot {name}")
    context.exit(run_command(parse_flags(context, params), command))


@click.command()
@JOB_ARGUMENT
@click.option("-x", "--extended", is_flag=True, help="Include captured settings, versions and runs.")
@add_options(*ENGINE_OPTIONS)
@click.pass_context
def describe(context: click.Context, /, job: str, extended: bool, **params: Any) -> None:
    """Describe a job in detail.

    JOB is a name or an id.

    \b
    Examples:
      jetsql describe orders
      jetsql describe -x --format json orders
    """
    context.exit(
        run_query(parse_flags(context, params), f"DESCRIBE JOB {'EXTENDED ' if extended else ''}{job_reference(job)}")
    )


def _job_command(statement: str, job: str, description: str) -> JobCommand:
    """Return the command for a statement about a job that is repeated until the job has reached its state."""
    return JobCommand(f"{statement} {job_reference(job)}", description, lambda job_id: f"{statement} '{job_id}'")


def _restart_command(job: str, label: str) -> JobCommand:
    """Return the command to restart a job. It waits with RESUME, because RESTART would restart the job again."""
    return JobCommand(
        f"RESTART JOB {job_reference(job)}", f"restarting {label}", lambda job_id: f"RESUME JOB '{job_id}'"
    )


def _restart_all(engine: EngineClient, console: Console, flags: Any) -> ExitCode:
    """Restart every running job, also after the restart of another job failed."""
    from jetsql.cli.statement_commands import error_text
    from jetsql.errors import ReportedError
    from jetsql.jobs.model.job import Status

    restartable = (Status.RUNNING, Status.STARTING, Status.NOT_RUNNING)
    results, code = [], ExitCode.SUCCESS
    for job_id, status, name in select_columns(engine.run("SHOW JOBS"), ("id", "status", "name")).table:
        if status not in restartable:
            continue
        try:
            results.append(run_job_command(engine, console, _restart_command(job_id, name)))
        except ReportedError as error:
            console.show_error(error_text(error.report))
            code = ExitCode.STATEMENT_FAILED
    if results:
        print_rows(
            console, FetchedRows(results[0].columns, tuple(row for result in results for row in result.table)), flags
        )
    else:
        console.print_message("No job was restarted.")
    return code


def job_reference(job: str) -> str:
    """Return a job as it is written in statements. As in Jet, a text in the form of an id is an id."""
    from jetsql.jobs.model.ids import canonical_id
    from jetsql.language.tokens import quoted_name

    job_id = canonical_id(job)
    return quoted_name(job) if job_id is None else f"'{job_id}'"


def _shorten_job_names(rows: FetchedRows) -> FetchedRows:
    shortened = [column.name == "job" for column in rows.columns]
    table = tuple(
        tuple(_shorten(value) if short else value for value, short in zip(row, shortened, strict=True))
        for row in rows.table
    )
    return FetchedRows(rows.columns, table)


def _shorten(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 3]}..."
