"""Stores of older releases: this release migrates them, even after crashes of the migration.

`fixtures/store_v1.sql` was written by the first release: it has a running, a suspended, a failed and suspended, a
dropped and a completed job.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.job import Status
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.store.database import VERSION
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.migrations import STEPS
from jetsql.jobs.store.record_versions import RENAMED_EVENTS
from jetsql.jobs.store.store_file import StoreFile
from jetsql.request import Caller
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.store_places import HOME, SchemaPlace
from tests.support.golden_reports import raises
from tests.support.paths import FIXTURES, ROOT, TESTS
from tests.support.servers.postgres import Postgres

FIXTURE = FIXTURES / "store_v1.sql"
RECORDED = sorted(path.parent for path in (TESTS / "releases").glob("*/store.sql"))
NAMES = ["running", "Suspended délays", "hurt", "dropped", "loaded"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store of version 1."""
    path = tmp_path / "jetsql.db"
    return store_of(path, FIXTURE.read_text(encoding="utf-8"))


def store_of(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def asked(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def version(path: Path) -> object:
    return asked(path, "SELECT value FROM meta WHERE key = 'version'")[0][0]


def test_every_job_is_migrated_with_its_history(path: Path) -> None:
    with closing(Store(path)) as store:
        jobs = store.all_jobs()
        assert [job.name for job in jobs] == NAMES
        assert [job.status for job in jobs] == [
            Status.RUNNING, Status.SUSPENDED, Status.SUSPENDED, Status.FAILED, Status.COMPLETED
        ]  # fmt: skip
        assert [len(store.history(job.id)) for job in jobs] == [2, 4, 3, 5, 3]
        assert jobs[0].version.comment == "goes on" and jobs[0].plan.interval_millis == 500 and jobs[0].batch == 0
        assert jobs[2].cause is not None and jobs[2].cause.condition == "DIVIDE_BY_ZERO" and not jobs[2].cause.retryable
        assert jobs[4].plan.options.trigger is Trigger.AVAILABLE_NOW and jobs[4].has_files
        sources = [source for job in jobs for source in job.plan.analysis.sources]
        assert sources and all(source.keeps_malformed_lines == (source.format == "json") for source in sources)
        assert store.snapshots() == () and store.id == "3b62b275a8344d0c9074493f81a519bb"
    assert version(path) == str(VERSION)


def test_migrated_store_has_the_schema_of_a_new_one(path: Path, tmp_path: Path) -> None:
    Store(path).close()
    Store(tmp_path / "new.db").close()
    assert len(STEPS) == VERSION - 1
    columns = 't.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master t, pragma_table_info(t.name) c'
    indexes = 't.name, i."unique", i.partial, i.origin FROM sqlite_master t, pragma_index_list(t.name) i'
    tables = "type, name, tbl_name FROM sqlite_master"
    for query in (f"SELECT {part} ORDER BY 1, 2, 3" for part in (tables, columns, indexes)):
        assert asked(path, query) == asked(tmp_path / "new.db", query)


def test_previous_store_is_kept_next_to_the_new_one(path: Path) -> None:
    before = list(sqlite3.connect(path).iterdump())
    Store(path).close()
    copy = path.with_name("jetsql.db.version-1")
    assert list(sqlite3.connect(copy).iterdump()) == before
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    modified = copy.stat().st_mtime_ns
    Store(path).close()
    assert copy.stat().st_mtime_ns == modified
    assert sorted(file.name for file in path.parent.iterdir()) == ["jetsql.db", "jetsql.db.version-1"]


def test_operators_become_data(path: Path) -> None:
    facts = ["source 0: parquet src file:/src", "state 0: Aggregate; a: int; '; ': string", "state 1: Distinct"]
    with closing(sqlite3.connect(path)) as connection:
        for job_id, text in connection.execute("SELECT id, record FROM jobs").fetchall():
            record = json.loads(text)
            record["plan"]["analysis"]["fingerprint"] = facts
            record["previous"] = {key: record[key] for key in ("text", "body", "plan")}
            connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(record), job_id))
        connection.commit()
    with closing(Store(path)) as store:
        for job in store.all_jobs():
            assert job.rollback_version is not None
            for plan in (job.plan, job.rollback_version.plan):
                assert plan.analysis.operators == (Operator("Aggregate", "a: int; '; ': string"), Operator("Distinct"))
                assert plan.analysis.operator_texts == tuple(facts[1:])


