"""Find the parameter markers of a statement, `?` and `:name`, and write values in their place.

Spark binds the markers of its own statements. A statement of JetSQL is stored with the values, because a job has to
know them when it restarts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.body.row_patterns import pattern_tokens
from jetsql.language.tokens import Kind, Token, tokens, unquote

# After these words a `:` begins a parameter; after any other operand it begins a path into a variant or JSON value.
_NO_OPERAND: Final = frozenset(
    "ALL AND AS BETWEEN BY CASE DISTINCT DIV ELSE ESCAPE FROM HAVING ILIKE IN INTERVAL INTO JOIN LIKE LIMIT NOT OFFSET"
    " ON OR QUALIFY REGEXP RLIKE SELECT TABLE THEN TIMEOUT USING VALUES WHEN WHERE".split()
)
_OPERANDS: Final = frozenset({Kind.WORD, Kind.QUOTED, Kind.STRING, Kind.NUMBER})


@dataclass(frozen=True)
class Marker:
    """A parameter marker."""

    name: str  # empty for ?
    place: Span


@dataclass(frozen=True)
class BoundText:
    """A statement with values in place of its markers."""

    text: str
    _edits: tuple[tuple[Span, str], ...]  # the markers of the original text, and what is in their place

    def original(self, place: Span) -> Span:
        """Return the place in the original text of a place in this text; a marker for what is in a value."""
        return Span(self._offset(place.start, is_end=False), self._offset(place.stop, is_end=True))

    def _offset(self, offset: int, is_end: bool) -> int:
        shift = 0
        for marker, value in self._edits:
            start = marker.start + shift
            if offset <= start:
                break
            if offset < start + len(value) or (is_end and offset == start + len(value)):
                return marker.stop if is_end else marker.start
            shift += len(value) - (marker.stop - marker.start)
        return offset - shift


def find_markers(found: Sequence[Token]) -> list[Marker]:
    """Return the markers among the tokens of a statement."""
    quantifiers = pattern_tokens(found)
    markers = []
    for index, token in enumerate(found):
        if token.kind is not Kind.SYMBOL:
            continue
        if token.text == "?" and index not in quantifiers:
            markers.append(Marker("", token.place))
        elif token.text == ":" and _is_name(found, index):
            name = found[index + 1]
            markers.append(
                Marker(unquote(name.text) if name.kind is Kind.QUOTED else name.text, Span(token.start, name.stop))
            )
    return markers


def bind_markers(text: str, values: Mapping[str, str] | Sequence[str]) -> BoundText:
    """Return a statement with values in place of its markers.

    values: the texts of literals, by name (`:name`) or by position (`?`).
    Raises StatementError PARAMETER_NOT_READABLE for a marker without a value, and for values without a marker.
    """
    markers = find_markers([*tokens(text)])
    if isinstance(values, Mapping):
        markers = [marker for marker in markers if marker.name]
        missing = next((marker for marker in markers if marker.name not in values), None)
        if missing is not None:
            message = f"The parameter {missing.name} has no value."
            raise StatementError("PARAMETER_NOT_READABLE", message, place=missing.place, hint="Send a value for it.")
        edits = [(marker.place, values[marker.name]) for marker in markers]
    else:
        markers = [marker for marker in markers if not marker.name]
        if len(markers) != len(values):
            raise _wrong_number(len(values), len(markers))
        edits = [(marker.place, value) for marker, value in zip(markers, values, strict=True)]
    bound, stop = "", 0
    for place, value in edits:
        bound += text[stop : place.start] + value
        stop = place.stop
    return BoundText(bound + text[stop:], tuple(edits))


def check_number(values: int, text: str) -> None:
    """Raise StatementError PARAMETER_NOT_READABLE unless a statement has as many markers `?` as there are values."""
    found = list(tokens(text))
    markers = sum(not marker.name for marker in find_markers(found))
    casts = sum(token.kind is Kind.SYMBOL and token.text == "?::" for token in found)  # a marker, or an operator
    if not markers <= values <= markers + casts:
        raise _wrong_number(values, markers)


def _wrong_number(values: int, markers: int) -> StatementError:
    """Return the error of a request with more or fewer values than its statement has markers."""
    message = (
        f"The request has {_counted(values, 'parameter')}, but the statement has {_counted(markers, 'marker')} (?)."
    )
    return StatementError("PARAMETER_NOT_READABLE", message, hint="Send one value for each marker.")


def _is_name(found: Sequence[Token], index: int) -> bool:
    """Return whether the colon at the index begins a marker, not a path (`a:b`) or a field's type (STRUCT<a: INT>)."""
    if index + 1 >= len(found) or found[index + 1].kind not in (Kind.WORD, Kind.QUOTED) or index == 0:
        return False
    before = found[index - 1]
    if before.stop == found[index].start and before.kind in _OPERANDS:
        return False
    return not (before.text in (")", "]") or (before.kind in _OPERANDS and before.word not in _NO_OPERAND))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
