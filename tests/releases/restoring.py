"""Restore a recorded home at a new path: its files with this path, and its store with the tables of the new catalog.

A table is identified by its creation time, which differs here, so it is replaced in the records of the jobs.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.releases.jobs import SERVER_TABLES
from tests.releases.recording import HOME
from tests.support.servers.postgres import Postgres

_LEDGER = (
    'CREATE TABLE release."jetsql_ledger" (job VARCHAR(64) NOT NULL, batch BIGINT NOT NULL, row_count BIGINT NOT NULL,'
    " committed TIMESTAMP NOT NULL, PRIMARY KEY (job, batch));"
)


def restore_server(recorded: Path, server: Postgres) -> None:
    server(f"DROP SCHEMA IF EXISTS release CASCADE; {SERVER_TABLES} {_LEDGER} {(recorded / 'server.sql').read_text()}")


def restore_files(recorded: Path, home: Path) -> None:
    """Restore everything but the store: without it, the engine that creates the catalogue starts no job."""
    for path in sorted(recorded.rglob("*")):
        if path.is_file() and path.parent != recorded:
            copied = home / path.relative_to(recorded)
            copied.parent.mkdir(parents=True, exist_ok=True)
            _restore_file(str(home), path, copied)
    for minute, path in enumerate(sorted((home / "numbers").iterdir())):
        os.utime(path, (minute, minute))  # a file source reads by time


def _restore_file(home: str, path: Path, copied: Path) -> None:
    if HOME.encode() in path.read_bytes():
        copied.write_text(path.read_text().replace(HOME, home))
    else:
        shutil.copyfile(path, copied)


def restore_store(recorded: Path, home: Path, created: Mapping[str, int]) -> None:
    """Restore the store of a release. created: milliseconds, by qualified table."""
    store = home / "jetsql.db"
    store.unlink()
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript((recorded / "store.sql").read_text().replace(HOME, str(home)))
        for job, record in connection.execute("SELECT id, record FROM jobs").fetchall():
            facts = json.loads(record)
            analysis = facts.get("version", facts)["plan"]["analysis"]  # 0.1 has no version in a job
            for table in (analysis["sink"], *analysis["sources"]):
                _recreated(table, created)
            connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (json.dumps(facts), job))
        connection.commit()


def _recreated(table: dict[str, Any], created: Mapping[str, int]) -> None:
    table["created"] = created[table.get("table") or table["name"]]
