"""The command line: flags, exit codes and commands.

Results go to standard output, everything else to standard error. Tables are also the default for pipes: the same call
prints the same wherever its output goes, and programs request csv or json by name. This module imports only click, so
that `--help` and `--version` are fast; each command imports what it needs when it is called.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

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
from jetsql.cli.needs_engine import needs_engine
from jetsql.cli.open_shell import open_shell
from jetsql.cli.run_scripts import execute
from jetsql.cli.submit import submit
from jetsql.version import VERSION


class CommandGroup(click.Group):
    """The commands. A file name in place of a command is answered with how to run files."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and (args[0].endswith(".sql") or os.path.exists(args[0])):
            raise click.UsageError(f"Files are run with: jetsql run {args[0]}", ctx)
        if args and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            advice = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"No such command {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their definition, which is that of their use."""
        return list(self.commands)


@click.group(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@add_statement_options
@click.version_option(VERSION, "--version", message="jetsql %(version)s")
@click.pass_context
def cli(context: click.Context, /, **params: Any) -> None:
    """Streaming jobs on Apache Spark with SQL alone.

    \b
    Examples:
      jetsql --home ./engine
      jetsql -e "SHOW JOBS"
      jetsql run jobs.sql
      jetsql run --stay --home ./engine --set day=2013-01-01 jobs.sql
      jetsql --format csv -e "SELECT * FROM delays" > delays.csv
      jetsql check

    `jetsql` alone is a shell (`jetsql sql --help` tells more); with something piped into it, it runs that.

    Jobs belong to a home folder and run in its engine, a process of its own, which is started when none runs and goes
    on when the command is done. `jetsql stop` ends it; its jobs go on with the next start.

    Exit codes: 0 fine, 1 a statement failed or check found problems, 2 wrong usage, 3 the engine could not start or go
    on (no Java, bad master, home in use), 130 interrupted (Ctrl-C, SIGTERM), 141 nobody read the output any more.
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
    """The shell: enter statements, see what they give.

    The same as `jetsql` alone. It needs a terminal; what comes through a pipe is run as `jetsql run -` does.

    \b
    Examples:
      jetsql sql --home ./engine
      jetsql < jobs.sql

    The prompt is there at once; the engine is found or started meanwhile. Statements end with a semicolon, `.help`
    lists the shell's own commands, Ctrl-C cancels what runs, Ctrl-D leaves. Settings stand in the table [shell] of
    config.toml.
    """
    flags = parse_flags(context, params)
    context.exit(execute(flags, ()) if flags.statements else open_shell(flags))


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@add_statement_options
@click.pass_context
def run(context: click.Context, /, files: tuple[str, ...], **params: Any) -> None:
    """Run the statements in files of SQL.

    One file after the other; - reads standard input.

    \b
    Examples:
      jetsql run setup.sql jobs.sql
      echo "SHOW ALL JOBS" | jetsql run -
      jetsql run --continue --format json checks.sql

    The first statement that fails ends the run (--continue goes on). Mistakes read FILE:LINE:COLUMN: [CONDITION]
    message. In a script ${name} and ${name:-default} stand for variables; $${ is a plain ${.
    """
    flags = parse_flags(context, params)
    if files and flags.statements:
        raise click.UsageError("Give either files or -e, not both.", context)
    if not files and not flags.statements and not flags.stay:
        raise click.UsageError(
            "Name the files to run, or - for standard input. --embedded --stay keeps a home's jobs running.", context
        )
    context.exit(execute(flags, files))


@click.command()
@HOME_OPTION
@FORMAT_OPTION
@click.pass_context
@needs_engine("read the store of a home")
def check(context: click.Context, /, **params: Any) -> None:
    """Hold a home's store against its files.

    Where they differ, it says what to do.

    \b
    Examples:
      jetsql check
      jetsql check --home ./engine --format json

    Reads only, and needs neither Java nor a stopped engine. It looks at the store, at the checkpoint of each job and
    snapshot, at rows on their way into tables, at files that belong to nothing, and at the disk. Each finding says how
    bad it is (error, warning, note), what, where, and what to do; with --format it is a row of a result. It exits with
    1 when there is an error or a warning.
    """
    context.exit(_check(parse_flags(context, params)))


def _check(flags: Flags) -> ExitCode:
    from jetsql.check import check_home as check
    from jetsql.check import findings_report
    from jetsql.output.console import process_console
    from jetsql.output.render import Format, render_lines
    from jetsql.output.result_sink import OutputClosed

    report = check.check(load_settings(flags).home)
    console = process_console()
    rows = (
        render_lines(findings_report.result(report), Format(flags.form))
        if flags.form
        else findings_report.words(report)
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
    *(sql, run),
    *(list_jobs, submit, suspend, resume, restart, cancel),
    *(save_snapshot, list_snapshots, delete_snapshot, describe),
    *(start, stop, status, serve, logs, check),
    *(master, join),
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
