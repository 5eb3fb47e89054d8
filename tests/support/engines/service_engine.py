"""An engine as a service on a home, with its commands as processes of their own, and signals to all its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

from jetsql.home.discovery import read_note
from tests.support.paths import ROOT
from tests.support.servers.postgres import PASSWORD


class ServiceEngine:
    """An engine on a home, with settings in the environment."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.wrapper: tuple[str, ...] = ()
        """A command that runs all commands, such as `ip netns exec NAME`."""
        self._environment = {
            "JETSQL_CONFIG": os.devnull,
            "JETSQL_HOME": str(home),
            "JETSQL_MASTER": "local[2]",
            "JETSQL_DRIVER_MEMORY": "1g",
            "JETSQL_CONF": "spark.sql.shuffle.partitions=2",
            "STORE_PASSWORD": PASSWORD,
            **{f"JETSQL_{key.upper()}": value for key, value in settings.items()},
        }

    def set(self, variable: str, value: str) -> None:
        """Set an environment variable of the next commands."""
        self._environment[variable] = value

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command, and return its output and errors."""
        with self.begin(*arguments) as command:
            try:
                output, _ = command.communicate(timeout=240)
            except BaseException:
                command.kill()
                raise
        assert command.returncode == code, output
        return output

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command, and return its process."""
        return subprocess.Popen(
            [*self.wrapper, sys.executable, "-m", "jetsql", *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **self._environment},
        )

    def rows(self, statement: str) -> list[list[object]]:
        """Return the rows of a statement."""
        return [list(json.loads(line).values()) for line in self("--format", "json", "-e", statement).splitlines()]

    @property
    def url(self) -> str:
        """Return the URL of the HTTP endpoint."""
        note = read_note(self.home)
        assert note is not None, f"no engine runs on {self.home}"
        return note.url

    @property
    def role(self) -> str | None:
        """Return the role in the note; None without an engine."""
        note = read_note(self.home)
        return None if note is None else note.role

    @property
    def is_ready(self) -> bool:
        """Return whether the engine takes statements."""
        try:
            with urlopen(Request(f"{self.url}/leader", headers={"Host": "localhost"}), timeout=10) as response:
                return bool(response.status == 200)
        except HTTPError:
            return False

    @property
    def is_warm(self) -> bool:
        """Return whether the engine is a standby that has warmed up."""
        note = read_note(self.home)
        if note is None:
            return False
        request = Request(f"{note.url}/v1/engine", headers={"Authorization": f"Bearer {note.token}"})
        with urlopen(request, timeout=10) as response:
            return bool(json.load(response).get("warm"))

    @property
    def log(self) -> str:
        return (self.home / "engine.log").read_text(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the engine, to Spark's first: an engine that continues may end it."""
        for process in reversed(self.processes()):
            with suppress(psutil.NoSuchProcess):  # a process of a task has just ended
                process.send_signal(number)

    def kill(self) -> None:
        """Kill all processes, and wait until they have ended."""
        processes = self.processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # Spark ends with the engine
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=30)

    def processes(self) -> list[psutil.Process]:
        note = read_note(self.home)
        if note is None:
            return []
        try:
            process = psutil.Process(note.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def share_token(*engines: ServiceEngine) -> None:
    """Give new homes one token, so that clients need one."""
    for engine in engines:
        engine.home.mkdir(mode=0o700)
        token = engine.home / "engine.token"
        token.touch(mode=0o600)
        token.write_text("one-token-of-all-engines")
