"""The options that a statement changes, as phrases for its message and its plan.

CREATE OR REPLACE JOB replaces all options of a job, so an option that the statement does not repeat gets its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.job_options import Options
from jetsql.jobs.model.redaction import show
from jetsql.jobs.planning.options import OPTIONS, OptionSpec, Value, format_value


@dataclass(frozen=True)
class OptionDifference:
    """An option or a setting with two values, as text without secrets."""

    name: str
    old: str | None  # None if it is not set
    new: str | None

    @property
    def is_hidden(self) -> bool:
        """Return whether the values differ only in what is secret."""
        return self.old == self.new


def option_differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[OptionDifference]:
    """Return the options whose values differ, by name."""
    shown_old, shown_new = show(old), show(new)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield OptionDifference(name, shown_old.get(name), shown_new.get(name))


def describe_option_changes(old: Plan, new: Plan) -> Iterator[str]:
    """Return a phrase for each option, and each setting of the session, that the new plan changes.

    Options whose defaults depend on the query are compared with the values that they have in the plans.
    """
    for difference in option_differences(_values(old), _values(new)):
        yield f"the option {_describe(difference, old, new)}"
    for difference in option_differences(old.analysis.session.confs, new.analysis.session.confs):
        yield f"the session's setting {_describe(difference, old, new)}"


def _describe(difference: OptionDifference, old: Plan, new: Plan) -> str:
    if difference.is_hidden:
        return f"'{difference.name}' changes"
    name = difference.name
    return f"'{name}' changes from {_shown(name, difference.old, old)} to {_shown(name, difference.new, new)}"


def _shown(name: str, value: str | None, plan: Plan) -> str:
    if value is None:
        return "not set"
    is_default = any(spec.name == name for spec in OPTIONS) and name not in plan.options.given
    return f"'{value}' (its default)" if is_default else f"'{value}'"


def _values(plan: Plan) -> dict[str, str]:
    """Return the values of the options in a plan, also the default ones, by name, and the `spark.*` options."""
    defaults = {spec.name: _default(spec, plan) for spec in OPTIONS}
    values = {name: format_value(value) for name, value in defaults.items() if value is not None}
    values.update(plan.options.given)
    # It matters at the start alone, and a statement that updates a job cannot repeat it.
    values.pop("initialSnapshotName", None)
    return values


def _default(spec: OptionSpec, plan: Plan) -> Value | None:
    """Return the value that an option has without being set; None if it has none."""
    match spec.field:
        case "processing_guarantee":
            return plan.guarantee
        case "snapshot_interval_millis":
            return plan.interval_millis
        case "suspend_on_failure":
            return plan.suspend_on_failure
        case "output_mode":
            return plan.output_mode
    value: Value | None = getattr(Options(), spec.field)
    return value
