"""What is damaged at a death and left over in the end, as `jetsql check` and the server tell it: nothing may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jetsql.check.check_home import check
from jetsql.check.findings import Severity
from tests.support.postgres import Postgres

_TABLES_OF_OURS = "SELECT relname FROM pg_class WHERE relname LIKE 'jetsql\\_%' AND relkind = 'r'"


def damages(home: Path) -> list[str]:
    """Errors in a home whose engine has just died: a death may leave something over and damages nothing."""
    return [f"{found.what} ({found.where})" for found in check(home).findings if found.severity is Severity.ERROR]


def leftovers(home: Path, server: Postgres) -> list[str]:
    """In words; empty when there are none."""
    found = [f"{found.what} ({found.where})" for found in check(home).findings if found.severity.is_problem]
    return [*found, *_versions(home), *_on_server(server)]


def _versions(home: Path) -> Iterator[str]:
    """An update leaves one checkpoint."""
    for job in (home / "checkpoints").iterdir():
        versions = [path.name for path in job.glob("spark*") if path.is_dir()]
        if len(versions) > 1:
            yield f"{job.name} has the checkpoints {versions}"


def _on_server(server: Postgres) -> Iterator[str]:
    for (name,) in server(_TABLES_OF_OURS):
        if name != "jetsql_ledger":
            yield f"the table {name} is left on the server"
