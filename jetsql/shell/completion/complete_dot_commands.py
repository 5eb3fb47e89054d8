"""Complete the shell's own commands, which begin with a dot, and their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Final

from jetsql.shell.completion.candidates import Candidate, CandidateKind
from jetsql.shell.completion.known_names import KnownName, Names
from jetsql.shell.session.command_table import COMMANDS, ArgumentKind, CommandSpec, StatementPosition, find_command
from jetsql.shell.settings.shell_settings import SHELL_CHOICES, SHELL_SPECS, ShellSettings

CompleteFunction = Callable[[str, int, Names], tuple[Candidate, ...]]

_SWITCH_VALUES: Final = (KnownName("on"), KnownName("off"))
# Arguments that extend to the end of the line, and the text before them: seconds, and > or >> before a file.
_TO_LINE_END: Final = {
    ArgumentKind.STATEMENT: re.compile(r"\s*+(?:[\d.]+\s++)?"),
    ArgumentKind.FILE: re.compile(r"\s*+(?:>>?\s*+)?"),
}


def command_candidates(line: str, cursor: int, names: Names, complete: CompleteFunction) -> tuple[Candidate, ...]:
    """Return the candidates in a command line, which begins with the dot.

    complete: completes a statement that is the command's argument.
    """
    word = line[:cursor].split()[0] if line[:cursor].strip() else ""
    if not word or cursor <= len(word):
        return _match(_command_names(), word, 0, CandidateKind.COMMAND) if word else ()
    command = find_command(word)
    if command is None:
        return ()
    argument, start = _argument_of(command, line, len(word), cursor)
    if argument is ArgumentKind.STATEMENT:
        inner = complete(line[start:], cursor - start, names)
        return tuple(replace(each, start=each.start + start) for each in inner)
    return _argument_candidates(argument, line[len(word) : start].strip(), line[start:cursor], start, names)


def argument_at(line: str, cursor: int) -> tuple[ArgumentKind, int] | None:
    """Return the kind of the argument at the cursor and where it begins, or None."""
    word = line[:cursor].split()[0] if line[:cursor].strip() else ""
    command = find_command(word) if word.startswith(".") and cursor > len(word) else None
    return _argument_of(command, line, len(word), cursor) if command else None


def _argument_of(command: CommandSpec, line: str, at: int, cursor: int) -> tuple[ArgumentKind, int]:
    """Return the kind of the argument at the cursor and where it begins."""
    words = [at + word.start() for word in re.finditer(r"\S+", line[at:cursor])]
    argument = command.argument
    if argument in _TO_LINE_END:
        return argument, _TO_LINE_END[argument].match(line, at, cursor).end()  # type: ignore[union-attr]
    start = cursor if not words or line[cursor - 1].isspace() else words[-1]
    if not words or start == words[0]:
        return argument, start
    if argument is ArgumentKind.SETTING and (len(words) == 1 or start == words[1]):
        return argument, start
    if command.statement is StatementPosition.SECOND:
        return ArgumentKind.STATEMENT, words[1] if len(words) > 1 else cursor
    return ArgumentKind.NONE, cursor


def _argument_candidates(
    argument: ArgumentKind, before: str, written: str, start: int, names: Names
) -> tuple[Candidate, ...]:
    match argument:
        case ArgumentKind.COMMAND:
            words = [
                KnownName(each.name[0 if written.startswith(".") else 1 :], each.description)
                for each in _command_names()
            ]
            return _match(words, written, start, CandidateKind.COMMAND)
        case ArgumentKind.FAVOURITE:
            return _match(names.favourites, written, start, CandidateKind.FAVOURITE)
        case ArgumentKind.MODE:
            return _match(_setting_values("mode"), written, start, CandidateKind.VALUE)
        case ArgumentKind.SWITCH:
            return _match(_SWITCH_VALUES, written, start, CandidateKind.VALUE)
        case ArgumentKind.SETTING if before:
            return _match(_setting_values(before.rstrip(" =")), written, start, CandidateKind.VALUE)
        case ArgumentKind.SETTING:
            known = [KnownName(name, spec.description) for name, spec in SHELL_SPECS.items()]
            return _match(known, written, start, CandidateKind.SETTING)
    return ()


def _command_names() -> list[KnownName]:
    return [KnownName(command.word, command.summary) for command in COMMANDS]


def _setting_values(setting: str) -> tuple[KnownName, ...]:
    """Return the fixed values of a setting."""
    if setting in SHELL_CHOICES:
        return tuple(KnownName(word) for word in SHELL_CHOICES[setting])
    defaults = {each.name: each.default for each in fields(ShellSettings)}
    return _SWITCH_VALUES if isinstance(defaults.get(setting), bool) else ()


def _match(known: Iterable[KnownName], written: str, start: int, kind: CandidateKind) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(each.name, start, each.name, kind, each.description)
        for each in known
        if each.name[: len(written)].lower() == written.lower()
    )
