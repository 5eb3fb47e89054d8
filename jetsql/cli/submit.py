"""`jetsql submit`: a file with the INSERT of one job becomes CREATE JOB, its mistakes at their places in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from jetsql.cli.flags import ENGINE_OPTIONS, VARIABLES_OPTION, ExitCode, Flags, flags_of, with_these
from jetsql.cli.run_scripts import prepared, read_files
from jetsql.cli.statement_commands import Order, carry_out, mistake_words, show, with_engine

if TYPE_CHECKING:
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.errors import ErrorReport
    from jetsql.output.console import Console
    from jetsql.output.diagnostics import Diagnostic, Script
    from jetsql.script import Step


@click.command()
@click.argument("file", metavar="FILE.sql")
@click.option("-n", "--name", required=True, metavar="NAME", help="The job's name.")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="An option; may be given often.")
@click.option("-s", "--snapshot", metavar="NAME", help="Start from the state in this snapshot.")
@with_these(VARIABLES_OPTION, *ENGINE_OPTIONS)
@click.pass_context
def submit(
    context: click.Context,
    /,
    file: str,
    name: str,
    options: tuple[str, ...],
    snapshot: str | None,
    **given: Any,
) -> None:
    """Make a job of the INSERT in a file.

    The job is started. The file (- reads standard input) holds one statement, INSERT INTO ..., INSERT OVERWRITE ... or
    SINK INTO ..., without CREATE JOB before it. Returns when the first batch is committed, or after some seconds that
    it is still running.

    \b
    Examples:
      jetsql submit -n orders orders.sql
      jetsql submit -n orders -o snapshotIntervalMillis=1000 -o processingGuarantee=exactlyOnce orders.sql
      jetsql submit -n orders-2 -s friday - < orders.sql
    """
    flags = flags_of(context, given)
    start = _beginning(name, options, snapshot)
    [script] = read_files([file])
    context.exit(_submit(flags, script, start, name))


def _submit(flags: Flags, script: Script, start: str, name: str) -> ExitCode:
    from jetsql.output.console import process_console
    from jetsql.output.diagnostics import Diagnostic

    step = _only(script, prepared(flags, [script]))
    if isinstance(step, Diagnostic):
        process_console().mistake(str(step))
        return ExitCode.STATEMENT_FAILED
    body = replace(step, ahead=start)
    return with_engine(flags, lambda engine, console: _create(engine, console, body, name, flags))


def _only(script: Script, steps: list[Step | Diagnostic]) -> Step | Diagnostic:
    """The one statement of the file. Raises click.UsageError when there is none."""
    from jetsql.output.diagnostics import Diagnostic

    if not steps:
        raise click.UsageError(f"{script.name} has no statement.")
    broken = next((step for step in steps if isinstance(step, Diagnostic)), None)
    if broken is not None or len(steps) == 1:
        return broken or steps[0]
    second = steps[1]
    assert not isinstance(second, Diagnostic)
    words = "A file that is submitted holds one statement, and here begins another."
    return Diagnostic(script, second.start, "", words, "Scripts of statements are run with: jetsql run FILE.sql")


def _create(engine: RemoteEngine, console: Console, body: Step, name: str, flags: Flags) -> ExitCode:
    from jetsql.errors import ReportedError

    try:
        show(console, carry_out(engine, console, Order(body.text, f"starting {name}")), flags)
    except ReportedError as error:
        console.mistake(_words(body, error.report))
        return ExitCode.STATEMENT_FAILED
    return ExitCode.FINE


def _words(body: Step, report: ErrorReport) -> str:
    """At its place in the file; what is wrong with the name or an option has none there."""
    from jetsql.script import mistake_of

    if report.line == 1 and (report.column or 0) <= len(body.ahead):
        return mistake_words(report)
    return str(mistake_of(body, report))


def _beginning(name: str, options: tuple[str, ...], snapshot: str | None) -> str:
    """CREATE JOB up to its AS. Raises click.UsageError for options that are no pairs."""
    from jetsql.errors import EngineError
    from jetsql.jobs.model.job import quoted_name, quoted_text
    from jetsql.settings import pair

    try:
        given = [pair(text, "-o") for text in options]
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    if snapshot is not None:
        given.append(("initialSnapshotName", snapshot))
    pairs = ", ".join(f"{quoted_text(key)} = {quoted_text(value)}" for key, value in given)
    return f"CREATE JOB {quoted_name(name)} {f'OPTIONS ({pairs}) ' if pairs else ''}AS "
