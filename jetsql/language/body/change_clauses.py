"""Read the clauses of AUTO CDC, and make the texts that Spark parses from them.

Spark's own AUTO CDC belongs to pipelines: its parser accepts the statement only with a flow's name, and no engine of
Spark SQL runs it. So Spark parses the parts: the source as an INSERT of its rows, and each expression. A part keeps its
offset, because everything before it is blank, so positions in Spark's errors are positions in the user's statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.statement import Body, ChangeClauses
from jetsql.language.syntax_errors import found_at, place_at
from jetsql.language.tokens import Kind, Token, blank, top_level, unquote

CDC_EXAMPLE: Final = "Write AUTO CDC INTO table FROM STREAM source KEYS (id) SEQUENCE BY ts."
_CLAUSES: Final = (
    ("KEYS", "("),
    ("IGNORE", "NULL", "UPDATES"),
    ("APPLY", "AS", "DELETE", "WHEN"),
    ("APPLY", "AS", "TRUNCATE", "WHEN"),
    ("SEQUENCE", "BY"),
    ("COLUMNS", "("),
    ("COLUMNS", "*"),
    ("STORED", "AS"),
    ("TRACK", "HISTORY", "ON"),
)
"""The first words of the clauses, in the order of Spark's grammar."""

_NOT_SUPPORTED: Final = {
    "IGNORE": ("IGNORE NULL UPDATES is not supported: each change replaces the whole row.", ""),
    "TRUNCATE": ("APPLY AS TRUNCATE is not supported.", "Use APPLY AS DELETE WHEN, which deletes single rows."),
    "TRACK": ("TRACK HISTORY is not supported.", "Leave it out: with STORED AS SCD TYPE 2, each change begins a row."),
}
_WORDS: Final = (Kind.WORD, Kind.QUOTED)


@dataclass(frozen=True)
class ReadClauses:
    """The clauses after the table of AUTO CDC."""

    changes: ChangeClauses
    """The clauses that a job keeps."""
    source_stop: int
    """The offset after the source."""


@dataclass(frozen=True)
class _Clause:
    """A clause, by indexes of its tokens."""

    words: tuple[str, ...]
    """The first words."""
    start: int
    """The index of the first token."""
    stop: int
    """The index after the last token."""

    @property
    def name(self) -> str:
        return " ".join(word for word in self.words if word.isalpha())


def read_clauses(found: Sequence[Token], at: int) -> ReadClauses:
    """Return the clauses that begin at the index `at`, after the table.

    Raises StatementError UNSUPPORTED_BODY with the place of the wrong token.
    """
    if at >= len(found) or found[at].word != "FROM":
        raise _refused(f"Expected FROM and a stream after the table, {found_at(found, at)}.", place_at(found, at))
    clauses = list(_split(found, at + 1))
    _check_order(found, clauses)
    by_name = {clause.name: clause for clause in clauses}
    source_stop = clauses[0].start if clauses else len(found)
    if at + 1 >= source_stop:
        raise _refused(f"Expected a stream after FROM, {found_at(found, at + 1)}.", place_at(found, at + 1))
    keys, places = _read_keys(found, _needed(found, by_name, "KEYS"))
    columns = by_name.get("COLUMNS")
    deletes = by_name.get("APPLY AS DELETE WHEN")
    changes = ChangeClauses(
        keys=keys,
        key_places=places,
        sequence=_expression(found, _needed(found, by_name, "SEQUENCE BY")),
        delete_when=None if deletes is None else _expression(found, deletes),
        columns=None if columns is None else _read_columns(found, columns),
        keeps_history=_read_type(found, by_name.get("STORED AS")) == "2",
    )
    return ReadClauses(changes, found[source_stop - 1].stop)


def _needed(found: Sequence[Token], clauses: Mapping[str, _Clause], name: str) -> _Clause:
    if name not in clauses:
        end = found[-1].stop
        raise _refused(f"AUTO CDC needs the clause {name}.", Span(end, end))
    return clauses[name]


def clause_texts(body: Body) -> dict[str, object] | None:
    """Return the clauses as texts that Spark parses, each at its offset in the statement; None without AUTO CDC.

    `columns` is the struct of the columns, `delete` is None without a condition, and `history` is a boolean.
    """
    changes = body.changes
    if changes is None:
        return None
    return {
        "keys": [_at(body, place) for place in changes.key_places],
        "delete": None if changes.delete_when is None else _at(body, changes.delete_when),
        "sequence": _at(body, changes.sequence),
        "columns": _struct(body, changes.columns),
        "history": changes.keeps_history,
    }


def _at(body: Body, place: Span) -> str:
    return blank(body.spark_text[: place.start]) + _text(body, place)


def _text(body: Body, place: Span) -> str:
    return body.text[place.start - body.place.start : place.stop - body.place.start]


def _struct(body: Body, columns: Span | None) -> str:
    """Return the struct of the columns: `COLUMNS (a, b)` becomes `struct(a, b)`, which has the same offsets."""
    if columns is None:
        return "struct(*)"
    listed = _text(body, columns)[len("COLUMNS") :]
    if listed.lstrip().startswith("("):
        listed = listed.replace("(", " ", 1)[:-1]
    return f"{blank(body.spark_text[: columns.start])}struct({listed})"


