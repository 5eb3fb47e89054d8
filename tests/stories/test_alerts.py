"""Alerts of real engines: a message within seconds, and the same one through `kill -9` and a takeover."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from tests.conftest import until
from tests.stories.test_standby import Pair, make_pair
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.postgres import Postgres
from tests.support.servers.webhook import Webhook, run_webhook

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MESSAGES = "SELECT state, delivery, id FROM jetsql.alerts ORDER BY time"


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


def create_job(engine: ServiceEngine, folder: Path) -> None:
    folder.mkdir()
    (folder / "1.json").write_text('{"id": 1}\n')
    engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{folder}'")
    engine("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    engine("-e", "CREATE JOB copy AS INSERT INTO copied SELECT * FROM STREAM src")


def create_alert(engine: ServiceEngine, webhook: Webhook, condition: str = "STATUS SUSPENDED") -> None:
    engine("-e", f"CREATE ALERT a ON JOB ALL {condition} CALL '{webhook.url}' OPTIONS ('every' = '0 seconds')")


@pytest.mark.timeout(600)
def test_message_arrives_within_seconds_and_survives_kill(tmp_path: Path, webhook: Webhook) -> None:
    engine = ServiceEngine(tmp_path / "home")
    engine.set("JETSQL_FAILPOINT", "alert-sent")  # the receiver has the message, the store does not know
    engine("start")
    create_job(engine, tmp_path / "src")
    create_alert(engine, webhook)
    process = engine.processes()[0]
    with engine.begin("-e", "SUSPEND JOB copy") as command:
        [first] = webhook.wait(1, 60)
        command.communicate(timeout=120)
    process.wait(60)
    engine.set("JETSQL_FAILPOINT", "")
    engine("start")
    _, again = webhook.wait(2, 60)
    assert (again.id, again.body) == (first.id, first.body)
    until(lambda: engine.rows(MESSAGES) == [["FIRING", "DELIVERED", first.id]])
    engine("-e", "RESUME JOB copy")
    resolved = webhook.wait(3, 60)[-1]
    assert resolved.type == "job.alert.resolved"
    began = time()
    with engine.begin("-e", "SUSPEND JOB copy") as command:
        webhook.wait(4, 60)
        command.communicate(timeout=120)
    until(lambda: [row[:2] for row in engine.rows(MESSAGES)][-1] == ["FIRING", "DELIVERED"])
    [[fired, delivered]] = engine.rows(
        "SELECT unix_millis(time), unix_millis(delivered) FROM jetsql.alerts ORDER BY time DESC LIMIT 1"
    )
    assert began < int(str(fired)) / 1000 and int(str(delivered)) - int(str(fired)) < 5000
    engine("stop")


@pytest.mark.timeout(900)
def test_next_leader_continues_with_the_messages(postgres: Postgres, tmp_path: Path, webhook: Webhook) -> None:
    with make_pair(postgres, tmp_path, "alerts") as pair:
        take_over(pair, tmp_path, webhook)


def take_over(pair: Pair, tmp_path: Path, webhook: Webhook) -> None:
    first, second = pair
    for engine in pair:
        engine("start")
    create_job(first, tmp_path / "src")
    create_alert(first, webhook)
    webhook.statuses = [503] * 1000
    first("-e", "SUSPEND JOB copy")
    webhook.wait(1, 60)
    first.kill()
    until(lambda: second.role == "leader")
    webhook.statuses = []
    until(lambda: [row[:2] for row in second.rows(MESSAGES)] == [["FIRING", "DELIVERED"]])
    assert len({request.id for request in webhook.requests}) == 1
    second("-e", "RESUME JOB copy")
    until(lambda: [row[:2] for row in second.rows(MESSAGES)][1:] == [["RESOLVED", "DELIVERED"]])
    assert len({request.id for request in webhook.requests}) == 2
