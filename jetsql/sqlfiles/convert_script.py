"""Convert SQL of other systems to Spark's with sqlglot: whole statements, and the bodies of JetSQL's jobs.

A job's head is JetSQL's; the query in its body may be of another system. What sqlglot cannot convert stays as it is,
with a problem at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import ErrorLevel, Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect, Dialects
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, UnsupportedError

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.grammar import ahead_of
from jetsql.language.statement_owner import is_jetsql, lead_of
from jetsql.language.tokens import Kind, tokens, top_level
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.lint_problems import NO_FUNCTION, PREFIX, LintProblem, ProblemLevel
from jetsql.sqlfiles.lint_statement import CheckedStatement
from jetsql.sqlfiles.read_bodies import TOO_DEEP, describe_error
from jetsql.sqlfiles.sqlglot_limits import too_large
from jetsql.sqlglot_dialect.faithful_trees import WRITTEN, faithful_tree
from jetsql.sqlglot_dialect.generate_sql import body_sql
from jetsql.sqlglot_dialect.protected_parts import NO_PROTECTION, Protection
from jetsql.sqlglot_dialect.sqlglot_calls import SqlglotFailure, guarded, tokenize
from jetsql.sqlglot_dialect.sqlglot_tokens import copy_token, word
from jetsql.sqlglot_dialect.stream_clauses import CannotParse, ClauseCutter

_TYPES: Final = frozenset(
    "ARRAY BIGINT BINARY BOOLEAN BYTE CHAR DATE DEC DECIMAL DOUBLE FLOAT GEOGRAPHY GEOMETRY INT INTEGER INTERVAL LONG"
    " MAP NULL NUMERIC REAL SHORT SMALLINT STRING STRUCT TIME TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT VARCHAR"
    " VARIANT VOID YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND".split()
)
_VERBS: Final = ("INSERT", "SINK", "AUTO", "WITH", "FROM")
_SPARKS: Final = ("spark", "databricks")  # what is Spark's SQL already: it must keep its meaning
_SYNTAX: Final = f"{PREFIX}PARSE_SYNTAX_ERROR"
_NOT_CONVERTED: Final = f"{PREFIX}STATEMENT_NOT_CHECKED"


@dataclass(frozen=True)
class ConvertedScript:
    """A script after its conversion."""

    text: str
    problems: tuple[LintProblem, ...]


def known_dialects() -> list[str]:
    """Return the names of sqlglot's dialects."""
    return sorted(each.value for each in Dialects if each.value)


def convert_script(script: Script, dialect: str) -> ConvertedScript:
    """Return a script in Spark's SQL. dialect: the name of a dialect of sqlglot."""
    return _Conversion(script, Dialect.get_or_raise(dialect), dialect).run()


