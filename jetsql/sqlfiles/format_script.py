"""Format the statements of a script.

Only white space and the spelling of keywords change: the names and values of a statement, their order and its comments
stay. This is checked for each statement after it was formatted, so a formatted file means the same. A statement that
cannot be formatted stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import Fragment, split
from jetsql.language.tokens import Kind, Token, scan
from jetsql.language.variables import references
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel
from jetsql.sqlfiles.statement_layout import StatementLayout
from jetsql.sqlfiles.write_tokens import write_tokens

_PLACEHOLDER: Final = "jetsql_variable_{}_"
_PLACEHOLDERS: Final = re.compile(r"jetsql_variable_(\d+)_", re.IGNORECASE)
_NOT_FORMATTED: Final = f"{PREFIX}STATEMENT_NOT_CHECKED"


@dataclass(frozen=True)
class FormattedScript:
    """A script after formatting."""

    text: str
    notes: tuple[LintProblem, ...] = ()  # for each statement, or a part of it, that stays as it was


@dataclass(frozen=True)
class FormattedStatement:
    """A statement after formatting."""

    text: str
    reason: str = ""  # why it, or a part of it, stays as it was
    hint: str = ""
    offset: int = 0  # of that part in the statement as it was written


def format_script(script: Script, line_end: str = "\n") -> FormattedScript:
    """Return a script with all its statements formatted.

    line_end: the end of new lines. Raises StatementError with the place of a quote or comment without end.
    """
    text = script.text
    fragments = split(text, strict=True)
    notes: list[LintProblem] = []
    writer = _ScriptWriter(line_end)
    stop = 0
    for fragment in fragments:
        writer.add_gap(text[stop : fragment.start])
        formatted = format_fragment(fragment, line_end)
        writer.add_statement(formatted.text)
        if formatted.reason:
            notes.append(_note(script, fragment, formatted))
        stop = fragment.start + len(fragment.text)
    writer.add_gap(text[stop:])
    return FormattedScript(writer.text(), tuple(notes))


def format_statement(text: str, line_end: str = "\n") -> FormattedStatement:
    """Return one statement formatted, or as it was with the reason."""
    try:
        layout = StatementLayout(text)
    except StatementError as error:
        return FormattedStatement(text, error.message.rstrip("."), error.hint, error.place.start if error.place else 0)
    found = list(scan(text))
    kept = layout.kept
    if kept is not None and found[0].start == kept.start:
        return FormattedStatement(text, layout.unread)
    if kept is not None:
        part = Token(Kind.SYMBOL, text[kept.start : kept.stop], kept.start, kept.stop)
        found = [*(token for token in found if token.start < kept.start), part]
    written = write_tokens(text, found, layout.gaps, layout.words, line_end)
    if not _is_same(text, written):
        return FormattedStatement(text, "its layout would change its meaning")
    return FormattedStatement(written, layout.unread, offset=0 if kept is None else kept.start)


def format_fragment(fragment: Fragment, line_end: str = "\n") -> FormattedStatement:
    """Return a statement of a script formatted, with its variables as they are."""
    written = fragment.text
    variables = list(references(written))
    if not variables:
        return format_statement(written, line_end)
    pieces, values, at = [], [], 0
    for number, variable in enumerate(variables):
        pieces += [written[at : variable.start()], _PLACEHOLDER.format(number)]
        values.append(variable.group())
        at = variable.end()
    filled = "".join([*pieces, written[at:]])
    formatted = format_statement(filled, line_end)
    if formatted.text == filled:
        return FormattedStatement(written, formatted.reason)
    text = _PLACEHOLDERS.sub(lambda match: values[int(match[1])], formatted.text)
    return FormattedStatement(text, formatted.reason)


def _is_same(before: str, after: str) -> bool:
    """Return whether two texts have the same words, apart from the case of plain words."""
    first, second = list(scan(before)), list(scan(after))
    return len(first) == len(second) and all(map(_is_same_token, first, second))


def _is_same_token(first: Token, second: Token) -> bool:
    if first.text == second.text:
        return first.kind is second.kind
    return first.kind is second.kind is Kind.WORD and first.word == second.word


def _note(script: Script, fragment: Fragment, formatted: FormattedStatement) -> LintProblem:
    offset = fragment.start + formatted.offset
    what = "This part" if formatted.offset else "This statement"
    message = f"{what} stays as it is: {formatted.reason}."
    return LintProblem(script, offset, offset, ProblemLevel.NOTE, _NOT_FORMATTED, message, formatted.hint)


class _ScriptWriter:
    """The text of a script so far."""

    def __init__(self, line_end: str) -> None:
        self._line_end = line_end
        self._pieces: list[str] = []
        self._breaks = 0  # line breaks that are due before the next piece

    def add_statement(self, text: str) -> None:
        self._break(max(self._breaks, 1))
        self._pieces.append(text)
        self._breaks = 0

    def add_gap(self, text: str) -> None:
        """Add what is between two statements: semicolons, comments, and empty lines, of which one is kept."""
        for breaks, token in _pieces_of(text):
            due = self._breaks + breaks
            if token is None:
                self._breaks = due
            elif token.kind is Kind.COMMENT:
                self._add_comment(token.text, due)
            else:
                self._add_semicolon(token.text)

    def _add_comment(self, text: str, due: int) -> None:
        if due or not self._pieces:
            self._break(due)
        else:
            self._pieces.append(" ")
        self._pieces.append(text)
        self._breaks = 0

    def _add_semicolon(self, text: str) -> None:
        if self._pieces and self._pieces[-1].startswith("--"):
            self._break(1)
        self._pieces.append(text)
        self._breaks = 0

    def _break(self, breaks: int) -> None:
        if self._pieces:
            self._pieces.append(self._line_end * min(max(breaks, 1), 2))

    def text(self) -> str:
        return "".join([*self._pieces, self._line_end]) if self._pieces else ""


def _pieces_of(text: str) -> Iterator[tuple[int, Token | None]]:
    """Yield each token with the number of line breaks before it, and None with those at the end."""
    stop = 0
    for token in scan(text):
        yield text.count("\n", stop, token.start), token
        stop = token.stop
    yield text.count("\n", stop), None
