"""Make expressions of sqlglot from the bodies of jobs.

sqlglot's parser for Spark reads the user's text after a few changes of its tokens: SINK INTO becomes INSERT INTO, and
the clauses of streams are cut out (`stream_clauses`). The expression has them as arguments again: `sink` (True) of an
Insert, and those of AUTO CDC. A body that sqlglot cannot parse, or that it would write with other names and values, is
a Command with the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from jetsql.errors import Span
from jetsql.language.statement import Body, Verb
from jetsql.language.tokens import Kind, tokens, unquote
from jetsql.sqlglot_dialect.generate_sql import body_sql
from jetsql.sqlglot_dialect.sqlglot_tokens import Place, copy_token, read_tokens, word
from jetsql.sqlglot_dialect.stream_clauses import CannotParse, ClauseCutter

# FOR SYSTEM_TIME is a name here: other than TIMESTAMP, which sqlglot writes for it, it can have columns.
_KEYWORDS: Final = {word for keyword in Spark.Tokenizer.KEYWORDS for word in keyword.upper().split()} - {"SYSTEM_TIME"}
# Further words that sqlglot adds, leaves out or writes otherwise, without a change of the meaning.
_SYNTAX: Final = frozenset(
    "SINK AUTO CDC KEYS SEQUENCE COLUMNS APPLY STORED SCD TYPE CAST INTERVAL EXTRACT TRY_CAST NULLS DELAY WATERMARK"
    " STREAM OUTER INNER INSERT SECOND SECONDS MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS MONTH MONTHS"
    " YEAR YEARS".split()
)
_FIELD: Final = re.compile(r"col\d+")
_SUFFIXES: Final = "lsyfdLSYFDbB"


class BodyTrees:
    """Make the expressions of one statement's body."""

    def __init__(self, spark: Dialect, text: str, place: Place, script: str) -> None:
        """Create it. text: the statement. place: of the statement in the script, from which sqlglot cuts texts."""
        self._spark = spark
        self._text = text
        self._place = place
        self._script = script

    def tree(self, body: Body) -> exp.Expression:
        """Return the expression of a body; a Command if sqlglot cannot parse the body."""
        try:
            tree = self.parse(body)
            is_same = self._is_same(tree, body)
        except (CannotParse, SqlglotError, RecursionError):
            is_same = False
        if is_same:
            return tree
        verb, _, rest = body.text.partition(" ")
        return exp.Command(this=verb, expression=rest)

    def parse(self, body: Body) -> exp.Expression:
        """Return the expression of a body. Raises CannotParse, from the error of sqlglot if it has one."""
        if body.changes is not None:
            return self._parse_changes(body)
        if body.text[: len("CREATE")].upper() == "CREATE":
            return self._parse_tokens(self._part(body.place), [])
        targets = [branch.target for branch in body.branches] or [body.target]
        verbs = [branch.verb for branch in body.branches] or [body.verb]
        tree = self._parse_tokens(self._part(body.place), targets)
        if isinstance(tree, exp.Insert) and len(verbs) == 1:
            tree.set("sink", True if body.verb is Verb.SINK_INTO else None)
            return tree
        inserts = list(tree.find_all(exp.Insert, bfs=False))
        if len(inserts) != len(verbs):
            raise CannotParse
        for insert, verb in zip(inserts, verbs, strict=True):
            if verb is Verb.SINK_INTO:
                insert.set("sink", True)
        return tree

    def table_tree(self, clauses: str, name: Span) -> exp.Expression:
        """Return the Create of a table from its name and the clauses after it. Raises CannotParse."""
        head = [Token(TokenType.CREATE, "CREATE"), Token(TokenType.TABLE, "TABLE")]
        start = self._text.index(clauses, name.stop) if clauses else name.stop
        rest = self._part(Span(start, start + len(clauses)))
        return self._parse_tokens([*head, *_names(self._part(name)), *rest], [])

    def _part(self, place: Span) -> list[Token]:
        """Return the tokens of a part of the statement, at their places in the script. Raises CannotParse."""
        line, column = place.line(self._text), place.column(self._text)
        at = Place(
            self._place.offset + place.start,
            self._place.line + line - 1,
            column + (self._place.column if line == 1 else 0),
        )
        try:
            return read_tokens(self._spark, self._text[place.start : place.stop], at)
        except SqlglotError as error:
            raise CannotParse from error

    def _parse_tokens(self, found: Sequence[Token], targets: Sequence[Span]) -> exp.Expression:
        changed = list(found)
        names = [Span(target.start + self._place.offset, target.stop + self._place.offset) for target in targets]
        for name in names:
            _change_insert(changed, name)
        return ClauseCutter(self._spark, self._script, [name.stop for name in names]).parse(changed)

    def _parse_changes(self, body: Body) -> exp.Expression:
        """Return the Insert of AUTO CDC: its query reads the source, and the clauses are arguments."""
        changes = body.changes
        assert changes is not None
        first = min(place.start for place in (*changes.key_places, changes.sequence))
        source = tokens_before_keys(self._text, body, first)
        table, rest = self._part(body.target), self._part(source)
        head = [Token(TokenType.INSERT, "INSERT"), Token(TokenType.INTO, "INTO")]
        query = [Token(TokenType.SELECT, "SELECT"), Token(TokenType.STAR, "*")]
        insert = self._parse_tokens([*head, *_names(table), *query, *rest], [])
        if not isinstance(insert, exp.Insert):
            raise CannotParse
        insert.set("auto_cdc", True)
        insert.set("keys", [self._name(place) for place in changes.key_places])
        insert.set("sequence_by", self._parse_tokens(self._part(changes.sequence), []))
        if changes.delete_when is not None:
            insert.set("delete_when", self._parse_tokens(self._part(changes.delete_when), []))
        if changes.columns is not None:
            insert.set("cdc_columns", exp.Var(this=self._text[changes.columns.start : changes.columns.stop]))
        *_, scd, kind, number = tokens(body.text)
        if (scd.word, kind.word) == ("SCD", "TYPE"):
            insert.set("scd_type", exp.Literal.number(number.text))
        return insert

    def _name(self, place: Span) -> exp.Identifier:
        text = self._text[place.start : place.stop]
        is_quoted = text.startswith("`")
        return exp.Identifier(this=unquote(text) if is_quoted else text, quoted=is_quoted)

    def _is_same(self, tree: exp.Expression, body: Body) -> bool:
        """Return whether the SQL of the tree has the names and values of the body."""
        return _words(body_sql(self._spark, tree, {})) == _words(body.text)


