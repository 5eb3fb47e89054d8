"""The clauses of Spark's streaming SQL that sqlglot does not know: STREAM, WATERMARK, and WITH options of a relation.
MATCH_RECOGNIZE is one that sqlglot knows in other dialects.

Before sqlglot parses a query, they are cut out of its tokens. A relation with STREAM is found again by the offset of
its name, and one with the other clauses by a TABLESAMPLE with a number of its own. The relation gets them as arguments:
`stream` (True), `options` (a list of Property), `watermark` (an expression) and `watermark_delay`. Before sqlglot
generates text, they become expressions that its generator writes as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from jetsql.jobs.model.job import quoted_text
from jetsql.language.body.row_patterns import MATCH_CLAUSES
from jetsql.sqlglot_dialect.multiple_inserts import insert_starts, parse_inserts
from jetsql.sqlglot_dialect.protected_parts import (
    NO_PROTECTION,
    ProtectedTokens,
    Protection,
    interval_end,
    restore,
)
from jetsql.sqlglot_dialect.sqlglot_calls import parse_tokens, tokenize
from jetsql.sqlglot_dialect.sqlglot_tokens import copy_token, word

CLAUSES: Final = ("stream", "options", "watermark")
_FIRST_MARK: Final = 730_000_000_000
_NAVIGATION: Final = "__jetsql_"  # before FIRST and LAST in MATCH_RECOGNIZE, whose second argument sqlglot leaves out
_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


class CannotParse(Exception):
    """The text has syntax that sqlglot does not know."""


class IsCommand(CannotParse):
    """The statement is one that sqlglot keeps as a text."""


class ClauseCutter:
    """Parse the tokens of one text with sqlglot, with the clauses of streams."""

    def __init__(
        self, spark: Dialect, sql: str, targets: Sequence[int] = (), protection: Protection = NO_PROTECTION
    ) -> None:
        """Create it.

        sql: the text of the tokens, for sqlglot.
        targets: the offsets after the names of the tables that the INSERTs of the text write, in their order.
        protection: what to protect from sqlglot.
        """
        self._protection = protection
        self._spark = spark
        self._sql = sql
        self._targets = targets
        self._target_options: dict[int, list[exp.Expression]] = {}
        self._tokens: Sequence[Token] = ()
        self._kept: list[Token] = []
        self._clauses: list[dict[str, Any]] = []
        self._streams: set[int] = set()  # the offsets of the names after STREAM
        self._withins: list[exp.Expression] = []  # the intervals of WITHIN
        self._match_stop = 0  # the index of the parenthesis that closes a MATCH_RECOGNIZE

    def parse(self, tokens: Sequence[Token]) -> exp.Expression:
        """Return the expression of the tokens. Raises CannotParse."""
        self._tokens = ProtectedTokens(self._protection, self._sql).protect(tokens) if self._protection else tokens
        self._kept, self._clauses, self._streams = [], [], set()
        self._withins, self._match_stop = [], 0
        index = 0
        while index < len(self._tokens):
            index = self._cut(index)
        tree = self._parse_alone(self._kept)
        self._attach(tree)
        restored = restore(tree) if self._protection else tree
        if restored is None:
            raise CannotParse
        return restored

    def _parse_alone(self, tokens: Sequence[Token]) -> exp.Expression:
        starts = insert_starts(tokens)
        if starts:
            inserts = parse_inserts(tokens, starts, self._parse_alone)
            if inserts is None:
                raise CannotParse
            return inserts
        try:
            trees = parse_tokens(self._spark, tokens, self._sql)
        except (SqlglotError, RecursionError) as error:
            raise CannotParse from error
        if len(trees) != 1 or not isinstance(trees[0], exp.Expression):
            raise CannotParse
        if isinstance(trees[0], exp.Command):
            raise IsCommand
        return trees[0]

    def _cut(self, index: int) -> int:
        """Keep the token at the index, or cut the clauses that begin there; return the index after them."""
        before = word(self._tokens[index - 1]) if index else ""
        this = word(self._tokens[index])
        if this == "STREAM" and self._is_name(index + 1):
            if before not in ("FROM", "JOIN"):
                raise CannotParse
            return self._cut_stream(index)
        if this == "STREAM" and before in ("FROM", "JOIN") and self._text(index + 1) == "(":
            raise CannotParse
        if this == "WITH" and self._is_name(index - 1) and self._text(index + 1) == "(":
            before_end = self._tokens[index - 1].end + 1
            if before_end in self._targets:
                stop = self._closing(index + 1)
                self._target_options[self._targets.index(before_end)] = self._options(index + 2, stop)
                return stop + 1
            return self._cut_relation(index)
        if this == "WATERMARK" and self._delay(index) is not None:
            return self._cut_relation(index)
        if [self._word(at) for at in range(index, index + 4)] == ["FOR", "SYSTEM_TIME", "AS", "OF"]:
            self._kept += tokenize(self._spark, "TIMESTAMP AS OF")  # what all versions of sqlglot know
            return index + 4
        token = self._tokens[index]
        if this == "WINDOW" and self._text(index + 1) == "(":
            token = copy_token(
                token, TokenType.VAR, token.text
            )  # sqlglot takes GROUP BY window(...) for a WINDOW clause
        if this == "MATCH_RECOGNIZE" and self._text(index + 1) == "(":
            if self._text(index + 2).upper().split(" ")[0] in MATCH_CLAUSES:  # sqlglot's token is PARTITION BY
                token = copy_token(token, TokenType.MATCH_RECOGNIZE, token.text)  # a keyword in other dialects only
                self._match_stop = self._closing(index + 1)
        if this in ("FIRST", "LAST") and index < self._match_stop and self._text(index + 1) == "(":
            token = copy_token(token, TokenType.VAR, f"{_NAVIGATION}{token.text}")
        if this == "WITHIN" and index < self._match_stop and self._word(index + 1) == "INTERVAL":
            stop = self._interval_end(index + 1)
            self._withins.append(self._interval(index + 1, stop))
            return stop
        self._kept.append(token)
        return index + 1

    def _cut_stream(self, index: int) -> int:
        last = index + 1
        while self._text(last + 1) == "." and self._is_name(last + 2):
            last += 2
        if self._text(last + 1) == "(":
            raise CannotParse
        self._kept += self._tokens[index + 1 : last + 1]
        self._streams.add(self._tokens[index + 1].start)
        return last + 1

    def _cut_relation(self, index: int) -> int:
        """Cut the options and the watermark at the index, and write the mark; return the index after them."""
        clauses: dict[str, Any] = {}
        if self._word(index) == "WITH" and self._text(index + 1) == "(":
            stop = self._closing(index + 1)
            clauses["options"] = self._options(index + 2, stop)
            index = stop + 1
        delay = self._delay(index) if self._word(index) == "WATERMARK" else None
        if delay is not None:
            stop = self._interval_end(delay + 2)
            clauses["watermark"] = self._parse_alone(self._tokens[index + 1 : delay])
            clauses["watermark_delay"] = self._interval(delay + 2, stop)
            index = stop
        mark = str(_FIRST_MARK + len(self._clauses))
        self._clauses.append(clauses)
        self._kept += (
            Token(TokenType.TABLE_SAMPLE, "TABLESAMPLE"),
            Token(TokenType.L_PAREN, "("),
            Token(TokenType.NUMBER, mark),
            Token(TokenType.ROWS, "ROWS"),
            Token(TokenType.R_PAREN, ")"),
        )
        return index

    def _options(self, index: int, stop: int) -> list[exp.Expression]:
        """Return the options between two indexes: keys with or without quotes, and strings, numbers or booleans."""
        found: list[exp.Expression] = []
        while index < stop:
            parts = self._tokens[index : index + 3]
            if len(parts) < 3 or parts[1].text != "=" or parts[0].token_type is not TokenType.STRING:
                raise CannotParse
            if parts[2].token_type is not TokenType.STRING:
                raise CannotParse
            key, value = exp.Literal.string(parts[0].text), exp.Literal.string(parts[2].text)
            found.append(exp.Property(this=key, value=value))
            index += 3
            if index < stop and self._tokens[index].text != ",":
                raise CannotParse
            index += 1
        return found

    def _delay(self, index: int) -> int | None:
        """Return the index of DELAY OF that belongs to the WATERMARK at the index; None if this is no such clause."""
        depth = 0
        for at in range(index + 1, len(self._tokens)):
            kind = self._tokens[at].token_type
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth < 0:
                return None
            if depth == 0 and self._word(at) == "DELAY" and self._word(at + 1) == "OF" and at > index + 1:
                return at
        return None

    def _interval_end(self, index: int) -> int:
        """Return the index after the interval that begins at the index."""
        if self._word(index) != "INTERVAL":
            raise CannotParse
        return interval_end(self._tokens, index)

    def _interval(self, index: int, stop: int) -> exp.Expression:
        """Return the interval between two indexes."""
        if self._protection.literals and stop > index + 1:
            return exp.Var(this=self._sql[self._tokens[index].start : self._tokens[stop - 1].end + 1])
        return self._parse_alone(self._tokens[index:stop])

    def _closing(self, index: int) -> int:
        depth = 0
        for at in range(index, len(self._tokens)):
            kind = self._tokens[at].token_type
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth == 0:
                return at
        raise CannotParse

    def _is_name(self, index: int) -> bool:
        if not 0 <= index < len(self._tokens):
            return False
        token = self._tokens[index]
        is_word = token.text.isidentifier() and token.token_type is not TokenType.STRING
        return token.token_type is TokenType.IDENTIFIER or (is_word and word(token) not in _AFTER_STREAM)

    def _text(self, index: int) -> str:
        return self._tokens[index].text if index < len(self._tokens) else ""

    def _word(self, index: int) -> str:
        return word(self._tokens[index]) if index < len(self._tokens) else ""

    def _replace_mark(self, sample: exp.TableSample) -> bool:
        """Replace a TABLESAMPLE by the clauses that it stands for; return whether it stands for any."""
        size, relation = sample.args.get("size"), sample.parent
        number = int(size.name) - _FIRST_MARK if size is not None and size.name.isdecimal() else -1
        if not 0 <= number < len(self._clauses) or not isinstance(relation, (exp.Table, exp.Subquery)):
            return False
        relation.set("sample", None)
        for name, value in self._clauses[number].items():
            relation.set(name, value)
        return True

    def _attach(self, tree: exp.Expression) -> None:
        """Replace the marks by the clauses that they stand for."""
        marks = streams = 0
        for node in list(tree.walk()) if self._clauses or self._streams else ():
            if isinstance(node, exp.Table) and _start(node) in self._streams:
                node.set("stream", True)
                streams += 1
            elif isinstance(node, exp.TableSample):
                marks += self._replace_mark(node)
        if marks != len(self._clauses) or streams != len(self._streams):
            raise CannotParse
        for call in list(tree.find_all(exp.Anonymous)) if self._match_stop else ():
            call.set("this", call.name.removeprefix(_NAVIGATION))
        if self._withins:
            found = list(tree.find_all(exp.MatchRecognize))
            if len(found) != 1 or len(self._withins) != 1:
                raise CannotParse
            found[0].set("within", self._withins[0])
        if not self._target_options:
            return
        inserts = list(tree.find_all(exp.Insert, bfs=False))
        for number, options in self._target_options.items():
            target = inserts[number].find(exp.Table) if number < len(inserts) else None
            if target is None:
                raise CannotParse
            target.set("options", options)


# After a table that is called stream, these words continue the query.
_AFTER_STREAM: Final = frozenset(
    "AS ON USING WHERE GROUP HAVING ORDER LIMIT UNION EXCEPT INTERSECT JOIN INNER LEFT RIGHT FULL CROSS NATURAL ANTI"
    " SEMI LATERAL WINDOW QUALIFY SELECT INSERT SINK TABLESAMPLE PIVOT UNPIVOT WATERMARK WITH FOR TABLE VALUES".split()
)


def _start(table: exp.Table) -> int:
    """Return the offset of a table's name, or -1 if the table has no name."""
    first = table.parts[0]
    return int(first.meta.get("start", -1))


