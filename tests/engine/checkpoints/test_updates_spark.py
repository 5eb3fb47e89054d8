"""CREATE OR REPLACE JOB on real checkpoints: state is kept if possible, and a failed update is rolled back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.conftest import Sql, until
from tests.faults.source import Source, sum_by_digit

pytestmark = pytest.mark.spark

FAST = "'snapshotIntervalMillis' = '50'"
COUNT = "SELECT id % 10 AS digit, count(*), sum(id) FROM STREAM numbers{where} GROUP BY 1"


@pytest.fixture
def numbers(sql: Sql, numbers: Source) -> Source:
    """Return a source that begins with 100 ids; each file has 20."""
    numbers.add(1)
    sql("CREATE TABLE other (id BIGINT) USING parquet")
    return numbers


def counting(where: str = "", options: str = FAST) -> str:
    return f"JOB j OPTIONS ({options}) AS INSERT OVERWRITE digits {COUNT.format(where=where)}"


def copying(column: str = "id", table: str = "plain", options: str = FAST) -> str:
    return f"JOB p OPTIONS ({options}) AS INSERT INTO {table} SELECT {column} FROM STREAM numbers"


def read(sql: Sql, job: str, query: str) -> list[tuple[object, ...]]:
    sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")
    return sql(query)


def ids(sql: Sql, table: str = "plain") -> list[int]:
    return [int(str(row[0])) for row in read(sql, "p", f"SELECT id FROM {table} ORDER BY id")]


@pytest.mark.slow
def test_the_result_is_written_to_another_table_without_new_rows(sql: Sql, numbers: Source) -> None:
    sql("CREATE TABLE copied (digit BIGINT, n BIGINT, total BIGINT) USING parquet")
    sql(f"CREATE {counting()}")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    [(*_, message)] = sql(f"CREATE OR REPLACE {counting().replace('OVERWRITE digits', 'OVERWRITE copied')}")
    assert "The new version has committed its first batch." in message
    assert sql("SELECT * FROM copied ORDER BY digit") == sum_by_digit(range(100))
    numbers.add(1)
    assert read(sql, "j", "SELECT * FROM copied ORDER BY digit") == sum_by_digit(range(120))


@pytest.mark.needs_spark("4.2")
def test_new_filter_options_and_partitions_keep_the_state(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {counting()}")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    four = f"{FAST}, 'spark.sql.shuffle.partitions' = '4'"
    [(_, _, status, message)] = sql(f"CREATE OR REPLACE {counting(' WHERE id < 110', four)}")
    assert status == "RUNNING" and "The state is kept. The state is repartitioned into 4 partitions." in message
    numbers.add(1)
    expected = sum_by_digit(range(110))
    assert read(sql, "j", "SELECT * FROM digits ORDER BY digit") == expected
    facts = dict(sql("DESCRIBE JOB EXTENDED j"))
    assert facts["option spark.sql.shuffle.partitions"] == "4"
    folders = Path(sql.engine.home / "checkpoints" / str(facts["id"])).glob("spark*")
    [folder] = [path for path in folders if path.is_dir()]
    assert len([path for path in (folder / "state" / "0").iterdir() if path.name.isdigit()]) == 4
    sql("RESTART JOB j")
    numbers.add(1)
    assert read(sql, "j", "SELECT * FROM digits ORDER BY digit") == expected


@pytest.mark.slow
def test_stateless_job_continues_after_its_read_offsets(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {copying()}")
    assert ids(sql) == list(range(100))
    sql(f"CREATE OR REPLACE {copying('-id')}")
    numbers.add(1)
    assert ids(sql) == sorted([*range(100), *(-i for i in range(100, 120))])
    sql(f"CREATE OR REPLACE {copying(table='other')}")
    numbers.add(1)
    assert ids(sql, "other") == list(range(120, 140))
    [(_, _, _, message)] = sql(f"CREATE OR REPLACE {copying(table='other')}")
    assert message == "The job already has this statement; it continues."


def test_incompatible_update_is_refused_while_the_job_runs(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {counting()}")
    for text, reason in (
        (counting().replace("% 10", "% 5"), " replaced (id % CAST(10 AS BIGINT)) in the aggregate"),
        (counting().replace("sum(id)", "max(id)"), "max(id) replaced sum(id) in the aggregate"),
        (counting().replace("FROM STREAM numbers", "FROM STREAM plain"), "is removed"),
        ("JOB j AS INSERT INTO plain SELECT id FROM STREAM numbers", "the new query keeps none"),
        ("JOB j AS INSERT INTO plain SELECT id FROM numbers", "reads no stream"),
    ):
        error = sql.error(f"CREATE OR REPLACE {text}")
        assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE" and reason in error.message, text
        [(plan,)] = sql(f"EXPLAIN CREATE OR REPLACE {text}")
        assert "Update:      refused:" in plan and reason in plan
    assert dict(sql("DESCRIBE JOB EXTENDED j"))["run"] == "1" and sql.status("j") == "RUNNING"


def test_failed_version_gives_way_to_the_old_one(sql: Sql, numbers: Source) -> None:
    once = copying(options="'snapshotIntervalMillis' = '2000000000'")  # each run has one batch
    [(job, *_)] = sql(f"CREATE {once}")
    until_planned(sql, str(job), "spark", 0)
    numbers.add(1)
    error = sql.error(f"CREATE OR REPLACE {copying('CAST(raise_error(concat(id)) AS BIGINT)')}")
    assert error.condition == "JETSQL.UPDATE_FAILED" and "the old version continues" in error.message
    until(lambda: sql("SELECT id FROM plain ORDER BY id") == [(number,) for number in range(120)])
    titles = [row[1] for row in sql("SHOW JOB HISTORY p")]
    assert "new version failed" in titles and "update rolled back" in titles
    assert "raise_error" not in str(sql("SHOW CREATE JOB p"))


HANGS = "id + nvl2(java_method('java.lang.Thread', 'sleep', IF(id < 100, 0L, 3600000L)), 0, 0)"


def hanging(sql: Sql, text: str) -> threading.Thread:
    """Say something on a thread of its own that won't come to a good end."""
    thread = threading.Thread(target=sql.error, args=(text,))
    thread.start()
    return thread


