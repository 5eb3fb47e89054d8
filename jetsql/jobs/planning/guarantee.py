"""The processing guarantee of a job and the reason for it.

The weakest of sources and sink decides. The user can request less, never more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, Replay, Sink, Source
from jetsql.jobs.model.job_options import Guarantee, StatementOptions, Trigger
from jetsql.jobs.planning.sink_traits import traits_of

GUARANTEE_TEXTS: Final = {
    Guarantee.EXACTLY_ONCE: "exactly once",
    Guarantee.AT_LEAST_ONCE: "at least once",
    Guarantee.NONE: "none",
}

_ORDER: Final = (Guarantee.EXACTLY_ONCE, Guarantee.AT_LEAST_ONCE, Guarantee.NONE)


@dataclass(frozen=True)
class Delivery:
    """A guarantee and the reason for it."""

    guarantee: Guarantee
    reason: str  # a phrase without a full stop


def choose_guarantee(analysis: Analysis, sink: Sink, options: StatementOptions, target: Span | None) -> Delivery:
    """Return the strongest guarantee of the sources and a sink, or the weaker one that the user requested.

    Raises StatementError GUARANTEE_NOT_POSSIBLE at the option, SOURCE_NOT_REPLAYABLE at the option or `target`.
    """
    requested = options.values.processing_guarantee
    place = options.value_place("processingGuarantee")
    if requested is Guarantee.NONE:
        return Delivery(Guarantee.NONE, "as requested: every start is from scratch")
    not_replayable = _first(analysis, Replay.NO)
    if not_replayable is not None:
        raise _not_replayable(not_replayable, place or target)
    if options.values.trigger is Trigger.REAL_TIME:
        return _in_real_time(requested, place)
    by_clock = _first(analysis, Replay.BY_CLOCK)
    if not sink.transactional:
        return _without_transactions(sink, requested, place)
    if traits_of(sink).is_topic and analysis.unstable_partitioning:
        return _with_unstable_partitioning(analysis, sink, requested, place)
    if by_clock is None:
        if requested is Guarantee.AT_LEAST_ONCE:
            return Delivery(requested, f"as requested; {GUARANTEE_TEXTS[Guarantee.EXACTLY_ONCE]} is possible")
        return Delivery(Guarantee.EXACTLY_ONCE, _exactly_once(analysis, sink))
    if requested is Guarantee.EXACTLY_ONCE:
        message = (
            f"exactlyOnce is not possible: the source {by_clock.name} ({by_clock.format}) generates rows by wall clock,"
            " so a repeated batch has other rows."
        )
        raise _not_possible(message, "Use 'atLeastOnce', or use rate-micro-batch as source.", place)
    reason = f"the source {by_clock.name} generates rows by wall clock, so a repeated batch can have other rows"
    return Delivery(Guarantee.AT_LEAST_ONCE, reason)


def choose_weakest(analysis: Analysis, options: StatementOptions, targets: Sequence[Span | None]) -> Delivery:
    """Return the weakest guarantee of the job's sinks.

    targets: the place of each sink's name. Raises as `choose_guarantee`.
    """
    written = zip(analysis.sinks, targets, strict=True)
    deliveries = [choose_guarantee(analysis, sink, options, target) for sink, target in written]
    weakest = max((delivery.guarantee for delivery in deliveries), key=_ORDER.index)
    reasons: dict[str, list[str]] = {}
    for sink, delivery in zip(analysis.sinks, deliveries, strict=True):
        if delivery.guarantee is weakest:
            reasons.setdefault(delivery.reason, []).append(sink.table)
    if len(reasons) == 1:
        return Delivery(weakest, next(iter(reasons)))
    return Delivery(weakest, "; ".join(f"{', '.join(tables)}: {reason}" for reason, tables in reasons.items()))


def _first(analysis: Analysis, replay: Replay) -> Source | None:
    return next((source for source in analysis.sources if source.replay is replay), None)


def _exactly_once(analysis: Analysis, sink: Sink) -> str:
    reason = traits_of(sink).exactly_once
    if not analysis.streaming:
        return f"all rows of a batch job become visible together; {reason}"
    return f"all sources can be replayed; {reason}"


def _in_real_time(requested: Guarantee | None, place: Span | None) -> Delivery:
    reason = (
        "with the trigger realTime rows are written before their batch is committed, so after a crash the rows since"
        " the last batch are written again"
    )
    if requested is Guarantee.EXACTLY_ONCE:
        message = f"exactlyOnce is not possible: {reason}."
        raise _not_possible(message, "Use 'atLeastOnce', or the trigger 'interval'.", place)
    return Delivery(Guarantee.AT_LEAST_ONCE, reason)


def _without_transactions(sink: Sink, requested: Guarantee | None, place: Span | None) -> Delivery:
    reason = f"{sink.system} cannot store a batch and its number in one transaction"
    if requested is Guarantee.EXACTLY_ONCE:
        message = f"exactlyOnce into {sink.table} is not possible: {reason}."
        raise _not_possible(message, "Use 'atLeastOnce'.", place)
    return Delivery(Guarantee.AT_LEAST_ONCE, f"{reason}, so a repeated batch is written twice")


def _with_unstable_partitioning(
    analysis: Analysis, sink: Sink, requested: Guarantee | None, place: Span | None
) -> Delivery:
    """Refuse exactly once: a repeated batch skips partitions in Kafka, so their rows must be the same again."""
    if requested is Guarantee.EXACTLY_ONCE:
        written = sink.system or sink.table
        message = f"exactlyOnce into {written} is not possible: {analysis.unstable_partitioning}."
        raise _not_possible(message, "Remove it from the query, or use 'atLeastOnce'.", place)
    reason = f"{analysis.unstable_partitioning}, so a part of its rows can be written twice"
    return Delivery(Guarantee.AT_LEAST_ONCE, reason)


def _not_replayable(source: Source, place: Span | None) -> StatementError:
    return StatementError(
        "SOURCE_NOT_REPLAYABLE",
        f"The source {source.name} ({source.format}) cannot be replayed, so a restart loses rows.",
        place=place,
        hint="Accept the loss with OPTIONS ('processingGuarantee' = 'none').",
    )


def _not_possible(message: str, hint: str, place: Span | None) -> StatementError:
    return StatementError("GUARANTEE_NOT_POSSIBLE", message, place=place, hint=hint)
