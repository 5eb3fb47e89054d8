"""The command line: flags, exit codes and commands.

Results go to standard output, all other messages to standard error. The default format is a table for pipes as well, so
that the output does not depend on where it goes; programs request csv or json with a flag. This module imports only
click, so that `--help` and `--version` are fast. Each command imports its modules when it is called.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from jetsql.cli.apply_command import apply
from jetsql.cli.archive_command import archive_classes
from jetsql.cli.cluster_commands import join, master
from jetsql.cli.engine_commands import serve, start, status, stop
from jetsql.cli.flags import (
    FORMAT_OPTION,
    HOME_OPTION,
    ExitCode,
    Flags,
    add_statement_options,
    load_settings,
    parse_flags,
)
from jetsql.cli.home_commands import backup, restore, store
from jetsql.cli.job_commands import (
    cancel,
    delete_snapshot,
    describe,
    list_jobs,
    list_snapshots,
    restart,
    resume,
    save_snapshot,
    suspend,
)
from jetsql.cli.log_command import logs
from jetsql.cli.login_commands import console, login, logout
from jetsql.cli.needs_engine import needs_engine
from jetsql.cli.open_shell import open_shell
from jetsql.cli.run_scripts import execute
from jetsql.cli.sql_file_commands import convert, format_files, lint, lsp, test_files
from jetsql.cli.submit import submit
from jetsql.installation import describe_versions
from jetsql.version import VERSION


class CommandGroup(click.Group):
    """The commands of `jetsql`. The error for a file in place of a command is the command that runs the file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and (args[0].endswith(".sql") or os.path.exists(args[0])):
            raise click.UsageError(f"{args[0]!r} is a file, not a command. Run it with: jetsql run {args[0]}", ctx)
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx))
            hint = f"Did you mean {near[0]}?" if near else f"The commands are: {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their definition, which is the order in the help."""
        return list(self.commands)


def _show_version(context: click.Context, _option: click.Parameter, is_given: bool) -> None:
    """Show the versions of JetSQL, PySpark and Java, and exit."""
    if is_given and not context.resilient_parsing:
        click.echo(describe_versions(VERSION))
        context.exit()


@click.group(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@add_statement_options
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the versions and exit.",
)
@click.pass_context
def cli(context: click.Context, /, **params: Any) -> None:
    """Run streaming jobs on Apache Spark with SQL alone.

    \b
    Examples:
      jetsql --home ./engine
      jetsql -e "SHOW JOBS"
      jetsql run jobs.sql
      jetsql run --embedded --stay --set day=2013-01-01 jobs.sql
      jetsql --format csv -e "SELECT * FROM delays" > delays.csv
      jetsql check

    `jetsql` alone opens the shell (see `jetsql sql --help`), or runs the statements from a pipe.

    Jobs belong to a home folder and run in its engine, a background process. Commands start the engine when it does not
    run, and it continues to run after them. `jetsql stop` stops it; its jobs continue with the next start.

    Exit codes: 0 success, 1 a statement failed or `check` found problems, 2 wrong usage, 3 no engine (no Java, wrong
    master, home in use), 130 interrupted (Ctrl-C, SIGTERM), 141 the reader of the output closed it.
    """
    flags = Flags(**params)
    if context.invoked_subcommand is not None:
        context.obj = flags
    elif flags.statements:
        context.exit(execute(flags, ()))
    else:
        context.exit(open_shell(flags))


@click.command()
@add_statement_options
@click.pass_context
def sql(context: click.Context, /, **params: Any) -> None:
    """Open the shell to enter statements and see their results.

    The same as `jetsql` alone. The shell needs a terminal; statements from a pipe are run as by `jetsql run -`.

    \b
    Examples:
      jetsql sql --home ./engine
      jetsql < jobs.sql

    The prompt appears immediately; the engine is found or started in the background. Statements end with a semicolon,
    `.help` lists the commands of the shell, Ctrl-C cancels a statement, and Ctrl-D exits. The settings are in the table
    [shell] of config.toml.
    """
    flags = parse_flags(context, params)
    context.exit(execute(flags, ()) if flags.statements else open_shell(flags))


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@add_statement_options
@click.pass_context
def run(context: click.Context, /, files: tuple[str, ...], **params: Any) -> None:
    """Run the statements in SQL files.

    The files are run one after the other; - reads standard input.

    \b
    Examples:
      jetsql run setup.sql jobs.sql
      echo "SHOW ALL JOBS" | jetsql run -
      jetsql run --continue --format json checks.sql
      jetsql run --echo jobs.sql > run.log

    The first statement that fails ends the run; with --continue, the run continues after it. Errors have the form
    FILE:LINE:COLUMN: [CONDITION] message. Scripts may contain variables: ${name} or ${name:-default}; $${ is a plain
    ${.
    """
    flags = parse_flags(context, params)
    if files and flags.statements:
        raise click.UsageError("Files and -e cannot be combined. Give only one.", context)
    if not files and not flags.statements and not flags.stay:
        raise click.UsageError("No file is given. Name the files to run, or - for standard input.", context)
    context.exit(execute(flags, files))


@click.command()
@HOME_OPTION
@FORMAT_OPTION
@click.pass_context
@needs_engine("read the store of a home")
def check(context: click.Context, /, **params: Any) -> None:
    """Check a home for damaged and missing files.

    Each problem is reported with its remedy.

    \b
    Examples:
      jetsql check
      jetsql check --home ./engine --format json

    The check does not change files, needs no Java, and can be run while the engine runs. It reads the store, the
    checkpoints of jobs and snapshots, rows of batches that are not committed, files that belong to no job, and the free
    space of the disk. Each finding has a severity (error, warning, note), a description, a file and a remedy; with
    --format, findings are rows. The exit code is 1 if there is an error or a warning.
    """
    context.exit(_check(parse_flags(context, params)))


def _check(flags: Flags) -> ExitCode:
    from jetsql.check import check_home as check
    from jetsql.check import findings_report
    from jetsql.output.console import process_console
    from jetsql.output.render import Format, render_lines
    from jetsql.output.result_sink import OutputClosed

    settings = load_settings(flags)
    report = check.check(settings.home, settings.store)
    console = process_console()
    rows = (
        render_lines(findings_report.result(report), Format(flags.form))
        if flags.form
        else findings_report.report_lines(report)
    )
    try:
        for line in rows:
            console.write_line(line)
        console.flush()
    except OutputClosed:
        console.discard_output()
        return ExitCode.OUTPUT_CLOSED
    return ExitCode.SUCCESS if report.is_well else ExitCode.PROBLEMS_FOUND


for command in (
    *(sql, run, apply, test_files, lint, format_files, convert, lsp),
    *(list_jobs, submit, suspend, resume, restart, cancel),
    *(save_snapshot, list_snapshots, delete_snapshot, describe),
    *(start, stop, status, console, login, logout, serve, logs, check, store, backup, restore),
    *(master, join, archive_classes),
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program `jetsql` and return its exit code."""
    try:
        code: int | None = cli.main(arguments, prog_name="jetsql", standalone_mode=False)
    except click.ClickException as error:
        from jetsql.output.terminal_text import printable_lines

        text = io.StringIO()
        error.show(text)
        click.echo(printable_lines(text.getvalue()), err=True, nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return code or ExitCode.SUCCESS
