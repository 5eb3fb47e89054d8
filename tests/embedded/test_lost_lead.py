"""The end of a process whose engine has lost the lead: it starts again as a standby, unless it is stopped."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NoReturn, cast

import pytest

from jetsql.embedded.embedded_engine import EmbeddedEngine
from jetsql.embedded.engine_process import ServiceHooks, _Service
from jetsql.home.home_lock import HomeLock, owner
from jetsql.settings.engine_settings import Settings


class Restarted(Exception):
    """The program of the process was replaced."""


class Engine:
    """An engine whose process is stopped while its Spark is killed, if a test wants so."""

    def __init__(self, home: Path, stopped: Event | None = None) -> None:
        self._stopped = stopped
        self._lock = HomeLock(home)
        self.hand_over_home = self._lock.hand_over
        self.was_killed = False

    def kill_spark(self) -> None:
        self.was_killed = True
        if self._stopped is not None:
            self._stopped.set()


def lose(home: Path, stop: Event, engine: Engine) -> None:
    def restart(home_lock: int) -> NoReturn:
        assert owner(home) is not None, "commands find an engine meanwhile"
        os.close(home_lock)
        raise Restarted

    with socket.socket() as listening:
        hooks = ServiceHooks(lambda engine: None, lambda note: None, restart)
        service = _Service(Settings(home), hooks, stop, listening)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(service.on_lost, cast(EmbeddedEngine, engine)).result()


def test_it_becomes_a_standby(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    with pytest.raises(Restarted):
        lose(tmp_path, Event(), engine)
    assert engine.was_killed and owner(tmp_path) is None


def test_a_stop_meanwhile_ends_it(tmp_path: Path) -> None:
    stop = Event()
    engine = Engine(tmp_path, stop)
    lose(tmp_path, stop, engine)
    assert engine.was_killed


def test_a_stop_before_ends_it_gracefully(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    engine = Engine(tmp_path)
    lose(tmp_path, stop, engine)
    assert not engine.was_killed
