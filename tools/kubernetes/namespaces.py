"""Namespaces of Linux in which a build or a cluster mounts file systems and has networks.

They end with all of their processes, mounts and interfaces when this process ends, also when it is killed.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from tools.end_with_parent import end_with_parent
from tools.kubernetes.cache import BuildFailed

_UNSHARE: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
PRIVATE_MOUNTS: Final = (*end_with_parent(), *_UNSHARE)
"""The command prefix that removes the mounts of the process, and ends all of its processes, when it ends."""
_PROTECTED: Final = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""Settings of the whole machine that a kubelet changes: it gets files in their place."""
_END_SECONDS: Final = 15.0
_INIT: Final = """
set -eu
mount --bind "$1/lib" /var/lib
mount --bind "$1/log" /var/log
mount -t tmpfs -o mode=755 tmpfs /run
for name in $2; do
    if [ -e "/proc/sys/$name" ]; then
        file=/run/${name//\\//.}
        cat "/proc/sys/$name" >"$file"
        mount --bind "$file" "/proc/sys/$name"
    fi
done
ip link set lo up
echo ready
exec >/dev/null
sleep infinity &
wait # collects ended processes that have no other parent
"""


class Daemon:
    """A program that runs in namespaces until it is ended, or until they end."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._entered = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def is_running(self) -> bool:
        return self._entered.poll() is None

    def end(self, sent: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal to the program, and wait for its end."""
        for process in self._programs():
            process.send_signal(sent)
        try:
            self.wait()
        except subprocess.TimeoutExpired:
            for process in self._programs():
                process.kill()
            self.wait()

    def wait(self) -> None:
        """Wait for the end of the program. Raises TimeoutExpired."""
        self._entered.wait(_END_SECONDS)

    def _programs(self) -> list[psutil.Process]:
        """Return the program, which is a child of the process that has entered the namespaces."""
        try:
            return list(psutil.Process(self._entered.pid).children())
        except psutil.NoSuchProcess:
            return []


class Namespaces:
    """Namespaces of processes, mounts and networks, with empty folders of their own: /run, /var/lib and /var/log."""

    def __init__(self, folder: Path, pid: int) -> None:
        """Create it. folder: has the contents of /var. pid: the first process in the namespaces."""
        self.folder = folder
        self.pid = pid
        self._daemons: list[Daemon] = []

    def command(self, *words: str) -> list[str]:
        """Return the command that runs another one in the namespaces. It ends with them."""
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", "--pid", "--", *words]

    def start(self, log: Path, *words: str) -> Daemon:
        """Start a program in the namespaces. log: the file that gets its output."""
        daemon = Daemon(self.command(*words), log)
        self._daemons.append(daemon)
        return daemon

    def wait_for_end(self) -> None:
        """Wait until the programs have ended, which the end of the namespaces kills."""
        for daemon in self._daemons:
            daemon.wait()

    def run(self, *words: str, text: str = "") -> str:
        """Run a command in the namespaces, and return its output. Raises BuildFailed with its errors."""
        return run_checked(*self.command(*words), text=text)


@contextmanager
def namespaces(folder: Path) -> Iterator[Namespaces]:
    """Create namespaces for a context. folder: has the contents of /var."""
    for name in ("lib", "log"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    command = (*end_with_parent(), *_UNSHARE, "--net", "bash", "-c", _INIT, "init", str(folder), " ".join(_PROTECTED))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as outer:
        assert outer.stdout is not None and outer.stderr is not None
        if outer.stdout.readline() != b"ready\n":
            raise BuildFailed(f"Namespaces cannot be created: {outer.stderr.read().decode(errors='replace')}")
        [first] = psutil.Process(outer.pid).children()
        inside = Namespaces(folder, first.pid)
        try:
            yield inside
        finally:
            first.kill()  # its parent ends when all processes in the namespaces have ended
            outer.wait()
            inside.wait_for_end()


def run_checked(*command: str, text: str = "") -> str:
    """Run a command, and return its output. Raises BuildFailed with its errors. text: its input."""
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise BuildFailed(f"{_shown(command)} ended with {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def _shown(command: Sequence[str]) -> str:
    """Return a command without the prefix that enters the namespaces."""
    words = list(command)
    return " ".join(words[words.index("--") + 1 :] if words[0] == "nsenter" else words)
