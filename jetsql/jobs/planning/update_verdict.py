"""The verdict of EXPLAIN CREATE OR REPLACE JOB: what the statement would change, as one line of the plan.

`jetsql apply` reads the line again, also that of another release, so its beginning is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from jetsql.jobs.model.job import Job
from jetsql.jobs.planning.options import parse_options
from jetsql.language import parse
from jetsql.language.statement import CreateJob, CreateStreamingTable, StartMode
from jetsql.language.tokens import Kind, tokens

EXISTING_TABLE: Final = "exists with the columns of the query"
"""The beginning of the description of a table that a statement with a job continues to use."""

_LABEL: Final = "Update:"
_INDENT: Final = 13  # of the facts in a plan
# Words of queries whose case `jetsql format` changes. As names, they follow AS or a dot, and keep their case.
_KEYWORDS: Final = frozenset(
    "ALL AND AS ASC BETWEEN BY CASE CROSS DESC DISTINCT ELSE END EXISTS FROM FULL GROUP HAVING IN INNER INSERT INTO IS"
    " JOIN LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER OVERWRITE PARTITION RIGHT SELECT SINK STREAM THEN UNION USING"
    " VALUES WHEN WHERE WITH".split()
)


class UpdateKind(Enum):
    """The effect of CREATE OR REPLACE JOB on a job that exists."""

    UNCHANGED = "unchanged"  # the job has this statement already
    POSSIBLE = "possible"  # the job continues with the new statement
    REFUSED = "refused"  # the state of the job does not fit the new statement


@dataclass(frozen=True)
class UpdateVerdict:
    """The effect of a statement on the job with its name."""

    kind: UpdateKind
    details: str  # a phrase

    def line(self) -> str:
        """Return the verdict as a line of a plan."""
        return f"{_LABEL:<{_INDENT}}{self.kind.value}: {self.details}"


def read_verdict(plan: str) -> UpdateVerdict | None:
    """Return the verdict in a plan, or None if the statement would create a job."""
    line = next((each for each in plan.splitlines() if each.startswith(_LABEL)), None)
    if line is None:
        return None
    text = line.removeprefix(_LABEL).strip()
    word, _, details = text.partition(": ")
    kinds = {kind.value: kind for kind in UpdateKind}
    if word in kinds:
        return UpdateVerdict(kinds[word], details)
    return UpdateVerdict(UpdateKind.POSSIBLE, text)


def is_same_text(job: Job, statement: CreateJob) -> bool:
    """Return whether a statement has the body, the comment, the options and the START_MODE of a job.

    White space, comments of SQL, the case of keywords and the order of options do not count.
    statement: without the secrets of its table's clauses, as the job keeps it.
    """
    return (
        job.version.comment == statement.comment
        and _start_words(job.version.start_mode) == _start_words(statement.start_mode)
        and job.body.expectations == statement.body.expectations
        and dict(job.plan.options.given) == dict(parse_options(statement.options).values.given)
        and _words(job.body.text, job.version.table_kind is not None)
        == _words(statement.body.text, statement.kind is not None)
    )


def _start_words(mode: StartMode | None) -> tuple[str, ...]:
    return () if mode is None else normalised_words(mode.text)


def _words(body: str, has_table: bool) -> tuple[str, ...]:
    """Return the words of a body. has_table: it is a statement that creates a table with a job of its name."""
    if has_table:
        written = parse(body)
        assert isinstance(written, CreateStreamingTable) and written.create.table is not None
        body = written.create.table.clauses
    return normalised_words(body)


def normalised_words(text: str) -> tuple[str, ...]:
    """Return the tokens of a query without comments, and with its keywords in capitals."""
    words: list[str] = []
    for token in tokens(text):
        is_name = bool(words) and words[-1] in (".", "AS")
        is_keyword = token.kind is Kind.WORD and token.word in _KEYWORDS and not is_name
        words.append(token.word if is_keyword else token.text)
    return tuple(words)
