"""The options of a job: one table of them, and the way from their texts to typed values.

The table is all there is to know of an option: parsing, DESCRIBE, help and completion read it. Keys and values are
compared without case, `_` and `-`; numbers are not (`-5` must not become 5). A value that the user did not give stays
None where its default depends on the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Final, TypeVar

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import Guarantee, OutputMode, Trigger
from jetsql.jobs.planning.protected_confs import protection_reason
from jetsql.language.statement import OptionText

Value = bool | int | str | Enum
_Choice = TypeVar("_Choice", Guarantee, Trigger, OutputMode)
_MOST_MILLIS: Final = 2**63 - 1


@dataclass(frozen=True)
class FixedValue:
    """One of the words that an option takes, and what it does."""

    word: str
    explanation: str


@dataclass(frozen=True)
class OptionSpec:
    """One option.

    field: its name in `Options`. values: the allowed ones in words, the fixed words first. fixed: those fixed words,
    each with what it does, for completion and hints. changeable: whether ALTER JOB may set it.
    """

    name: str
    field: str
    values: str
    default: str
    explanation: str
    parse: Callable[[str], Value]
    fixed: tuple[FixedValue, ...] = ()
    changeable: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """Return the fixed values alone."""
        return tuple(value.word for value in self.fixed)


@dataclass(frozen=True)
class Options:
    """The options of a statement, typed; None: not given and the default depends on the plan.

    given: what the user chose, canonical. texts: those of this statement with their places, for errors.
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
    spark_confs: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, OptionText] = field(default_factory=dict)

    def value_place(self, name: str) -> Span | None:
        """Where this statement gives the option's value; None when it doesn't."""
        text = self.texts.get(name)
        return text.value_place if text is not None else None


def folded(text: str) -> str:
    """Return a key or word as it is compared."""
    return text.strip().casefold().replace("_", "").replace("-", "")


def _one_of(words: Iterable[str]) -> Callable[[str], str]:
    by_folded = {folded(word): word for word in words}

    def parse(text: str) -> str:
        return by_folded[folded(text)]

    return parse


def _enum(kind: type[Enum]) -> Callable[[str], Enum]:
    parse = _one_of(member.value for member in kind)
    return lambda text: kind(parse(text))


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().casefold()]


