"""The audit log of an engine: it records each event, and refuses statements that it cannot record if that is required.

The record of a statement is in a context variable of its thread, so that each check of a right can note its object.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic, time
from typing import Any, Final

from jetsql import request
from jetsql.errors import StatementError
from jetsql.jobs.audit.audit_event import (
    CANCELLED,
    DENIED,
    OBJECTS_MOST,
    OK,
    TEXT_MOST,
    AuditedObject,
    AuditEvent,
)
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_settings import AuditMode, AuditSettings
from jetsql.jobs.audit.statement_kind import statement_kind
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.request import Caller

_LOG: Final = logging.getLogger(__name__)
NEWEST_MOST: Final = 10_000
"""The limit of the events that `newest` returns."""
REFUSALS: Final = ("NOT_ALLOWED", "JETSQL.NOT_ALLOWED")
_OFF: Final = AuditSettings(AuditMode.OFF)


class StatementRecord:
    """The record of a running statement."""

    def __init__(self, log: AuditLog, text: str, session: str, statement: str) -> None:
        self._log, self._text, self._session, self._statement = log, text, session, statement
        self._caller = request.current().caller
        self._begun = monotonic()
        self._objects: dict[AuditedObject, None] = {}
        self._outcome = OK
        self._is_ended = False
        self.rows: int | None = None  # that were sent to the client; None if they are not counted

    @property
    def objects(self) -> Collection[AuditedObject]:
        """Return the objects that were noted so far."""
        return self._objects.keys()

    def note(self, used: AuditedObject) -> None:
        """Note an object that the statement uses."""
        if len(self._objects) <= OBJECTS_MOST:
            self._objects[used] = None

    def add_rows(self, count: int) -> None:
        """Note rows that were sent to the client."""
        self.rows = (self.rows or 0) + count

    def fail(self, condition: str) -> None:
        """Note that the statement has failed."""
        is_denied = condition in REFUSALS or not all(used.ok for used in self._objects)
        self._outcome = DENIED if is_denied else f"failed: {condition}"

    def cancel(self) -> None:
        """Note that the client does not need the result any more."""
        self._outcome = CANCELLED

    def end(self) -> None:
        """Record the statement; further calls have no effect."""
        if self._is_ended or not self._log.is_on:
            return
        self._is_ended = True
        self._log.record(self._event("statement", round((monotonic() - self._begun) * 1000)))

    def begin(self) -> None:
        """Record that the statement begins. Raises StatementError AUDIT_NOT_WRITTEN."""
        self._log.require(self._event("begin", None))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the record of the thread's statement inside the context."""
        before = _record.set(self)
        try:
            yield
        finally:
            _record.reset(before)

    def _event(self, event: str, millis: int | None) -> AuditEvent:
        return AuditEvent(
            event,
            self._caller,
            self._log.clock(),
            statement_kind(self._text),
            self._outcome,
            self._session,
            self._statement,
            tuple(self._objects),
            millis,
            self.rows,
            text=self._log.shown_text(self._text),
        )


_record: ContextVar[StatementRecord | None] = ContextVar("record", default=None)


def active_record() -> StatementRecord | None:
    """Return the record of this thread's statement; None without one."""
    return _record.get()


@contextmanager
def collected_objects(record: StatementRecord | None) -> Iterator[Collection[AuditedObject]]:
    """Make a record that of this thread inside the context; without one, yield the objects for the one of Java."""
    with (record or StatementRecord(NO_AUDIT, "", "", "")).active():
        active = active_record()
        yield () if record is not None or active is None else active.objects


def note_object(right: str, name: str, ok: bool = True) -> None:
    """Note an object that this thread's statement uses, if it is recorded."""
    record = _record.get()
    if record is not None:
        record.note(AuditedObject(right, name, ok))


class AuditLog:
    """The audit log of one home. Any thread can use it."""

    def __init__(
        self, file: AuditFile | None, settings: AuditSettings = _OFF, clock: Callable[[], float] = time
    ) -> None:
        """Create it. file: None for a log that is off. clock: returns seconds since the epoch."""
        self._file = file
        self._settings = settings
        self.clock = clock
        self._error = ""  # of the last event; empty if it was written
        self._lock = Lock()

    @property
    def is_on(self) -> bool:
        """Return whether events are recorded."""
        return self._file is not None and self._settings.audit is not AuditMode.OFF

    @property
    def is_required(self) -> bool:
        """Return whether a statement that cannot be recorded is refused."""
        return self.is_on and self._settings.audit is AuditMode.REQUIRED

    def statement(self, text: str, session: str = "", statement: str = "") -> StatementRecord:
        """Return the record of a statement of this thread's caller, which is about to run.

        Raises StatementError AUDIT_NOT_WRITTEN if records are required.
        """
        record = StatementRecord(self, text, session, statement)
        if self.is_required:
            record.begin()
        return record

    def note(self, event: str, caller: Caller | None = None, **fields: Any) -> None:
        """Record an event that is no statement. caller: None for that of this thread. fields: of `AuditEvent`"""
        if self.is_on:
            self.record(AuditEvent(event, caller or request.current().caller, self.clock(), **fields))

    def record(self, event: AuditEvent) -> None:
        """Record an event. An error is logged: what has happened cannot be refused any more."""
        if self.is_on:
            self._try(event)

    def require(self, event: AuditEvent) -> None:
        """Record an event before it happens. Raises StatementError AUDIT_NOT_WRITTEN."""
        error = self._try(event)
        if error is not None:
            raise StatementError(
                "AUDIT_NOT_WRITTEN",
                f"The statement was not run, because the audit log cannot be written: {error.strerror or error}.",
                hint="Free space on the disk of the home, or correct the permissions of audit.log. Statements run again"
                " when it can be written.",
            ) from error

    def newest(self) -> list[Mapping[str, Any]]:
        """Return the newest events as JSON objects, the oldest of them first."""
        if self._file is None:
            return []
        return [event for line in self._file.newest(NEWEST_MOST) if (event := _parsed(line)) is not None]

    def shown_text(self, text: str) -> str:
        """Return the text of a statement as the log has it; empty if it has none."""
        return redact_sql(text[: 2 * TEXT_MOST]) if self._settings.audit_text else ""

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _try(self, event: AuditEvent) -> OSError | None:
        assert self._file is not None, "only called if the log is on"
        try:
            self._file.append(event.line())
        except OSError as error:
            self._report(str(error))
            return error
        self._report("")
        return None

    def _report(self, error: str) -> None:
        """Log an error once, and its end."""
        with self._lock:
            before, self._error = self._error, error
        if error and error != before:
            _LOG.warning("The audit log cannot be written, so events are missing in it: %s", error)
        elif before and not error:
            _LOG.warning("The audit log can be written again; the events of the meantime are missing in it")


NO_AUDIT: Final = AuditLog(None)
"""The audit log of an engine without one."""


def _parsed(line: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object in a line; None for a text that is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def note_objects(objects: Iterable[tuple[str, str, bool]]) -> None:
    """Note several objects, as `note_object`."""
    for right, name, ok in objects:
        note_object(right, name, ok)
