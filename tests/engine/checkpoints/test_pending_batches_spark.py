"""CREATE OR REPLACE JOB while a batch is pending that the old version can't finish: each row arrives once."""

from __future__ import annotations

import pytest

from tests.conftest import Sql, until
from tests.faults.source import Source, sum_by_digit

pytestmark = pytest.mark.spark

OPTIONS = "OPTIONS ('snapshotIntervalMillis' = '50', 'restartAttempts' = '0')"


def until_suspended(sql: Sql, job: str) -> None:
    until(lambda: sql.status(job) == "SUSPENDED")


def notices(sql: Sql, job: str) -> list[str]:
    return [str(row[-1]) for row in sql(f"SHOW JOB HISTORY {job}") if row[1] == "sink notice"]


def test_failing_batch_is_dropped_for_the_new_version(sql: Sql, numbers: Source) -> None:
    numbers.add(1)
    count = "SELECT id % 10 AS digit, count(*), sum(id) FROM STREAM numbers{} GROUP BY 1"
    text = f"JOB j {OPTIONS} AS INSERT OVERWRITE digits {count}"
    sql(f"CREATE {text.format(' WHERE 1 / (id - 110) < 2')}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    numbers.add(1)
    until_suspended(sql, "j")
    [(_, _, status, message)] = sql(f"CREATE OR REPLACE {text.format('')}")
    assert status == "RUNNING" and "The state is kept." in message
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sql("SELECT * FROM digits ORDER BY digit") == sum_by_digit(numbers.ids())
    [notice] = notices(sql, "j")
    assert "Division by zero" in notice and "reads the rows of batch 1 again; no row of it is in" in notice
    numbers.add(1)
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sql("SELECT * FROM digits ORDER BY digit") == sum_by_digit(numbers.ids())


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["parquet", "postgres"])
def test_the_new_version_reads_the_rows_of_the_batch_again(
    sql: Sql, numbers: Source, sink: str, request: pytest.FixtureRequest
) -> None:
    table = "plain"
    if sink == "postgres":
        postgres = request.getfixturevalue("postgres")
        postgres("CREATE SCHEMA pending; CREATE TABLE pending.t (id bigint)")
        table = "kept"
        sql(f"CREATE TABLE kept {postgres.options('pending.t')}")
    copy = f"JOB p {OPTIONS} AS INSERT INTO {table} SELECT {{}} AS id FROM STREAM numbers"
    sql(f"CREATE {copy.format('CAST(IF(id = 110, concat(id, chr(88)), concat(id)) AS BIGINT)')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    numbers.add(2)
    until_suspended(sql, "p")
    numbers.add(1)
    sql(f"CREATE OR REPLACE {copy.format('id')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    assert sql(f"SELECT id FROM {table} ORDER BY id") == [(number,) for number in numbers.ids()]
    assert len(notices(sql, "p")) == 1


@pytest.mark.slow
def test_failed_new_version_is_rolled_back(sql: Sql, numbers: Source) -> None:
    copy = f"JOB p {OPTIONS} AS INSERT INTO plain SELECT id FROM STREAM numbers WHERE {{}}"
    sql(f"CREATE {copy.format('1 / (id - 110) < 2')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    numbers.add(2)
    until_suspended(sql, "p")
    error = sql.error(f"CREATE OR REPLACE {copy.format('1 / (id - 115) < 2')}")
    assert error.condition == "JETSQL.UPDATE_FAILED" and sql.status("p") == "SUSPENDED"
    sql(f"CREATE OR REPLACE {copy.format('id >= 0')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    assert sql("SELECT id FROM plain ORDER BY id") == [(number,) for number in numbers.ids()]


@pytest.mark.slow
def test_first_batch_is_dropped_as_well(sql: Sql, numbers: Source) -> None:
    sql("CREATE TABLE later (id BIGINT) USING json")
    copy = f"JOB p {OPTIONS} AS INSERT INTO plain SELECT id FROM STREAM later WHERE {{}}"
    sql(f"CREATE {copy.format('1 / id < 2')}")
    sql("INSERT INTO later VALUES (0), (1)")
    until_suspended(sql, "p")
    sql(f"CREATE OR REPLACE {copy.format('id >= 0')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    assert sql("SELECT id FROM plain ORDER BY id") == [(0,), (1,)]


@pytest.mark.slow
def test_partly_written_batch_is_not_dropped(sql: Sql, numbers: Source) -> None:
    """Write the planned batch to the first table only. A new version would plan another batch with its number."""
    sql("CREATE TABLE other (id BIGINT) USING parquet")
    text = (
        f"JOB p {OPTIONS} AS FROM (SELECT * FROM STREAM numbers) AS q"
        " INSERT INTO plain SELECT id INSERT INTO other SELECT id WHERE {}"
    )
    sql(f"CREATE {text.format('1 / (id - 110) < 2')}")
    sql("WAIT FOR JOB p UNTIL IDLE")
    numbers.add(2)
    until_suspended(sql, "p")
    error = sql.error(f"CREATE OR REPLACE {text.format('id >= 0')}")
    assert "cannot finish it" in error.message and "Division by zero" in error.message
    assert sql.status("p") == "SUSPENDED" and not notices(sql, "p")
    assert sql("SELECT id FROM plain ORDER BY id") == [(number,) for number in numbers.ids()]
