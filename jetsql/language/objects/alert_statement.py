"""The statements about alerts, as the parser returns them; see `statement`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from jetsql.errors import Span
from jetsql.language.objects.object_names import APPLY_GROUP, Name, OptionText

UNITS: Final = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
"""The units of times in alerts, in seconds, the longest first."""
FORMAT, SECRET, EVERY = "format", "secret", "every"
ALERT_OPTIONS: Final = {
    EVERY: "the shortest time between two messages about a job, such as 15 minutes",
    FORMAT: "webhook for JSON with a signature, or slack for a message of Slack",
    SECRET: "secret:NAME, with which the messages are signed",
    APPLY_GROUP: "the group of jetsql apply --group, which drops alerts of its group with --prune",
}
"""The options of alerts, with their explanations."""


class AlertTrigger(Enum):
    """The kind of fact about a job that a condition is about."""

    STATUS = "STATUS"
    LAG_ROWS = "LAG ROWS"
    LAG_SECONDS = "LAG SECONDS"
    NO_COMMIT = "NO COMMIT"
    EXPECTATION = "EXPECTATION"


@dataclass(frozen=True)
class AlertCondition:
    """The condition of an alert: a state of a job that is worth a message."""

    trigger: AlertTrigger
    statuses: tuple[str, ...] = ()  # of STATUS, in capitals
    limit: int = 0  # rows of a lag, seconds of a lag or without a commit, violations in a batch
    rule: str = ""  # the rule of EXPECTATION; empty for all rules of the job
    place: Span = field(default=Span(0, 0), compare=False)  # of the first status, or of the rule

    @property
    def key(self) -> tuple[object, ...]:
        """Return a value that is the same for conditions with the same meaning."""
        return (self.trigger, frozenset(self.statuses), self.limit, self.rule.casefold())


def span_text(seconds: int) -> str:
    """Return a time in the longest unit that fits: `5 minutes`."""
    unit = next((unit for unit, length in UNITS.items() if seconds and seconds % length == 0), "SECOND")
    number = seconds // UNITS[unit]
    return f"{number} {unit.lower()}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class AlertCall:
    """The receiver of the messages."""

    name: Name  # a URL, a reference `secret:NAME`, or the name of a command
    is_command: bool = False


@dataclass(frozen=True)
class CreateAlert:
    """Creates an alert: the engine calls a webhook or a command when a job meets a condition, and when that ends."""

    name: Name
    job: Name | None  # None for all jobs
    condition: AlertCondition
    call: AlertCall
    options: tuple[OptionText, ...] = ()
    comment: str | None = None
    disable: bool = False
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterAlert:
    """Changes an alert, disables it, or enables it again."""

    name: Name
    condition: AlertCondition | None = None  # None to keep it, as the next ones
    call: AlertCall | None = None
    options: tuple[OptionText, ...] = ()
    enable: bool | None = None


@dataclass(frozen=True)
class DropAlert:
    """Drops an alert. Messages that were not delivered yet are not sent any more."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class ShowAlerts:
    """Lists the alerts, with the jobs that meet their conditions now, and the newest message of each."""


@dataclass(frozen=True)
class ShowCreateAlert:
    """Returns the statement that creates an alert again."""

    name: Name


AlertStatement = CreateAlert | AlterAlert | DropAlert | ShowAlerts | ShowCreateAlert
"""The statements about alerts."""
