"""A real Kubernetes on this machine: etcd, the control plane, and nodes, each with a kubelet and a containerd.

It has namespaces of its own, so nothing on the machine changes, and all of it ends when this process ends, also when it
is killed. No address outside of the cluster is reachable from it but one of the machine.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import psutil

from tools.kubernetes import configuration
from tools.kubernetes.cache import CACHE, BuildFailed
from tools.kubernetes.cgroups import remove_cgroups
from tools.kubernetes.cluster_node import ClusterNode
from tools.kubernetes.configuration import Addresses, Node
from tools.kubernetes.image_store import link_images, pause_archive
from tools.kubernetes.keys import write_client_certificate, write_key
from tools.kubernetes.namespaces import Daemon, Namespaces, namespaces, run_checked
from tools.kubernetes.programs import build_programs

_NETWORKS: Final = tuple(IPv4Network(f"10.{number}.0.0/16") for number in range(200, 250))
_CLUSTERS: Final = CACHE / "clusters"
_LOGS: Final = CACHE / "logs"
_SECONDS: Final = 120.0


class LocalCluster:
    """A running cluster. `running_cluster` starts one."""

    def __init__(self, folder: Path, programs: Path, inside: Namespaces, addresses: Addresses, nodes: int) -> None:
        self.folder = folder
        self.addresses = addresses
        self.kubeconfig = folder / "keys" / "admin.kubeconfig"
        """The access of the administrator."""
        self._keys = folder / "keys"
        self._programs = programs
        self._inside = inside
        self._daemons: dict[str, Daemon] = {}
        self._nodes = [
            ClusterNode(Node(number, folder / f"node-{number + 1}"), inside, programs, addresses, self._keys)
            for number in range(nodes)
        ]

    @property
    def nodes(self) -> Sequence[str]:
        """Return the names of the nodes."""
        return [each.name for each in self._nodes]

    def kubectl(self, *words: str, text: str = "") -> str:
        """Run kubectl as the administrator, and return its output. Raises BuildFailed. text: its input."""
        return run_checked(str(self._programs / "kubectl"), f"--kubeconfig={self.kubeconfig}", *words, text=text)

    def helm(self, *words: str) -> str:
        """Run Helm as the administrator, and return its output. Raises BuildFailed."""
        return run_checked(str(self._programs / "helm"), f"--kubeconfig={self.kubeconfig}", *words)

    def get(self, *words: str) -> Any:
        """Return what `kubectl get` prints as JSON."""
        return json.loads(self.kubectl("get", *words, "--output=json"))

    def apply(self, *resources: object) -> None:
        """Create or change resources."""
        items = {"apiVersion": "v1", "kind": "List", "items": resources}
        self.kubectl("apply", "--filename=-", text=json.dumps(items))

    def run_on_node(self, *words: str) -> str:
        """Run a command as root of the nodes, and return its output. Raises BuildFailed."""
        return self._inside.run(*words)

    def tag_image(self, image: str, name: str) -> None:
        """Give an image another name on all nodes."""
        for node in self._nodes:
            self.run_on_node("ctr", f"--address={node.node.socket}", "--namespace=k8s.io", "images", "tag", image, name)

    @contextmanager
    def drained(self, node: str) -> Iterator[None]:
        """Drain a node for a context: its pods have left, and it gets no others."""
        self.kubectl("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=240s")
        try:
            yield
        finally:
            self.kubectl("uncordon", node)

    @contextmanager
    def killed_api_server(self) -> Iterator[None]:
        """Kill the API server, and start it again at the end of the context."""
        self._daemons.pop("kube-apiserver").end(signal.SIGKILL)
        try:
            yield
        finally:
            self._start_api_server()

    @contextmanager
    def cut(self, pod: str, server: str = "", port: int = 0) -> Iterator[None]:
        """Drop all packets of a pod inside the context; with a server, only those to and from one of its ports.

        pod, server: addresses. port: 0 for all ports.
        """
        sent, received = ["--source", pod], ["--destination", pod]
        if server:
            sent += ["--destination", server]
            received += ["--source", server]
        if port:
            sent += ["--protocol", "tcp", "--destination-port", str(port)]
            received += ["--protocol", "tcp", "--source-port", str(port)]
        rules = (sent, received)
        changes = [(chain, *rule, "--jump", "DROP") for chain in ("INPUT", "FORWARD", "OUTPUT") for rule in rules]
        for change in changes:
            self.run_on_node("iptables", "--wait", "--insert", *change)
        try:
            yield
        finally:
            for change in changes:
                self.run_on_node("iptables", "--wait", "--delete", *change)

    @contextmanager
    def lost_node(self, name: str) -> Iterator[None]:
        """Lose a node without notice: its pods send no further packet, and end. It starts again after the context."""
        node = self._node(name)
        with ExitStack() as stack:
            for pod in self.get("pods", "--all-namespaces", f"--field-selector=spec.nodeName={name}")["items"]:
                if "podIP" in pod["status"]:
                    stack.enter_context(self.cut(pod["status"]["podIP"]))
            node.kill()
            try:
                yield
            finally:
                node.start()
                self.wait_until(self._are_nodes_ready, "the nodes are not ready")

    @contextmanager
    def memory_pressure(self, name: str) -> Iterator[None]:
        """Let a node evict pods inside the context, as if its memory were used up."""
        node = self._node(name)
        node.restart_kubelet(has_pressure=True)
        try:
            yield
        finally:
            node.restart_kubelet(has_pressure=False)

    def _node(self, name: str) -> ClusterNode:
        [node] = [each for each in self._nodes if each.name == name]
        return node

    def start(self, archives: Sequence[Path]) -> None:
        """Start everything. archives: the images that pods can use. Raises BuildFailed."""
        self._write_keys()
        networks = self._inside.folder / "networks"
        networks.mkdir()
        network = configuration.network_configuration(self.addresses, self.folder / "addresses")
        (networks / "10-pods.conflist").write_text(json.dumps(network))
        self._start("etcd", *configuration.etcd_options(self.folder / "etcd"))
        self._start_api_server()
        self._start("kube-controller-manager", *configuration.controller_manager_options(self.addresses, self._keys))
        self._start("kube-scheduler", *configuration.scheduler_options(self._keys))
        images = [pause_archive(self._programs / "pause"), *archives]
        link_images(self._inside, images, [each.images for each in self._nodes])
        for each in self._nodes:
            each.start()
        self._start_proxy(self._nodes[0].node)
        self._start_dns()
        self.wait_until(self._are_nodes_ready, "the nodes are not ready")
        self.wait_until(self._has_account, "the namespace default has no service account")

    def wait_until(self, reached: Callable[[], object], problem: str, seconds: float = _SECONDS) -> None:
        """Poll a condition until it is true. Raises BuildFailed with the problem, or if a program has ended."""
        end = time.monotonic() + seconds
        while not reached():
            ended = [name for name, daemon in self._daemons.items() if not daemon.is_running()]
            if ended:
                raise BuildFailed(f"These programs have ended: {', '.join(ended)} (see {_LOGS}).")
            if time.monotonic() > end:
                raise BuildFailed(f"After {seconds:g} s {problem} (see {_LOGS}).")
            time.sleep(0.3)

    def _start(self, name: str, *options: str) -> None:
        self._daemons[name] = self._inside.start(self.folder / f"{name}.log", str(self._programs / name), *options)

    def _start_api_server(self) -> None:
        self._start("kube-apiserver", *configuration.api_server_options(self.addresses, self._keys))
        self.wait_until(lambda: _succeeds(self.kubectl, "get", "--raw=/readyz"), "the API server is not ready")

    def _start_proxy(self, node: Node) -> None:
        content = configuration.proxy_configuration(node, self.addresses, self._keys)
        file = self.folder / "proxy.json"
        file.write_text(json.dumps(content))
        self._start("kube-proxy", f"--config={file}")

    def _start_dns(self) -> None:
        file = self.folder / "dns.conf"
        file.write_text(configuration.dns_configuration(self.addresses, self._keys))
        self._start("coredns", f"-conf={file}")

    def _write_keys(self) -> None:
        self._keys.mkdir(mode=0o700)
        write_key(self._keys / "accounts.key")
        write_client_certificate(self._keys / "kubelets.crt", self._keys / "kubelets.key", "kube-apiserver")
        (self._keys / "resolv.conf").touch()
        authority = self._keys / "apiserver.crt"  # the API server writes it, with the certificate of its authority
        tokens = {name: secrets.token_urlsafe() for name in configuration.USERS}
        nodes = {each.node.user: secrets.token_urlsafe() for each in self._nodes}
        (self._keys / "tokens.csv").write_text(configuration.token_file(tokens, nodes))
        for name, token in tokens.items():
            text = configuration.kubeconfig(self.addresses.api_server, authority, token)
            (self._keys / f"{name}.kubeconfig").write_text(text)
        for each in self._nodes:
            each.node.folder.mkdir()
            text = configuration.kubeconfig(self.addresses.api_server, authority, nodes[each.node.user])
            (each.node.folder / "kubeconfig").write_text(text)

    def _are_nodes_ready(self) -> bool:
        ready = [
            condition["status"]
            for node in self.get("nodes")["items"]
            for condition in node["status"]["conditions"]
            if condition["type"] == "Ready"
        ]
        return ready == ["True"] * len(self._nodes)

    def _has_account(self) -> bool:
        return _succeeds(self.kubectl, "get", "serviceaccount", "default")


@contextmanager
def running_cluster(archives: Sequence[Path] = (), nodes: int = 2) -> Iterator[LocalCluster]:
    """Run a cluster for a context. archives: the images that pods can use. Raises BuildFailed."""
    programs = build_programs()
    _remove_old_clusters()
    folder = _CLUSTERS / str(os.getpid())
    folder.mkdir(mode=0o700, parents=True)
    with ExitStack() as stack:
        stack.callback(_remove, folder)
        stack.callback(remove_cgroups)
        inside = stack.enter_context(namespaces(folder / "var"))
        addresses = _connect(inside, nodes)
        cluster = LocalCluster(folder, programs, inside, addresses, nodes)
        try:
            cluster.start(archives)
            yield cluster
        finally:
            _keep_logs(folder)


def _keep_logs(folder: Path) -> None:
    """Keep the logs of a cluster, in place of those of an earlier one."""
    shutil.rmtree(_LOGS, ignore_errors=True)
    for parent, folders, files in os.walk(folder):
        if "images" in folders:  # containerd still changes it
            folders.remove("images")
        for log in (Path(parent, name) for name in files if name.endswith(".log")):
            copy = _LOGS / log.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a log of a container that has just been removed
                shutil.copy(log, copy)


def _connect(inside: Namespaces, nodes: int) -> Addresses:
    """Connect the namespaces with the machine by a link, and return the addresses. It ends with the namespaces."""
    link = f"jetk{inside.pid}"
    _ip("link", "add", link, "type", "veth", "peer", "name", "machine", "netns", str(inside.pid))
    _ip("link", "set", "dev", link, "up")
    addresses = _free_addresses(link)
    _ip("address", "add", f"{addresses.machine}/29", "dev", link)
    for number in range(nodes):
        inside.run("ip", "address", "add", f"{addresses.node(number)}/29", "dev", "machine")
    inside.run("ip", "link", "set", "dev", "machine", "up")
    inside.run("ip", "route", "add", "default", "via", str(addresses.machine))
    inside.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
    return addresses


def _free_addresses(link: str) -> Addresses:
    """Return addresses that this machine uses nowhere, and send them over a link."""
    for network in _NETWORKS:
        addresses = Addresses(network)
        route = (str(network), "via", str(addresses.node(0)), "dev", link, "onlink")
        if _succeeds(_ip, "route", "add", *route):  # a route that exists is an error
            return addresses
    raise BuildFailed(f"The machine has a route for each network from {_NETWORKS[0]} to {_NETWORKS[-1]}.")


def _ip(*words: str) -> None:
    run_checked("ip", *words)


def _succeeds(function: Callable[..., object], *words: str) -> bool:
    try:
        function(*words)
    except BuildFailed:
        return False
    return True


def _remove_old_clusters() -> None:
    """Remove the files and cgroups of clusters whose processes were killed."""
    remove_cgroups()
    for folder in _CLUSTERS.glob("*"):
        if not psutil.pid_exists(int(folder.name)):
            _remove(folder)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