def lower_clauses(tree: exp.Expression) -> exp.Expression:
    """Return the tree with the clauses as expressions that sqlglot's generator writes. Changes the tree.

    The time of a lookup becomes FOR SYSTEM_TIME again, because TIMESTAMP AS OF takes no columns.
    """
    for time in list(tree.find_all(exp.Version)):
        if time.text("kind") == "AS OF" and time.find(exp.Column):
            time.replace(_after(exp.Var(this="FOR SYSTEM_TIME AS OF"), time.expression))
    for match in list(tree.find_all(exp.MatchRecognize)):
        within = match.args.get("within")
        if within is not None:  # between PATTERN and DEFINE
            words = (match.text("after"), f"PATTERN ({match.text('pattern')})", "WITHIN")
            match.set("after", _after(exp.Var(this=" ".join(filter(None, words))), within.copy()))
            match.set("pattern", None)
            match.set("within", None)
    for relation in list(tree.find_all(exp.Table, exp.Subquery)):
        texts = _clause_nodes(relation)
        is_stream = relation.args.get("stream")
        for name in (*CLAUSES, "watermark_delay"):
            if name in relation.args:
                relation.set(name, None)
        if texts is not None and isinstance(relation, exp.Table):
            version = relation.args.get("version")
            relation.set("version", texts if version is None else _after(version, texts))
        elif texts is not None:
            relation.set("sample", _after(exp.Var(this=""), texts))
        if is_stream:
            stream = exp.Stream()
            if relation is tree:
                tree = stream
            else:
                relation.replace(stream)
            stream.set("this", relation)
    return tree


def _clause_nodes(relation: exp.Expression) -> exp.Expression | None:
    found: exp.Expression | None = None
    options, watermark = relation.args.get("options"), relation.args.get("watermark")
    if options:
        pairs = (f"{quoted_text(option.name)} = {quoted_text(option.text('value'))}" for option in options)
        found = exp.Var(this=f"WITH ({', '.join(pairs)})")
    if watermark is not None:
        delay = relation.args["watermark_delay"].copy()
        clause = _after(exp.Var(this="WATERMARK"), _after(watermark.copy(), _after(exp.Var(this="DELAY OF"), delay)))
        found = clause if found is None else _after(found, clause)
    return found


def _after(first: Any, second: Any) -> exp.Expression:
    """Return an expression that sqlglot writes as one after the other."""
    return exp.Introducer(this=first, expression=second)