def test_events_of_the_history_get_their_new_names(path: Path) -> None:
    old = {str(title) for (title,) in asked(path, "SELECT title FROM history")}
    assert {"suspend asked for", "drop asked for"} < old
    with closing(Store(path)) as store:
        events = {row.event for row in store.history()}
    assert events == {RENAMED_EVENTS.get(title, title) for title in old}
    assert {"suspend requested", "drop requested"} < events


def test_events_of_older_releases_have_no_author(path: Path) -> None:
    with closing(Store(path)) as store:
        assert {row.by for row in store.history()} == {None}
        job = store.all_jobs()[0]
        row = replace(store.history(job.id)[-1], by=Caller("ann", "http", "10.0.0.7"))
        store.save(job, row)
        assert store.history(job.id)[-1] == row


def test_renamed_fields_keep_their_values(path: Path) -> None:
    cause = {"message": "no answer", "heals": True, "away": True}
    with closing(sqlite3.connect(path)) as connection:
        [(job_id, text)] = connection.execute("SELECT id, record FROM jobs WHERE record LIKE '%loaded%'").fetchall()
        record = json.loads(text)
        record["plan"]["analysis"] |= {"aggregates": True, "dated_output": True, "varying": "a LIMIT"}
        record["plan"]["analysis"]["sources"][0]["letters"] = True
        record["plan"]["analysis"]["sink"] |= {"whole_table": False, "numbered": True}
        previous = {key: record[key] for key in ("text", "body", "plan")} | {"suspended": True, "checkpoint": 4}
        record |= {
            "cause": cause,
            "stop_cause": {**cause, "away": False},
            "previous": previous,
            "origin": "s",
            "over": True,
            "newest_checkpoint": 5,
        }
        connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(record), job_id))
        connection.commit()
    with closing(Store(path)) as store:
        job = store.job(job_id)
    assert job is not None and job.cause is not None and job.rollback_version is not None
    assert job.cause.external_outage and job.cause.retryable
    assert job.stop_cause is not None and job.stop_cause.retryable and not job.stop_cause.external_outage
    assert (job.rollback_version.was_suspended, job.rollback_version.checkpoint) == (True, 4)
    assert (job.source_snapshot_id, job.run_ended, job.highest_checkpoint) == ("s", True, 5)
    for analysis in (job.plan.analysis, job.rollback_version.plan.analysis):
        assert analysis.has_aggregates and analysis.waits_for_watermark and analysis.sources[0].has_dead_letters
        assert analysis.unstable_partitioning == "a LIMIT"
        assert analysis.sink.has_batch_numbers and not analysis.sink.replaces_whole_table
    assert job.version.statement == record["text"] and job.submission_time == record["submitted"]


def test_options_become_one_record(path: Path) -> None:
    given = {
        "processingGuarantee": "atLeastOnce",
        "snapshotIntervalMillis": "250",
        "suspendOnFailure": "false",
        "outputMode": "append",
        "lateRows": "table:late",
        "restartAttempts": "7",
        "trigger": "availableNow",
        "spark.sql.a": "1",
    }
    copies = {"restart_attempts": 7, "trigger": "availableNow", "spark_confs": {"spark.sql.a": "1"}}
    with closing(sqlite3.connect(path)) as connection:
        [(job_id, text)] = connection.execute("SELECT id, record FROM jobs WHERE record LIKE '%loaded%'").fetchall()
        record = json.loads(text)
        record["plan"] |= {**copies, "options": given, "late_rows": "spark_catalog.default.late"}
        record["previous"] = {key: record[key] for key in ("text", "body", "plan")}
        connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(record), job_id))
        connection.commit()
    with closing(Store(path)) as store:
        job = store.job(job_id)
    assert job is not None and job.rollback_version is not None
    for plan in (job.plan, job.rollback_version.plan):
        assert plan.options == parse_options((), before=given).values
        assert plan.late_rows_table == "spark_catalog.default.late"


