"""An engine with all endpoints, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

    def environment(self, schema: str) -> dict[str, str]:
        """Return the environment of the clients' programs."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests" / "external_clients"),
            "JETSQL_HOME": str(self.home),
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_TEST_SQLALCHEMY": f"jetsql://:{self.token}@{self.url.removeprefix('http://')}/default",
            "JETSQL_TEST_CONNECT": self.connect,
            "JETSQL_TEST_THRIFT": self.thrift,
            "JETSQL_TEST_URL": self.url,
            "JETSQL_TEST_TOKEN": self.token,
            "JETSQL_TEST_SCHEMA": schema,
            "JETSQL_TEST_FORMATS": self.formats,
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
