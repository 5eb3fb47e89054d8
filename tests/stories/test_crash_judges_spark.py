"""The judges of jobs with watermarks, and of jobs by changes, want what the same text returns as a batch query."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import pytest

from tests.conftest import Sql
from tests.faults.jobs import KAFKA_KINDS, REWRITTEN_KINDS, Facts, Kind
from tests.faults.source import Source
from tests.faults.timed_jobs import TIMED_KINDS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NEWEST: Final = "(SELECT max(at) FROM numbers)"
PASSED: Final = {
    "unmatched": "(SELECT at FROM numbers WHERE numbers.id = result.id) + INTERVAL '20.5' SECOND < {newest}",
    "idle": "start < date_trunc('minute', {newest})",
    "late_totals": "true",
    "late_pairs": "(SELECT at FROM numbers WHERE numbers.id = result.id) <= (SELECT min(at) FROM (SELECT max(at) AS at"
    " FROM numbers WHERE id % 3 = 0 UNION ALL SELECT max(at) FROM numbers WHERE id % 2 = 0))",
}
"""The condition of the rows that the watermark has passed, by kind."""
LATE: Final = {"late_totals": ((3, -1),), "late_pairs": ((3, -2), (2, -3))}
"""The divisor of each stream, and what is written for its late rows, by kind with late rows."""


@pytest.mark.parametrize("kind", TIMED_KINDS, ids=lambda kind: kind.name)
def test_judge_expects_the_rows_of_batch(sql: Sql, numbers: Source, kind: Kind) -> None:
    numbers.add(6)
    columns = {"idle": "start, n, total", "unmatched": "id"}.get(kind.name, "id, value")
    passed = PASSED[kind.name].format(newest=NEWEST)
    rows = sql(
        f"SELECT {kind.read if kind.name == 'idle' else columns} FROM"
        f" (SELECT * FROM ({batch(kind)}) AS result ({columns}) WHERE {passed})"
    )
    for divisor, words in LATE.get(kind.name, ()):
        rows += [(i, words) for i in numbers.ids() if i >= 40 and i % divisor]
    assert len(rows) > 8
    assert kind.check(Counter(rows), Facts(numbers, (), {})).words == ""


@pytest.mark.parametrize("name", ["j_maxima", "j_pairs", "k_pairs"])
def test_judge_of_changes_expects_the_rows_of_batch(sql: Sql, numbers: Source, name: str) -> None:
    numbers.add(6)
    kind = next(kind for kind in (*REWRITTEN_KINDS, *KAFKA_KINDS) if kind.name == name)
    rows = sql(batch(kind))
    assert len(rows) > 5
    assert kind.check(Counter(rows), Facts(numbers, (), {})).words == ""


def batch(kind: Kind) -> str:
    """Return a job's query over tables. The rows that are late as a stream are left out."""
    _, _, query = kind.job.partition(f"INTO {kind.name} ")
    query = re.sub(r"STREAM numbers WITH \([^)]*\)", "numbers", query)
    query = query.replace(" WATERMARK at DELAY OF INTERVAL 0 SECONDS", "")
    return re.sub(r"(id % (\d) \* 10\) AS at FROM numbers)\)", r"\1 WHERE id < 40 OR id % \2 = 0)", query)
