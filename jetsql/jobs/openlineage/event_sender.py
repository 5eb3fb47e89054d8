"""Send OpenLineage events to their receivers, from threads of their own: neither jobs nor statements wait for them.

Each receiver has a queue with a limit. An event that is not accepted is sent again with growing pauses, and later
events wait behind it. When the queue is full, an event RUNNING is dropped first, because the event at the end of the
run has its facts as well.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Any, Final

from jetsql.home.private_files import append_private
from jetsql.jobs.alerts.receivers import DELIVERED, Attempt, post
from jetsql.jobs.openlineage.event_documents import EventType
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
Event = Mapping[str, Any]
Deliver = Callable[[Event], Attempt]


class EventQueue:
    """The queue of one receiver, with the thread that empties it."""

    def __init__(self, name: str, deliver: Deliver, most: int, first_pause: float = _FIRST_PAUSE) -> None:
        """Start the thread. name: of the receiver, for the log. most: the limit of events that wait"""
        self._name, self._deliver, self._most, self._first_pause = name, deliver, most, first_pause
        self._events: deque[Event] = deque()
        self._changed = Condition()
        self._stops_at: float | None = None
        self._is_failing = False
        self.dropped = 0
        """The number of events that no receiver got."""
        self._thread = Thread(target=self._run, name="openlineage", daemon=True)
        self._thread.start()

    def add(self, event: Event) -> None:
        """Append an event; never blocks."""
        with self._changed:
            if self._stops_at is not None:
                return
            self._events.append(event)
            if len(self._events) > self._most:
                self._drop_one()
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Send what waits for at most this time, and end."""
        with self._changed:
            self._stops_at = monotonic() + seconds
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            left = len(self._events)
            self._events.clear()
        if left:
            self._count(left, "the engine ends")

    def _drop_one(self) -> None:
        """Drop the oldest event RUNNING, otherwise the oldest event. The first one may be on its way."""
        places = range(1, len(self._events))
        at = next((n for n in places if self._events[n]["eventType"] == EventType.RUNNING), 1)
        del self._events[at]
        self._count(1, "its receiver does not accept them")

    def _count(self, number: int, reason: str) -> None:
        if not self.dropped:
            _LOG.warning("OpenLineage events for %s are dropped, because %s", self._name, reason)
        self.dropped += number

    def _run(self) -> None:
        pause = self._first_pause
        while (event := self._next()) is not None:
            attempt = self._attempt(event)
            if attempt.error and not attempt.is_final:
                self._log_failure(attempt)
                self._wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause = self._first_pause
            with self._changed:
                if self._events and self._events[0] is event:
                    self._events.popleft()
                if attempt.error:
                    self._count(1, f"it refuses them: {attempt.error}")
            if not attempt.error and self._is_failing:
                self._is_failing = False
                _LOG.info("OpenLineage events reach %s again; %d were dropped", self._name, self.dropped)

    def _attempt(self, event: Event) -> Attempt:
        try:
            return self._deliver(event)
        except Exception as error:
            return Attempt(f"{type(error).__name__}: {error}", is_final=True)

    def _log_failure(self, attempt: Attempt) -> None:
        if not self._is_failing:
            self._is_failing = True
            _LOG.warning("OpenLineage events do not reach %s, and wait: %s", self._name, attempt.error)

    def _next(self) -> Event | None:
        """Return the first event, or None to end."""
        with self._changed:
            while not self._events:
                if self._stops_at is not None:
                    return None
                self._changed.wait()
            is_late = self._stops_at is not None and monotonic() >= self._stops_at
            return None if is_late else self._events[0]

    def _wait(self, seconds: float) -> None:
        """Wait before the next attempt, but not longer than the engine waits at its end."""
        until = monotonic() + seconds
        with self._changed:
            while (left := min(until, self._stops_at or until) - monotonic()) > 0:
                self._changed.wait(left)


def file_delivery(file: Path) -> Deliver:
    """Return a function that appends events to a file, which only its owner can read, one line each."""

    def deliver(event: Event) -> Attempt:
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            with append_private(file) as writing:
                writing.write(line)
        except OSError as error:
            return Attempt(f"{file} cannot be written: {error.strerror or type(error).__name__}")
        return DELIVERED

    return deliver


def http_delivery(url: str, api_key: str) -> Deliver:
    """Return a function that posts events to a URL. api_key: empty for none"""
    headers = {"Content-Type": "application/json", "User-Agent": f"JetSQL/{VERSION}"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"

    def deliver(event: Event) -> Attempt:
        return post(url, json.dumps(event, separators=(",", ":")).encode(), headers)

    return deliver
