"""The judges of the crash matrix find every kind of error: without Spark, on handmade rows, files and histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from jetsql.failpoints import POINTS
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.store.job_store import Store
from tests.faults.history import Deaths, store_faults
from tests.faults.jobs import FILE_KINDS, TOO, Facts, Loss
from tests.faults.migration import MIGRATION, Migration
from tests.faults.readers import FilesReader
from tests.faults.rounds import SCENARIOS, SINKS, STATEMENTS, Round
from tests.faults.source import ROWS_A_FILE, Source, ids_in_minute
from tests.support.engines.jobs_harness import run_manager

KINDS = {kind.name: kind for scenario in SCENARIOS.values() for kind in scenario.kinds}


def test_every_failpoint_is_reached() -> None:
    scenarios = (*SCENARIOS.values(), MIGRATION)
    armed = {place.name for scenario in scenarios for round in scenario.rounds for place in round.armed}
    lake = {point for point in POINTS if point.startswith("lake-")}  # of older Sparks, see test_lakehouse_crashes
    backup = {point for point in POINTS if point.startswith(("backup-", "restore-"))}  # see tests/backup
    assert armed == set(POINTS) - lake - backup - {"alert-sent"}  # see tests/stories/test_alerts


def test_single_failpoint_needs_only_the_round_that_creates_jobs() -> None:
    first, *rest = SINKS.only("table-moved").rounds
    assert first.places == ()
    assert first.statements == tuple(kind.job for kind in SINKS.jobs)
    assert [any("table-moved" in place for place in round.places) for round in rest] == [True]
    assert SINKS.only("storing-submitted").rounds == (SINKS.rounds[0],)
    assert [round.places for round in STATEMENTS.only("store-made").rounds] == [("store-made",), ()]


def test_crash_during_a_migration_keeps_the_store(tmp_path: Path) -> None:
    outcome = Migration(MIGRATION, tmp_path / "home", lambda _: None).run()
    assert outcome.faults == []
    assert [death.died for death in outcome.deaths] == [True, True]


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    source = Source(tmp_path / "numbers")
    source.add(3)
    return Facts(source, (-1,), {"renewed": 7, "once": 3})


def judged(name: str, rows: Iterable[tuple[int, ...]], facts: Facts) -> Loss:
    return KINDS[name].check(Counter(rows), facts)


def test_lost_duplicate_and_wrong_rows_are_counted(facts: Facts) -> None:
    copied = [(i + more,) for i in facts.source.ids() for more in (0, TOO)] + [(-1,)]
    assert judged("copy", copied, facts) == Loss(0, 0)
    assert judged("copy", copied[3:], facts) == Loss(3, 0)
    assert judged("copy", [*copied, copied[0], copied[0], (-5,)], facts) == Loss(0, 3)
    assert judged("parts", [(i, i % 10) for i in facts.source.ids()], facts) == Loss(0, 0)
    assert judged("parts", [(i, 1) for i in facts.source.ids()], facts) == Loss(54, 54)


def test_windowed_aggregate_has_all_minutes_but_the_newest(facts: Facts) -> None:
    closed = facts.source.closed()
    assert closed == [(0, 20, 190), (1, 20, 590)]
    assert judged("minutes", [*closed], facts) == Loss(0, 0)
    assert judged("minutes", [closed[0], (1, 19, 590)], facts) == Loss(1, 1)


def test_rows_before_the_watermark_are_those_of_batch(facts: Facts) -> None:
    unmatched = [(i,) for i in (*range(13, 20), *range(33, 40))]  # 53 and later can still find a match
    assert judged("unmatched", unmatched, facts) == Loss(0, 0)
    assert judged("unmatched", [*unmatched[1:], (0,), (53,)], facts) == Loss(1, 2)
    assert judged("idle", [(0, 40, 380), (1, 30, 835)], facts) == Loss(0, 0)
    assert judged("idle", [(0, 40, 380), (1, 20, 590)], facts) == Loss(1, 1)


def test_rows_are_in_the_result_or_late_per_stream(facts: Facts) -> None:
    totals = [(2, 2), (4, 144), (0, 254), (24, 314), (40, -1)]
    assert judged("late_totals", totals, facts) == Loss(55, 0)
    assert judged("late_totals", [*totals, (40, -1), (21, -1), (30, 114)], facts) == Loss(55, 3)
    pairs = [(24, 14), (21, 31), (2, -1), (40, -2), (41, -3)]
    assert judged("late_pairs", pairs, facts) == Loss(65, 0)
    assert judged("late_pairs", [*pairs, (40, -3), (24, 4), (40, -2)], facts) == Loss(65, 3)


def test_at_least_once_rows_may_repeat_but_not_differ(facts: Facts) -> None:
    closed = facts.source.closed()
    assert judged("least", [*closed, *closed], facts) == Loss(0, 0)
    assert judged("least", [closed[0], closed[0]], facts) == Loss(1, 0)
    assert judged("least", [*closed, (0, 21, 190)], facts) == Loss(0, 1)


def test_recreated_job_has_all_rows_and_earlier_lives_whole_files(facts: Facts) -> None:
    newest = [(i, 7) for i in facts.source.ids()]
    assert judged("renewed", [*newest, *((i, 2) for i in ids_in_minute(0))], facts) == Loss(0, 0)
    assert judged("renewed", [*newest, *((i, 2) for i in ids_in_minute(0)[3:])], facts) == Loss(3, 0)
    assert judged("renewed", newest[1:], facts) == Loss(1, 0)
    assert judged("renewed", [*newest, newest[0]], facts) == Loss(0, 1)
    assert judged("renewed", [], facts).lost == 60
    assert judged("renewed", [(i, 2) for i in facts.source.ids()], facts) == Loss(60, 0)
    twice = [(i, life) for i in range(10) for life in (1, 3)]
    assert judged("once", twice, facts) == Loss(0, 0)
    assert judged("once", twice[:-1], facts) == Loss(1, 0)
    assert judged("once", [(i, 1) for i in range(10)], facts) == Loss(10, 0)
    assert judged("once", [], facts) == Loss(10, 0)


class Tables:
    """Return tables of files, and a reader that reads on request."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.reader = FilesReader(warehouse)

    def write(self, name: str, ids: range) -> Path:
        path = self.warehouse / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table({"id": list(ids)}), path)
        return path

    def wrong(self) -> list[str]:
        self.reader.poll_tables()
        return self.reader.wrong


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def test_reader_accepts_whole_files_and_ignores_hidden_ones(tables: Tables) -> None:
    tables.write("copy/1.parquet", ids_in_minute(0))
    for hidden in ("copy/.jetsql/a/1.parquet", "copy/_temporary/0/1.parquet", "copy/2.parquet._COPYING_"):
        tables.write(hidden, ids_in_minute(0)).write_bytes(b"half")
    tables.write("parts/_digit=3/1.parquet", ids_in_minute(1))
    assert tables.wrong() == []
    tables.write("copy/2.parquet", ids_in_minute(1))
    assert tables.wrong() == []
    assert tables.reader.files == 3


