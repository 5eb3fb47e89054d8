"""The choice of a checkpoint's files that are its state as of a batch, by their names alone."""

from __future__ import annotations

import json
from typing import Any

from jetsql.engine.checkpoints.checkpoint_copies import select_files_as_of
from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry, plan_result
from jetsql.jobs.checkpoint_files.log_entries import read_progress

LOG = """v1
{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"2"}}
{"logOffset":7}
{"orders":{"0":12}}"""

NAMES = """metadata offsets/5 offsets/6 offsets/.6.crc commits/5 commits/6 commits/.7.5d1c.tmp
sources/0/6 sources/0/7 sources/0/8 sources/0/5.compact sources/0/9.compact sources/1/0
state/0/0/6_a.changelog state/0/0/7_b.zip state/0/0/6_a.changelog.crc state/0/0/_metadata/schema
state/0/0/SSTs/000008-c.sst state/0/_metadata/metadata state/0/0/left-keyToNumValues/6_e.changelog
state/0/0/left-keyToNumValues/7_f.changelog""".split()


def test_an_entry_of_the_offset_log() -> None:
    offsets = OffsetLogEntry.parse(LOG)
    assert offsets.sources == ({"logOffset": 7}, {"orders": {"0": 12}})
    assert offsets.confs == {"spark.sql.shuffle.partitions": "2"}
    assert OffsetLogEntry.parse("v1\n{}\nseven").sources == (None,)


def test_later_entries_are_omitted() -> None:
    left_out = set(NAMES) - set(select_files_as_of(NAMES, 5, OffsetLogEntry.parse(LOG)))
    assert left_out == {
        *("metadata", "offsets/6", "offsets/.6.crc", "commits/6", "commits/.7.5d1c.tmp"),
        *("sources/0/8", "sources/0/9.compact", "state/0/0/7_b.zip", "state/0/0/left-keyToNumValues/7_f.changelog"),
    }


def test_a_backup_has_the_plan_of_the_next_batch() -> None:
    """Copy the offsets and the files that the next batch reads, and the state before it."""
    left_out = set(NAMES) - set(select_files_as_of(NAMES, 5, OffsetLogEntry.parse(LOG), 6))
    assert left_out == {
        *("metadata", "offsets/.6.crc", "commits/6", "commits/.7.5d1c.tmp", "sources/0/8", "sources/0/9.compact"),
        *("state/0/0/7_b.zip", "state/0/0/left-keyToNumValues/7_f.changelog"),
    }


def test_the_state_comes_last() -> None:
    """Copy the state after the logs, so that a crash leaves no state without its logs."""
    ordered = [name.startswith("state/") for name in select_files_as_of(NAMES, 6, OffsetLogEntry.parse(LOG))]
    assert ordered == sorted(ordered)


class InMemoryFiles:
    """The calls of a FileSystem that read and write the logs of a checkpoint."""

    def __init__(self, **entries: str) -> None:
        self.texts = {f"c/{name.replace('_', '/')}": text for name, text in entries.items()}

    def list_names(self, folder: str) -> list[str]:
        return [path.rpartition("/")[2] for path in self.texts if path.startswith(f"{folder}/")]

    def read(self, path: str) -> str:
        return self.texts[path]

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text


def test_batch_that_writes_a_result_has_the_newest_watermark() -> None:
    files: Any = InMemoryFiles(
        offsets_4="v1\n{}\n-", offsets_5=LOG, commits_4="v1\n{}", commits_5='v1\n{"nextBatchWatermarkMs":9000}'
    )
    plan_result(files, "c")
    progress = read_progress(files, "c")
    assert (progress.planned, progress.committed) == (6, 5)
    version, metadata, *sources = files.read("c/offsets/6").splitlines()
    assert [version, *sources] == [LOG.splitlines()[0], *LOG.splitlines()[2:]]
    planned = json.loads(metadata)
    assert planned.pop("batchTimestampMs") > 1_700_000_000_000
    assert planned == {"batchWatermarkMs": 9000, "conf": {"spark.sql.shuffle.partitions": "2"}}
