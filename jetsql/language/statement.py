"""The statements of JetSQL as data, as the parser returns them.

There is one frozen class for each statement, named as its rule in `grammar/jetsql.lark`. Its docstring is the help of
the statement in editors, and begins its section in the reference. A name or value that a later step may
refuse has its `Span` in the text, so that an error can point to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from jetsql.errors import Span
from jetsql.language.objects.alert_statement import AlertStatement
from jetsql.language.objects.connection_statement import ConnectionStatement
from jetsql.language.objects.expectation import Expectation as Expectation
from jetsql.language.objects.object_names import Name as Name
from jetsql.language.objects.object_names import OptionText as OptionText
from jetsql.language.objects.object_names import TableIdentifier as TableIdentifier
from jetsql.language.objects.rights_statement import RightsStatement
from jetsql.language.objects.start_mode import StartMode as StartMode


class Verb(Enum):
    """The way in which a body writes to its table."""

    INSERT_INTO = "INSERT INTO"
    INSERT_OVERWRITE = "INSERT OVERWRITE"
    SINK_INTO = "SINK INTO"
    AUTO_CDC = "AUTO CDC INTO"


@dataclass(frozen=True)
class ChangeClauses:
    """The clauses of AUTO CDC. Their places are in the statement."""

    keys: tuple[str, ...]  # columns of the source, without back quotes
    key_places: tuple[Span, ...]  # of each key
    sequence: Span  # the expression after SEQUENCE BY
    delete_when: Span | None = None  # the condition after APPLY AS DELETE WHEN
    columns: Span | None = None  # COLUMNS with its list or its * EXCEPT
    keeps_history: bool = False  # STORED AS SCD TYPE 2: a row for each change, and not for each key


@dataclass(frozen=True)
class Branch:
    """One INSERT of a body with several. Its places are in the statement."""

    verb: Verb
    place: Span  # from INSERT or SINK to the end of its query
    target: Span  # of the table's name
    into: int  # the offset of INTO


@dataclass(frozen=True)
class Body:
    """The statement that a job runs: the user's text after AS.

    In `spark_text`, the text before the body is blank and SINK INTO is INSERT INTO. It has the length and line breaks
    of the user's statement up to the end of the body, so positions in Spark's errors fit the user's statement. For AUTO
    CDC it is an INSERT of the source's rows, followed by SELECT *, and without the clauses after the source. A body
    with branches is there as it was written; `language.body.several_inserts` returns the texts of its parts.
    """

    verb: Verb  # of a body with branches: SINK INTO if it is the verb of all, otherwise INSERT INTO
    text: str  # as written
    place: Span
    spark_text: str  # as Spark runs it
    target: Span  # of the table's name; of the first table of a body with branches
    changes: ChangeClauses | None = None  # of AUTO CDC
    branches: tuple[Branch, ...] = ()  # empty for a body with one INSERT
    expectations: tuple[Expectation, ...] = ()  # the rules that its rows are checked by


class TableKind(Enum):
    """The kinds of tables that belong to a job of their name."""

    STREAMING_TABLE = "STREAMING TABLE"
    MATERIALIZED_VIEW = "MATERIALIZED VIEW"


@dataclass(frozen=True)
class NewTable:
    """The table that a statement creates from the columns of its query."""

    name: TableIdentifier
    if_not_exists: bool
    inserts: tuple[Body, ...]
    """The job's body for each `Verb`: the statement as an INSERT into the table."""
    clauses: str
    """The text after the name, and after the options of the job: the clauses and the query."""
    definition: Span
    """The place of the table's clauses, without the query."""

    def insert(self, verb: Verb) -> Body:
        """Return the job's body that writes with a verb."""
        return next(body for body in self.inserts if body.verb is verb)


@dataclass(frozen=True)
class CreateJob:
    """Starts a job. The job runs until you suspend or drop it."""

    name: Name
    body: Body
    text: str  # the whole statement as written, without a closing semicolon
    or_replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    options: tuple[OptionText, ...] = ()
    start_mode: StartMode | None = None  # the clause START_MODE
    table: NewTable | None = None
    """The table to create first. `body.spark_text` is then its CREATE TABLE ... AS, which only the analysis uses."""
    kind: TableKind | None = None  # the table's kind if the job belongs to it


