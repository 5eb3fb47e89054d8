"""The file of a checkpoint with the ids of the topics that its offsets belong to.

Spark stores names and offsets only. A topic that is deleted and created again has the same name and another id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jetsql.jobs.checkpoint_files.log_entries import json_object
from jetsql.jobs.checkpoint_files.stored_files import StoredFiles

TOPICS_FILE: Final = "topics.json"
"""The name of the file in the checkpoint."""

Ids = Mapping[str, str]
"""The ids by topic."""


@dataclass(frozen=True)
class TopicIds:
    """The ids of the topics of a job, as it knows them."""

    sources: Mapping[int, Ids] = field(default_factory=dict)
    """The topics of each source, by the number of the source in the query."""
    sinks: Mapping[str, Ids] = field(default_factory=dict)
    """The topics of each sink, by the qualified name of its table."""

    def with_source(self, number: int, ids: Ids) -> TopicIds:
        """Return these ids with further or newer ones of a source."""
        return (
            self if not ids else TopicIds({**self.sources, number: {**self.sources.get(number, {}), **ids}}, self.sinks)
        )

    def with_sink(self, table: str, ids: Ids) -> TopicIds:
        """Return these ids with further or newer ones of a sink."""
        return self if not ids else TopicIds(self.sources, {**self.sinks, table: {**self.sinks.get(table, {}), **ids}})


def load_topic_ids(files: StoredFiles, path: str) -> TopicIds:
    """Return the ids in a file. Raises FileNotFoundError, and ValueError with the problem as a phrase."""
    facts = json_object(files, path)
    sources, sinks = _groups(facts.get("sources")), _groups(facts.get("sinks"))
    if not all(number.isdecimal() for number in sources):
        raise ValueError("a number of a source is not a number")
    return TopicIds({int(number): ids for number, ids in sources.items()}, sinks)


def _groups(value: object) -> dict[str, Ids]:
    """Return the ids of each source or sink. Raises ValueError for a value that is not made of them."""
    if not isinstance(value, dict) or not all(map(_are_ids, value.values())):
        raise ValueError("it has no ids of topics")
    return value


def _are_ids(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(topic_id, str) for topic_id in value.values())
