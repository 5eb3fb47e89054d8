"""The progress tracking of a streaming job: with each batch, or asynchronously.

Spark's asynchronous progress tracking is used where a repeated batch needs no batch number: rows go from topic to topic
without state, at least once. Then a batch starts as soon as the previous one ends, and `snapshotIntervalMillis` is the
time between two commits of offsets. After a crash, the rows since the last commit are written again.
"""

from __future__ import annotations

from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.planning.sink_traits import traits_of


def is_topic_to_topic(analysis: Analysis) -> bool:
    """Return whether the job streams each row from Kafka topics into a Kafka topic and keeps no state."""
    return (
        analysis.streaming
        and not analysis.stateful
        and not analysis.batch_part
        and traits_of(analysis.sink).is_topic
        and all(source.format.casefold() == "kafka" for source in analysis.sources)
    )


def can_have_offset_gaps(plan: Plan) -> bool:
    """Return whether the checkpoint can have fewer batches than were committed, with these or earlier options."""
    return is_topic_to_topic(plan.analysis) and plan.guarantee is Guarantee.AT_LEAST_ONCE


def tracks_asynchronously(plan: Plan) -> bool:
    """Return whether a job tracks its progress asynchronously.

    Dead letters, rules and batch numbers in messages need offsets that are logged before a batch is written.
    """
    return (
        can_have_offset_gaps(plan)
        and plan.options.trigger is Trigger.INTERVAL
        and not plan.analysis.sink.has_batch_numbers
        and not plan.analysis.expectations
        and not any(source.has_dead_letters for source in plan.analysis.sources)
    )