@dataclass(frozen=True)
class CreateStreamingTable:
    """Creates a table with the columns of the query, and a job that fills it."""

    create: CreateJob  # its name is the table's name as written; the job has the qualified name
    kind: TableKind


@dataclass(frozen=True)
class DropStreamingTable:
    """Drops the job, then the table."""

    table: TableIdentifier
    kind: TableKind
    if_exists: bool = False


@dataclass(frozen=True)
class RefreshStreamingTable:
    """Runs the job of a materialized view without `STREAM` again, and replaces its rows."""

    table: TableIdentifier
    kind: TableKind


class TableAction(Enum):
    """The change that ALTER STREAMING TABLE makes to the job of the table."""

    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    RESTART = "RESTART"
    OPTIONS = "OPTIONS"


@dataclass(frozen=True)
class AlterStreamingTable:
    """Suspends, resumes or restarts the job, or changes its options, as `ALTER JOB` does."""

    table: TableIdentifier
    kind: TableKind
    action: TableAction
    options: tuple[OptionText, ...] = ()


@dataclass(frozen=True)
class ShowStreamingTables:
    """Lists streaming tables or materialized views with their jobs."""

    kind: TableKind
    pattern: str | None = None  # as in SHOW JOBS


@dataclass(frozen=True)
class ShowCreateStreamingTable:
    """Returns the statement that creates table and job, with the current options of the job."""

    table: TableIdentifier
    kind: TableKind


@dataclass(frozen=True)
class SuspendJob:
    """Stops a job and keeps its state."""

    name: Name


@dataclass(frozen=True)
class ResumeJob:
    """Starts a suspended job where it stopped."""

    name: Name


@dataclass(frozen=True)
class RestartJob:
    """Stops a job between two batches and starts it again, for example to use executors that have joined."""

    name: Name


@dataclass(frozen=True)
class AlterJobOptions:
    """Changes options of a suspended job. With `RESUME` it also starts the job."""

    name: Name
    options: tuple[OptionText, ...]
    resume: bool = False


@dataclass(frozen=True)
class DropJob:
    """Ends a job and deletes its state. `WITH SNAPSHOT` keeps a copy of the state."""

    name: Name
    if_exists: bool = False
    with_snapshot: Name | None = None


class WaitGoal(Enum):
    """The goal of WAIT FOR JOB. Without one, it waits for the end of a batch job, or a batch of a streaming job."""

    COMPLETED = "COMPLETED"
    IDLE = "IDLE"
    BATCH = "BATCH"


@dataclass(frozen=True)
class WaitForJob:
    """Waits until the job has reached a goal."""

    name: Name
    goal: WaitGoal | None = None
    batch: int | None = None  # the number of the batch, for WaitGoal.BATCH
    timeout: int | None = None  # in seconds, or None for the setting


@dataclass(frozen=True)
class CreateSnapshot:
    """Keeps a copy of a job's state under a name: its position in the sources, and the results of its aggregates so
    far.
    """

    snapshot: Name
    job: Name
    or_replace: bool = False


@dataclass(frozen=True)
class DropSnapshot:
    """Deletes a snapshot."""

    snapshot: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowSnapshots:
    """Lists the snapshots, newest first."""

    job: Name | None = None


@dataclass(frozen=True)
class ShowJobs:
    """Lists the jobs that have not ended, newest first. `ALL` adds those that have ended."""

    all_jobs: bool = False  # includes jobs that have ended
    pattern: str | None = None  # as in Spark's SHOW TABLES (`*` and `|`) or SQL's LIKE (`%` and `_`)


@dataclass(frozen=True)
class ShowMembers:
    """Lists Spark's executors, which run the tasks of the jobs, also those that are gone: their cores, when they joined
    and left, and why.
    """


@dataclass(frozen=True)
class ShowEngines:
    """Lists the engines of the store: the leader, which runs the jobs, and the standbys, which wait."""


@dataclass(frozen=True)
class DescribeJob:
    """Returns a row for each fact about a job: status, sources, sink, delivery and its reason, trigger, options, last
    error.
    """

    name: Name
    extended: bool = False


@dataclass(frozen=True)
class ShowCreateJob:
    """Returns the statement that creates the job again, with `***` instead of secrets."""

    name: Name


@dataclass(frozen=True)
class ShowJobHistory:
    """Lists the events of a job, with time, author and cause."""

    name: Name


