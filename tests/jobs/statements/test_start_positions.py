"""START_MODE: refusals, the position of a new job, and what the clause means for a job that exists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.jobs.model.body_analysis import Operator, Replay, Source
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import JobsHarness, run_manager

BODY = "INSERT INTO out SELECT id FROM STREAM src"
TOPIC = source("spark_catalog.default.t", format="kafka", created=7, location="orders")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path, InMemoryRuntime(analysis=analysis(sources=(TOPIC,)))) as jobs:
        yield jobs


def test_position_is_decided_once_and_shown(jobs: JobsHarness) -> None:
    _, message = jobs.reply(f"CREATE JOB j START_MODE = FROM_NOW AS {BODY}")
    job = jobs.job(str(jobs.row("SHOW JOBS")["id"]))
    [start] = job.version.starts
    assert f"It begins at {start.text} of spark_catalog.default.t." in message
    assert any(start.text in str(row[6]) for row in jobs.sql("SHOW JOB HISTORY j").rows)
    assert jobs.describe("DESCRIBE JOB j")["start mode"] == "FROM_NOW"
    assert jobs.describe("DESCRIBE JOB j")["began"] == f"spark_catalog.default.t: {start.text}"
    assert "\nSTART_MODE = FROM_NOW\nAS " in str(jobs.row("SHOW CREATE JOB j")["create_statement"])
    jobs.sql("SUSPEND JOB j")
    jobs.sql("ALTER JOB j OPTIONS ('restartAttempts' = '5') RESUME")
    assert jobs.job(job.id).version.starts == job.version.starts
    assert jobs.runtime.calls.count("decide_starts") == 1


@pytest.mark.parametrize(
    ("changed", "mode", "reason"),
    [
        ({"format": "rate", "replay": Replay.BY_CLOCK, "endless": True}, "FROM_NOW", "has no positions"),
        ({"format": "rate", "replay": Replay.BY_CLOCK, "endless": True}, "FROM_BEGINNING", ""),
        ({"created": 0}, "FROM_NOW", "has no positions"),
        ({"format": "json", "has_dead_letters": True}, "FROM_NOW", "'on.error'"),
        ({"format": "parquet"}, """FROM_OFFSETS('{"orders": {"0": 1}}')""", "has no offsets"),
        ({"format": "delta", "identity": "d"}, """FROM_OFFSETS('{"orders": {"0": 1}}')""", "has no offsets"),
        ({"format": "delta", "identity": "d"}, "FROM_NOW", ""),
        ({"format": "iceberg", "identity": "d"}, "FROM_NOW", "an Iceberg table"),
        ({"format": "iceberg", "identity": "d"}, "FROM_BEGINNING", ""),
        ({"start_option": "'startingOffsets' = 'latest'"}, "FROM_NOW", ""),
        ({"start_option": "'startingOffsets' = 'latest'"}, "FROM_NOW(INTERVAL '1' HOUR)", "says otherwise"),
        ({"start_option": "'startingOffsets' = 'latest'"}, "FROM_BEGINNING", "says otherwise"),
        ({"start_option": "'startingOffsets' = 'earliest'"}, "RESUME_OR_FROM_BEGINNING", ""),
        ({"start_option": "'startingVersion' = '3'"}, "FROM_TIMESTAMP('2026-01-01')", "says otherwise"),
    ],
)
def test_sources_without_the_position_are_refused(
    tmp_path: Path, changed: dict[str, object], mode: str, reason: str
) -> None:
    read: Source = source("spark_catalog.default.t", **{"format": "kafka", "created": 7, **changed})
    with run_manager(tmp_path, InMemoryRuntime(analysis=analysis(sources=(read,)))) as jobs:
        text = f"CREATE JOB j START_MODE = {mode} AS {BODY}"
        if not reason:
            jobs.sql(text)
            return
        for statement in (text, f"EXPLAIN {text}"):
            error = jobs.error_of(statement)
            assert error.condition == "JETSQL.START_NOT_POSSIBLE" and reason in error.message
            assert error.place is not None and statement[error.place.start : error.place.stop] in mode
        assert not jobs.sql("SHOW JOBS").rows


def test_jobs_without_a_position_are_refused(jobs: JobsHarness) -> None:
    jobs.make("first")
    jobs.sql("CREATE SNAPSHOT s FOR JOB first")
    text = f"CREATE JOB j OPTIONS ('initialSnapshotName' = 's') START_MODE = FROM_NOW AS {BODY}"
    assert "starts from a snapshot" in jobs.error_of(text).message
    jobs.runtime.analysis = analysis(streaming=False, sources=(), modes={})
    assert "reads no stream" in jobs.error_of(f"CREATE JOB k START_MODE = FROM_BEGINNING AS {BODY}").message


def test_live_job_continues_or_refuses(jobs: JobsHarness) -> None:
    jobs.sql(f"CREATE JOB j START_MODE = FROM_NOW AS {BODY}")
    [start] = jobs.job(str(jobs.row("SHOW JOBS")["id"])).version.starts
    same = f"CREATE OR REPLACE JOB j START_MODE = from_now AS {BODY}"
    assert "already has this statement" in jobs.reply(same)[1]
    assert "Update:      unchanged" in str(jobs.row(f"EXPLAIN {same}")["plan"])
    for mode in ("FROM_BEGINNING", "FROM_NOW"):
        text = f"CREATE OR REPLACE JOB j START_MODE = {mode} AS {BODY} WHERE id > 0"
        error = jobs.error_of(text)
        assert error.condition == "JETSQL.START_NOT_POSSIBLE" and f"RESUME_OR_{mode}" in error.hint
        assert "Update:      refused: Job j cannot begin again" in str(jobs.row(f"EXPLAIN {text}")["plan"])
    for clause in ("START_MODE = RESUME_OR_FROM_BEGINNING", ""):
        jobs.sql(f"CREATE OR REPLACE JOB j {clause} AS {BODY} WHERE id > {len(clause)}")
        version = jobs.job(str(jobs.row("SHOW JOBS")["id"])).version
        assert version.starts == (start,) and bool(version.start_mode) == bool(clause)


def test_state_is_never_dropped_without_a_statement(jobs: JobsHarness) -> None:
    facts = {"sources": (TOPIC,), "stateful": True, "operators": (Operator("Aggregate", "count(1)"),)}
    jobs.runtime.analysis = analysis(**facts)
    jobs.sql(f"CREATE JOB j START_MODE = RESUME_OR_FROM_NOW AS {BODY}")
    jobs.runtime.analysis = analysis(**facts | {"sources": (source("spark_catalog.default.renamed", created=7),)})
    error = jobs.error_of(f"CREATE OR REPLACE JOB j START_MODE = RESUME_OR_FROM_NOW AS {BODY} WHERE id > 0")
    assert error.condition == "JETSQL.START_NOT_POSSIBLE" and "is removed" in error.message
    assert "DROP JOB, which deletes its state" in error.hint
    error = jobs.error_of(f"CREATE OR REPLACE JOB j START_MODE = FROM_NOW AS {BODY}")
    assert "it exists and has a position and state" in error.message


def test_streaming_tables_have_the_clause(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(sources=(TOPIC,), sinks=(sink("spark_catalog.default.st"),))
    jobs.sql("CREATE STREAMING TABLE st JOB OPTIONS ('restartAttempts' = '5') START_MODE = FROM_NOW AS SELECT 1 AS id")
    text = str(jobs.row("SHOW CREATE STREAMING TABLE st")["createtab_stmt"])
    assert "\nSTART_MODE = FROM_NOW\n" in text


def test_explain_says_where_a_job_begins(jobs: JobsHarness) -> None:
    text = f"EXPLAIN CREATE JOB j START_MODE = FROM_NOW(INTERVAL '7' DAY) AS {BODY}"
    plan = str(jobs.row(text)["plan"])
    line = (
        "Start:       begins with what arrives after the statement (INTERVAL '7' DAY); decided when the statement runs"
    )
    assert line in plan
    assert "decide_starts" not in jobs.runtime.calls