def tokens_before_keys(text: str, body: Body, first: int) -> Span:
    """Return the place of the FROM of AUTO CDC with its source. first: the offset of the first key."""
    found = [token for token in tokens(text, body.target.stop) if token.start < first]
    at = max(index for index, token in enumerate(found) if token.word == "KEYS")
    return Span(found[0].start, found[at - 1].stop)


def _change_insert(found: list[Token], target: Span) -> None:
    """Make INSERT INTO of the SINK INTO before a table, and a name of a table that is called like a keyword."""
    at = next((index for index, token in enumerate(found) if token.start == target.start), None)
    if at is None:
        raise CannotParse
    before = at - 1
    before -= word(found[before]) == "TABLE"
    if word(found[before - 1]) == "SINK":
        found[before - 1] = copy_token(found[before - 1], TokenType.INSERT, "INSERT")
    stop = next((index for index in range(at, len(found)) if found[index].start >= target.stop), len(found))
    found[at:stop] = _names(found[at:stop])


def _names(found: Sequence[Token]) -> list[Token]:
    """Return the tokens of a qualified name, with keywords as quoted names."""
    if any(token.text == "(" for token in found):
        return list(found)
    plain = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT)
    return [
        token if token.token_type in plain else copy_token(token, TokenType.IDENTIFIER, token.text) for token in found
    ]


def _words(text: str) -> Counter[str]:
    """Return the names and values in a text, without the words of the language."""
    found: Counter[str] = Counter()
    names = ["", ""]  # of the last two tokens: sqlglot writes struct(a, 1) as STRUCT(a AS a, 1 AS col2)
    for token in tokens(text):
        name = unquote(token.text) if token.kind is Kind.QUOTED else token.text
        repeats = names[1].upper() == "AS" and (names[0].lower() == name.lower() or bool(_FIELD.fullmatch(name)))
        names = [names[1], name]
        if token.kind in (Kind.WORD, Kind.QUOTED):
            if name.upper() not in _KEYWORDS and name.upper() not in _SYNTAX and not repeats:
                found[name.lower()] += 1
        elif token.kind is Kind.STRING:
            found[unquote(token.text)] += 1
        elif token.kind is Kind.NUMBER:
            found[token.text.rstrip(_SUFFIXES)] += 1
        elif token.kind is Kind.OPEN:
            found[token.text] += 1
    return found
