"""A YARN on this machine for tests: Hadoop's own ResourceManager and NodeManagers on loopback, without HDFS.

They end with their context, and when this process ends, also when it is killed. Containers, which have no parent then,
end by themselves after a minute. By hand: `python -m tools.yarn`.

The daemons are in the jar that Hadoop releases for tests of its clients, in the version of Spark's client; Spark's own
resolver downloads it from Maven Central, 65 MB. Without Kerberos, YARN believes the user name that a client sends:
while it runs, each user of this machine can run programs as this user.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import psutil

from tools.cluster import kill_family, wait_until
from tools.end_with_parent import end_with_parent
from tools.free_ports import free_ports
from tools.java.packages import SHORT_LIVED, fetch, program, spark_jars

_DAEMONS: Final = "ivy://org.apache.hadoop:hadoop-client-minicluster:{version}?transitive=false"
_CERTIFICATES: Final = "ivy://org.bouncycastle:bcpkix-jdk18on:1.82?transitive=true"
"""The package with which the ResourceManager makes a certificate. The jar of the daemons lacks it."""
_SERVER: Final = "org.apache.hadoop.yarn.server"
_LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
_EXECUTOR: Final = "YarnCoarseGrainedExecutorBackend"
_HEAP: Final = "-Xmx256m"
_REQUEST_SECONDS: Final = 30.0


class Yarn:
    """A ResourceManager, and NodeManagers with an address each, which is also the name of their node."""

    def __init__(self, folder: Path, node_memory_mb: int) -> None:
        """Write the configuration. node_memory_mb: the memory of a node's containers."""
        self.configuration = folder / "conf"
        """The folder for HADOOP_CONF_DIR."""
        self.nodes: dict[str, psutil.Popen] = {}
        """The NodeManagers by their addresses."""
        self.resource_manager: psutil.Popen | None = None
        """The ResourceManager; None before it was started."""
        self._folder = folder
        self._ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        self._class_path = _class_path(self.configuration)
        self.configuration.mkdir()
        _write(self.configuration / "core-site.xml", self._core())
        _write(self.configuration / "yarn-site.xml", self._site(node_memory_mb))
        _write(self.configuration / "capacity-scheduler.xml", _queues())

    def start_resource_manager(self) -> None:
        """Start the ResourceManager, and wait until it answers."""
        self.resource_manager = self._start("resource-manager", "resourcemanager.ResourceManager")
        wait_until(lambda: self._answers("info"), "the ResourceManager does not answer")

    def start_node(self) -> str:
        """Start the NodeManager of a new node, wait until the node can run containers, and return its address."""
        address = f"127.0.0.{len(self.nodes) + 2}"
        settings = {
            **{name: f"{address}:0" for name in ("address", "localizer.address", "webapp.address")},
            "local-dirs": str(self._folder / address / "local"),
            "log-dirs": str(self._folder / address / "logs"),
        }
        words = [word for name, value in settings.items() for word in ("-D", f"yarn.nodemanager.{name}={value}")]
        self.nodes[address] = self._start(address, "nodemanager.NodeManager", *words)
        wait_until(lambda: self.node_states().get(address) == "RUNNING", f"the node {address} is not ready")
        return address

    def node_states(self) -> dict[str, str]:
        """Return the states of the nodes by their addresses."""
        nodes = (self._get("nodes")["nodes"] or {}).get("node", [])
        return {each["nodeHostName"]: each["state"] for each in nodes}

    def kill_applications(self) -> None:
        """End all applications, as an administrator does."""
        for application in (self._get("apps")["apps"] or {}).get("app", []):
            if application["state"] == "RUNNING":
                self._put(f"apps/{application['id']}/state", {"state": "KILLED"})

    def executor(self, id_: str) -> psutil.Process:
        """Return the process of an executor of Spark."""
        containers = [each for node in self.nodes.values() for each in node.children(recursive=True)]
        words = (_EXECUTOR, f"--executor-id {id_} ")
        [found] = [
            each for each in containers if each.name() == "java" and all(word in _command_line(each) for word in words)
        ]
        return found

    def processes(self) -> list[psutil.Process]:
        """Return the processes of the daemons, whose descendants are the containers."""
        return [each for each in (self.resource_manager, *self.nodes.values()) if each is not None]

    def _java(self) -> tuple[str, ...]:
        return (program("java"), _HEAP, *SHORT_LIVED, "-Dlog4j2.level=INFO", "-cp", self._class_path)

    def _start(self, name: str, main_class: str, *words: str) -> psutil.Popen:
        java = shutil.which(program("java"))
        assert java is not None, "it has run"
        java_home = str(Path(java).resolve().parents[1])  # of the containers
        with (self._folder / f"{name}.log").open("ab") as log:
            return psutil.Popen(
                [*end_with_parent(), *self._java(), f"{_SERVER}.{main_class}", *words],
                env={**os.environ, "JAVA_HOME": java_home},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _answers(self, path: str) -> bool:
        try:
            self._get(path)
        except OSError:
            return False
        return True

    def _get(self, path: str) -> dict[str, Any]:
        """Return the answer of the ResourceManager. Raises OSError."""
        request = urllib.request.Request(self._url(path), headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
            return dict(json.load(answer))

    def _put(self, path: str, value: dict[str, str]) -> None:
        """Send a value to the ResourceManager as the user of this process. Raises OSError."""
        url = f"{self._url(path)}?user.name={getpass.getuser()}"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(value).encode(), headers, method="PUT")
        urllib.request.urlopen(request, timeout=_REQUEST_SECONDS).close()

    def _url(self, path: str) -> str:
        return f"http://{_LOOPBACK}:{self._ports['webapp.address']}/ws/v1/cluster/{path}"

    def _core(self) -> dict[str, str]:
        return {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(self._folder / "tmp")}

    def _site(self, node_memory_mb: int) -> dict[str, str]:
        manager = {
            **{name: f"{_LOOPBACK}:{port}" for name, port in self._ports.items()},
            # How long clients and containers wait for a ResourceManager that is killed; the default is 15 minutes.
            "connect.max-wait.ms": "60000",
            "connect.retry-interval.ms": "1000",
        }
        node = {
            "resource.memory-mb": str(node_memory_mb),
            "resource.cpu-vcores": "8",
            # Java reserves more addresses than it uses.
            "vmem-check-enabled": "false",
            # Otherwise a disk that is nearly full makes a node useless.
            "disk-health-checker.enable": "false",
        }
        return {
            **{f"yarn.resourcemanager.{name}": value for name, value in manager.items()},
            **{f"yarn.nodemanager.{name}": value for name, value in node.items()},
            "yarn.scheduler.minimum-allocation-mb": "128",
        }


@contextmanager
def running_yarn(folder: Path, nodes: int = 2, node_memory_mb: int = 1536) -> Iterator[Yarn]:
    """Run a YARN during the context, and kill all of its processes afterwards. folder: empty, for all of its files."""
    yarn = Yarn(folder, node_memory_mb)
    try:
        yarn.start_resource_manager()
        for _ in range(nodes):
            yarn.start_node()
        yield yarn
    finally:
        for process in yarn.processes():
            kill_family(process)


def _class_path(configuration: Path) -> str:
    """Return the class path of the daemons. Raises BuildError."""
    spark = spark_jars()
    [client] = Path(spark).parent.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    jars = fetch(_DAEMONS.format(version=version), _CERTIFICATES)
    return os.pathsep.join(map(str, (configuration, *jars, spark)))


def _queues() -> dict[str, str]:
    queues = {"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "1"}
    return {f"yarn.scheduler.capacity.{name}": value for name, value in queues.items()}


def _write(file: Path, settings: Mapping[str, str]) -> None:
    root = ElementTree.Element("configuration")
    for name, value in settings.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = name
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join((*process.cmdline(), ""))
    except psutil.NoSuchProcess:
        return ""


if __name__ == "__main__":  # for manual experiments; it runs until its input ends
    with tempfile.TemporaryDirectory(prefix="jetsql-yarn-") as folder, running_yarn(Path(folder)) as yarn:
        print(yarn.configuration, os.getpid(), flush=True)  # noqa: T201
        sys.stdin.readline()
