"""Refuse spellings of Flink and ksqlDB in a body that Spark cannot parse, and name Spark's spelling.

Only texts that Spark never accepts are refused, so a user's own function or table can have any of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.tokens import Kind, Token

_WINDOWS: Final = {
    "TUMBLE": "Write GROUP BY window(ts, '10 seconds'), and window.start and window.end in the SELECT.",
    "HOP": "Write GROUP BY window(ts, '10 seconds', '2 seconds'): Spark expects the size first, then the slide.",
    "SESSION": "Write GROUP BY session_window(ts, '10 seconds'), and session_window.start in the SELECT.",
}
_MATCH_CLAUSES: Final = frozenset({"PARTITION", "ORDER", "MEASURES", "PATTERN", "DEFINE", "ONE", "ALL", "AFTER"})
# After these, the next word is a name: FROM emit changes reads a table with an alias.
_BEFORE_NAMES: Final = frozenset({"FROM", "JOIN", "STREAM", "TABLE", "AS", ".", ","})


def refuse_foreign_words(found: Sequence[Token]) -> None:
    """Refuse Flink's and ksqlDB's clauses. found: the tokens of a body, without comments.

    Raises StatementError UNSUPPORTED_QUERY with the place of the clause.
    """
    for at, token in enumerate(found):
        word, following = token.word, _symbol_or_word(found, at + 1)
        if word == "TABLE" and following == "(" and _is_window(found, at + 2):
            raise _window(found[at + 2])
        if word == "SYSTEM_TIME" and _symbol_or_word(found, at - 1) == "FOR" and _is_of_column(found, at):
            raise _refused(
                found[at - 1],
                "FOR SYSTEM_TIME AS OF a column is not a clause of Spark.",
                "For processing time, leave out FOR SYSTEM_TIME AS OF: each batch reads the table as it is then."
                " For an event time, keep all versions with their times in the table and write"
                " ASOF JOIN ... MATCH_CONDITION (...) ON ....",
            )
        if word == "MATCH_RECOGNIZE" and following == "(" and _is_match(found, at + 2):
            raise _refused(token, "MATCH_RECOGNIZE is not supported.", "")
    _refuse_emit(found)


def _refuse_emit(found: Sequence[Token]) -> None:
    if [token.word for token in found[-2:]] not in (["EMIT", "CHANGES"], ["EMIT", "FINAL"]):
        return
    if _symbol_or_word(found, len(found) - 3) in _BEFORE_NAMES:
        return
    clause = f"EMIT {found[-1].word}"
    verb = "SINK INTO for each change of a result" if found[-1].word == "CHANGES" else "INSERT INTO for final rows"
    raise _refused(found[-2], f"{clause} is not a clause of Spark.", f"Leave out {clause}. Write {verb}.")


def _is_window(found: Sequence[Token], at: int) -> bool:
    """Return whether NAME(... DESCRIPTOR(column) ...) begins at the index `at`."""
    name = found[at].word if at < len(found) else ""
    if name not in (*_WINDOWS, "CUMULATE") or _symbol_or_word(found, at + 1) != "(":
        return False
    depth = 0
    for index in range(at + 1, len(found)):
        depth += {"(": 1, ")": -1}.get(found[index].text, 0)
        if depth == 0:
            return False
        if found[index].word == "DESCRIPTOR" and _symbol_or_word(found, index + 1) == "(":
            return True
    return False


def _window(name: Token) -> StatementError:
    message = f"The table function {name.word} of Flink is not supported."
    return _refused(name, message, _WINDOWS.get(name.word, "Spark has no window of this kind."))


def _is_match(found: Sequence[Token], at: int) -> bool:
    """Return whether a clause begins at `at`; a list of column names has a comma or parenthesis after the word."""
    return _symbol_or_word(found, at) in _MATCH_CLAUSES and _symbol_or_word(found, at + 1) not in (",", ")")


def _is_of_column(found: Sequence[Token], at: int) -> bool:
    """Return whether AS OF table.column follows the index `at`; Spark accepts only constants there."""
    following = [_symbol_or_word(found, index) for index in range(at + 1, at + 5)]
    return following[:2] == ["AS", "OF"] and following[3] == "." and found[at + 3].kind in (Kind.WORD, Kind.QUOTED)


def _symbol_or_word(found: Sequence[Token], index: int) -> str:
    if not 0 <= index < len(found):
        return ""
    return found[index].text if found[index].kind is Kind.SYMBOL else found[index].word


def _refused(token: Token, message: str, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_QUERY", message, place=token.place, hint=hint)
