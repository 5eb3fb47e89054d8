"""Running statements and files: `jetsql -e` and `jetsql run`.

Everything that can be wrong with the call or the files is found before an engine is looked for or started.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetsql.cli.connect import reach, starting
from jetsql.cli.flags import ExitCode, Flags, settings_of

if TYPE_CHECKING:
    from jetsql.interrupts import Interrupts
    from jetsql.output.console import Console
    from jetsql.output.diagnostics import Diagnostic, Script
    from jetsql.script import Engine, Step
    from jetsql.settings import Settings


def execute(flags: Flags, files: Sequence[str]) -> ExitCode:
    """Run everything and say what to exit with. Raises click.UsageError for what is wrong with the call."""
    from jetsql.output.console import process_console
    from jetsql.output.diagnostics import Diagnostic

    if flags.stay and not flags.embedded:
        raise click.UsageError("--stay goes with --embedded: in an engine of their own the jobs keep running anyway.")
    scripts = [*_given(flags.statements), *read_files(files)]
    settings = settings_of(flags)
    steps = prepared(flags, scripts)
    console = process_console()
    broken = [step for step in steps if isinstance(step, Diagnostic)]
    if broken and (not flags.keep_going or len(broken) == len(steps)):
        for mistake in broken if flags.keep_going else broken[:1]:
            console.mistake(str(mistake))
        return ExitCode.STATEMENT_FAILED
    if not steps and not flags.stay:
        return ExitCode.FINE
    return _with_engine(flags, settings, steps, console)


def prepared(flags: Flags, scripts: Sequence[Script]) -> list[Step | Diagnostic]:
    """The statements of scripts with their variables filled in. Raises click.UsageError for a bad --set."""
    from jetsql import script

    return script.prepare(scripts, variables_of(flags))


def _with_engine(flags: Flags, settings: Settings, steps: Sequence[Step | Diagnostic], console: Console) -> ExitCode:
    from jetsql.errors import EngineError
    from jetsql.interrupts import Interrupts

    interrupts = Interrupts(console.say, ExitCode.INTERRUPTED)
    interrupts.install()
    try:
        engine = open_engine(settings, flags, console)
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


def open_engine(settings: Settings, flags: Flags, console: Console) -> Engine:
    """The engine that statements run on: that of the home, or one in this process. Raises EngineError."""
    if not flags.embedded:
        return reach(settings, flags, console)
    import jetsql

    with starting(console):
        return jetsql.open(settings=settings)


def _run_and_close(
    engine: Engine, flags: Flags, steps: Sequence[Step | Diagnostic], console: Console, interrupts: Interrupts
) -> ExitCode:
    from jetsql.output.result_sink import SurfaceLost

    try:
        code = _run_steps(engine, flags, steps, console)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except SurfaceLost:
        console.give_up()
        code = ExitCode.OUTPUT_CLOSED
    finally:
        interrupts.closing("stopping the jobs" if flags.embedded else "leaving; the jobs go on")
        engine.close()
    return ExitCode.INTERRUPTED if interrupts.requested else code


def _run_steps(engine: Engine, flags: Flags, steps: Sequence[Step | Diagnostic], console: Console) -> ExitCode:
    from jetsql import script
    from jetsql.output.render import Format

    outcome = script.run(steps, engine, console, Format(flags.form or "table"), flags.keep_going)
    if outcome is script.Outcome.ENGINE_LOST:
        return ExitCode.NO_ENGINE
    if flags.stay and (outcome is script.Outcome.FINE or flags.keep_going):
        console.say("the jobs keep running; Ctrl-C stops them")
        threading.Event().wait()
    return ExitCode.FINE if outcome is script.Outcome.FINE else ExitCode.STATEMENT_FAILED


def variables_of(flags: Flags) -> dict[str, str]:
    """The variables of scripts, from the flags and the environment. Raises click.UsageError for a bad --set."""
    from jetsql import script

    return script.variables(os.environ, _variables(flags))


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
    from jetsql.output.diagnostics import Script

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
    from jetsql.output.diagnostics import Script

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
