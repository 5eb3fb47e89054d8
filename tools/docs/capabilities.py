"""The capabilities that pages name: one table, tied to the code.

`python -m tools.docs` writes the tables of features in the README, the comparison and the pages on other systems.
`tests/project/test_capabilities.py` fails when the code loses a part that a capability names, or has a part that no
capability names, and when a page denies a capability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.body_analysis import Analysis, CapturedSession, Replay, Sink, SinkKind, Source
from jetsql.jobs.model.job_options import Options, StatementOptions
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS, choose_guarantee
from jetsql.language.statement import Verb


@dataclass(frozen=True)
class Capability:
    """A feature of this version, and the parts of the code that it consists of."""

    name: str
    text: str
    """The use of it, as Markdown without links."""
    page: str
    """The page that describes it, in `docs`, with an anchor where there is one."""
    statements: tuple[str, ...] = ()
    """Rules of the grammar."""
    verbs: tuple[Verb, ...] = ()
    """The ways to write into a table."""
    sinks: tuple[SinkKind, ...] = ()
    rewrites: tuple[str, ...] = ()
    """The names of rules that rewrite queries."""
    connectors: tuple[str, ...] = ()
    """Keys of `connectors.properties`."""
    settings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Options of a job."""
    compared: tuple[tuple[str, str], ...] = ()
    """Rows of the table that compares systems, and what they say about JetSQL."""
    denied_by: str = ""
    """A regular expression of text that would deny the capability."""


