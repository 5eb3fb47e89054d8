"""An engine with all its doors, as a process of its own, for clients to come to."""

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
class RunningEngine:
    """Where its doors are. environment: what the clients' programs are told by."""

    home: Path
    pid: int
    url: str
    connect: str
    thrift: str
    token: str

    def environment(self, schema: str) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests" / "external_clients"),
            "JETSQL_HOME": str(self.home),
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_TEST_SQLALCHEMY": f"jetsql://:{self.token}@{self.url.removeprefix('http://')}/default",
            "JETSQL_TEST_CONNECT": self.connect,
            "JETSQL_TEST_THRIFT": self.thrift,
            "JETSQL_TEST_TOKEN": self.token,
            "JETSQL_TEST_SCHEMA": schema,
        }


def jetsql(home: Path, *arguments: str, environ: Mapping[str, str] = os.environ) -> subprocess.CompletedProcess[str]:
    """The command line, as its users call it."""
    own = {"JETSQL_CONFIG": os.devnull, "JETSQL_MASTER": "local[2]", "JETSQL_DRIVER_MEMORY": "1g"}
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
def running(home: Path) -> Iterator[RunningEngine]:
    """With all doors open, stopped in the end."""
    started = jetsql(home, "start", "--thrift")
    assert started.returncode == 0, started.stderr
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        yield RunningEngine(home, *(note[name] for name in ("pid", "url", "connect", "thrift", "token")))
    finally:
        stopped = jetsql(home, "stop")
        assert stopped.returncode == 0, stopped.stderr