def until_planned(sql: Sql, job: str, checkpoint: str, batch: int) -> None:
    until((sql.engine.home / "checkpoints" / job / checkpoint / "offsets" / str(batch)).exists)


@pytest.mark.slow
def test_hanging_version_is_replaced_and_its_rows_read_again(
    sql: Sql, numbers: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql.engine._manager.workers, "_stop_deadline", 0.1)
    [(job, *_)] = sql(f"CREATE {copying()}")
    assert ids(sql) == list(range(100))
    sql("SUSPEND JOB p")
    numbers.add(1)
    first = hanging(sql, f"CREATE OR REPLACE {copying(HANGS)}")
    until_planned(sql, str(job), "spark-1", 1)
    [(_, _, status, message)] = sql(f"CREATE OR REPLACE {copying('-id')}")
    first.join()
    assert status == "RUNNING" and "Updated." in message
    assert ids(sql) == sorted([*range(100), *(-i for i in range(100, 120))])


@pytest.mark.slow
def test_hanging_job_can_be_dropped_during_an_update(
    sql: Sql, numbers: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql.engine._manager.workers, "_stop_deadline", 0.1)
    [(job, *_)] = sql(f"CREATE {copying(HANGS)}")
    assert ids(sql) == list(range(100))
    numbers.add(1)
    until_planned(sql, str(job), "spark", 1)
    replacing = hanging(sql, f"CREATE OR REPLACE {copying()}")
    until(lambda: "old version stopped" in [row[1] for row in sql("SHOW JOB HISTORY p")])
    [(_, _, status, _)] = sql("DROP JOB p")
    replacing.join()
    story = " ".join(str(row[-1]) for row in sql("SHOW JOB HISTORY p"))
    assert status == "DROPPED" and "cannot finish it: another statement cancelled it" in story
    assert sql("SELECT id FROM plain ORDER BY id") == [(i,) for i in range(100)]


@pytest.mark.slow
def test_suspended_job_is_replaced_or_stays_suspended(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {copying()}")
    assert ids(sql) == list(range(100))
    sql("SUSPEND JOB p")
    numbers.add(1)
    error = sql.error(f"CREATE OR REPLACE {copying('CAST(raise_error(concat(id)) AS BIGINT)')}")
    assert error.condition == "JETSQL.UPDATE_FAILED" and sql.status("p") == "SUSPENDED"
    sql(f"CREATE OR REPLACE {copying('id + 1000')}")
    assert ids(sql) == [*range(100), *range(1100, 1120)]


@pytest.mark.slow
def test_replaced_view_is_detected_and_named(sql: Sql, numbers: Source) -> None:
    sql("CREATE VIEW v AS SELECT id, id % 10 AS digit FROM STREAM numbers")
    text = f"JOB j OPTIONS ({FAST}) AS INSERT OVERWRITE digits SELECT digit, count(*), sum(id) FROM v GROUP BY 1"
    sql(f"CREATE {text}")
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    sql("CREATE OR REPLACE VIEW v AS SELECT id, id % 5 AS digit FROM STREAM numbers")
    error = sql.error("RESTART JOB j")
    assert "A view, table or function of the job was changed" in error.message and "% CAST(5" in error.message
    assert sql.status("j") == "SUSPENDED"
    assert sql.error(f"CREATE OR REPLACE {text}").condition == "JETSQL.STATE_NOT_COMPATIBLE"
    sql("CREATE OR REPLACE VIEW v AS SELECT id, id % 10 AS digit FROM STREAM numbers")
    sql("RESUME JOB j")
    assert sql.status("j") == "RUNNING"


@pytest.mark.slow
def test_moved_source_is_detected_and_named(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {copying()}")
    assert ids(sql) == list(range(100))
    sql("SUSPEND JOB p")
    (numbers.folder.parent / "moved").mkdir()
    sql(f"ALTER TABLE numbers SET LOCATION '{numbers.folder.parent / 'moved'}'")
    assert "/moved" in sql.error("RESUME JOB p").message and sql.status("p") == "SUSPENDED"
    assert "the location of the source" in sql.error(f"CREATE OR REPLACE {copying()}").message
    sql(f"ALTER TABLE numbers SET LOCATION '{numbers.folder}'")
    numbers.add(1)
    sql("RESUME JOB p")
    assert ids(sql) == list(range(120))


def test_recreated_source_is_detected_and_accepted_with_create_or_replace(sql: Sql, numbers: Source) -> None:
    sql(f"CREATE {copying()}")
    assert ids(sql) == list(range(100))
    sql("SUSPEND JOB p")
    before = created(sql)
    while created(sql) == before:  # the catalogue counts seconds
        sql("DROP TABLE numbers")
        sql(f"CREATE TABLE numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{numbers.folder}'")
    assert "was dropped and recreated" in sql.error("RESUME JOB p").message and sql.status("p") == "SUSPENDED"
    numbers.add(1)
    [(_, _, _, message)] = sql(f"CREATE OR REPLACE {copying()}")
    assert "was recreated" in message
    assert ids(sql) == list(range(120))


def created(sql: Sql) -> object:
    return dict(row[:2] for row in sql("DESCRIBE EXTENDED numbers"))["Created Time"]
