"""The options of a job: their table, and the parser of their values.

Parser, DESCRIBE, help and completion use the same table. Keys and fixed values are compared without case, `_` and `-`;
numbers are not (`-5` must not become 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.jobs.model.job_options import OWN_GROUPS, Guarantee, Options, StatementOptions, Trigger
from jetsql.jobs.planning.option_rules import (
    ACCEPTED_TOPICS,
    COMMIT_GROUP,
    SIDE_TABLE,
    SINK_ON_ERROR,
    SINK_ON_ERROR_MOST,
    OptionCheck,
    check_accepted_topics,
    check_commit_group,
    check_idle_timeout,
    check_late_rows,
    check_state_ttl,
)
from jetsql.jobs.planning.protected_confs import protection_reason
from jetsql.language.objects.object_names import APPLY_GROUP, OptionText

Value = bool | int | str | Enum | tuple[str, ...]
_Choice = TypeVar("_Choice", Guarantee, Trigger, OutputMode)
_TOPIC_ID: Final = re.compile(r"[\w-]{22}", re.ASCII)
_MAX_INTEGER: Final = 2**63 - 1
_MAX_GROUP_BYTES: Final = 32767  # of a text in Kafka's protocol


@dataclass(frozen=True)
class FixedValue:
    """A fixed value of an option."""

    word: str
    explanation: str  # a sentence


@dataclass(frozen=True)
class OptionSpec:
    """An option of a job."""

    name: str
    field: str  # its field in `Options`
    values: str  # a phrase for the valid values
    default: str  # a phrase for the default value
    explanation: str  # a sentence
    parse: Callable[[str], Value]  # raises KeyError or ValueError for an invalid value
    fixed: tuple[FixedValue, ...] = ()  # the fixed values, for completion and hints
    changeable: bool = True  # ALTER JOB can set it
    check: OptionCheck | None = None  # refuses queries and sinks to which the option does not apply

    @property
    def words(self) -> tuple[str, ...]:
        """Return the fixed values without their explanations."""
        return tuple(value.word for value in self.fixed)


def folded(text: str) -> str:
    """Return a key or fixed value in the form in which they are compared."""
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


def _integer(minimum: int, text: str, maximum: int = _MAX_INTEGER) -> int:
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdigit()) or len(stripped) > 19:
        raise ValueError(text)
    number = int(stripped)
    if not minimum <= number <= maximum:
        raise ValueError(text)
    return number


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


def _group(text: str) -> str:
    """Return the name of a consumer group that is not one of the engine's own."""
    group = text.strip()
    if not group or group.startswith(OWN_GROUPS) or len(group.encode()) > _MAX_GROUP_BYTES:
        raise ValueError(text)
    return group


def _topic_ids(text: str) -> tuple[str, ...]:
    """Return the ids of Kafka topics."""
    ids = tuple(each.strip() for each in text.split(","))
    if not all(map(_TOPIC_ID.fullmatch, ids)):
        raise ValueError(text)
    return ids


def _side_table(word: str, text: str) -> str:
    """Return the fixed value of an option, or `table:NAME`."""
    if folded(text) == word:
        return word
    prefix, _, name = text.partition(":")
    if folded(prefix) != "table" or not 1 <= len(_parts(name)) <= 2 or not all(_parts(name)):
        raise ValueError(text)
    return f"{SIDE_TABLE}{'.'.join(_parts(name))}"


def _parts(name: str) -> list[str]:
    return [part.strip().strip("`") for part in name.split(".")]


def _choice(
    name: str,
    attribute: str,
    meanings: Mapping[_Choice, str],
    default: str,
    explanation: str,
    changeable: bool = True,
) -> OptionSpec:
    fixed = tuple(FixedValue(str(member.value), meaning) for member, meaning in meanings.items())
    values = ", ".join(value.word for value in fixed)
    kind = type(next(iter(meanings)))
    return OptionSpec(name, attribute, values, default, explanation, _enum(kind), fixed, changeable)


def _flag(name: str, attribute: str, default: str, explanation: str, true: str, false: str) -> OptionSpec:
    fixed = (FixedValue("true", true), FixedValue("false", false))
    return OptionSpec(name, attribute, "true, false", default, explanation, _boolean, fixed)


