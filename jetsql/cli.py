"""The command line: flags, exit codes, and the order in which things happen.

Everything that can be wrong with the call or the files is found before an engine is started, since that takes seconds.
Results go to standard output, all else to standard error. Tables are the default for pipes too: the same call shows
the same wherever its output goes, and programs ask for csv or json by name. This module imports only click, so that
`--help` and `--version` answer at once.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetsql.version import VERSION

if TYPE_CHECKING:
    from jetsql.console import Console
    from jetsql.interrupts import Interrupts
    from jetsql.mistakes import Mistake, Script
    from jetsql.script import Engine, Step
    from jetsql.settings import Settings


class ExitCode(IntEnum):
    """What the process ends with."""

    FINE = 0
    STATEMENT_FAILED = 1
    PROBLEMS_FOUND = 1
    USAGE = 2
    NO_ENGINE = 3
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """Whoever read the output (`| head`) stopped reading; what was not run by then was not run. 128 + SIGPIPE."""


@dataclass(frozen=True)
class Flags:
    """What was given on the command line."""

    statements: tuple[str, ...] = ()
    home: str | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    form: str | None = None
    variables: tuple[str, ...] = ()
    keep_going: bool = False
    stay: bool = False

    def under(self, outer: Flags) -> Flags:
        """These flags with those that stand before the command's name; where both say something, these hold."""
        return Flags(
            statements=outer.statements + self.statements,
            home=self.home if self.home is not None else outer.home,
            master=self.master if self.master is not None else outer.master,
            conf=outer.conf + self.conf,
            form=self.form or outer.form,
            variables=outer.variables + self.variables,
            keep_going=self.keep_going or outer.keep_going,
            stay=self.stay or outer.stay,
        )


HOME_OPTION = click.option(
    "--home", metavar="DIR", help="The engine's folder [JETSQL_HOME; else the platform's data folder]."
)
FORMAT_OPTION = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "vertical", "csv", "json"]),
    help="How results are shown [table; check: text]. csv has a header, json is one object a line.",
)
OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("-e", "statements", multiple=True, metavar="STATEMENTS", help="Run these statements."),
    HOME_OPTION,
    click.option("--master", metavar="URL", help="Spark's master [JETSQL_MASTER; else local[*]]."),
    click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; may be given often."),
    FORMAT_OPTION,
    click.option(
        "--set",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable of the scripts, written ${NAME} there; may be given often. JETSQL_VAR_NAME in the environment "
        "sets one too.",
    ),
    click.option("--continue", "keep_going", is_flag=True, help="Go on after a statement that failed."),
    click.option("--stay", is_flag=True, help="When the statements are done, keep the jobs running until Ctrl-C."),
)


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


class Commands(click.Group):
    """The commands; a file in a command's place gets told how files are run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and (args[0].endswith(".sql") or os.path.exists(args[0])):
            raise click.UsageError(f"Files are run with: jetsql run {args[0]}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@with_options
@click.version_option(VERSION, "--version", message="jetsql %(version)s")
@click.pass_context
def cli(context: click.Context, /, **given: Any) -> None:
    """Streaming jobs on Apache Spark with SQL alone.

    \b
    Examples:
      jetsql -e "SHOW JOBS"
      jetsql run jobs.sql
      jetsql run --stay --home ./engine --set day=2013-01-01 jobs.sql
      jetsql --format csv -e "SELECT * FROM delays" > delays.csv
      jetsql check

    Jobs belong to a home folder. When the last statement is done the process ends: its jobs are stopped gracefully
    and go on with the next start on that home. With --stay they keep running.

    Exit codes: 0 fine, 1 a statement failed or check found problems, 2 wrong usage, 3 the engine could not start or go
    on (no Java, bad master, home in use), 130 interrupted (Ctrl-C, SIGTERM), 141 nobody read the output any more.
    """
    flags = Flags(**given)
    if context.invoked_subcommand is not None:
        context.obj = flags
    elif flags.statements:
        context.exit(execute(flags, ()))
    else:
        click.echo(context.get_help(), err=True)
        context.exit(ExitCode.USAGE)


@cli.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@with_options
@click.pass_context
def run(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Run the statements in files of SQL, one after the other; - reads standard input.

    \b
    Examples:
      jetsql run setup.sql jobs.sql
      echo "SHOW ALL JOBS" | jetsql run -
      jetsql run --continue --format json checks.sql

    The first statement that fails ends the run (--continue goes on). Mistakes read FILE:LINE:COLUMN: [CONDITION]
    message. In a script ${name} and ${name:-default} stand for variables; $${ is a plain ${.
    """
    flags = Flags(**given).under(context.obj)
    if files and flags.statements:
        raise click.UsageError("Give either files or -e, not both.", context)
    if not files and not flags.statements and not flags.stay:
        raise click.UsageError(
            "Name the files to run, or - for standard input. --stay alone keeps a home's jobs running.", context
        )
    context.exit(execute(flags, files))


@cli.command()
@HOME_OPTION
@FORMAT_OPTION
@click.pass_context
def check(context: click.Context, /, **given: Any) -> None:
    """Hold a home's store against its files, and say what to do where they differ.

    \b
    Examples:
      jetsql check
      jetsql check --home ./engine --format json

    Reads only, and needs neither Java nor a stopped engine. It looks at the store, at the checkpoint of each job and
    snapshot, at rows on their way into tables, at files that belong to nothing, and at the disk. Each finding says how
    bad it is (error, warning, note), what, where, and what to do; with --format it is a row of a result. It exits with
    1 when there is an error or a warning.
    """
    flags = Flags(**given).under(context.obj)
    if flags.statements:
        raise click.UsageError("check runs no statements.", context)
    context.exit(_check(flags))


