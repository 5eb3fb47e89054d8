"""Apicurio Registry as a process of its own, with Confluent's API and its schemas in memory."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

_VERSION = "3.0.9"  # the last version that runs on Java 17
_NAME = f"apicurio-registry-app-{_VERSION}"
_SOURCE = f"https://repo1.maven.org/maven2/io/apicurio/apicurio-registry-app/{_VERSION}/{_NAME}-all.tar.gz"
_CACHE = Path.home() / ".cache" / "jetsql-tests"
_START_SECONDS = 120.0
_MEDIA = "application/vnd.schemaregistry.v1+json"


class Apicurio:
    """A running registry."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"

    def call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON of an answer. Raises HTTPError for other statuses than 200."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": _MEDIA})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def add(self, subject: str, schema: str, schema_type: str) -> int:
        """Register a schema as the newest version of a subject and return its id."""
        return int(self.call(f"/subjects/{subject}/versions", {"schema": schema, "schemaType": schema_type})["id"])


def _installed() -> Path:
    """Return the folder with the program, which the first call downloads from Maven Central (110 MB)."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    folder = _CACHE / _NAME
    with FileLock(_CACHE / "apicurio.lock"):
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            with (
                urllib.request.urlopen(_SOURCE, timeout=60) as answer,
                tarfile.open(fileobj=answer, mode="r|gz") as tar,
            ):
                tar.extractall(part, filter="data")
            part.rename(folder)
    return folder


@contextmanager
def running_apicurio(folder: Path) -> Iterator[Apicurio]:
    """Run a registry without schemas. folder: where its log goes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = (f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1")
    java = ("java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options)
    with (folder / "apicurio.log").open("ab") as log:
        process = subprocess.Popen(
            (*java, "-jar", str(_installed() / f"{_NAME}-runner.jar")),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        registry = Apicurio(port)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                registry.call("/subjects")
                break
            except (urllib.error.URLError, OSError) as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((folder / "apicurio.log").read_text()[-4000:]) from error
                time.sleep(0.2)
        yield registry
    finally:
        process.kill()
        process.wait(30)
