"""Script variables: `${name}` and `${name:-default}`, put into a statement before it is parsed.

Values are pasted as text, in strings as well, never in comments, and are not looked at again. The result remembers
where everything came from: an error in the statement that ran is shown in the file as written.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.tokens import Kind, scan

_NAME: Final = r"[^\W\d]\w*"
_REFERENCE: Final = re.compile(rf"\$\$\{{|\$\{{(?:(?P<name>{_NAME})(?::-(?P<default>[^}}]*))?\}})?")


@dataclass(frozen=True)
class Replacement:
    """A stretch of the text as written, and where its value is in the text that came out."""

    written: Span
    result: Span


@dataclass(frozen=True)
class Substituted:
    """A text with its variables filled in; `replacements` in order."""

    text: str
    replacements: tuple[Replacement, ...] = ()

    def original(self, offset: int) -> int:
        """Return the offset in the text as written of what is at `offset` now; within a value it is where the `${`
        begins."""
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
    """Return whether `${text}` can stand in a script."""
    return re.fullmatch(_NAME, text) is not None


def substitute(text: str, variables: Mapping[str, str]) -> Substituted:
    """`text` with its variables filled in; `$${` stands for a plain `${`.

    Raises StatementError at the place in `text`: VARIABLE_NOT_SET for a variable with neither value nor default,
    PARSE_SYNTAX_ERROR for a `${` that begins no variable. A default goes up to the next `}`.
    """
    pieces: list[str] = []
    replacements: list[Replacement] = []
    done = length = 0
    for found in _references(text):
        value = "${" if found.group() == "$${" else _value(found, variables)
        pieces += (text[done : found.start()], value)
        start = length + found.start() - done
        done, length = found.end(), start + len(value)
        replacements.append(Replacement(Span(*found.span()), Span(start, length)))
    pieces.append(text[done:])
    return Substituted("".join(pieces), tuple(replacements))


def _references(text: str) -> Iterator[re.Match[str]]:
    """Return every `${` and `$${` that is in no comment."""
    if "${" not in text:
        return
    comments = (token for token in scan(text) if token.kind is Kind.COMMENT or token.text.startswith("/*"))
    comment = next(comments, None)
    for found in _REFERENCE.finditer(text):
        while comment is not None and comment.stop <= found.start():
            comment = next(comments, None)
        if comment is None or found.start() < comment.start:
            yield found


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name, default, place = found["name"], found["default"], Span(*found.span())
    if name is None:
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            "This begins no variable: a variable is ${name} or ${name:-default}.",
            place=place,
            hint="Write $${ for the characters ${ themselves.",
        )
    if name in variables:
        return variables[name]
    if default is not None:
        return str(default)
    close = get_close_matches(name, sorted(variables), n=1)
    hint = f"Did you mean ${{{close[0]}}}?" if close else f"Set it, or write a default: ${{{name}:-default}}."
    raise StatementError("VARIABLE_NOT_SET", f"The variable {name} has no value.", place=place, hint=hint)