def test_a_reader_sees_half_a_file(tables: Tables) -> None:
    path = tables.write("copy/1.parquet", ids_in_minute(0))
    path.write_bytes(path.read_bytes()[:-7])
    assert "can be seen and not be read" in tables.wrong()[0]


def test_a_reader_sees_rows_go_away(tables: Tables) -> None:
    path = tables.write("parts/1.parquet", ids_in_minute(0))
    assert tables.wrong() == []
    path.unlink()
    assert "went away" in tables.wrong()[0]


def test_a_reader_sees_a_file_replaced_by_another(tables: Tables) -> None:
    path = tables.write("parts/1.parquet", ids_in_minute(0))
    assert tables.wrong() == []
    path.rename(path.with_name(".old"))
    tables.write("parts/1.parquet", ids_in_minute(0))
    assert "became another file" in tables.wrong()[0]


def test_a_reader_sees_a_row_twice(tables: Tables) -> None:
    tables.write("parts/1.parquet", ids_in_minute(0))
    tables.write("parts/2.parquet", range(19, 21))
    assert tables.wrong() == ["parts: 1 rows are there twice, for example (19,)"]


def test_a_reader_sees_a_batch_of_one_file_in_part(tables: Tables) -> None:
    tables.write("copy/1.parquet", range(ROWS_A_FILE - 1))
    assert tables.wrong() == ["copy: 1 batches are there in part, for example (0, 0)"]


def test_inconsistent_history_is_detected(tmp_path: Path) -> None:
    kind = replace(FILE_KINDS[0], name="j")
    with run_manager(tmp_path) as jobs:
        jobs.reply("CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s")
        jobs.reply("SUSPEND JOB j")
    path = Path(jobs.store.database.name)
    assert store_faults(path, ()) == []
    assert store_faults(path, (kind,)) == ["j should be NOT_RUNNING and is ['SUSPENDED']"]
    with closing(Store(path)) as store:
        [job] = store.all_jobs()
        store.save(job, HistoryRow(job.id, 1.0, "resumed", Status.RUNNING, Status.RUNNING, 1, ""))
    assert store_faults(path, ()) == [
        "the history of j jumps from 'suspended' to 'resumed'",
        "j is SUSPENDED, and its history ends with RUNNING",
    ]


@pytest.mark.parametrize(("suspends", "title"), [("false", "failed"), ("true", "suspended by an error")])
def test_an_error_in_a_history_is_reported_with_its_words(tmp_path: Path, suspends: str, title: str) -> None:
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make(options={"suspendOnFailure": suspends})
        jobs.runtime.fail(job_id, Cause("The disk is full.", retryable=False))
        jobs.wait_status(job_id, Status.FAILED, Status.SUSPENDED)
        assert title in jobs.titles(job_id)
    [fault] = store_faults(Path(jobs.store.database.name), ())
    assert fault.startswith("j met an error: ") and "The disk is full." in fault


def test_history_after_a_crash_is_compared_with_the_requests(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        jobs.reply("CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM s")
        deaths = Deaths(Path(jobs.store.database.name))
        deaths.note(Round(("staged:j", "stored-suspend-requested:j")))
        assert list(deaths.wrong()) == [("stored-suspend-requested", "j went on with 'nothing' and not with suspended")]
        jobs.reply("SUSPEND JOB j")
    assert [place for place, _ in deaths.wrong()] == ["stored-suspend-requested"]
