"""Run statements and files: `jetsql -e` and `jetsql run`.

Errors in the usage and in the files are reported before an engine is found or started.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetsql.cli.connect import check_home, connect, report_start
from jetsql.cli.flags import ExitCode, Flags, load_settings

if TYPE_CHECKING:
    from jetsql.interrupts import Interrupts
    from jetsql.output.console import Console
    from jetsql.output.diagnostics import Diagnostic, Script
    from jetsql.script import PreparedStatement, StatementEngine
    from jetsql.settings.engine_settings import Settings


def execute(flags: Flags, files: Sequence[str]) -> ExitCode:
    """Run the statements and files, and return the exit code. Raises click.UsageError for a wrong usage."""
    from jetsql.output.console import process_console
    from jetsql.output.diagnostics import Diagnostic

    if flags.stay and not flags.embedded:
        raise click.UsageError("--stay needs --embedded: jobs in a background engine keep running without it.")
    scripts = [*_inline_scripts(flags.statements), *read_files(files)]
    settings = load_settings(flags)
    steps = prepare_scripts(flags, scripts)
    console = process_console()
    errors = [step for step in steps if isinstance(step, Diagnostic)]
    if errors and (not flags.keep_going or len(errors) == len(steps)):
        for error in errors if flags.keep_going else errors[:1]:
            console.show_error(str(error))
        return ExitCode.STATEMENT_FAILED
    if not steps and not flags.stay:
        return ExitCode.SUCCESS
    return _run_on_engine(flags, settings, steps, console)


def prepare_scripts(flags: Flags, scripts: Sequence[Script]) -> list[PreparedStatement | Diagnostic]:
    """Return the statements of scripts after substituting variables. Raises click.UsageError for a wrong --set."""
    from jetsql import script

    return script.prepare(scripts, script_variables(flags))


def _run_on_engine(
    flags: Flags, settings: Settings, steps: Sequence[PreparedStatement | Diagnostic], console: Console
) -> ExitCode:
    from jetsql.errors import EngineError
    from jetsql.interrupts import Interrupts

    interrupts = Interrupts(console.print_message, ExitCode.INTERRUPTED)
    interrupts.install()
    try:
        only_existing_home = bool(steps) and all(map(_needs_home, steps))
        engine = open_engine(settings, flags, console, only_existing_home=only_existing_home)
        interrupts.install()
        return _run_and_close(engine, flags, steps, console, interrupts)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except EngineError as error:
        console.print_message(str(error))
    except Exception as error:
        # The outermost frame of the program: reports every error of Spark and the JVM.
        console.print_message(f"The engine failed to start or stop: {error}")
    return ExitCode.NO_ENGINE


def _needs_home(step: PreparedStatement | Diagnostic) -> bool:
    """Return whether a statement shows or changes only what exists, so that it is of no use in a new home."""
    from jetsql.language.statement_effects import is_about_existing
    from jetsql.output.diagnostics import Diagnostic

    return isinstance(step, Diagnostic) or is_about_existing(step.filled.text)


def open_engine(
    settings: Settings, flags: Flags, console: Console, *, only_existing_home: bool = False
) -> StatementEngine:
    """Return the engine of the home, or a new one in this process. Raises EngineError.

    only_existing_home: see `ensure_engine`.
    """
    if not flags.embedded:
        return connect(settings, flags, console, only_existing_home=only_existing_home)
    import jetsql

    check_home(settings, console, only_existing=only_existing_home)
    with report_start(console):
        return jetsql.open(settings=settings)


def _run_and_close(
    engine: StatementEngine,
    flags: Flags,
    steps: Sequence[PreparedStatement | Diagnostic],
    console: Console,
    interrupts: Interrupts,
) -> ExitCode:
    from jetsql.output.result_sink import OutputClosed

    try:
        code = _run_statements(engine, flags, steps, console)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except OutputClosed:
        console.discard_output()
        code = ExitCode.OUTPUT_CLOSED
    finally:
        interrupts.begin_shutdown("stopping the jobs" if flags.embedded else "exiting; the jobs continue to run")
        engine.close()
    return ExitCode.INTERRUPTED if interrupts.is_requested else code


def _run_statements(
    engine: StatementEngine, flags: Flags, steps: Sequence[PreparedStatement | Diagnostic], console: Console
) -> ExitCode:
    from jetsql import script
    from jetsql.output.render import Format

    outcome = script.run(steps, engine, console, Format(flags.form or "table"), flags.keep_going, flags.echo)
    if outcome is script.ScriptOutcome.ENGINE_LOST:
        return ExitCode.NO_ENGINE
    if flags.stay and (outcome is script.ScriptOutcome.SUCCEEDED or flags.keep_going):
        console.print_message("The jobs keep running. Press Ctrl-C to stop them.")
        threading.Event().wait()
    return ExitCode.SUCCESS if outcome is script.ScriptOutcome.SUCCEEDED else ExitCode.STATEMENT_FAILED


def script_variables(flags: Flags) -> dict[str, str]:
    """Return the variables of scripts from flags and environment. Raises click.UsageError for a wrong --set."""
    from jetsql import script

    return script.variables(os.environ, _flag_variables(flags))


def _flag_variables(flags: Flags) -> dict[str, str]:
    from jetsql.errors import EngineError
    from jetsql.language import is_variable_name
    from jetsql.settings.given_settings import pair

    try:
        values = dict(pair(text, "--set") for text in flags.variables)
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    for name in values:
        if not is_variable_name(name):
            raise click.UsageError(
                f"--set: {name!r} is not a valid name. Use letters, digits and _, and no digit at the beginning."
            )
    return values


def _inline_scripts(statements: Iterable[str]) -> list[Script]:
    from jetsql.output.diagnostics import Script

    scripts = [Script("-e", text) for text in statements]
    for script in scripts:
        try:
            script.text.encode()
        except UnicodeEncodeError as error:
            raise click.UsageError("-e: the statements are not valid UTF-8.") from error
    return scripts


def read_files(names: Sequence[str]) -> list[Script]:
    """Return the scripts in the files; `-` is standard input. Raises click.UsageError for an unreadable file."""
    if names.count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    return [_read(name) for name in names]


def _read(name: str) -> Script:
    from jetsql.output.diagnostics import Script

    label = "<stdin>" if name == "-" else name
    try:
        content = _read_bytes(name)
        return Script(label, content.decode("utf-8-sig"))
    except OSError as error:
        raise click.UsageError(f"{label}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise click.UsageError(f"{label}: line {line} is not valid UTF-8.") from error


def _read_bytes(name: str) -> bytes:
    if not name:
        raise click.UsageError("A file name is empty.")
    if name != "-":
        return Path(name).read_bytes()
    if sys.stdin is None:
        raise click.UsageError("Standard input (-) is closed.")
    return sys.stdin.buffer.read()
