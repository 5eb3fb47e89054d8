"""Spark's logs in a checkpoint, on a local disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.jobs.checkpoint_files.log_entries import Progress, read_log, read_progress
from jetsql.jobs.checkpoint_files.stored_files import LocalFiles

FILES = LocalFiles()


def write(folder: Path, *names: str) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).touch()


def test_progress_has_the_newest_batches(tmp_path: Path) -> None:
    write(tmp_path / "offsets", "7", "12", ".12.crc", "13.tmp", "1234567890123456789")
    write(tmp_path / "commits", "7", "9", "11")
    progress = read_progress(FILES, str(tmp_path))
    assert progress == Progress(planned=12, committed=11)
    assert progress.has_pending_batch
    assert (progress.replayed_batch, progress.next_batch) == (12, 12)


@pytest.mark.parametrize("names", [(), (".0.crc", "temporary")])
def test_checkpoint_without_batches_begins_with_the_first(tmp_path: Path, names: tuple[str, ...]) -> None:
    write(tmp_path / "offsets", *names)
    progress = read_progress(FILES, str(tmp_path))
    assert progress == Progress(planned=None, committed=None)
    assert (progress.replayed_batch, progress.next_batch) == (None, 0)


def test_committed_batch_is_not_repeated(tmp_path: Path) -> None:
    for name in ("offsets", "commits"):
        write(tmp_path / name, "3", "4")
    progress = read_progress(FILES, str(tmp_path))
    assert (progress.replayed_batch, progress.next_batch) == (None, 5)


def test_log_names_its_compacted_files(tmp_path: Path) -> None:
    write(tmp_path / "0", "8", "9.compact", "10")
    log = read_log(FILES, str(tmp_path / "0"))
    assert (log.newest, log.path(9), log.path(10)) == (10, f"{tmp_path}/0/9.compact", f"{tmp_path}/0/10")
