"""Choose the layout of a statement: JetSQL's own parts by its grammar, queries as sqlglot's generator writes them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from jetsql.errors import Span
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.blocks import opens_block
from jetsql.language.body.row_patterns import pattern_tokens
from jetsql.language.grammar import BODY, RESTS, TABLE_CLAUSES
from jetsql.language.parser import terminals
from jetsql.language.statement_owner import lead_of
from jetsql.language.tokens import Kind, Token, scan, tokens
from jetsql.sqlfiles.formatting.keywords_in_text import keyword_places
from jetsql.sqlfiles.formatting.token_alignment import align
from jetsql.sqlfiles.formatting.verbatim_parts import raw_start
from jetsql.sqlfiles.formatting.write_tokens import GLUED, SPACE, Gap, break_at, gap_of
from jetsql.sqlfiles.read_bodies import TOO_DEEP, ReadQuery, read_query
from jetsql.sqlglot_dialect.generate_sql import body_sql
from jetsql.sqlglot_dialect.sqlglot_calls import SqlglotFailure

_OPTIONS: Final = {"pretty": True, "comments": False, "normalize_functions": False}
_KEYWORDS: Final = {word for keyword in Spark.Tokenizer.KEYWORDS for word in keyword.upper().split()} | set(
    "APPLY AUTO CDC COLUMNS DELAY KEYS OF SCD SEQUENCE SINK STORED STREAM SYSTEM_TIME TYPE WATERMARK SECOND SECONDS"
    " MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS MONTH MONTHS YEAR YEARS".split()
)
_FUNCTIONS: Final = frozenset("ARRAY DATE IF LEFT MAP REPLACE RIGHT STRUCT TIMESTAMP WINDOW".split())
"""Keywords that name functions before a parenthesis."""

# Words that are keywords also where sqlglot writes something else.
_RESERVED: Final = frozenset("AND AS BETWEEN CASE ELSE END IN IS LIKE NOT NULL ON OR THEN WHEN".split())
_INDENT: Final = 2
_FUNCTION_CLAUSES: Final = frozenset({"RETURNS", "LANGUAGE", "DETERMINISTIC", "COMMENT", "HANDLER", "PARAMETER", "AS"})
# Signs that begin no line: sqlglot may begin one with the word that it writes instead.
_NEVER_FIRST: Final = frozenset({",", ".", ";", "::", "?::", "]", ":"})


class StatementLayout:
    """The layout of one statement."""

    def __init__(self, text: str) -> None:
        """Choose the layout. Raises StatementError for an error in a statement of JetSQL."""
        self.gaps: dict[int, Gap] = {}
        """The white space before each token, by its start."""
        self.words: dict[int, str] = {}
        """The spelling of keywords, by their start."""
        self.unread = ""
        """The reason why a part stays as it was; empty if everything is laid out."""
        self.kept: Span | None = None
        """The place of that part."""
        self._text = text
        self._found = list(tokens(text))
        statement = parse(text)
        if opens_block(lead_of(self._found)):
            self.kept = Span(0, len(text))
        elif statement is None and (start := raw_start(text, list(scan(text)))) is not None:
            self._keep_text(start)
        elif statement is None:
            self._lay_out_query(Span(0, len(text)), read_query(text, self._found, None, None), "")
        else:
            self._lay_out_ours(statement)
        if any(text[start : start + len(word)] != word for start, word in self.words.items()):
            places = keyword_places(text, self._found)
            self.words = {start: word for start, word in self.words.items() if start in places}

    def _keep_text(self, start: int) -> None:
        """Lay out a statement of which Spark reads the part from `start` on as text."""
        if self._text[start].isspace():
            self.kept = Span(0, len(self._text))  # Spark keeps this space
            return
        self.words = {token.start: token.word for token in self._found if token.start < start}
        self.kept = Span(start, len(self._text))

    def _lay_out_ours(self, statement: st.Statement) -> None:
        leaves = terminals(self._text)
        create = _created(statement)
        rest = next((place for name, place in leaves if name in RESTS), None)
        self._lay_out_head(leaves, isinstance(statement, st.CreateFunction))
        if rest is not None and create is None:  # of a statement of a test file
            self.kept = Span(rest.start, max(token.stop for token in self._found if token.text != ";"))
        if create is None or rest is None:
            return
        query = read_query(self._text, self._found, create.body, create.table)
        if create.kind is not None:
            self._lay_out_query(rest, query, "CREATE TABLE x")
        else:
            self._lay_out_query(rest, query, "", create.table)
        first = next(token for token in self._found if token.start >= rest.start)
        self.gaps[first.start] = SPACE if create.kind is not None and first.word == "AS" else break_at(0)

    def _lay_out_head(self, leaves: Sequence[tuple[str, Span]], is_function: bool) -> None:
        options = sum(name == "OPTION_KEY" for name, _ in leaves)
        in_options = in_rules = False
        depth = 0
        for (before, before_place), (name, place) in zip([("", Span(0, 0)), *leaves], leaves, strict=False):
            if name in (BODY, TABLE_CLAUSES):
                break
            text = self._text[place.start : place.stop]
            if name == text.upper() and text.isidentifier():
                self.words[place.start] = name
            self._keep_spaces(place)
            gap = SPACE
            if name in ("COMMA", "RPAR", "DOT", "SEMICOLON") or before in ("LPAR", "DOT"):
                gap = GLUED
            if name == "LPAR" and before in ("NEW_FUNCTION", "TABLE_NAME"):
                gap = GLUED
            in_options = in_options or name == "OPTIONS"
            if in_options and options > 1:
                if name == "OPTION_KEY":
                    gap = break_at(_INDENT)
                elif name == "RPAR":
                    gap = break_at(0)
            if name == "CONSTRAINT":
                gap, in_rules = break_at(_INDENT), True
                if before == "LPAR":
                    self.gaps[before_place.start] = SPACE
            elif in_rules and name == "RPAR" and depth == 1:
                gap, in_rules = break_at(0), False
            if self._begins_clause(name, before, leaves, depth, is_function):
                gap = break_at(0)
            depth += (name == "LPAR") - (name == "RPAR")
            in_options = in_options and name != "RPAR"
            self.gaps[place.start] = gap

    def _begins_clause(
        self, name: str, before: str, leaves: Sequence[tuple[str, Span]], depth: int, is_function: bool
    ) -> bool:
        """Return whether a word of the head begins a line."""
        if is_function:
            is_clause = name in _FUNCTION_CLAUSES or (name == "NOT" and before != "IF")
            return depth == 0 and is_clause and before != "NOT"
        if leaves[0][0] not in ("CREATE", "EXPLAIN"):
            return False
        if name == "JOB" and before == "TABLE_NAME":
            return True
        return name in ("COMMENT", "OPTIONS") and before != "JOB"

    def _keep_spaces(self, place: Span) -> None:
        """Keep one space or none between the tokens of a terminal that has several, such as a type."""
        first = bisect_left(self._found, place.start, key=lambda token: token.start)
        stop = bisect_left(self._found, place.stop, lo=first, key=lambda token: token.start)
        inside = self._found[first:stop]
        for before, token in pairwise(inside):
            self.gaps[token.start] = _as_written(self._text, before, token)

    def _lay_out_query(self, place: Span, query: ReadQuery, head: str, table: st.NewTable | None = None) -> None:
        """Lay out a part of the statement as sqlglot writes it. head: the beginning of its text that is not there."""
        written = [token for token in self._found if place.start <= token.start < place.stop]
        if query.tree is None:
            self.unread = "" if query.is_command else query.problem
            self.kept = Span(written[0].start, written[-1].stop)
            return
        if any(token.text.isspace() for token in written):
            self.unread = "it has a character that only sqlglot takes for white space"
            self.kept = Span(written[0].start, written[-1].stop)
            return
        try:
            generated_text = _generate(query.tree, table, head)
        except (SqlglotError, RecursionError) as error:
            self.unread = str(error) if isinstance(error, SqlglotFailure) else TOO_DEEP  # it recurses more to write
            self.kept = Span(written[0].start, written[-1].stop)
            return
        generated = list(tokens(generated_text))
        start = len(list(tokens(head)))
        names = {name.name.lower() for name in query.tree.find_all(exp.Identifier) if not name.args.get("quoted")}
        generated = generated[start:]
        patterns = pattern_tokens(written)
        for index, (token, span) in enumerate(zip(written, align(written, generated), strict=True)):
            before = written[index - 1] if index else None
            if before is not None and index in patterns:
                self.gaps[token.start] = _as_written(self._text, before, token)
            else:
                self.gaps[token.start] = self._gap(index, written, generated_text, generated, span)
            following = written[index + 1].text if index + 1 < len(written) else ""
            if token.word in _FUNCTIONS and following == "(":
                continue
            if token.text.lower() in names or (before is not None and before.word == "USING"):
                continue  # USING json names a format
            if token.word in _RESERVED or (span is not None and _is_keyword(token, generated[span[1]].text)):
                self.words[token.start] = token.word

    def _gap(
        self, index: int, written: Sequence[Token], text: str, generated: Sequence[Token], span: tuple[int, int] | None
    ) -> Gap:
        """Return the white space before a token of a query."""
        token, before = written[index], written[index - 1] if index else None
        if before is None:
            return SPACE
        if token.text == "=" or before.text == "=":
            return SPACE
        if span is None:
            return SPACE if self._text[before.stop : token.start] else GLUED
        if index > 1 and before.word == "VIEW" and written[index - 2].word == "LATERAL":
            return SPACE  # sqlglot begins a line here
        gaps = [
            gap_of(text[generated[at - 1].stop if at else 0 : generated[at].start])
            for at in range(span[0], span[1] + 1)
        ]
        breaks = [gap for gap in gaps if gap.is_break]
        if token.text in _NEVER_FIRST or not breaks:
            return gaps[-1] if not gaps[-1].is_break else GLUED
        return breaks[-1]


def _generate(tree: Any, table: st.NewTable | None, head: str) -> str:
    plain = tree
    if head:
        plain = tree.copy()
        plain.set("kind", "TABLE")
        plain.set("exists", None)
        plain.set("this", exp.Table(this=exp.Identifier(this="x", quoted=False)))
    elif table is not None:
        plain = tree.copy()
        plain.set("exists", table.if_not_exists)
    return body_sql(Spark(), plain, _OPTIONS)


def _created(statement: st.Statement) -> st.CreateJob | None:
    create = getattr(statement, "create", statement)
    create = getattr(create, "create", create)
    return create if isinstance(create, st.CreateJob) else None


def _as_written(text: str, before: Token, token: Token) -> Gap:
    return SPACE if text[before.stop : token.start] else GLUED


def _is_keyword(token: Token, spelled: str) -> bool:
    return token.kind is Kind.WORD and spelled == token.word and spelled in _KEYWORDS
