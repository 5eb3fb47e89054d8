"""Name Spark's spelling for clauses and functions of Flink and ksqlDB that Spark does not have.

Only clauses that Spark never accepts are refused, so a user's own function or table can have any of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.tokens import Kind, Token

# After these, the next word is a name: FROM emit changes reads a table with an alias.
_BEFORE_NAMES: Final = frozenset({"FROM", "JOIN", "STREAM", "TABLE", "AS", ".", ","})

SPARK_FUNCTIONS: Final = {
    "COLLECT": "collect_list(value)",
    "EARLIEST_BY_OFFSET": "min_by(value, ts)",
    "EXTRACTJSONFIELD": "get_json_object(json, '$.name')",
    "HOP": "window(ts, '10 minutes', '1 minute')",
    "HOP_END": "window(ts, '10 minutes', '1 minute').end",
    "HOP_START": "window(ts, '10 minutes', '1 minute').start",
    "JSON_QUERY": "get_json_object(json, '$.name')",
    "JSON_VALUE": "get_json_object(json, '$.name')",
    "LATEST_BY_OFFSET": "max_by(value, ts)",
    "SESSION": "session_window(ts, '10 minutes')",
    "SESSION_END": "session_window(ts, '10 minutes').end",
    "SESSION_START": "session_window(ts, '10 minutes').start",
    "SPLIT_INDEX": "split_part(text, ',', 1), which counts from 1",
    "STRINGTOTIMESTAMP": "unix_millis(to_timestamp(text, 'yyyy-MM-dd'))",
    "TIMESTAMPTOSTRING": "date_format(timestamp_millis(millis), 'yyyy-MM-dd')",
    "TUMBLE": "window(ts, '1 minute')",
    "TUMBLE_END": "window(ts, '1 minute').end",
    "TUMBLE_START": "window(ts, '1 minute').start",
}
"""An example with Spark's function for each function of Flink, ksqlDB and RisingWave that Spark does not have."""


def refuse_foreign_words(found: Sequence[Token]) -> None:
    """Refuse ksqlDB's clause EMIT. found: the tokens of a body, without comments.

    Raises StatementError UNSUPPORTED_QUERY with the place of the clause.
    """
    if [token.word for token in found[-2:]] not in (["EMIT", "CHANGES"], ["EMIT", "FINAL"]):
        return
    if _symbol_or_word(found, len(found) - 3) in _BEFORE_NAMES:
        return
    clause = f"EMIT {found[-1].word}"
    verb = "SINK INTO for each change of a result" if found[-1].word == "CHANGES" else "INSERT INTO for final rows"
    raise _refused(found[-2], f"{clause} is not a clause of Spark.", f"Leave out {clause}. Write {verb}.")


def _symbol_or_word(found: Sequence[Token], index: int) -> str:
    if not 0 <= index < len(found):
        return ""
    return found[index].text if found[index].kind is Kind.SYMBOL else found[index].word


def _refused(token: Token, message: str, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_QUERY", message, place=token.place, hint=hint)
