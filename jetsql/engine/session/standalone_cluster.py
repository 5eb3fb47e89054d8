"""Run the master and workers of Spark's standalone cluster from PySpark's wheel, which has no scripts for that.

Thin on purpose: the process becomes Spark's, with its log on the terminal, and Ctrl-C or a kill reaches it directly.
The folder for the files of a worker's executors is set here, because Spark's default is the installed package.
"""

from __future__ import annotations

import base64
import os
import secrets
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pyspark

from jetsql.engine.jvm.authentication import daemon_confs, find_secret_file, is_on_loopback, make_secret, read_secret
from jetsql.engine.jvm.launch import LOOPBACK, properties
from jetsql.engine.session.startup import check_java
from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder, write_private

# How long a master that was started again waits for members that it has noted and that are gone. Spark's own is a
# minute, in which it gives nobody any cores.
_RECOVERY: Final = "20s"
_FILTERS: Final = "spark.ui.filters"
_DENY: Final = "org.apache.spark.ui.JWSFilter"
# What Spark leaves open: programs from anybody over REST, and links that end applications and workers.
_CLOSED: Final[Mapping[str, str]] = {
    "spark.master.rest.enabled": "false",
    "spark.master.ui.decommission.allow.mode": "DENY",
    "spark.ui.killEnabled": "false",
}


@dataclass(frozen=True)
class MasterStart:
    """The settings of a master."""

    host: str
    port: int
    recovery: Path | None = None
    """Where it notes members and engines, to go on with them after its death; None: it forgets them."""
    secret: Path | None = None
    """The file with the cluster's secret, made when it is missing; None: the user's own."""
    web_host: str | None = None
    """The address for Spark's web pages, which have no login; None: no pages."""

    @property
    def url(self) -> str:
        return f"spark://{self.host}:{self.port}"


@dataclass(frozen=True)
class WorkerStart:
    """The settings of a worker."""

    master: str
    """The master's URL."""
    host: str | None = None
    """The address that the worker is reached at; None: the one from which it reaches the master."""
    cores: int | None = None
    """The cores that it has to give; None: all of the machine."""
    memory: str | None = None
    """The memory that it has to give, as Spark writes sizes; None: what Spark chooses."""
    folder: Path | None = None
    """For what its executors write; None: a new temporary one."""
    secret: Path | None = None
    """The file with the cluster's secret; None: the user's own."""
    web_host: str | None = None
    """The address for Spark's web pages, which have no login; None: no pages."""


def check_address(subject: str, host: str, port: int | None = None) -> None:
    """Raise EngineError ENGINE_NOT_STARTED where a process cannot listen; Spark's master would take the next port."""
    try:
        socket.create_server((host, port or 0)).close()
    except (OSError, OverflowError) as error:
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code and not isinstance(error, socket.gaierror) else error
        where, choose = (host, "") if port is None else (f"{host}:{port}", " and a free port with --port")
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{subject} can't listen at {where}: {reason}.",
            hint=f"Choose an address of this machine with --host{choose}.",
        ) from error


def become_master(start: MasterStart) -> NoReturn:
    """Replace this process with a master.

    Raises EngineError ENGINE_NOT_STARTED without Java, or where the cluster's secret cannot be created or read.
    """
    check_java()
    secret = find_secret_file(start.secret)
    make_secret(secret)
    settings = daemon_confs(is_on_loopback(start.url), read_secret(secret))
    settings |= {"spark.port.maxRetries": "0"}  # members know one port
    if start.recovery is not None:
        _make_private(start.recovery, "The master", "--recovery-dir")
        settings |= {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": str(start.recovery),
            "spark.deploy.recoveryTimeout": _RECOVERY,
        }
    folder = start.recovery or Path(tempfile.mkdtemp(prefix="jetsql-master-"))
    arguments = ["--host", start.host, "--port", str(start.port)]
    _become("master.Master", arguments, Daemon(folder, settings, start.web_host))


def become_worker(start: WorkerStart) -> NoReturn:
    """Replace this process with a worker.

    Raises EngineError ENGINE_NOT_STARTED without Java or the secret, or where the folder cannot be created.
    """
    check_java()
    settings = daemon_confs(is_on_loopback(start.master), read_secret(find_secret_file(start.secret)))
    folder = start.folder or Path(tempfile.mkdtemp(prefix="jetsql-worker-"))
    _make_private(folder, "The member", "--work-dir")
    host = start.host or (LOOPBACK if is_on_loopback(start.master) else find_own_address(start.master))
    flags = {"--host": host, "--cores": start.cores, "--memory": start.memory, "--work-dir": folder}
    arguments = [word for name, value in flags.items() if value is not None for word in (name, str(value))]
    _become("worker.Worker", [*arguments, start.master], Daemon(folder, settings, start.web_host))


def find_own_address(master: str) -> str | None:
    """Return the address of this machine from which a standalone master is reached; None to leave it to Spark."""
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
        with socket.socket(family, socket.SOCK_DGRAM) as probe:  # sends nothing; the system chooses the way
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _make_private(folder: Path, subject: str, flag: str) -> None:
    """Make a folder that only its owner may enter, unless it exists. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        private_folder(folder)
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{subject} can't make the folder {folder}: {error.strerror}.",
            hint=f"Name another one with {flag}.",
        ) from error


@dataclass(frozen=True)
class Daemon:
    """A process of Spark's to start."""

    folder: Path
    """The folder of its settings, and of the temporary files of its executors."""
    """Where its settings are written, and the temporary files of its executors."""
    settings: Mapping[str, str]
    web_host: str | None
    """The address that its web pages listen on, without a login; None: they are off."""


def _become(name: str, arguments: list[str], daemon: Daemon) -> NoReturn:
    """Replace this process. The settings are in a private file, because all users can read arguments of processes."""
    spark = Path(pyspark.__file__).parent
    program = str(spark / "bin" / "spark-class")
    file = daemon.folder / "spark.properties"
    write_private(file, _settings(daemon, spark))
    options = ["--webui-port", "0", "--properties-file", str(file)]
    os.execve(program, [program, f"org.apache.spark.deploy.{name}", *options, *arguments], _environment(daemon, spark))


def _settings(daemon: Daemon, spark: Path) -> str:
    """Return the text of the file: JetSQL's settings, then the user's `spark-defaults.conf`, which override them."""
    off = {_FILTERS: _DENY, f"spark.{_DENY}.param.secretKey": _random_key()}
    text = properties({**_CLOSED, **({} if daemon.web_host else off), **daemon.settings})
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or spark / "conf") / "spark-defaults.conf"
    return text + (defaults.read_text(encoding="utf-8") if defaults.exists() else "")


def _random_key() -> str:
    """Return a key that no client has: with it, the filter of the web pages refuses each request."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def _environment(daemon: Daemon, spark: Path) -> dict[str, str]:
    """Return the environment. SPARK_LOCAL_IP is where the web pages listen; they have no setting for it."""
    own = {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": daemon.web_host or LOOPBACK}
    return {"SPARK_LOCAL_DIRS": str(daemon.folder), **os.environ, **own}
