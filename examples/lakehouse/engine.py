"""An engine with Delta, in a process of its own, which the demo starts, kills and stops by the commands of users."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from examples.story import display_path, say
from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError
from jetsql.home.discovery import read_note, token

CONFIG: Final = """\
delta = true
master = "local[2]"
driver_memory = "2g"
spark.sql.shuffle.partitions = 2
spark.databricks.delta.snapshotPartitions = 1
"""


class DeltaEngine:
    """The engine of the demo. python: of an environment with a Spark that Delta has a release for."""

    def __init__(self, folder: Path, python: Path) -> None:
        self._python = python
        self._home = folder / "engine"
        self._config = folder / "config.toml"
        self._config.write_text(CONFIG, encoding="utf-8")

    def start(self) -> EngineClient:
        """Start the engine, and return a session. Raises EngineError."""
        self._run("start")
        note = read_note(self._home)
        assert note is not None  # `jetsql start` waits until the engine accepts connections
        return EngineClient(note.url, token(self._home))

    def kill(self) -> None:
        """Kill the engine and its Spark (kill -9)."""
        note = read_note(self._home)
        assert note is not None
        process = psutil.Process(note.pid)
        say(f"\n  $ kill -9 {note.pid}        (with its Spark, as by a power failure)")
        family = [process, *process.children(recursive=True)]
        for each in family:
            each.kill()
        psutil.wait_procs(family)

    def stop(self) -> None:
        """Stop the engine, if it runs."""
        self._run("stop")

    def _run(self, command: str) -> None:
        say(f"\n  $ jetsql {command} --home {display_path(self._home)}")
        ended = subprocess.run(
            [str(self._python), "-m", "jetsql", command, "--home", str(self._home)],
            env={**os.environ, "JETSQL_CONFIG": str(self._config)},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise EngineError("ENGINE_NOT_STARTED", (ended.stderr or ended.stdout).strip())


@contextmanager
def stopping(engine: DeltaEngine) -> Iterator[None]:
    """Stop the engine after the block."""
    try:
        yield
    finally:
        engine.stop()
