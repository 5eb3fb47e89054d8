"""A process whose engine has lost the lead: it ends or starts again as a standby, and can be stopped at any time."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from pathlib import Path
from threading import Event
from typing import NoReturn, cast

import pytest

from jetsql.client.find_engine import StopOutcome, find_engine, stop_engine
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.embedded.engine_process import ServiceHooks, _Service
from jetsql.home.home_lock import HomeLock, owner
from jetsql.settings.engine_settings import Settings
from jetsql.settings.store_settings import StoreSettings
from tests.conftest import until


class Restarted(Exception):
    """The program of the process was replaced."""


class Engine:
    """An engine whose process is stopped while its Spark is killed, if a test wants so."""

    def __init__(self, stopped: Event | None = None) -> None:
        self._stopped = stopped
        self.was_killed = False

    def kill_spark(self) -> None:
        self.was_killed = True
        if self._stopped is not None:
            self._stopped.set()


def restart_never(home_lock: int) -> NoReturn:
    raise AssertionError("the process ends")


def lose(home: Path, stop: Event, engine: Engine) -> None:
    def restart(home_lock: int) -> NoReturn:
        assert owner(home) is not None, "commands find an engine meanwhile"
        os.close(home_lock)
        raise Restarted

    with socket.socket() as listening:
        hooks = ServiceHooks(lambda engine: None, lambda note: None, restart)
        service = _Service(Settings(home), hooks, stop, listening)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(service.on_lost, cast(EngineInstance, engine)).result()


def test_engine_without_the_lead_becomes_a_standby(tmp_path: Path) -> None:
    engine = Engine()
    with pytest.raises(Restarted):
        lose(tmp_path, Event(), engine)
    assert engine.was_killed and owner(tmp_path) is None


def test_a_stop_meanwhile_ends_it(tmp_path: Path) -> None:
    stop = Event()
    engine = Engine(stop)
    lose(tmp_path, stop, engine)
    assert engine.was_killed


def test_a_stop_before_ends_it_gracefully(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    engine = Engine()
    lose(tmp_path, stop, engine)
    assert not engine.was_killed


class ImportWatch(MetaPathFinder):
    """A watch on the imports of a module: whether the home had an owner each time."""

    def __init__(self, module: str, home: Path) -> None:
        self._module, self._home = module, home
        self.owned: list[bool] = []

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == self._module:
            with (self._home / "engine.lock").open() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.owned.append(True)
                else:
                    self.owned.append(False)


def test_the_home_has_an_owner_while_the_next_program_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the owner, without which commands find no engine at this moment, and report that it was stopped."""
    lost = HomeLock(tmp_path, service=True).hand_over()
    watch = ImportWatch("filelock", tmp_path)
    monkeypatch.delitem(sys.modules, "filelock")
    monkeypatch.setattr(sys, "meta_path", [watch, *sys.meta_path])
    with socket.socket() as listening:
        hooks = ServiceHooks(lambda engine: None, lambda note: None, restart_never, lost)
        service = _Service(Settings(tmp_path), hooks, Event(), listening)
    assert watch.owned == [True] and owner(tmp_path) is not None
    del service  # until here, it holds the lock


def test_standby_is_stopped_while_its_store_is_unreachable(tmp_path: Path) -> None:
    """Show the engine to commands from its restart on: it has the lock and an endpoint of a standby."""
    lost = HomeLock(tmp_path, service=True).hand_over()
    settings = Settings(tmp_path, store=StoreSettings("postgresql://jetsql@127.0.0.1:1/none", "secret"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        hooks = ServiceHooks(lambda engine: None, lambda note: None, restart_never, lost)
        service = _Service(settings, hooks, Event(), listening)
        with ThreadPoolExecutor(1) as threads:
            run = threads.submit(service.run)
            until(lambda: find_engine(tmp_path) is not None)
            engine = find_engine(tmp_path)
            assert engine is not None and (engine.info["role"], engine.info["leader"]) == ("standby", "")
            assert stop_engine(tmp_path, 60) is StopOutcome.STOPPED
            run.result()
    assert owner(tmp_path) is None and find_engine(tmp_path) is None
