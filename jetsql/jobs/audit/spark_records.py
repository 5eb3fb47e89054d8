"""The records of statements at Spark's own endpoints, Thrift and Spark Connect, which Java reports at their ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jetsql.jobs.audit.audit_event import CANCELLED, DENIED, OK, AuditedObject, AuditEvent
from jetsql.jobs.audit.audit_log import REFUSALS, AuditLog
from jetsql.jobs.audit.statement_kind import statement_kind
from jetsql.request import ENGINE, OWNER, Caller, Endpoint, current

_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_SYSTEM: Final = "system"  # the user of the engine's own sessions, see `Principals.java`
_METADATA: Final = "Listing "  # how Spark describes a call for metadata


class SparkRecords:
    """The callbacks of Java, see `EngineCallback.java`."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def begin(self, statement: str) -> None:
        """Record that a statement begins. Raises StatementError AUDIT_NOT_WRITTEN."""
        event = AuditEvent("begin", current().caller, self._audit.clock(), statement=statement)
        self._audit.require(event)

    def secret(
        self, event: str, name: str, purpose: str, user: str | None, job: str, owner: str, condition: str
    ) -> None:
        """Record that a secret was read, or could not be read, or that a job uses a connection."""
        kind = "CONNECTION" if event == "connection use" else "SECRET"
        is_denied = condition.removeprefix("JETSQL.") == "SECRET_NOT_FOR_HOST"
        outcome = DENIED if is_denied else f"failed: {condition}" if condition else OK
        used = AuditedObject("USAGE", f"{kind} {name.removeprefix('secret:')}", not is_denied)
        detail = f"For {purpose}." if purpose else ""
        caller = Caller(owner or OWNER) if job else _reader(user)
        self._audit.note(event, caller, outcome=outcome, objects=(used,), job=job, detail=detail)

    def end(
        self,
        caller: Sequence[str],
        session: str,
        statement: str,
        text: str,
        millis: int,
        rows: int | None,
        error: str | None,
        is_cancelled: bool,
        objects: Sequence[tuple[str, str, bool]],
    ) -> None:
        """Record a statement. caller: the fields of `Caller` without the login. error: the message; None without one"""
        if not self._audit.is_on:
            return
        used = tuple(AuditedObject(*each) for each in objects)
        user, endpoint, address, token, client = caller
        self._audit.record(
            AuditEvent(
                "statement",
                Caller(user, endpoint, address, token, client),
                self._audit.clock(),
                "METADATA" if text.startswith(_METADATA) else statement_kind(text),
                _outcome(error, is_cancelled, used),
                session,
                statement,
                used,
                millis,
                rows,
                text=self._audit.shown_text(text),
            )
        )


def _reader(user: str | None) -> Caller:
    """Return who reads a secret outside of a job: the client of the statement, if it is known, or only its user.

    user: of the session; None for a program's own session
    """
    caller = current().caller
    if user is None or caller.endpoint != Endpoint.SPARK_SQL:
        return caller
    return ENGINE if user in (ENGINE.user, _SYSTEM) else Caller(user)


def _outcome(error: str | None, is_cancelled: bool, used: Sequence[AuditedObject]) -> str:
    if is_cancelled:
        return CANCELLED
    if error is None:
        return OK
    found = _CONDITION.search(error)
    condition = "UNKNOWN" if found is None else found[1]
    is_denied = condition in REFUSALS or not all(each.ok for each in used)
    return DENIED if is_denied else f"failed: {condition}"
