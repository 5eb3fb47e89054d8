"""Check one statement of a file: grammar, names, options, functions, and its queries by sqlglot."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.alerts.alert_definition import declared_alert, option_fields
from jetsql.jobs.model.spark_settings import find_meant, is_missing, unknown_setting
from jetsql.jobs.planning.options import OptionSpec, folded, format_value, parse_options, spec_of
from jetsql.language import missing_semicolon_hint, parse
from jetsql.language import statement as st
from jetsql.language.blocks import opens_block
from jetsql.language.body.kafka_options import find_kafka_option, given_options, kafka_options
from jetsql.language.body.misplaced_clauses import refuse_misplaced_clauses
from jetsql.language.foreign_words import SPARK_FUNCTIONS, foreign_statement_hint
from jetsql.language.objects.alert_statement import AlterAlert, CreateAlert
from jetsql.language.statement_owner import STATEMENT_VERBS, SYNONYMS, lead_of
from jetsql.language.syntax_errors import shown
from jetsql.language.tokens import Kind, Token, closing_parenthesis, tokens, unquote
from jetsql.sqlfiles.lint_problems import NO_FUNCTION, PREFIX, ProblemLevel
from jetsql.sqlfiles.read_bodies import ReadQuery, read_query

_OPENING_SIGNS: Final = frozenset("(<")  # of a query in parentheses, and of a variable
_OBJECT_VERBS: Final = frozenset({"ALTER", "CREATE", "DROP"})
# Words of Spark after these verbs. sqlglot takes other words as well.
_OBJECTS: Final = (
    "CATALOG DATABASE EXTERNAL FLOW FUNCTION GLOBAL INDEX JOB MATERIALIZED NAMESPACE OR SCHEMA SNAPSHOT STREAMING TABLE"
    " TEMP TEMPORARY VARIABLE VIEW"
).split()
# Words of JetSQL and Spark after SHOW. The parser knows the misspelled words of JetSQL.
_SHOWN: Final = (
    "ALL CATALOGS COLLATIONS COLUMNS CREATE CURRENT DATABASES ENGINES FUNCTIONS JOB JOBS MATERIALIZED MEMBERS"
    " NAMESPACES PARTITIONS PROCEDURES SCHEMAS SNAPSHOTS STREAMING SYSTEM TABLE TABLES TBLPROPERTIES USER VIEWS"
).split()
_NO_SETTINGS: Final = frozenset({"CATALOG", "PATH", "ROLE", "TIME", "VAR", "VARIABLE"})  # after SET
_DISTINCT_TIME: Final = ("TUMBLE", "HOP", "SESSION")  # also table functions over streams
_REGISTRY_URL: Final = re.compile(r"\.schema\.registry\.url$", re.I)
_OF_FORMAT_OR_CLIENT: Final = re.compile(
    r"(json|csv|avro|kafka)\.(?!schema\.registry\.)|\w+\.schema\.registry\.header\.", re.IGNORECASE
)
"""Matches options of Kafka tables that Spark and Kafka know, and the headers of requests to a registry."""
_REGISTRY_LOGIN: Final = re.compile(
    r"\.schema\.registry\.(basic\.auth\.user\.info|bearer\.auth\.token|header\..+)$", re.I
)
_CLEAR_URL: Final = re.compile(r"\s*http://(?!(?:[^/@]*@)?(?:localhost|127\.[0-9.]+|\[::1\])(?:[:/]|$))", re.I)


class Found:
    """A problem in a statement."""

    def __init__(
        self, level: ProblemLevel, condition: str, message: str, place: Span, hint: str = "", correction: str = ""
    ) -> None:
        """Create the problem. correction: what an editor can write at `place` instead, or ''."""
        self.level = level
        self.condition = condition
        self.message = message
        self.place = place
        self.hint = hint
        self.correction = correction

    @classmethod
    def of(cls, error: StatementError) -> Found:
        """Return the problem of an error of the statement."""
        place = error.place or Span(0, 0)
        return cls(ProblemLevel.ERROR, error.condition, error.message, place, error.hint, error.correction)


class CheckedStatement:
    """A statement with its problems and what it reads and writes."""

    def __init__(self, text: str) -> None:
        """Check the statement in a text, with its variables filled in."""
        self.text = text
        self.problems: list[Found] = []
        self.statement: st.Statement | None = None
        self.query = ReadQuery()
        self._found: list[Token] = []
        try:
            self.statement = parse(text)
        except StatementError as error:
            self.problems.append(Found.of(error))
            return
        found = self._found = list(tokens(text))
        if self.statement is None and not _begins_known_statement(found):
            self.problems.append(_unknown_statement(found))
            return
        if (misspelled := _misspelled_object(found)) is not None:
            self.problems.append(misspelled)
            return
        self.problems += _option_problems(self.statement)
        self.problems += _alert_problems(self.statement)
        self.problems += _setting_problems(text, found)
        self.problems += _clear_credentials(found)
        self.problems += _kafka_option_problems(found)
        if self.job is not None and self.job.table is not None:
            self.problems += _misplaced_options(text, self.job)
        self._check_query(found)

    @property
    def job(self) -> st.CreateJob | None:
        """Return the job that the statement creates or explains, or None."""
        statement = self.statement
        if isinstance(statement, (st.ExplainCreateJob, st.ExplainCreateStreamingTable)):
            statement = statement.create
        if isinstance(statement, st.CreateStreamingTable):
            return statement.create
        return statement if isinstance(statement, st.CreateJob) else None

    def foreign_functions(self, known: Collection[str]) -> Iterator[Found]:
        """Yield the calls of other systems' functions. known: the functions that the files create, in lower case."""
        found = self._found
        for index, token in enumerate(found[:-1]):
            example = SPARK_FUNCTIONS.get(token.word) if found[index + 1].text == "(" else None
            before = found[index - 1].text if index else ""
            if example is None or before == "." or token.text.lower() in known:
                continue
            if token.word in _DISTINCT_TIME and before == "(":
                continue
            message = f"Spark has no function {token.text.lower()}."
            yield Found(ProblemLevel.WARNING, NO_FUNCTION, message, token.place, f"In Spark, write {example}.")

    def _check_query(self, found: list[Token]) -> None:
        job = self.job
        if (job is None and self.statement is not None) or opens_block(lead_of(found)):
            return
        self.query = read_query(self.text, found, None if job is None else job.body, None if job is None else job.table)
        if not self.query.problem:
            return
        try:
            refuse_misplaced_clauses(found)
        except StatementError as error:
            self.problems.append(Found.of(error))
            return
        if self.query.is_known_gap:
            if job is not None:
                self._add_unchecked("body", job.body.place, "Run lint with --engine to check it on an engine.")
            elif self.query.is_failure:
                self._add_unchecked("statement", Span(0, 0))
            return
        place = self.query.place or (Span(0, 0) if job is None else job.body.place)
        hint = foreign_statement_hint(found) or missing_semicolon_hint(self.text, place.start, self._is_complete)
        message = f"sqlglot, which checks queries, cannot read on at {shown(self.text[place.start : place.stop])}"
        message = f"{message}: {self.query.problem}."
        hint = hint or "Correct it. If the engine accepts the statement (lint --engine), ignore this warning."
        self.problems.append(Found(ProblemLevel.WARNING, f"{PREFIX}PARSE_SYNTAX_ERROR", message, place, hint))

    def _add_unchecked(self, part: str, place: Span, hint: str = "") -> None:
        message = f"The {part} was not checked: {self.query.problem}."
        place = self.query.place or Span(place.start, place.start)
        self.problems.append(Found(ProblemLevel.NOTE, f"{PREFIX}STATEMENT_NOT_CHECKED", message, place, hint))

    def _is_complete(self, part: str) -> bool:
        try:
            statement = parse(part)
        except StatementError:
            return False
        body = statement.body if isinstance(statement, st.CreateJob) else None
        return (statement is None or body is not None) and not read_query(part, list(tokens(part)), body, None).problem


