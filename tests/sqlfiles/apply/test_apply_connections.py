"""Secrets and connections in a folder: their order, their statements, and how they are compared with the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from jetsql.sqlfiles.apply.connection_rows import find_differences
from jetsql.sqlfiles.apply.engine_state import EngineSessions
from jetsql.sqlfiles.apply.statement_edits import creating, replacing
from tests.sqlfiles.apply.test_declarations import names, ordered
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users

SECRET = "CREATE SECRET shop FROM ENV 'SHOP' FOR 'kafka://h:1' COMMENT 'x'"
CONNECTION = (
    "CREATE OR REPLACE CONNECTION `my pg` TYPE jdbc OPTIONS ('url' = 'jdbc:postgresql://h/d?password=p', "
    "'password' = 'secret:shop')"
)


class Sessions:
    """The sessions of an engine in memory."""

    def __init__(self, engine: Users) -> None:
        self._engine = engine

    def ask(self, declaration: object, text: str) -> list[dict[str, Any]]:
        return self._engine.run(text)


def differences(engine: Users, text: str) -> list[str] | None:
    [declaration] = ordered(text).items
    return find_differences(declaration, cast(EngineSessions, Sessions(engine)))


def test_secrets_and_connections_come_before_tables() -> None:
    table = "CREATE TABLE t USING jdbc OPTIONS ('connection' = 'my pg', 'dbtable' = 't')"
    assert names(f"{table};", f"{CONNECTION};", f"{SECRET};", "CREATE SCHEMA s;") == ["shop", "my pg", "s", "t"]


def test_statements_create_or_replace() -> None:
    [declaration] = ordered(CONNECTION).items
    assert creating(declaration).text.startswith("CREATE  CONNECTION `my pg`")
    assert replacing(declaration).text == CONNECTION
    [declaration] = ordered("CREATE SECRET IF NOT EXISTS shop FROM ENV 'SHOP'").items
    assert replacing(declaration).text.split() == "CREATE OR REPLACE SECRET shop FROM ENV 'SHOP'".split()


def test_names_are_declared_once() -> None:
    from tests.sqlfiles.apply.test_declarations import read

    assert len(read(f"{SECRET};", "CREATE SECRET SHOP FROM ENV 'X';").problems) == 1
    assert read(f"{SECRET};", "CREATE CONNECTION shop TYPE kafka OPTIONS ('a' = 'b');").problems == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SECRET, []),
        (SECRET.replace("'SHOP'", "'OTHER'"), ["another source"]),
        (SECRET.replace("h:1", "h:2"), ["other hosts"]),
        (SECRET.replace("'x'", "'y'"), ["another comment"]),
        ("CREATE SECRET other FROM ENV 'SHOP'", None),
        (CONNECTION, []),
        (CONNECTION.replace("//h/", "//h2/"), ["other options"]),
        (CONNECTION.replace("TYPE jdbc", "TYPE kafka"), ["another type"]),
        (f"{CONNECTION} COMMENT 'x'", ["another comment"]),
        (CONNECTION.replace("my pg", "other"), None),
    ],
)
def test_declared_object_is_compared(tmp_path: Path, text: str, expected: list[str] | None) -> None:
    with run_manager(tmp_path) as jobs:
        engine = Users(jobs)
        engine.run(SECRET)
        engine.run(CONNECTION)
        assert differences(engine, text) == expected