def test_sinks_become_one_list(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        [(job_id, text)] = connection.execute("SELECT id, record FROM jobs WHERE record LIKE '%loaded%'").fetchall()
        record = json.loads(text)
        first = record["plan"]["analysis"]["sink"]
        record["plan"]["analysis"]["more_sinks"] = [{**first, "table": "b"}, {**first, "table": "c"}]
        record["plan"] |= {"upsert": False, "more_upserts": [True, False]}
        record["previous"] = {key: record[key] for key in ("text", "body", "plan")}
        connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(record), job_id))
        connection.commit()
    with closing(Store(path)) as store:
        job = store.job(job_id)
    assert job is not None and job.rollback_version is not None
    for plan in (job.plan, job.rollback_version.plan):
        assert [(each.sink.table, each.upsert) for each in plan.sinks] == [
            (first["table"], False), ("b", True), ("c", False),
        ]  # fmt: skip


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_store_of_each_release_has_the_plans_of_today(recorded: Path, tmp_path: Path) -> None:
    path = store_of(tmp_path / "jetsql.db", (recorded / "store.sql").read_text(encoding="utf-8"))
    with closing(Store(path)) as store:
        jobs = store.all_jobs()
    assert jobs
    for job in jobs:
        options = parse_options((), before=job.plan.options.given)
        assert job.plan == make_plan(job.plan.analysis, options, job.body.verb, None)


def test_a_reader_that_changes_nothing_sees_the_same_jobs(path: Path) -> None:
    before = StoreFile(path).contents()
    Store(path).close()
    after = StoreFile(path).contents()
    assert before is not None and after is not None
    assert (before.version, after.version, before.jobs) == (1, VERSION, after.jobs)


def test_migrated_jobs_continue(path: Path) -> None:
    with run_manager(path.parent, clock=lambda: 1_700_000_100.0) as jobs:  # the evening of the day it was made
        running = jobs.store.newest_named("running")
        assert running is not None
        assert jobs.wait_status(running.id, Status.RUNNING).run == 2
        assert jobs.reply("RESUME JOB hurt")[0] == "RUNNING"
        assert jobs.reply("RESUME JOB loaded")[0] == "RUNNING"


OPEN = "import sys, pathlib; from jetsql.jobs.store.job_store import Store; Store(pathlib.Path(sys.argv[1])).close()"


def killed_at(failpoint: str, path: Path) -> None:
    environment = {**os.environ, "JETSQL_FAILPOINT": failpoint, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", OPEN, path], env=environment, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("failpoint", ["store-copied", "store-migrated"])
def test_store_is_migrated_after_a_kill_during_migration(path: Path, failpoint: str) -> None:
    killed_at(failpoint, path)
    killed_at(failpoint, path)
    assert version(path) == "1"
    assert asked(path, "SELECT name FROM sqlite_master WHERE name = 'snapshots'") == []
    with closing(Store(path)) as store:
        assert [job.name for job in store.all_jobs()] == NAMES
        assert store.snapshots() == ()
    assert version(path) == str(VERSION)
    assert version(path.with_name("jetsql.db.version-1")) == "1"


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("UPDATE jobs SET record = 'nonsense'", "JETSQL.STORE_DAMAGED"),
        ("DROP TABLE history", "JETSQL.STORE_DAMAGED"),
        pytest.param(
            f"UPDATE meta SET value = '{VERSION + 1}' WHERE key = 'version'", "JETSQL.STORE_TOO_NEW", id="newer version"
        ),
    ],
)
def test_an_old_store_that_cannot_be_read_is_left_alone(path: Path, change: str, condition: str) -> None:
    store_of(path, change)
    before = path.read_bytes()
    with raises(EngineError) as caught:
        Store(path)
    assert caught.value.condition == condition
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["jetsql.db"]


