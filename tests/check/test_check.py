"""`jetsql check` on handmade homes: intact files have no finding, and each damage is reported with its remedy."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetsql import cli
from jetsql.check import check_home as module
from jetsql.check.check_home import HomeReport, check
from jetsql.check.checked_paths import CheckedPaths
from jetsql.check.findings import Finding, Severity
from jetsql.check.findings_report import report_lines
from jetsql.check.staged_rows import check_staging
from jetsql.cli.flags import ExitCode
from jetsql.home.home_lock import HomeLock
from jetsql.jobs.checkpoint_files import checkpoint_damages
from jetsql.jobs.checkpoint_files.log_entries import json_lines, missing
from jetsql.jobs.checkpoint_files.stored_files import StoredFiles
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.job import SnapshotRequest, Status
from jetsql.jobs.store.database import VERSION
from jetsql.jobs.store.job_store import Store
from tests.support.engines.check_homes import ID, Home, write
from tests.support.golden_reports import compare
from tests.support.hypothesis_profiles import examples
from tests.support.paths import FIXTURES

OTHER = "0002-0000-0000-0001"
MIN_FREE_BYTES = module.MIN_FREE_BYTES
V1 = FIXTURES / "store_v1.sql"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "a home")


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a home").mkdir()
    monkeypatch.setattr(module, "MIN_FREE_BYTES", 0)


def checked(home: Home) -> HomeReport:
    """Check a home, and compare the findings with the next ones in the golden file of this test."""
    report = check(home.path)
    compare([line for each in report.findings for line in (f"{each.severity.value}: {each.message}", *_parts(each))])
    return report


def _parts(finding: Finding) -> Iterator[str]:
    yield f"where: {finding.where}"
    if finding.remedy:
        yield f"do: {finding.remedy}"


def found(home: Home) -> list[tuple[str, str]]:
    """Return severity and description of each finding."""
    return [(finding.severity.value, finding.message) for finding in checked(home).findings]


def the_one(home: Home) -> Finding:
    [finding] = checked(home).findings
    return finding


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statement)


# --- homes that are well ---------------------------------------------------------------------------------------------


def test_intact_home_has_no_findings(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    home.manifest(job, 2)
    stateful = home.job("totals", stateful=True, id=OTHER, checkpoint=3)
    home.checkpoint(home.spark(stateful), stateful=True)
    snapshot = home.snapshot(stateful)
    home.checkpoint(home.path / "snapshots" / snapshot.id, stateful=True)
    report = check(home.path)
    assert (report.findings, report.is_well, report.jobs, report.snapshots) == ((), True, 2, 1)
    assert list(report_lines(report)) == [f"No problems found: checked 2 jobs and 1 snapshot in {home.path}."]


def test_check_changes_nothing(home: Home) -> None:
    home.checkpoint(home.spark(home.job()))
    HomeLock(home.path).release()

    def state() -> list[tuple[str, int, int]]:
        return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(home.path.rglob("*"))]

    before = state()
    assert check(home.path).is_well
    assert state() == before


def test_jobs_without_state_to_keep_need_no_files(home: Home) -> None:
    home.job("ended", status=Status.COMPLETED, has_files=False)
    home.job("new", id="0002-0000-0000-0001", first_trigger_done=False, batch=None)
    home.job("none", id="0003-0000-0000-0001", options={"processingGuarantee": "none"})
    assert found(home) == []


@pytest.mark.parametrize("name", ["offsets/1", "commits/0"])
def test_file_deleted_during_the_check_is_not_missing(home: Home, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    job = home.job(batch=8)
    gone = home.checkpoint(home.spark(job), batches=9) / name

    def deleting(files: StoredFiles, path: str) -> object:
        if path == str(gone):
            gone.unlink()
        return json_lines(files, path)

    monkeypatch.setattr(checkpoint_damages, "json_lines", deleting)
    assert found(home) == []
    assert not gone.exists()


def test_job_without_rows_yet(home: Home) -> None:
    job = home.job(batch=None, stateful=True)
    home.checkpoint(home.spark(job), batches=0)
    assert found(home) == []


def test_deleted_batches_and_compacted_lists_of_files_are_accepted(home: Home) -> None:
    job = home.job(batch=8, stateful=True)
    spark = home.checkpoint(home.spark(job), batches=9, stateful=True)
    for name in ("offsets/0", "offsets/1", "commits/0", "sources/0/0", "sources/0/1", "sources/0/2", "sources/0/3"):
        (spark / name).unlink()
    write(spark / "sources" / "0" / "3.compact", "v1\n{}")
    for part in range(2):
        folder = spark / "state" / "0" / str(part)
        with zipfile.ZipFile(folder / f"6_id-5-{part}.zip", "w") as whole:
            whole.writestr("metadata", 'v1\n{"sstFiles":[{"dfsSstFileName":"1.sst","sizeBytes":4}]}')
        write(folder / "SSTs/1.sst", "rows")
        for version in range(1, 6):
            (folder / f"{version}_id-{version - 1}-{part}.changelog").unlink()
    assert found(home) == []
    write(spark / "sources" / "0" / "3.compact", "v1\n{")
    assert the_one(home).where == str(spark / "sources" / "0" / "3.compact")
    write(spark / "sources" / "0" / "3.compact", "v1\n{}")
    (spark / "state/0/0/SSTs/1.sst").unlink()
    assert the_one(home).where == str(spark / "state/0/0/SSTs/1.sst")


def test_state_of_former_partitions_is_accepted(home: Home) -> None:
    job = home.job(stateful=True)
    spark = home.checkpoint(home.spark(job), stateful=True)
    (spark / "state" / "0" / "1" / "3_id-2-1.changelog").unlink()
    rewritten("commits/2", 'v2\n{"stateUniqueIds":{"0":[["id-2-0"]]}}')(spark)
    assert found(home) == []


def test_batch_in_progress_is_a_note(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job), pending=True)
    home.manifest(job, 3, staged=True)
    what = "Batch 3 of job orders is planned but not committed; the next start repeats it."
    assert found(home) == [("note", what)]
    assert check(home.path).is_well


def test_home_without_a_store_has_no_findings(home: Home) -> None:
    assert [severity for severity, _ in found(home)] == ["note"]


# --- checkpoints -----------------------------------------------------------------------------------------------------

Damage = Callable[[Path], object]


def gone(name: str) -> Damage:
    return lambda spark: (spark / name).unlink()


def holds(name: str, content: bytes) -> Damage:
    return lambda spark: (spark / name).write_bytes(content)


def after_a_whole_state(name: str) -> Damage:
    """Return a damage: a missing file, next to the whole state of an uncommitted batch that must not replace it."""

    def damage(spark: Path) -> None:
        write(spark / "state" / "0" / "0" / "9_id-8-0.zip", "whole")
        (spark / name).unlink()

    return damage


def rewritten(name: str, text: str) -> Damage:
    return lambda spark: write(spark / name, text)


def without_sums(damage: Damage, name: str) -> Damage:
    """Return a damage after which the file has no checksums of Hadoop."""
    path = Path(name)
    return lambda spark: (damage(spark), (spark / path.with_name(f".{path.name}.crc")).unlink())


CHANGES = "state/0/0/2_id-1-0.changelog"
SCHEMA = "state/0/0/_metadata/schema"
DAMAGES: list[tuple[Damage, str]] = [
    (gone("metadata"), "metadata is missing"),
    (rewritten("metadata", "d1909855"), "metadata is not readable: it is not JSON"),
    (rewritten("metadata", "[]"), "metadata is not readable: it is not a JSON object"),
    (rewritten("metadata", '{"id":"x"}'), "metadata is not readable: its id is not a UUID"),
    (holds("metadata", b""), "metadata is not readable: it is empty"),
    (lambda spark: (gone("metadata")(spark), (spark / "metadata").mkdir()), "metadata is not readable: it is a folder"),
    (holds("offsets/2", b"v1\n{"), "offsets/2 is not readable: its checksum does not match"),
    (holds("offsets/2", b"\0" * 700), "offsets/2 is not readable: its checksum does not match"),
    (rewritten("offsets/2", "\0" * 700), "offsets/2 is not readable: it is empty"),
    (holds("offsets/.2.crc", b"crc\0\0\0\2\0sums"), "offsets/2 is not readable: its checksum does not match"),
    (rewritten("offsets/2", "v1\n{}"), "offsets/2 is not readable: it lacks the offsets of the sources"),
    (
        rewritten("offsets/2", "v1\n[]\n-"),
        "offsets/2 is not readable: its second line is not a JSON object with settings",
    ),
    (
        rewritten("offsets/2", 'v1\n{"batchWatermarkMs":"x"}\n-'),
        "offsets/2 is not readable: its times are not numbers",
    ),
    (holds("topics.json", b""), "topics.json is not readable: it is empty"),
    (rewritten("topics.json", '{"sources": {"0": []}}'), "topics.json is not readable: it has no ids of topics"),
    (rewritten("offsets/1", "v1"), "offsets/1 is not readable: it ends after its first line"),
    (rewritten("offsets/1", "{}\n{}"), "offsets/1 is not readable: it does not begin with a version"),
    (rewritten("commits/2", "v1\n{"), "commits/2 is not readable: it is not JSON"),
    (rewritten("commits/2", "v1\n" + "[" * 100000), "commits/2 is not readable: it is not JSON"),
    (rewritten("commits/2", "v1\n[]"), "commits/2 is not readable: its second line is not a JSON object"),
    (
        rewritten("commits/2", 'v1\n{"nextBatchWatermarkMs":[]}'),
        "commits/2 is not readable: its watermark is not a number",
    ),
    (gone("offsets/1"), "offsets/1 is missing"),
    (gone("offsets/2"), "offsets/2 is missing, and batch 2 is committed"),
    (gone("sources/0/1"), "sources/0/1 with the list of files that were read is missing"),
    (gone("sources/0/2"), "sources/0/2 with the list of files that were read is missing"),
    (holds("sources/0/1", b"v1\n{}\n"), "sources/0/1 is not readable: its checksum does not match"),
    (lambda spark: shutil.rmtree(spark / "state"), "state is missing or empty"),
    (lambda spark: shutil.rmtree(spark / "state/0/1"), "state/0/1 lacks files of batch 2"),
    (rewritten("state/0/_metadata/v2/0", "v2\n{"), "state/0/_metadata/v2/0 is not readable: it is not JSON"),
    (gone("state/0/1/3_id-2-1.changelog"), "state/0/1/3_id-2-1.changelog is missing"),
    (gone(CHANGES), f"{CHANGES} is missing"),
    (holds(CHANGES, b"change"), f"{CHANGES} is not readable: its checksum does not match"),
    (without_sums(holds(CHANGES, b"change"), CHANGES), f"{CHANGES} is not readable: it has 6 bytes of 7"),
    (without_sums(holds(CHANGES, b"charges"), CHANGES), f"{CHANGES} is not readable: its checksum does not match"),
    (rewritten(f"{CHANGES}.crc", "{"), f"{CHANGES}.crc is not readable: it is not JSON"),
    (rewritten(f"{CHANGES}.crc", "{}"), f"{CHANGES}.crc is not readable: it lacks 'mainFileSize'"),
    (after_a_whole_state(CHANGES), f"{CHANGES} is missing"),
    (rewritten(SCHEMA, "v2"), f"{SCHEMA} is not readable: it is truncated or was changed"),
    (rewritten(SCHEMA, "\0\2v9"), f"{SCHEMA} is not readable: it does not begin with a version"),
    (rewritten(SCHEMA, "\0\2v2\0\0\0\1\0\1{"), f"{SCHEMA} is not readable: its types are not JSON"),
    (
        rewritten("commits/2", 'v2\n{"stateUniqueIds":[1]}'),
        "commits/2 is not readable: its references to state are malformed",
    ),
]


@pytest.mark.parametrize(("damage", "what"), DAMAGES, ids=[what for _, what in DAMAGES])
def test_damaged_checkpoint_is_named_with_a_hint(home: Home, damage: Damage, what: str) -> None:
    job = home.job(stateful=True)
    damage(home.checkpoint(home.spark(job), stateful=True))
    report = checked(home)
    assert f"The checkpoint of job orders is damaged: {what}." in [finding.message for finding in report.findings]
    assert not report.is_well
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            assert finding.where.startswith(str(home.spark(job))) and "DROP JOB `orders`" in finding.remedy


@pytest.mark.parametrize(("damage", "what"), DAMAGES, ids=[what for _, what in DAMAGES])
def test_damaged_snapshot_is_named(home: Home, damage: Damage, what: str) -> None:
    job = home.job(status=Status.COMPLETED, has_files=False, stateful=True)
    snapshot = home.snapshot(job)
    damage(home.checkpoint(home.path / "snapshots" / snapshot.id, stateful=True))
    findings = checked(home).findings
    assert f"The checkpoint of snapshot before is damaged: {what}." in [finding.message for finding in findings]
    assert "DROP SNAPSHOT `before`" in findings[0].remedy


def test_missing_checkpoint(home: Home) -> None:
    job = home.job("it`s")
    finding = the_one(home)
    assert finding.message == "The checkpoint of job it`s is missing, and with it the progress of its sources."
    assert finding.where == str(home.spark(job)) and "DROP JOB `it``s`" in finding.remedy
    home.checkpoint(home.spark(replace(job, version=replace(job.version, checkpoint=1))))
    assert the_one(home) == finding


def test_two_batches_in_progress_are_an_error(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    for batch in (3, 4):
        home.planned(spark, batch)
    assert the_one(home).message.endswith("commits/3 is missing, and batch 4 is planned.")


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_entries_that_no_start_needs_are_noted(home: Home, log: str) -> None:
    spark = home.checkpoint(home.spark(home.job()), batches=9)
    for batch in (2, 3, 4):
        (spark / log / str(batch)).unlink()
    write(spark / log / "6", "v1\n{")
    assert found(home) == [
        ("note", f"A file that job orders does not need any more: {log}/2 and the next are missing, up to {log}/4."),
        ("note", f"A file that job orders does not need any more: {log}/6 is not readable: it is not JSON."),
    ]
    assert check(home.path).is_well


def test_missing_commit_is_repeated_by_the_next_start(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job(stateful=True)), stateful=True)
    (spark / "commits" / "2").unlink()
    what = "Batch 2 of job orders is planned but not committed; the next start repeats it."
    assert found(home) == [("note", what)]


def test_checksums_that_hadoop_ignores_are_no_damage(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    for number, content in enumerate((b"crc", b"sum\0\0\0\2\0sums", b"crc\0\0\0\0\0")):
        (spark / "offsets" / f".{number}.crc").write_bytes(content)
    assert found(home) == []


def test_a_job_without_state_whose_source_has_a_watermark(home: Home) -> None:
    job = home.job(stateful=True)
    analysis = replace(job.plan.analysis, operators=(Operator("EventTimeWatermark"),))
    home.store(job.with_plan(replace(job.plan, analysis=analysis)))
    spark = home.checkpoint(home.spark(job))
    assert found(home) == []
    rewritten("commits/2", 'v2\n{"stateUniqueIds":{}}')(spark)
    assert found(home) == []


def test_the_name_of_an_operator_is_not_needed(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job(stateful=True)), stateful=True)
    (spark / "state/0/_metadata/metadata").write_text("")
    assert found(home) == []


def test_files_of_failed_tasks_are_no_state(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job(stateful=True)), stateful=True)
    write(spark / "state/0/0/3_failed.changelog", "")
    assert found(home) == []
    (spark / "state/0/0/3_id-2-0.changelog").unlink()
    assert the_one(home).message.endswith("state/0/0/3_id-2-0.changelog is missing.")


def test_other_files_are_not_taken_for_batches(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    for name in ("offsets/.7.tmp", "offsets/7.draft", "commits/x"):
        write(spark / name, "whatever")
    assert found(home) == []
    write(spark / "commits" / "99999999999999", "v1\n{}")
    assert (
        "offsets/99999999999999 is missing, and batch 99999999999999 is committed." in checked(home).findings[0].message
    )


def test_a_snapshot_before_the_first_batch_has_no_state(home: Home) -> None:
    job = home.job(status=Status.COMPLETED, has_files=False, stateful=True)
    snapshot = home.snapshot(job, batch=None)
    home.checkpoint(home.path / "snapshots" / snapshot.id, batches=0)
    assert found(home) == []


def test_a_snapshot_without_its_folder(home: Home) -> None:
    snapshot = home.snapshot(home.job(status=Status.COMPLETED, has_files=False))
    assert "snapshot before is missing" in the_one(home).message
    assert the_one(home).where.endswith(snapshot.id)


@given(st.sets(st.integers(0, 30)), st.integers(0, 10), st.integers(0, 30))
def test_missing_ranges(present: set[int], first: int, last: int) -> None:
    lost = [number for stretch in missing(present, first, last) for number in stretch]
    assert lost == [number for number in range(first, last + 1) if number not in present]
    assert all(len(stretch) > 0 for stretch in missing(present, first, last))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(data=st.data())
def test_random_bytes_in_files_give_findings(home: Home, data: st.DataObject) -> None:
    if not home.path.joinpath("jetsql.db").exists():
        home.job(stateful=True)
    shutil.rmtree(home.path / "checkpoints", ignore_errors=True)
    spark = home.checkpoint(home.path / "checkpoints" / ID / "spark", stateful=True)
    files = sorted(path for path in spark.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    path.write_bytes(data.draw(st.binary(max_size=40) | st.text().map(lambda text: f"v1\n{text}".encode())))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    report = check(home.path)
    assert report.jobs == 1
    assert all(finding.where.startswith(str(spark)) for finding in report.findings)


# --- rows on their way -----------------------------------------------------------------------------------------------


def test_a_committed_batch_that_is_not_in_the_table(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    home.manifest(job, 2, staged=True)
    finding = the_one(home)
    assert finding.severity is Severity.ERROR
    assert (
        finding.message
        == "The committed batch 2 of job orders is not complete in the table: 1 of its files are not moved."
    )
    assert "Start an engine" in finding.remedy


def test_a_committed_batch_that_is_not_in_the_second_table(home: Home) -> None:
    job = home.job()
    analysis = job.plan.analysis
    sinks = (analysis.sink, analysis.sink)
    job = job.with_plan(replace(job.plan, analysis=replace(analysis, sinks=sinks), upserts=(False, False)))
    home.store(job)
    home.checkpoint(home.spark(job))
    home.manifest(job, 2, staged=True, sink=1)
    assert the_one(home).message.startswith("The committed batch 2 of job orders is not complete in the table: ")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"batch":1,"staging":"file:/x","moves":7}', '{"batch":"x"}'])
def test_a_manifest_that_cannot_be_read(home: Home, text: str) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    write(home.manifest(job, 2, staged=True), text)
    assert the_one(home).message.startswith("A manifest of job orders is not readable: ")


def test_a_manifest_that_does_not_name_a_staged_file(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    path = home.manifest(job, 2, staged=True)
    for old, new, what in (
        ("part-0", "part-7", "it does not name the staged file part-0.parquet"),
        (".jetsql", ".jets@l", "it names another folder"),
    ):
        whole = path.read_text()
        write(path, whole.replace(old, new))
        assert the_one(home).message == f"A manifest of job orders is not readable: {what}."
        write(path, whole)


def test_manifest_without_staged_rows_is_not_needed(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    write(home.manifest(job, 1, staged=True), "{")
    write(home.manifest(job, 2), "{")
    assert found(home) == []


@pytest.mark.parametrize(("pending", "findings"), [(False, 0), (True, 1)])
def test_partition_manifest_is_needed_until_its_batch_is_repeated(home: Home, pending: bool, findings: int) -> None:
    job = home.job()
    spark = home.checkpoint(home.spark(job), pending=pending)
    write(spark.parent / "parts" / "000000003.json", "{")
    problems = [finding.message for finding in checked(home).findings if finding.severity.is_problem]
    assert problems == ["A list of parts of job orders is not readable: it is not JSON."] * findings


def test_missing_folder_of_a_table(home: Home) -> None:
    home.checkpoint(home.spark(home.job()))
    (home.warehouse / "orders").rmdir()
    assert the_one(home).message == "The folder of the table orders, which job orders writes, is missing."


def test_staged_rows_without_a_job(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    for place in ("orders/.jetsql", "shop.db/other/.jetsql", "unknown/.jetsql"):
        (home.warehouse / place / OTHER).mkdir(parents=True)
    (home.warehouse / "orders" / ".jetsql" / job.id).mkdir()
    (home.warehouse / "orders" / ".jetsql" / f"{job.id}-0").mkdir()  # its dead letters
    findings = checked(home).findings
    assert {(finding.severity, finding.message) for finding in findings} == {
        (Severity.WARNING, "These staged rows belong to a deleted job; they are in no table.")
    }
    assert len(findings) == 3
    assert all(finding.remedy == f"Delete the folder: rm -r '{finding.where}'" for finding in findings)


# --- leftovers -------------------------------------------------------------------------------------------------------


def test_files_without_an_owner(home: Home) -> None:
    ended = home.job(status=Status.COMPLETED, has_files=False)
    home.checkpoint(home.spark(ended))
    home.checkpoint(home.path / "snapshots" / OTHER)
    assert found(home) == [
        ("warning", "These files belong to no job of the store."),
        ("warning", "These files belong to no snapshot of the store."),
    ]


def test_snapshot_in_progress_is_no_leftover(home: Home) -> None:
    job = home.job(status=Status.SUSPENDED_EXPORTING_SNAPSHOT, snapshot_request=SnapshotRequest(OTHER, "before"))
    home.checkpoint(home.spark(job))
    home.checkpoint(home.path / "snapshots" / OTHER)
    assert found(home) == []
    (home.path / "snapshots" / "0003-0000-0000-0001").mkdir()
    lease = HomeLock(home.path)
    try:
        assert ("note", "This may be a snapshot that is being written or deleted.") in found(home)
        assert check(home.path).is_well
    finally:
        lease.release()


def test_job_with_files_to_delete_gives_no_warning(home: Home) -> None:
    home.checkpoint(home.spark(home.job(status=Status.FAILED)))
    assert found(home) == []


# --- the store and the home ------------------------------------------------------------------------------------------


def test_missing_store_is_reported(home: Home) -> None:
    home.checkpoint(home.spark(home.job()))
    (home.path / "jetsql.db").unlink()
    assert the_one(home).message == "The store is missing, but files of 1 jobs and snapshots exist."


def test_unreadable_records_are_named_and_others_checked(home: Home) -> None:
    home.job()
    home.job("other", id=OTHER)
    home.snapshot(home.job("ended", id="0003-0000-0000-0001", status=Status.COMPLETED, has_files=False))
    execute(home.path / "jetsql.db", f"UPDATE jobs SET record = '[]' WHERE id = '{OTHER}'")
    execute(home.path / "jetsql.db", "UPDATE snapshots SET record = 'x'")
    execute(home.path / "jetsql.db", "UPDATE history SET after = 'DREAMING' WHERE number = 1")
    home.checkpoint(home.path / "checkpoints" / OTHER / "spark")
    (home.warehouse / "other" / ".jetsql" / OTHER).mkdir(parents=True)
    findings = [what for _, what in found(home)]
    assert len(findings) == 4
    assert findings[0].startswith(f"The record of job {OTHER} is not readable")
    assert findings[1].startswith("The record of snapshot 0009-0000-0000-0001 is not readable")
    assert findings[2] == f"Row 1 of the history of job {ID} is not readable (unknown status)."
    assert findings[3].startswith("The checkpoint of job orders is missing")


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"no database", "is damaged"), (b"SQLite format 3\0" + b"x" * 5000, "is damaged"), (None, "Cannot access")],
)
def test_a_store_that_cannot_be_opened(home: Home, content: bytes | None, what: str) -> None:
    path = home.path / "jetsql.db"
    if content is None:
        path.mkdir()
        (path / "x").touch()
    else:
        path.write_bytes(content)
    finding = the_one(home)
    assert finding.severity is Severity.ERROR and what in finding.message and finding.where == str(path)


def test_a_store_that_lacks_a_column(home: Home) -> None:
    home.job()
    execute(home.path / "jetsql.db", "ALTER TABLE jobs RENAME COLUMN record TO something")
    assert "is damaged: no such column: record" in the_one(home).message


def test_a_store_behind_a_link(home: Home, tmp_path: Path) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    shutil.move(home.path / "jetsql.db", tmp_path / "elsewhere.db")
    (home.path / "jetsql.db").symlink_to(tmp_path / "elsewhere.db")
    with closing(Store(home.path / "jetsql.db")) as store:
        store.save(replace(job, batch=7), store.history(job.id)[0])
        assert "has committed batch 7" in the_one(home).message


def test_a_newer_store(home: Home) -> None:
    home.job()
    execute(home.path / "jetsql.db", f"UPDATE meta SET value = '{VERSION + 1}' WHERE key = 'version'")
    assert f"has version {VERSION + 1}, written by JetSQL" in the_one(home).message
    assert "Install the newer JetSQL" in the_one(home).remedy


def test_older_store_is_read_and_not_changed(home: Home) -> None:
    execute(home.path / "jetsql.db", V1.read_text(encoding="utf-8"))
    before = (home.path / "jetsql.db").read_bytes()
    report = checked(home)
    assert (report.jobs, report.findings[-1].severity) == (5, Severity.NOTE)
    assert f"version 1; the engine's next start migrates it to version {VERSION}" in report.findings[-1].message
    assert (home.path / "jetsql.db").read_bytes() == before


def test_a_home_that_was_moved(home: Home) -> None:
    home.checkpoint(home.spark(home.job()))
    (home.path / "engine.place").write_text("/elsewhere\n")
    finding = the_one(home)
    assert finding.message == "This is a copy of /elsewhere. An engine can use it only there."
    assert finding.severity is Severity.NOTE and check(home.path).is_well


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("engine.place", b"", "The file {path}, which names the folder of the home, is damaged."),
        ("engine.place", b"\xff\xfe\0", "The file {path}, which names the folder of the home, is damaged."),
        ("engine.token", b"\xff\xfe\0", "The file {path}, which has the token of the home, is damaged."),
        ("engine.lock", None, "{path} is a folder, but an engine keeps a file there."),
        ("engine.log", None, "{path} is a folder, but an engine keeps a file there."),
    ],
)
def test_a_damaged_file_of_the_home(home: Home, name: str, content: bytes | None, what: str) -> None:
    home.checkpoint(home.spark(home.job()))
    path = home.path / name
    path.mkdir() if content is None else path.write_bytes(content)
    assert the_one(home).message == what.format(path=path)


def test_a_backup_is_checked_in_its_place(home: Home, tmp_path: Path) -> None:
    """Check the tables and manifests of the copy, although the store has the paths of the original."""
    job = home.job()
    home.checkpoint(home.spark(job))
    home.manifest(job, 2, staged=True)
    (home.path / "engine.place").write_text(f"{home.path.resolve()}\n")
    copy = tmp_path / "backup"
    shutil.copytree(home.path, copy)
    shutil.rmtree(home.path)
    table = copy / "warehouse" / "orders"
    assert "1 of its files are not moved" in check(copy).findings[0].message
    shutil.rmtree(table / ".jetsql")
    report = check(copy)
    assert [finding.severity for finding in report.findings] == [Severity.NOTE] and report.jobs == 1
    shutil.rmtree(table)
    assert [finding.where for finding in check(copy).findings if finding.severity.is_problem] == [str(table)]


def test_staged_rows_next_to_a_backup_may_be_newer(home: Home, tmp_path: Path) -> None:
    table = tmp_path / "outside"
    (table / ".jetsql" / "0009-0000-0000-0009").mkdir(parents=True)
    original = home.job()
    sink = replace(original.plan.analysis.sink, location=f"file:{table}")
    paths = CheckedPaths(home.path, tmp_path / "original")
    job = original.with_plan(replace(original.plan, analysis=replace(original.plan.analysis, sinks=(sink,))))
    assert list(check_staging([job], home.warehouse, paths)) == []
    assert len(list(check_staging([job], home.warehouse, CheckedPaths(home.path)))) == 1


def test_a_folder_that_an_engine_cannot_write(home: Home) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    spark.chmod(0o500)
    finding = the_one(home)
    spark.chmod(0o700)
    assert finding.message == "The engine cannot write here." and finding.remedy == f"Allow it: chmod u+w '{spark}'"


def test_a_disk_that_is_nearly_full(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.checkpoint(home.spark(home.job()))
    monkeypatch.setattr(module, "MIN_FREE_BYTES", 1 << 80)
    finding = check(home.path).findings[0]
    assert finding.severity is Severity.WARNING and "The disk is nearly full" in finding.message


@pytest.mark.parametrize(("free", "severities"), [(500 * 2**20, []), (500 * 2**20 - 1, ["warning"])])
def test_a_disk_needs_500_mib(home: Home, monkeypatch: pytest.MonkeyPatch, free: int, severities: list[str]) -> None:
    home.checkpoint(home.spark(home.job()))
    monkeypatch.setattr(module, "MIN_FREE_BYTES", MIN_FREE_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2**40, 2**40 - free, free))
    assert [severity for severity, _ in found(home)] == severities


def test_check_next_to_a_running_engine(home: Home) -> None:
    home.checkpoint(home.spark(home.job()))
    lease = HomeLock(home.path)
    try:
        finding = the_one(home)
        assert (finding.severity, finding.message) == (
            Severity.NOTE,
            f"An engine runs on this home: process {os.getpid()}.",
        )
        Path(home.path, "engine.owner").unlink()
        assert the_one(home).message == "An engine runs on this home: another process."
    finally:
        lease.release()
    assert found(home) == []


def test_new_rows_of_an_open_store_are_read(home: Home) -> None:
    job = home.job()
    home.checkpoint(home.spark(job))
    with closing(Store(home.path / "jetsql.db")) as store:
        store.save(replace(job, batch=7), store.history(job.id)[0])
        assert the_one(home).message.endswith("offsets/7 is missing, and the job has committed batch 7.")


def test_findings_that_disappear_are_not_reported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    (spark / "offsets" / "1").unlink()
    looks: Iterator[Callable[[], object]] = iter([lambda: None, lambda: home.planned(spark, 1)])

    def space(path: Path) -> shutil._ntuple_diskusage:
        next(looks)()
        return usage(path)

    usage = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", space)
    lease = HomeLock(home.path)
    try:
        assert [finding.severity for finding in check(home.path).findings] == [Severity.NOTE]
    finally:
        lease.release()


def test_findings_of_only_the_second_check_are_not_reported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = home.checkpoint(home.spark(home.job()))
    looks: Iterator[Callable[[], object]] = iter([lambda: None, (spark / "offsets" / "1").unlink])

    def space(path: Path) -> shutil._ntuple_diskusage:
        next(looks)()
        return usage(path)

    usage = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", space)
    lease = HomeLock(home.path)
    try:
        assert [finding.severity for finding in check(home.path).findings] == [Severity.NOTE]
    finally:
        lease.release()
    assert next(looks, None) is None


# --- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, arguments, catch_exceptions=False, prog_name="jetsql")


def test_command_has_hints_and_an_exit_code(home: Home) -> None:
    job = home.job()
    ended = run("check", "--home", str(home.path))
    assert ended.exit_code == int(ExitCode.PROBLEMS_FOUND) == 1
    assert ended.stdout.splitlines()[0].startswith("error: The checkpoint of job orders is missing")
    assert ended.stdout.splitlines()[1] == f"  where: {home.spark(job)}"
    assert ended.stdout.splitlines()[2].startswith("  do:    Restore the folder")
    assert ended.stdout.splitlines()[-1] == f"1 error: checked 1 job and 0 snapshots in {home.path}."
    home.checkpoint(home.spark(job))
    assert run("--home", str(home.path), "check").exit_code == ExitCode.SUCCESS


def test_the_command_gives_rows_to_programs(home: Home) -> None:
    home.job()
    ended = run("check", "--home", str(home.path), "--format", "json")
    [row] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert list(row) == ["severity", "what", "where", "what_to_do"] and row["severity"] == "error"
    assert run("--format", "csv", "check", "--home", str(home.path)).stdout.startswith("severity,what,where,what_to_do")


def test_missing_home_is_an_error_and_not_created(tmp_path: Path) -> None:
    ended = run("check", "--home", str(tmp_path / "nowhere"))
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND and "The home folder does not exist." in ended.stdout
    assert not (tmp_path / "nowhere").exists()


def test_unreadable_home(tmp_path: Path) -> None:
    ended = run("check", "--home", str(tmp_path / ("x" * 300)))
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND and "Cannot read this: File name too long." in ended.stdout


def test_wrong_usage() -> None:
    assert run("-e", "SHOW JOBS", "check").exit_code == ExitCode.USAGE
    assert run("check", "--stay").exit_code == ExitCode.USAGE
