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

_BEFORE_RELATIONS: Final = (_BEFORE_NAMES - {"AS"}) | {"INTO"}
_NO_ALIASES: Final = _BEFORE_NAMES | {"INTO"}
_AFTER_RELATIONS: Final = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "ON", "USING"})
_ENDS_OF_TIMES: Final = _AFTER_RELATIONS | {"FROM", "JOIN", "SELECT"}
_EXPLAINED_JOBS: Final = [[mode, "JOB"] for mode in ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")]
_AS_OF: Final = ["SYSTEM_TIME", "AS", "OF"]
_EXAMPLES: Final = {
    "FOR SYSTEM_TIME": "FOR SYSTEM_TIME AS OF s.ts",
    "WITH": "WITH ('key' = 'value')",
    "WATERMARK": "WATERMARK ts DELAY OF INTERVAL 1 MINUTE",
}
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
    refuse_misplaced_clauses(found)


def refuse_misplaced_clauses(found: Sequence[Token]) -> None:
    """Refuse EMIT, and clauses of a relation in a wrong order, in a query. found: its tokens, without comments.

    Spark never accepts these, and names a word after them. Raises as `refuse_foreign_words`.
    """
    _refuse_wrong_orders(found)
    if [token.word for token in found[-2:]] not in (["EMIT", "CHANGES"], ["EMIT", "FINAL"]):
        return
    if _symbol_or_word(found, len(found) - 3) in _BEFORE_NAMES:
        return
    clause = f"EMIT {found[-1].word}"
    verb = "SINK INTO for each change of a result" if found[-1].word == "CHANGES" else "INSERT INTO for final rows"
    raise _refused(found[-2], f"{clause} is not a clause of Spark.", f"Leave out {clause}. In a job, write {verb}.")


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


def _refuse_wrong_orders(found: Sequence[Token]) -> None:
    """Refuse the clauses of a relation after its alias, after WHERE and the like, and WITH after WATERMARK."""
    for index in range(3, len(found)):
        clause = _relation_clause(found, index)
        if not clause:
            continue
        example, before = _EXAMPLES[clause], _clause_before(found, index)
        if before == "WATERMARK" and clause == "WITH":
            raise _misplaced(found[index], "WITH is written after WATERMARK.", f"{example} WATERMARK ts DELAY OF")
        if before in _AFTER_RELATIONS:
            raise _misplaced(found[index], f"{clause} is written after {before}.", f"FROM STREAM t {example}")
        alias, previous = found[index - 1], _symbol_or_word(found, index - 2)
        if alias.kind not in (Kind.WORD, Kind.QUOTED) or alias.word in _NO_ALIASES or previous in _BEFORE_RELATIONS:
            continue
        message = f"The alias {alias.text} is written before {clause}."
        raise _misplaced(alias, message, f"{example} AS {alias.text}")


def _relation_clause(found: Sequence[Token], index: int) -> str:
    """Return the clause of a relation that begins at the index: WATERMARK, WITH or FOR SYSTEM_TIME; otherwise ''."""
    if found[index].word == "FOR" and [token.word for token in found[index + 1 : index + 4]] == _AS_OF:
        return "FOR SYSTEM_TIME"
    if _begins_options(found, index):
        return "WITH"
    return "WATERMARK" if _is_watermark(found, index) else ""


def _begins_options(found: Sequence[Token], index: int) -> bool:
    """Return whether WITH ('key' = 'value' begins at the index."""
    words = [token.word or token.text for token in found[index : index + 4]]
    if words[:2] != ["WITH", "("] or words[3:] != ["="]:
        return False
    return found[index + 2].kind is Kind.STRING


def _clause_before(found: Sequence[Token], index: int) -> str:
    """Return the word that begins the clause before the index, at the same depth; '' for the name of a relation."""
    depth = 0
    for at in range(index - 1, max(index - _LONGEST_TIME, 0), -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth < 0 or (not depth and found[at].word in ("FROM", "JOIN", "INTO")):
            return ""
        if not depth and (found[at].word in _AFTER_RELATIONS or _is_watermark(found, at)):
            return found[at].word
    return ""


def _misplaced(token: Token, message: str, order: str) -> StatementError:
    hint = f"The order is: table, FOR SYSTEM_TIME, WITH (...), WATERMARK, AS alias. Write {order}."
    return StatementError("PARSE_SYNTAX_ERROR", message, place=token.place, hint=hint)


def _is_watermark(found: Sequence[Token], index: int) -> bool:
    """Return whether WATERMARK is at the index, and DELAY OF INTERVAL follows in the same parentheses."""
    if found[index].word != "WATERMARK":
        return False
    for at in top_level(found[index:]):
        token = found[index + at]
        if token.text == ")" or token.word in _ENDS_OF_TIMES or at > _LONGEST_TIME:
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
