"""The help for what the mouse points to: a statement, an option and its value, a job, a table, a column."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from jetsql.completion.known_names import JobName, KnownName, Names
from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.jobs.planning.options import OptionSpec, folded, spec_of
from jetsql.language import Fragment, split
from jetsql.language.body.kafka_options import KafkaOption, find_kafka_option, option_place
from jetsql.language.statement_head import TABLES_WITH_JOB
from jetsql.language.tokens import Kind, Token, tokens, unquote
from jetsql.language_server.open_documents import Document
from jetsql.language_server.statement_help import rule_of_text, statement_help
from jetsql.language_server.workspace_names import FileNames, PlacedName

_COLUMNS_MOST: Final = 40
_NAMES: Final = (Kind.WORD, Kind.QUOTED)


class HoverText:
    """The help at an offset of a document."""

    def __init__(self, document: Document, offset: int, documentation: str = "") -> None:
        """Read the document. documentation: the URL of the documentation's site, or empty."""
        self._documentation = documentation
        self._fragment = _fragment_at(document.text, offset)
        self._tokens: list[Token] = [] if self._fragment is None else list(tokens(self._fragment.text))
        self._start = 0 if self._fragment is None else self._fragment.start
        self._at = _index_at(self._tokens, offset - self._start)
        self.place: Span | None = None
        if self._at is not None:
            token = self._tokens[self._at]
            self.place = Span(self._start + token.start, self._start + token.stop)

    @property
    def cursor(self) -> int:
        """Return the offset after the word, where completion needs the same names as this help."""
        return 0 if self.place is None else self.place.stop

    def markdown(self, names: Names, files: list[FileNames], named: PlacedName | None) -> str:
        """Return the help as Markdown, or ''.

        names: those of the engine and the files. named: the name at the place, if the statement can be read.
        """
        if self._at is None or self._fragment is None:
            return ""
        token = self._tokens[self._at]
        if token.kind is Kind.STRING:
            option = self._option() or self._kafka_option()
            return option or self._job_text(unquote(token.text), names, files, is_id=True)
        rule = rule_of_text(self._fragment.text, self._tokens)
        if named is not None:
            return self._named(named, names, files)
        if rule is not None and self._at < _lead_size(self._tokens):
            return statement_help(rule, self._documentation)
        if token.kind not in _NAMES:
            return ""
        name = unquote(token.text) if token.kind is Kind.QUOTED else token.text
        before = [each.word for each in self._tokens[: self._at]]
        if before[-1:] == ["JOB"]:
            return self._job_text(name, names, files)
        return _columns_named(name, names)

    def _option(self) -> str:
        """Return the help for an option of a job, or for its value."""
        assert self._at is not None
        at, found = self._at, self._tokens
        if at + 1 < len(found) and found[at + 1].text in ("=", "=="):
            spec = spec_of(unquote(found[at].text))
            return "" if spec is None or not _is_in_options(found, at) else _option_help(spec)
        if at > 1 and found[at - 1].text in ("=", "==") and found[at - 2].kind is Kind.STRING:
            spec = spec_of(unquote(found[at - 2].text))
            if spec is not None and _is_in_options(found, at):
                value = unquote(found[at].text)
                meaning = [each.explanation for each in spec.fixed if folded(each.word) == folded(value)]
                return "\n\n".join([*(f"`{value}`: {each}" for each in meaning), _option_help(spec)])
        return ""

    def _kafka_option(self) -> str:
        """Return the help for an option of a Kafka table, or for its value."""
        assert self._at is not None
        place = option_place(self._tokens[: self._at])
        if place is None:
            return ""
        name = place.key or unquote(self._tokens[self._at].text)
        option = find_kafka_option(name)
        return "" if option is None else _kafka_option_help(name, option)

    def _named(self, named: PlacedName, names: Names, files: list[FileNames]) -> str:
        from jetsql.sqlfiles.name_uses import NamedKind

        if named.kind is NamedKind.JOB:
            return self._job_text(named.parts[-1], names, files)
        if named.kind in (NamedKind.TABLE, NamedKind.VIEW):
            return _table_help(named, names, files)
        return f"**{named.kind.value} {'.'.join(named.parts)}**"

    def _job_text(self, name: str, names: Names, files: list[FileNames], is_id: bool = False) -> str:
        from jetsql.sqlfiles.name_uses import NamedKind, NameUse

        job = next((each for each in _jobs(names, name) if each.status is not None or not is_id), None)
        if job is None or (is_id and job.id != name):
            return ""
        lines = [f"**job {_code(job.name)}**"]
        if job.status is not None:
            lines.append(f"Status: {job.status.value}, id: `{job.id}`")
        lines += [
            f"Created in {_code(each.document.name)}"
            for each in files
            for placed in each.names
            if placed.kind is NamedKind.JOB and placed.use is NameUse.CREATES and placed.key == (name_key(job.name),)
        ]
        return "\n\n".join(lines)


