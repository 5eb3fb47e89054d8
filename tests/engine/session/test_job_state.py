"""The table function `jetsql.state`: the state of a job as a table."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from jetsql.embedded.embedded_engine import EmbeddedEngine
from tests.conftest import Sql

pytestmark = pytest.mark.spark

COUNT: Final = "INSERT OVERWRITE counts SELECT k, count(*) AS n FROM STREAM events GROUP BY k"


class Events:
    """A table of files with the columns `id`, `k` and `ts`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir()

    def add(self, *rows: tuple[int, int, str]) -> None:
        """Add a file with rows."""
        text = "\n".join(json.dumps({"id": id, "k": k, "ts": f"2026-01-01T{time}"}) for id, k, time in rows)
        draft = self.folder / f"_{self.count}"
        draft.write_text(text)
        os.utime(draft, (1_700_000_000 + self.count,) * 2)
        draft.rename(self.folder / f"{self.count}.json")
        self.count += 1


@pytest.fixture
def events(sql: Sql, tmp_path: Path) -> Events:
    made = Events(tmp_path / "events")
    made.add((1, 1, "00:00:01"), (2, 1, "00:00:02"), (3, 2, "00:00:03"))
    sql(f"CREATE TABLE events (id INT, k INT, ts TIMESTAMP) USING json LOCATION '{made.folder}'")
    sql("CREATE TABLE counts (k INT, n BIGINT) USING parquet")
    return made


def counts(sql: Sql, job: str = "counts") -> dict[Any, Any]:
    return dict(sql(f"SELECT key.k, value.count FROM jetsql.state('{job}')"))


def test_the_state_is_that_of_the_newest_batch(sql: Sql, events: Events) -> None:
    sql(f"CREATE JOB counts AS {COUNT}")
    sql("WAIT FOR JOB counts TIMEOUT 60")
    assert counts(sql) == {1: 2, 2: 1}
    events.add((4, 3, "00:00:04"))
    sql("WAIT FOR JOB counts TIMEOUT 60")
    sql("SUSPEND JOB counts")
    assert counts(sql) == {1: 2, 2: 1, 3: 1}
    [(job_id,)] = sql("SELECT id FROM jetsql.jobs WHERE name = 'counts' AND status = 'SUSPENDED'")
    assert counts(sql, job_id) == {1: 2, 2: 1, 3: 1}
