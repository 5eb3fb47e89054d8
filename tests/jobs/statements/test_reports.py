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
from tests.support.engines.in_memory_engine import InMemoryEngine, analysis, sink, source
from tests.support.engines.jobs_world import QUICK, World, world
from tests.support.golden_reports import compare, report

BODY = "INSERT INTO out SELECT * FROM STREAM src"
MAKE = f"CREATE JOB j AS {BODY}"
HEALING = Cause("the broker is away", "KAFKA_AWAY", "08001", hint="Start the broker.", external_outage=True)
HOPELESS = Cause("division by zero", "DIVIDE_BY_ZERO", "22012", retryable=False, hint="Divide by another number.")
WRONG = StatementError("SINK_CHANGED", "The table out is gone.", hint="Create it again.")
_VOLATILE = re.compile(r"(submission_time|created|age_seconds|lag|updated|time|timestamp|since|started|until)$")

_LATER = "event=cleaned up"  # the manager notes it after it has answered


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def shown(w: World, text: str) -> list[str]:
    """Return the rows of a statement as lines, without what depends on the time."""
    statement = parse(text)
    assert statement is not None
    table = w.run(statement)
    names = [column.name for column in table.columns]
    lines = [
        " | ".join(
            f"{name}={'*' if _VOLATILE.search(name) and cell is not None else cell}"
            for name, cell in zip(names, row, strict=True)
        )
        for row in table.rows
    ]
    return [text, *(line for line in lines if _LATER not in line)]


def suspended(w: World) -> None:
    w.sql("SUSPEND JOB j")


def resumed(w: World) -> None:
    w.sql("SUSPEND JOB j")
    w.sql("RESUME JOB j")


def restarted(w: World) -> None:
    w.sql("RESTART JOB j")


def altered(w: World) -> None:
    w.sql("SUSPEND JOB j")
    w.sql("ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '500', 'restartAttempts' = '7') RESUME")


def replaced(w: World) -> None:
    w.sql("CREATE OR REPLACE JOB j COMMENT 'the second' AS INSERT INTO out SELECT a FROM STREAM src")


def exported(w: World) -> None:
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    w.sql("CREATE OR REPLACE SNAPSHOT s FOR JOB j")
    w.sql("CREATE JOB k OPTIONS ('initialSnapshotName' = 's') AS " + BODY)


def dropped(w: World) -> None:
    w.sql("DROP JOB j")


def dropped_with_snapshot(w: World) -> None:
    w.sql("DROP JOB j WITH SNAPSHOT last")


def failed_for_good(w: World) -> None:
    job = job_id(w)
    w.engine.fail(job, HOPELESS)
    w.wait_status(job, Status.SUSPENDED, Status.FAILED)


def healed(w: World) -> None:
    job = job_id(w)
    w.engine.fail(job, HEALING)
    w.wait_run(job, 2)


def not_started_again(w: World) -> None:
    w.sql("SUSPEND JOB j")
    w.engine.start_errors = [WRONG]
    with pytest.raises(StatementError):
        w.sql("RESUME JOB j")


def restart_wanted(w: World) -> None:
    job = job_id(w)
    w.engine.want_restart(job, "The table src has a new column.")
    w.wait_run(job, 2)


def noticed(w: World) -> None:
    job = job_id(w)
    w.engine.notice(job, "The table out has a new column.")
    w.sql("SUSPEND JOB j")


def completed(w: World) -> None:
    job = job_id(w)
    w.engine.complete(job, "All was read.")
    w.wait_status(job, Status.COMPLETED)


def job_id(w: World) -> str:
    return str(w.row("SHOW JOBS")["id"])


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
def test_what_is_shown_of_a_life(w: World, live: Callable[[World], None]) -> None:
    [made] = w.sql(MAKE).rows
    job = f"'{made[0]}'"
    w.wait_run(str(made[0]), 1)
    live(w)
    for view in VIEWS:
        compare(shown(w, view.format(job=job)))


@pytest.mark.parametrize(
    "text",
    [
        MAKE,
        f"CREATE JOB IF NOT EXISTS j AS {BODY}",
        f"EXPLAIN CREATE JOB j AS {BODY}",
        f"EXPLAIN FORMATTED CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS {BODY}",
        f"CREATE JOB j COMMENT 'a comment' OPTIONS ('autoScaling' = 'false', 'restartAttempts' = '1') AS {BODY}",
        "DROP JOB IF EXISTS j",
        "DROP SNAPSHOT IF EXISTS s",
    ],
)
def test_the_answer_to_a_statement_without_a_job(w: World, text: str) -> None:
    compare(shown(w, text))


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
def test_the_answer_to_a_statement_about_a_job(w: World, text: str) -> None:
    w.sql(MAKE)
    compare(shown(w, text))


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
def test_a_batch_job_says_that_it_reads_its_tables_only_once(
    tmp_path: Path, tables: tuple[str, ...], query: str
) -> None:
    batch = analysis(streaming=False, sources=(), modes={}, tables_read_once=tables)
    with world(tmp_path, InMemoryEngine(analysis=batch, quiet=True)) as w:
        text = f"CREATE JOB j AS INSERT INTO out {query}"
        compare(shown(w, f"EXPLAIN {text}"))
        creating, job = w.begin(text)
        w.engine.complete(job.id)
        [row] = creating.result(20).rows
        compare([str(row[3])])
        assert all(table in str(row[3]) for table in tables if table in query)


