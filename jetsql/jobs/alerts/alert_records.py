"""Alerts, their states and their messages, as the store keeps them: plain frozen classes without secrets.

Names are compared without case; `key` has them in this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from jetsql.jobs.model.job import name_key
from jetsql.language.objects.alert_statement import AlertCondition
from jetsql.secret_references import named_secret

DEFAULT_EVERY: Final = 300


class MessageFormat(StrEnum):
    """The format of a message over HTTP."""

    WEBHOOK = "webhook"
    SLACK = "slack"


@dataclass(frozen=True)
class AlertRecord:
    """An alert."""

    id: str
    name: str
    job: str | None  # the name of the job; None for all jobs
    condition: AlertCondition
    target: str  # a URL, a reference `secret:NAME` to one, or the name of a command
    created: float  # seconds since the epoch
    changed: float  # of the last statement that changed it
    is_command: bool = False
    format: MessageFormat = MessageFormat.WEBHOOK
    secret: str = ""  # a reference `secret:NAME`, with which messages are signed; empty for none
    every: int = DEFAULT_EVERY  # seconds
    enabled: bool = True
    comment: str | None = None
    group: str = ""  # of `jetsql apply`; empty without one

    @property
    def key(self) -> str:
        return name_key(self.name)

    @property
    def job_key(self) -> str | None:
        """Return the key of the name of its job; None for all jobs."""
        return None if self.job is None else name_key(self.job)

    @property
    def secrets(self) -> frozenset[str]:
        """Return the keys of the secrets that it names."""
        named = (named_secret(each) for each in (*([] if self.is_command else [self.target]), self.secret))
        return frozenset(name_key(name) for name in named if name is not None)

    def covers(self, job: str) -> bool:
        """Return whether the alert is about a job. job: its name"""
        return self.enabled and self.job_key in (None, name_key(job))


@dataclass(frozen=True)
class AlertState:
    """The state of an alert for the jobs with one name: whether the condition is met, and what the receiver knows."""

    firing: bool = False
    since: float = 0.0  # when the condition was met or ended last
    reported: bool = False  # a message about the current firing exists
    message_time: float | None = None  # of the newest message that the condition is met
    suppressed: int = 0  # firings without a message since then


QUIET: Final = AlertState()
"""The state of a condition that was never met. The store has no row for it."""


class MessageKind(StrEnum):
    """The two kinds of messages."""

    FIRING = "FIRING"
    RESOLVED = "RESOLVED"


class DeliveryState(StrEnum):
    """The state of the delivery of a message."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"  # it is not sent again


@dataclass(frozen=True)
class AlertMessage:
    """A message, with the alert as it was then. A message that is sent again has the same id."""

    id: str
    alert_id: str
    alert: str  # the name
    job: str  # the name
    job_id: str
    kind: MessageKind
    time: float  # seconds since the epoch
    status: str  # of the job
    condition: str  # as in CREATE ALERT
    text: str  # what the job does, as a sentence
    suppressed: int = 0  # firings without a message before this one
    delivery: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    delivered: float | None = None
    error: str = ""  # of the last attempt; empty for none


@dataclass(frozen=True)
class AlertChange:
    """A new state of an alert for the jobs with one name, and the message that goes with it, in one transaction."""

    alert: AlertRecord
    job: str  # the key of its name
    state: AlertState
    message: AlertMessage | None = None


@dataclass(frozen=True)
class StoredAlerts:
    """All alerts, their states, and the messages that are not delivered."""

    alerts: tuple[AlertRecord, ...] = ()
    states: Mapping[tuple[str, str], AlertState] = field(default_factory=dict)  # by the alert's id and the job's key
    pending: tuple[AlertMessage, ...] = ()  # oldest first