class _Conversion:
    """The conversion of one script."""

    def __init__(self, script: Script, source: Dialect, name: str) -> None:
        self._script = script
        self._source = source
        self._name = name
        self._problems: list[LintProblem] = []

    def run(self) -> ConvertedScript:
        """Convert the statements in their order."""
        text = self._script.text
        try:
            found = tokenize(self._source, text)
        except SqlglotError as error:
            at = _token_error_place(error, text)
            self._report(at, at + 1, ProblemLevel.ERROR, _SYNTAX, f"Cannot read the script: {_first_line(error)}.")
            return ConvertedScript(text, tuple(self._problems))
        converted = []
        for statement in _split(found):
            start, stop = statement[0].start, statement[-1].end + 1
            converted.append(self._convert(statement, text[start:stop], start))
        lines = "".join(f"{each};\n" for each in converted)
        return ConvertedScript(lines, tuple(self._problems))

    def _convert(self, found: list[Token], text: str, start: int) -> str:
        body = _body_start(text)
        if body is None and is_jetsql(lead_of(tokens(text))):
            self._check(text, start)
            return text
        at = 0 if body is None else next((n for n, token in enumerate(found) if token.start >= start + body), 0)
        head = "" if body is None else f"{text[:body].rstrip()}\n"
        query = found[at:]
        reason = too_large(text, list(tokens(text)), type(self._source))
        if reason:
            self._report_query(query, ProblemLevel.WARNING, f"Not converted: {reason}.", "It stays as it is.")
            return text
        try:
            tree = self._read(query)
        except CannotParse as error:
            self._report_unread(error, query)
            return text
        if WRITTEN in tree.args:
            level = ProblemLevel.NOTE if self._name == "spark" else ProblemLevel.WARNING
            message = "Not converted: sqlglot would write it with another meaning."
            self._report_query(query, level, message, "It stays as it is.")
            self._check(text, start)
            return text
        known = len(self._problems)
        try:
            written = f"{head}{self._generate(tree, query)}"
            with guarded():
                if self._name not in _SPARKS:  # their functions are written as they were
                    self._report_functions(tree, query)
                self._report_unknown(tree, query)
        except (SqlglotError, RecursionError) as error:
            del self._problems[known:]
            reason = str(error) if isinstance(error, SqlglotFailure) else TOO_DEEP  # it recurses more than its parser
            self._report_query(query, ProblemLevel.WARNING, f"Not converted: {reason}.", "It stays as it is.")
            return text
        self._check(written, start)
        return written

    def _read(self, query: list[Token]) -> exp.Expression:
        """Return the expression of a query, which keeps its text if that is Spark's already. Raises CannotParse."""
        text = self._script.text[query[0].start : query[-1].end + 1]

        def read(part: str, protection: Protection) -> exp.Expression:
            if part is text:
                return _parse(self._source, self._script.text, query, protection)
            return _parse(self._source, part, tokenize(self._source, part), protection)

        if self._name not in _SPARKS:
            return read(text, NO_PROTECTION)
        return faithful_tree(text, read, lambda tree: body_sql(Spark(), tree, {"comments": False}))

    def _generate(self, tree: exp.Expression, query: list[Token]) -> str:
        options: dict[str, Any] = {"pretty": True, "normalize_functions": False, "max_unsupported": 100}
        options["unsupported_level"] = ErrorLevel.RAISE
        try:
            return body_sql(Spark(), tree, options)
        except UnsupportedError as error:
            for message in str(error).split("\n"):
                self._report_query(query, ProblemLevel.WARNING, f"Not converted: {message.rstrip('.')}.")
        return body_sql(Spark(), tree, {**options, "unsupported_level": ErrorLevel.IGNORE})

    def _report_functions(self, tree: exp.Expression, query: list[Token]) -> None:
        """Report the functions that sqlglot does not know, so it wrote them as they were."""
        names = {str(each.this).lower(): None for each in tree.find_all(exp.Anonymous)}
        for name in names:
            token = next((token for token in query if token.text.lower() == name), query[0])
            message = f"The function {name} is written as it was: sqlglot does not know it."
            level, hint = ProblemLevel.NOTE, "Check that Spark has it, with the same meaning."
            self._report(token.start, token.end + 1, level, _NOT_CONVERTED, message, hint)

    def _report_unknown(self, tree: exp.Expression, query: list[Token]) -> None:
        """Report types and operators that Spark does not have, and that sqlglot writes as they were."""
        kinds = {re.split(r"\W", each.sql(Spark))[0]: None for each in tree.find_all(exp.DataType)}
        for kind in [each for each in kinds if each and each.upper() not in _TYPES]:
            token = next((token for token in query if token.text.upper() == kind.upper()), query[0])
            message = f"Spark has no type {kind}."
            self._report(
                token.start, token.end + 1, ProblemLevel.WARNING, _NOT_CONVERTED, message, "Write another type."
            )
        for each in tree.find_all(exp.ArrayContainsAll, exp.ArrayOverlaps):
            message = f"Spark has no operator for {each.sql(self._source)}."
            hint = "Use a function of Spark, such as arrays_overlap or array_contains."
            self._report_query(query, ProblemLevel.WARNING, message, hint)

    def _check(self, written: str, start: int) -> None:
        """Report what JetSQL would refuse in the result, at the beginning of the statement."""
        try:
            parse(written)
        except StatementError as error:
            message = f"The result is no statement of JetSQL: {error.message}"
            self._report(start, start + 1, ProblemLevel.ERROR, error.condition, message, error.hint)
            return
        for found in CheckedStatement(written).foreign_functions(()):
            self._report(start, start + 1, found.level, NO_FUNCTION, found.message, found.hint)

    def _report_unread(self, error: CannotParse, query: list[Token]) -> None:
        cause = error.__cause__
        if isinstance(cause, ParseError) and cause.errors:
            details = cause.errors[0]
            stop = self._script.line_start(details.get("line") or 1) + (details.get("col") or 0)
            token = next((token for token in query if token.end + 1 >= stop), query[-1])
            message = f"Cannot read this as SQL of {self._name}: {describe_error(details)}."
            self._report(token.start, token.end + 1, ProblemLevel.ERROR, _SYNTAX, message, "It stays as it is.")
            return
        message = f"sqlglot does not know this statement of {self._name}."
        if isinstance(cause, RecursionError):
            message = f"Not converted: {TOO_DEEP}."
        elif isinstance(cause, SqlglotFailure):
            message = f"Not converted: {cause}."
        self._report_query(query, ProblemLevel.WARNING, message, "It stays as it is.")

    def _report_query(self, query: list[Token], level: ProblemLevel, message: str, hint: str = "") -> None:
        self._report(query[0].start, query[0].end + 1, level, _NOT_CONVERTED, message, hint)

    def _report(self, start: int, stop: int, level: ProblemLevel, condition: str, message: str, hint: str = "") -> None:
        self._problems.append(LintProblem(self._script, start, stop, level, condition, message, hint))


