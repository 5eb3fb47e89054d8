"""The flow of a query: which stateful operator reads which source or operator."""

from __future__ import annotations

import pytest

from tests.conftest import Sql
from tests.faults.source import Source

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("query", "flow"),
    [
        ("SELECT id FROM STREAM numbers", ""),
        ("SELECT DISTINCT id FROM STREAM numbers", "state 0 reads source 0; result reads state 0"),
        (
            "SELECT DISTINCT a.id FROM STREAM numbers a JOIN STREAM others b ON a.id = b.id",
            "state 0 reads state 1; state 1 reads source 0, source 1; result reads state 0",
        ),
        (
            "SELECT a.id FROM (SELECT DISTINCT id FROM STREAM numbers) a JOIN STREAM others b ON a.id = b.id",
            "state 0 reads state 1, source 1; state 1 reads source 0; result reads state 0",
        ),
        (
            "SELECT id FROM STREAM others UNION ALL SELECT DISTINCT id FROM STREAM numbers",
            "state 0 reads source 1; result reads source 0, state 0",
        ),
        (
            "SELECT DISTINCT n.id FROM STREAM numbers n JOIN plain p ON n.id = p.id",
            "state 0 reads source 0; result reads state 0",
        ),
    ],
)
def test_the_flow_is_that_of_the_query(sql: Sql, numbers: Source, query: str, flow: str) -> None:
    sql(f"CREATE TABLE others (id BIGINT) USING json LOCATION '{numbers.folder}'")
    text = sql.value(f"EXPLAIN CREATE JOB j AS INSERT INTO plain {query}")
    found = [line.removeprefix("Flow:").strip() for line in text.splitlines() if line.startswith("Flow:")]
    assert found == ([flow] if flow else [])
