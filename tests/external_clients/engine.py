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


def run_jetsql(
    home: Path, *arguments: str, environ: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    own = {"JETSQL_CONFIG": os.devnull, "JETSQL_MASTER": "local[2]", "JETSQL_DRIVER_MEMORY": "1g"}
    own["JETSQL_LOGIN_SECONDS"] = "60"  # a client in Java can need more than the default on a busy machine
    return subprocess.run(
        [sys.executable, "-m", "jetsql", *arguments, "--home", str(home)],
        env={**environ, "PYTHONPATH": str(ROOT), **own},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@contextmanager
def run_engine(home: Path) -> Iterator[ClientTestEngine]:
    """Run an engine with all endpoints."""
    started = run_jetsql(home, "start", "--thrift")
    assert started.returncode == 0, started.stderr
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        yield ClientTestEngine(home, *(note[name] for name in ("pid", "url", "connect", "thrift", "token")))
    finally:
        stopped = run_jetsql(home, "stop")
        assert stopped.returncode == 0, stopped.stderr