OPTIONS: Final[tuple[OptionSpec, ...]] = (
    _choice(
        "processingGuarantee",
        "processing_guarantee",
        {
            Guarantee.EXACTLY_ONCE: "Each row is written once, even after a crash.",
            Guarantee.AT_LEAST_ONCE: "No row is lost; after a crash rows can be written again.",
            Guarantee.NONE: "Every start is from scratch: rows can be lost or written again.",
        },
        "the strongest that sources and sink support",
        "The delivery guarantee for the rows in the sink.",
        changeable=False,
    ),
    OptionSpec(
        "snapshotIntervalMillis",
        "snapshot_interval_millis",
        "a positive whole number",
        "1000; 10000 for file tables; 60000 with trigger realTime",
        "Time between micro-batches, in milliseconds.",
        partial(_integer, 1),
    ),
    _flag(
        "autoScaling",
        "auto_scaling",
        "true",
        "Restart when members join or are lost.",
        true="Restart after members have joined, and immediately when one is lost; not when one leaves as planned.",
        false="Continue when members join or leave as planned. When one is lost, suspend; fail with"
        " processingGuarantee 'none'.",
    ),
    _flag(
        "splitBrainProtectionEnabled",
        "split_brain_protection",
        "false",
        "Run only while more than half of the members are available.",
        true="Wait (NOT_RUNNING) while half of the members or more are missing.",
        false="Run with the members that are available.",
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
        "After the last restart attempt: suspend the job (true) or fail it (false).",
        true="Suspend the job. RESUME JOB continues it after the cause is fixed.",
        false="Fail the job, which is final.",
    ),
    OptionSpec(
        "restartAttempts",
        "restart_attempts",
        "0 or a positive whole number",
        "3",
        "The limit of consecutive restarts without progress after an error. Waiting for a system that is unreachable"
        " does not count. With 0, an outage suspends the job.",
        partial(_integer, 0),
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
        false="Delete them with the job's end.",
    ),
    _choice(
        "trigger",
        "trigger",
        {
            Trigger.INTERVAL: "Run continuously, in micro-batches.",
            Trigger.AVAILABLE_NOW: "Process the available rows, then complete.",
            Trigger.REAL_TIME: "Run continuously, and process each row immediately.",
        },
        "interval",
        "interval: run continuously; availableNow: process the available rows, then complete.",
    ),
    _choice(
        "outputMode",
        "output_mode",
        {
            OutputMode.APPEND: "Write only final rows.",
            OutputMode.UPDATE: "Write the changed rows.",
            OutputMode.COMPLETE: "Write the complete result each time.",
        },
        "chosen from query and sink",
        "The rows that each batch writes when the result of the query changes.",
    ),
    OptionSpec(
        "lateRows",
        "late_rows",
        "drop, table:NAME",
        "drop",
        "The table for rows that come after the watermark has passed them.",
        partial(_side_table, "drop"),
        (FixedValue("drop", "Drop them; the metric late_rows counts them."),),
        changeable=False,
        check=check_late_rows,
    ),
    OptionSpec(
        SINK_ON_ERROR,
        "sink_on_error",
        "fail, table:NAME",
        "fail",
        "The table for rows that the sink refuses, such as those that violate a constraint of the database.",
        partial(_side_table, "fail"),
        (FixedValue("fail", "Write nothing of the batch, and suspend or fail the job."),),
        changeable=False,
    ),
    OptionSpec(
        SINK_ON_ERROR_MOST,
        "refused_rows_most",
        "a whole number from 1 to 100000",
        "1000",
        "The most rows of one batch that go to the table of 'sink.on.error'. With more, nothing of the batch is"
        " written, and the job stops.",
        partial(_integer, 1, maximum=100_000),
    ),
    OptionSpec(
        "idleTimeoutMillis",
        "idle_timeout_millis",
        "a positive whole number",
        "none: a source without rows holds back the watermark",
        "The time in milliseconds after which a source without rows no longer holds back the watermark.",
        partial(_integer, 1),
        check=check_idle_timeout,
    ),
    OptionSpec(
        "stateTtlMillis",
        "state_ttl_millis",
        "a positive whole number",
        "none: state that no watermark removes is kept",
        "The time in milliseconds after which the job forgets distinct rows, groups and joined rows of its state.",
        partial(_integer, 1),
        changeable=False,
        check=check_state_ttl,
    ),
    OptionSpec(
        APPLY_GROUP,
        "apply_group",
        "a name",
        "none",
        "The group of `jetsql apply --group`, which drops jobs of its group with `--prune`.",
        _name,
    ),
    OptionSpec(
        ACCEPTED_TOPICS,
        "accepted_topics",
        "ids of Kafka topics, separated by commas",
        "none: the job stops when a topic was deleted and created again",
        "The new topics that the job continues with: it reads them from their first message.",
        _topic_ids,
        check=check_accepted_topics,
    ),
    OptionSpec(
        COMMIT_GROUP,
        "commit_group",
        f"the name of a consumer group of this job alone, which does not begin with {OWN_GROUPS}",
        "none",
        "The consumer group that shows the job's offsets to Kafka's own tools. The job never reads them.",
        _group,
        check=check_commit_group,
    ),
)

