"""Reports of the watchdog inside Spark about scarce resources, and the job that is to blame. Pure functions.

The amounts in a report are what each job uses of the resource, with all that is no job's under an empty id:

- memory: what the running tasks have allocated since they began, which is the most that they can retain;
- open files: those in the job's folders, and its share of temporary files and of the files of state stores;
- disk: what the tasks have spilled, shuffled and written to files in the last ten minutes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.lifecycle.runtime import CrashReport
from jetsql.jobs.model.job import Cause

NO_JOB: Final = ""
"""The owner of all that is no job's, such as the statements of clients."""
_SHARE_OF_ALL: Final = 0.5
_SHARE_OF_GROWTH: Final = 0.25
_CONDITION: Final = "ENGINE_ENDANGERED"
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


class Resource(StrEnum):
    """The resources that are watched."""

    MEMORY = "memory"
    OPEN_FILES = "open files"
    DISK = "disk"


class ShortageLevel(StrEnum):
    """The levels of scarcity of a resource."""

    NORMAL = "normal"
    WARNING = "warning"
    DANGER = "danger"


@dataclass(frozen=True)
class ResourceReport:
    """The state of one resource."""

    resource: Resource
    place: str  # a folder of the disk; empty for other resources
    level: ShortageLevel
    used: int  # bytes or files; of a disk the bytes that are free
    limit: int  # the size of the whole
    grown: int  # what the amounts have to explain
    amounts: Mapping[str, int]  # by the id of the job; `NO_JOB` for everything else

    @property
    def state(self) -> str:
        """Return how scarce the resource is, as a sentence without a full stop."""
        match self.resource:
            case Resource.MEMORY:
                percent = 100 * self.used / max(self.limit, 1)
                return f"{percent:.0f} % of the heap ({describe_bytes(self.limit)}) are in use after a collection"
            case Resource.OPEN_FILES:
                return f"{self.used} of {self.limit} files that the engine may open are open"
            case Resource.DISK:
                return f"{describe_bytes(self.used)} are free on the disk of {self.place}"


def parse_report(text: str) -> ResourceReport:
    """Return the report of a JSON text of `ResourceWatchdog.java`."""
    values = json.loads(text)
    return ResourceReport(
        **{**values, "resource": Resource(values["resource"]), "level": ShortageLevel(values["level"])}
    )


def find_culprit(report: ResourceReport) -> str | None:
    """Return the id of the job that clearly uses most, or None.

    That job uses at least half of what is used at all, and enough to explain the scarcity.
    """
    if not report.amounts:
        return None
    owner, amount = max(report.amounts.items(), key=lambda item: item[1])
    is_most = amount > 0 and amount >= _SHARE_OF_ALL * sum(report.amounts.values())
    explains = amount >= _SHARE_OF_GROWTH * report.grown
    return owner if owner != NO_JOB and is_most and explains else None


def describe_share(report: ResourceReport, job_id: str) -> str:
    """Return what a job uses of the resource, as a sentence."""
    amount = report.amounts[job_id]
    match report.resource:
        case Resource.MEMORY:
            return f"The running tasks of this job have allocated {describe_bytes(amount)}."
        case Resource.OPEN_FILES:
            return f"This job has opened {amount} files."
        case Resource.DISK:
            return f"This job has written {describe_bytes(amount)} in the last minutes."


class Activity(StrEnum):
    """The activity of a run, as far as this process knows it without Spark."""

    IDLE = "idle"
    BATCH = "batch"
    FIRST_BATCH = "first batch"  # a batch, or its planning, and nothing is committed since the run began


def find_suspects(reason: str, busy: Mapping[str, Activity], memory: ResourceReport | None) -> CrashReport:
    """Return which job has ended Spark, if one is known.

    reason: why Spark ended, a sentence. busy: what each run does that is not idle, by the id of its job.
    memory: the newest report about scarce memory; None if it was not scarce.
    """
    jobs = tuple(sorted(busy))
    if memory is not None:
        culprit = find_culprit(memory)
        if culprit is None:
            return CrashReport(jobs, (), f"{reason} {memory.state}. No job clearly uses most.")
        return CrashReport(jobs, (culprit,), f"{reason} {memory.state}. {describe_share(memory, culprit)}")
    suspects = tuple(job_id for job_id in jobs if busy[job_id] is Activity.FIRST_BATCH)
    if len(suspects) == 1:
        reason = f"{reason} Only this job had begun a batch and not committed any since its start."
    elif suspects:
        reason = f"{reason} It is not clear which job was the reason."
    return CrashReport(jobs, suspects, reason)


def danger_cause(report: ResourceReport, job_id: str) -> Cause:
    """Return the cause for suspending a job."""
    return Cause(
        f"The job was suspended to protect the engine: {report.state}. {describe_share(report, job_id)}",
        f"JETSQL.{_CONDITION}",
        SQLSTATES[_CONDITION],
        retryable=False,
        where=report.place,
        hint=f"{_HINTS[report.resource]} Then RESUME JOB.",
    )


_HINTS: Final = {
    Resource.MEMORY: "Give the engine more memory (driver_memory), since the next start repeats the batch.",
    Resource.OPEN_FILES: "Raise the limit of open files (ulimit -n).",
    Resource.DISK: "Free disk space.",
}


def describe_bytes(count: int) -> str:
    """Return a number of bytes with a unit of a thousand, as disks are sold."""
    amount = float(count)
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == _UNITS[0] else f"{amount:.1f} {unit}"
