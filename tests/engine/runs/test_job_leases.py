"""The lease on the checkpoint of a job."""

import os
import socket
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from jetsql.engine.checkpoints.job_lease import LeaseOwner, _this_process


def owner_of(pid: int) -> LeaseOwner:
    return LeaseOwner("engine", socket.gethostname(), pid, psutil.Process(pid).create_time())


def test_an_engine_is_alive_while_its_process_is() -> None:
    mine = owner_of(os.getpid())
    assert mine.is_alive
    assert not LeaseOwner("engine", "elsewhere", mine.pid, mine.started).is_alive
    assert not LeaseOwner("engine", mine.host, mine.pid, mine.started - 60).is_alive


def test_the_clock_of_the_machine_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shift the clock. The system computes the start of a process from the boot time, and that from the clock."""
    mine = _this_process()
    booted, started = psutil.boot_time(), psutil.Process.create_time
    for shift in (3600, -3600):
        monkeypatch.setattr(psutil, "boot_time", lambda shift=shift: booted + shift)
        monkeypatch.setattr(psutil.Process, "create_time", lambda process, shift=shift: started(process) + shift)
        assert mine.is_alive
        assert not replace(mine, uptime=None).is_alive
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as later:
            assert not replace(mine, pid=later.pid).is_alive


def test_killed_engine_is_dead_before_its_exit_code_is_read() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        engine = owner_of(process.pid)
        assert engine.is_alive
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not engine.is_alive
    assert not engine.is_alive
