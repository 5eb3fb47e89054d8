"""The folders of jobs: which are deleted, and by whom."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import pytest

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.model.leadership import Leadership
from tests.jobs.store.test_store import JOB
from tests.support.golden_reports import raises

NAMES = ("lease.json", "manifests", "spark", "spark-1", "spark-2", "spark-2.begin", "spark-3", "spark-3.4.draft")


class Files:
    """A folder of a job, and a record of what is deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def list_names(self, folder: str) -> list[str]:
        return list(NAMES)

    def delete(self, path: str) -> None:
        self.deleted.append(path.rpartition("/")[2])


def folders(files: Files, leadership: Leadership) -> Checkpoints:
    return Checkpoints("/checkpoints", cast(FileSystem, files), leadership)


def test_checkpoints_of_other_versions_are_stale() -> None:
    files = Files()
    version = replace(JOB.version, checkpoint=2)
    job = replace(JOB, version=version, rollback_version=replace(version, checkpoint=1))
    folders(files, Leadership()).delete_stale(job)
    assert files.deleted == ["spark", "spark-3", "spark-3.4.draft"]


@pytest.mark.parametrize("delete", [Checkpoints.delete_stale, Checkpoints.reset, Checkpoints.discard])
def test_paused_engine_deletes_no_files_of_the_next_leader(
    delete: Callable[[Checkpoints, object], None],
) -> None:
    """Delete with an engine that cannot be sure of its lead, but does not know yet that it has lost it."""
    files, leadership = Files(), Leadership()
    leadership.begin(7, time.monotonic())
    with ThreadPoolExecutor(1) as threads:
        deletion = threads.submit(delete, folders(files, leadership), JOB)
        leadership.lose("the engine of process 2")
        with raises(StatementError, match="process 2 leads now"):
            deletion.result(20)
    assert files.deleted == []