def _check(flags: Flags) -> ExitCode:
    from jetsql.console import process_console
    from jetsql.render import Format, lines
    from jetsql.script import SurfaceLost
    from jetsql.service import check, check_report

    report = check.check(_settings(flags).home)
    console = process_console()
    rows = lines(check_report.result(report), Format(flags.form)) if flags.form else check_report.words(report)
    try:
        for line in rows:
            console.result(line)
        console.flush()
    except SurfaceLost:
        console.give_up()
        return ExitCode.OUTPUT_CLOSED
    return ExitCode.FINE if report.is_well else ExitCode.PROBLEMS_FOUND


def execute(flags: Flags, files: Sequence[str]) -> ExitCode:
    """Run everything and say what to exit with. Raises click.UsageError for what is wrong with the call."""
    from jetsql import script
    from jetsql.console import process_console
    from jetsql.mistakes import Mistake

    scripts = [*_given(flags.statements), *read_files(files)]
    settings = _settings(flags)
    values = script.variables(os.environ, _variables(flags))
    steps = script.prepare(scripts, values)
    console = process_console()
    broken = [step for step in steps if isinstance(step, Mistake)]
    if broken and (not flags.keep_going or len(broken) == len(steps)):
        for mistake in broken if flags.keep_going else broken[:1]:
            console.mistake(str(mistake))
        return ExitCode.STATEMENT_FAILED
    if not steps and not flags.stay:
        return ExitCode.FINE
    return _with_engine(flags, settings, steps, console)


def _with_engine(flags: Flags, settings: Settings, steps: Sequence[Step | Mistake], console: Console) -> ExitCode:
    from jetsql.console import LONG_SECONDS
    from jetsql.errors import EngineError
    from jetsql.interrupts import Interrupts

    interrupts = Interrupts(console.say, ExitCode.INTERRUPTED)
    interrupts.install()
    try:
        with console.busy("starting the engine", 0.0 if console.terminal else LONG_SECONDS):
            engine = open_engine(settings)
        interrupts.install()
        return _run_and_close(engine, flags, steps, console, interrupts)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except EngineError as error:
        console.say(str(error))
    except Exception as error:
        # The outermost frame of the program: whatever Spark or the JVM raise while they start or stop.
        console.say(f"The engine could not start or stop as it should: {error}")
    return ExitCode.NO_ENGINE


def open_engine(settings: Settings) -> Engine:
    """Start an engine in this process. Raises EngineError."""
    import jetsql

    return jetsql.open(settings=settings)


def _run_and_close(
    engine: Engine, flags: Flags, steps: Sequence[Step | Mistake], console: Console, interrupts: Interrupts
) -> ExitCode:
    from jetsql.script import SurfaceLost

    try:
        code = _run_steps(engine, flags, steps, console)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except SurfaceLost:
        console.give_up()
        code = ExitCode.OUTPUT_CLOSED
    finally:
        interrupts.closing()
        engine.close()
    return ExitCode.INTERRUPTED if interrupts.requested else code


def _run_steps(engine: Engine, flags: Flags, steps: Sequence[Step | Mistake], console: Console) -> ExitCode:
    from jetsql import script
    from jetsql.render import Format

    outcome = script.run(steps, engine, console, Format(flags.form or "table"), flags.keep_going)
    if outcome is script.Outcome.ENGINE_LOST:
        return ExitCode.NO_ENGINE
    if flags.stay and (outcome is script.Outcome.FINE or flags.keep_going):
        console.say("the jobs keep running; Ctrl-C stops them")
        threading.Event().wait()
    return ExitCode.FINE if outcome is script.Outcome.FINE else ExitCode.STATEMENT_FAILED


def _settings(flags: Flags) -> Settings:
    from jetsql import settings
    from jetsql.errors import EngineError

    try:
        conf = dict(settings.pair(text, "--conf") for text in flags.conf)
        return settings.load(home=flags.home, master=flags.master, conf=conf)
    except EngineError as error:
        # Nothing was started yet: what is wrong is how we were called.
        raise click.UsageError(error.explanation) from error


def _variables(flags: Flags) -> dict[str, str]:
    from jetsql.errors import EngineError
    from jetsql.language import is_variable_name
    from jetsql.settings import pair

    try:
        values = dict(pair(text, "--set") for text in flags.variables)
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    for name in values:
        if not is_variable_name(name):
            raise click.UsageError(f"--set: {name!r} is no name: letters, digits and _, and no digit at the beginning.")
    return values


def _given(statements: Iterable[str]) -> list[Script]:
    from jetsql.mistakes import Script

    scripts = [Script("-e", text) for text in statements]
    for script in scripts:
        try:
            script.text.encode()
        except UnicodeEncodeError as error:
            raise click.UsageError("-e: the statements are not UTF-8.") from error
    return scripts


def read_files(names: Sequence[str]) -> list[Script]:
    """The files as scripts, `-` being standard input. Raises click.UsageError for what can't be read as UTF-8."""
    if names.count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    return [_read(name) for name in names]


def _read(name: str) -> Script:
    from jetsql.mistakes import Script

    shown = "<stdin>" if name == "-" else name
    try:
        content = _content(name)
        return Script(shown, content.decode("utf-8-sig"))
    except OSError as error:
        raise click.UsageError(f"{shown}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise click.UsageError(f"{shown}: line {line} is not UTF-8.") from error


def _content(name: str) -> bytes:
    if not name:
        raise click.UsageError("The name of a file is empty.")
    if name != "-":
        return Path(name).read_bytes()
    if sys.stdin is None:
        raise click.UsageError("Standard input (-) is closed.")
    return sys.stdin.buffer.read()


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `jetsql`. Returns its exit code."""
    try:
        code: int | None = cli.main(arguments, prog_name="jetsql", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return code or ExitCode.FINE
