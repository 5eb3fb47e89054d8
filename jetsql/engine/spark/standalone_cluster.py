"""Run the master and workers of Spark's standalone cluster from PySpark's wheel, which has no scripts for them.

The current process becomes Spark's process, so its log goes to the terminal and signals such as Ctrl-C reach it
directly. A worker's folder is always set, because Spark's default is the folder of the installed package.
"""

from __future__ import annotations

import base64
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pyspark

from jetsql.engine.jvm.authentication import daemon_confs, find_secret_file, is_on_loopback, make_secret, read_secret
from jetsql.engine.jvm.class_archive import archive_options
from jetsql.engine.jvm.environment import set_module_path
from jetsql.engine.jvm.launch import LOOPBACK, properties
from jetsql.engine.spark.executors import DECOMMISSION
from jetsql.engine.spark.startup import check_java
from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder, write_private
from jetsql.home.process_folders import make_process_folder

# A restarted master waits this long for stored members that do not answer, and assigns no cores meanwhile. Spark's
# default is a minute.
_RECOVERY: Final = "20s"
_JAVA_OPTIONS: Final = "JDK_JAVA_OPTIONS"
_FILTERS: Final = "spark.ui.filters"
_DENY: Final = "org.apache.spark.ui.JWSFilter"
# By default Spark accepts programs over REST without authentication, and shows links that end applications and workers.
_HARDENING: Final[Mapping[str, str]] = {
    "spark.master.rest.enabled": "false",
    "spark.master.ui.decommission.allow.mode": "DENY",
    "spark.ui.killEnabled": "false",
}


@dataclass(frozen=True)
class MasterStart:
    """The settings of a master."""

    host: str
    """The address to listen on."""
    port: int
    """The port to listen on."""
    recovery: Path | None = None
    """The folder in which the master stores members and engines for its next start; None to store nothing."""
    secret: Path | None = None
    """The file with the cluster's secret, created if it is missing; None for the default file."""
    web_host: str | None = None
    """The address of Spark's web UI, which has no login; None for no web UI."""

    @property
    def url(self) -> str:
        return f"spark://{self.host}:{self.port}"


@dataclass(frozen=True)
class WorkerStart:
    """The settings of a worker."""

    master: str
    """The master's URL."""
    host: str | None = None
    """The address to listen on; None for the address from which this machine reaches the master."""
    cores: int | None = None
    """The number of cores for executors; None for all cores of the machine."""
    memory: str | None = None
    """The memory for executors as Spark writes sizes; None for Spark's default."""
    folder: Path | None = None
    """The folder for files of executors; None for a new temporary folder."""
    secret: Path | None = None
    """The file with the cluster's secret; None for the default file."""
    web_host: str | None = None
    """The address of Spark's web UI, which has no login; None for no web UI."""
    class_archives: Path | None = None
    """The folder of the archives of Spark's classes, for the worker and its executors; None for no archive."""


def check_address(subject: str, host: str, port: int | None = None) -> None:
    """Raise EngineError ENGINE_NOT_STARTED when no process can listen on an address.

    Without the check, Spark's master would take the next port.
    subject: the process, as the message names it.
    port: None for any port.
    """
    try:
        socket.create_server((host, port or 0)).close()
    except (OSError, OverflowError) as error:
        code = getattr(error, "errno", None)
        reason = os.strerror(code) if code and not isinstance(error, socket.gaierror) else error
        address, port_hint = (host, "") if port is None else (f"{host}:{port}", " and a free port with --port")
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{subject} cannot listen on {address}: {reason}.",
            hint=f"Choose an address of this machine with --host{port_hint}.",
        ) from error


def become_master(start: MasterStart) -> NoReturn:
    """Replace this process with a master.

    Raises EngineError ENGINE_NOT_STARTED when Java is missing or the cluster's secret cannot be created or read.
    """
    check_java()
    secret = find_secret_file(start.secret)
    make_secret(secret)
    settings = daemon_confs(is_on_loopback(start.url), read_secret(secret))
    settings |= {"spark.port.maxRetries": "0"}  # members connect to a fixed port
    if start.recovery is not None:
        _make_private(start.recovery, "The master", "--recovery-dir")
        settings |= {
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": str(start.recovery),
            "spark.deploy.recoveryTimeout": _RECOVERY,
        }
    folder = start.recovery or make_process_folder("jetsql-master-", keep=True)
    arguments = ["--host", start.host, "--port", str(start.port)]
    _become("master.Master", arguments, Daemon(folder, settings, start.web_host))


