"""All that the statements show of jobs of every kind, compared with golden files. The engine is in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, Operator, OutputMode, Replay, SinkKind
from jetsql.jobs.model.job import Cause, Status
from jetsql.language import parse
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import QUICK, JobsHarness, run_manager
from tests.support.golden_reports import compare, report

BODY = "INSERT INTO out SELECT * FROM STREAM src"
CREATE = f"CREATE JOB j AS {BODY}"
RETRYABLE_ERROR = Cause("the broker is away", "KAFKA_AWAY", "08001", hint="Start the broker.", external_outage=True)
FATAL_ERROR = Cause("division by zero", "DIVIDE_BY_ZERO", "22012", retryable=False, hint="Divide by another number.")
WRONG = StatementError("SINK_CHANGED", "The table out is gone.", hint="Create it again.")
_VOLATILE = re.compile(r"(submission_time|created|age_seconds|lag|updated|time|timestamp|since|started|until)$")

_LATER = "event=cleaned up"  # the manager notes it after it has answered


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def shown(jobs: JobsHarness, text: str) -> list[str]:
    """Return the rows of a statement as lines, without what depends on the time."""
    statement = parse(text)
    assert statement is not None
    table = jobs.run(statement)
    names = [column.name for column in table.columns]
    lines = [
        " | ".join(
            f"{name}={'*' if _VOLATILE.search(name) and cell is not None else cell}"
            for name, cell in zip(names, row, strict=True)
        )
        for row in table.rows
    ]
    return [text, *(line for line in lines if _LATER not in line)]


def suspended(jobs: JobsHarness) -> None:
    jobs.sql("SUSPEND JOB j")


def resumed(jobs: JobsHarness) -> None:
    jobs.sql("SUSPEND JOB j")
    jobs.sql("RESUME JOB j")


def restarted(jobs: JobsHarness) -> None:
    jobs.sql("RESTART JOB j")


def altered(jobs: JobsHarness) -> None:
    jobs.sql("SUSPEND JOB j")
    jobs.sql("ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '500', 'restartAttempts' = '7') RESUME")


def replaced(jobs: JobsHarness) -> None:
    jobs.sql("CREATE OR REPLACE JOB j COMMENT 'the second' AS INSERT INTO out SELECT a FROM STREAM src")


def exported(jobs: JobsHarness) -> None:
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    jobs.sql("CREATE OR REPLACE SNAPSHOT s FOR JOB j")
    jobs.sql("CREATE JOB k OPTIONS ('initialSnapshotName' = 's') AS " + BODY)


def dropped(jobs: JobsHarness) -> None:
    jobs.sql("DROP JOB j")


def dropped_with_snapshot(jobs: JobsHarness) -> None:
    jobs.sql("DROP JOB j WITH SNAPSHOT last")


def failed_for_good(jobs: JobsHarness) -> None:
    job = job_id(jobs)
    jobs.runtime.fail(job, FATAL_ERROR)
    jobs.wait_status(job, Status.SUSPENDED, Status.FAILED)


def healed(jobs: JobsHarness) -> None:
    job = job_id(jobs)
    jobs.runtime.fail(job, RETRYABLE_ERROR)
    jobs.wait_run(job, 2)


def not_started_again(jobs: JobsHarness) -> None:
    jobs.sql("SUSPEND JOB j")
    jobs.runtime.start_errors = [WRONG]
    with pytest.raises(StatementError):
        jobs.sql("RESUME JOB j")


def restart_wanted(jobs: JobsHarness) -> None:
    job = job_id(jobs)
    jobs.runtime.want_restart(job, "The table src has a new column.")
    jobs.wait_run(job, 2)


def noticed(jobs: JobsHarness) -> None:
    job = job_id(jobs)
    jobs.runtime.notice(job, "The table out has a new column.")
    jobs.sql("SUSPEND JOB j")


def completed(jobs: JobsHarness) -> None:
    job = job_id(jobs)
    jobs.runtime.complete(job, "All was read.")
    jobs.wait_status(job, Status.COMPLETED)


def job_id(jobs: JobsHarness) -> str:
    return str(jobs.row("SHOW JOBS")["id"])


LIVES = [
    suspended, resumed, restarted, altered, replaced, exported, dropped, dropped_with_snapshot, failed_for_good, healed,
    not_started_again, restart_wanted, noticed, completed,
]  # fmt: skip
VIEWS = (
    "SHOW ALL JOBS",
    "SHOW SNAPSHOTS",
    "SHOW MEMBERS",
    "SHOW JOB HISTORY {job}",
    "DESCRIBE JOB {job}",
    "DESCRIBE JOB EXTENDED {job}",
    "SHOW CREATE JOB {job}",
)


@pytest.mark.parametrize("live", LIVES, ids=lambda live: live.__name__)
def test_reports_of_a_job_life_cycle(jobs: JobsHarness, live: Callable[[JobsHarness], None]) -> None:
    [reply] = jobs.sql(CREATE).rows
    job = f"'{reply[0]}'"
    jobs.wait_run(str(reply[0]), 1)
    live(jobs)
    for view in VIEWS:
        compare(shown(jobs, view.format(job=job)))


@pytest.mark.parametrize(
    "text",
    [
        CREATE,
        f"CREATE JOB IF NOT EXISTS j AS {BODY}",
        f"EXPLAIN CREATE JOB j AS {BODY}",
        f"EXPLAIN FORMATTED CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS {BODY}",
        f"CREATE JOB j COMMENT 'a comment' OPTIONS ('autoScaling' = 'false', 'restartAttempts' = '1') AS {BODY}",
        "DROP JOB IF EXISTS j",
        "DROP SNAPSHOT IF EXISTS s",
    ],
)
def test_reply_to_a_statement_without_a_job(jobs: JobsHarness, text: str) -> None:
    compare(shown(jobs, text))


@pytest.mark.parametrize(
    "text",
    [
        f"CREATE JOB IF NOT EXISTS j AS {BODY}",
        f"CREATE OR REPLACE JOB j AS {BODY}",
        f"EXPLAIN CREATE OR REPLACE JOB j AS {BODY}",
        "SUSPEND JOB j",
        "RESUME JOB j",
        "RESTART JOB j",
        "ALTER JOB j SUSPEND",
        "ALTER JOB j RESUME",
        "ALTER JOB j RESTART",
        "CREATE SNAPSHOT s FOR JOB j",
        "DROP JOB j",
        "DROP JOB j WITH SNAPSHOT s",
        "WAIT FOR JOB j",
        "WAIT FOR JOB j UNTIL BATCH 0 TIMEOUT 5",
    ],
)
def test_reply_to_a_statement_about_a_job(jobs: JobsHarness, text: str) -> None:
    jobs.sql(CREATE)
    compare(shown(jobs, text))


@pytest.mark.parametrize(
    ("tables", "query"),
    [
        (("spark_catalog.default.src",), "SELECT * FROM src"),
        (("spark_catalog.default.src",), "SELECT * FROM a_view"),
        (("spark_catalog.default.src", "spark_catalog.other.dim"), "SELECT * FROM `src` JOIN other.Dim USING (id)"),
        ((), "SELECT * FROM a_jdbc_table"),
    ],
    ids=["one table", "a view", "two tables", "no streams"],
)
def test_batch_job_reports_that_it_reads_tables_once(tmp_path: Path, tables: tuple[str, ...], query: str) -> None:
    batch = analysis(streaming=False, sources=(), modes={}, tables_read_once=tables)
    with run_manager(tmp_path, InMemoryRuntime(analysis=batch, quiet=True)) as jobs:
        text = f"CREATE JOB j AS INSERT INTO out {query}"
        compare(shown(jobs, f"EXPLAIN {text}"))
        creating, job = jobs.begin(text)
        jobs.runtime.complete(job.id)
        [row] = creating.result(20).rows
        compare([str(row[3])])
        assert all(table in str(row[3]) for table in tables if table in query)


def test_explain_of_an_aggregate(tmp_path: Path) -> None:
    counts = analysis(
        has_aggregates=True,
        stateful=True,
        modes={OutputMode.APPEND: "no watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None},
    )
    with run_manager(tmp_path, InMemoryRuntime(analysis=counts)) as jobs:
        for verb in ("INSERT OVERWRITE", "SINK INTO"):
            for statement in ("EXPLAIN CREATE JOB j", "CREATE JOB j"):
                try:
                    compare(shown(jobs, f"{statement} AS {verb} out SELECT count(*) FROM STREAM src"))
                except StatementError as error:
                    compare([str(error)])


COUNTS = analysis(
    has_aggregates=True,
    stateful=True,
    operators=(Operator("Aggregate", "source0.a: int; count(1): bigint"),),
    modes={OutputMode.APPEND: "no watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None},
)
LIVE = analysis(
    sources=(source("events", format="kafka", location="broker:9092/events", has_dead_letters=True),),
    sinks=(
        sink("db.topic", kind=SinkKind.KAFKA, provider="kafka", system="Kafka broker:9092", has_batch_numbers=True),
    ),
)
JDBC = sink("db.public.t", kind=SinkKind.JDBC, provider="jdbc", system="PostgreSQL at db:5432", key_columns=("id",))
INSERT = "INSERT INTO out SELECT a FROM STREAM src"
ALL_OPTIONS = (
    "'snapshotIntervalMillis' = '500', 'restartAttempts' = '7', 'suspendOnFailure' = 'false', 'autoScaling' = 'false',"
    " 'splitBrainProtectionEnabled' = 'true', 'metricsEnabled' = 'false', 'storeMetricsAfterJobCompletion' = 'true',"
    " 'processingGuarantee' = 'atLeastOnce', 'spark.sql.shuffle.partitions' = '4'"
)
KINDS: dict[str, tuple[Analysis, str, str]] = {
    "plain": (analysis(), "", INSERT),
    "partitioned": (analysis(sinks=(sink(partition_columns=("day", "hour")),)), "", INSERT),
    "batch": (analysis(streaming=False, sources=(), modes={}), "", INSERT),
    "all options": (analysis(), ALL_OPTIONS, INSERT),
    "available now": (analysis(), "'trigger' = 'availableNow'", INSERT),
    "no guarantee": (analysis(), "'processingGuarantee' = 'none'", INSERT),
    "counts": (replace(COUNTS, waits_for_watermark=True), "'outputMode' = 'update'", INSERT),
    "overwritten": (COUNTS, "", "INSERT OVERWRITE out SELECT count(*) FROM STREAM src"),
    "keyed": (replace(COUNTS, sinks=(JDBC,)), "", "SINK INTO out SELECT id, count(*) FROM STREAM src GROUP BY id"),
    "without keys": (replace(COUNTS, sinks=(replace(JDBC, key_columns=()),)), "'outputMode' = 'update'", INSERT),
    "one transaction is not possible": (analysis(sinks=(replace(JDBC, transactional=False),)), "", INSERT),
    "kafka": (LIVE, "", INSERT),
    "real time": (LIVE, "'trigger' = 'realTime'", INSERT),
    "sources": (
        analysis(
            sources=(
                source("rate", replay=Replay.BY_CLOCK, endless=True),
                source("socket", replay=Replay.NO),
                source("files", rate_limited=True),
            ),
            unstable_partitioning="rand()",
        ),
        "",
        INSERT,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_each_kind_of_job(tmp_path: Path, kind: str) -> None:
    of, options, body = KINDS[kind]
    text = f"JOB j {f'OPTIONS ({options}) ' if options else ''}AS {body}"
    settings = replace(QUICK, create_wait_seconds=QUICK.create_wait_seconds if of.streaming else 2.0)
    with run_manager(tmp_path, InMemoryRuntime(analysis=of, scan="the plan of Spark"), settings) as jobs:
        for explained in ("EXPLAIN CREATE", "EXPLAIN FORMATTED CREATE"):
            compare(outcome(jobs, f"{explained} {text}"))
        compare(outcome(jobs, f"CREATE {text}"))
        if jobs.sql("SHOW JOBS").rows:
            job = job_id(jobs)
            jobs.wait_run(job, 1)
            views = ("SHOW JOBS", "SHOW JOB HISTORY {job}", "DESCRIBE JOB EXTENDED {job}", "SHOW CREATE JOB {job}")
            for view in (*views, "EXPLAIN CREATE OR REPLACE " + text.replace("SELECT", "SELECT 1,")):
                compare(outcome(jobs, view.format(job=f"'{job}'")))
            for other in (COUNTS, analysis(sources=(source("other"),)), analysis(sinks=(sink("another"),))):
                jobs.runtime.analysis = other
                compare(outcome(jobs, f"EXPLAIN CREATE OR REPLACE {text}"))
            jobs.runtime.analysis = of
            compare(outcome(jobs, "CREATE OR REPLACE " + text.replace("SELECT", "SELECT 1,")))


def outcome(jobs: JobsHarness, text: str) -> list[str]:
    """Return the rows of a statement as lines, or its error."""
    try:
        return shown(jobs, text)
    except StatementError as error:
        return [text, *report(error)]


def test_reports_of_a_job_without_commits(tmp_path: Path) -> None:
    engine = InMemoryRuntime(quiet=True)
    with run_manager(tmp_path, engine, settings=replace(QUICK, create_wait_seconds=0.0)) as jobs:
        jobs.sql(CREATE)
        jobs.wait_run(job_id(jobs), 1)
        for view in (*VIEWS, "WAIT FOR JOB j UNTIL BATCH 5 TIMEOUT 0 SECONDS", "CREATE SNAPSHOT s FOR JOB j"):
            compare(outcome(jobs, view.format(job=f"'{job_id(jobs)}'")))


def test_age_of_a_snapshot(tmp_path: Path) -> None:
    now = [1000.0]
    with run_manager(tmp_path, clock=lambda: now[0]) as jobs:
        jobs.sql(CREATE)
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
        now[0] = 1090.5
        assert jobs.row("SHOW SNAPSHOTS")["age_seconds"] == 90
        now[0] = 900.0
        assert jobs.row("SHOW SNAPSHOTS")["age_seconds"] == 0
