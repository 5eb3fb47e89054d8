"""The actions of the shell's own commands. Each takes the shell and the command's argument."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jetsql.errors import JetSQLError
from jetsql.output.diagnostics import Script
from jetsql.script import prepare
from jetsql.settings.given_settings import config_file
from jetsql.shell.input.command_table import command_summaries, find_command, help_lines, suggest_command
from jetsql.shell.input.input_parsing import DotCommand
from jetsql.shell.output.watch import parse_watch
from jetsql.shell.settings import settings_file
from jetsql.shell.settings.shell_settings import SHELL_SPECS, parse_shell_value

if TYPE_CHECKING:
    from jetsql.shell.repl.loop import Shell


def run_command(shell: Shell, dot: DotCommand) -> bool:
    """Run a command, and print its error if it fails. Return whether it succeeded."""
    command = find_command(dot.word)
    if command is None:
        shell.console.print_message(f"There is no command {dot.word}. {suggest_command(dot.word)}")
        return False
    try:
        return ACTIONS[command.word](shell, dot.argument) is not False
    except (ValueError, OSError) as error:
        shell.console.print_message(f"{command.word}: {_error_text(error)}")
    except JetSQLError as error:
        shell.console.print_message(error.explanation)
    return False


def _error_text(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _help(shell: Shell, argument: str) -> bool | None:
    if not argument:
        shell.print_lines([*command_summaries(), "", "SQL statements need no dot and end with a semicolon."])
        return None
    word = "." + argument.split()[0].lstrip(".")
    command = find_command(word)
    if command is None:
        shell.console.print_message(f"There is no command {word}. {suggest_command(word)}")
        return False
    shell.print_lines(help_lines(command))
    return None


def _jobs(shell: Shell, argument: str) -> bool:
    quoted = argument.replace("\\", "\\\\").replace("'", "\\'")
    return shell.run_script(f"SHOW ALL JOBS LIKE '{quoted}'" if argument else "SHOW ALL JOBS")


def _read(shell: Shell, argument: str) -> bool:
    if not argument:
        raise ValueError("it needs a file: .read FILE.")
    file = Path(os.path.expanduser(argument.strip("'\"")))  # unlike Path.expanduser, it accepts an unknown user
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8.") from None
    return shell.run_statements(prepare([Script(str(file), text)], shell.variables), ask=False)


def _edit(shell: Shell, argument: str) -> None:
    if argument:
        raise ValueError("it takes no argument; it edits the last statement. To run a file, enter .read FILE.")
    shell.set_next_input(_edit_text(shell.last_statement))


def _edit_text(text: str) -> str:
    """Return the text after the user has edited it with $VISUAL, $EDITOR or vi. Raises OSError, ValueError."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="jetsql-") as folder:  # private
        file = Path(folder) / "statement.sql"
        file.write_text(text, encoding="utf-8")
        with _ignoring_interrupts():
            code = subprocess.run([*shlex.split(command), str(file)], check=False).returncode
        if code:
            raise ValueError(
                f"the editor ({command}) failed with exit code {code}. Set $VISUAL or $EDITOR to use another."
            )
        return file.read_text(encoding="utf-8").rstrip("\n")


def _format(shell: Shell, argument: str) -> None:
    from jetsql.sqlfiles.formatting.format_script import format_script

    statement = argument or shell.last_statement
    if not statement:
        raise ValueError("there is no last statement yet.")
    formatted = format_script(Script("", statement))
    for note in formatted.notes:
        shell.console.print_message(note.message)
    shell.set_next_input(formatted.text.rstrip("\n"))


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, which is for the editor. It uses a handler, because the editor would inherit SIG_IGN."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _set(shell: Shell, argument: str) -> None:
    name, _, value = argument.replace("=", " ", 1).partition(" ")
    value = value.strip()
    if not name:
        shell.print_lines(settings_file.format_all(shell.settings))
    elif not value:
        known = parse_shell_value(name, getattr(shell.settings, name, ""), ".set")
        assert known is not None
        shell.print_lines(
            [f"{name} = {settings_file.format_value(shell.settings, name)}  {SHELL_SPECS[name].description}"]
        )
    else:
        shell.set_setting(name, value.strip("'\""))


def _mode(shell: Shell, argument: str) -> None:
    _set(shell, f"mode {argument}")


def _timing(shell: Shell, argument: str) -> None:
    shell.set_setting("timing", argument or ("off" if shell.settings.timing else "on"))
    shell.console.print_message(f"Timing is {'on' if shell.settings.timing else 'off'}.")


def _output(shell: Shell, argument: str) -> None:
    shell.console.print_message(shell.views.redirect_output(argument))


def _watch(shell: Shell, argument: str) -> None:
    shell.views.watch(parse_watch(argument))


def _top(shell: Shell, argument: str) -> None:
    if argument:
        raise ValueError("it takes no argument. Press / in it to filter the jobs.")
    shell.views.top()


def _config(shell: Shell, argument: str) -> None:
    file = config_file()
    if settings_file.add_table(file):
        shell.console.print_message(f"Added the table [shell] to {file}, with every setting in a comment.")
    else:
        shell.console.print_message(f"The settings are in {file}.")


def _errors(shell: Shell, argument: str) -> None:
    failure, background = shell.statements.memory.failure, shell.background_errors.details()
    if failure is not None:
        shell.print_lines([*failure.details(), *background])
    else:
        shell.print_lines(background[1:] or ["No error has occurred."])


def _clear(shell: Shell, argument: str) -> None:
    from prompt_toolkit.shortcuts import clear

    clear()


def _quit(shell: Shell, argument: str) -> None:
    shell.request_exit()


ACTIONS: Final[Mapping[str, Callable[[Shell, str], bool | None]]] = {
    ".help": _help,
    ".jobs": _jobs,
    ".read": _read,
    ".edit": _edit,
    ".format": _format,
    ".mode": _mode,
    ".timing": _timing,
    ".output": _output,
    ".watch": _watch,
    ".top": _top,
    ".set": _set,
    ".config": _config,
    ".errors": _errors,
    ".clear": _clear,
    ".quit": _quit,
}
