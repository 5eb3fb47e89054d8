"""The statements of JetSQL as data: what the parser gives and everything behind it takes.

One frozen class a statement, named as in `grammar/jetsql.lark`. Every word of the user that a later step may refuse
carries its `Span` in the text, so that an error can point at the very token.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.errors import Span


@dataclass(frozen=True)
class Name:
    """A job's or snapshot's name as written (without back quotes); `is_id` when it was a string literal: a job's id."""

    text: str
    place: Span
    is_id: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class OptionText:
    """One `'key' = 'value'` of an OPTIONS list, unquoted but otherwise as written."""

    key: str
    value: str
    key_place: Span
    value_place: Span


class Verb(Enum):
    """What a body does with its table."""

    INSERT_INTO = "INSERT INTO"
    INSERT_OVERWRITE = "INSERT OVERWRITE"
    SINK_INTO = "SINK INTO"


@dataclass(frozen=True)
class Body:
    """What a job runs: the user's text from the first word behind AS to the statement's end.

    text: as written. spark_text: what Spark is handed, of the same length and line breaks as the whole statement up
    to the body's end, everything before the body blanked out and SINK INTO spelled INSERT INTO, so that Spark's
    positions hold for the user's whole statement. target: the place of the table's name.
    """

    verb: Verb
    text: str
    place: Span
    spark_text: str
    target: Span


@dataclass(frozen=True)
class CreateJob:
    """`text` is the whole statement as written, without a closing semicolon."""

    name: Name
    body: Body
    text: str
    or_replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    options: tuple[OptionText, ...] = ()


@dataclass(frozen=True)
class SuspendJob:
    name: Name


@dataclass(frozen=True)
class ResumeJob:
    name: Name


@dataclass(frozen=True)
class RestartJob:
    name: Name


@dataclass(frozen=True)
class AlterJobOptions:
    name: Name
    options: tuple[OptionText, ...]
    resume: bool = False


@dataclass(frozen=True)
class DropJob:
    name: Name
    if_exists: bool = False
    with_snapshot: Name | None = None


class WaitGoal(Enum):
    """What WAIT FOR JOB waits for; without UNTIL: the end of a job that ends, a committed batch of one that doesn't."""

    COMPLETED = "COMPLETED"
    IDLE = "IDLE"
    BATCH = "BATCH"


@dataclass(frozen=True)
class WaitForJob:
    """`batch` goes with WaitGoal.BATCH; `timeout` in seconds, None: the setting."""

    name: Name
    goal: WaitGoal | None = None
    batch: int | None = None
    timeout: int | None = None


@dataclass(frozen=True)
class CreateSnapshot:
    snapshot: Name
    job: Name
    or_replace: bool = False


@dataclass(frozen=True)
class DropSnapshot:
    snapshot: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowSnapshots:
    job: Name | None = None


@dataclass(frozen=True)
class ShowJobs:
    """`all_jobs`: ended ones too. `pattern`: as in Spark's SHOW TABLES (`*` and `|`) or SQL's LIKE (`%`, `_`)."""

    all_jobs: bool = False
    pattern: str | None = None


@dataclass(frozen=True)
class ShowMembers:
    """The processes that run tasks, those that are gone too."""


@dataclass(frozen=True)
class DescribeJob:
    name: Name
    extended: bool = False


@dataclass(frozen=True)
class ShowCreateJob:
    name: Name


@dataclass(frozen=True)
class ShowJobHistory:
    name: Name


@dataclass(frozen=True)
class ExplainCreateJob:
    create: CreateJob
    formatted: bool = False


Statement = (
    CreateJob
    | SuspendJob
    | ResumeJob
    | RestartJob
    | AlterJobOptions
    | DropJob
    | WaitForJob
    | CreateSnapshot
    | DropSnapshot
    | ShowSnapshots
    | ShowJobs
    | ShowMembers
    | DescribeJob
    | ShowCreateJob
    | ShowJobHistory
    | ExplainCreateJob
)
