"""`jetsql` without arguments: the shell on a terminal, else what comes through the pipe."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from jetsql.cli.connect import reach, url_of
from jetsql.cli.flags import ExitCode, Flags, settings_of
from jetsql.cli.run_scripts import execute, variables_of

if TYPE_CHECKING:
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.shell.session.engine_connection import Talk
    from jetsql.shell.settings.shell_settings import ShellSettings

_ALONE = (
    "The shell shows itself on a terminal, and standard output is none. Use `jetsql -e` or `jetsql run` for output "
    "into a file or a pipe."
)


def converse(flags: Flags) -> ExitCode:
    """Raises click.UsageError for what is wrong with the call."""
    if not _is_terminal(sys.stdin):
        return execute(flags, ("-",))
    if not _is_terminal(sys.stdout):
        raise click.UsageError(_ALONE)
    for name, given in (("--embedded", flags.embedded), ("--stay", flags.stay), ("--continue", flags.keep_going)):
        if given:
            raise click.UsageError(f"{name} goes with -e and `jetsql run`, not with the shell.")
    return _shell(flags)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _shell(flags: Flags) -> ExitCode:
    settings, here = settings_of(flags), url_of(flags) is None  # what is wrong is told before there is a prompt
    shell_settings, values = _shell_settings(flags), variables_of(flags)

    def reached(talk: Talk) -> RemoteEngine:
        from jetsql.errors import EngineError

        try:
            return reach(settings, flags if talk.starts else replace(flags, no_start=True), talk)
        except click.UsageError as error:  # which is found out when the shell is there already
            raise EngineError("INVALID_SETTING", error.message) from error

    import platformdirs

    from jetsql.errors import EngineError
    from jetsql.output.console import process_console
    from jetsql.output.result_sink import SurfaceLost
    from jetsql.settings import config_file
    from jetsql.shell.repl.loop import Shell

    console = process_console()
    history = Path(platformdirs.user_state_path("jetsql", appauthor=False)) / "history"
    favourites = config_file().parent / "favourites"
    try:
        shell = Shell(reached, console, shell_settings, values, history, favourites, here)
        return ExitCode.FINE if shell.run() else ExitCode.INTERRUPTED
    except SurfaceLost:
        console.give_up()
        return ExitCode.OUTPUT_CLOSED
    except EngineError as error:
        raise click.UsageError(error.explanation) from error


def _shell_settings(flags: Flags) -> ShellSettings:
    from jetsql.errors import EngineError
    from jetsql.shell.settings.shell_settings import load_shell

    try:
        loaded = load_shell()
    except EngineError as error:
        raise click.UsageError(error.explanation) from error
    return replace(loaded, mode=flags.form) if flags.form else loaded