def become_worker(start: WorkerStart) -> NoReturn:
    """Replace this process with a worker. With the signal PWR, its executors end their tasks and leave as planned.

    Raises EngineError ENGINE_NOT_STARTED when Java or the secret is missing or the folder cannot be created.
    """
    check_java()
    secret = read_secret(find_secret_file(start.secret))
    settings = {**daemon_confs(is_on_loopback(start.master), secret), **DECOMMISSION}
    folder = start.folder or make_process_folder("jetsql-worker-", keep=True)
    _make_private(folder, "The member", "--work-dir")
    host = start.host or (LOOPBACK if is_on_loopback(start.master) else find_own_address(start.master))
    flags = {"--host": host, "--cores": start.cores, "--memory": start.memory, "--work-dir": folder}
    arguments = [word for name, value in flags.items() if value is not None for word in (name, str(value))]
    java_options = archive_options(start.class_archives)
    _become("worker.Worker", [*arguments, start.master], Daemon(folder, settings, start.web_host, java_options))


def find_own_address(master: str) -> str | None:
    """Return the address from which this machine reaches a standalone master; None if Spark has to choose it."""
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
        with socket.socket(family, socket.SOCK_DGRAM) as probe:  # sends nothing; the system chooses the route
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _make_private(folder: Path, subject: str, flag: str) -> None:
    """Create a folder that only its owner may enter, unless it exists. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        private_folder(folder)
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{subject} cannot create the folder {folder}: {error.strerror}.",
            hint=f"Choose another folder with {flag}.",
        ) from error


@dataclass(frozen=True)
class Daemon:
    """A master or worker to start."""

    folder: Path
    """The folder of its settings and of the temporary files of its executors."""
    settings: Mapping[str, str]
    """The Spark settings of the process."""
    web_host: str | None
    """The address of its web UI, which has no login; None for no web UI."""
    java_options: tuple[str, ...] = ()
    """Options of Java for the process and the executors that it starts."""

    @property
    def temporary(self) -> Path:
        """The folder for Java's temporary files."""
        return self.folder / "tmp"


def _become(name: str, arguments: list[str], daemon: Daemon) -> NoReturn:
    """Replace this process. Its settings are in a private file, because all users can read arguments of processes.

    name: the class after `org.apache.spark.deploy.`.
    """
    spark = Path(pyspark.__file__).parent
    program = str(spark / "bin" / "spark-class")
    file = daemon.folder / "spark.properties"
    write_private(file, _settings(daemon, spark))
    private_folder(daemon.temporary)
    options = ["--webui-port", "0", "--properties-file", str(file)]
    with set_module_path():  # executors inherit it
        environment = _environment(daemon, spark)
    os.chdir(daemon.folder)
    os.execve(program, [program, f"org.apache.spark.deploy.{name}", *options, *arguments], environment)


def _settings(daemon: Daemon, spark: Path) -> str:
    """Return the text of the file: JetSQL's settings, then the user's `spark-defaults.conf`, which overrides them."""
    no_web_ui = {_FILTERS: _DENY, f"spark.{_DENY}.param.secretKey": _random_key()}
    text = properties({**_HARDENING, **({} if daemon.web_host else no_web_ui), **daemon.settings})
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or spark / "conf") / "spark-defaults.conf"
    return text + (defaults.read_text(encoding="utf-8") if defaults.exists() else "")


def _random_key() -> str:
    """Return a key that no client has, so that the filter of the web UI refuses each request."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def _environment(daemon: Daemon, spark: Path) -> dict[str, str]:
    """Return the environment of the process. The web UI has no setting for its address other than SPARK_LOCAL_IP."""
    variables = {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": daemon.web_host or LOOPBACK}
    # Executors inherit it. The engine's machine decides about their other options, and has other paths.
    options = (*daemon.java_options, f'"-Djava.io.tmpdir={daemon.temporary}"', os.environ.get(_JAVA_OPTIONS, ""))
    variables[_JAVA_OPTIONS] = " ".join(options).strip()
    return {"SPARK_LOCAL_DIRS": str(daemon.folder), **os.environ, **variables}
