"""Which processing guarantee a job has, and why, in words.

The weakest of sources and sink decides; the user may ask for less, never for more. Pure: it knows kinds, not systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import Analysis, Guarantee, Replay, Sink, SinkKind, Source, Trigger
from jetsql.jobs.planning.options import Options

GUARANTEE_TEXTS: Final = {
    Guarantee.EXACTLY_ONCE: "exactly once",
    Guarantee.AT_LEAST_ONCE: "at least once",
    Guarantee.NONE: "none",
}

_SINK_WORDS: Final = {
    SinkKind.FILES: "each batch is staged and moved in exactly once",
    SinkKind.JDBC: "each batch is one transaction that also notes its number",
    SinkKind.KAFKA: "each part of a batch is one transaction that also notes the batch's number, for readers of what is"
    " committed (isolation.level=read_committed)",
}


@dataclass(frozen=True)
class Delivery:
    """A guarantee and the reason for it, a phrase without a full stop."""

    guarantee: Guarantee
    reason: str


def choose_guarantee(analysis: Analysis, options: Options, target: Span | None) -> Delivery:
    """What the pair of sources and sink gives, or the less that was asked for.

    Raises StatementError GUARANTEE_NOT_POSSIBLE at the option, SOURCE_NOT_REPLAYABLE at the option or `target`.
    """
    requested = options.processing_guarantee
    place = options.value_place("processingGuarantee")
    if requested is Guarantee.NONE:
        return Delivery(Guarantee.NONE, "as asked for: every start is from scratch")
    lost = _first(analysis, Replay.NO)
    if lost is not None:
        raise _not_replayable(lost, place or target)
    if options.trigger is Trigger.REAL_TIME:
        return _in_real_time(requested, place)
    by_clock = _first(analysis, Replay.BY_CLOCK)
    if not analysis.sink.transactional:
        return _without_transactions(analysis.sink, requested, place)
    if analysis.sink.kind is SinkKind.KAFKA and analysis.unstable_partitioning:
        return _with_other_parts(analysis, requested, place)
    if by_clock is None:
        return _asked_or(Guarantee.EXACTLY_ONCE, _exactly_once(analysis), requested)
    if requested is Guarantee.EXACTLY_ONCE:
        words = (
            f"exactlyOnce is not possible: the source {by_clock.name} ({by_clock.format}) makes its rows by wall clock "
            "and gives others when a batch is repeated."
        )
        raise _not_possible(words, "Ask for 'atLeastOnce', or use rate-micro-batch as source.", place)
    reason = f"source {by_clock.name} makes its rows by wall clock, so a repeated batch may hold others"
    return _asked_or(Guarantee.AT_LEAST_ONCE, reason, requested)


def _first(analysis: Analysis, replay: Replay) -> Source | None:
    return next((source for source in analysis.sources if source.replay is replay), None)


def _asked_or(possible: Guarantee, reason: str, requested: Guarantee | None) -> Delivery:
    if requested is None or requested is possible:
        return Delivery(possible, reason)
    return Delivery(requested, f"as asked for; {GUARANTEE_TEXTS[possible]} is possible")


def _exactly_once(analysis: Analysis) -> str:
    sink = _SINK_WORDS[analysis.sink.kind]
    if not analysis.streaming:
        return f"a batch job appears as a whole; {sink}"
    return f"all sources can give the same rows again; {sink}"


def _in_real_time(requested: Guarantee | None, place: Span | None) -> Delivery:
    why = "with the trigger realTime rows are written before their batch is noted, so after a crash those since the"
    if requested is Guarantee.EXACTLY_ONCE:
        words = f"exactlyOnce is not possible: {why} last one are written again."
        raise _not_possible(words, "Ask for 'atLeastOnce', or use the trigger 'interval'.", place)
    return _asked_or(Guarantee.AT_LEAST_ONCE, f"{why} last one come again", requested)


def _without_transactions(sink: Sink, requested: Guarantee | None, place: Span | None) -> Delivery:
    if requested is Guarantee.EXACTLY_ONCE:
        words = (
            f"exactlyOnce is not possible: {sink.table} is in {sink.system}, and that takes no batch together with its "
            "number in one transaction."
        )
        raise _not_possible(words, "Ask for 'atLeastOnce'.", place)
    reason = f"{sink.system} takes no batch together with its number, so a repeated batch is in it twice"
    return _asked_or(Guarantee.AT_LEAST_ONCE, reason, requested)


def _with_other_parts(analysis: Analysis, requested: Guarantee | None, place: Span | None) -> Delivery:
    """A part of a batch that is in Kafka is left out of a repeated batch, so it has to hold the same rows again."""
    if requested is Guarantee.EXACTLY_ONCE:
        sink = analysis.sink.system or analysis.sink.table
        words = f"exactlyOnce into {sink} is not possible: {analysis.unstable_partitioning}."
        raise _not_possible(words, "Leave that out of the query, or ask for 'atLeastOnce'.", place)
    return _asked_or(
        Guarantee.AT_LEAST_ONCE, f"{analysis.unstable_partitioning}, so parts of it may be there twice", requested
    )


def _not_replayable(source: Source, place: Span | None) -> StatementError:
    return StatementError(
        "SOURCE_NOT_REPLAYABLE",
        f"The source {source.name} ({source.format}) can't give the same rows again, so a restart loses rows.",
        place=place,
        hint="Accept that with OPTIONS ('processingGuarantee' = 'none').",
    )


def _not_possible(words: str, hint: str, place: Span | None) -> StatementError:
    return StatementError("GUARANTEE_NOT_POSSIBLE", words, place=place, hint=hint)
