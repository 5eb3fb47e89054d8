"""Each job's lease: which engine runs it, noted beside its checkpoint.

The lock on a home keeps a second engine away where the file system knows locks; one that is shared between machines
may not. Two runs on one checkpoint would each repeat what the other has done, and Spark stops neither. So a run notes
who it is when it starts, and looks before each batch whether the note is still its own: the one that started last goes
on, the other one ends before it writes. An engine whose process is alive on this machine is never taken over.
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
class Owner:
    """An engine's process. engine: an id of its own. started: when the process began, seconds since the epoch."""

    engine: str
    host: str
    pid: int
    started: float

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def alive(self) -> bool:
        """Whether it surely is: of another machine nothing can be told. One that was killed keeps its id until whoever
        started it asks how it ended, and a shell that stays open does not."""
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            same = abs(float(process.create_time()) - self.started) < 1.0
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return False


# Made once, before any thread asks: jobs start side by side, and all of them are this engine's.
_THIS_PROCESS: Final = Owner(uuid4().hex, socket.gethostname(), os.getpid(), psutil.Process().create_time())


@dataclass(frozen=True)
class JobLease:
    """One job's, held from `claim` on until another engine claims it or the job's files are deleted."""

    checkpoints: Checkpoints
    job: Job

    def claim(self) -> None:
        """Note that this engine runs the job. Raises StatementError JOB_IN_USE while another one does."""
        owner = self._owner()
        if owner is not None and owner != _THIS_PROCESS and owner.alive:
            raise self._in_use(owner, f"Stop that engine, then RESUME JOB {self.job.name}.")
        if owner != _THIS_PROCESS:
            self.checkpoints.files.write(self._path, json.dumps(asdict(_THIS_PROCESS)))

    def check(self) -> None:
        """Raises StatementError JOB_IN_USE when another engine has claimed the job since."""
        owner = self._owner()
        if owner != _THIS_PROCESS:
            raise self._in_use(owner, "Find out why two engines use one home, and let one of them go on.")

    def _owner(self) -> Owner | None:
        if not self.checkpoints.files.exists(self._path):
            return None
        try:
            return Owner(**json.loads(self.checkpoints.files.read(self._path)))
        except (ValueError, TypeError):
            return None  # half written by an engine that died: nobody's

    @property
    def _path(self) -> str:
        return f"{self.checkpoints.folder(self.job.id)}/lease.json"

    def _in_use(self, owner: Owner | None, hint: str) -> StatementError:
        who = str(owner) if owner is not None else "another engine"
        message = f"The job's checkpoint is in use by {who}. Nothing was written."
        return StatementError("JOB_IN_USE", message, hint=hint)
