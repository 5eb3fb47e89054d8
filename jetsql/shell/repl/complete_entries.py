"""Complete what is entered at the prompt: the shell's commands, which begin with a dot, and statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Final

from jetsql.completion.candidates import Candidate, CandidateKind
from jetsql.completion.complete import complete_at, read_cursor
from jetsql.completion.known_names import KnownName, Names
from jetsql.completion.needed_names import NameNeed, names_needed_at
from jetsql.shell.input.command_table import COMMANDS, ArgumentKind, CommandSpec, find_command
from jetsql.shell.input.input_parsing import command_end
from jetsql.shell.settings.shell_settings import SHELL_CHOICES, SHELL_SPECS, ShellSettings

_SWITCH_VALUES: Final = (KnownName("on"), KnownName("off"))
# Arguments that extend to the end of the line, and the text before them: seconds, and > or >> before a file.
_TO_LINE_END: Final = {
    ArgumentKind.STATEMENT: re.compile(r"\s*+(?:[\d.]+\s++)?"),
    ArgumentKind.FILE: re.compile(r"\s*+(?:>>?\s*+)?"),
}


def complete_entry(text: str, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """Return the candidates at `cursor`, an offset of `text`, the most relevant first."""
    span = command_at(text, cursor)
    if span is None:
        return complete_at(read_cursor(text, cursor, command_end), cursor, names)
    candidates = _command_candidates(text[span], cursor - span.start, names)
    return tuple(replace(each, start=each.start + span.start) for each in candidates)


def needed_by_entry(text: str, cursor: int, names: Names) -> tuple[NameNeed, ...]:
    """Return the names that completion at the cursor needs, see `needed_names`."""
    span = command_at(text, cursor)
    if span is None:
        return names_needed_at(read_cursor(text, cursor, command_end), cursor, names)
    argument = argument_at(text[span], cursor - span.start)
    if argument is None or argument[0] is not ArgumentKind.STATEMENT:
        return ()
    start = span.start + argument[1]
    return needed_by_entry(text[start : span.stop], cursor - start, names)


def command_at(text: str, cursor: int) -> slice | None:
    """Return the span of the command that contains the cursor; None in a statement."""
    start = read_cursor(text, cursor, command_end).command
    return None if start is None else slice(start, command_end(text, start))


def _command_candidates(line: str, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """Return the candidates in a command line, which begins with the dot."""
    word = line[:cursor].split()[0] if line[:cursor].strip() else ""
    if not word or cursor <= len(word):
        return _match(_command_names(), word, 0, CandidateKind.COMMAND) if word else ()
    command = find_command(word)
    if command is None:
        return ()
    argument, start = _argument_of(command, line, len(word), cursor)
    if argument is ArgumentKind.STATEMENT:
        inner = complete_entry(line[start:], cursor - start, names)
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
