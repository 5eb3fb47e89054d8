"""An engine that is killed with -9 while it registers a schema: the registry has it or not, and the job starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.home.discovery import read_note
from tests.support.paths import ROOT
from tests.support.servers.kafka import Kafka
from tests.support.servers.schema_registry import Registry

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '200') AS INSERT INTO sink SELECT id FROM STREAM numbers"


class Home:
    """The home of an engine that each call starts if it does not run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a call of the program."""
        own = {"JETSQL_CONFIG": os.devnull, "JETSQL_HOME": str(self.folder), "JETSQL_MASTER": "local[2]"}
        return subprocess.Popen(
            [sys.executable, "-m", "jetsql", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **own, "JETSQL_DRIVER_MEMORY": "1g"},
        )

    def run(self, *arguments: str) -> str:
        """Return the output of a call."""
        with self.start(*arguments) as call:
            output, _ = call.communicate(timeout=240)
        assert call.returncode == 0, output
        return output

    def kill(self) -> None:
        note = read_note(self.folder)
        assert note is not None
        os.kill(note.pid, signal.SIGKILL)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    yield home
    home.run("stop")


@pytest.mark.parametrize("format_", ["protobuf", "json"])
def test_a_killed_registration(home: Home, kafka: Kafka, registry: Registry, format_: str) -> None:
    topic = kafka.topic(f"killed.{format_}", 1)
    subject = f"{topic}-value"
    options = {"value_format": format_, f"{format_}_schema_registry_url": registry.url}
    tables = (
        f"CREATE TABLE numbers (id BIGINT) USING json; CREATE TABLE sink (id BIGINT) {kafka.options(topic, **options)}"
    )
    home.run("-e", tables)
    for moment, versions in (("before", None), ("after", [1])):
        registry.holds = moment
        registry.held.clear()
        registry.released.clear()
        with home.start("-e", JOB) as call:
            assert registry.held.wait(120)
            home.kill()
            registry.released.set()
            call.communicate(timeout=120)
        assert call.returncode != 0
        assert registry.subjects.get(subject) == versions
    registry.holds = ""
    home.run("-e", f"{JOB}; INSERT INTO numbers VALUES (5); WAIT FOR JOB j UNTIL IDLE")
    home.kill()
    home.run("-e", "INSERT INTO numbers VALUES (6); WAIT FOR JOB j UNTIL IDLE")
    bodies = {"protobuf": [b"\0\x08\x05", b"\0\x08\x06"], "json": [b'{"id":5}', b'{"id":6}']}
    assert [message.value for message in kafka.read(topic)] == [b"\0\0\0\0\1" + body for body in bodies[format_]]
    assert registry.subjects == {subject: [1]}
