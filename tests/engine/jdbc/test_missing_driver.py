"""The error for a database whose JDBC driver the engine does not have. No JVM is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jetsql.engine.jdbc.jdbc_databases import NO_DRIVER, JdbcError, driver_missing, explain_read_error
from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from jetsql.engine.jvm import launch
from jetsql.errors import StatementError
from jetsql.home.discovery import EngineNote, write_note
from tests.support.golden_reports import compare, report

NOT_FOUND = JdbcError(NO_DRIVER, POSTGRESQL.class_name)
OTHER_NOT_FOUND = JdbcError(NO_DRIVER, "org.other.Driver")
NOT_SUITABLE = JdbcError(NO_DRIVER, "No suitable driver")


@pytest.mark.parametrize(
    "error",
    [
        driver_missing(NOT_FOUND, "PostgreSQL 127.0.0.1:5432/shop", POSTGRESQL),
        driver_missing(OTHER_NOT_FOUND, "other x"),
        driver_missing(NOT_SUITABLE, "other x"),
        explain_read_error(NOT_FOUND),
        explain_read_error(OTHER_NOT_FOUND),
        explain_read_error(JdbcError(NO_DRIVER, "org.postgres.Driver")),
        driver_missing(OTHER_NOT_FOUND, "PostgreSQL 127.0.0.1:5432/shop", POSTGRESQL),
    ],
    ids=["PostgreSQL", "other class", "no class", "read", "read other", "misspelt", "of another database"],
)
def test_the_error_names_the_driver(error: StatementError) -> None:
    compare(report(error))


def background_engine(home: Path, monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], pid: int) -> None:
    monkeypatch.setattr(launch, "_home", home)
    write_note(home, EngineNote(pid, "http://127.0.0.1:1", "token", "0", 0.0, conf=conf))


def test_hint_restarts_the_engine_with_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a home"
    home.mkdir()
    background_engine(home, monkeypatch, {}, os.getpid())
    package = f"spark.jars.packages={POSTGRESQL.package}"
    assert explain_read_error(NOT_FOUND).hint == (
        f"Run `jetsql stop --home '{home}'`, then `jetsql start --home '{home}' --conf {package}`."
    )
    background_engine(home, monkeypatch, {"spark.jars.packages": "org.a:b:1"}, os.getpid())
    assert f"--conf spark.jars.packages=org.a:b:1,{POSTGRESQL.package}`" in explain_read_error(NOT_FOUND).hint


def test_hint_for_an_embedded_engine_has_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    background_engine(tmp_path, monkeypatch, {}, os.getpid() + 1)
    assert explain_read_error(NOT_FOUND).hint == (
        f"Start Spark with the setting spark.jars.packages={POSTGRESQL.package}."
    )
