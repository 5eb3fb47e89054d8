"""Launching Spark's JVM: its settings come from a private file, and its output goes to the engine's log.

PySpark passes settings as arguments of the process, which every user of the machine can read; here they stand in a
file of mode 0600 that is deleted as soon as the JVM has read it. The JVM inherits the terminal of the process that
starts it and writes to it, where results belong on stdout and nothing else.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pyspark
from pyspark.java_gateway import launch_gateway

from jetsql.errors import EngineError
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import append_private, write_private

LOOPBACK: Final = "127.0.0.1"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_PROPERTIES: Final = "spark.properties"
_TEMPORARY: Final = "tmp"
_SOCKET_NAME: Final = len("/.00000000-0000-0000-0000-000000000000.sock")
_SOCKET_PATH_MOST: Final = 103  # bytes on macOS; Linux has 4 more


@dataclass(frozen=True)
class SparkStart:
    """What Spark is started with."""

    home: Path
    warehouse: str
    """Where tables are, a path or URI."""
    master: str
    driver_memory: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark that override the engine's own; values may be references to secrets."""
    cluster_secret: Path | None = None
    """The file with the secret that a standalone cluster shares; None: the user's own, see `cluster_secret`."""
    token: str = ""
    """What a browser has to give as the password for Spark's web UI, where that is on."""

    @property
    def log(self) -> Path:
        return self.home / LOG

    @property
    def temporary(self) -> Path:
        """The folder for shuffle files, blocks and other temporary files of the driver."""
        return self.home / _TEMPORARY


def launch_jvm(start: SparkStart, confs: Mapping[str, str]) -> Any:
    """Launch the JVM of this process with these settings, unless it has one, and return PySpark's gateway to it.

    Raises EngineError HOME_NOT_USABLE, INVALID_SETTING for arguments in the environment that would replace the
    settings, and PySpark's and the system's errors where the JVM does not start.
    """
    context: Any = pyspark.SparkContext
    _renew_temporary_folder(start.temporary)
    if context._gateway is None:
        context._ensure_initialized(gateway=_launched(start, confs))
    else:
        utils = getattr(context._jvm.org.apache.spark.util, "Utils$")
        getattr(utils, "MODULE$").clearLocalRootDirs()  # of the engine before, which had another home
    return context._gateway


def _launched(start: SparkStart, confs: Mapping[str, str]) -> Any:
    file = start.home / _PROPERTIES
    launch: Any = launch_gateway
    local = confs.get("spark.driver.bindAddress") == LOOPBACK
    with append_private(start.log) as log, _environment(file, local):
        try:
            write_private(file, properties(confs))
            return launch(popen_kwargs={"stdout": log, "stderr": subprocess.STDOUT})
        finally:
            file.unlink(missing_ok=True)


def java_options(start: SparkStart) -> str:
    """Return the options of the JVM, as one line."""
    log4j = resources.files("jetsql.engine").joinpath("log4j2.properties")
    options = {
        "log4j2.configurationFile": Path(str(log4j)).as_uri(),
        "jetsql.log": str(start.log),
        "derby.system.home": str(start.home),
        "derby.stream.error.file": str(start.home / "derby.log"),
        "derby.storage.useDefaultFilePermissions": "false",  # its files are readable by their owner only
    }
    flags = (
        # Out of memory, a JVM goes on without the threads that met it; it has to end for its jobs to be started again.
        "-XX:+ExitOnOutOfMemoryError",
        # Room for the code that Spark makes for each query: a JVM that runs out of it ends. Only what is used is taken.
        "-XX:ReservedCodeCacheSize=512m",
    )
    return " ".join((*flags, *(f'"-D{key}={value}"' for key, value in options.items())))


def _renew_temporary_folder(folder: Path) -> None:
    """Make an empty folder; an engine that was killed leaves its files there, and this engine owns the home by now."""
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"Cannot renew the temporary folder {folder}: {error.strerror or error}.",
            hint="Delete the folder, or choose a home that you may write to (--home).",
        ) from error


def socket_folder(start: SparkStart) -> Path:
    """Return a private folder for Unix sockets, whose paths have to be short; it exists when the JVM is launched."""
    if len(os.fsencode(start.temporary)) + _SOCKET_NAME <= _SOCKET_PATH_MOST:
        return start.temporary
    folder = Path(tempfile.mkdtemp(prefix="jetsql-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def _environment(properties: Path, local: bool) -> Iterator[None]:
    """Set what PySpark and Spark take from the environment only, while this lasts.

    local: whether Spark's web UI listens on loopback; its address has no setting but SPARK_LOCAL_IP.
    """
    given = os.environ.get(_ARGUMENTS, "pyspark-shell")
    if "--properties-file" in shlex.split(given):
        raise EngineError(
            "INVALID_SETTING",
            f"{_ARGUMENTS} in the environment has --properties-file, which would replace the engine's settings.",
            hint="Move the settings of that file into config.toml, or give them with --conf.",
        )
    ours = f"--properties-file {shlex.quote(str(properties))} --load-spark-defaults {given}"
    with _set(_ARGUMENTS, ours), _set("SPARK_LOCAL_IP", LOOPBACK if local else os.environ.get("SPARK_LOCAL_IP")):
        yield


@contextmanager
def _set(name: str, value: str | None) -> Iterator[None]:
    before = os.environ.get(name)
    _put(name, value)
    try:
        yield
    finally:
        _put(name, before)


def _put(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def properties(confs: Mapping[str, str]) -> str:
    """Return the settings as java.util.Properties reads them."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in confs.items())


def _escaped(text: str) -> str:
    return re.sub(r"[^\w.-]", _code_units, text, flags=re.ASCII)


def _code_units(char: re.Match[str]) -> str:
    units = char.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))
