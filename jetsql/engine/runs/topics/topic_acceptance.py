"""Let a job continue with new topics, which the user has accepted with the option `acceptedTopics`.

The job reads a new topic from its first message: its checkpoint forgets the offsets of the old one. A batch that was
planned and not committed is dropped, because the messages that it names are gone.
"""

from __future__ import annotations

from jetsql.engine.checkpoints.checkpoint_check import check_checkpoint
from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins
from jetsql.engine.checkpoints.topic_positions import forget_offsets
from jetsql.engine.runs.topics.topic_watch import ReplacedTopic, TopicWatch
from jetsql.engine.sinks.job_sinks import JobSinks
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.lifecycle.runtime import Report, SinkNotice
from jetsql.jobs.model.job import Job


def accept_topics(job: Job, sinks: JobSinks, pins: CheckpointPins, report: Report) -> None:
    """Let a job that does not run continue with the new topics that its option names.

    Raises StatementError SOURCE_CHANGED, SINK_CHANGED when another topic was replaced as well, PENDING_BATCH_FAILED
    when a part of a pending batch is in the sink, CHECKPOINT_DAMAGED.
    """
    if not job.plan.options.accepted_topics:
        return
    topics = TopicWatch(sinks.spark, sinks.catalog, sinks.checkpoints, job)
    replaced = topics.find_replaced()
    if not replaced:
        return
    if any(topic.now not in job.plan.options.accepted_topics for topic in replaced):
        raise topics.explain(replaced)
    sinks.checkpoints.leadership.check()
    pins.wait_until_unpinned(job.id)  # a copy of the checkpoint has its ids and offsets of the same time
    read = [topic for topic in replaced if topic.source is not None]
    if read:
        _forget_offsets(job, sinks, read)
    if len(read) < len(replaced):
        sinks.discard_results(job)  # none of them is in the new topic
    topics.accept(replaced)
    for topic in replaced:
        report(SinkNotice(job.run_id, _describe(job, topic)))


def _forget_offsets(job: Job, sinks: JobSinks, topics: list[ReplacedTopic]) -> None:
    files = sinks.checkpoints.files
    checkpoint = sinks.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
    progress = check_checkpoint(files, checkpoint, job)
    if progress.has_pending_batch:
        drop_pending_batch(job, sinks, progress)
    names: dict[int, list[str]] = {}
    for topic in topics:
        assert topic.source is not None, "only topics that are read have offsets"
        names.setdefault(topic.source, []).append(topic.name)
    forget_offsets(files, checkpoint, progress, names)


def drop_pending_batch(job: Job, sinks: JobSinks, progress: Progress) -> None:
    """Prepare the sink for a batch of this number with other rows. Raises StatementError PENDING_BATCH_FAILED."""
    batch = progress.next_batch
    if sinks.has_part(job, batch):
        names = job.plan.analysis.sink_names
        table = job.version.table_kind  # DROP drops its rows, too
        kind = "JOB" if table is None else table.value
        rows = f" The rows of the old topic stay in {names}: delete them first if it must not keep them."
        raise StatementError(
            "PENDING_BATCH_FAILED",
            f"Batch {batch} has messages of an old topic, and rows of it are in {names}. It can be neither finished nor"
            " repeated.",
            hint=f"Run DROP {kind} and CREATE {kind} to begin again with the new topic.{rows if table is None else ''}",
        )
    sinks.discard_result(job, batch)


def _describe(job: Job, topic: ReplacedTopic) -> str:
    if topic.source is not None:
        effect = "The job reads it from its first message."
    elif job.plan.retracts:
        effect = "The job writes its whole result into it."
    else:
        effect = "The job writes only further rows into it."
    return f"The new topic {topic.name} with the id {topic.now} is accepted. {effect}"
