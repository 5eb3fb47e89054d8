"""What the shell's own commands do. Each takes the shell and what stands behind its word."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jetsql.errors import JetSQLError
from jetsql.output.diagnostics import Script
from jetsql.script import prepare
from jetsql.settings import config_file
from jetsql.shell.output.watch import wish
from jetsql.shell.repl.editor import edited
from jetsql.shell.session.command_table import advice, command_of, help_of, summary
from jetsql.shell.session.entries import DotCommand
from jetsql.shell.settings import settings_file
from jetsql.shell.settings.shell_settings import shell_value

if TYPE_CHECKING:
    from jetsql.shell.repl.loop import Shell


def run_command(shell: Shell, dot: DotCommand) -> bool:
    """Do what a command says, and tell what is wrong with it; whether it went well."""
    command = command_of(dot.word)
    if command is None:
        shell.console.print_message(f"There is no command {dot.word}. {advice(dot.word)}")
        return False
    try:
        return ACTIONS[command.word](shell, dot.rest) is not False
    except (ValueError, OSError) as error:
        shell.console.print_message(f"{command.word}: {_words(error)}")
    except JetSQLError as error:
        shell.console.print_message(error.explanation)
    return False


def _words(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _help(shell: Shell, rest: str) -> bool | None:
    if not rest:
        shell.tell([*summary(), "", "Statements of SQL need no dot and end with a semicolon."])
        return None
    word = "." + rest.split()[0].lstrip(".")
    command = command_of(word)
    if command is None:
        shell.console.print_message(f"There is no command {word}. {advice(word)}")
        return False
    shell.tell(help_of(command))
    return None


def _jobs(shell: Shell, rest: str) -> bool:
    quoted = rest.replace("\\", "\\\\").replace("'", "\\'")
    return shell.run_text(f"SHOW ALL JOBS LIKE '{quoted}'" if rest else "SHOW ALL JOBS")


def _read(shell: Shell, rest: str) -> bool:
    if not rest:
        raise ValueError("name the file to read.")
    file = Path(os.path.expanduser(rest.strip("'\"")))  # Path.expanduser raises for a user that there isn't
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8.") from None
    return shell.run_steps(prepare([Script(str(file), text)], shell.variables), ask=False)


def _edit(shell: Shell, rest: str) -> None:
    if rest:
        raise ValueError("it takes no argument: it edits the last statement. Files are run with .read.")
    shell.put(edited(shell.last))


def _save(shell: Shell, rest: str) -> None:
    if not rest:
        raise ValueError("give it a name: .save NAME [STATEMENT].")
    name, *text = rest.split(None, 1)
    kept = text[0] if text else shell.last
    if not kept:
        raise ValueError("there is no statement yet.")
    shell.favourites.save(name, kept)
    shell.console.print_message(f"Saved; .run {name} runs it.")


def _run(shell: Shell, rest: str) -> bool:
    if not rest:
        raise ValueError("say which: .run NAME; .favourites lists them.")
    text = shell.favourites.text(rest)
    shell.tell([text.rstrip()])
    return shell.run_text(text)


def _favourites(shell: Shell, rest: str) -> None:
    names = shell.favourites.names()
    if not names:
        shell.console.print_message("Nothing is kept yet: .save NAME keeps the last statement.")
    size = max(map(len, names), default=0)
    shell.tell([f"{name:<{size}}  {_kept(shell, name)}" for name in names])


def _kept(shell: Shell, name: str) -> str:
    """In one line; what keeps it from being read, when something does."""
    try:
        return " ".join(shell.favourites.text(name).split())
    except (ValueError, OSError) as error:
        return f"-- {_words(error)}"


def _set(shell: Shell, rest: str) -> None:
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    value = value.strip()
    if not name:
        shell.tell(settings_file.listed(shell.settings))
    elif not value:
        known = shell_value(name, getattr(shell.settings, name, ""), ".set")
        assert known is not None
        shell.tell([f"{name} = {settings_file.shown(shell.settings, name)}  {settings_file.EXPLAINED[name]}"])
    else:
        shell.set(name, value.strip("'\""))


def _mode(shell: Shell, rest: str) -> None:
    _set(shell, f"mode {rest}")


def _timing(shell: Shell, rest: str) -> None:
    shell.set("timing", rest or ("off" if shell.settings.timing else "on"))
    shell.console.print_message(f"Timing is {'on' if shell.settings.timing else 'off'}.")


def _output(shell: Shell, rest: str) -> None:
    shell.console.print_message(shell.views.send_to(rest))


def _watch(shell: Shell, rest: str) -> None:
    shell.views.watch(wish(rest))


def _top(shell: Shell, rest: str) -> None:
    if rest:
        raise ValueError("it takes no argument; / in it shows only some of the jobs.")
    shell.views.top()


def _config(shell: Shell, rest: str) -> None:
    file = config_file()
    if settings_file.add_table(file):
        shell.console.print_message(f"Written: {file}. It holds every setting of the shell in a comment.")
    else:
        shell.console.print_message(f"The settings are in {file}.")


def _errors(shell: Shell, rest: str) -> None:
    failure, beside = shell.statements.memory.failure, shell.troubles.details()
    if failure is not None:
        shell.tell([*failure.details(), *beside])
    else:
        shell.tell(beside[1:] or ["There was no error yet."])


def _clear(shell: Shell, rest: str) -> None:
    from prompt_toolkit.shortcuts import clear

    clear()


def _quit(shell: Shell, rest: str) -> None:
    shell.leave()


ACTIONS: Final[Mapping[str, Callable[[Shell, str], bool | None]]] = {
    ".help": _help,
    ".jobs": _jobs,
    ".read": _read,
    ".edit": _edit,
    ".save": _save,
    ".run": _run,
    ".favourites": _favourites,
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
