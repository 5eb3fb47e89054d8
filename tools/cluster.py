"""A Spark cluster of processes on this machine for tests, benchmarks and examples, by the commands that users have:
`jetsql master` and `jetsql join`."""

from __future__ import annotations

import os
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

ROOT = Path(__file__).parents[1]
SECONDS = 120.0
_SECRET_FILE = "JETSQL_CLUSTER_SECRET_FILE"


@dataclass
class Cluster:
    """folder: of the logs and of what master and members write. members: in the order in which they came."""

    folder: Path
    port: int
    members: list[psutil.Popen] = field(default_factory=list)
    master: psutil.Popen | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @property
    def secret_file(self) -> Path:
        return self.folder / "cluster.secret"

    def start_master(self) -> None:
        """One that goes on with what the one before it knew."""
        words = ["--port", str(self.port), "--recovery-dir", str(self.folder / "master")]
        self.master = _begin(self.folder / "master.log", "master", *words)
        wait_until(lambda: _listens(self.port), "the master does not listen")

    def kill_master(self) -> None:
        if self.master is not None:
            _kill(self.master)

    def join(self, cores: int = 1) -> psutil.Popen:
        name = f"member-{next(self._numbers)}"
        words = [self.url, "--cores", str(cores), "--memory", "1g", "--work-dir", str(self.folder / name)]
        self.members.append(_begin(self.folder / f"{name}.log", "join", *words))
        return self.members[-1]

    def kill(self, member: psutil.Popen) -> None:
        """With -9, its executors too."""
        _kill(member)
        self.members.remove(member)

    def stop(self, member: psutil.Popen) -> None:
        """Nothing of it does or says anything any more, as if it could not be reached; see `go_on`."""
        for process in (member, *member.children(recursive=True)):
            process.suspend()

    def go_on(self, member: psutil.Popen) -> None:
        for process in (*member.children(recursive=True), member):
            process.resume()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A master, and no member yet; all of it is gone afterwards."""
    made = Cluster(folder, _free_port())
    before = os.environ.get(_SECRET_FILE)
    os.environ[_SECRET_FILE] = str(made.secret_file)  # for master, members and engines
    try:
        made.start_master()
        yield made
    finally:
        if before is None:
            del os.environ[_SECRET_FILE]
        else:
            os.environ[_SECRET_FILE] = before
        for process in made.members:
            _kill(process)
        made.kill_master()


def wait_until(reached: Callable[[], object], otherwise: str) -> None:
    """Raises TimeoutError when that takes longer than two minutes."""
    until = monotonic() + SECONDS
    while not reached():
        if monotonic() > until:
            raise TimeoutError(f"After {SECONDS:g} s {otherwise}.")
        sleep(0.5)


def _begin(log: Path, *words: str) -> psutil.Popen:
    with log.open("ab") as told:
        return psutil.Popen(
            [sys.executable, "-m", "jetsql", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
        )


def _kill(process: psutil.Popen) -> None:
    try:
        own = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in own:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait(SECONDS)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
