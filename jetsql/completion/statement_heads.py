"""The beginnings of Spark's statements as patterns of words and kinds of names.

Queries, and statements that contain a query, continue with clauses (`...`), which `query_reader` reads; all others are
described to their end, as far as users type them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Final

from jetsql.language.tokens import Kind, Token


class NameSlot(Enum):
    """The kinds of names in a pattern."""

    TABLE = "table"
    VIEW = "view"
    RELATION = "relation"  # a table or a view
    SCHEMA = "schema"
    FUNCTION = "function"
    CONF = "conf"
    NEW = "new"
    FORMAT = "format"
    TEXT = "text"  # a string


# [A B]: optional. A|B: alternatives. {x}: a slot. ...: clauses of a query. @: a whole statement.
_PATTERNS: Final = """
SELECT ...
WITH ...
FROM ...
VALUES ...
TABLE {relation}
INSERT ...
MERGE ...
UPDATE ...
DELETE ...
EXPLAIN [EXTENDED|FORMATTED|CODEGEN|COST] @
USE [SCHEMA|DATABASE] {schema}
SET {conf}
SET TIME ZONE LOCAL
RESET [{conf}]
SHOW TABLES|VIEWS [IN|FROM {schema}] [LIKE {text}]
SHOW SCHEMAS|DATABASES [LIKE {text}]
SHOW COLUMNS IN|FROM {relation} [IN|FROM {schema}]
SHOW CREATE TABLE {relation} [AS SERDE]
SHOW TBLPROPERTIES|PARTITIONS {relation}
SHOW [USER|SYSTEM] FUNCTIONS [IN|FROM {schema}] [LIKE {text}]
SHOW CATALOGS|COLLATIONS
SHOW CURRENT SCHEMA
DESCRIBE|DESC [TABLE] [EXTENDED|FORMATTED] {relation} [AS JSON]
DESCRIBE|DESC FUNCTION [EXTENDED] {function}
DESCRIBE|DESC SCHEMA|DATABASE [EXTENDED] {schema}
DESCRIBE|DESC QUERY ...
DROP TABLE [IF EXISTS] {table} [PURGE]
DROP VIEW [IF EXISTS] {view}
DROP SCHEMA|DATABASE [IF EXISTS] {schema} [CASCADE|RESTRICT]
DROP [TEMPORARY] FUNCTION [IF EXISTS] {function}
TRUNCATE TABLE {table}
REFRESH [TABLE] {relation}
REFRESH FUNCTION {function}
MSCK REPAIR TABLE {table}
ANALYZE TABLE {table} COMPUTE STATISTICS [FOR ALL COLUMNS]
CACHE [LAZY] TABLE {relation}
CACHE [LAZY] TABLE {new} AS ...
UNCACHE TABLE [IF EXISTS] {relation}
CLEAR CACHE
ALTER TABLE {table} RENAME TO {new}
ALTER TABLE {table} ADD|REPLACE COLUMNS
ALTER TABLE {table} RENAME|DROP COLUMN
ALTER TABLE {table} ADD|DROP [IF NOT EXISTS] PARTITION
ALTER TABLE {table} SET|UNSET TBLPROPERTIES
ALTER TABLE {table} SET LOCATION {text}
ALTER TABLE {table} RECOVER PARTITIONS
ALTER VIEW {view} AS ...
ALTER VIEW {view} RENAME TO {new}
ALTER VIEW {view} SET|UNSET TBLPROPERTIES
ALTER SCHEMA|DATABASE {schema} SET DBPROPERTIES
ALTER SCHEMA|DATABASE {schema} SET LOCATION {text}
CREATE SCHEMA|DATABASE [IF NOT EXISTS] {new} [COMMENT {text}] [LOCATION {text}]
CREATE TABLE [IF NOT EXISTS] {new} LIKE {relation}
CREATE TABLE [IF NOT EXISTS] {new} [USING {format}] [PARTITIONED BY] [LOCATION {text}] [COMMENT {text}] [AS ...]
CREATE [OR REPLACE] [TEMPORARY] VIEW [IF NOT EXISTS] {new} [COMMENT {text}] AS ...
CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] {new}
COMMENT ON TABLE {relation} IS {text}
COMMENT ON SCHEMA {schema} IS {text}
BEGIN
"""
_ORDER: Final = "SELECT WITH INSERT CREATE SHOW DESCRIBE DROP USE SET EXPLAIN FROM VALUES".split()


@dataclass
class _Node:
    """A point in the patterns. clauses, statement: a query's clauses, or a whole statement, continue here."""

    words: dict[str, _Node] = field(default_factory=dict)
    slots: dict[NameSlot, _Node] = field(default_factory=dict)
    clauses: bool = False
    statement: bool = False