def test_what_is_explained_of_an_aggregate(tmp_path: Path) -> None:
    counts = analysis(
        has_aggregates=True,
        stateful=True,
        modes={OutputMode.APPEND: "no watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None},
    )
    with world(tmp_path, InMemoryEngine(analysis=counts)) as w:
        for verb in ("INSERT OVERWRITE", "SINK INTO"):
            for statement in ("EXPLAIN CREATE JOB j", "CREATE JOB j"):
                try:
                    compare(shown(w, f"{statement} AS {verb} out SELECT count(*) FROM STREAM src"))
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
    sink=sink("db.topic", kind=SinkKind.KAFKA, provider="kafka", system="Kafka broker:9092", has_batch_numbers=True),
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
    "partitioned": (analysis(sink=sink(partition_columns=("day", "hour"))), "", INSERT),
    "batch": (analysis(streaming=False, sources=(), modes={}), "", INSERT),
    "all options": (analysis(), ALL_OPTIONS, INSERT),
    "available now": (analysis(), "'trigger' = 'availableNow'", INSERT),
    "no guarantee": (analysis(), "'processingGuarantee' = 'none'", INSERT),
    "counts": (replace(COUNTS, waits_for_watermark=True), "'outputMode' = 'update'", INSERT),
    "overwritten": (COUNTS, "", "INSERT OVERWRITE out SELECT count(*) FROM STREAM src"),
    "keyed": (replace(COUNTS, sink=JDBC), "", "SINK INTO out SELECT id, count(*) FROM STREAM src GROUP BY id"),
    "without keys": (replace(COUNTS, sink=replace(JDBC, key_columns=())), "'outputMode' = 'update'", INSERT),
    "one transaction is not possible": (analysis(sink=replace(JDBC, transactional=False)), "", INSERT),
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
def test_what_is_shown_of_each_kind_of_job(tmp_path: Path, kind: str) -> None:
    of, options, body = KINDS[kind]
    text = f"JOB j {f'OPTIONS ({options}) ' if options else ''}AS {body}"
    settings = replace(QUICK, create_wait_seconds=QUICK.create_wait_seconds if of.streaming else 2.0)
    with world(tmp_path, InMemoryEngine(analysis=of, scan="the plan of Spark"), settings) as w:
        for explained in ("EXPLAIN CREATE", "EXPLAIN FORMATTED CREATE"):
            compare(outcome(w, f"{explained} {text}"))
        compare(outcome(w, f"CREATE {text}"))
        if w.sql("SHOW JOBS").rows:
            job = job_id(w)
            w.wait_run(job, 1)
            views = ("SHOW JOBS", "SHOW JOB HISTORY {job}", "DESCRIBE JOB EXTENDED {job}", "SHOW CREATE JOB {job}")
            for view in (*views, "EXPLAIN CREATE OR REPLACE " + text.replace("SELECT", "SELECT 1,")):
                compare(outcome(w, view.format(job=f"'{job}'")))
            for other in (COUNTS, analysis(sources=(source("other"),)), analysis(sink=sink("another"))):
                w.engine.analysis = other
                compare(outcome(w, f"EXPLAIN CREATE OR REPLACE {text}"))
            w.engine.analysis = of
            compare(outcome(w, "CREATE OR REPLACE " + text.replace("SELECT", "SELECT 1,")))


def outcome(w: World, text: str) -> list[str]:
    """Return the rows of a statement as lines, or its error."""
    try:
        return shown(w, text)
    except StatementError as error:
        return [text, *report(error)]


def test_what_is_told_of_a_job_that_has_committed_nothing(tmp_path: Path) -> None:
    engine = InMemoryEngine(quiet=True)
    with world(tmp_path, engine, settings=replace(QUICK, create_wait_seconds=0.0)) as w:
        w.sql(MAKE)
        w.wait_run(job_id(w), 1)
        for view in (*VIEWS, "WAIT FOR JOB j UNTIL BATCH 5 TIMEOUT 0 SECONDS", "CREATE SNAPSHOT s FOR JOB j"):
            compare(outcome(w, view.format(job=f"'{job_id(w)}'")))


def test_how_old_a_snapshot_is(tmp_path: Path) -> None:
    now = [1000.0]
    with world(tmp_path, clock=lambda: now[0]) as w:
        w.sql(MAKE)
        w.sql("CREATE SNAPSHOT s FOR JOB j")
        now[0] = 1090.5
        assert w.row("SHOW SNAPSHOTS")["age_seconds"] == 90
        now[0] = 900.0
        assert w.row("SHOW SNAPSHOTS")["age_seconds"] == 0
