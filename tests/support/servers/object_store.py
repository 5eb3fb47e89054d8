"""An object store with the interface of S3 for the tests: moto's server, on loopback, with its objects in memory.

`pause` stops the process, so that no request is answered, and `go_on` continues it with all objects.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.support.paths import ROOT

ACCESS_KEY = "AKIA0TEST"
SECRET_KEY = "s3cr3t-key-of-ann"
_START_SECONDS = 60.0


class ObjectStore:
    """A server with one bucket."""

    bucket = "lake"

    def __init__(self, host: str, port: int, process: subprocess.Popen[bytes]) -> None:
        self.endpoint = f"http://{host}:{port}"
        self._process = process

    def settings(self, prefix: str) -> str:
        """Return the lines of config.toml for an engine whose storage is here."""
        return f"""
storage = "s3a://{self.bucket}/{prefix}"
s3_endpoint = "{self.endpoint}"
s3_region = "us-east-1"
s3_path_style = true
s3_access_key = "secret:env:TEST_S3_ACCESS_KEY"
s3_secret_key = "secret:env:TEST_S3_SECRET_KEY"
"""

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of the keys."""
        return {"TEST_S3_ACCESS_KEY": ACCESS_KEY, "TEST_S3_SECRET_KEY": SECRET_KEY}

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def put(self, key: str, content: bytes) -> None:
        """Store an object in the bucket, in place of an older one."""
        kind = {"Content-Type": "application/octet-stream"}  # the server takes urllib's default for a form
        request = urllib.request.Request(f"{self.endpoint}/{self.bucket}/{key}", content, kind, method="PUT")
        urllib.request.urlopen(request, timeout=5).close()

    def create_bucket(self) -> None:
        """Create the bucket as soon as the server answers."""
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.put("", b"")
                return
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.1)


@contextmanager
def running_object_store(folder: Path, host: str = "127.0.0.1") -> Iterator[ObjectStore]:
    """Start a server with an empty bucket, and end it at the end. folder: for its log. host: its address."""
    with socket.create_server((host, 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    store = ObjectStore(host, port, process)
    try:
        store.create_bucket()
        yield store
    finally:
        process.kill()
        process.wait()


class StoreEngine:
    """An engine as a process of its own, whose storage is in an object store."""

    def __init__(self, store: ObjectStore, home: Path, failpoints: str = "", prefix: str = "") -> None:
        config = home.parent / f"{home.name}.toml"
        config.write_text(store.settings(prefix or home.name), encoding="utf-8")
        environment = {**os.environ, **store.environment, "JETSQL_CONFIG": str(config), "JETSQL_FAILPOINT": failpoints}
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.programs.statements_of_stdin", str(home)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a fail point kills the group of its process
        )

    def answer(self, text: str) -> Any:
        """Run a statement, and return its rows or its error; None if the engine died meanwhile."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def __call__(self, *texts: str) -> list[list[Any]]:
        """Run statements that succeed, and return the rows of the last one."""
        rows: list[list[Any]] = []
        for text in texts:
            rows = self.answer(text)
            assert isinstance(rows, list), f"{text}: {rows}"
        return rows

    def error(self, text: str) -> dict[str, str]:
        """Run a statement that fails, and return its condition and message."""
        answer = self.answer(text)
        assert isinstance(answer, dict), f"{text}: {answer}"
        return answer

    def close(self) -> None:
        """Stop the engine gracefully, and wait for its Java, which deletes temporary files at its end."""
        assert self.process.stdin is not None
        others = psutil.Process(self.process.pid).children(recursive=True)
        self.process.stdin.close()
        assert self.process.wait(120) == 0
        _, alive = psutil.wait_procs(others, 60)
        assert alive == []

    def wait_for_death(self) -> None:
        """Wait until a fail point has killed the engine."""
        assert self.process.wait(120) == -signal.SIGKILL

    def __enter__(self) -> StoreEngine:
        return self

    def __exit__(self, *error: object) -> None:
        with self.process:  # closes its pipes
            if self.process.poll() is None and error[0] is None:
                self.close()
            elif self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