_BY_KEY: Final = {folded(spec.name): spec for spec in OPTIONS}


def parse_options(texts: Iterable[OptionText], before: Mapping[str, str] | None = None) -> StatementOptions:
    """Return the typed options of a statement, which override the options of an existing job.

    before: the options of the existing job, in canonical spelling.

    Raises StatementError UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE, OPTION_NOT_CHANGEABLE.
    """
    chosen = dict(before or {})
    places: dict[str, OptionText] = {}
    for text in texts:
        spec = _find_spec(text)
        name = text.key.strip() if spec is None else spec.name
        if any(name.casefold() == other.casefold() for other in places):
            raise StatementError("DUPLICATE_OPTION", f"The option '{name}' is set twice.", place=text.key_place)
        places[name] = text
        chosen = {key: value for key, value in chosen.items() if key.casefold() != name.casefold()}
        chosen[name] = text.value if spec is None else format_value(_value(spec, text))
    return _typed(chosen, places)


def _typed(chosen: Mapping[str, str], texts: Mapping[str, OptionText]) -> StatementOptions:
    values = {spec.field: spec.parse(chosen[spec.name]) for spec in OPTIONS if spec.name in chosen}
    confs = {name: value for name, value in chosen.items() if spec_of(name) is None}
    return StatementOptions(Options(**values, spark_confs=confs, given=chosen), texts)  # type: ignore[arg-type]


def format_value(value: Value) -> str:
    """Return a value in its canonical spelling."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value.value) if isinstance(value, Enum) else str(value)


def spec_of(name: str) -> OptionSpec | None:
    """Return the option with this name in any spelling; None for a `spark.*` setting or an unknown option."""
    return _BY_KEY.get(folded(name))


def _find_spec(text: OptionText) -> OptionSpec | None:
    """Return the option with this key; None for a `spark.*` setting that jobs can set. Raises StatementError."""
    spec = spec_of(text.key)
    if spec is not None:
        return spec
    if not text.key.strip().casefold().startswith("spark."):
        raise _unknown(text)
    reason = protection_reason(text.key.strip())
    if reason is None:
        return None
    message = f"Cannot set '{text.key}' for a job: {reason}."
    raise StatementError("OPTION_NOT_CHANGEABLE", message, place=text.key_place)


def _unknown(text: OptionText) -> StatementError:
    close = get_close_matches(folded(text.key), _BY_KEY)
    meant = f"'{_BY_KEY[close[0]].name}'" if close else ""
    hint = f"Did you mean {meant}?" if meant else f"Options: {_names()}, and 'spark.*' settings."
    message = f"There is no option '{text.key}'."
    return StatementError("UNKNOWN_OPTION", message, place=text.key_place, hint=hint, correction=meant)


def _names() -> str:
    return ", ".join(spec.name for spec in OPTIONS)


def _value(spec: OptionSpec, text: OptionText) -> Value:
    try:
        return spec.parse(text.value)
    except (KeyError, ValueError) as error:
        meant, valid = _meant_value(spec, text.value), f"Valid values: {spec.values}."
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"'{text.value}' is not a valid value of the option '{spec.name}'.",
            place=text.value_place,
            hint=f"Did you mean {meant}? {valid}" if meant else valid,
            correction=meant,
        ) from error


def _meant_value(spec: OptionSpec, value: str) -> str:
    """Return the fixed value that was probably meant, in quotes, or ''."""
    by_folded = {folded(word): word for word in spec.words}
    close = get_close_matches(folded(value), by_folded)
    return f"'{by_folded[close[0]]}'" if close else ""
