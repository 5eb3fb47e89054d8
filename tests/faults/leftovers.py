"""What must not be left over when all is done: staged rows, checkpoints of jobs that are gone, tables of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from jetsql.jobs.store import Store
from tests.postgres import Postgres

_TABLES_OF_OURS = "SELECT relname FROM pg_class WHERE relname LIKE 'jetsql\\_%' AND relkind = 'r'"


def leftovers(home: Path, server: Postgres) -> list[str]:
    """In words; empty when there are none."""
    return [*_staged(home / "warehouse"), *_checkpoints(home), *_snapshots(home), *_on_server(server)]


def _staged(warehouse: Path) -> Iterator[str]:
    for folder in warehouse.glob("*/.jetsql"):
        files = [path for path in folder.rglob("*") if path.is_file()]
        if files:
            yield f"{len(files)} staged files are left in {folder.parent.name}"


def _checkpoints(home: Path) -> Iterator[str]:
    with closing(Store(home / "jetsql.db")) as store:
        wanted = {job.id: job.name for job in (*store.live_jobs(), *store.jobs_with_files())}
    there = {folder.name for folder in (home / "checkpoints").iterdir()}
    for job in sorted(there - set(wanted)):
        yield f"the checkpoint {job} belongs to no job"
    for job in sorted(set(wanted) - there):
        yield f"{wanted[job]} has no checkpoint"


def _snapshots(home: Path) -> Iterator[str]:
    """A snapshot is whole or not there, and an update leaves one checkpoint."""
    with closing(Store(home / "jetsql.db")) as store:
        wanted = {snapshot.id: snapshot.name for snapshot in store.snapshots()}
    folders = {path.name for path in home.glob("snapshots/*")}
    for odd in sorted(folders ^ set(wanted)):
        yield f"the snapshot {wanted.get(odd, odd)} is {'not whole' if odd in wanted else 'a half that is left'}"
    for job in (home / "checkpoints").iterdir():
        versions = [path.name for path in job.glob("spark*") if path.is_dir()]
        if len(versions) > 1:
            yield f"{job.name} has the checkpoints {versions}"


def _on_server(server: Postgres) -> Iterator[str]:
    for (name,) in server(_TABLES_OF_OURS):
        if name != "jetsql_ledger":
            yield f"the table {name} is left on the server"
