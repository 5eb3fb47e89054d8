"""Read the parts of CREATE TABLE and CREATE VIEW, as a file has them and as SHOW CREATE TABLE returns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from jetsql.jobs.planning.update_verdict import normalised_words
from jetsql.language.statement_head import name_part
from jetsql.language.tokens import Kind, Token, closing_parenthesis, tokens, top_level, unquote
from jetsql.sqlfiles.statement_names import CreatedObject, created_by_spark
from jetsql.sqlglot_dialect.same_text import TYPE_SYNONYMS

_TYPE_NAMES: Final = {**TYPE_SYNONYMS, "CHARACTER": "CHAR", "TIMESTAMP_LTZ": "TIMESTAMP"}
# Words that end the type of a column.
_AFTER_TYPE: Final = frozenset({"NOT", "NULL", "COMMENT", "DEFAULT", "GENERATED", "CONSTRAINT", "PRIMARY", "CHECK"})
_CONSTRAINTS: Final = frozenset({"CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK"})
_DEFAULT_COLLATION: Final = "UTF8_BINARY"


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of a table or view."""

    name: str
    type: str  # as types are compared; empty for a column of a view
    written: str  # the type as written
    comment: str | None = None
    token: Token | None = None  # of the name


@dataclass
class TableDefinition:
    """The parts of a statement that creates a table or view. A part that is not written is None."""

    columns: list[ColumnDefinition] | None = None  # in the order of the table: those of partitions come last
    provider: str | None = None
    partitions: list[str] = field(default_factory=list)  # column names or transforms, as they are compared
    buckets: str = ""
    options: dict[str, str] = field(default_factory=dict)  # by lower-case key
    properties: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    query: tuple[str, ...] | None = None  # the words of the query
    places: dict[str, Token] = field(default_factory=dict)  # of clauses, options and properties, by their names


def read_definition(text: str) -> TableDefinition | None:
    """Return the parts of a statement; None for another statement than CREATE TABLE or CREATE VIEW of Spark."""
    found = list(tokens(text))
    created = created_by_spark(found)
    if created is None or created.kind not in ("TABLE", "VIEW"):
        return None
    return _DefinitionReader(text, found, created).read()


def canonical_type(words: Sequence[Token]) -> str:
    """Return a type in the form in which types are compared."""
    parts: list[str] = []
    skipped = 0
    for index, token in enumerate(words):
        if skipped:
            skipped -= 1
            continue
        following = words[index + 1].word if index + 1 < len(words) else ""
        if token.word == "COLLATE" and following == _DEFAULT_COLLATION:
            skipped = 1
        elif (token.word == "COMMENT" and index + 1 < len(words) and words[index + 1].kind is Kind.STRING) or (
            token.word == "NOT" and following == "NULL"
        ):
            skipped = 1
        elif token.text != ":":
            word = name_part(token).upper()
            parts.append(_TYPE_NAMES.get(word, word))
            has_digits = index + 1 < len(words) and words[index + 1].text == "("
            if parts[-1] == "DECIMAL" and not has_digits:
                parts.append("( 10 , 0 )")
    return " ".join(parts)


