"""A PostgreSQL server for the tests: on loopback, on a free port, without fsync, deleted when its context ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from tools.free_ports import free_ports

DRIVER_PACKAGE = POSTGRESQL.package
USER = "ann"
PASSWORD = "s3cr3t-of-ann"
_START_SECONDS = 30.0


class Postgres:
    """A server. `start` and `stop` may be called repeatedly: port and data are kept."""

    def __init__(self, data: Path, port: int, account: dict[str, Any], addresses: Sequence[str]) -> None:
        self.port = port
        self._addresses = ",".join(("127.0.0.1", *addresses))
        self._data = data
        self._account = account
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = (
            f"listen_addresses={self._addresses}",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=60",
        )
        command = [_program("postgres"), "-D", str(self._data), "-p", str(self.port)]
        with (self._data / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *(word for setting in settings for word in ("-c", setting))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._account,
            )
        self._wait_until_up(self._process)

    def stop(self) -> None:
        """Stop the server in fast mode: sessions are ended, and no committed data is lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)
            self._process = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop all processes of the server during the context: it accepts connections and answers nothing."""
        assert self._process is not None, "the server runs"
        # The children of the server are those of its sessions, too.
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        processes = (self._process.pid, *map(int, children))
        _send(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            _send(processes, signal.SIGCONT)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server, and start it again at the end of the context."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def connect(self, user: str = USER, password: str = PASSWORD) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname="postgres", user=user, password=password, autocommit=True
        )

    def __call__(self, text: str) -> list[tuple[Any, ...]]:
        """Run statements, and return the rows of the last one."""
        with self.connect() as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def dump(self, schema: str, file: Path) -> None:
        """Write a schema to a file with pg_dump."""
        self._run_client("pg_dump", "--format=custom", f"--schema={schema}", f"--file={file}")

    def restore(self, file: Path) -> None:
        """Create what is in a file of pg_dump."""
        self._run_client("pg_restore", "--exit-on-error", "--dbname=postgres", str(file))

    def _run_client(self, program: str, *arguments: str) -> None:
        server = {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}
        environment = {**os.environ, **server, "PGDATABASE": "postgres"}
        subprocess.run([_program(program), *arguments], env=environment, check=True, capture_output=True)

    def options(self, table: str, user: str = USER, password: str = PASSWORD, **more: str) -> str:
        """Return the clauses after CREATE TABLE name for a table of this server.

        more: further options; `_` in a key is replaced by a dot.
        """
        options = {"url": self.url, "driver": POSTGRESQL.class_name, "dbtable": table}
        options |= {"user": user, "password": password}
        options |= {key.replace("_", "."): value for key, value in more.items()}
        pairs = ", ".join(f"'{key}' '{value}'" for key, value in options.items())
        return f"USING jdbc OPTIONS ({pairs})"

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(int(_START_SECONDS / 0.05)):
            try:
                self.connect().close()
            except psycopg.OperationalError:
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
                raise RuntimeError(f"PostgreSQL ended at once: {(self._data / 'server.log').read_text()}") from None
            else:
                return
        raise RuntimeError("PostgreSQL did not come up.")


@contextmanager
def running_postgres(addresses: Sequence[str] = (), clients: Sequence[str] = ()) -> Iterator[Postgres]:
    """Run a new server with one superuser (`USER`, `PASSWORD`) and one database (`postgres`).

    addresses: further addresses that it listens on. clients: the networks that may connect there.
    """
    account = _account()
    # Not pytest's folder: PostgreSQL refuses to run as root, and another account can't enter root's folders.
    with tempfile.TemporaryDirectory(prefix="jetsql-postgres-") as folder:
        if account:
            shutil.chown(folder, account["user"], account["group"])
        data = Path(folder) / "data"
        _initialize(data, Path(folder) / "password", account)
        with (data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {network} md5\n" for network in clients)
        server = Postgres(data, free_ports(1)[0], account, addresses)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _initialize(data: Path, password: Path, account: dict[str, Any]) -> None:
    password.write_text(PASSWORD)
    password.chmod(0o644)
    subprocess.run(
        (
            *(_program("initdb"), "-D", str(data), "-U", USER, f"--pwfile={password}", "--auth=md5"),
            *("--encoding=UTF8", "--locale=C", "--no-sync"),
        ),
        check=True,
        capture_output=True,
        **account,
    )


def _send(processes: Sequence[int], sent: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, sent)


def _account() -> dict[str, Any]:
    """Return the account to run as: PostgreSQL's own if this process is root's."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"}


def _program(name: str) -> str:
    """Return the path of a server program, which Debian keeps in a folder for each version, outside the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")]))
    if found is None:
        raise RuntimeError(f"PostgreSQL's {name} is not here; `make test` installs it (package postgresql).")
    return found
