"""How a streaming job notes how far it is: with each batch, or beside its batches.

Spark can note it beside them ("asynchronous progress tracking") where a batch that comes again needs no number: rows go
from topic to topic without state, at least once. Then batches follow each other at once, and `snapshotIntervalMillis`
is the time between two notes; after a crash, what came since the last one is written again. Pure.
"""

from __future__ import annotations

from jetsql.jobs.model.job import Analysis, Guarantee, Plan, SinkKind, Trigger


def is_topic_to_topic(analysis: Analysis) -> bool:
    """Return whether rows go from topics into a topic, and nothing of them is kept from batch to batch."""
    return (
        analysis.streaming
        and not analysis.stateful
        and analysis.sink.kind is SinkKind.KAFKA
        and all(source.format.casefold() == "kafka" for source in analysis.sources)
    )


def can_have_offset_gaps(plan: Plan) -> bool:
    """Return whether a job's checkpoint may tell of fewer batches than were committed, now or since it had other
    options."""
    return is_topic_to_topic(plan.analysis) and plan.guarantee is Guarantee.AT_LEAST_ONCE


def tracks_asynchronously(plan: Plan) -> bool:
    """Return whether a job tracks its progress asynchronously.

    Dead letters and batch numbers in messages need offsets that are logged before a batch is written."""
    lettered = any(source.has_dead_letters for source in plan.analysis.sources)
    return (
        can_have_offset_gaps(plan)
        and plan.trigger is Trigger.INTERVAL
        and not plan.analysis.sink.has_batch_numbers
        and not lettered
    )
