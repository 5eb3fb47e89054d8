"""Completion of the shell's own commands, those with a dot: their names and their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from jetsql.shell.candidates import Candidate, Sort, name_text
from jetsql.shell.names import Known, Names


class Argument(Enum):
    """What an argument of a command is."""

    FILE = "file"
    STATEMENT = "statement"
    JOB = "job"
    FAVOURITE = "favourite"
    SETTING = "setting"
    COMMAND = "command"
    WORD = "word"  # one of the command's own
    ANY = "anything"


@dataclass(frozen=True)
class Command:
    """A command as completion knows it. name: with its dot. words: what a WORD can be, each with what it means."""

    name: str
    about: str = ""
    arguments: tuple[Argument, ...] = ()
    words: tuple[Known, ...] = ()


Completion = Callable[[str, int, Names], tuple[Candidate, ...]]


def is_command(text: str) -> bool:
    """Whether a text is a command of the shell and no SQL."""
    return text.lstrip()[:1] == "." and not text.lstrip()[1:2].isdigit()


def command_candidates(
    text: str, cursor: int, names: Names, commands: Sequence[Command], complete: Completion
) -> tuple[Candidate, ...]:
    """complete: for the statement that a command takes as its argument."""
    begin = len(text) - len(text.lstrip())
    written = re.match(r"\S*", text[begin:cursor])
    name = written.group() if written else ""
    if cursor <= begin + len(name):
        sort, known = Sort.COMMAND, [Known(command.name, command.about) for command in commands]
        return _matching(known, name, begin, sort) if cursor > begin else ()
    command = next((command for command in commands if command.name == name.lower()), None)
    if command is None:
        return ()
    at = begin + len(name)
    argument, start = _argument(command, text, at, cursor)
    if argument is Argument.STATEMENT:
        inner = complete(text[start:], cursor - start, names)
        return tuple(replace(each, start=each.start + start) for each in inner)
    return _of_argument(command, argument, text[start:cursor], start, names, commands)


def argument_at(text: str, cursor: int, commands: Sequence[Command]) -> tuple[Argument, int] | None:
    """The kind of the argument at the cursor and where it begins; None where there is none."""
    begin = len(text) - len(text.lstrip())
    name = (text[begin:cursor].split() or [""])[0]
    command = next((command for command in commands if command.name == name.lower()), None)
    if not is_command(text) or command is None or cursor <= begin + len(name):
        return None
    found = _argument(command, text, begin + len(name), cursor)
    return found if found[0] is not Argument.ANY else None


def _argument(command: Command, text: str, at: int, cursor: int) -> tuple[Argument, int]:
    """Which argument the cursor stands in, and where that begins."""
    starts = [at + word.start() for word in re.finditer(r"`[^`]*`?|\S+", text[at:cursor])]
    if not starts or text[cursor - 1].isspace():
        starts.append(cursor)
    arguments = command.arguments
    if Argument.STATEMENT in arguments and len(starts) > arguments.index(Argument.STATEMENT):
        return Argument.STATEMENT, starts[arguments.index(Argument.STATEMENT)]
    if len(starts) > len(arguments):
        return Argument.ANY, cursor
    return arguments[len(starts) - 1], starts[-1]


def _of_argument(
    command: Command, argument: Argument, written: str, start: int, names: Names, commands: Sequence[Command]
) -> tuple[Candidate, ...]:
    match argument:
        case Argument.WORD:
            return _matching(command.words, written, start, Sort.VALUE)
        case Argument.FAVOURITE:
            return _matching(names.favourites, written, start, Sort.FAVOURITE)
        case Argument.SETTING:
            return _matching(names.settings, written, start, Sort.SETTING)
        case Argument.COMMAND:
            known = [Known(each.name, each.about) for each in commands]
            bare = [Known(each.name.removeprefix("."), each.about) for each in commands]
            return _matching(known if written.startswith(".") else bare, written, start, Sort.COMMAND)
        case Argument.JOB:
            jobs = [Known(job.name, job.status.value) for job in names.jobs if not job.status.final]
            found = _matching(jobs, written.strip("`"), start, Sort.JOB)
            return tuple(replace(each, text=name_text(each.text)) for each in found)
    return ()


def _matching(known: Sequence[Known], written: str, start: int, sort: Sort) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(each.name, start, each.name, sort, each.about)
        for each in known
        if each.name[: len(written)].lower() == written.lower()
    )
