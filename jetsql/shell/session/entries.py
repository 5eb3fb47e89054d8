"""What somebody typed or pasted -> the things to do, in their order: statements, and commands that begin with a dot.

A command is one line and may stand wherever a statement may begin, so that a pasted script can hold some; only a
statement that is a command's argument goes on where it can't have ended, or in lines that are indented. Statements need
their semicolon: it is what tells Enter that nothing is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jetsql.language import Fragment, is_open
from jetsql.language.scripts import fragments
from jetsql.language.tokens import Kind, tokens
from jetsql.shell.session.command_table import Argument, StatementAt, command_of

# Nobody who types these alone means SQL. With words behind them it is a statement: CLEAR CACHE.
_BARE: Final = re.compile(r"\s*(?:(help)\b([^;\n]*)|(quit|exit|clear|cls))\s*;?\s*", re.IGNORECASE)
_WORDS: Final = (Argument.NONE, Argument.COMMAND, Argument.MODE, Argument.SWITCH)
MARKS: Final = (".", "\\", "?")
"""A command begins with one of these."""


@dataclass(frozen=True)
class Sql:
    """One statement; its places count in the whole text."""

    fragment: Fragment


@dataclass(frozen=True)
class DotCommand:
    """A command. word: as written, with its mark (`.help`); words without one got a dot. rest: what stands behind.
    start, stop: its place in the whole text."""

    word: str
    rest: str
    line: int = 1
    start: int = 0
    stop: int = 0


def entries(text: str) -> list[Sql | DotCommand]:
    """Everything in a text, in order."""
    bare = _BARE.fullmatch(text)
    if bare is not None:
        return [DotCommand(f".{(bare[1] or bare[3]).lower()}", (bare[2] or "").strip(), stop=len(text))]
    found: list[Sql | DotCommand] = []
    at, statements = 0, fragments(text)
    while (token := next(tokens(text, at), None)) is not None:
        if token.text == ";":
            at = token.stop
        elif token.text.startswith(MARKS):
            dot = _dot(text, token.start)
            found.append(dot)
            at = dot.stop
            statements = fragments(text, at)
        else:
            fragment = next(statements)
            found.append(Sql(fragment))
            at = fragment.start + len(fragment.text)
    return found


def complete(text: str) -> bool:
    """Whether nothing is missing."""
    return _BARE.fullmatch(text) is not None or not is_open(text, command_end)


def pieces(text: str) -> list[str]:
    """The text parted into its statements and commands, as they are written there, comments with what they precede."""
    stops = [_stop(text, entry) for entry in entries(text)]
    starts = [0, *stops[:-1]]
    stops[-1:] = [len(text)]  # a comment behind the last one is its own
    return [text[start:stop].strip() for start, stop in zip(starts, stops, strict=False)]


def _stop(text: str, entry: Sql | DotCommand) -> int:
    if isinstance(entry, DotCommand):
        return entry.stop
    stop = entry.fragment.start + len(entry.fragment.text)
    return next(tokens(text, stop)).stop if entry.fragment.terminated else stop  # the semicolon


def command_end(text: str, start: int) -> int:
    """Where the command ends that begins at this place; the place itself when none does."""
    if not text.startswith(MARKS, start):
        return start
    argument = _argument(text, start)
    return _line_end(text, start) if argument is None else argument.stop


def lacks_more(text: str) -> bool:
    """Whether a text is a command whose statement can't have ended yet."""
    start = len(text) - len(text.lstrip())
    argument = _argument(text, start) if text.startswith(MARKS, start) else None
    return argument is not None and argument.lacks_more


def is_command(text: str) -> bool:
    """Whether a text begins as a command does."""
    return text.lstrip().startswith(MARKS) or _BARE.fullmatch(text) is not None


@dataclass(frozen=True)
class _Argument:
    """A statement behind a command's word. stop: the end of its last line. lacks_more: it can't have ended there."""

    stop: int
    lacks_more: bool


def _argument(text: str, start: int) -> _Argument | None:
    """The statement that the command takes which begins here; None when it takes none."""
    words = re.compile(r"\S+").finditer(text, start, _line_end(text, start))
    before = next(words)
    command = command_of(before.group())
    if command is None or command.statement is StatementAt.NONE:
        return None
    return _statement(text, start, (next(words, before) if command.statement is StatementAt.SECOND else before).end())


def _statement(text: str, start: int, at: int) -> _Argument:
    stop, depth, comma = _line_end(text, start), 0, False
    for token in tokens(text, at):
        if token.start > stop and not _goes_on(text, stop, token.start, depth > 0 or comma):
            break
        if token.kind is Kind.OPEN:  # what it opens is ended by the line, unless somebody is still writing it
            return _Argument(_line_end(text, token.start), lacks_more=True)
        stop = max(stop, _line_end(text, token.stop - 1))
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        comma = token.text == ","
        if token.text == ";" and depth <= 0:
            break
    return _Argument(stop, lacks_more=depth > 0 or comma)


def _goes_on(text: str, stop: int, at: int, lacks_more: bool) -> bool:
    """Whether what stands behind a line's end still belongs to it."""
    return lacks_more or (text[stop + 1 : stop + 2].isspace() and not text[stop + 1 : at].count("\n"))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _dot(text: str, start: int) -> DotCommand:
    stop = command_end(text, start)
    mark = re.match(r"\.\S*|\\\S*|\?", text[start:stop])
    assert mark is not None
    word = ".help" if mark.group() == "?" else mark.group().rstrip(";")
    rest = text[start + mark.end() : stop].strip()
    command = command_of(word)
    if command is not None and command.argument in _WORDS:
        rest = rest.rstrip("; ")  # as statements end, and many other shells' commands too
    return DotCommand(word, rest, text.count("\n", 0, start) + 1, start, stop)


def command_below(fragment: Fragment) -> DotCommand | None:
    """The first line within a statement that is a command for who reads it: the statement before it was not ended."""
    for found in re.finditer(r"\n[ \t]*(?=\.[a-z])", fragment.text):
        dot = _dot(fragment.text, found.end())
        if command_of(dot.word) is not None:
            return DotCommand(dot.word, dot.rest, fragment.line + dot.line - 1)
    return None