def test_error_during_migration_is_rolled_back(path: Path) -> None:
    store_of(path, "CREATE TABLE snapshots (name TEXT)")  # not JetSQL's; version 1 has none
    with raises(EngineError, match="snapshots already exists"):
        Store(path)
    assert version(path) == "1"
    store_of(path, "DROP TABLE snapshots")
    with closing(Store(path)) as store:
        assert len(store.all_jobs()) == len(NAMES)


def test_unwritable_folder_is_reported(path: Path) -> None:
    path.with_name("jetsql.db.version-1.part").mkdir()
    with raises(EngineError) as caught:
        Store(path)
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"
    assert version(path) == "1"


def test_a_kill_while_a_store_is_made_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "jetsql.db"
    killed_at("store-made", path)
    with closing(Store(path)) as store:
        assert store.all_jobs() == ()


# --- on PostgreSQL ---------------------------------------------------------------------------------------------------

OLD_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE jobs (id TEXT PRIMARY KEY, name_key TEXT NOT NULL, live BOOLEAN NOT NULL, files BOOLEAN NOT NULL,"
    " record TEXT NOT NULL)",
    "CREATE TABLE history (number BIGSERIAL PRIMARY KEY, job TEXT NOT NULL REFERENCES jobs (id), time FLOAT NOT NULL,"
    " title TEXT NOT NULL, before TEXT, after TEXT NOT NULL, run BIGINT NOT NULL, words TEXT NOT NULL)",
    "CREATE TABLE lease (number BIGINT PRIMARY KEY, engine TEXT NOT NULL, holder TEXT NOT NULL, home TEXT NOT NULL,"
    " storage TEXT NOT NULL, change TEXT NOT NULL)",
    "CREATE TABLE engines (id TEXT PRIMARY KEY, address TEXT NOT NULL, role TEXT NOT NULL,"
    " since DOUBLE PRECISION NOT NULL, version TEXT NOT NULL, beat BIGINT NOT NULL, seen TIMESTAMPTZ NOT NULL)",
)


@pytest.fixture
def schema(postgres: Postgres, path: Path) -> Iterator[SchemaPlace]:
    """Fill a schema with the store of version 1. No release had one, but all steps must run on PostgreSQL."""
    place = SchemaPlace(postgres)
    place.execute(f"CREATE SCHEMA {place.url.schema}", *OLD_TABLES)
    with postgres.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET search_path = {place.url.schema}")
        for table in ("meta", "jobs", "history"):
            rows = [
                [bool(value) if table == "jobs" and at in (2, 3) else value for at, value in enumerate(row)]
                for row in asked(path, f"SELECT * FROM {table}")
            ]
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)
        cursor.execute("INSERT INTO lease VALUES (1, '', '', %s, '', '')", (HOME.home,))
    yield place
    place.drop()


@pytest.mark.spark
def test_a_schema_is_migrated_as_a_file_is(schema: SchemaPlace, path: Path) -> None:
    with closing(Store(schema.database())) as store, closing(Store(path)) as expected:
        assert store.all_jobs() == expected.all_jobs()
        assert store.history() == expected.history()
        assert store.id == expected.id
    assert schema.execute("SELECT value FROM meta WHERE key = 'version'") == [(str(VERSION),)]


@pytest.mark.spark
def test_error_during_schema_migration_is_rolled_back(schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = schema.dump()
    monkeypatch.setattr("jetsql.jobs.store.migrations.failpoint", lambda name: 1 / (name == "store-copied"))
    with pytest.raises(ZeroDivisionError):
        Store(schema.database())
    assert schema.dump() == before