CAPABILITIES: Final = (
    Capability(
        "jobs by name, in SQL",
        "create, suspend, resume, restart, alter, drop, wait for, list and describe a job, with its history",
        "reference/statements.md",
        statements=(
            *("create_job", "suspend_job", "resume_job", "restart_job", "alter_job_options", "drop_job"),
            *("wait_for_job", "show_jobs", "describe_job", "show_create_job", "show_job_history"),
        ),
        compared=(("create, list and drop by name in SQL", "yes"), ("suspend and resume in SQL", "yes")),
    ),
    Capability(
        "changed queries",
        "`CREATE OR REPLACE JOB` keeps the state of a job if the new query allows it; `EXPLAIN` reports this before",
        "how-to/update-a-job.md",
        statements=("explain_create_job",),
        compared=(("change a query and keep its state", "some changes, checked before"),),
    ),
    Capability(
        "named snapshots",
        "of a running job; a new job can start from one",
        "how-to/snapshots.md",
        statements=("create_snapshot", "drop_snapshot", "show_snapshots"),
        options=("initialSnapshotName",),
        compared=(("named snapshots in SQL", "yes"),),
    ),
    Capability(
        "streaming tables and materialized views",
        "a table and the job that fills it, in one statement",
        "how-to/streaming-tables.md",
        statements=(
            *("create_streaming_table", "drop_streaming_table", "refresh_streaming_table", "alter_streaming_table"),
            *("show_streaming_tables", "show_create_streaming_table", "explain_create_streaming_table"),
        ),
    ),
    Capability(
        "sinks, exactly once",
        "files, PostgreSQL, Kafka, Delta and Iceberg",
        "explanation/delivery.md#sinks",
        verbs=(Verb.INSERT_INTO, Verb.INSERT_OVERWRITE, Verb.SINK_INTO),
        sinks=(SinkKind.FILES, SinkKind.JDBC, SinkKind.KAFKA, SinkKind.DELTA, SinkKind.ICEBERG),
        connectors=("kafka", "avro", "delta", "iceberg", "postgresql"),
        settings=("kafka", "delta", "iceberg"),
        compared=(
            ("exactly once into Kafka", "default"),
            ("streaming sources other than Kafka", "files, Delta, Iceberg"),
        ),
        denied_by=r"(Delta|Iceberg)[^.|]*\|?[^.|]*(cannot be sinks|not (as|yet) sinks?)",
    ),
    Capability(
        "changed rows of a result",
        "aggregates above aggregates, outer joins of streams, and joins of aggregates update the rows of a table with"
        " keys, and delete those that leave the result",
        "explanation/rewritten-queries.md#changes-of-joins",
        rewrites=("changed results",),
        denied_by=r"no joins of updating results|join of updating results does not|do not pass deletions on",
    ),
    Capability(
        "queries that Spark refuses over streams",
        "top rows, `count(DISTINCT)`, `DISTINCT` and `UNION`, `OVER` by event time, joins by time, `NOT EXISTS`",
        "explanation/rewritten-queries.md",
        rewrites=(
            *("anti joins", "window bounds", "top rows", "distinct rows", "distinct aggregates"),
            *("rows by time", "joins by time"),
        ),
    ),
    Capability(
        "patterns of rows",
        "`MATCH_RECOGNIZE` over streams and tables",
        "how-to/patterns.md",
        rewrites=("row patterns",),
        denied_by=r"MATCH_RECOGNIZE`?[^.|]* is not (possible|supported)",
    ),
    Capability(
        "change data capture",
        "`AUTO CDC INTO` applies inserts, updates and deletions, with or without the history of each key",
        "how-to/cdc.md",
        verbs=(Verb.AUTO_CDC,),
    ),
    Capability(
        "bounded state and late rows",
        "a time to live of state, tables of late rows, sources that are idle",
        "how-to/late-rows.md",
        rewrites=("state time to live",),
        options=("stateTtlMillis", "lateRows", "idleTimeoutMillis"),
    ),
    Capability(
        "rules for rows",
        "`CONSTRAINT ... EXPECT` counts wrong rows, drops them, keeps them in a table, or fails the job",
        "how-to/expectations.md",
    ),
    Capability(
        "start positions",
        "`START_MODE` begins a job at the beginning, now, at a time or at offsets, for Kafka, files and Delta",
        "how-to/start-positions.md",
    ),
    Capability(
        "rows that the sink refuses",
        "are kept in a table with the error, and the others are written",
        "how-to/refused-rows.md",
        options=("sink.on.error",),
    ),
    Capability(
        "functions in Python",
        "for rows, batches and tables",
        "how-to/python-functions.md",
        statements=("create_function",),
    ),
    Capability(
        "unit tests",
        "of SQL files, with tables in memory and a clock of their own",
        "how-to/unit-tests.md",
        statements=(
            *("run_file", "start_test", "run_jobs", "advance_clock"),
            *("expect_table", "expect_no_rows", "expect_job", "expect_error"),
        ),
    ),
    Capability(
        "several engines",
        "a standby takes over when the leader ends or is out of reach; the store is on PostgreSQL",
        "operate/high-availability.md",
        statements=("show_engines",),
        settings=("store", "heartbeat_seconds", "lease_seconds"),
        compared=(("goes on when a machine is lost", "a standby engine takes over"),),
        denied_by=r"There is one engine( process)?\.|jobs do not run until an engine starts again",
    ),
    Capability(
        "users and rights",
        "several people use an engine with tokens of their own, and see and operate the jobs that they have rights on",
        "reference/security.md#users-and-rights",
        statements=(
            *("create_user", "alter_user", "drop_user", "create_role", "drop_role", "create_token", "drop_token"),
            *("grant_rights", "grant_role", "revoke_rights", "revoke_role", "alter_owner", "reassign_owned"),
            *("show_users", "show_roles", "show_tokens", "show_grants"),
        ),
    ),
    Capability(
        "connections and secrets",
        "the login of a database or a broker is in one place, is used without being read, and goes only to its hosts",
        "how-to/connections.md",
        statements=(
            *("create_secret", "alter_secret", "drop_secret", "show_secrets"),
            *("create_connection", "alter_connection", "drop_connection", "show_connections", "describe_connection"),
        ),
    ),
    Capability(
        "alerts",
        "a webhook, Slack or a command gets a message when a job stops, lags or breaks a rule, and when that ends",
        "operate/alerts.md",
        statements=("create_alert", "alter_alert", "drop_alert", "show_alerts", "show_create_alert"),
    ),
    Capability(
        "lineage",
        "OpenLineage events have the tables of each run and where each column comes from; OpenTelemetry has a span for"
        " each batch",
        "operate/lineage.md",
    ),
    Capability(
        "executors that join",
        "jobs restart on more or fewer cores",
        "operate/scaling.md",
        statements=("show_members",),
        options=("autoScaling",),
    ),
    Capability(
        "object stores",
        "checkpoints, snapshots and tables in Amazon S3 or a store with its interface",
        "how-to/object-stores.md",
        connectors=("s3",),
        settings=("s3", "storage"),
    ),
    Capability(
        "clients",
        "a web console, a shell, HTTP, DB-API, SQLAlchemy, JDBC and ODBC over Thrift, Spark Connect",
        "reference/clients.md",
        settings=("http_port", "console_login_seconds", "thrift", "connect"),
    ),
)