def _begins_known_statement(found: list[Token]) -> bool:
    first = found[0]
    return (
        (first.word or first.text) in STATEMENT_VERBS | _OPENING_SIGNS
        or opens_block(lead_of(found))
        or first.kind is Kind.OPEN
    )


def _unknown_statement(found: list[Token]) -> Found:
    first = found[0]
    verbs = sorted(STATEMENT_VERBS)
    close = get_close_matches(first.word, verbs, n=1, cutoff=0.7) if first.word else []
    meant = SYNONYMS.get(first.word, "") or next(islice(close, 1), "")
    return Found(
        ProblemLevel.ERROR,
        f"{PREFIX}PARSE_SYNTAX_ERROR",
        f"Expected the beginning of a statement, found {shown(first.text)}.",
        first.place,
        f"Did you mean {meant}?" if meant else "Statements begin with a verb such as CREATE, SELECT or INSERT.",
        meant,
    )


def _misspelled_object(found: list[Token]) -> Found | None:
    """Return the problem of a statement such as CREATE TABEL or SHOW TABELS."""
    words = [token.word for token in found[:3]]
    objects = _SHOWN if words[0] == "SHOW" else _OBJECTS if words[0] in _OBJECT_VERBS else ()
    if len(words) < 2 or not words[1] or words[1] in objects or words[2:] == ["FUNCTIONS"]:
        return None
    close = get_close_matches(words[1], objects, n=1, cutoff=0.7)
    if not close:
        return None
    message = f"Expected {close[0]}, found {shown(found[1].text)}."
    hint = f"Did you mean {close[0]}?"
    return Found(ProblemLevel.ERROR, f"{PREFIX}PARSE_SYNTAX_ERROR", message, found[1].place, hint, close[0])


