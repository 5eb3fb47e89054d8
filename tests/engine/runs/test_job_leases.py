"""The lease on the checkpoint of a job."""

import os
import socket
import subprocess
import sys

import psutil

from jetsql.engine.checkpoints.job_lease import LeaseOwner


def owner_of(pid: int) -> LeaseOwner:
    return LeaseOwner("engine", socket.gethostname(), pid, psutil.Process(pid).create_time())


def test_an_engine_is_alive_while_its_process_is() -> None:
    mine = owner_of(os.getpid())
    assert mine.is_alive
    assert not LeaseOwner("engine", "elsewhere", mine.pid, mine.started).is_alive
    assert not LeaseOwner("engine", mine.host, mine.pid, mine.started - 60).is_alive


def test_an_engine_is_dead_when_it_was_killed_and_nobody_has_asked_how_it_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        engine = owner_of(process.pid)
        assert engine.is_alive
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not engine.is_alive
    assert not engine.is_alive
