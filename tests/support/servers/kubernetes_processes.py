"""Faults of the Java process in a pod, which an engine or an executor is, and the end of all processes of a pod."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import psutil

from tests.support.engines.chart_release import ChartRelease
from tools.kubernetes.cache import BuildFailed

_JAVA: Final = 'for each in /proc/[0-9]*; do [ "$(cat $each/comm)" = java ] && java=${each#/proc/}; done 2>/dev/null'
_FILL: Final = "import time; filled = []\nwhile True: filled.append(b'x' * 2**24); time.sleep(0.05)"


def kill_java(release: ChartRelease, pod: str) -> None:
    """Kill the Java process of a pod."""
    _run(release, pod, "kill -9 $java")


def use_up_memory(release: ChartRelease, pod: str) -> None:
    """Use up the memory of a pod, until the kernel kills its Java process because of the pod's limit."""
    fill = f'/opt/jetsql/bin/python -c "{_FILL}" & sleep 60; kill $!'
    _run(release, pod, f"echo 1000 >/proc/$java/oom_score_adj; {fill}")


def list_processes(pod: str) -> list[psutil.Process]:
    """Return the processes of a pod, which run on this machine."""
    return [process for process in psutil.process_iter() if _host(process) == pod]


def _host(process: psutil.Process) -> str:
    try:
        return str(process.environ().get("HOSTNAME", ""))
    except (psutil.Error, OSError):  # it has ended, or is one of the kernel
        return ""


def _run(release: ChartRelease, pod: str, command: str) -> None:
    with suppress(BuildFailed):  # the container ends with its Java process, and the command with the container
        release.kubectl("exec", pod, "--", "sh", "-c", f"{_JAVA}; {command}")
