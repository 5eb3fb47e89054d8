"""The threads that deliver messages: order, retries, and receivers that hang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Condition, Event

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.alerts.alert_records import AlertMessage, DeliveryState, MessageKind
from jetsql.jobs.alerts.delivery import GIVE_UP_SECONDS, AlertDelivery
from jetsql.jobs.alerts.receivers import DELIVERED, Attempt

BUSY, GONE = Attempt("It is busy."), Attempt("It is gone.", is_final=True)


def message(number: int, alert: str = "a", time: float = 0.0) -> AlertMessage:
    return AlertMessage(f"m{number}", alert, alert, "j", "id", MessageKind.FIRING, time, "FAILED", "c", "t")


@dataclass
class Receiver:
    """A receiver with answers that a test sets, and the results that were noted."""

    answers: dict[str, list[Attempt]] = field(default_factory=dict)  # by alert
    sent: list[str] = field(default_factory=list)
    noted: list[AlertMessage] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)
    wait: Callable[[AlertMessage], None] = lambda message: None

    def send(self, sent: AlertMessage) -> Attempt:
        with self.changed:
            self.sent.append(sent.id)
            answers = self.answers.get(sent.alert_id)
            self.changed.notify_all()
        self.wait(sent)
        return answers.pop(0) if answers else DELIVERED

    def note(self, noted: AlertMessage) -> None:
        with self.changed:
            self.noted.append(noted)
            self.changed.notify_all()

    def until(self, reached: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(reached, 20), (self.sent, self.noted)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def sending(receiver: Receiver) -> Iterator[AlertDelivery]:
    delivery = AlertDelivery(receiver.send, receiver.note, lambda: 100.0, threads=2, first_pause=0.01)
    yield delivery
    delivery.close()


def test_messages_of_an_alert_are_sent_in_order(receiver: Receiver, sending: AlertDelivery) -> None:
    receiver.answers["a"] = [BUSY, BUSY]
    sending.add(message(number) for number in range(3))
    receiver.until(lambda: len(receiver.noted) == 5)
    assert receiver.sent == ["m0", "m0", "m0", "m1", "m2"]
    results = [(each.id, each.delivery, each.attempts, each.error) for each in receiver.noted]
    assert results[:3] == [
        ("m0", DeliveryState.PENDING, 1, "It is busy."),
        ("m0", DeliveryState.PENDING, 2, "It is busy."),
        ("m0", DeliveryState.DELIVERED, 3, ""),
    ]
    assert receiver.noted[-1].delivered == 100.0


def test_refused_message_is_not_sent_again(receiver: Receiver, sending: AlertDelivery) -> None:
    receiver.answers["a"] = [GONE]
    sending.add([message(1), message(2)])
    receiver.until(lambda: len(receiver.noted) == 2)
    assert [(each.id, each.delivery) for each in receiver.noted] == [
        ("m1", DeliveryState.FAILED),
        ("m2", DeliveryState.DELIVERED),
    ]


def test_old_message_is_not_tried_for_ever(receiver: Receiver, sending: AlertDelivery) -> None:
    receiver.answers["a"] = [BUSY]
    sending.add([message(1, time=100.0 - GIVE_UP_SECONDS - 1)])
    receiver.until(lambda: len(receiver.noted) == 1)
    assert receiver.noted[0].delivery is DeliveryState.FAILED


def test_hanging_receiver_delays_no_other_alert(receiver: Receiver, sending: AlertDelivery) -> None:
    released = Event()
    receiver.wait = lambda sent: (released.wait(20), None)[1] if sent.alert_id == "hangs" else None
    sending.add([message(1, "hangs"), message(2, "hangs"), message(3, "other"), message(4, "other")])
    receiver.until(lambda: [each.id for each in receiver.noted] == ["m3", "m4"])
    assert receiver.sent.count("m2") == 0
    released.set()
    receiver.until(lambda: len(receiver.noted) == 4)


def test_changed_alert_is_tried_without_a_pause(receiver: Receiver) -> None:
    sending = AlertDelivery(receiver.send, receiver.note, lambda: 100.0, first_pause=600)
    receiver.answers["a"] = [BUSY]
    sending.add([message(1)])
    receiver.until(lambda: len(receiver.noted) == 1)
    sending.retry("a")
    receiver.until(lambda: len(receiver.noted) == 2)
    sending.close()


def test_dropped_alert_sends_no_further_message(receiver: Receiver, sending: AlertDelivery) -> None:
    began, released = Event(), Event()
    receiver.wait = lambda sent: (began.set(), released.wait(20), None)[2]
    sending.add([message(1), message(2)])
    began.wait(20)
    sending.forget("a")
    released.set()
    receiver.until(lambda: len(receiver.noted) == 1)
    receiver.wait = lambda sent: None
    sending.add([message(3)])
    receiver.until(lambda: len(receiver.noted) == 2)
    assert receiver.sent == ["m1", "m3"]


def test_engine_that_does_not_lead_sends_nothing(receiver: Receiver) -> None:
    def send(sent: AlertMessage) -> Attempt:
        receiver.send(sent)
        raise StatementError("JOB_IN_USE", "Another engine leads.")

    delivery = AlertDelivery(send, receiver.note, lambda: 0.0)
    delivery.add([message(1)])
    receiver.until(lambda: receiver.sent == ["m1"])
    delivery.add([message(2)])
    assert receiver.noted == []


def test_unexpected_error_ends_only_its_message(receiver: Receiver) -> None:
    def send(sent: AlertMessage) -> Attempt:
        receiver.send(sent)
        if sent.id == "m1":
            raise ZeroDivisionError
        return DELIVERED

    delivery = AlertDelivery(send, receiver.note, lambda: 0.0)
    delivery.add([message(1), replace(message(2), attempts=4)])
    receiver.until(lambda: len(receiver.noted) == 2)
    assert [each.delivery for each in receiver.noted] == [DeliveryState.FAILED, DeliveryState.DELIVERED]
    assert receiver.noted[1].attempts == 5
    delivery.close()