def _misplaced_options(text: str, job: st.CreateJob) -> Iterator[Found]:
    """Yield the warnings of options of a job that are in the OPTIONS of its table, which has no such options."""
    assert job.table is not None
    place = job.table.definition
    found = [token for token in tokens(text, place.start) if token.start < place.stop]
    at = next((at for at, token in enumerate(found) if token.word == "OPTIONS"), None)
    if at is None or at + 1 >= len(found):
        return
    for before, token in pairwise(found[at + 1 : closing_parenthesis(found, at + 1)]):
        if before.text not in ("(", ",") or token.kind not in (Kind.STRING, Kind.WORD):
            continue
        name = unquote(token.text) if token.kind is Kind.STRING else token.text
        spec = spec_of(name)
        if spec is not None and spec.name == name:
            message = f"The option '{name}' is one of the job; in the OPTIONS of the table it has no effect."
            where = "JOB OPTIONS after the name of the table" if job.kind else "OPTIONS after the name of the job"
            hint = f"Write {where}."
            yield Found(ProblemLevel.WARNING, f"{PREFIX}UNKNOWN_OPTION", message, token.place, hint)


def _option_problems(statement: st.Statement | None) -> Iterator[Found]:
    """Yield the first wrong option of a statement, or all options that are spelled otherwise than in the manual."""
    for texts in _options(statement):
        try:
            parse_options(texts)
        except StatementError as error:
            yield Found.of(error)
            continue
        for text in texts:
            spec = spec_of(text.key)
            yield from _unknown_setting(text) if spec is None else _spelling(text, spec)


def _alert_problems(statement: st.Statement | None) -> Iterator[Found]:
    """Yield the first problem of an alert that any engine would refuse."""
    try:
        if isinstance(statement, CreateAlert):
            declared_alert(statement)
        elif isinstance(statement, AlterAlert):
            option_fields(statement.options)
    except StatementError as error:
        yield Found.of(error)


def _unknown_setting(text: st.OptionText) -> Iterator[Found]:
    """Yield the problem of an option of a job for a setting that Spark does not have."""
    name = text.key.strip()
    meant = find_meant(name)
    if meant or is_missing(name):
        yield _problem_of_setting(name, meant, text.key_place, f"'{meant}'" if meant else "")


