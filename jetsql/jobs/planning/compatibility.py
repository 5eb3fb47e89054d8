"""Whether the state of one plan can go on under another, and why not: for job updates, for starts from a snapshot, and
at every start for what was replaced under a job.

Spark itself does not check enough: it takes old state under another grouping of the same type, and a stateless query in
place of a stateful one, without a word. So the decision is made here, on facts alone, before anything is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.job import Analysis, Guarantee, OutputMode, Plan, Source
from jetsql.jobs.model.redaction import redact_urls
from jetsql.jobs.planning.protected_confs import WITH_STATE

SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class StateCompatibility:
    """What becomes of the state. Phrases without a full stop.

    from_scratch: no state is kept because neither plan asks for it.
    """

    reasons: tuple[str, ...] = ()  # why the state cannot be carried over, without secrets; empty when it can
    changes: tuple[str, ...] = ()  # what else will be different
    from_scratch: bool = False


def compare_plans(old: Plan, new: Plan) -> StateCompatibility:
    """Return whether the state that was made under `old` can go on under `new`."""
    if not (old.analysis.streaming and new.analysis.streaming):
        return StateCompatibility((_kinds(old, new),))
    if old.guarantee is new.guarantee is Guarantee.NONE:
        return StateCompatibility(
            changes=("with processingGuarantee 'none' every start is from scratch",), from_scratch=True
        )
    if Guarantee.NONE in (old.guarantee, new.guarantee):
        return StateCompatibility((_scratch(old, new),))
    reasons = (*_source_reasons(old, new), *_operator_reasons(old, new), *_mode_reasons(old, new))
    shown = tuple(map(redact_urls, (*reasons, *_conf_reasons(old, new))))
    return StateCompatibility(shown, tuple(_changes(old, new)))


def _kinds(old: Plan, new: Plan) -> str:
    if old.analysis.streaming:
        return "the new query reads no stream, so there is nothing to go on with"
    return "a batch job keeps no state; it runs once"


def _scratch(old: Plan, new: Plan) -> str:
    before, now = old.guarantee.value, new.guarantee.value
    return f"processingGuarantee would change from {before} to {now}, and 'none' means to begin from scratch"


def _source_reasons(old: Plan, new: Plan) -> Iterator[str]:
    before, now = [_key(source) for source in old.analysis.sources], [_key(source) for source in new.analysis.sources]
    if before == now:
        yield from _moves(old, new)
        return
    for key in sorted(set(before) - set(now)):
        yield f"the source {key} is not read any more"
    for key in sorted(set(now) - set(before)):
        yield f"the source {key} is new"
    if sorted(before) == sorted(now):
        yield f"the sources are in another order: {', '.join(before)} before, {', '.join(now)} now"
    elif set(before) == set(now):
        yield f"the sources are read another number of times: {', '.join(before)} before, {', '.join(now)} now"


def _moves(old: Plan, new: Plan) -> Iterator[str]:
    """Spark notes the files that were read with their whole paths, and reads none from another folder after that."""
    for before, now in zip(old.analysis.sources, new.analysis.sources, strict=True):
        if before.location != now.location:
            yield f"the source {_key(now)} is at another place: {before.location} before, {now.location} now"


def _key(source: Source) -> str:
    """What tells sources apart for people."""
    return f"{source.name} ({source.format})"


def _operator_reasons(old: Plan, new: Plan) -> Iterator[str]:
    before, now = old.analysis.operator_texts, new.analysis.operator_texts
    if before == now:
        return
    if not now:
        yield f"the query kept state ({'; '.join(before)}) and would keep none"
    elif not before:
        yield f"the query kept no state and would now ({'; '.join(now)}), without the rows that were read before"
    else:
        yield f"what its state is made of would be another: {_difference(before, now)}"


def _difference(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    was = "; ".join(fact for fact in before if fact not in now) or "nothing more"
    would = "; ".join(fact for fact in now if fact not in before) or "nothing more"
    return f"it was {was}; it would be {would}"


def _mode_reasons(old: Plan, new: Plan) -> Iterator[str]:
    if old.analysis.stateful and old.output_mode is not new.output_mode and old.output_mode and new.output_mode:
        yield (
            f"the output mode would change from {old.output_mode.value} to {new.output_mode.value}, and what the state"
            " has given out so far was given out under the old one"
        )


def _conf_reasons(old: Plan, new: Plan) -> Iterator[str]:
    """Settings that the state was made under; in how many parts it is cut can change, see `new_partition_count`."""
    if not old.analysis.stateful:
        return
    before, now = _confs(old), _confs(new)
    for name, why in WITH_STATE.items():
        if name != SHUFFLE_PARTITIONS and before.get(name) != now.get(name):
            was, would = before.get(name, "its default"), now.get(name, "its default")
            yield f"the setting {name} would change from {was} to {would}: {why}"
    if new_partition_count(old, new) and has_fixed_partitions(old):
        yield f"{SHUFFLE_PARTITIONS} would change, and the state of a LIMIT can't be spread over other partitions"


def _confs(plan: Plan) -> dict[str, str]:
    """By lower-case name: what the job captured, and its own settings on top."""
    return {name.casefold(): value for name, value in {**plan.analysis.session.confs, **plan.spark_confs}.items()}


def new_partition_count(old: Plan, new: Plan) -> int | None:
    """Over how many partitions the state is to be spread anew; None when it stays as it is."""
    wanted = requested_partitions(new)
    return None if not old.analysis.stateful or wanted == requested_partitions(old) else wanted


def has_fixed_partitions(plan: Plan) -> bool:
    """Return whether its state cannot be rescaled: Spark fails half-way with the state of a LIMIT.

    In output mode complete a LIMIT has no state."""
    limited = any(operator.kind == "GlobalLimit" for operator in plan.analysis.operators)
    return limited and plan.output_mode is not OutputMode.COMPLETE


def requested_partitions(plan: Plan) -> int | None:
    """Return the number that a plan sets itself; without one, state stays as it is cut."""
    wanted = _confs(plan).get(SHUFFLE_PARTITIONS)
    return None if wanted is None else int(wanted)


def _changes(old: Plan, new: Plan) -> Iterator[str]:
    for before, now in zip(old.analysis.sources, new.analysis.sources, strict=False):
        if _key(before) == _key(now) and _is_recreated(before, now):
            yield f"{now.name} was made anew; its files are read unless one of the same name was read before"
    if old.analysis.sink.table != new.analysis.sink.table:
        yield f"rows go into {new.analysis.sink.table} from now on; those in {old.analysis.sink.table} stay"
    parts = new_partition_count(old, new)
    if parts is not None:
        yield f"the state is spread over {parts} partitions"


def _is_recreated(before: Source, now: Source) -> bool:
    return bool(before.created and now.created and before.created != now.created)


def describe_replacements(before: Analysis, now: Analysis) -> tuple[str, ...]:
    """What the same text means another thing for than it did: sentences, empty when all is as it was."""
    gone = [fact for fact in before.fingerprint if fact not in now.fingerprint]
    new = [fact for fact in now.fingerprint if fact not in before.fingerprint]
    found = (
        [f"It was: {'; '.join(gone) or '-'}. It is: {'; '.join(new) or '-'}."]
        if before.fingerprint != now.fingerprint
        else []
    )
    pairs = zip(before.sources, now.sources, strict=False)
    anew = [now.name for before, now in pairs if _key(before) == _key(now) and _is_recreated(before, now)]
    return (*found, *(f"The table {name}, which it reads, was dropped and made anew." for name in anew))
