"""A node of a cluster: a kubelet with a containerd, and the pods that they run."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil

from tools.kubernetes import configuration
from tools.kubernetes.cgroups import create_cgroup, kill_cgroup
from tools.kubernetes.configuration import Addresses, Node
from tools.kubernetes.image_store import start_containerd
from tools.kubernetes.namespaces import Daemon, Namespaces


class ClusterNode:
    """A node of a running cluster."""

    def __init__(self, node: Node, inside: Namespaces, programs: Path, addresses: Addresses, keys: Path) -> None:
        self.node = node
        self._inside = inside
        self._program = programs / "kubelet"
        self._addresses = addresses
        self._keys = keys
        self._cgroup = create_cgroup(str(node.number))
        self._containerd: Daemon | None = None
        self._kubelet: Daemon | None = None

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def images(self) -> Path:
        """Return the folder of its images and containers."""
        return self.node.folder / "images"

    def start(self) -> None:
        """Start it with the containers that it has. Raises BuildFailed."""
        folder = self.node.folder
        self._containerd = start_containerd(self._inside, folder / "containerd", self.node.socket, self.images)
        self._start_kubelet()

    def restart_kubelet(self, has_pressure: bool) -> None:
        """Replace the kubelet, which keeps the containers. has_pressure: it believes that the memory is used up."""
        assert self._kubelet is not None, "it is started first"
        self._kubelet.end()
        self._start_kubelet(has_pressure)

    def kill(self) -> None:
        """Kill the kubelet, the containerd, and all containers."""
        for daemon in (self._kubelet, self._containerd):
            assert daemon is not None, "it is started first"
            daemon.end(signal.SIGKILL)
        for process in psutil.Process(self._inside.pid).children():
            if str(self.node.socket) in process.cmdline():  # it supervises a container
                process.kill()
        kill_cgroup(self._cgroup)

    def _start_kubelet(self, has_pressure: bool = False) -> None:
        folder = self.node.folder
        content = configuration.kubelet_configuration(
            self.node, self._addresses, self._keys, self._cgroup, has_pressure
        )
        (folder / "kubelet.json").write_text(json.dumps(content))
        options = configuration.kubelet_options(self.node, self._addresses)
        self._kubelet = self._inside.start(folder / "kubelet.log", str(self._program), *options)
