"""Changes of a body's text that can make a job of a query that was refused.

A change is made of the text alone, so it can be wrong. The caller offers a changed text to users only after the engine
has accepted it. The order of the changes is that in which they are tried: those that change the result least come
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Final

from jetsql.errors import Span
from jetsql.language.statement import Body, Verb
from jetsql.language.tokens import Kind, Token, closing_parenthesis, tokens, top_level, verb_after_with, written_name

TimeColumns = Callable[[str], Sequence[str]]
"""Return the names of the TIMESTAMP columns of a table, whose name is as in the text; none if there is no table."""

_DELAY: Final = "DELAY OF INTERVAL 1 MINUTE"
_MAX_TOGETHER: Final = 3  # changes of one text
_MAX_ALTERNATIVES: Final = 4
_VERBS: Final = {
    Verb.SINK_INTO: "which updates the rows of the table",
    Verb.INSERT_INTO: "which adds each row once",
    Verb.INSERT_OVERWRITE: "which replaces the table with each result",
}
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_JOINS: Final = {"RIGHT": ("LEFT",), "FULL": ("LEFT", "RIGHT"), "LEFT": ("RIGHT",)}


@dataclass(frozen=True)
class Edit:
    """A change of a text."""

    meaning: str  # a phrase
    parts: tuple[tuple[Span, str], ...]  # each place in the text, with the new text


@dataclass(frozen=True)
class ChangedText:
    """A body with changes."""

    text: str
    meaning: str  # a phrase that describes the changes


@dataclass(frozen=True)
class _Read:
    """A table that the text reads."""

    name: str  # as written
    place: Span  # of the name
    end: int  # where WATERMARK can follow
    is_stream: bool
    has_watermark: bool


def changed_texts(body: Body, times: TimeColumns, *, other_verbs: bool = True) -> Iterator[ChangedText]:
    """Yield the changed texts of a body, from those with one change to those with several.

    other_verbs: also change the verb.
    """
    found = list(tokens(body.text))
    kinds = (
        _watermarks(found, times),
        _orders(found),
        _verbs(body, found) if other_verbs else (),
        _joins(found),
        _matches(found),
        _streams(found, times),
    )
    groups = [list(islice(edits, _MAX_ALTERNATIVES)) for edits in kinds]
    for count in range(1, _MAX_TOGETHER + 1):
        for chosen in combinations([group for group in groups if group], count):
            for edits in product(*chosen):
                yield _changed(body.text, edits)


def _changed(text: str, edits: Sequence[Edit]) -> ChangedText:
    parts = sorted((part for edit in edits for part in edit.parts), key=lambda part: part[0].start)
    pieces, at = [], 0
    for place, new in parts:
        pieces += [text[at : place.start], new]
        at = max(at, place.stop)
    return ChangedText("".join((*pieces, text[at:])), ", and ".join(edit.meaning for edit in edits))


def _watermarks(found: Sequence[Token], times: TimeColumns) -> Iterator[Edit]:
    """Yield the edits that give each stream without a watermark one; columns that the text names come first."""
    reads = [read for read in _reads(found) if read.is_stream and not read.has_watermark]
    yield from _edits_of_reads(found, reads, times, "")


def _streams(found: Sequence[Token], times: TimeColumns) -> Iterator[Edit]:
    """Yield the edits that read tables as streams: each alone, all, and all with watermarks."""
    reads = [read for read in _reads(found) if not read.is_stream]
    for chosen in [[read] for read in reads] + ([reads] if len(reads) > 1 else []):
        names = " and ".join(read.name for read in chosen)
        yield Edit(f"with STREAM before {names}", tuple((_at(read.place.start), "STREAM ") for read in chosen))
    yield from _edits_of_reads(found, reads, times, "STREAM ")


def _edits_of_reads(found: Sequence[Token], reads: Sequence[_Read], times: TimeColumns, before: str) -> Iterator[Edit]:
    named = {_name(token) for token in found}
    choices = []
    for read in reads:
        columns = sorted(times(read.name), key=lambda column: column.lower() not in named)
        if columns:
            choices.append([(read, column) for column in columns])
    if not choices:
        return
    for chosen in product(*choices):
        parts: list[tuple[Span, str]] = []
        for read, column in chosen:
            if before:
                parts.append((_at(read.place.start), before))
            parts.append((_at(read.end), f" WATERMARK {written_name(column)} {_DELAY}"))
        names = (f"WATERMARK {written_name(column)} for {before}{read.name}" for read, column in chosen)
        yield Edit(f"with {' and '.join(names)}", tuple(parts))


def _verbs(body: Body, found: Sequence[Token]) -> Iterator[Edit]:
    """Yield the edits to each other verb."""
    at = verb_after_with(found) if found[0].word == "WITH" else 0
    if body.branches or body.changes is not None or at is None or found[at].word not in ("INSERT", "SINK"):
        return
    place = Span(found[at].start, found[at + 1].stop)
    for verb, meaning in _VERBS.items():
        if verb is not body.verb:
            yield Edit(f"with {verb.value}, {meaning}", ((place, verb.value),))


def _orders(found: Sequence[Token]) -> Iterator[Edit]:
    """Yield the edit without the ORDER BY of queries that have no LIMIT."""
    outer = list(top_level(found))
    parts = []
    for position, index in enumerate(outer):
        if found[index].word != "ORDER" or index + 1 == len(found) or found[index + 1].word != "BY":
            continue
        rest = outer[position + 1 :]
        ends = [each for each in rest if found[each].word in ("INSERT", "SINK")]
        stop = ends[0] if ends else len(found)
        if not any(found[each].word in ("LIMIT", "OFFSET") for each in rest if each < stop):
            parts.append((Span(found[index - 1].stop, found[stop - 1].stop), ""))
    if parts:
        yield Edit("without ORDER BY, because the rows of a table have no order", tuple(parts))


def _joins(found: Sequence[Token]) -> Iterator[Edit]:
    """Yield the edits of one outer join each that keep the rows of its other side, or of one side."""
    for index, token in enumerate(found):
        following = [each.word for each in found[index + 1 : index + 3]]
        if following[:1] == ["JOIN"] or following == ["OUTER", "JOIN"]:
            for side in _JOINS.get(token.word, ()):
                yield Edit(f"with {side} JOIN, which keeps all rows of the {side.lower()} side", ((token.place, side),))


def _matches(found: Sequence[Token]) -> Iterator[Edit]:
    """Yield the edit that turns the comparison of each MATCH_CONDITION."""
    parts = []
    for index, token in enumerate(found):
        if token.word != "MATCH_CONDITION":
            continue
        within = list(islice(found, index + 1, closing_parenthesis(found, index + 1)))
        compared = [each for each in within if each.text in _TURNED]
        if len(compared) == 1:
            parts.append((compared[0].place, _TURNED[compared[0].text]))
    if parts:
        signs = " and ".join(dict.fromkeys(sign for _, sign in parts))
        yield Edit(f"with {signs}, which joins the newest row up to each time", tuple(parts))


def _reads(found: Sequence[Token]) -> Iterator[_Read]:
    """Yield the tables after FROM and JOIN that are no queries and no functions."""
    defined = {
        _name(token)
        for token, second, third in zip(found, found[1:], found[2:], strict=False)
        if second.word == "AS" and third.text == "("
    }
    for index, token in enumerate(found):
        if token.word not in ("FROM", "JOIN") or (index and found[index - 1].word == "DISTINCT"):
            continue
        first = index + 1
        is_stream = _word(found, first) == "STREAM" and _is_name(found, first + 1)
        first += is_stream
        if not _is_name(found, first):
            continue
        last = _name_end(found, first)
        text = "".join(each.text for each in found[first : last + 1])
        is_read = _text(found, last + 1) != "(" and (is_stream or last > first or _name(found[first]) not in defined)
        if is_read:
            end = _options_end(found, last)
            place = Span(found[first].start, found[last].stop)
            yield _Read(text, place, found[end].stop, is_stream, _word(found, end + 1) == "WATERMARK")


def _name_end(found: Sequence[Token], first: int) -> int:
    last = first
    while _text(found, last + 1) == "." and _is_name(found, last + 2):
        last += 2
    return last


def _options_end(found: Sequence[Token], last: int) -> int:
    """Return the index of the last token of the clauses WITH (...) and FOR SYSTEM_TIME AS OF after a table's name."""
    if _word(found, last + 1) == "WITH" and _text(found, last + 2) == "(":
        last = closing_parenthesis(found, last + 2)
    clause = [_word(found, last + number) for number in range(1, 5)]
    return _name_end(found, last + 5) if clause == ["FOR", "SYSTEM_TIME", "AS", "OF"] else last


def _is_name(found: Sequence[Token], index: int) -> bool:
    return index < len(found) and found[index].kind in (Kind.WORD, Kind.QUOTED)


def _word(found: Sequence[Token], index: int) -> str:
    return found[index].word if index < len(found) else ""


def _text(found: Sequence[Token], index: int) -> str:
    return found[index].text if index < len(found) else ""


def _name(token: Token) -> str:
    return token.text.strip("`").lower()


def _at(offset: int) -> Span:
    return Span(offset, offset)