@dataclass(frozen=True)
class ExplainCreateJob:
    """Returns the plan of a job, and creates nothing: sources, sink, delivery, trigger, output mode, state, and Spark's
    plan.
    """

    create: CreateJob
    formatted: bool = False


@dataclass(frozen=True)
class ColumnText:
    """A parameter of a function, or a column that a table function returns; types and values as written."""

    name: str  # without back quotes
    type: str
    place: Span  # of the name
    type_place: Span
    default: str | None = None  # an expression; None for a parameter without a default value
    default_place: Span | None = None
    comment: str | None = None


class ParameterStyle(Enum):
    """The values that a Python function is called with: one batch of rows as pandas Series or as Arrow arrays."""

    PANDAS = "PANDAS"
    ARROW = "ARROW"


@dataclass(frozen=True)
class CreateFunction:
    """Creates a function in Python. Every session and every job can call it, in all clients, until `DROP FUNCTION`."""

    name: tuple[str, ...]  # catalog and schema, if they were written, and the name, without back quotes
    place: Span  # of the name
    parameters: tuple[ColumnText, ...]
    returns: tuple[ColumnText, ...]  # the columns of a table function; one nameless column for a single value
    returns_table: bool
    source: str  # the Python source
    source_place: Span  # of the source, without its quotes
    handler: str | None = None  # None when the source is the body of the function
    handler_place: Span | None = None
    style: ParameterStyle | None = None  # None for one call for each row
    style_place: Span | None = None
    deterministic: bool = True
    comment: str | None = None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class ExplainCreateStreamingTable:
    """Returns what the statement would create, as `EXPLAIN CREATE JOB` does."""

    create: CreateStreamingTable
    formatted: bool = False


@dataclass(frozen=True)
class Rest:
    """The rest of a statement, which is Spark's SQL: a query, an expression or a statement."""

    text: str  # as written, without a closing semicolon
    place: Span


@dataclass(frozen=True)
class RunFile:
    """Names the files under test, whose statements each test of the file runs first."""

    files: tuple[str, ...]
    places: tuple[Span, ...]


@dataclass(frozen=True)
class StartTest:
    """Begins a test. It ends before the next one."""

    name: Name
    comment: str | None = None


@dataclass(frozen=True)
class RunJobs:
    """Ends a step: each job processes the rows that were inserted since the last step as one batch."""


@dataclass(frozen=True)
class AdvanceClock:
    """Sets the clock of the test, or moves it forward."""

    value: Rest
    """A timestamp, or the interval to add."""
    by_interval: bool = False


@dataclass(frozen=True)
class ExpectTable:
    """Ends the step, and expects these rows in a table, in any order."""

    table: TableIdentifier
    query: Rest
    columns: tuple[Name, ...] = ()  # empty for all columns


@dataclass(frozen=True)
class ExpectNoRows:
    """Ends the step, and expects that a query returns no rows."""

    query: Rest


class JobMeasure(Enum):
    """The facts about a job that a test can expect."""

    WATERMARK = "WATERMARK"
    LATE_ROWS = "LATE ROWS"


@dataclass(frozen=True)
class ExpectJob:
    """Ends the step, and expects the watermark of a job, or the number of its late rows."""

    job: Name
    measure: JobMeasure
    value: Rest


@dataclass(frozen=True)
class ExpectError:
    """Expects that a statement is refused, or that a job fails."""

    error: str  # the condition
    error_place: Span
    job: Name | None = None
    statement: Rest | None = None


TestStatement = RunFile | StartTest | RunJobs | AdvanceClock | ExpectTable | ExpectNoRows | ExpectJob | ExpectError
"""The statements of test files, which `jetsql test` runs."""

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
    | ShowEngines
    | DescribeJob
    | ShowCreateJob
    | ShowJobHistory
    | ExplainCreateJob
    | CreateFunction
    | CreateStreamingTable
    | DropStreamingTable
    | RefreshStreamingTable
    | AlterStreamingTable
    | ShowStreamingTables
    | ShowCreateStreamingTable
    | ExplainCreateStreamingTable
    | RightsStatement
    | ConnectionStatement
    | AlertStatement
    | RunFile
    | StartTest
    | RunJobs
    | AdvanceClock
    | ExpectTable
    | ExpectNoRows
    | ExpectJob
    | ExpectError
)
