"""Record a home as this release leaves it when it is killed while batches run.

    python -m tests.releases.recording NAME

makes tests/releases/NAME, once for each release, because a recording has the files of that release. The catalog is left
out, since it contains absolute paths; `restoring` creates a new one. In all other files, the path of the home is a
placeholder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from jetsql.failpoints import VARIABLE
from tests.faults.source import Source
from tests.releases.jobs import SERVER_TABLES
from tests.support.servers.postgres import Postgres, running_postgres

ROOT = Path(__file__).parents[2]
HOME = "@HOME@"
_KEPT = ("numbers", "warehouse", "checkpoints", "snapshots")
_PLACES = ("sink-written:digits@3", "manifest-written:minutes@3", "file-moved:parts@7", "jdbc-committed:orders@3")


def main(name: str) -> None:
    target = Path(__file__).parent / name
    if target.exists():
        sys.exit(f"{target} is there already; what a release wrote is recorded once.")
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server:
        home = Path(folder).resolve() / "home"
        server(SERVER_TABLES)
        Source(home / "numbers").add(6)
        _run_until_killed(home, server)
        _record(home, server, target)
        sys.stdout.write(f"{target}\n")


def _run_until_killed(home: Path, server: Postgres) -> None:
    environment = {**os.environ, VARIABLE: ",".join(_PLACES), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.releases.program", "make", str(home), server.url]
    with subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True) as process:
        code = process.wait(180)
        os.killpg(process.pid, signal.SIGKILL)
    assert code == -signal.SIGKILL, code


def _record(home: Path, server: Postgres, target: Path) -> None:
    for kept in _KEPT:
        for path in sorted((home / kept).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                copied = target / kept / path.relative_to(home / kept)
                copied.parent.mkdir(parents=True, exist_ok=True)
                _record_file(str(home), path, copied)
    with closing(sqlite3.connect(home / "jetsql.db")) as store:
        (target / "store.sql").write_text("\n".join(store.iterdump()).replace(str(home), HOME))
    tables = {table: server(f"SELECT * FROM release.{table} ORDER BY 1") for table in ("orders", "jetsql_ledger")}
    inserts = [f"INSERT INTO release.{table} VALUES ({_values(row)});\n" for table in tables for row in tables[table]]
    (target / "server.sql").write_text("".join(inserts))


def _record_file(home: str, path: Path, copied: Path) -> None:
    if path.name == "lease.json" or home.encode() in path.read_bytes():
        copied.write_text(path.read_text().replace(home, HOME).replace(socket.gethostname(), "recorded"))
    else:
        shutil.copyfile(path, copied)


def _values(row: tuple[object, ...]) -> str:
    return ", ".join(f"'{value}'" for value in row)


if __name__ == "__main__":
    main(sys.argv[1])
