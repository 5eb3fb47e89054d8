"""Compatibility of the state of one plan with another plan.

The rules apply to job updates and to starts from a snapshot. At every start, `describe_replacements` reports tables
that were replaced since the job was created.

Spark's own checks are not sufficient: it accepts old state under another grouping of the same type, and a stateless
query in place of a stateful one. So these rules decide, from the plans alone, before anything is changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.body_analysis import Analysis, Operator, OutputMode, Source
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.model.redaction import redact_urls
from jetsql.jobs.planning.protected_confs import WITH_STATE
from jetsql.language.tokens import tokens

SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"

# The engine describes an operator by its expressions down to the columns of the sources, with their types:
# `source0.customer`: string; count(1): bigint
_SOURCE_COLUMN: Final = re.compile(r"`source\d+\.((?:[^`]|``)*)`")
_LOCAL_WINDOWS: Final = "__jetsql_window"  # a column of the Java module; windows in UTC are shown as expressions
_SEPARATOR: Final = "; "
_KINDS: Final = {"Aggregate": "the aggregate", "Join": "the join", "Deduplicate": "the distinct rows"}


@dataclass(frozen=True)
class StateCompatibility:
    """The result of comparing two plans; texts are phrases without a full stop."""

    reasons: tuple[str, ...] = ()  # why the state is not compatible, without secrets; empty when it is
    changes: tuple[str, ...] = ()  # other differences
    from_scratch: bool = False  # neither plan keeps state: every start is from scratch


def compare_plans(old: Plan, new: Plan, fixed_partitions: str = "") -> StateCompatibility:
    """Return whether `new` can continue with the state of `old`.

    fixed_partitions: why the engine cannot repartition any state; empty when it can.
    """
    if not (old.analysis.streaming and new.analysis.streaming):
        return StateCompatibility((_kinds(old, new),))
    if old.guarantee is new.guarantee is Guarantee.NONE:
        return StateCompatibility(
            changes=("with processingGuarantee 'none' every start is from scratch",), from_scratch=True
        )
    if Guarantee.NONE in (old.guarantee, new.guarantee):
        return StateCompatibility((_scratch(old, new),))
    reasons = (*_source_reasons(old, new), *_operator_reasons(old, new), *_mode_reasons(old, new))
    shown = tuple(map(redact_urls, (*reasons, *_conf_reasons(old, new, fixed_partitions))))
    return StateCompatibility(shown, tuple(_changes(old, new)))


def _kinds(old: Plan, new: Plan) -> str:
    if old.analysis.streaming:
        return "the new query reads no stream, so it cannot continue the job"
    return "a batch job runs once and keeps no state"


def _scratch(old: Plan, new: Plan) -> str:
    before, now = old.guarantee.value, new.guarantee.value
    return f"processingGuarantee would change from {before} to {now}, and with 'none' every start is from scratch"


def _source_reasons(old: Plan, new: Plan) -> Iterator[str]:
    before, now = [_key(source) for source in old.analysis.sources], [_key(source) for source in new.analysis.sources]
    if before == now:
        yield from _location_reasons(old, new)
        return
    for key in sorted(set(before) - set(now)):
        yield f"the source {key} is removed"
    for key in sorted(set(now) - set(before)):
        yield f"the source {key} is new"
    if sorted(before) == sorted(now):
        yield f"the order of the sources differs: {', '.join(before)} before, {', '.join(now)} now"
    elif set(before) == set(now):
        yield f"the number of reads of a source differs: {', '.join(before)} before, {', '.join(now)} now"


def _location_reasons(old: Plan, new: Plan) -> Iterator[str]:
    """Compare the locations: Spark stores full paths of the files that were read, so a moved folder is a new source."""
    for before, now in zip(old.analysis.sources, new.analysis.sources, strict=True):
        if before.location != now.location:
            yield f"the location of the source {_key(now)} differs: {before.location} before, {now.location} now"
        elif before.identity and now.identity and before.identity != now.identity:
            yield f"the source {_key(now)} was replaced by another table of that name"


def _key(source: Source) -> str:
    """Return the text that identifies a source in messages."""
    return f"{source.name} ({source.format})"


def _operator_reasons(old: Plan, new: Plan) -> Iterator[str]:
    analysis = new.analysis.in_words_of(old.analysis)
    before, now = old.analysis.operator_texts, analysis.operator_texts
    if before == now:
        return
    if not old.analysis.local_windows and any(_LOCAL_WINDOWS in each for each in now):
        yield (
            "the windows of TUMBLE and HOP begin at local times now, and those of the state at times in UTC, because an"
            " earlier version of JetSQL made it"
        )
    elif not now:
        yield f"the old query keeps state ({'; '.join(before)}) and the new query keeps none"
    elif not before:
        yield f"the new query keeps state ({'; '.join(now)}) that would lack the rows that were read before"
    elif differences := tuple(describe_operator_differences(old.analysis.operators, analysis.operators)):
        yield from differences
    else:
        yield f"the stateful operators differ: {_difference(before, now)}"


def has_utc_windows(job: Job) -> bool:
    """Return whether an earlier version of JetSQL made a job with windows that begin at times in UTC.

    They stay as they are when a statement replaces the job, because its rows and its state have them.
    """
    words = {token.word for token in tokens(job.body.text)}
    return not job.plan.analysis.local_windows and not words.isdisjoint(("TUMBLE", "HOP"))


def _difference(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    removed = "; ".join(fact for fact in before if fact not in now) or "no others"
    added = "; ".join(fact for fact in now if fact not in before) or "no others"
    return f"{removed} before, {added} now"


def describe_operator_differences(before: Sequence[Operator], now: Sequence[Operator]) -> Iterator[str]:
    """Return a phrase for each difference, or nothing if the operators differ in more than their expressions."""
    if [operator.kind for operator in before] != [operator.kind for operator in now]:
        return
    for old, new in zip(before, now, strict=True):
        if old.meaning != new.meaning:
            yield from _differences(_KINDS.get(old.kind, f"the operator {old.kind}"), _parts(old), _parts(new))


def _parts(operator: Operator) -> list[str]:
    """Return the expressions of an operator with their types, each once, with the names of columns as in the query."""
    written = (_SOURCE_COLUMN.sub(r"\1", part) for part in operator.meaning.split(_SEPARATOR))
    return list(dict.fromkeys(filter(None, written)))


def _differences(operator: str, old: list[str], new: list[str]) -> Iterator[str]:
    removed, added = list((Counter(old) - Counter(new)).elements()), list((Counter(new) - Counter(old)).elements())
    if not removed and not added:
        yield f"the order of the expressions of {operator} changed: {_listed(old)} before, {_listed(new)} now"
    while removed and added and len(old) == len(new):
        before, after = removed.pop(0), added.pop(0)
        if _expression(before) == _expression(after):
            yield f"the type of {_expression(before)} in {operator} changed: {_type(before)} before, {_type(after)} now"
        else:
            yield f"{_expression(after)} replaced {_expression(before)} in {operator}"
    if removed:
        yield f"{operator} lost {_listed(removed)}"
    if added:
        yield f"{operator} gained {_listed(added)}"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(map(_expression, parts))


def _expression(part: str) -> str:
    return (part.rpartition(": ")[0] or part).replace("count(1)", "count(*)")


def _type(part: str) -> str:
    return part.rpartition(": ")[2]


def _mode_reasons(old: Plan, new: Plan) -> Iterator[str]:
    if old.analysis.stateful and old.output_mode is not new.output_mode and old.output_mode and new.output_mode:
        yield (
            f"the output mode would change from {old.output_mode.value} to {new.output_mode.value}, and the rows that"
            " the job has written so far were written in the old mode"
        )


def _conf_reasons(old: Plan, new: Plan, fixed_partitions: str) -> Iterator[str]:
    """Compare the settings that the state depends on; `new_partition_count` has the number of partitions."""
    if not old.analysis.stateful:
        return
    before, now = _confs(old), _confs(new)
    for name, reason in WITH_STATE.items():
        if name != SHUFFLE_PARTITIONS and before.get(name) != now.get(name):
            old_value, new_value = before.get(name, "its default"), now.get(name, "its default")
            yield f"the setting {name} would change from {old_value} to {new_value}: {reason}"
    if new_partition_count(old, new) and has_fixed_partitions(old):
        yield f"{SHUFFLE_PARTITIONS} would change, and the state of a LIMIT cannot be repartitioned"
    elif new_partition_count(old, new) and fixed_partitions:
        yield f"{SHUFFLE_PARTITIONS} would change, and {fixed_partitions}"


def _confs(plan: Plan) -> dict[str, str]:
    """Return the session's settings and the job's own ones, which take precedence, by lower-case name."""
    return {
        name.casefold(): value for name, value in {**plan.analysis.session.confs, **plan.options.spark_confs}.items()
    }


def new_partition_count(old: Plan, new: Plan) -> int | None:
    """Return the partition count to rescale the state to, or None to leave it unchanged."""
    requested = requested_partitions(new)
    return None if not old.analysis.stateful or requested == requested_partitions(old) else requested


def has_fixed_partitions(plan: Plan) -> bool:
    """Return whether its state cannot be repartitioned: Spark's repartitioning fails for the state of a LIMIT.

    In output mode complete a LIMIT has no state.
    """
    limited = any(operator.kind == "GlobalLimit" for operator in plan.analysis.operators)
    return limited and plan.output_mode is not OutputMode.COMPLETE


def requested_partitions(plan: Plan) -> int | None:
    """Return the number of partitions that the user set, or None."""
    requested = _confs(plan).get(SHUFFLE_PARTITIONS)
    return None if requested is None else int(requested)


def _changes(old: Plan, new: Plan) -> Iterator[str]:
    for before, now in zip(old.analysis.sources, new.analysis.sources, strict=False):
        if _key(before) == _key(now) and _is_recreated(before, now):
            source = f"the source {now.name} was recreated"
            yield f"{source}; its files are read, except those with the path of a file read before"
    yield from _column_changes(old.analysis, new.analysis)
    yield from _sink_changes(old.analysis, new.analysis)
    yield from _rule_changes(old.analysis, new.analysis)
    partitions = new_partition_count(old, new)
    if partitions is not None:
        yield f"the state is repartitioned into {partitions} partitions"


def _column_changes(old: Analysis, new: Analysis) -> Iterator[str]:
    """Compare the columns that the query can read, of each table that it reads as before."""
    for table, columns in new.tables.items():
        added = [column for column in columns if column not in old.tables.get(table, columns)]
        if added:
            yield f"the query can read the new column{'s' * (len(added) > 1)} {', '.join(added)} of {table}"


def _sink_changes(old: Analysis, new: Analysis) -> Iterator[str]:
    before, now = (dict.fromkeys(sink.table for sink in analysis.sinks) for analysis in (old, new))
    added, removed = (
        [table for table in tables if table not in others] for tables, others in ((now, before), (before, now))
    )
    if added:
        yield f"new rows are written to {', '.join(added)}" + (
            f"; the rows in {', '.join(removed)} stay" * bool(removed)
        )
    elif removed:
        yield f"no more rows are written to {', '.join(removed)}, whose rows stay"


def _rule_changes(old: Analysis, new: Analysis) -> Iterator[str]:
    """Compare the rules for rows, which keep no state."""
    before, now = ({rule.name: rule for rule in analysis.expectations} for analysis in (old, new))
    changed = [name for name, rule in now.items() if before.get(name, rule) != rule]
    listed = {
        "added": [name for name in now if name not in before],
        "removed": [name for name in before if name not in now],
        "replaced, and its counts begin at 0": changed,
    }
    for what, names in listed.items():
        yield from (f"the rule {name} is {what}" for name in names)


def _is_recreated(before: Source, now: Source) -> bool:
    if before.identity and now.identity:
        return before.identity != now.identity
    return bool(before.created and now.created and before.created != now.created)


def outdated_rules(before: Analysis, now: Analysis) -> tuple[str, ...]:
    """Return the rules, as texts, that have made the old state in a version that this release does not continue."""
    old, new = _rule_versions(before), _rule_versions(now)
    return tuple(f"{rule}, version {version}" for rule, version in old.items() if version < new.get(rule, 0))


def _rule_versions(analysis: Analysis) -> dict[str, int]:
    """Return the newest version of each rule that made operators of a query."""
    versions: dict[str, int] = {}
    for rewrite in analysis.rewrites:
        versions[rewrite.rule] = max(rewrite.version, versions.get(rewrite.rule, 0))
    return versions


def describe_replacements(before: Analysis, now: Analysis) -> tuple[str, ...]:
    """Return, as sentences, how the meaning of a body's text has changed; empty when it has not."""
    removed = [fact for fact in before.fingerprint if fact not in now.fingerprint]
    added = [fact for fact in now.fingerprint if fact not in before.fingerprint]
    differences = (
        [f"Before: {'; '.join(removed) or '-'}. Now: {'; '.join(added) or '-'}."]
        if before.fingerprint != now.fingerprint
        else []
    )
    pairs = zip(before.sources, now.sources, strict=False)
    recreated = [now.name for before, now in pairs if _key(before) == _key(now) and _is_recreated(before, now)]
    return (
        *differences,
        *(f"The source table {name} was dropped and recreated." for name in recreated),
        *_describe_replaced_functions(before, now),
    )


def _describe_replaced_functions(before: Analysis, now: Analysis) -> Iterator[str]:
    """Compare the functions that both queries call. Others differ with the text of a view, which may change."""
    old = {function.name: function.fingerprint for function in before.functions}
    for function in now.functions:
        if old.get(function.name, function.fingerprint) != function.fingerprint:
            yield f"The function {function.name} was replaced."
