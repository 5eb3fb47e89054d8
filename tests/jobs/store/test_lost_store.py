"""A home whose store is lost: no engine creates an empty one, with which a job would process all rows again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.home.storage import NOTE as STORAGE_NOTE
from jetsql.home.store_note import is_home
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.store_choice import open_database, prepare_database
from tests.support.golden_reports import raises


def start(home: Path, new_store: bool = False) -> Store:
    return open_database(home, prepare_database(home, None, None), new_store)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with the checkpoint of a job."""
    with closing(start(tmp_path)):
        pass
    (tmp_path / "checkpoints" / "0001-0000-0000-0001" / "spark-0").mkdir(parents=True)
    return tmp_path


def content(home: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(home.iterdir()) if path.is_file()]


@pytest.mark.parametrize("way", ["missing", "empty", "without tables"])
@pytest.mark.parametrize("kind", ["checkpoints", "snapshots"])
def test_a_lost_store_is_not_replaced_by_an_empty_one(home: Path, way: str, kind: str) -> None:
    (home / "checkpoints").rename(home / kind)
    (home / "jetsql.db").unlink()
    if way != "missing":
        (home / "jetsql.db").write_bytes(b"")
    if way == "without tables":  # as an engine that was killed at the first start leaves it
        with closing(prepare_database(home, None, None).create_engine().connect()) as connection:
            connection.exec_driver_sql("PRAGMA user_version = 0")
    before = content(home)
    with raises(EngineError, match="STORE_DAMAGED"):
        start(home)
    assert content(home) == before
    assert is_home(home)


def test_empty_store_can_be_requested(home: Path) -> None:
    (home / "jetsql.db").unlink()
    with closing(start(home, new_store=True)) as store:
        assert store.all_jobs() == ()
    with closing(start(home)):
        pass


def test_existing_store_is_kept(home: Path) -> None:
    before = content(home)
    with raises(EngineError, match="INVALID_SETTING"):
        start(home, new_store=True)
    assert content(home) == before


def test_a_storage_that_only_spark_reaches_counts_as_used(tmp_path: Path) -> None:
    (tmp_path / STORAGE_NOTE).write_text('{"root": "s3a://bucket/folder", "id": "1"}')
    with raises(EngineError, match="STORE_DAMAGED"):
        start(tmp_path)


@pytest.mark.parametrize("folders", [(), ("checkpoints",), ("metastore", "snapshots")])
def test_a_home_without_files_of_jobs_gets_a_store(tmp_path: Path, folders: tuple[str, ...]) -> None:
    """Accept the folders of an engine that was killed at its first start."""
    for folder in folders:
        (tmp_path / folder).mkdir()
    (tmp_path / "jetsql.db").touch()
    with closing(start(tmp_path)) as store:
        assert store.all_jobs() == ()
