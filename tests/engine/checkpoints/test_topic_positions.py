"""The ids of topics in a checkpoint, and the offsets that a job forgets, without Spark."""

from __future__ import annotations

from typing import cast

import pytest

from jetsql.engine.checkpoints.checkpoint_copies import select_files_as_of
from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry, read_source_range
from jetsql.engine.checkpoints.topic_positions import (
    forget_offsets,
    read_next_offsets,
    read_topic_ids,
    topics_before,
    topics_with_offsets,
    write_topic_ids,
)
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.checkpoint_files.topic_ids import TOPICS_FILE, TopicIds

IDS = TopicIds({0: {"orders": "A"}}, {"spark_catalog.default.out": {"sums": "B"}})


class Files(dict[str, str]):
    """The files of a checkpoint by their paths."""

    def write(self, path: str, text: str) -> None:
        self[path] = text

    def read(self, path: str) -> str:
        return self[path]

    def read_if_there(self, path: str) -> str | None:
        return self.get(path)

    def read_checked(self, path: str) -> bytes:
        if path not in self:
            raise FileNotFoundError(path)
        return self[path].encode()

    def delete(self, path: str) -> None:
        self.pop(path, None)

    def list_names(self, folder: str) -> list[str]:
        return sorted(path.removeprefix(f"{folder}/") for path in self if path.startswith(f"{folder}/"))


def entry(*sources: str) -> str:
    return "\n".join(("v1", '{"batchWatermarkMs":0}', *sources))


def checkpoint() -> tuple[Files, FileSystem]:
    """Return a checkpoint with committed batch 3, pending batch 4, and two sources."""
    files = Files(
        {
            "c/offsets/2": entry('{"orders":{"0":1}}', '{"logOffset":0}'),
            "c/offsets/3": entry('{"orders":{"0":5,"1":7},"more":{"0":2}}', '{"logOffset":1}'),
            "c/offsets/4": entry('{"orders":{"0":6,"1":7},"more":{"0":2},"new":{"0":3}}', '{"logOffset":1}'),
        }
    )
    return files, cast(FileSystem, files)


def test_ids_are_read_as_written_and_copied_with_the_checkpoint() -> None:
    files, system = checkpoint()
    assert read_topic_ids(system, "c") == TopicIds()  # of a job of an earlier release
    write_topic_ids(system, "c", IDS)
    assert read_topic_ids(system, "c") == IDS
    assert TOPICS_FILE in select_files_as_of([TOPICS_FILE], 3, OffsetLogEntry.parse(files["c/offsets/3"]))


def test_further_ids_are_added_and_newer_ones_replace() -> None:
    both = IDS.with_source(0, {"more": "C"}).with_sink("spark_catalog.default.out", {"sums": "D"})
    assert both.sources == {0: {"orders": "A", "more": "C"}}
    assert both.sinks == {"spark_catalog.default.out": {"sums": "D"}}
    assert IDS.with_source(1, {}) == IDS == IDS.with_sink("t", {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"sources": {}}',
        '{"sources": {"x": {}}, "sinks": {}}',
        '{"sources": {"0": {"t": 1}}, "sinks": {}}',
    ],
)
def test_a_damaged_file_of_ids(text: str) -> None:
    files, system = checkpoint()
    files[f"c/{TOPICS_FILE}"] = text
    with pytest.raises(StatementError, match=r"topics.json is not readable: (it|a number)") as damaged:
        read_topic_ids(system, "c")
    assert damaged.value.condition == "JETSQL.CHECKPOINT_DAMAGED"


def test_the_topics_that_a_batch_continues() -> None:
    _, system = checkpoint()
    assert set(topics_before(system, "c", 4, 0)) == {"orders", "more"}
    assert set(topics_with_offsets(system, "c", Progress(4, 3), 0)) == {"orders", "more", "new"}
    assert set(topics_with_offsets(system, "c", Progress(3, 3), 0)) == {"orders", "more"}
    assert not topics_with_offsets(system, "c", Progress(None, None), 0)


def test_the_first_batch_continues_the_initial_offsets() -> None:
    files, system = checkpoint()
    files["c/offsets/0"] = entry('{"orders":{"0":9}}')
    files["c/sources/0/0"] = '\0v1\n{"orders":{"0":5},"new":{"0":0,"1":0}}'
    assert set(topics_before(system, "c", 0, 0)) == {"orders"}
    assert set(topics_with_offsets(system, "c", Progress(None, None), 0)) == {"orders"}


def test_forgotten_offsets_leave_those_of_other_topics_and_sources() -> None:
    files, system = checkpoint()
    for _ in range(2):  # the second call is that after a crash
        forget_offsets(system, "c", Progress(4, 3), {0: ["orders"]})
        assert files["c/offsets/3"] == entry('{"more":{"0":2}}', '{"logOffset":1}')
        assert sorted(files) == ["c/offsets/2", "c/offsets/3"]


def test_forgotten_offsets_are_not_the_initial_ones() -> None:
    files, system = checkpoint()
    files |= {"c/offsets/3": entry("{}", '{"logOffset":1}'), "c/sources/0/0": '\0v1\n{"orders":{"0":5}}'}
    assert read_source_range(system, "c", 4, 0)[0] == {} and not topics_before(system, "c", 4, 0)


def test_a_job_without_a_committed_batch_forgets_its_initial_offsets() -> None:
    """Kept offsets would skip as many messages of the new topic, as in a job that began with the newest ones."""
    files, system = checkpoint()
    files |= {"c/sources/0/0": '\0v1\n{"orders":{"0":5},"more":{"0":2}}', "c/sources/1/0": "x"}
    forget_offsets(system, "c", Progress(4, None), {0: ["orders"]})
    assert files == {"c/sources/0/0": '\0v1\n{"more":{"0":2}}', "c/sources/1/0": "x"}


def test_next_offsets_are_those_after_the_committed_batch() -> None:
    files, of_spark = checkpoint()
    files["c/commits/3"] = files["c/commits/2"] = "v1"
    files["c/sources/2/0"] = 'v1\n{"late":{"0":8}}'
    offsets = {0: {"orders": {"0": 5, "1": 7}, "more": {"0": 2}}, 2: {"late": {"0": 8}}}
    assert read_next_offsets(of_spark, "c", (0, 2, 3)) == offsets
    begun = Files({"c/sources/0/0": 'v1\n{"orders":{"0":4}}', "c/offsets/0": entry('{"orders":{"0":9}}')})
    assert read_next_offsets(cast(FileSystem, begun), "c", (0,)) == {0: {"orders": {"0": 4}}}
    assert read_next_offsets(cast(FileSystem, Files()), "c", (0,)) == {}
