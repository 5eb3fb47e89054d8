"""The lease of a job: a file next to its checkpoint that names the engine that runs it.

The lock on a home excludes a second engine where the file system supports locks; a file system that machines share may
not. Two runs on one checkpoint would each repeat the other's batches, and Spark stops neither. So a run claims the
lease when it starts, and checks before each batch that it still has the lease: the run that started last continues,
and the other run ends before it writes. A run never takes the lease of a process that is alive on this machine, unless
that process has lost the leadership of the store, see `Leadership`: it may be paused.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass, replace
from threading import Event
from typing import Final
from uuid import uuid4

import psutil

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.errors import StatementError
from jetsql.jobs.model.job import Job

_TICK_SECONDS: Final = 0.02
"""The precision of the start of a process."""


@dataclass(frozen=True)
class LeaseOwner:
    """The engine process that has a lease."""

    engine: str
    """The engine's id, new for each process."""
    host: str
    """The host name of its machine."""
    pid: int
    """The process id."""
    started: float
    """The start time of the process, seconds since the epoch."""
    number: int = 0
    """The number with which the engine leads its store, see `Leadership`."""
    uptime: float | None = None
    """The seconds from the boot of its machine to the start of the process; None in the leases of older releases."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_alive(self) -> bool:
        """Return whether the process runs on this machine; a process of another machine counts as ended.

        A killed process keeps its id as a zombie until its parent waits for it, and some parents never wait.
        """
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            started, uptime = _start_of(process)
            # Linux computes the first of the clock, so it changes when the clock is set; other systems the second.
            same = abs(started - self.started) < 1.0 or (
                self.uptime is not None and abs(uptime - self.uptime) < _TICK_SECONDS
            )
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return False


def _start_of(process: psutil.Process) -> tuple[float, float]:
    """Return when a process was started, in seconds since the epoch and since the boot of the machine."""
    booted = float(psutil.boot_time())
    started = float(process.create_time())
    return started, started - booted


def _this_process() -> LeaseOwner:
    started, uptime = _start_of(psutil.Process())
    return LeaseOwner(uuid4().hex, socket.gethostname(), os.getpid(), started, uptime=uptime)


# Created at import: jobs start in parallel threads, and all of them have the same owner.
_THIS_PROCESS: Final = _this_process()


@dataclass(frozen=True)
class JobLease:
    """A job's lease, valid from `claim` until another engine claims it or the job's files are deleted."""

    checkpoints: Checkpoints
    """The folders of all jobs."""
    job: Job
    """The job that is run under the lease."""

    def claim(self) -> None:
        """Store that this engine runs the job. Raises StatementError JOB_IN_USE while another engine runs it."""
        owner = self._read_owner()
        leads = self.checkpoints.leadership.number
        if owner is not None and owner.engine != _THIS_PROCESS.engine:
            is_successor = 0 < owner.number < leads
            if owner.number > leads or (owner.is_alive and not is_successor):
                raise self._job_in_use(owner, f"Stop that engine, then RESUME JOB {self.job.name}.")
        claimed = replace(_THIS_PROCESS, number=leads)
        if owner != claimed:
            self.checkpoints.files.write(self._path, json.dumps(asdict(claimed)))

    def check(self, stopping: Event | None = None) -> None:
        """Wait until this engine surely leads.

        Raises StatementError JOB_IN_USE when another engine leads or has claimed the job since `claim`, and when
        `stopping` is set meanwhile.
        """
        self.checkpoints.leadership.check(stopping)
        owner = self._read_owner()
        if owner is None or owner.engine != _THIS_PROCESS.engine:
            raise self._job_in_use(owner, "Find out why two engines use one home, and stop one of them.")

    def _read_owner(self) -> LeaseOwner | None:
        text = self.checkpoints.files.read_if_there(self._path)
        try:
            return None if text is None else LeaseOwner(**json.loads(text))
        except (ValueError, TypeError):
            return None  # an engine was killed while it wrote the file

    @property
    def _path(self) -> str:
        return f"{self.checkpoints.job_folder(self.job.id)}/lease.json"

    def _job_in_use(self, owner: LeaseOwner | None, hint: str) -> StatementError:
        user = str(owner) if owner is not None else "another engine"
        message = f"The job's checkpoint is in use by {user}. Nothing was written."
        return StatementError("JOB_IN_USE", message, hint=hint)
