"""Spark's own standalone cluster from PySpark's wheel, which has no scripts to start one: master and workers.

Thin on purpose: the process becomes Spark's, with its log on the terminal, and Ctrl-C or a kill reaches it directly.
The folder that a worker puts its executors' files into is named here: Spark's default is the installed package.
"""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pyspark

from jetsql.engine.startup import LOOPBACK, check_java, on_loopback
from jetsql.errors import EngineError

# How long a master that was started again waits for members that it has noted and that are gone. Spark's own is a
# minute, in which it gives nobody any cores.
_RECOVERY: Final = "20s"


@dataclass(frozen=True)
class MasterStart:
    """recovery: the folder in which it notes members and engines, to go on with them when it is started again after its
    death; None: it forgets them."""

    host: str
    port: int
    recovery: Path | None = None

    @property
    def url(self) -> str:
        return f"spark://{self.host}:{self.port}"


@dataclass(frozen=True)
class WorkerStart:
    """master: its URL. host: the address that the worker is reached at, None leaves it to Spark unless the master is on
    this machine alone. cores, memory: that it has to give; None: all that the machine has. folder: for what its
    executors write, None: a new temporary one."""

    master: str
    host: str | None = None
    cores: int | None = None
    memory: str | None = None
    folder: Path | None = None


def check_address(who: str, host: str, port: int | None = None) -> None:
    """Raises EngineError ENGINE_NOT_STARTED where it can't listen; Spark's master would take the next port."""
    try:
        socket.create_server((host, port or 0)).close()
    except (OSError, OverflowError) as error:
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code and not isinstance(error, socket.gaierror) else error
        where, choose = (host, "") if port is None else (f"{host}:{port}", " and a free port with --port")
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{who} can't listen at {where}: {reason}.",
            hint=f"Choose an address of this machine with --host{choose}.",
        ) from error


def become_master(start: MasterStart) -> NoReturn:
    """Raises EngineError ENGINE_NOT_STARTED without Java."""
    options: dict[str, object] = {"spark.port.maxRetries": 0}  # members know one port
    if start.recovery is not None:
        options |= {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": start.recovery,
            "spark.deploy.recoveryTimeout": _RECOVERY,
        }
    _become("master.Master", ["--host", start.host, "--port", str(start.port)], start.host, options)


def become_worker(start: WorkerStart) -> NoReturn:
    """Raises EngineError ENGINE_NOT_STARTED without Java, or where its folder can't be made."""
    host = start.host or (LOOPBACK if on_loopback(start.master) else None)
    folder = start.folder or Path(tempfile.mkdtemp(prefix="jetsql-worker-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The member can't make the folder {folder}: {error.strerror}.",
            hint="Name another one with --work-dir.",
        ) from error
    given = {"--host": host, "--cores": start.cores, "--memory": start.memory, "--work-dir": folder}
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    _become("worker.Worker", [*words, start.master], host, {})


def _become(name: str, words: list[str], host: str | None, options: Mapping[str, object]) -> NoReturn:
    """options: Spark's own settings of such a process."""
    check_java()
    spark = Path(pyspark.__file__).parent
    program = str(spark / "bin" / "spark-class")
    command = [program, f"org.apache.spark.deploy.{name}", "--webui-port", "0", *words]
    os.execve(program, command, _environment(os.environ, spark, host, options))


def _environment(
    environ: Mapping[str, str], spark: Path, host: str | None, options: Mapping[str, object]
) -> dict[str, str]:
    """SPARK_LOCAL_IP: where its web page listens too, which else is every address of the machine."""
    own = {"SPARK_HOME": str(spark)} | ({} if host is None else {"SPARK_LOCAL_IP": host})
    if options:
        set_here = (shlex.quote(f"-D{name}={value}") for name, value in options.items())
        own["SPARK_DAEMON_JAVA_OPTS"] = " ".join((*set_here, environ.get("SPARK_DAEMON_JAVA_OPTS", ""))).strip()
    return {**environ, **own}