@dataclass(frozen=True)
class Limit:
    """A feature that this version lacks, and the text of the code or of a page that refuses or says so."""

    name: str
    text: str
    page: str
    source: str
    """A file of the repository."""
    evidence: str
    """A text in it. When it is gone, the limit may be gone as well."""


LIMITS: Final = (
    Limit(
        "Bucketed tables",
        "A job cannot write to a table with `CLUSTERED BY`.",
        "reference/tables.md",
        "jetsql/engine/runs/analysis.py",
        "is bucketed.",
    ),
    Limit(
        "Queries",
        "`NOT IN` over a stream, and `OVER` and top rows above the changes of a join, cannot run by changes.",
        "explanation/rewritten-queries.md#limits",
        "java/src/main/java/dev/jetsql/rewrites/StreamingSubqueries.java",
        "NOT IN over a stream is not supported",
    ),
    Limit(
        "Users",
        "Users without `ADMIN` create tables of four file formats in the warehouse, without paths, options or jars.",
        "reference/security.md#users-and-rights",
        "docs/reference/security.md",
        "`CREATE TABLE` makes tables of `parquet`, `json`, `csv` and `orc` in the warehouse",
    ),
    Limit(
        "Real time",
        "The trigger `realTime` works from Kafka to Kafka, at least once; with state, on Spark 4.3. All other jobs run"
        " in micro-batches.",
        "how-to/kafka.md#write-each-row-without-waiting-for-a-batch",
        "jetsql/jobs/planning/guarantee.py",
        "with the trigger realTime rows are written before their batch is committed",
    ),
)


@dataclass(frozen=True)
class TableSupport:
    """A kind of table, and what a job can do with it."""

    name: str
    streams: str
    """The answer to: can `FROM STREAM` read it?"""
    joined: str
    """The answer to: can a query join it with a stream?"""
    sink: SinkKind | None = None
    """The kind of its sink; None if a job cannot write it."""
    transactional: bool = True
    """True if rows and the number of a batch are written in one step."""
    more: str = ""
    """The ways to write beyond adding rows, as a suffix."""


_KEYS: Final = "; upserts and deletions by key"
TABLE_KINDS: Final = (
    TableSupport("files: json, csv, parquet, orc, text, avro", "yes", "yes", SinkKind.FILES),
    TableSupport("[Delta](lakehouse.md)", "yes", "yes", SinkKind.DELTA, more=_KEYS),
    TableSupport("[Iceberg](lakehouse.md)", "yes", "yes", SinkKind.ICEBERG, more=_KEYS),
    TableSupport("JDBC: PostgreSQL", "no", "yes", SinkKind.JDBC, more=_KEYS),
    TableSupport("JDBC: other databases", "no", "yes", SinkKind.JDBC, transactional=False, more=", `INSERT INTO` only"),
    TableSupport("[Kafka](kafka.md)", "yes", "yes", SinkKind.KAFKA, more=_KEYS),
    TableSupport("rate, rate-micro-batch", "yes, made-up rows for tests", "no"),
    TableSupport("socket", "only with `'processingGuarantee' = 'none'`", "no"),
)


def guarantee(kind: TableSupport) -> str:
    """Return the guarantee of a job that writes the table, as the planner chooses it; `no` if none can."""
    if kind.sink is None:
        return "no"
    sink = Sink("t", kind.sink, "", "", 0, transactional=kind.transactional)
    analysis = Analysis(True, (Source("s", "json", "", Replay.YES),), (sink,), CapturedSession("", ""))
    return GUARANTEE_TEXTS[choose_guarantee(analysis, sink, StatementOptions(Options()), None).guarantee]
