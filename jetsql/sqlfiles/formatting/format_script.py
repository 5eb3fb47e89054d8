"""Format the statements of a script.

Only white space and the spelling of keywords change: the names and values of a statement, their order and its comments
stay. `same_script` proves this for each statement, and for the whole text. A statement that cannot be formatted, or
whose proof fails, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import Fragment, split
from jetsql.language.tokens import Kind, Token, scan
from jetsql.language.variables import references
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.formatting.same_script import is_same_script, is_same_statement, unused_word
from jetsql.sqlfiles.formatting.statement_layout import StatementLayout
from jetsql.sqlfiles.formatting.verbatim_parts import fold_hints, gaps_that_count
from jetsql.sqlfiles.formatting.write_tokens import GLUED, SPACE, Gap, line_end_after, write_tokens
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel

_NOT_FORMATTED: Final = f"{PREFIX}STATEMENT_NOT_CHECKED"
_CHANGED: Final = "its layout would change its meaning"
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")


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
    statements = []  # formatted, with what is between them as it was
    stop = 0
    for fragment in fragments:
        writer.add_gap(text[stop : fragment.start])
        formatted = format_fragment(fragment, line_end)
        writer.add_statement(formatted.text)
        statements += [text[stop : fragment.start], formatted.text]
        if formatted.reason:
            notes.append(_note(script, fragment, formatted))
        stop = fragment.start + len(fragment.text)
    writer.add_gap(text[stop:])
    written = writer.text()
    if is_same_script(text, written):
        return FormattedScript(written, tuple(notes))
    for kept, what in (("".join([*statements, text[stop:]]), "What is between the statements"), (text, "The script")):
        if is_same_script(text, kept):
            note = LintProblem(script, 0, 0, ProblemLevel.NOTE, _NOT_FORMATTED, f"{what} stays as it is: {_CHANGED}.")
            return FormattedScript(kept, (note, *notes))
    raise AssertionError("a script differs from itself")


def format_fragment(fragment: Fragment, line_end: str = "\n") -> FormattedStatement:
    """Return a statement of a script formatted, with its variables as they are."""
    formatted = _format_with_variables(fragment.text, line_end)
    if is_same_statement(fragment.text, formatted.text):
        return formatted
    return FormattedStatement(fragment.text, _CHANGED)


def format_statement(text: str, line_end: str = "\n") -> FormattedStatement:
    """Return one statement without variables formatted, or as it was with the reason."""
    formatted = _format(text, line_end, "")
    return formatted if is_same_statement(text, formatted.text) else FormattedStatement(text, _CHANGED)


def _format_with_variables(text: str, line_end: str) -> FormattedStatement:
    variables = list(references(text))
    if not variables:
        return _format(text, line_end, "")
    if variables[0].start() == 0:
        return FormattedStatement(text, "its first word is a variable")
    word = unused_word(text)
    pieces, values, at = [], [], 0
    for number, variable in enumerate(variables):
        pieces += [text[at : variable.start()], f"{word}{number}_"]
        values.append(variable.group())
        at = variable.end()
    filled = "".join([*pieces, text[at:]])
    formatted = _format(filled, line_end, word)
    if formatted.text == filled:
        return FormattedStatement(text, formatted.reason)
    written = re.sub(rf"{word}(\d+)_", lambda match: values[int(match[1])], formatted.text)
    return FormattedStatement(written, formatted.reason)


def _format(text: str, line_end: str, variable: str) -> FormattedStatement:
    """Format a statement. variable: the beginning of the words that stand for variables."""
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
    found = fold_hints(text, found)
    gaps = {**layout.gaps, **dict(_needed_gaps(found, layout.gaps, variable))}
    written = write_tokens(text, found, gaps, layout.words, line_end)
    return FormattedStatement(written, layout.unread, offset=0 if kept is None else kept.start)


def _needed_gaps(found: Sequence[Token], gaps: Mapping[int, Gap], variable: str) -> Iterator[tuple[int, Gap]]:
    """Yield the gaps between tokens where white space counts: some where there was some, and none where was none."""
    for token, is_glued in gaps_that_count(found, variable):
        if is_glued or gaps.get(token.start, SPACE) == GLUED:
            yield token.start, GLUED if is_glued else SPACE


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
        if due or not self._pieces or self._ends_in_line_comment:
            self._break(due)
        else:
            self._pieces.append(" ")
        self._pieces.append(text)
        self._breaks = 0

    def _add_semicolon(self, text: str) -> None:
        if self._ends_in_line_comment:
            self._break(1)
        self._pieces.append(text)
        self._breaks = 0

    def _break(self, breaks: int) -> None:
        if self._pieces:
            first = line_end_after(self._pieces[-1], self._line_end)
            self._pieces.append(first + self._line_end * (min(max(breaks, 1), 2) - 1))

    @property
    def _ends_in_line_comment(self) -> bool:
        return bool(self._pieces) and self._pieces[-1].startswith("--")

    def text(self) -> str:
        return "".join([*self._pieces, line_end_after(self._pieces[-1], self._line_end)]) if self._pieces else ""


def _pieces_of(text: str) -> Iterator[tuple[int, Token | None]]:
    """Yield each token with the number of line breaks before it, and None with those at the end."""
    stop = 0
    for token in scan(text):
        yield len(_LINE_BREAK.findall(text, stop, token.start)), token
        stop = token.stop
    yield len(_LINE_BREAK.findall(text, stop)), None