def _clear_credentials(found: list[Token]) -> Iterator[Found]:
    """Yield the warning of a table that sends the credentials of a schema registry over HTTP without TLS."""
    texts = [unquote(token.text) if token.kind is Kind.STRING else "" for token in found]
    if not any(_REGISTRY_LOGIN.search(text) for text in texts):
        return
    for index, name in enumerate(texts):
        value = next((at for at in (index + 1, index + 2) if at < len(found) and texts[at]), None)
        if value is not None and _REGISTRY_URL.search(name) and _CLEAR_URL.match(texts[value]):
            message = "The credentials of the schema registry go over the network in clear."
            place = found[value].place
            yield Found(ProblemLevel.WARNING, f"{PREFIX}CREDENTIALS_IN_CLEAR", message, place, "Use https://.")


def _kafka_option_problems(found: list[Token]) -> Iterator[Found]:
    """Yield the options of a Kafka table that the engine would refuse by their name or value alone."""
    for given in given_options(found):
        option, key = find_kafka_option(given.name), given.key.place
        if option is None:
            if not _OF_FORMAT_OR_CLIENT.match(given.name):
                yield _unknown_kafka_option(given.name, key)
        elif option.is_refused:
            message = f"Cannot set '{given.name}' for a Kafka table: {option.refusal}."
            yield Found(ProblemLevel.ERROR, f"{PREFIX}OPTION_NOT_CHANGEABLE", message, key, "Leave it out.")
        elif option.has_only_choices and unquote(given.value.text).lower() not in option.choices:
            choices = ", ".join(f"'{each}'" for each in option.choices)
            message = f"'{given.name}' is '{unquote(given.value.text)}'."
            hint = f"It must be one of {choices}."
            yield Found(ProblemLevel.ERROR, f"{PREFIX}INVALID_OPTION_VALUE", message, given.value.place, hint)


def _unknown_kafka_option(name: str, place: Span) -> Found:
    known = {each.lower(): each for option in kafka_options() if not option.is_refused for each in option.names}
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    hint = "Options of Kafka's clients begin with 'kafka.', those of a format with its name ('json.timestampFormat')."
    correction = ""
    if close:
        correction = f"'{known[close[0]]}'"
        hint = f"Did you mean {correction}?"
    message = f"Kafka tables have no option '{name}'."
    return Found(ProblemLevel.ERROR, f"{PREFIX}UNKNOWN_OPTION", message, place, hint, correction)


def _setting_problems(text: str, found: list[Token]) -> Iterator[Found]:
    """Yield the problem of SET for a misspelled setting of Spark. All other names are variables of the user."""
    if found[0].word != "SET" or found[1].word in _NO_SETTINGS:
        return
    equals = next((token for token in found if token.text == "="), None)
    if equals is None:
        return
    place = Span(found[1].start, found[1].start + len(text[found[1].start : equals.start].rstrip()))
    name = text[place.start : place.stop].strip("`")
    meant = find_meant(name)
    if meant:
        yield _problem_of_setting(name, meant, place, meant)


def _problem_of_setting(name: str, meant: str, place: Span, correction: str) -> Found:
    error = unknown_setting(name, meant)
    return Found(ProblemLevel.ERROR, error.condition, error.message, place, error.hint, correction)


def _options(statement: st.Statement | None) -> Iterable[tuple[st.OptionText, ...]]:
    if isinstance(statement, (st.ExplainCreateJob, st.ExplainCreateStreamingTable)):
        statement = statement.create
    if isinstance(statement, st.CreateStreamingTable):
        statement = statement.create
    if isinstance(statement, (st.CreateJob, st.AlterJobOptions, st.AlterStreamingTable)) and statement.options:
        yield statement.options


def _spelling(text: st.OptionText, spec: OptionSpec) -> Iterator[Found]:
    condition = f"{PREFIX}OPTION_SPELLING"
    if text.key != spec.name:
        message = f"The option '{text.key}' is written '{spec.name}' in the documentation."
        correction = f"'{spec.name}'"
        yield Found(ProblemLevel.NOTE, condition, message, text.key_place, f"Write {correction}.", correction)
    written = format_value(spec.parse(text.value))
    if text.value != written and folded(text.value) == folded(written):
        message = f"The value '{text.value}' is written '{written}' in the documentation."
        correction = f"'{written}'"
        yield Found(ProblemLevel.NOTE, condition, message, text.value_place, f"Write {correction}.", correction)
