"""Name Spark's spelling for statements, clauses and functions of Flink, ksqlDB and others that Spark does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.language.statement_head import after_explain
from jetsql.language.tokens import Kind, Token

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
    if words[:1] == ["EXPLAIN"] and [token.word for token in after_explain(found)[:1]] == ["JOB"]:
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
