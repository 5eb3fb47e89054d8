"""Each job's lease: which engine runs it, stored next to its checkpoint.

The lock on a home keeps a second engine away where the file system knows locks; one that is shared between machines
may not. Two runs on one checkpoint would each repeat what the other has done, and Spark stops neither. So a run claims
the lease when it starts, and checks before each batch that the lease is still its own: the run that started last
continues, and the other one ends before it writes. A lease is never taken from a process that is alive on this machine.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from typing import Final
from uuid import uuid4

import psutil

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.errors import StatementError
from jetsql.jobs.model.job import Job


@dataclass(frozen=True)
class LeaseOwner:
    """The process of the engine that has a lease."""

    engine: str
    """The engine's id, new for each process."""
    host: str
    pid: int
    started: float
    """When the process began, seconds since the epoch."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_alive(self) -> bool:
        """Return whether the process runs on this machine; processes of other machines count as ended.

        A killed process keeps its id as a zombie until its parent waits for it, and some parents never do.
        """
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            same = abs(float(process.create_time()) - self.started) < 1.0
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return False


# Made once, before any thread needs it: jobs start in parallel, and all of them are this engine's.
_THIS_PROCESS: Final = LeaseOwner(uuid4().hex, socket.gethostname(), os.getpid(), psutil.Process().create_time())


@dataclass(frozen=True)
class JobLease:
    """A job's lease, held from `claim` until another engine claims it or the job's files are deleted."""

    checkpoints: Checkpoints
    job: Job

    def claim(self) -> None:
        """Store that this engine runs the job. Raises StatementError JOB_IN_USE while another one does."""
        owner = self._read_owner()
        if owner is not None and owner != _THIS_PROCESS and owner.is_alive:
            raise self._job_in_use(owner, f"Stop that engine, then RESUME JOB {self.job.name}.")
        if owner != _THIS_PROCESS:
            self.checkpoints.files.write(self._path, json.dumps(asdict(_THIS_PROCESS)))

    def check(self) -> None:
        """Raise StatementError JOB_IN_USE when another engine has claimed the job since."""
        owner = self._read_owner()
        if owner != _THIS_PROCESS:
            raise self._job_in_use(owner, "Find out why two engines use one home, and let one of them go on.")

    def _read_owner(self) -> LeaseOwner | None:
        if not self.checkpoints.files.exists(self._path):
            return None
        try:
            return LeaseOwner(**json.loads(self.checkpoints.files.read(self._path)))
        except (ValueError, TypeError):
            return None  # half written by an engine that died

    @property
    def _path(self) -> str:
        return f"{self.checkpoints.job_folder(self.job.id)}/lease.json"

    def _job_in_use(self, owner: LeaseOwner | None, hint: str) -> StatementError:
        who = str(owner) if owner is not None else "another engine"
        message = f"The job's checkpoint is in use by {who}. Nothing was written."
        return StatementError("JOB_IN_USE", message, hint=hint)
