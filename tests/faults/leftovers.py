"""The check for damage and leftover files after the crashes, as reported by `jetsql check` and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jetsql.check.check_home import check
from jetsql.check.findings import Severity
from tests.support.servers.postgres import Postgres

_TABLES_OF_OURS = "SELECT relname FROM pg_class WHERE relname LIKE 'jetsql\\_%' AND relkind = 'r'"


def find_damage(home: Path) -> list[str]:
    """Return the errors in a home whose engine has just crashed: a crash may leave files, but damages none."""
    return [f"{found.message} ({found.where})" for found in check(home).findings if found.severity is Severity.ERROR]


def find_leftovers(home: Path, server: Postgres) -> list[str]:
    """Return descriptions of what is left over; empty when nothing is."""
    found = [f"{found.message} ({found.where})" for found in check(home).findings if found.severity.is_problem]
    return [*found, *_versions(home), *_on_server(server)]


def _versions(home: Path) -> Iterator[str]:
    """Return checkpoints of old versions: an update leaves one checkpoint."""
    for job in (home / "checkpoints").iterdir():
        versions = [path.name for path in job.glob("spark*") if path.is_dir()]
        if len(versions) > 1:
            yield f"{job.name} has the checkpoints {versions}"


def _on_server(server: Postgres) -> Iterator[str]:
    for (name,) in server(_TABLES_OF_OURS):
        if name != "jetsql_ledger" and not name.startswith("jetsql_keys_"):
            yield f"the table {name} is left on the server"
