"""`jetsql submit`: make a CREATE JOB from the INSERT in a file, and report errors with their positions in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from jetsql.cli.flags import ENGINE_OPTIONS, VARIABLES_OPTION, ExitCode, Flags, add_options, parse_flags
from jetsql.cli.run_scripts import prepare_scripts, read_files
from jetsql.cli.statement_commands import JobCommand, error_text, print_rows, run_job_command, run_with_engine

if TYPE_CHECKING:
    from jetsql.client.engine_client import EngineClient
    from jetsql.errors import ErrorReport
    from jetsql.output.console import Console
    from jetsql.output.diagnostics import Diagnostic, Script
    from jetsql.script import PreparedStatement


@click.command()
@click.argument("file", metavar="FILE.sql")
@click.option("-n", "--name", required=True, metavar="NAME", help="The job's name.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="A job option; may be repeated.")
@click.option("-s", "--snapshot", metavar="NAME", help="Start from the state in this snapshot.")
@add_options(VARIABLES_OPTION, *ENGINE_OPTIONS)
@click.pass_context
def submit(
    context: click.Context,
    /,
    file: str,
    name: str,
    options: tuple[str, ...],
    snapshot: str | None,
    **params: Any,
) -> None:
    """Create and start a job from the INSERT in a file.

    The file (- is standard input) has one statement: INSERT INTO ..., INSERT OVERWRITE ..., SINK INTO ... or AUTO CDC
    INTO ..., without CREATE JOB before it. The command returns when the first batch is committed, or after some seconds
    if that takes longer.

    \b
    Examples:
      jetsql submit -n orders orders.sql
      jetsql submit -n orders -o snapshotIntervalMillis=1000 -o processingGuarantee=exactlyOnce orders.sql
      jetsql submit -n orders-2 -s friday - < orders.sql
    """
    flags = parse_flags(context, params)
    prefix = _create_job_prefix(name, options, snapshot)
    [script] = read_files([file])
    context.exit(_submit_script(flags, script, prefix, name))


def _submit_script(flags: Flags, script: Script, prefix: str, name: str) -> ExitCode:
    from jetsql.output.console import process_console
    from jetsql.output.diagnostics import Diagnostic

    step = _single_statement(script, prepare_scripts(flags, [script]))
    if isinstance(step, Diagnostic):
        process_console().show_error(str(step))
        return ExitCode.STATEMENT_FAILED
    body = replace(step, prefix=prefix)
    return run_with_engine(
        flags, lambda engine, console: _create_job(engine, console, body, name, flags), only_existing_home=False
    )


def _single_statement(script: Script, steps: list[PreparedStatement | Diagnostic]) -> PreparedStatement | Diagnostic:
    """Return the only statement of the file, or its error. Raises click.UsageError for a file without statements."""
    from jetsql.output.diagnostics import Diagnostic

    if not steps:
        raise click.UsageError(f"{script.name} has no statement.")
    error = next((step for step in steps if isinstance(step, Diagnostic)), None)
    if error is not None or len(steps) == 1:
        return error or steps[0]
    second = steps[1]
    assert not isinstance(second, Diagnostic)
    message = "A submitted file has only one statement, but a second one begins here."
    return Diagnostic(script, second.start, "", message, "Run a script with: jetsql run FILE.sql")


def _create_job(engine: EngineClient, console: Console, body: PreparedStatement, name: str, flags: Flags) -> ExitCode:
    from jetsql.errors import ReportedError

    try:
        print_rows(console, run_job_command(engine, console, JobCommand(body.text, f"starting {name}")), flags)
    except ReportedError as error:
        console.show_error(_error_text(body, error.report))
        return ExitCode.STATEMENT_FAILED
    return ExitCode.SUCCESS


def _error_text(body: PreparedStatement, report: ErrorReport) -> str:
    """Return the text of an error, with its position in the file unless it is in the generated CREATE JOB."""
    from jetsql.script import diagnose

    if report.line == 1 and (report.column or 0) <= len(body.prefix):
        return error_text(report)
    return str(diagnose(body, report))


def _create_job_prefix(name: str, options: tuple[str, ...], snapshot: str | None) -> str:
    """Return CREATE JOB up to its AS. Raises click.UsageError for an option that is not KEY=VALUE."""
    from jetsql.errors import EngineError
    from jetsql.jobs.model.job import quoted_text
    from jetsql.language.tokens import quoted_name
    from jetsql.settings.given_settings import pair

    try:
        assignments = [pair(text, "-o") for text in options]
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    if snapshot is not None:
        assignments.append(("initialSnapshotName", snapshot))
    pairs = ", ".join(f"{quoted_text(key)} = {quoted_text(value)}" for key, value in assignments)
    return f"CREATE JOB {quoted_name(name)} {f'OPTIONS ({pairs}) ' if pairs else ''}AS "
