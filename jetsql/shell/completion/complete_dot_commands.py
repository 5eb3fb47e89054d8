"""Completion of the shell's own commands, those with a dot: their words and what stands behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Final

from jetsql.shell.completion.candidates import Candidate, Sort
from jetsql.shell.completion.known_names import Known, Names
from jetsql.shell.session.command_table import COMMANDS, Argument, Command, StatementAt, command_of
from jetsql.shell.settings.settings_file import EXPLAINED
from jetsql.shell.settings.shell_settings import SHELL_WORDS, ShellSettings

Completion = Callable[[str, int, Names], tuple[Candidate, ...]]

_SWITCH: Final = (Known("on"), Known("off"))
# Arguments that go to the line's end, and what may stand before them: seconds, and whether a file is written anew.
_WHOLE: Final = {
    Argument.STATEMENT: re.compile(r"\s*+(?:[\d.]+\s++)?"),
    Argument.FILE: re.compile(r"\s*+(?:>>?\s*+)?"),
}


def command_candidates(line: str, cursor: int, names: Names, complete: Completion) -> tuple[Candidate, ...]:
    """line: begins with the dot. complete: for the statement that a command takes as its argument."""
    word = line[:cursor].split()[0] if line[:cursor].strip() else ""
    if not word or cursor <= len(word):
        return _matching(_words(), word, 0, Sort.COMMAND) if word else ()
    command = command_of(word)
    if command is None:
        return ()
    argument, start = _argument(command, line, len(word), cursor)
    if argument is Argument.STATEMENT:
        inner = complete(line[start:], cursor - start, names)
        return tuple(replace(each, start=each.start + start) for each in inner)
    return _of_argument(argument, line[len(word) : start].strip(), line[start:cursor], start, names)


def argument_at(line: str, cursor: int) -> tuple[Argument, int] | None:
    """The kind of the argument at the cursor and where it begins; None where there is none."""
    word = line[:cursor].split()[0] if line[:cursor].strip() else ""
    command = command_of(word) if word.startswith(".") and cursor > len(word) else None
    return _argument(command, line, len(word), cursor) if command else None


def _argument(command: Command, line: str, at: int, cursor: int) -> tuple[Argument, int]:
    """What stands at the cursor, and where that begins."""
    words = [at + word.start() for word in re.finditer(r"\S+", line[at:cursor])]
    argument = command.argument
    if argument in _WHOLE:
        return argument, _WHOLE[argument].match(line, at, cursor).end()  # type: ignore[union-attr]
    start = cursor if not words or line[cursor - 1].isspace() else words[-1]
    if not words or start == words[0]:
        return argument, start
    if argument is Argument.SETTING and (len(words) == 1 or start == words[1]):
        return argument, start
    if command.statement is StatementAt.SECOND:
        return Argument.STATEMENT, words[1] if len(words) > 1 else cursor
    return Argument.NONE, cursor


def _of_argument(argument: Argument, before: str, written: str, start: int, names: Names) -> tuple[Candidate, ...]:
    match argument:
        case Argument.COMMAND:
            words = [Known(each.name[0 if written.startswith(".") else 1 :], each.about) for each in _words()]
            return _matching(words, written, start, Sort.COMMAND)
        case Argument.FAVOURITE:
            return _matching(names.favourites, written, start, Sort.FAVOURITE)
        case Argument.MODE:
            return _matching(_values("mode"), written, start, Sort.VALUE)
        case Argument.SWITCH:
            return _matching(_SWITCH, written, start, Sort.VALUE)
        case Argument.SETTING if before:
            return _matching(_values(before.rstrip(" =")), written, start, Sort.VALUE)
        case Argument.SETTING:
            known = [Known(name, about) for name, about in EXPLAINED.items()]
            return _matching(known, written, start, Sort.SETTING)
    return ()


def _words() -> list[Known]:
    return [Known(command.word, command.summary) for command in COMMANDS]


def _values(setting: str) -> tuple[Known, ...]:
    """The fixed values of a setting."""
    if setting in SHELL_WORDS:
        return tuple(Known(word) for word in SHELL_WORDS[setting])
    defaults = {each.name: each.default for each in fields(ShellSettings)}
    return _SWITCH if isinstance(defaults.get(setting), bool) else ()


def _matching(known: Iterable[Known], written: str, start: int, sort: Sort) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(each.name, start, each.name, sort, each.about)
        for each in known
        if each.name[: len(written)].lower() == written.lower()
    )