@dataclass(frozen=True)
class ExpectedHead:
    """The words and names that the patterns expect next. clauses: clauses of a query may follow."""

    words: tuple[str, ...]
    slots: tuple[NameSlot, ...]
    clauses: bool


def expected_after(before: Sequence[Token]) -> ExpectedHead:
    """Return the words and names that can follow these tokens: a statement's beginning, without a last qualifier."""
    nodes = [_root()]
    for item in _items(before):
        stepped = [following for node in nodes for following in _step(node, item)]
        nodes = [node for node in nodes if node.clauses] + stepped
        nodes += [_root() for node in stepped if node.statement]
        if all(node.clauses and not node.words and not node.slots for node in nodes):
            break  # clauses follow, so later tokens do not matter
    keywords = {word: None for node in nodes for word in node.words}
    slots = {slot: None for node in nodes for slot in node.slots}
    return ExpectedHead(tuple(keywords), tuple(slots), any(node.clauses for node in nodes))


def _items(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with each dotted name as one quoted token, without the contents of closed parentheses."""
    index = 0
    while index < len(tokens):
        first, token = index, tokens[index]
        if token.text == "(" and (end := _closing_index(tokens, index)):
            index = end + 1
            continue
        while index + 2 < len(tokens) and tokens[index + 1].text == "." and tokens[index].kind is not Kind.SYMBOL:
            index += 2
        yield token if index == first else Token(Kind.QUOTED, "``", token.start, tokens[index].stop)
        index += 1


def _closing_index(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the closing parenthesis, or 0."""
    depth = 0
    for at in range(index, len(tokens)):
        if tokens[at].kind is Kind.SYMBOL and tokens[at].text in "()":
            depth += 1 if tokens[at].text == "(" else -1
            if depth == 0:
                return at
    return 0


def _step(node: _Node, token: Token) -> Iterator[_Node]:
    if token.word in node.words:
        yield node.words[token.word]
    for slot, following in node.slots.items():
        if token.kind is Kind.STRING if slot is NameSlot.TEXT else token.kind in (Kind.WORD, Kind.QUOTED):
            yield following


@cache
def _root() -> _Node:
    root = _Node()
    for word in _ORDER:
        root.words[word] = _Node()
    for pattern in _PATTERNS.strip().splitlines():
        _add([root], pattern)
    return root


def _add(nodes: list[_Node], pattern: str) -> None:
    for element in _elements(pattern):
        next_nodes = nodes
        for word in element.strip("[]").split():
            next_nodes = [_get_node(node, choice) for node in next_nodes for choice in word.split("|")]
        nodes = (nodes if element.startswith("[") else []) + next_nodes


def _elements(pattern: str) -> Iterator[str]:
    """Yield the parts of a pattern: a bracketed group or a word."""
    rest = pattern
    while rest:
        part, _, rest = rest.partition("] ") if rest.startswith("[") else rest.partition(" ")
        yield part


def _get_node(node: _Node, word: str) -> _Node:
    """Return the node after this word or slot; create it if necessary."""
    if word == "...":
        node.clauses = True
    elif word == "@":
        node.statement = True
    elif word.startswith("{"):
        return node.slots.setdefault(NameSlot(word.strip("{}")), _Node())
    else:
        return node.words.setdefault(word, _Node())
    return node