def _integer(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        stripped = text.strip()
        if not (stripped.isascii() and stripped.isdigit()) or len(stripped) > 19:
            raise ValueError(text)
        number = int(stripped)
        if not least <= number <= _MOST_MILLIS:
            raise ValueError(text)
        return number

    return parse


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


def _choice(
    name: str, attribute: str, meanings: Mapping[_Choice, str], default: str, explanation: str, **more: bool
) -> OptionSpec:
    fixed = tuple(FixedValue(str(member.value), meaning) for member, meaning in meanings.items())
    values = ", ".join(value.word for value in fixed)
    kind = type(next(iter(meanings)))
    return OptionSpec(name, attribute, values, default, explanation, _enum(kind), fixed, **more)


def _flag(name: str, attribute: str, default: str, explanation: str, true: str, false: str) -> OptionSpec:
    fixed = (FixedValue("true", true), FixedValue("false", false))
    return OptionSpec(name, attribute, "true, false", default, explanation, _boolean, fixed)


OPTIONS: Final[tuple[OptionSpec, ...]] = (
    _choice(
        "processingGuarantee",
        "processing_guarantee",
        {
            Guarantee.EXACTLY_ONCE: "Each row arrives once, also after a crash.",
            Guarantee.AT_LEAST_ONCE: "No row is lost; some may arrive again after a crash.",
            Guarantee.NONE: "Every start is from scratch: rows may be lost or arrive again.",
        },
        "the strongest that source and sink support",
        "How often a row may arrive in the sink.",
        changeable=False,
    ),
    OptionSpec(
        "snapshotIntervalMillis",
        "snapshot_interval_millis",
        "a positive whole number",
        "1000; 10000 for file tables; 60000 with trigger realTime",
        "Time between micro-batches, in milliseconds.",
        _integer(1),
    ),
    _flag(
        "autoScaling",
        "auto_scaling",
        "true",
        "Restart when members join or are lost.",
        true="Restart when members have joined, and at once when one is lost.",
        false="Go on when members join; when one is lost suspend, or fail without guarantee.",
    ),
    _flag(
        "splitBrainProtectionEnabled",
        "split_brain_protection",
        "false",
        "Run only while more than half of the members are there.",
        true="Wait (NOT_RUNNING) while half of the members or more are missing.",
        false="Run with the members that are there.",
    ),
    OptionSpec(
        "initialSnapshotName",
        "initial_snapshot",
        "the name of a snapshot",
        "none",
        "Start from the state of this snapshot.",
        _name,
        changeable=False,
    ),
    _flag(
        "suspendOnFailure",
        "suspend_on_failure",
        "true for streaming jobs, false for batch jobs",
        "When restarts don't help: suspend the job (true) or let it fail (false).",
        true="Suspend the job, to be resumed when the cause is gone.",
        false="Let the job fail: that is final.",
    ),
    OptionSpec(
        "restartAttempts",
        "restart_attempts",
        "0 or a positive whole number",
        "3",
        "Restarts in a row without progress after an error. Waiting for a Kafka broker counts as none.",
        _integer(0),
    ),
    _flag(
        "metricsEnabled",
        "metrics_enabled",
        "true",
        "Keep the job's metrics.",
        true="Keep them.",
        false="Keep none.",
    ),
    _flag(
        "storeMetricsAfterJobCompletion",
        "store_metrics_after_completion",
        "false",
        "Keep the metrics after the job's end.",
        true="Keep them.",
        false="They go with the job.",
    ),
    _choice(
        "trigger",
        "trigger",
        {
            Trigger.INTERVAL: "Go on for ever, batch after batch.",
            Trigger.AVAILABLE_NOW: "Read what is there, then complete.",
            Trigger.REAL_TIME: "Go on for ever, rows at once instead of in batches.",
        },
        "interval",
        "interval: go on for ever; availableNow: read what is there, then complete.",
    ),
    _choice(
        "outputMode",
        "output_mode",
        {
            OutputMode.APPEND: "Only rows that are final.",
            OutputMode.UPDATE: "The rows that changed.",
            OutputMode.COMPLETE: "The whole result each time.",
        },
        "chosen from query and sink",
        "Which rows of a result that changes reach the sink.",
    ),
)

_BY_KEY: Final = {folded(spec.name): spec for spec in OPTIONS}


def parse_options(texts: Iterable[OptionText], before: Mapping[str, str] | None = None) -> Options:
    """Return the typed options of a statement, on top of those that a job had before (canonical).

    Raises StatementError UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE, OPTION_NOT_CHANGEABLE.
    """
    chosen = dict(before or {})
    places: dict[str, OptionText] = {}
    for text in texts:
        spec = _spec(text)
        name = text.key.strip() if spec is None else spec.name
        if any(name.casefold() == other.casefold() for other in places):
            raise StatementError("DUPLICATE_OPTION", f"The option '{name}' is given twice.", place=text.key_place)
        places[name] = text
        chosen = {key: value for key, value in chosen.items() if key.casefold() != name.casefold()}
        chosen[name] = text.value if spec is None else format_value(_value(spec, text))
    return _typed(chosen, places)


def _typed(chosen: Mapping[str, str], texts: Mapping[str, OptionText]) -> Options:
    values = {spec.field: spec.parse(chosen[spec.name]) for spec in OPTIONS if spec.name in chosen}
    confs = {name: value for name, value in chosen.items() if spec_of(name) is None}
    return Options(**values, spark_confs=confs, given=chosen, texts=texts)  # type: ignore[arg-type]


def format_value(value: Value) -> str:
    """Return a value in its canonical spelling."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value) if isinstance(value, Enum) else str(value)


def spec_of(name: str) -> OptionSpec | None:
    """Return the option of this name in any spelling; None for a `spark.*` conf or an unknown one."""
    return _BY_KEY.get(folded(name))


def _spec(text: OptionText) -> OptionSpec | None:
    """Return the option that is meant; None for a `spark.*` setting that jobs may have."""
    spec = spec_of(text.key)
    if spec is not None:
        return spec
    if not text.key.strip().casefold().startswith("spark."):
        raise _unknown(text)
    reason = protection_reason(text.key.strip())
    if reason is None:
        return None
    message = f"'{text.key}' can't be set for a job: {reason}."
    raise StatementError("OPTION_NOT_CHANGEABLE", message, place=text.key_place)


def _unknown(text: OptionText) -> StatementError:
    close = get_close_matches(folded(text.key), _BY_KEY, n=1)
    hint = f"Did you mean '{_BY_KEY[close[0]].name}'?" if close else f"Options are {_names()}, and 'spark.*' settings."
    return StatementError("UNKNOWN_OPTION", f"There is no option '{text.key}'.", place=text.key_place, hint=hint)


def _names() -> str:
    return ", ".join(spec.name for spec in OPTIONS)


def _value(spec: OptionSpec, text: OptionText) -> Value:
    try:
        return spec.parse(text.value)
    except (KeyError, ValueError) as error:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"'{text.value}' is not a value of the option '{spec.name}'.",
            place=text.value_place,
            hint=_value_hint(spec, text.value),
        ) from error


def _value_hint(spec: OptionSpec, value: str) -> str:
    by_folded = {folded(word): word for word in spec.words}
    close = get_close_matches(folded(value), by_folded, n=1)
    allowed = f"Allowed: {spec.values}."
    return f"Did you mean '{by_folded[close[0]]}'? {allowed}" if close else allowed
