"""Engines on new homes of one store, as processes of their own: one leads, and a later one continues its store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from jetsql.home.storage import storage_of
from jetsql.home.store_note import store_note_of
from tests.support.engines.store_places import SchemaPlace
from tests.support.paths import ROOT
from tests.support.servers.postgres import PASSWORD, Postgres

pytestmark = pytest.mark.spark
ROUNDS = 50


class Starter:
    """A process that starts one engine after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, line: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(line)}\n")
        self._process.stdin.flush()

    def role(self) -> str:
        """Return the role that the engine reports next."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def begin() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.programs.engine_starts"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "STORE_PASSWORD": PASSWORD},
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_leads_and_the_other_takes_over(postgres: Postgres, tmp_path: Path) -> None:
    with ExitStack() as processes:
        starters = [Starter(processes.enter_context(begin())) for _ in range(2)]
        for number in range(ROUNDS):
            schema = SchemaPlace(postgres)
            starters.reverse()  # the one that gets its line first is a little faster
            for each, starter in enumerate(starters):
                starter.send([str(tmp_path / f"{number}-{each}"), str(schema.url)])
            roles = [starter.role() for starter in starters]
            assert sorted(roles) == ["leader", "standby"], number
            leader, standby = roles.index("leader"), roles.index("standby")
            assert schema.execute("SELECT number FROM lease") == [(1,)]
            starters[leader].send("stop")
            assert starters[standby].role() == "leader"
            assert schema.execute("SELECT number FROM lease") == [(2,)]
            starters[standby].send("stop")
            schema.drop()


def test_new_home_continues_a_store_without_engines(postgres: Postgres, tmp_path: Path) -> None:
    schema = SchemaPlace(postgres)
    homes = [tmp_path / "first", tmp_path / "second"]
    with begin() as process:
        starter = Starter(process)
        for number, home in enumerate(homes, start=1):
            starter.send([str(home), str(schema.url)])
            assert starter.role() == "leader"
            assert schema.execute("SELECT number FROM lease") == [(number,)]
            starter.send("stop")
        process.communicate()
    notes = [store_note_of(home) for home in homes]
    assert notes[0] == notes[1] and storage_of(homes[1]).root == "file:/shared"
