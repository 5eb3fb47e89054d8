"""The cgroups of clusters, in version 1 or 2. Unlike namespaces, they do not end with their processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

_ROOT: Final = Path("/sys/fs/cgroup")
_PREFIX: Final = "jetsql-kubernetes-"
_CONTROLLERS: Final = ("cpu", "cpuset", "memory", "pids")


def create_cgroup(name: str) -> str:
    """Create a cgroup in each hierarchy, and return its path. name: a part of the path, unique in this process."""
    path = f"{_PREFIX}{os.getpid()}-{name}"
    for hierarchy in _hierarchies():
        folder = hierarchy / path
        folder.mkdir(exist_ok=True)
        if (clones := folder / "cgroup.clone_children").exists():
            clones.write_text("1")  # a cgroup of version 1 without processors accepts no process
        for file in ("cpuset.cpus", "cpuset.mems"):
            inherited = hierarchy / file
            if (folder / file).exists() and inherited.exists():
                (folder / file).write_text(inherited.read_text())
        if (controllers := folder / "cgroup.subtree_control").exists():
            given = controllers.with_name("cgroup.controllers").read_text().split()
            controllers.write_text(" ".join(f"+{each}" for each in _CONTROLLERS if each in given))
    return f"/{path}"


def kill_cgroup(path: str) -> None:
    """Kill all processes in a cgroup and in those below it. path: as `create_cgroup` returns it."""
    while processes := {pid for hierarchy in _hierarchies() for pid in _processes(hierarchy / path.strip("/"))}:
        for pid in processes:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()
        time.sleep(0.05)


def _processes(folder: Path) -> Iterator[int]:
    for file in folder.rglob("cgroup.procs"):
        with suppress(OSError):  # the cgroup or its last process has ended
            yield from map(int, file.read_text().split())


def remove_cgroups() -> None:
    """Remove the cgroups of this process, and of processes that have ended. Their processes have ended, too."""
    for hierarchy in _hierarchies():
        for folder in hierarchy.glob(f"{_PREFIX}*"):
            owner = int(folder.name.removeprefix(_PREFIX).partition("-")[0])
            if owner == os.getpid() or not psutil.pid_exists(owner):
                _remove(folder)


def _hierarchies() -> Iterator[Path]:
    """Yield the folders of the hierarchies that can limit processes."""
    if (_ROOT / "cgroup.controllers").exists():
        yield _ROOT
        return
    for file in sorted(_ROOT.glob("*/cgroup.procs")):
        yield file.parent


def _remove(folder: Path) -> None:
    for child, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(child)
        except OSError:
            return  # a process of it is ending
