"""The choice of a checkpoint's files that are its state as of a batch, by their names alone."""

from __future__ import annotations

from jetsql.engine.checkpoints.checkpoint_copies import select_files_as_of
from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry

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


def test_what_came_later_is_left_out() -> None:
    left_out = set(NAMES) - set(select_files_as_of(NAMES, 5, OffsetLogEntry.parse(LOG)))
    assert left_out == {
        *("metadata", "offsets/6", "offsets/.6.crc", "commits/6", "commits/.7.5d1c.tmp"),
        *("sources/0/8", "sources/0/9.compact", "state/0/0/7_b.zip", "state/0/0/left-keyToNumValues/7_f.changelog"),
    }


def test_a_backup_has_the_plan_of_the_next_batch() -> None:
    """The offsets and the files that the next batch reads, and the state before it."""
    left_out = set(NAMES) - set(select_files_as_of(NAMES, 5, OffsetLogEntry.parse(LOG), 6))
    assert left_out == {
        *("metadata", "offsets/.6.crc", "commits/6", "commits/.7.5d1c.tmp", "sources/0/8", "sources/0/9.compact"),
        *("state/0/0/7_b.zip", "state/0/0/left-keyToNumValues/7_f.changelog"),
    }


def test_the_state_comes_last() -> None:
    """A death in the middle of the copy leaves no state that logs do not belong to."""
    ordered = [name.startswith("state/") for name in select_files_as_of(NAMES, 6, OffsetLogEntry.parse(LOG))]
    assert ordered == sorted(ordered)
