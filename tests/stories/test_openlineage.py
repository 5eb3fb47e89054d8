"""OpenLineage events of real engines: a receiver that hangs, and runs that `kill -9` has ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.conftest import until
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.webhook import Webhook, run_webhook

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


def events(webhook: Webhook) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in list(webhook.requests)]


@pytest.mark.timeout(600)
def test_killed_runs_end_and_a_hanging_receiver_delays_nothing(tmp_path: Path, webhook: Webhook) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "1.json").write_text('{"id": 1}\n')
    engine = ServiceEngine(tmp_path / "home")
    engine.set("JETSQL_OPENLINEAGE_URL", webhook.url)
    engine("start")
    engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}'")
    engine("-e", "CREATE TABLE copied (id BIGINT, twice BIGINT) USING parquet")
    engine("-e", "CREATE JOB copy AS INSERT INTO copied SELECT id, id * 2 FROM STREAM src")
    start, running = (json.loads(request.body) for request in webhook.wait(2, 60)[:2])
    assert (start["eventType"], running["eventType"]) == ("START", "RUNNING")
    assert [each["name"] for each in start["inputs"]] == [str(source)]
    fields = start["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {name: use["inputFields"][0]["transformations"][0]["subtype"] for name, use in fields.items()} == {
        "id": "IDENTITY",
        "twice": "TRANSFORMATION",
    }
    engine.kill()
    released = Event()
    engine("start")
    until(lambda: [event["eventType"] for event in events(webhook)][2:4] == ["ABORT", "START"])
    _, _, aborted, again = events(webhook)[:4]
    assert aborted["run"]["runId"] == start["run"]["runId"] != again["run"]["runId"]
    webhook.before_answer = partial(_wait, released)
    for number in range(3):  # each suspended run sends two events, which are not taken
        (source / f"n{number}.json").write_text(f'{{"id": {number}}}\n')
        engine("-e", "WAIT FOR JOB copy UNTIL IDLE TIMEOUT 60 SECONDS")
        engine("-e", "SUSPEND JOB copy")
        engine("-e", "RESUME JOB copy")
    until(lambda: engine.rows("SELECT count(*) FROM copied") == [[4]])
    engine("stop")
    released.set()


def _wait(released: Event) -> None:
    released.wait(120)
