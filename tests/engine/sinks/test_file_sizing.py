"""The number of files of a batch: a small batch writes one file soon, a large batch uses every core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Sql

pytestmark = pytest.mark.spark


def copy(sql: Sql, query: str) -> None:
    sql(f"CREATE JOB copy OPTIONS ('trigger' = 'availableNow') AS INSERT INTO copied {query}")
    sql("WAIT FOR JOB copy UNTIL COMPLETED")


def files(sql: Sql, batch: int) -> int:
    """Return the number of files that a batch of the job became."""
    return int(sql.value(f"SELECT count(DISTINCT _metadata.file_name) FROM copied WHERE {written_by(batch)}"))


def written_by(batch: int) -> str:
    return f"_metadata.file_name LIKE '%-{batch:09d}-%'"


def tables(sql: Sql, rows: int, parts: int) -> None:
    sql("CREATE TABLE numbers (id BIGINT) USING parquet")
    sql("CREATE TABLE copied (id BIGINT, digits STRING) USING parquet")
    sql(f"INSERT INTO numbers SELECT id FROM range(0, {rows}, 1, {parts})")


def test_a_small_batch_is_one_file(sql: Sql) -> None:
    tables(sql, 1000, 4)
    copy(sql, "SELECT id, sha1(string(id)) FROM STREAM numbers")
    assert sql.value("SELECT count(*) FROM copied") == 1000
    assert files(sql, 0) == 1


@pytest.mark.slow
def test_a_small_result_that_replaces_the_table_is_one_file(sql: Sql) -> None:
    tables(sql, 1000, 4)
    sql(
        "CREATE JOB copy OPTIONS ('trigger' = 'availableNow') AS"
        " INSERT OVERWRITE copied SELECT id % 100, string(count(*)) FROM STREAM numbers GROUP BY id % 100"
    )
    sql("WAIT FOR JOB copy UNTIL COMPLETED")
    assert sql.value("SELECT count(*) FROM copied") == 100
    assert sql.value("SELECT count(DISTINCT _metadata.file_name) FROM copied") == 1


@pytest.mark.slow
def test_a_large_batch_has_several_writers(sql: Sql) -> None:
    tables(sql, 400_000, 2)
    copy(sql, "SELECT id, sha1(string(id)) FROM STREAM numbers")
    assert sql.value("SELECT count(DISTINCT id) FROM copied") == 400_000
    assert files(sql, 0) > 1


@pytest.mark.slow
def test_small_results_are_one_file_from_the_second_batch(sql: Sql) -> None:
    tables(sql, 800_000, 4)
    copy(sql, "SELECT id, '' FROM STREAM numbers WITH ('maxFilesPerTrigger' = '2') WHERE id % 1000 = 0")
    assert sql.value("SELECT count(DISTINCT id) FROM copied") == 800
    assert files(sql, 0) > 1
    assert files(sql, 1) == 1