def _fragment_at(text: str, offset: int) -> Fragment | None:
    return next((each for each in split(text) if each.start <= offset <= each.start + len(each.text)), None)


def _index_at(found: list[Token], offset: int) -> int | None:
    """Return the index of the token at an offset; of the one that ends there if none begins there."""
    at = next((index for index, token in enumerate(found) if token.start <= offset < token.stop), None)
    if at is None:
        at = next((index for index, token in enumerate(found) if token.stop == offset), None)
    return at


def _lead_size(found: list[Token]) -> int:
    """Return the number of tokens at the beginning that are keywords of the statement."""
    at = next((index for index, token in enumerate(found) if token.kind is not Kind.WORD), len(found))
    as_index = next((index for index, token in enumerate(found) if token.word == "AS"), len(found))
    return min(at, as_index)


def _is_in_options(found: list[Token], at: int) -> bool:
    """Return whether a token is in the OPTIONS of a job, and not in those of a table in its body."""
    is_job = False
    for token, following in pairwise(found[:at]):
        if token.word == "AS":
            return False
        is_job = is_job or token.word in ("JOB", *TABLES_WITH_JOB)
        if is_job and token.word == "OPTIONS" and following.text == "(":
            return True
    return False


def _option_help(spec: OptionSpec) -> str:
    lines = [f"**{_code(spec.name)}**", spec.explanation, f"Values: {spec.values}. Default: {spec.default}."]
    lines += [f"- `{each.word}`: {each.explanation}" for each in spec.fixed]
    if not spec.changeable:
        lines.append("`ALTER JOB` cannot change it.")
    return "\n\n".join(lines[:3]) + "".join(f"\n{line}" for line in ["", *lines[3:]] if lines[3:])


def _kafka_option_help(name: str, option: KafkaOption) -> str:
    """Return the help for an option of a Kafka table."""
    if option.is_refused:
        return f"**{_code(name)}**\n\nJetSQL sets this option itself."
    values = option.values or ", ".join(f"`{each}`" for each in option.choices)
    lines = [f"**{_code(name)}**", option.text or "As in Spark and Kafka."]
    return "\n\n".join([*lines, f"Values: {values}."] if values else lines)


def _jobs(names: Names, name: str) -> Iterator[JobName]:
    """Yield the jobs with a name or id, live ones first."""
    jobs = [job for job in names.jobs if name_key(job.name) == name_key(name) or job.id == name]
    yield from sorted(jobs, key=lambda job: not job.is_live)


def _table_help(named: PlacedName, names: Names, files: list[FileNames]) -> str:
    from jetsql.sqlfiles.name_uses import NamedKind, NameUse
    from jetsql.sqlfiles.statement_names import is_same_name

    lines = [f"**{named.kind.value} {_code('.'.join(named.parts))}**"]
    for each in files:
        same = [other for other in each.names if other.key and is_same_name(other.key, named.key)]
        same = [other for other in same if other.kind in (NamedKind.TABLE, NamedKind.VIEW)]
        lines += [f"Created in {_code(each.document.name)}" for other in same if other.use is NameUse.CREATES]
        for other in (other for other in same if other.use is NameUse.WRITES):
            writers = (job for job in each.names if job.statement == other.statement and job.kind is NamedKind.JOB)
            lines += [f"Written by job {_code(job.parts[-1])} in {_code(each.document.name)}" for job in writers]
    columns = names.columns_of(named.parts)
    if columns:
        listed = "\n".join(_column(column) for column in columns[:_COLUMNS_MOST])
        more = f"\n- {len(columns) - _COLUMNS_MOST} more columns" if len(columns) > _COLUMNS_MOST else ""
        lines.append(listed + more)
    return "\n\n".join(dict.fromkeys(lines))


def _column(column: KnownName) -> str:
    return f"- {_code(column.name)} {column.description}".rstrip()


def _columns_named(name: str, names: Names) -> str:
    """Return the columns of this name in the tables whose columns are known."""
    lines = [
        f"**column {_code(column.name)}** {column.description} of table {_code(key.table)}"
        for key, columns in names.columns.items()
        for column in columns
        if column.name.lower() == name.lower()
    ]
    return "\n\n".join(lines[:_COLUMNS_MOST])


def _code(text: str) -> str:
    """Return a name as code in Markdown; names may contain anything."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{' '.join(text.split())}{pad}{fence}"
