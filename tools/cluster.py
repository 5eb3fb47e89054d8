"""A standalone Spark cluster on this machine for tests, benchmarks and examples, started with the commands of users:
`jetsql master` and `jetsql join`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic, sleep

import psutil

from jetsql.engine.jvm.environment import set_variable
from tools.free_ports import free_ports

ROOT = Path(__file__).parents[1]
SECONDS = 120.0
_SECRET_FILE = "JETSQL_CLUSTER_SECRET_FILE"


@dataclass
class Cluster:
    """The processes of a cluster."""

    folder: Path
    """The folder of the logs, and of the files of the master and members."""
    port: int
    """The master's port."""
    members: list[psutil.Popen] = field(default_factory=list)
    """The running members, the oldest first."""
    master: psutil.Popen | None = None
    """The master; None before it was started."""
    _numbers: Iterator[int] = field(default_factory=count)
    """The numbers of the next members."""

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @property
    def secret_file(self) -> Path:
        return self.folder / "cluster.secret"

    def start_master(self) -> None:
        """Start a master, which recovers the state of the previous one, and wait until it listens."""
        arguments = ["--port", str(self.port), "--recovery-dir", str(self.folder / "master")]
        self.master = _start(self.folder / "master.log", "master", *arguments)
        wait_until(lambda: _listens(self.port), "the master does not listen")

    def kill_master(self) -> None:
        """Kill the master (kill -9)."""
        if self.master is not None:
            kill_family(self.master)

    def join(self, cores: int = 1) -> psutil.Popen:
        """Start a member and return its process."""
        name = f"member-{next(self._numbers)}"
        arguments = [self.url, "--cores", str(cores), "--memory", "1g", "--work-dir", str(self.folder / name)]
        self.members.append(_start(self.folder / f"{name}.log", "join", *arguments))
        return self.members[-1]

    def kill(self, member: psutil.Popen) -> None:
        """Kill a member and its executors (kill -9)."""
        kill_family(member)
        self.members.remove(member)

    def drain(self, member: psutil.Popen) -> None:
        """Let the executors of a member leave as planned. The member itself stays, without executors."""
        member.send_signal(signal.SIGPWR)

    def suspend(self, member: psutil.Popen) -> None:
        """Suspend the processes of a member until `resume`, which simulates an unreachable machine."""
        for process in (member, *member.children(recursive=True)):
            process.suspend()

    def resume(self, member: psutil.Popen) -> None:
        """Resume the processes of a suspended member."""
        for process in (*member.children(recursive=True), member):
            process.resume()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a cluster with a master and without members, and kill all of its processes afterwards."""
    started = Cluster(folder, free_ports(1)[0])
    with set_variable(_SECRET_FILE, str(started.secret_file)):  # for the master, members and engines
        try:
            started.start_master()
            yield started
        finally:
            for process in started.members:
                kill_family(process)
            started.kill_master()


def wait_until(reached: Callable[[], object], problem: str) -> None:
    """Poll a condition until it is true. Raises TimeoutError with the problem after `SECONDS`."""
    deadline = monotonic() + SECONDS
    while not reached():
        if monotonic() > deadline:
            raise TimeoutError(f"After {SECONDS:g} s {problem}.")
        sleep(0.5)


def _start(log: Path, *arguments: str) -> psutil.Popen:
    with log.open("ab") as output:
        return psutil.Popen(
            [sys.executable, "-m", "jetsql", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def kill_family(process: psutil.Popen) -> None:
    """Kill a process with its descendants (kill -9), and wait for its end."""
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in family:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait(SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
