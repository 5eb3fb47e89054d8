"""The options of a job: typed values, which its plan keeps, and the places that they have in a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from jetsql.errors import Span
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.language.statement import OptionText

OWN_GROUPS: Final = "jetsql-"
"""The prefix of the transactional ids and consumer groups by which JetSQL writes topics exactly once."""


class Guarantee(Enum):
    """Processing guarantees, by the spelling of the option `processingGuarantee`."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"
    NONE = "none"


class Trigger(Enum):
    """Triggers, by the spelling of the option `trigger`."""

    INTERVAL = "interval"
    AVAILABLE_NOW = "availableNow"
    REAL_TIME = "realTime"


@dataclass(frozen=True)
class Options:
    """The typed options of a job; None for an option that is not set and whose default depends on the plan.

    The plan of a job keeps them, so a new option needs a default: stored jobs have no value for it.
    """

    processing_guarantee: Guarantee | None = None
    snapshot_interval_millis: int | None = None
    auto_scaling: bool = True
    split_brain_protection: bool = False
    initial_snapshot: str | None = None
    suspend_on_failure: bool | None = None
    restart_attempts: int = 3
    metrics_enabled: bool = True
    store_metrics_after_completion: bool = False
    trigger: Trigger = Trigger.INTERVAL
    output_mode: OutputMode | None = None
    late_rows: str = "drop"
    sink_on_error: str = "fail"
    refused_rows_most: int = 1000
    idle_timeout_millis: int | None = None
    state_ttl_millis: int | None = None
    apply_group: str | None = None
    accepted_topics: tuple[str, ...] = ()
    commit_group: str | None = None
    spark_confs: Mapping[str, str] = field(default_factory=dict)  # the job's own `spark.*` settings
    given: Mapping[str, str] = field(default_factory=dict)  # all that the user set, in canonical spelling


@dataclass(frozen=True)
class StatementOptions:
    """The options of a statement, or of a job that a statement changes."""

    values: Options
    texts: Mapping[str, OptionText] = field(default_factory=dict)  # the options that the statement sets, by name

    def value_place(self, name: str) -> Span | None:
        """Return the place of the option's value in this statement; None when the statement does not set it."""
        text = self.texts.get(name)
        return text.value_place if text is not None else None
