"""The topics that a checkpoint's offsets belong to, and how a job forgets its offsets of a topic.

An offset counts the messages of one topic. Kafka gives a topic that is deleted and created again another id, and the
offsets of the old topic would skip messages of the new one. Spark stores names and offsets only, so the ids are in a
file of their own in the checkpoint. Copies of the checkpoint contain it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

from jetsql.engine.checkpoints.checkpoint_reader import read_initial_offset, read_offsets, read_source_range
from jetsql.engine.errors.remedies import RESTORE
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress, read_log
from jetsql.jobs.checkpoint_files.topic_ids import TOPICS_FILE, TopicIds, load_topic_ids

_FIRST_SOURCE_LINE: Final = 2  # of an entry of the offset log


def read_topic_ids(files: FileSystem, checkpoint: str) -> TopicIds:
    """Return the ids in a checkpoint: none of a job that an earlier release started.

    Raises StatementError CHECKPOINT_DAMAGED.
    """
    path = f"{checkpoint}/{TOPICS_FILE}"
    try:
        return load_topic_ids(files, path)
    except FileNotFoundError:
        return TopicIds()
    except ValueError as error:
        message = f"The job's checkpoint is damaged: {path} is not readable: {error}."
        raise StatementError("CHECKPOINT_DAMAGED", message, hint=RESTORE, where=path) from error


def write_topic_ids(files: FileSystem, checkpoint: str, ids: TopicIds) -> None:
    """Store the ids in a checkpoint, which need not exist yet."""
    text = json.dumps({"sources": ids.sources, "sinks": ids.sinks}, sort_keys=True)
    files.write(f"{checkpoint}/{TOPICS_FILE}", text)


def topics_before(files: FileSystem, checkpoint: str, batch: int, source: int) -> Collection[str]:
    """Return the topics of a source that a planned batch continues, and does not read from their first messages."""
    start, _ = read_source_range(files, checkpoint, batch, source)
    return _begun_topics(start)


def topics_with_offsets(files: FileSystem, checkpoint: str, progress: Progress, source: int) -> Collection[str]:
    """Return the topics of a source that the next batch continues. A pending batch reads each topic that it names."""
    if progress.planned is None:
        return _begun_topics(read_initial_offset(files, checkpoint, source))
    start, end = read_source_range(files, checkpoint, progress.planned, source)
    return _begun_topics(end) | (_begun_topics(start) if progress.has_pending_batch else frozenset())


def read_next_offsets(
    files: FileSystem, checkpoint: str, sources: Collection[int]
) -> dict[int, Mapping[str, Mapping[str, int]]]:
    """Return the offsets after the newest committed batch, by source, topic and partition.

    Before the first batch of a source, they are the offsets at which it begins; without them, it is left out.
    sources: the numbers of the Kafka sources in the query.
    """
    committed = read_log(files, f"{checkpoint}/commits").newest
    ends = () if committed is None else read_offsets(files, checkpoint, committed).sources
    found: dict[int, Mapping[str, Mapping[str, int]]] = {}
    for number in sources:
        end = ends[number] if number < len(ends) else None
        offsets = read_initial_offset(files, checkpoint, number) if end is None else end
        if isinstance(offsets, dict):
            found[number] = offsets
    return found


def _begun_topics(offsets: object) -> frozenset[str]:
    """Return the topics with an offset after the first message."""
    if not isinstance(offsets, dict):
        return frozenset()
    return frozenset(topic for topic, partitions in offsets.items() if any(partitions.values()))


def forget_offsets(
    files: FileSystem, checkpoint: str, progress: Progress, topics: Mapping[int, Collection[str]]
) -> None:
    """Let the next batch read topics from their first messages, and drop a pending batch.

    A crash in between leaves offsets for which the same call can be repeated.
    topics: the topics by the number of the source.
    """
    log = read_log(files, f"{checkpoint}/offsets")
    for number in sorted(log.numbers):
        if progress.committed is None or number > progress.committed:
            files.delete(log.path(number))
    if progress.committed is None:
        for number, names in topics.items():
            path = f"{checkpoint}/sources/{number}/0"
            version, brace, offsets = files.read(path).partition("{")
            files.write(path, version + _without_topics(brace + offsets, names))
        return
    path = f"{checkpoint}/offsets/{progress.committed}"
    read_offsets(files, checkpoint, progress.committed)  # checks the version of the log
    lines = files.read(path).splitlines()
    for number, names in topics.items():
        lines[_FIRST_SOURCE_LINE + number] = _without_topics(lines[_FIRST_SOURCE_LINE + number], names)
    files.write(path, "\n".join(lines))


def _without_topics(offsets: str, topics: Collection[str]) -> str:
    """Return offsets without those of topics, which Spark then reads from their first messages."""
    kept = {topic: partitions for topic, partitions in json.loads(offsets).items() if topic not in topics}
    return json.dumps(kept, separators=(",", ":"))
