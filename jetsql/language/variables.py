"""Substitute the variables of scripts, `${name}` and `${name:-default}`, before a statement is parsed.

A value is inserted as text, in strings as well but not in comments, and is not itself substituted. The result maps
offsets back to the text as written, so that the error of a statement can be shown in its file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.tokens import Kind, scan

_NAME: Final = r"[^\W\d]\w*"
_REFERENCE: Final = re.compile(rf"\$\$\{{|\$\{{(?:(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}})?")

_ESCAPED: Final = re.compile(rf"\$\$\{{(?P<name>{_NAME})\}}")

# In a text without a closing brace, no reference is complete. The groups never match.
_INCOMPLETE: Final = re.compile(r"\$\$\{|\$\{(?P<name>(?!))?(?P<default>(?!))?")


@dataclass(frozen=True)
class Replacement:
    """A substituted variable, or an edited part."""

    written: Span  # of the `${...}` in the text as written
    result: Span  # of its value in the resulting text


@dataclass(frozen=True)
class Substituted:
    """A text after the substitution of its variables."""

    text: str
    replacements: tuple[Replacement, ...] = ()  # by offset
    edited: Substituted | None = None  # the text that `replacements` were made in; None for the text as written

    def original(self, offset: int) -> int:
        """Return the offset in the text as written for an offset in `text`; within a value, that of its `${`."""
        before = self._before(offset)
        return before if self.edited is None else self.edited.original(before)

    def edit(self, edits: Sequence[tuple[Span, str]]) -> Substituted:
        """Return the text with parts replaced. edits: the parts, by offset, with their new texts."""
        pieces: list[str] = []
        replacements: list[Replacement] = []
        copied = length = 0
        for place, new in edits:
            pieces += (self.text[copied : place.start], new)
            start = length + place.start - copied
            copied, length = place.stop, start + len(new)
            replacements.append(Replacement(place, Span(start, length)))
        pieces.append(self.text[copied:])
        return Substituted("".join(pieces), tuple(replacements), self)

    def _before(self, offset: int) -> int:
        found = self._replacement(offset)
        if found is None:
            return offset
        if offset < found.result.stop:
            return found.written.start
        return found.written.stop + offset - found.result.stop

    def _replacement(self, offset: int) -> Replacement | None:
        """Return the last replacement that begins at or before `offset`."""
        index = bisect_right(self.replacements, offset, key=lambda replacement: replacement.result.start)
        return self.replacements[index - 1] if index else None


def is_variable_name(text: str) -> bool:
    """Return whether `text` is a valid name of a variable."""
    return re.fullmatch(_NAME, text) is not None


def substitute(text: str, variables: Mapping[str, str]) -> Substituted:
    """Return `text` with the values of its variables. `$${` is replaced by `${`, and a default ends at the next `}`.

    Raises StatementError with the span in `text`: VARIABLE_NOT_SET for a variable with neither value nor default,
    PARSE_SYNTAX_ERROR for a `${` that begins no variable.
    """
    pieces: list[str] = []
    replacements: list[Replacement] = []
    copied = length = 0
    for reference in references(text):
        value = "${" if reference.group() == "$${" else _value(reference, variables)
        pieces += (text[copied : reference.start()], value)
        start = length + reference.start() - copied
        copied, length = reference.end(), start + len(value)
        replacements.append(Replacement(Span(*reference.span()), Span(start, length)))
    pieces.append(text[copied:])
    return Substituted("".join(pieces), tuple(replacements))


def unset_variables(text: str, variables: Mapping[str, str]) -> Iterator[StatementError]:
    """Yield the errors of the variables of a text, one for each name."""
    names: set[str | None] = set()
    for reference in references(text):
        if reference.group() == "$${" or reference["name"] in names:
            continue
        try:
            _value(reference, variables)
        except StatementError as error:
            names.add(reference["name"])
            yield error


def references(text: str) -> Iterator[re.Match[str]]:
    """Yield every `${` and `$${` that is not in a comment."""
    if "${" not in text:
        return
    comments = (token for token in scan(text) if token.kind is Kind.COMMENT or token.text.startswith("/*"))
    comment = next(comments, None)
    last = text.rfind("}") + 1  # a search for the end of each default behind it would take the square of its size
    for reference in chain(_REFERENCE.finditer(text, 0, last), _INCOMPLETE.finditer(text, last)):
        while comment is not None and comment.stop <= reference.start():
            comment = next(comments, None)
        if comment is None or reference.start() < comment.start:
            yield reference


def escaped_variables(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the name and the place of each `$${name}`: it is no variable, but the characters `${name}`."""
    for reference in references(text):
        named = _ESCAPED.match(text, reference.start()) if reference.group() == "$${" else None
        if named is not None:
            yield named["name"], Span(*named.span())


def _value(reference: re.Match[str], variables: Mapping[str, str]) -> str:
    name, default, place = reference["name"], reference["default"], Span(*reference.span())
    if name is None:
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            "This is not a variable: a variable is ${name} or ${name:-default}.",
            place=place,
            hint="Write $${ for the characters ${ themselves.",
        )
    if name in variables:
        return variables[name]
    if default is not None:
        return str(default)
    close = get_close_matches(name, sorted(variables))
    hint = f"Did you mean ${{{close[0]}}}?" if close else f"Set it, or write a default: ${{{name}:-default}}."
    correction = f"${{{close[0]}}}" if close else ""
    message = f"The variable {name} has no value."
    raise StatementError("VARIABLE_NOT_SET", message, place=place, hint=hint, correction=correction)
