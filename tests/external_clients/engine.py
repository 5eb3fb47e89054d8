"""An engine with all endpoints, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.support.servers.certificates import Authority, Files
from tools.java.older_sparks import install

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ClientTestEngine:
    """The addresses of the engine's endpoints."""

    home: Path
    pid: int
    url: str
    connect: str
    thrift: str
    token: str
    formats: str = "json parquet"
    """The formats of the two tables that the clients create."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """The variables for the tokens of users and the certificates of authorities."""

    def environment(self, schema: str) -> dict[str, str]:
        """Return the environment of the clients' programs."""
        scheme, _, place = self.url.partition("://")
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests" / "external_clients"),
            "JETSQL_HOME": str(self.home),
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_TEST_SQLALCHEMY": f"jetsql://:{self.token}@{place}/default?tls={str(scheme == 'https').lower()}",
            "JETSQL_TEST_CONNECT": self.connect,
            "JETSQL_TEST_THRIFT": self.thrift,
            "JETSQL_TEST_URL": self.url,
            "JETSQL_TEST_TOKEN": self.token,
            "JETSQL_TEST_SCHEMA": schema,
            "JETSQL_TEST_FORMATS": self.formats,
            **self.shared,
        }


LAKEHOUSE_SPARK: Final = "4.1"
"""The Spark for which both Delta and Iceberg have a release."""


def run_jetsql(
    home: Path,
    *arguments: str,
    environ: Mapping[str, str] = os.environ,
    python: Path = Path(sys.executable),
    config: str = os.devnull,
) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    own = {"JETSQL_CONFIG": config, "JETSQL_MASTER": "local[2]", "JETSQL_DRIVER_MEMORY": "1g"}
    own["JETSQL_LOGIN_SECONDS"] = "60"  # a client in Java can need more than the default on a busy machine
    return subprocess.run(
        [str(python), "-m", "jetsql", *arguments, "--home", str(home)],
        env={**environ, "PYTHONPATH": str(ROOT), **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@contextmanager
def run_engine(home: Path, python: Path = Path(sys.executable), config: str = os.devnull) -> Iterator[ClientTestEngine]:
    """Run an engine with all endpoints."""
    started = run_jetsql(home, "start", "--thrift", python=python, config=config)
    assert started.returncode == 0, started.stderr
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        yield ClientTestEngine(home, *(note[name] for name in ("pid", "url", "connect", "thrift", "token")))
    finally:
        stopped = run_jetsql(home, "stop", python=python, config=config)
        assert stopped.returncode == 0, stopped.stderr


@contextmanager
def run_lakehouse(folder: Path) -> Iterator[ClientTestEngine]:
    """Run an engine with Delta tables, and Iceberg tables in the catalogue `lake`."""
    config = folder / "config.toml"
    lines = ["delta = true", "[catalogs.lake]", "type = 'iceberg'", "kind = 'hadoop'", f"warehouse = '{folder}/lake'"]
    config.write_text("\n".join(lines), encoding="utf-8")
    with run_engine(folder / "home", install(LAKEHOUSE_SPARK), str(config)) as engine:
        yield engine


_SHARED: Final = (
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.orders (id INT, customer STRING) USING parquet",
    "CREATE TABLE shop.customers (name STRING, country STRING) USING parquet",
    "CREATE TABLE shop.payroll (name STRING, pay INT) USING parquet",
    "CREATE TABLE shop.copied (id INT, customer STRING) USING parquet",
    "INSERT INTO shop.orders VALUES (1, 'Ada'), (2, 'Grace')",
    "INSERT INTO shop.customers VALUES ('Ada', 'UK'), ('Grace', 'US')",
    "CREATE JOB copying AS INSERT INTO shop.copied SELECT * FROM STREAM shop.orders",
    *(f"CREATE USER {user}" for user in ("reader", "operator", "analyst")),
    "CREATE ROLE analysts",
    "GRANT analysts TO analyst",
    "GRANT SELECT ON TABLE shop.orders TO reader",
    "GRANT SELECT ON TABLE shop.customers TO reader",
    "GRANT OPERATE ON JOB copying TO operator",
)


@contextmanager
def run_shared_engine(folder: Path) -> Iterator[ClientTestEngine]:
    """Run an engine with TLS and users: one reads two tables, one operates a job, and one has a role for dbt."""
    authority = Authority(folder / "authority")
    files = authority.issue(Files(folder / "cert.pem", folder / "key.pem"))
    config = folder / "config.toml"
    config.write_text(f"tls_cert = '{files.certificate}'\ntls_key = '{files.key}'\n", encoding="utf-8")
    with run_engine(folder / "home", config=str(config)) as engine:
        shared = {"JETSQL_CA_FILE": str(authority.file)}
        _run_statements(engine, config, _SHARED)
        for user in ("reader", "operator", "analyst"):
            [row] = _run_statements(engine, config, [f"CREATE TOKEN FOR {user}"])
            shared[f"JETSQL_TEST_{user.upper()}"] = row["token"]
        yield replace(engine, shared=shared)


def _run_statements(engine: ClientTestEngine, config: Path, statements: Sequence[str]) -> list[dict[str, str]]:
    """Run statements as the user `owner`, and return the rows."""
    text = ";".join(statements)
    ended = run_jetsql(engine.home, "--format", "json", "-e", text, config=str(config))
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]