class _DefinitionReader:
    """Read the clauses after the name, in any order."""

    def __init__(self, text: str, found: list[Token], created: CreatedObject) -> None:
        self._text = text
        self._found = found
        self._at = created.stop
        self._is_view = created.kind == "VIEW"
        self._definition = TableDefinition()

    def read(self) -> TableDefinition:
        """Return the parts of the statement."""
        definition = self._definition
        if self._peek() == "(":
            definition.columns = list(self._columns(self._parentheses()))
        while self._at < len(self._found):
            if self._clause():
                break
        if definition.columns is not None:
            ranks = {name: rank for rank, name in enumerate(definition.partitions, 1)}
            definition.columns.sort(key=lambda column: ranks.get(column.name.lower(), 0))
        return definition

    def _clause(self) -> bool:
        """Read a clause; return whether it is the last one, the query."""
        definition, token = self._definition, self._found[self._at]
        word, following = token.word, self._peek(1).upper()
        self._at += 1
        if word == "USING" and self._at < len(self._found):
            definition.places["USING"] = token
            definition.provider = name_part(self._found[self._at]).lower()
            self._at += 1
        elif word == "OPTIONS" and following == "(":
            definition.options = self._pairs("option ")
        elif word == "TBLPROPERTIES" and following == "(":
            definition.properties = self._pairs("property ")
        elif word == "PARTITIONED" and following == "BY":
            self._at += 1
            definition.places["PARTITIONED"] = token
            self._partitions()
        elif word == "CLUSTERED" and following == "BY":
            definition.buckets = self._bucket_clause()
        elif word == "COMMENT" and self._at < len(self._found) and self._found[self._at].kind is Kind.STRING:
            definition.places["COMMENT"] = token
            definition.comment = unquote(self._found[self._at].text)
            self._at += 1
        elif word == "AS" or (word in ("SELECT", "WITH", "FROM", "VALUES") and following != "SCHEMA"):
            start = self._found[self._at if word == "AS" else self._at - 1].start if self._at < len(self._found) else 0
            definition.query = normalised_words(self._text[start:])
            return True
        return False

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._found[at].text if at < len(self._found) else ""

    def _parentheses(self) -> list[list[Token]]:
        """Return the entries of the list in parentheses here, and continue after it."""
        stop = closing_parenthesis(self._found, self._at)
        inner = self._found[self._at + 1 : stop]
        self._at = stop + 1
        entries: list[list[Token]] = [[]]
        depth = 0
        for token in inner:
            depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(token.text, 0)
            if token.text == "," and depth == 0:
                entries.append([])
            else:
                entries[-1].append(token)
        return [entry for entry in entries if entry]

    def _columns(self, entries: Sequence[Sequence[Token]]) -> Iterator[ColumnDefinition]:
        for entry in entries:
            if entry[0].word not in _CONSTRAINTS or self._is_view:
                yield self._column(entry)

    def _column(self, entry: Sequence[Token]) -> ColumnDefinition:
        outer = [each for each in _outside_types(entry) if each > 0]
        end = next((index for index in outer if entry[index].word in _AFTER_TYPE), len(entry))
        words = entry[1:end]
        at = next((index for index in outer if entry[index].word == "COMMENT" and index + 1 < len(entry)), None)
        comment = None if at is None or entry[at + 1].kind is not Kind.STRING else unquote(entry[at + 1].text)
        written = self._text[words[0].start : words[-1].stop] if words else ""
        return ColumnDefinition(name_part(entry[0]), canonical_type(words), written, comment, entry[0])

    def _partitions(self) -> None:
        for entry in self._parentheses() if self._peek() == "(" else []:
            if len(entry) > 1 and entry[1].text not in ("(", "."):
                column = self._column(entry)
                self._definition.columns = [*(self._definition.columns or []), column]
                entry = entry[:1]
            self._definition.partitions.append("".join(name_part(token) for token in entry).lower())

    def _pairs(self, prefix: str) -> dict[str, str]:
        """Return the pairs of a list of options or properties, which may have = or not."""
        pairs: dict[str, str] = {}
        for entry in self._parentheses():
            split = next((index for index, token in enumerate(entry) if token.text == "="), None)
            value_at = split + 1 if split is not None else len(entry) - 1
            key_tokens = entry[: split if split is not None else value_at]
            key = "".join(unquote(each.text) if each.kind is Kind.STRING else name_part(each) for each in key_tokens)
            value = "".join(unquote(each.text) if each.kind is Kind.STRING else each.text for each in entry[value_at:])
            pairs[key.lower()] = value
            self._definition.places[f"{prefix}{key.lower()}"] = entry[0]
        return pairs

    def _bucket_clause(self) -> str:
        """Return the words up to BUCKETS."""
        words: list[str] = []
        while self._at < len(self._found):
            token = self._found[self._at]
            words.append(name_part(token).lower())
            self._at += 1
            if token.word == "BUCKETS":
                break
        return " ".join(words)


def _outside_types(entry: Sequence[Token]) -> Iterator[int]:
    """Yield the indexes of the tokens that are in no parentheses and in no angle brackets."""
    depth = 0
    for index in top_level(entry):
        token = entry[index]
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if depth == 0:
            yield index
