"""The events of the audit log: the user and the client, the statement with its objects, and its outcome.

A line of the log is one JSON object in ASCII: every control character is escaped, so that no name or text can begin
another line or change the terminal that shows it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from jetsql.jobs.model.redaction import redact_urls
from jetsql.request import Caller

TEXT_MOST: Final = 10_000
"""The limit of the text of a statement, in characters."""
OBJECTS_MOST: Final = 1000
"""The limit of the objects of a statement."""
_NAME_MOST: Final = 500

OK: Final = "ok"
DENIED: Final = "denied"
CANCELLED: Final = "cancelled"


class AuditedObject(NamedTuple):
    """An object that a statement has used, or was refused."""

    right: str  # that the use needs
    name: str  # from the catalogue on
    ok: bool = True  # False if the user lacks the right

    def __str__(self) -> str:
        return f"{self.right} {self.name}"


@dataclass(frozen=True)
class AuditEvent:
    """One line of the audit log. Empty fields are left out."""

    event: str  # one of `EVENTS`
    caller: Caller
    time: float  # seconds since the epoch
    kind: str = ""  # of a statement, such as SELECT or CREATE JOB
    outcome: str = OK  # ok, denied, cancelled, or failed: CONDITION
    session: str = ""
    statement: str = ""  # the id of the statement
    objects: tuple[AuditedObject, ...] = ()
    millis: int | None = None
    rows: int | None = None
    job: str = ""  # the id of the job
    detail: str = ""  # a sentence about what changed
    text: str = ""  # of the statement, without secrets
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def as_json(self) -> Mapping[str, Any]:
        """Return the members of the JSON object."""
        members: dict[str, Any] = {
            "time": datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds"),
            "id": self.id,
            "event": self.event,
            "user": self.caller.user,
            "token": self.caller.token,
            "endpoint": str(self.caller.endpoint),
            "address": self.caller.address,
            "client": redact_urls(self.caller.client[:_NAME_MOST]),
            "session": self.session[:_NAME_MOST],
            "statement": self.statement[:_NAME_MOST],
            "kind": self.kind,
            "objects": [
                {"right": each.right, "name": redact_urls(each.name[:_NAME_MOST]), "ok": each.ok}
                for each in self.objects[:OBJECTS_MOST]
            ],
            "objects_left_out": max(0, len(self.objects) - OBJECTS_MOST) or None,
            "outcome": self.outcome,
            "ms": self.millis,
            "rows": self.rows,
            "job": self.job,
            "detail": redact_urls(self.detail[:TEXT_MOST]),
            "text": self.text[:TEXT_MOST],
        }
        return {name: value for name, value in members.items() if value not in ("", None, [])}

    def line(self) -> bytes:
        """Return the line of the log, with its end."""
        text = json.dumps(self.as_json(), separators=(",", ":"))
        return text.replace("\x7f", "\\u007f").encode("ascii") + b"\n"  # JSON itself does not escape DEL


EVENTS: Final = (
    "begin",  # a statement is about to run; only with `audit = required`
    "statement",  # a statement has ended
    "login",  # a client has logged in, or was refused
    "login ended",  # sessions of Thrift or Spark Connect have ended, because their login is not valid any more
    "rights",  # users, roles, tokens, rights or owners have changed
    "connections",  # a secret or a connection has changed
    "secret read",  # the value of a secret was read for a connection or an alert, or could not be read
    "connection use",  # a run of a job uses a connection
    "job start",  # a run of a job starts, with the rights of the user
    "right lost",  # a job is suspended, because its owner lacks a right
    "engine start",
    "engine stop",
)
"""The kinds of events."""
