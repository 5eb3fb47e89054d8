"""The queue of a receiver: order, limits, retries, and an end within a bounded time."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from jetsql.jobs.alerts.receivers import DELIVERED, Attempt
from jetsql.jobs.openlineage.event_sender import EventQueue, file_delivery, http_delivery
from tests.support.servers.webhook import run_webhook


def event(number: int, kind: str = "START") -> dict[str, Any]:
    return {"eventType": kind, "number": number}


class Receiver:
    """A receiver that answers as a test wants."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self.attempts: list[Attempt] = []
        self.free = Event()
        self.free.set()

    def deliver(self, sent: Mapping[str, Any]) -> Attempt:
        self.free.wait(20)
        attempt = self.attempts.pop(0) if self.attempts else DELIVERED
        if not attempt.error:
            self.received.append(sent["number"])
        return attempt


def test_events_arrive_in_order_after_refusals() -> None:
    receiver = Receiver()
    receiver.attempts = [Attempt("away"), Attempt("away"), DELIVERED, Attempt("bad", is_final=True)]
    queue = EventQueue("r", receiver.deliver, 100, first_pause=0.01)
    for number in range(4):
        queue.add(event(number))
    queue.close(20)
    assert (receiver.received, queue.dropped) == ([0, 2, 3], 1)


def test_full_queue_drops_running_events_first() -> None:
    receiver = Receiver()
    receiver.free.clear()
    queue = EventQueue("r", receiver.deliver, 3)
    for number, kind in enumerate(("START", "START", "RUNNING", "RUNNING", "COMPLETE", "START")):
        queue.add(event(number, kind))
    receiver.free.set()
    queue.close(20)
    assert receiver.received in ([0, 4, 5], [0, 1, 4, 5])
    assert queue.dropped in (2, 3)  # the first event may be on its way


def test_hanging_receiver_does_not_delay_the_end(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver()
    receiver.free.clear()
    queue = EventQueue("r", receiver.deliver, 10)
    for number in range(20):
        queue.add(event(number))
    began = monotonic()
    queue.close(0.2)
    assert monotonic() - began < 5
    assert queue.dropped == 20
    assert len([record for record in caplog.records if "are dropped" in record.message]) == 1
    receiver.free.set()
    queue.add(event(21))
    assert queue.dropped == 20


def test_error_of_the_delivery_ends_no_thread() -> None:
    calls: list[int] = []

    def deliver(sent: Mapping[str, Any]) -> Attempt:
        calls.append(sent["number"])
        if len(calls) == 1:
            raise RuntimeError("broken")
        return DELIVERED

    queue = EventQueue("r", deliver, 10)
    queue.add(event(1))
    queue.add(event(2))
    queue.close(20)
    assert (calls, queue.dropped) == ([1, 2], 1)


def test_file_is_private_and_has_one_event_a_line(tmp_path: Path) -> None:
    file = tmp_path / "events"
    deliver = file_delivery(file)
    assert deliver(event(1)) == deliver({**event(2), "text": "a\nb"}) == DELIVERED
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()] == [1, 2]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    link = tmp_path / "link"
    link.symlink_to(file)
    assert file_delivery(link)(event(1)).error
    assert file_delivery(tmp_path / "missing" / "events")(event(1)).error


def test_request_has_the_key_and_json() -> None:
    with run_webhook() as webhook:
        webhook.statuses = [201, 500, 400, 302]
        deliver = http_delivery(webhook.url, "abc")
        attempts = [deliver(event(number)) for number in range(4)]
    assert attempts[0] == DELIVERED
    assert [attempt.is_final for attempt in attempts[1:]] == [False, True, True]
    [first, *_] = webhook.requests
    assert (first.headers["authorization"], first.headers["content-type"]) == ("Bearer abc", "application/json")
    assert json.loads(first.body)["number"] == 0
    assert "authorization" not in _request_without_key()


def _request_without_key() -> dict[str, str]:
    with run_webhook() as webhook:
        http_delivery(webhook.url, "")(event(1))
    return webhook.requests[0].headers


def test_receiver_that_is_away_is_no_error_of_the_engine() -> None:
    with run_webhook() as webhook:
        url = webhook.url
    attempt = http_delivery(url, "")(event(1))
    assert attempt.error and not attempt.is_final
    queue = EventQueue("r", http_delivery(url, ""), 10)
    queue.add(event(1))
    sleep(0.05)
    began = monotonic()
    queue.close(0.3)
    assert monotonic() - began < 5
    assert queue.dropped == 1