def _split(found: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement."""
    statement: list[Token] = []
    for token in found:
        if token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _body_start(text: str) -> int | None:
    """Return the offset of what another system wrote in a statement of JetSQL; None if it creates no job.

    It is the INSERT of a job, or the query of a table, whose clauses are Spark's.
    """
    found = list(tokens(text))
    lead = lead_of(found)
    if not is_jetsql(lead) or any(token.kind is Kind.OPEN for token in lead):
        return None
    at = ahead_of(found).body
    if at is None or found[at].word in _VERBS:
        return None if at is None else found[at].start
    query = next((index for index in top_level(found) if index >= at and found[index].word == "AS"), len(found))
    return found[query + 1].start if query + 1 < len(found) else found[at].start


def _parse(source: Dialect, sql: str, query: Sequence[Token], protection: Protection) -> exp.Expression:
    """Return the expression of the tokens of a query. sql: the text that they have their offsets in."""
    changed = list(query)
    sinks = _change_sinks(changed)
    tree = ClauseCutter(source, sql, protection=protection).parse(changed)
    for insert, is_sink in zip(tree.find_all(exp.Insert, bfs=False), sinks, strict=False):
        if is_sink:
            insert.set("sink", True)
    return tree


def _change_sinks(query: list[Token]) -> list[bool]:
    """Make INSERT INTO of each SINK INTO, and return for each of both whether it was SINK INTO."""
    sinks = []
    for index, token in enumerate(query[:-1]):
        if word(token) in ("INSERT", "SINK") and word(query[index + 1]) in ("INTO", "OVERWRITE"):
            sinks.append(word(token) == "SINK")
            query[index] = copy_token(token, TokenType.INSERT, "INSERT")
    return sinks


def _token_error_place(error: SqlglotError, text: str) -> int:
    """Return the offset of a token that sqlglot cannot read; its message quotes the text up to there."""
    _, _, quoted = str(error).partition("'")
    context = quoted.rpartition("'")[0]
    return max(text.find(context), 0) + max(len(context) - 1, 0) if context else 0


def _first_line(error: SqlglotError) -> str:
    return str(error).partition("\n")[0].rstrip(".")[:100]
