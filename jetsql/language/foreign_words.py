"""Name Spark's spelling for clauses and functions of Flink and ksqlDB that Spark does not have, and the right places.

Only clauses that Spark never accepts are refused, so a user's own function or table can have any of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.body.relation_clauses import BEFORE_NAMES, refuse_wrong_relations
from jetsql.language.tokens import Kind, Token, top_level

_EXPLAINED_JOBS: Final = [[mode, "JOB"] for mode in ("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")]
_CREATED: Final = {
    "LIVE": "Write CREATE OR REFRESH STREAMING TABLE name, or MATERIALIZED VIEW, without LIVE.",
    "STREAM": "Write CREATE TABLE for a topic, and CREATE STREAMING TABLE name AS SELECT ... for a query.",
    "STREAMING": "Write CREATE STREAMING TABLE name AS SELECT ...",
    "MATERIALIZED": "Write CREATE MATERIALIZED VIEW name AS SELECT ..., or STREAMING TABLE for a query over streams.",
}
"""Hints for misspelled CREATE STREAMING TABLE and CREATE MATERIALIZED VIEW, by the word after CREATE."""
_LEAD: Final = 7  # tokens of CREATE OR REPLACE IF NOT EXISTS JOB
_WINDOWS: Final = {
    "TUMBLING": "window(ts, '1 hour')",
    "HOPPING": "window(ts, '1 hour', '10 minutes')",
    "SESSION": "session_window(ts, '1 hour')",
}
_EMITTED: Final = (["CHANGES"], ["FINAL"], ["ON", "WINDOW", "CLOSE"], ["WITHOUT", "DELAY"])

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
    """Return the hint for a statement of another system that Spark refuses, or ''. found: its tokens, no comments."""
    words = [token.word for token in found[:4]]
    if words[:1] == ["SET"] and len(found) > 1 and found[1].kind is Kind.STRING:
        return "Write SET without quotes: SET key = value."
    if words[:1] == ["ASSERT"]:
        return "In tests, write EXPECT TABLE name AS VALUES ..., or EXPECT NO ROWS AS query."
    if "STATEMENT" in words[:3] and words[0] in ("BEGIN", "EXECUTE"):
        return "Write CREATE JOB name AS FROM STREAM s INSERT INTO a SELECT ... INSERT INTO b SELECT ..."
    if words[:2] == ["EXPLAIN", "JOB"] or (words[:1] == ["EXPLAIN"] and words[1:3] in _EXPLAINED_JOBS):
        return "DESCRIBE JOB name shows a job, and EXPLAIN CREATE JOB ... the plan of a statement."
    if words[:1] == ["CREATE"] and (hint := _created_hint([token.word for token in found[1:_LEAD]])):
        return hint
    for at, token in enumerate(found[:-1], start=1):
        if token.word == "WINDOW" and found[at].word in _WINDOWS:
            return f"Write GROUP BY {_WINDOWS[found[at].word]}."
        if token.word == "WITHIN" and found[at].kind is Kind.NUMBER:
            return "Write the bound in ON: a.ts BETWEEN b.ts - INTERVAL 1 HOUR AND b.ts + INTERVAL 1 HOUR."
    if any(token.word == "WATERMARK" and found[at].word == "FOR" for at, token in enumerate(found[:-1], start=1)):
        return "Spark's watermark is not in the table. Write FROM STREAM t WATERMARK ts DELAY OF INTERVAL 5 SECONDS."
    return ""


def _created_hint(words: list[str]) -> str:
    """Return the hint for a misspelled CREATE, or ''. words: those after CREATE"""
    kinds = words[2:] if words[:1] == ["OR"] else words
    if kinds[:1] == ["JOB"] or kinds[:2] in (["STREAMING", "TABLE"], ["MATERIALIZED", "VIEW"]):
        return ""  # the error is in its query
    if "JOB" in words and kinds[:1] not in (["TABLE"], ["VIEW"], ["FUNCTION"]):
        return "Write CREATE OR REPLACE JOB name, or CREATE JOB IF NOT EXISTS name."
    return _CREATED.get("LIVE" if "LIVE" in kinds[:2] else kinds[0], "") if kinds else ""


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
    refuse_wrong_relations(found)
    for index in range(1, len(found)):
        clause = _emit_clause(found, index)
        if clause:
            verb = "SINK INTO for each change of a result" if clause == "EMIT CHANGES" else "INSERT INTO for final rows"
            hint = f"Leave out {clause}. In a job, write {verb}."
            message = f"{clause} is not a clause of Spark."
            raise StatementError("UNSUPPORTED_QUERY", message, place=found[index].place, hint=hint)


def _emit_clause(found: Sequence[Token], index: int) -> str:
    """Return the clause EMIT of other systems that begins at the index, at the end of a query; '' for a name."""
    before = found[index - 1]
    if found[index].word != "EMIT" or (before.text if before.kind is Kind.SYMBOL else before.word) in BEFORE_NAMES:
        return ""
    for words in _EMITTED:
        end = index + 1 + len(words)
        at_end = end >= len(found) or found[end].text in (")", ";") or found[end].word == "LIMIT"
        if at_end and [token.word for token in found[index + 1 : end]] == words:
            return " ".join(["EMIT", *words])
    return ""


def _refuse_late_options(found: Sequence[Token]) -> None:
    """Refuse OPTIONS and COMMENT after AS, except in the clauses of a new table.

    A list of columns has no string in it, and neither has an alias.
    """
    in_insert = False
    for index in top_level(found):
        word = found[index].word
        in_insert = in_insert or word in ("SELECT", "VALUES", "FROM", "INTO", "OVERWRITE")
        is_of_job = word == "OPTIONS" and index > 0 and found[index - 1].word == "JOB"
        if not (in_insert or is_of_job):
            continue
        if word == "COMMENT" and _is_string(found, index + 1):
            message, hint = "The comment is at the wrong place.", "Write COMMENT 'text' before AS."
            raise StatementError("PARSE_SYNTAX_ERROR", message, place=found[index].place, hint=hint)
        if word != "OPTIONS" or not _is_string(found, index + 2):
            continue
        where = "JOB OPTIONS (...) right after the name of the table" if is_of_job else "OPTIONS (...) before AS"
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            "The options of the job are at the wrong place.",
            place=found[index - is_of_job].place,
            hint=f"Write {where}. Those of a table are WITH ('key' = 'value') after its name.",
        )


def _is_string(found: Sequence[Token], index: int) -> bool:
    return index < len(found) and found[index].kind is Kind.STRING
