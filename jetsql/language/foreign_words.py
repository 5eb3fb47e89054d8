"""Name Spark's spelling for clauses and functions of Flink and ksqlDB that Spark does not have, and the right places.

Only clauses that Spark never accepts are refused, so a user's own function or table can have any of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.tokens import Kind, Token, top_level

# After these, the next word is a name: FROM emit changes reads a table with an alias.
_BEFORE_NAMES: Final = frozenset({"FROM", "JOIN", "STREAM", "TABLE", "AS", ".", ","})

_BEFORE_RELATIONS: Final = _BEFORE_NAMES - {"AS"}
_AFTER_RELATIONS: Final = frozenset({"FROM", "JOIN", "WHERE", "SELECT", "GROUP"})
_EXPLAINED_JOBS: Final = [[mode, "JOB"] for mode in ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")]
_LONGEST_TIME: Final = 1_000  # tokens of the expression after WATERMARK

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


def foreign_statement_hint(found: Sequence[Token]) -> str:
    """Return the hint for a statement of Flink that Spark refuses, or ''. found: its tokens, without comments."""
    words = [token.word for token in found[:4]]
    if words[:1] == ["SET"] and len(found) > 1 and found[1].kind is Kind.STRING:
        return "Write SET without quotes: SET key = value."
    if "STATEMENT" in words[:3] and words[0] in ("BEGIN", "EXECUTE"):
        return "Write CREATE JOB name AS FROM STREAM s INSERT INTO a SELECT ... INSERT INTO b SELECT ..."
    if words[:2] == ["EXPLAIN", "JOB"] or (words[:1] == ["EXPLAIN"] and words[1:3] in _EXPLAINED_JOBS):
        return "DESCRIBE JOB name shows a job, and EXPLAIN CREATE JOB ... the plan of a statement."
    if any(token.word == "WATERMARK" and found[at].word == "FOR" for at, token in enumerate(found[:-1], start=1)):
        return "Spark's watermark is not in the table. Write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS."
    return ""


def refuse_foreign_words(found: Sequence[Token]) -> None:
    """Refuse ksqlDB's clause EMIT, and clauses at a wrong place. found: the tokens of a body, without comments.

    Raises StatementError UNSUPPORTED_QUERY or PARSE_SYNTAX_ERROR with the place of the clause.
    """
    _refuse_late_options(found)
    _refuse_alias_before_watermark(found)
    if [token.word for token in found[-2:]] not in (["EMIT", "CHANGES"], ["EMIT", "FINAL"]):
        return
    if _symbol_or_word(found, len(found) - 3) in _BEFORE_NAMES:
        return
    clause = f"EMIT {found[-1].word}"
    verb = "SINK INTO for each change of a result" if found[-1].word == "CHANGES" else "INSERT INTO for final rows"
    raise _refused(found[-2], f"{clause} is not a clause of Spark.", f"Leave out {clause}. Write {verb}.")


def _refuse_late_options(found: Sequence[Token]) -> None:
    """Refuse OPTIONS in or after the query of a body. A list of columns has no string in it."""
    in_query = False
    for index in top_level(found):
        word = found[index].word
        in_query = in_query or word in ("SELECT", "VALUES", "FROM")
        has_string = index + 2 < len(found) and found[index + 2].kind is Kind.STRING
        is_of_job = word == "OPTIONS" and index > 0 and found[index - 1].word == "JOB"
        if word != "OPTIONS" or not has_string or not (in_query or is_of_job):
            continue
        where = "JOB OPTIONS (...) right after the name of the table" if is_of_job else "OPTIONS (...) before AS"
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            "The options of the job are at the wrong place.",
            place=found[index - is_of_job].place,
            hint=f"Write {where}. Those of a source are WITH ('key' = 'value') after its name.",
        )


def _refuse_alias_before_watermark(found: Sequence[Token]) -> None:
    for index, token in enumerate(found):
        if token.word != "WATERMARK" or index < 3 or not _has_delay(found, index):
            continue
        alias, before = found[index - 1], _symbol_or_word(found, index - 2)
        if alias.kind not in (Kind.WORD, Kind.QUOTED) or alias.word in _BEFORE_NAMES or before in _BEFORE_RELATIONS:
            continue
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            f"The alias {alias.text} is written before WATERMARK.",
            place=alias.place,
            hint=f"Write it after the delay: WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS {alias.text}.",
        )


def _has_delay(found: Sequence[Token], index: int) -> bool:
    """Return whether DELAY OF INTERVAL follows in the same parentheses."""
    for at in top_level(found[index:]):
        token = found[index + at]
        if token.text == ")" or token.word in _AFTER_RELATIONS or at > _LONGEST_TIME:
            return False
        if [token.word for token in found[index + at : index + at + 2]] == ["DELAY", "OF"]:
            return at > 1
    return False


def _symbol_or_word(found: Sequence[Token], index: int) -> str:
    if not 0 <= index < len(found):
        return ""
    return found[index].text if found[index].kind is Kind.SYMBOL else found[index].word


def _refused(token: Token, message: str, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_QUERY", message, place=token.place, hint=hint)
