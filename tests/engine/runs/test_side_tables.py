"""Changes to tables that a job reads next to its stream, while the job runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Sql
from tests.faults.source import Source

pytestmark = pytest.mark.spark


@pytest.fixture
def join_sentences(sql: Sql, numbers: Source) -> Callable[[str], list[tuple[Any, ...]]]:
    """Run a job over the numbers and the side table `replaced`, change the table, and return the job's history."""
    sql("CREATE TABLE replaced (id BIGINT) USING parquet")
    sql("INSERT INTO replaced SELECT id FROM range(100)")
    sql(
        "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO plain"
        " SELECT n.id FROM STREAM numbers n JOIN replaced USING (id)"
    )
    sql("WAIT FOR JOB j UNTIL IDLE")

    def change(statement: str) -> list[tuple[Any, ...]]:
        for text in statement.split(";"):
            sql(text)
        numbers.add(1)
        if "CREATE" in statement or "OVERWRITE" in statement:
            sql("WAIT FOR JOB j UNTIL IDLE")
        else:
            sql.error("WAIT FOR JOB j UNTIL IDLE")
        return sql("SHOW JOB HISTORY j")

    return change


def test_a_dropped_side_table_fails_its_job(join_sentences: Callable[[str], list[tuple[Any, ...]]], sql: Sql) -> None:
    history = join_sentences("DROP TABLE replaced")
    assert dict(sql("DESCRIBE JOB j"))["status"] == "SUSPENDED"
    assert "[JETSQL.JOB_CHANGED]" in str(dict(sql("DESCRIBE JOB j"))["last error"])
    assert not any(row[1] == "restart wanted" or "restarted" in str(row[1]) for row in history), history


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OVERWRITE replaced SELECT id FROM range(1000)",
        pytest.param(
            "DROP TABLE replaced; CREATE TABLE replaced USING parquet AS SELECT id FROM range(1000)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_replaced_side_table_is_read_again(
    join_sentences: Callable[[str], list[tuple[Any, ...]]], statement: str, sql: Sql
) -> None:
    join_sentences(statement)
    assert sql.status("j") == "RUNNING"
    assert sql.value("SELECT count(*) FROM plain") == sql.value("SELECT count(*) FROM numbers")
