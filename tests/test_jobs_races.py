"""Statements that come at once: each is answered as if the other had come before it, or after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.jobs.model import Status
from jobs_support import World, world

BODY = "INSERT INTO out SELECT * FROM STREAM src"
MAKE = f"CREATE JOB j AS {BODY}"


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def between(monkeypatch: pytest.MonkeyPatch, owner: object, call: str, *meanwhile: Callable[[], object]) -> None:
    """Let something else happen just before the next call of this name."""
    real = getattr(owner, call)

    def called(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(owner, call, real)
        for happens in meanwhile:
            happens()
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, call, called)


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("ALTER JOB j OPTIONS ('spark.sql.maxPlanStringLength' = '9')", "check_conf"),
        ("DROP JOB j WITH SNAPSHOT s", "snapshot_named"),
    ],
)
def test_a_job_that_takes_the_name_meanwhile_is_not_hit(
    w: World, monkeypatch: pytest.MonkeyPatch, text: str, looks: str
) -> None:
    w.make()
    w.sql("SUSPEND JOB j")
    owner = w.engine if looks == "check_conf" else w.store
    between(monkeypatch, owner, looks, lambda: w.sql("DROP JOB j"), w.make, lambda: w.sql("SUSPEND JOB j"))
    error = w.refused(text)
    assert error.condition == "JETSQL.WRONG_STATUS" and "has ended with status FAILED" in error.message
    [newer] = w.store.live_jobs()
    assert newer.status is Status.SUSPENDED and newer.plan.options == {}
    assert w.sql("SHOW SNAPSHOTS").rows == ()
