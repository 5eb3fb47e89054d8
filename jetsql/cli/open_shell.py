"""`jetsql` without arguments: open the shell on a terminal, otherwise run the statements from standard input."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from jetsql.cli.connect import connect, remote_url
from jetsql.cli.flags import ExitCode, Flags, load_settings
from jetsql.cli.run_scripts import execute, script_variables

if TYPE_CHECKING:
    from jetsql.client.background_connection import BackgroundStartupReporter
    from jetsql.client.engine_client import EngineClient
    from jetsql.shell.settings.shell_settings import ShellSettings

_NEEDS_TERMINAL = (
    "The shell needs a terminal, and standard output is not one. Use `jetsql -e` or `jetsql run` for output to a file "
    "or a pipe."
)


def open_shell(flags: Flags) -> ExitCode:
    """Run the shell, or the statements from standard input. Raises click.UsageError for a wrong call."""
    if not _is_terminal(sys.stdin):
        return execute(flags, ("-",))
    if not _is_terminal(sys.stdout):
        raise click.UsageError(_NEEDS_TERMINAL)
    for name, is_given in (
        *(("--embedded", flags.embedded), ("--stay", flags.stay)),
        *(("--continue", flags.keep_going), ("--echo", flags.echo)),
    ):
        if is_given:
            raise click.UsageError(f"{name} does not apply to the shell. Use it with -e or `jetsql run`.")
    return _run_shell(flags)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _run_shell(flags: Flags) -> ExitCode:
    # Errors in the settings and the URL are reported before the prompt appears.
    settings, is_local = load_settings(flags), remote_url(flags) is None
    shell_settings, values = _shell_settings(flags), script_variables(flags)

    def connect_engine(progress: BackgroundStartupReporter) -> EngineClient:
        from jetsql.errors import EngineError

        try:
            return connect(settings, flags if progress.start_engine else replace(flags, no_start=True), progress)
        except click.UsageError as error:  # raised when the shell is already open
            raise EngineError("INVALID_SETTING", error.message) from error

    import platformdirs

    from jetsql.errors import EngineError
    from jetsql.output.console import process_console
    from jetsql.output.result_sink import OutputClosed
    from jetsql.shell.repl.loop import Shell

    console = process_console()
    history = Path(platformdirs.user_state_path("jetsql", appauthor=False)) / "history"
    try:
        shell = Shell(connect_engine, console, shell_settings, values, history, is_local)
        return ExitCode.SUCCESS if shell.run() else ExitCode.INTERRUPTED
    except OutputClosed:
        console.discard_output()
        return ExitCode.OUTPUT_CLOSED
    except EngineError as error:
        raise click.UsageError(error.explanation) from error


def _shell_settings(flags: Flags) -> ShellSettings:
    from jetsql.errors import EngineError
    from jetsql.shell.settings.shell_settings import load_shell_settings

    try:
        loaded = load_shell_settings()
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    return replace(loaded, mode=flags.form) if flags.form else loaded
