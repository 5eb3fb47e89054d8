"""Deliver messages on threads of their own, so that a receiver that hangs delays no job and no statement.

The messages of an alert are sent one after the other, in their order. A failed attempt is repeated after a pause that
doubles; meanwhile the other messages of the alert wait. Which messages exist is in the store: a message that was sent,
but not noted as delivered when the engine died, is sent again with its id.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from time import monotonic
from typing import Final

from jetsql.errors import JetSQLError
from jetsql.jobs.alerts.alert_records import AlertMessage, DeliveryState
from jetsql.jobs.alerts.receivers import Attempt

_LOG: Final = logging.getLogger(__name__)
THREADS: Final = 8
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
GIVE_UP_SECONDS: Final = 24 * 3600.0


@dataclass
class _Queue:
    """The messages of one alert."""

    pause: float  # after the next failed attempt, in seconds
    messages: deque[AlertMessage] = field(default_factory=deque)
    not_before: float = 0.0  # on the monotonic clock
    is_busy: bool = False


class AlertDelivery:
    """The threads that send messages. Any thread can use it."""

    def __init__(
        self,
        send: Callable[[AlertMessage], Attempt],
        note: Callable[[AlertMessage], None],
        clock: Callable[[], float],
        threads: int = THREADS,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        """Create it without threads.

        send: sends a message; it raises JetSQLError if this engine may not send any more. note: gets each message after
        an attempt, with its result. clock: returns seconds since the epoch. first_pause: in seconds, after an attempt
        """
        self._send, self._note, self._clock = send, note, clock
        self._most_threads, self._first_pause = threads, first_pause
        self._queues: dict[str, _Queue] = {}
        self._threads = 0
        self._closed = False
        self._changed = Condition()

    def add(self, messages: Iterable[AlertMessage]) -> None:
        """Send messages, which are pending in the store."""
        with self._changed:
            for message in messages:
                self._queues.setdefault(message.alert_id, _Queue(self._first_pause)).messages.append(message)
                self._start_thread()
            self._changed.notify_all()

    def retry(self, alert_id: str) -> None:
        """Send the messages of an alert now, because it has changed."""
        with self._changed:
            if alert_id in self._queues:
                self._queues[alert_id].not_before, self._queues[alert_id].pause = 0.0, self._first_pause
            self._changed.notify_all()

    def forget(self, alert_id: str) -> None:
        """Send no further message of an alert. One that is being sent now is not stopped."""
        with self._changed:
            self._queues.pop(alert_id, None)

    def close(self) -> None:
        """Begin no further attempt. The threads do not keep the process from ending."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _start_thread(self) -> None:
        if self._threads < min(self._most_threads, len(self._queues)):
            self._threads += 1
            Thread(target=self._work, name=f"alert-delivery-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while (queue := self._next_queue()) is not None:
            message = queue.messages[0]
            try:
                self._attempt(queue, message)
            except JetSQLError as error:  # another engine leads, or this one ends: the next one sends it
                _LOG.info("Message %s was not sent: %s", message.id, error)
                self.close()
            except Exception:  # the thread serves other alerts, too
                _LOG.exception("Message %s could not be sent", message.id)
                self._end(queue, replace(message, delivery=DeliveryState.FAILED, error="The engine could not send it."))

    def _next_queue(self) -> _Queue | None:
        """Wait for a queue whose first message is due, and mark it as busy; None when the delivery is closed."""
        with self._changed:
            while not self._closed:
                waiting = [queue for queue in self._queues.values() if queue.messages and not queue.is_busy]
                queue = min(waiting, key=lambda each: each.not_before, default=None)
                if queue is not None and queue.not_before <= monotonic():
                    queue.is_busy = True
                    return queue
                self._changed.wait(None if queue is None else queue.not_before - monotonic())
        return None

    def _attempt(self, queue: _Queue, message: AlertMessage) -> None:
        attempt = self._send(message)
        now = self._clock()
        tried = replace(message, attempts=message.attempts + 1, error=attempt.error)
        if not attempt.error:
            self._end(queue, replace(tried, delivery=DeliveryState.DELIVERED, delivered=now))
        elif attempt.is_final or now - message.time > GIVE_UP_SECONDS:
            _LOG.warning("Message %s of the alert %s was not delivered: %s", message.id, message.alert, attempt.error)
            self._end(queue, replace(tried, delivery=DeliveryState.FAILED))
        else:
            self._repeat(queue, tried)

    def _end(self, queue: _Queue, message: AlertMessage) -> None:
        self._note(message)
        with self._changed:
            queue.messages.popleft()
            queue.is_busy, queue.not_before, queue.pause = False, 0.0, self._first_pause
            self._changed.notify_all()

    def _repeat(self, queue: _Queue, message: AlertMessage) -> None:
        self._note(message)
        with self._changed:
            queue.messages[0] = message
            queue.is_busy, queue.not_before = False, monotonic() + queue.pause
            queue.pause = min(queue.pause * 2, LONGEST_PAUSE)
            self._changed.notify_all()
