"""Make expressions of sqlglot from the bodies of jobs.

sqlglot's parser for Spark reads the user's text after a few changes of its tokens: SINK INTO becomes INSERT INTO, and
the clauses of streams are cut out (`stream_clauses`). The expression has them as arguments again: `sink` (True) of an
Insert, and those of AUTO CDC. A body that sqlglot cannot parse is a Command with the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from jetsql.errors import Span
from jetsql.language import parse
from jetsql.language.statement import Body, CreateJob, NewTable, Verb
from jetsql.language.tokens import tokens, unquote
from jetsql.sqlglot_dialect.faithful_trees import faithful_tree
from jetsql.sqlglot_dialect.generate_sql import body_sql, table_clauses_sql
from jetsql.sqlglot_dialect.protected_parts import NO_PROTECTION, Protection
from jetsql.sqlglot_dialect.sqlglot_tokens import Place, copy_token, read_tokens, word
from jetsql.sqlglot_dialect.stream_clauses import CannotParse, ClauseCutter

_HEAD: Final = "CREATE JOB x AS "
_PLAIN: Final = {"comments": False}


class BodyTrees:
    """Make the expressions of one statement's body."""

    def __init__(self, spark: Dialect, text: str, place: Place, script: str) -> None:
        """Create it. text: the statement. place: of the statement in the script, from which sqlglot cuts texts."""
        self._spark = spark
        self._protection = NO_PROTECTION
        self._text = text
        self._place = place
        self._script = script

    def tree(self, body: Body) -> exp.Expression:
        """Return the expression of a body; a Command if sqlglot cannot parse the body."""

        def read(text: str, protection: Protection) -> exp.Expression:
            return self.parse(body, protection) if text is body.text else _parse_again(self._spark, text, protection)

        try:
            return faithful_tree(body.text, read, lambda tree: body_sql(self._spark, tree, _PLAIN))
        except (CannotParse, SqlglotError, RecursionError):
            verb, _, rest = body.text.partition(" ")
            return exp.Command(this=verb, expression=rest)

    def parse(self, body: Body, protection: Protection = NO_PROTECTION) -> exp.Expression:
        """Return the expression of a body. Raises CannotParse, from the error of sqlglot if it has one."""
        self._protection = protection
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

    def clauses_tree(self, table: NewTable) -> exp.Expression:
        """Return the Create of a table from the clauses after its name; its query is a Command if need be."""
        clauses = table.clauses

        def read(text: str, protection: Protection) -> exp.Expression:
            if text is clauses:
                tree = self.table_tree(text, table.name.place, protection)
            else:
                again = f"x {text}"
                trees = BodyTrees(self._spark, again, Place(0, 1, 0), again)
                tree = trees.table_tree(text, Span(0, 1), protection)
            tree.set("this", None)
            return tree

        try:
            return faithful_tree(clauses, read, lambda tree: table_clauses_sql(self._spark, tree, _PLAIN))
        except (CannotParse, SqlglotError, RecursionError):
            verb, _, rest = clauses.partition(" ")
            return exp.Create(expression=exp.Command(this=verb, expression=rest))

    def table_tree(self, clauses: str, name: Span, protection: Protection = NO_PROTECTION) -> exp.Expression:
        """Return the Create of a table from its name and the clauses after it. Raises CannotParse."""
        self._protection = protection
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
        return ClauseCutter(self._spark, self._script, [name.stop for name in names], self._protection).parse(changed)

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


def _parse_again(spark: Dialect, text: str, protection: Protection) -> exp.Expression:
    """Return the expression of the text of a body. Raises CannotParse or StatementError."""
    statement = f"{_HEAD}{text}"
    job = parse(statement)
    if not isinstance(job, CreateJob):
        raise CannotParse
    return BodyTrees(spark, statement, Place(0, 1, 0), statement).parse(job.body, protection)
