"""One damaged file of a home: `jetsql check` reports an error exactly if an engine does not start, and both name it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jetsql.check import check_home
from jetsql.check.check_home import check
from jetsql.check.findings import Severity
from jetsql.embedded.open_engine import _engine, home_token
from jetsql.errors import JetSQLError
from jetsql.home.home_lock import HomeLock, check_location
from jetsql.jobs.model.job import Status
from jetsql.settings.engine_settings import load
from tests.support.engines.check_homes import Home
from tests.support.engines.managed_engine import Managed

DATABASE = "jetsql.db"
Change = Callable[[Path], object]


@dataclass(frozen=True)
class Damage:
    """A damage of one file."""

    file: str
    name: str
    change: Change
    is_fatal: bool
    """True if no engine starts."""

    def __str__(self) -> str:
        return f"{self.file} {self.name}"


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbled(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\0garbled")


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "a file").touch()


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def gone(path: Path) -> None:
    path.unlink()


def zeros_at(offset: int, size: int) -> Change:
    def change(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(bytes(size))

    return change


def execute(statement: str) -> Change:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statement)

    return change


DAMAGES = [
    Damage(DATABASE, "gone", gone, True),
    Damage(DATABASE, "empty", empty, True),
    Damage(DATABASE, "garbled", garbled, True),
    Damage(DATABASE, "cut", cut, True),
    Damage(DATABASE, "header", zeros_at(0, 100), True),
    Damage(DATABASE, "first page", zeros_at(100, 3000), True),
    Damage(DATABASE, "second page", zeros_at(4096, 4096), True),
    Damage(DATABASE, "folder", folder, True),
    Damage(DATABASE, "pipe", pipe, True),
    Damage(DATABASE, "newer", execute("UPDATE meta SET value = '999' WHERE key = 'version'"), True),
    Damage(DATABASE, "no version", execute("DELETE FROM meta WHERE key = 'version'"), True),
    Damage(DATABASE, "odd version", execute("UPDATE meta SET value = 'x' WHERE key = 'version'"), True),
    Damage(DATABASE, "no jobs", execute("DROP TABLE jobs"), True),
    Damage(DATABASE, "no history", execute("DROP TABLE history"), True),
    Damage(DATABASE, "no snapshots", execute("DROP TABLE snapshots"), True),
    Damage(DATABASE, "no functions", execute("DROP TABLE functions"), True),
    Damage(DATABASE, "no column", execute("ALTER TABLE jobs RENAME COLUMN record TO another"), True),
    Damage(DATABASE, "record of a job", execute("UPDATE jobs SET record = 'no JSON'"), True),
    Damage(DATABASE, "record without a field", execute("UPDATE jobs SET record = '{}'"), True),
    Damage(DATABASE, "record of a snapshot", execute("UPDATE snapshots SET record = 'no JSON'"), True),
    Damage("engine.place", "empty", empty, True),
    Damage("engine.place", "garbled", garbled, True),
    Damage("engine.place", "folder", folder, True),
    Damage("engine.place", "gone", gone, False),
    Damage("engine.token", "garbled", garbled, True),
    Damage("engine.token", "empty", empty, False),
    Damage("engine.token", "folder", folder, True),
    Damage("engine.token", "gone", gone, False),
    Damage("engine.lock", "garbled", garbled, False),
    Damage("engine.lock", "folder", folder, True),
    Damage("engine.owner", "garbled", garbled, False),
    Damage("engine.owner", "folder", folder, True),
    Damage("engine.log", "garbled", garbled, False),
    Damage("engine.log", "folder", folder, True),
    Damage("engine.json", "garbled", garbled, False),
    Damage("engine.json", "folder", folder, True),
    Damage("engine.storage", "empty", empty, True),
    Damage("engine.storage", "garbled", garbled, True),
    Damage("engine.storage", "folder", folder, True),
    Damage("engine.storage", "pipe", pipe, True),
    Damage("engine.store", "empty", empty, True),
    Damage("engine.store", "garbled", garbled, True),
    Damage("engine.store", "folder", folder, True),
    Damage("metrics.db", "garbled", garbled, False),
    Damage("metrics.db", "empty", empty, False),
]


class Reached(Exception):
    """Raised in place of Spark's start."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a home as an engine with one job and a snapshot leaves it."""
    monkeypatch.setattr(check_home, "MIN_FREE_BYTES", 0)
    result = Home(tmp_path / "home")
    result.path.mkdir(mode=0o700)
    job = result.job(status=Status.SUSPENDED)
    result.checkpoint(result.spark(job))
    snapshot = result.snapshot(job)
    result.checkpoint(result.path / "snapshots" / snapshot.id)
    check_location(result.path)
    home_token(result.path)
    HomeLock(result.path).release()
    Managed(result.path).close()
    return result


def start(home: Path) -> JetSQLError | None:
    """Start an engine without Spark, as far as files of the home matter, and return its error."""

    def reach(settings: Any, storage: Any) -> Any:
        home_token(settings.home)
        raise Reached

    try:
        with suppress(Reached):
            _engine(load(home=home, master="local[1]"), reach, owns_spark=True)
        Managed(home).close()
    except JetSQLError as error:
        return error
    return None


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_check_agrees_with_the_start_of_an_engine(home: Home, damage: Damage) -> None:
    assert check(home.path).findings == () and start(home.path) is None
    path = home.path / damage.file
    damage.change(path)
    errors = [each for each in check(home.path).findings if each.severity is Severity.ERROR]
    error = start(home.path)
    assert (error is not None) is damage.is_fatal, error
    assert bool(errors) is damage.is_fatal, errors
    if error is not None:
        assert error.hint and errors[0].remedy
        assert damage.file in f"{error.message} {error.hint}", error.message
        assert damage.file in f"{errors[0].where} {errors[0].message}", errors[0]
