"""The store: it returns stored values, also those of older releases, and leaves unreadable records unchanged."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetsql.errors import EngineError, StatementError
from jetsql.jobs.model.body_analysis import Analysis, Operator, OutputMode
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Job, Snapshot, SnapshotRequest, Status, Version
from jetsql.jobs.model.job_options import Options
from jetsql.jobs.model.serialization import MalformedRecord, decode, encode
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.store.database import VERSION
from jetsql.jobs.store.job_store import Store
from jetsql.version import VERSION as PROGRAM
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body
from tests.support.engines.store_places import FilePlace, SchemaPlace, StorePlace, open_store
from tests.support.golden_reports import raises

FULL_DISK = {
    FilePlace: ("CREATE TRIGGER full BEFORE INSERT ON history BEGIN SELECT RAISE(FAIL, 'disk is full'); END",),
    SchemaPlace: (
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE 'disk is full' USING ERRCODE = '53100'; END$$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION fail()",
    ),
}
PLAN = make_plan(analysis(), parse_options(()), body().verb, None)
JOB = Job("0001-0000-0000-0001", "Délays", Version("CREATE JOB ...", body(), PLAN), 1.5, status=Status.RUNNING, run=1)


def row(job: Job, title: str = "running") -> HistoryRow:
    return HistoryRow(job.id, 2.0, title, Status.STARTING, job.status, job.run, "words; with 'quotes'\nand lines")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jetsql.db"


@pytest.fixture
def store(place: StorePlace) -> Iterator[Store]:
    with closing(open_store(place)) as opened:
        yield opened


def test_jobs_and_history_come_back(store: Store, place: StorePlace) -> None:
    store.add(JOB, row(JOB, "submitted"))
    changed = replace(JOB, status=Status.SUSPENDED, cause=Cause("gone", "X", "Y", 3, False), batch=7)
    store.save(changed, row(changed, "suspended"))
    store_id = store.id
    store.close()
    with closing(open_store(place)) as again:
        assert again.live_jobs() == (changed,)
        assert again.job(JOB.id) == again.newest_named("DÉLAYS") == changed
        assert [entry.event for entry in again.history(JOB.id)] == ["submitted", "suspended"]
        assert again.history(JOB.id)[1] == row(changed, "suspended")
        assert again.newest_id() == JOB.id
        assert again.id == store_id


def test_an_empty_store(store: Store) -> None:
    assert store.live_jobs() == store.all_jobs() == store.jobs_with_files() == ()
    assert (store.job("x"), store.newest_named("x"), store.newest_id()) == (None, None, None)


def test_the_file_is_private(path: Path) -> None:
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_live_name_is_taken_once_and_free_afterwards(store: Store) -> None:
    store.add(JOB, row(JOB))
    other = replace(JOB, id="0002-0000-0000-0001", name="DÉLAYS")
    with raises(StatementError, match="JOB_ALREADY_EXISTS"):
        store.add(other, row(other))
    assert store.job(other.id) is None and store.history(other.id) == ()
    ended = replace(JOB, status=Status.COMPLETED, has_files=True)
    store.save(ended, row(ended))
    store.add(other, row(other))
    assert store.newest_named("délays") == other
    assert store.jobs_with_files() == (ended,)
    with raises(StatementError, match="JOB_ALREADY_EXISTS"):
        store.save(replace(JOB, name="délays"), row(JOB))
    assert store.job(JOB.id) == ended
    assert [entry.to_status for entry in store.history(JOB.id)] == [Status.RUNNING, Status.COMPLETED]


def test_failed_write_leaves_the_job_unchanged(store: Store, place: StorePlace) -> None:
    store.add(JOB, row(JOB))
    place.execute(*FULL_DISK[type(place)])
    with raises(EngineError, match="disk is full"):
        store.save(replace(JOB, status=Status.SUSPENDED), row(JOB))
    assert store.job(JOB.id) == JOB


def snapshot(number: int = 2, name: str = "Before", **changes: object) -> Snapshot:
    result = Snapshot(
        f"000{number}-0000-0000-0001", name, JOB.id, JOB.name, JOB.version.statement, PLAN, 7, 4096, 3.5, {"spark": "4"}
    )
    return replace(result, **changes)  # type: ignore[arg-type]


def test_snapshots_come_back_oldest_first(store: Store, place: StorePlace) -> None:
    store.add(JOB, row(JOB))
    store.add_snapshot(snapshot(3, "b", batch=None))
    store.add_snapshot(snapshot(2, "Été"))
    store.close()
    with closing(open_store(place)) as again:
        assert again.snapshots() == (snapshot(2, "Été"), snapshot(3, "b", batch=None))
        assert again.snapshot_named("éTÉ") == snapshot(2, "Été")
        assert again.snapshot_named("c") is None
        assert again.newest_id() == snapshot(3).id
        again.remove_snapshot(snapshot(3).id)
        again.remove_snapshot("never there")
        assert again.snapshots() == (snapshot(2, "Été"),)


def test_snapshot_job_and_history_are_stored_in_one_transaction(store: Store) -> None:
    store.add(JOB, row(JOB))
    suspended = replace(JOB, status=Status.SUSPENDED)
    store.save(suspended, row(suspended, "kept"), snapshot())
    assert store.job(JOB.id) == suspended and store.snapshots() == (snapshot(),)
    for attempt in (
        lambda: store.save(JOB, row(JOB), snapshot(3, "BEFORE")),
        lambda: store.save(JOB, row(JOB), snapshot(3, "BEFORE"), replaces=snapshot(9).id),
        lambda: store.add_snapshot(snapshot(3, "BEFORE"), None, row(JOB), JOB),
    ):
        with raises(StatementError, match=r"SNAPSHOT_ALREADY_EXISTS.*named BEFORE already"):
            attempt()
    assert store.job(JOB.id) == suspended and store.snapshots() == (snapshot(),)
    assert [entry.event for entry in store.history(JOB.id)] == ["running", "kept"]


def test_snapshot_takes_the_name_of_the_replaced_one(store: Store) -> None:
    store.add(JOB, row(JOB))
    store.add_snapshot(snapshot(2), None, row(JOB, "first"))
    store.add_snapshot(snapshot(3, "BEFORE"), snapshot(2).id, row(JOB, "second"))
    assert store.snapshots() == (snapshot(3, "BEFORE"),)
    assert [entry.event for entry in store.history(JOB.id)] == ["running", "first", "second"]


def test_damaged_snapshot_is_reported_when_read(place: StorePlace) -> None:
    with closing(open_store(place)) as store:
        store.add_snapshot(snapshot())
    place.execute("UPDATE snapshots SET record = '[]'")
    with closing(open_store(place)) as store, raises(EngineError, match=f"snapshot {snapshot().id}"):
        store.snapshot_named("before")


def error_of(place: StorePlace) -> EngineError:
    with raises(EngineError) as caught:
        open_store(place)
    assert place.database().name in caught.value.message
    return caught.value


def filled(place: StorePlace) -> None:
    with closing(open_store(place)) as store:
        store.add(JOB, row(JOB))


def test_a_newer_store_is_refused_and_left_alone(place: StorePlace) -> None:
    filled(place)
    place.execute(f"UPDATE meta SET value = '{VERSION + 1}' WHERE key = 'version'")
    before = place.dump()
    error = error_of(place)
    assert error.condition == "JETSQL.STORE_TOO_NEW"
    assert f"version {VERSION + 1}, written by JetSQL {PROGRAM};" in error.message
    assert f"version {VERSION}." in error.message
    assert place.dump() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = 'x' WHERE key = 'version'",
        "DELETE FROM meta",
        "UPDATE meta SET value = '0' WHERE key = 'version'",
        "DROP TABLE history",
        "DROP TABLE snapshots",
        "DROP TABLE meta",
        "UPDATE jobs SET record = '{}'",
        "UPDATE jobs SET record = 'nonsense'",
        "UPDATE jobs SET record = replace(record, 'RUNNING', 'DREAMING')",
        "ALTER TABLE jobs RENAME COLUMN record TO something",
    ],
)
def test_a_damaged_store_is_refused_and_left_alone(place: StorePlace, statement: str) -> None:
    filled(place)
    place.execute(statement)
    before = place.dump()
    error = error_of(place)
    assert error.condition == "JETSQL.STORE_DAMAGED"
    assert f"version {VERSION}" in error.message
    assert place.dump() == before


@pytest.mark.parametrize("content", [b"not a database at all", b"\0" * 5000, b"SQLite format 3\0" + b"x" * 5000])
def test_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert error_of(FilePlace(path)).condition == "JETSQL.STORE_DAMAGED"
    assert path.read_bytes() == content


def test_a_torn_file_is_refused_and_left_alone(path: Path) -> None:
    filled(FilePlace(path))
    whole = path.read_bytes()
    torn = whole[:4096] + b"\xff" * 4096 + whole[8192:]
    path.write_bytes(torn)
    assert error_of(FilePlace(path)).condition == "JETSQL.STORE_DAMAGED"
    assert path.read_bytes() == torn


def test_write_ahead_log_of_a_killed_process_is_kept(path: Path, tmp_path: Path) -> None:
    with closing(Store(path)) as store:
        store.add(JOB, row(JOB))
        copy = tmp_path / "killed"
        copy.mkdir()
        for part in tmp_path.glob("jetsql.db*"):
            shutil.copy(part, copy)
    with closing(Store(copy / "jetsql.db")) as again:
        assert again.live_jobs() == (JOB,)


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with closing(Store(path)) as store:
        assert store.all_jobs() == ()
    with closing(Store(path)) as store:
        assert store.all_jobs() == ()


def test_unusable_folder(tmp_path: Path) -> None:
    assert error_of(FilePlace(tmp_path / "missing" / "jetsql.db")).condition == "JETSQL.HOME_NOT_USABLE"
    (tmp_path / "folder").mkdir()
    assert error_of(FilePlace(tmp_path / "folder")).condition == "JETSQL.HOME_NOT_USABLE"


def test_damaged_ended_job_is_reported_when_read(place: StorePlace) -> None:
    with closing(open_store(place)) as store:
        ended = replace(JOB, status=Status.COMPLETED)
        store.add(ended, row(ended))
    place.execute("UPDATE jobs SET record = '[]'")
    with closing(open_store(place)) as store:
        with raises(EngineError, match=JOB.id):
            store.all_jobs()


VERSIONS = st.builds(
    Version,
    statement=st.text(),
    body=st.just(body()),
    plan=st.builds(
        lambda modes, operators, confs: replace(
            PLAN,
            analysis=replace(PLAN.analysis, modes=modes, operators=operators),
            options=Options(spark_confs=confs, accepted_topics=tuple(confs)),
        ),
        modes=st.dictionaries(st.sampled_from(OutputMode), st.none() | st.text()),
        operators=st.lists(st.builds(Operator, st.text(), st.text())).map(tuple),
        confs=st.dictionaries(st.text(), st.text()),
    ),
    first_trigger_done=st.booleans(),
    software_versions=st.dictionaries(st.text(), st.text()),
)
JOBS = st.builds(
    Job,
    id=st.text(),
    name=st.text(),
    version=VERSIONS,
    submission_time=st.floats(allow_nan=False),
    status=st.sampled_from(Status),
    run=st.integers(),
    batch=st.none() | st.integers(),
    cause=st.none() | st.builds(Cause, message=st.text(), retryable=st.booleans(), batch=st.none() | st.integers()),
    end_time=st.none() | st.floats(allow_nan=False),
)


@given(JOBS)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_records_come_back_as_they_were(job: Job) -> None:
    assert decode(Job, encode(job)) == job


def test_a_record_is_written_without_blanks() -> None:
    snapshot_request = SnapshotRequest("1", "größe", None, True)
    assert encode(snapshot_request) == '{"id":"1","name":"größe","replaces":null,"then_cancel":true}'


LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_other_json_is_malformed(value: object) -> None:
    with pytest.raises(MalformedRecord):
        decode(Job, json.dumps(value))


def test_records_of_other_releases() -> None:
    record = json.loads(encode(JOB))
    record["colour"] = "red"
    version = record["version"]
    version["plan"]["analysis"]["new"] = {"deep": [1]}
    del record["has_files"], version["software_versions"], version["first_trigger_done"]
    del version["plan"]["analysis"]["stateful"]
    assert decode(Job, json.dumps(record)) == JOB
    del version["plan"]["guarantee"]
    with pytest.raises(MalformedRecord, match="Plan lacks guarantee"):
        decode(Job, json.dumps(record))


@pytest.mark.parametrize(
    "change", [{"streaming": 1}, {"sources": {}}, {"sinks": None}, {"operators": [1]}, {"modes": {"once": None}}]
)
def test_wrong_types_are_malformed(change: dict[str, object]) -> None:
    record = {**json.loads(encode(analysis())), **change}
    with pytest.raises(MalformedRecord):
        decode(Analysis, json.dumps(record))
