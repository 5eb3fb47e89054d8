"""Split entered text into statements and commands, which begin with a dot.

A command takes one line and may appear wherever a statement may begin, also in a pasted script. Only a statement that
is a command's argument takes further lines: while it is incomplete, or if they are indented. Statements end with a
semicolon, so Enter can detect that they are complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jetsql.completion.statement_at_cursor import is_open
from jetsql.language import Fragment
from jetsql.language.scripts import fragments
from jetsql.language.tokens import Kind, tokens
from jetsql.shell.input.command_table import ArgumentKind, find_command

# These words alone are never SQL; with more words they may be statements (CLEAR CACHE).
_BARE: Final = re.compile(r"\s*(?:(help)\b([^;\n]*)|(quit|exit|clear|cls))\s*;?\s*", re.IGNORECASE)
_ONE_WORD_ARGUMENTS: Final = (ArgumentKind.NONE, ArgumentKind.COMMAND, ArgumentKind.MODE, ArgumentKind.SWITCH)
COMMAND_MARKS: Final = (".", "\\", "?")
"""The characters that begin a command."""


@dataclass(frozen=True)
class SqlInput:
    """A statement; its offsets refer to the whole text."""

    fragment: Fragment


@dataclass(frozen=True)
class DotCommand:
    """A command."""

    word: str  # as written, with its mark (`.help`); bare words get a dot
    argument: str
    line: int = 1
    start: int = 0  # offset in the whole text
    stop: int = 0  # offset after its end


def parse_entries(text: str) -> list[SqlInput | DotCommand]:
    """Return the statements and commands of a text, in order."""
    bare = _BARE.fullmatch(text)
    if bare is not None:
        return [DotCommand(f".{(bare[1] or bare[3]).lower()}", (bare[2] or "").strip(), stop=len(text))]
    parsed: list[SqlInput | DotCommand] = []
    at, statements = 0, fragments(text)
    while (token := next(tokens(text, at), None)) is not None:
        if token.text == ";":
            at = token.stop
        elif token.text.startswith(COMMAND_MARKS):
            command = _parse_command(text, token.start)
            parsed.append(command)
            at = command.stop
            statements = fragments(text, at)
        else:
            fragment = next(statements)
            parsed.append(SqlInput(fragment))
            at = fragment.start + len(fragment.text)
    return parsed


def is_complete(text: str) -> bool:
    """Return whether a text is complete: no statement, quote or parenthesis is open."""
    return _BARE.fullmatch(text) is not None or not is_open(text, command_end)


def split_entries(text: str) -> list[str]:
    """Return the statements and commands of a text as written, each with the comments before it."""
    stops = [_stop(text, entry) for entry in parse_entries(text)]
    starts = [0, *stops[:-1]]
    stops[-1:] = [len(text)]  # a comment after the last entry belongs to it
    return [text[start:stop].strip() for start, stop in zip(starts, stops, strict=False)]


def _stop(text: str, entry: SqlInput | DotCommand) -> int:
    if isinstance(entry, DotCommand):
        return entry.stop
    stop = entry.fragment.start + len(entry.fragment.text)
    return next(tokens(text, stop)).stop if entry.fragment.terminated else stop  # the semicolon


def command_end(text: str, start: int) -> int:
    """Return the end of the command that begins at `start`, or `start` if there is none."""
    if not text.startswith(COMMAND_MARKS, start):
        return start
    argument = _find_argument(text, start)
    return _line_end(text, start) if argument is None else argument.stop


def is_incomplete_command(text: str) -> bool:
    """Return whether a text is a command whose statement is not complete."""
    start = len(text) - len(text.lstrip())
    argument = _find_argument(text, start) if text.startswith(COMMAND_MARKS, start) else None
    return argument is not None and argument.is_incomplete


def is_command(text: str) -> bool:
    """Return whether a text begins with a command."""
    return text.lstrip().startswith(COMMAND_MARKS) or _BARE.fullmatch(text) is not None


@dataclass(frozen=True)
class _StatementArgument:
    """A statement that is a command's argument."""

    stop: int  # the end of its last line
    is_incomplete: bool


def _find_argument(text: str, start: int) -> _StatementArgument | None:
    """Return the statement argument of the command at `start`, or None if it takes none."""
    before = next(re.compile(r"\S+").finditer(text, start, _line_end(text, start)))
    command = find_command(before.group())
    if command is None or not command.takes_statement:
        return None
    return _read_argument(text, start, before.end())


def _read_argument(text: str, start: int, at: int) -> _StatementArgument:
    stop, depth, comma = _line_end(text, start), 0, False
    for token in tokens(text, at):
        if token.start > stop and not _continues(text, stop, token.start, depth > 0 or comma):
            break
        if token.kind is Kind.OPEN:  # it ends with its line, unless the user is still typing it
            return _StatementArgument(_line_end(text, token.start), is_incomplete=True)
        stop = max(stop, _line_end(text, token.stop - 1))
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        comma = token.text == ","
        if token.text == ";" and depth <= 0:
            break
    return _StatementArgument(stop, is_incomplete=depth > 0 or comma)


def _continues(text: str, stop: int, at: int, is_incomplete: bool) -> bool:
    """Return whether the text after a line's end belongs to the argument."""
    return is_incomplete or (text[stop + 1 : stop + 2].isspace() and not text[stop + 1 : at].count("\n"))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _parse_command(text: str, start: int) -> DotCommand:
    stop = command_end(text, start)
    mark = re.match(r"\.\S*|\\\S*|\?", text[start:stop])
    assert mark is not None
    word = ".help" if mark.group() == "?" else mark.group().rstrip(";")
    rest = text[start + mark.end() : stop].strip()
    command = find_command(word)
    if command is not None and command.argument in _ONE_WORD_ARGUMENTS:
        rest = rest.rstrip("; ")  # users end commands like statements
    return DotCommand(word, rest, text.count("\n", 0, start) + 1, start, stop)


def command_within(fragment: Fragment) -> DotCommand | None:
    """Return the first line of a statement that is a command, or None: the text before it lacks its semicolon."""
    for line_start in re.finditer(r"\n[ \t]*(?=\.[a-z])", fragment.text):
        command = _parse_command(fragment.text, line_start.end())
        if find_command(command.word) is not None:
            return DotCommand(command.word, command.argument, fragment.line + command.line - 1)
    return None