def _split(found: Sequence[Token], at: int) -> Iterator[_Clause]:
    """Yield the clauses from the index `at` on. The first words of a clause can only follow a complete part."""
    starts: list[tuple[int, tuple[str, ...]]] = []
    free = at + 1  # the source, or the expression of a clause, has at least one token
    for index in top_level(found):
        words = _begins(found, index) if index >= free else None
        if words is not None:
            starts.append((index, words))
            free = index + len(words) + words[-1].isalpha()
    stops = [*(index for index, _ in starts[1:]), len(found)][: len(starts)]
    yield from (_Clause(words, index, stop) for (index, words), stop in zip(starts, stops, strict=True))


def _begins(found: Sequence[Token], index: int) -> tuple[str, ...] | None:
    return next((words for words in _CLAUSES if _matches(found, index, words)), None)


def _matches(found: Sequence[Token], index: int, words: tuple[str, ...]) -> bool:
    following = found[index : index + len(words)]
    return len(following) == len(words) and all(
        (token.word or token.text) == word for token, word in zip(following, words, strict=True)
    )


def _check_order(found: Sequence[Token], clauses: Sequence[_Clause]) -> None:
    previous: _Clause | None = None
    for clause in clauses:
        place = found[clause.start].place
        for word in clause.words[:1] + clause.words[2:3]:
            if word in _NOT_SUPPORTED:
                message, hint = _NOT_SUPPORTED[word]
                raise _refused(message, place, hint or f"Leave out {clause.name}.")
        if previous is not None and previous.name == clause.name:
            raise _refused(f"{clause.name} is written twice.", place, "Leave out one of them.")
        if previous is not None and _CLAUSES.index(previous.words) > _CLAUSES.index(clause.words):
            message = f"{clause.name} comes before {previous.name}."
            raise _refused(message, place, f"Write {clause.name} before {previous.name}.")
        previous = clause


def _read_type(found: Sequence[Token], clause: _Clause | None) -> str:
    """Return the number of the SCD type, `1` or `2`."""
    if clause is None:
        return "1"
    words = [token.word or token.text for token in found[clause.start + 2 : clause.stop]]
    if words in (["SCD", "TYPE", "1"], ["SCD", "TYPE", "2"]):
        return words[-1]
    at = clause.start + 2
    expected = (("SCD",), ("TYPE",), ("1", "2"))
    wrong = next((n for n, word in enumerate(words) if n >= 3 or word not in expected[n]), len(words))
    wanted = " or ".join(expected[wrong]) if wrong < 3 else "the end of the statement"
    hint = "Write STORED AS SCD TYPE 1, which keeps the newest row of each key, or SCD TYPE 2, which keeps all rows."
    raise _refused(f"Expected {wanted}, {found_at(found, at + wrong)}.", place_at(found, at + wrong), hint)


def _read_keys(found: Sequence[Token], clause: _Clause) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    names, after = _names(found, clause.start + 1)
    _check_end(found, clause, after)
    keys = tuple(unquote(name.text) if name.kind is Kind.QUOTED else name.text for name in names)
    for n, name in enumerate(names):
        if keys[n].lower() in [key.lower() for key in keys[:n]]:
            raise _refused(f"KEYS names {name.text} twice.", name.place, "Leave out one of them.")
    return keys, tuple(name.place for name in names)


def _read_columns(found: Sequence[Token], clause: _Clause) -> Span:
    if found[clause.start + 1].text == "(":
        _, after = _names(found, clause.start + 1)
    elif clause.start + 2 < clause.stop and found[clause.start + 2].word == "EXCEPT":
        _, after = _names(found, clause.start + 3)
    else:
        after = clause.start + 2
    _check_end(found, clause, after)
    return Span(found[clause.start].start, found[after - 1].stop)


def _names(found: Sequence[Token], at: int) -> tuple[list[Token], int]:
    """Return the names of columns in the parentheses that open at the index `at`, and the index after them."""
    names: list[Token] = []
    if at >= len(found) or found[at].text != "(":
        raise _refused(f"Expected '(' and columns, {found_at(found, at)}.", place_at(found, at))
    while True:
        at += 1
        if at >= len(found) or found[at].kind not in _WORDS:
            raise _refused(f"Expected a column, {found_at(found, at)}.", place_at(found, at))
        names.append(found[at])
        at += 1
        if at < len(found) and found[at].text == ")":
            return names, at + 1
        if at >= len(found) or found[at].text != ",":
            raise _refused(f"Expected ',' or ')' after a column, {found_at(found, at)}.", place_at(found, at))


def _check_end(found: Sequence[Token], clause: _Clause, after: int) -> None:
    if after < clause.stop:
        following = "APPLY AS DELETE WHEN or SEQUENCE BY" if clause.name == "KEYS" else "STORED AS or the end"
        message = f"Expected {following} after {clause.name}, {found_at(found, after)}."
        raise _refused(message, found[after].place)


def _expression(found: Sequence[Token], clause: _Clause) -> Span:
    first = clause.start + len(clause.words)
    if first >= clause.stop:
        raise _refused(f"Expected an expression after {clause.name}, {found_at(found, first)}.", place_at(found, first))
    return Span(found[first].start, found[clause.stop - 1].stop)


def _refused(message: str, place: Span, hint: str = CDC_EXAMPLE) -> StatementError:
    return StatementError("UNSUPPORTED_BODY", message, place=place, hint=hint)
