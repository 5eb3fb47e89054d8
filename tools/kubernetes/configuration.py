"""The command lines and the configuration files of a cluster's programs, without side effects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any, Final

API_PORT: Final = 6443
_DOMAIN: Final = "cluster.local"
_ETCD: Final = "http://127.0.0.1:2379"
_ETCD_PEERS: Final = "http://127.0.0.1:2380"
_KUBELET_PORT: Final = 10250
USERS: Final[Mapping[str, tuple[str, str]]] = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "dns": ("dns", "system:masters"),  # no role of Kubernetes itself can read what CoreDNS needs
}
"""The user and the group of each client of the API server, in addition to the nodes."""


@dataclass(frozen=True)
class Addresses:
    """The addresses of a cluster: the machine reaches all of them over one link, and so do its pods the machine."""

    network: IPv4Network
    """All addresses, a network with a prefix of 16 bits."""

    @property
    def machine(self) -> IPv4Address:
        """Return the address of the machine in the network."""
        return self.network[1]

    def node(self, number: int) -> IPv4Address:
        """Return the address of a node. The first node also has the API server. number: 0 for the first node."""
        return self.network[2 + number]

    @property
    def services(self) -> IPv4Network:
        """Return the addresses of services."""
        return list(self.network.subnets(2))[1]

    @property
    def pods(self) -> IPv4Network:
        """Return the addresses of pods."""
        return list(self.network.subnets(1))[1]

    @property
    def api_server(self) -> str:
        """Return the URL of the API server."""
        return f"https://{self.node(0)}:{API_PORT}"

    @property
    def dns(self) -> IPv4Address:
        """Return the address of the DNS server."""
        return self.node(0)


@dataclass(frozen=True)
class Node:
    """A node of a cluster, which is a kubelet with a containerd of its own."""

    number: int
    """The number of the node; 0 for the first one."""
    folder: Path
    """The folder of its files."""

    @property
    def name(self) -> str:
        return f"node-{self.number + 1}"

    @property
    def user(self) -> str:
        """Return its user at the API server."""
        return f"system:node:{self.name}"

    @property
    def socket(self) -> Path:
        """Return the socket of its containerd."""
        return self.folder / "containerd.sock"


def token_file(tokens: Mapping[str, str], nodes: Mapping[str, str]) -> str:
    """Return the file with the users of the API server. tokens: those of `USERS`. nodes: those of the nodes' users."""
    rows = [(tokens[key], user, group) for key, (user, group) in USERS.items()]
    rows += [(token, user, "system:nodes") for user, token in nodes.items()]
    return "".join(f'{token},{user},{user},"{group}"\n' for token, user, group in rows)


def kubeconfig(server: str, authority: Path, token: str) -> str:
    """Return the access of a client to the API server. JSON is YAML."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority": str(authority)}}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "user"}}],
            "current-context": "local",
        }
    )


def etcd_options(data: Path, clients: str = _ETCD, peers: str = _ETCD_PEERS) -> list[str]:
    """Return the options. data: the folder of its data. clients, peers: the URLs at which it listens"""
    return [
        f"--data-dir={data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",  # the data ends with the cluster
    ]


def api_server_options(addresses: Addresses, keys: Path) -> list[str]:
    """Return the options. keys: the folder with keys and tokens, where the API server writes its certificate."""
    return [
        f"--etcd-servers={_ETCD}",
        f"--bind-address={addresses.node(0)}",
        f"--advertise-address={addresses.node(0)}",
        f"--secure-port={API_PORT}",
        f"--cert-dir={keys}",
        f"--token-auth-file={keys / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        f"--service-cluster-ip-range={addresses.services}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={keys / 'accounts.key'}",
        f"--service-account-key-file={keys / 'accounts.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={keys / 'kubelets.crt'}",
        f"--kubelet-client-key={keys / 'kubelets.key'}",
        "--allow-privileged=false",
        "--profiling=false",
    ]


def controller_manager_options(addresses: Addresses, keys: Path) -> list[str]:
    return [
        f"--kubeconfig={keys / 'controllers.kubeconfig'}",
        f"--root-ca-file={keys / 'apiserver.crt'}",
        f"--service-account-private-key-file={keys / 'accounts.key'}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        # A node that does not answer is found after 20 s instead of 50 s.
        "--node-monitor-grace-period=20s",
    ]


def scheduler_options(keys: Path) -> list[str]:
    return [f"--kubeconfig={keys / 'scheduler.kubeconfig'}", "--leader-elect=false", "--bind-address=127.0.0.1"]


def kubelet_options(node: Node, addresses: Addresses) -> list[str]:
    return [
        f"--config={node.folder / 'kubelet.json'}",
        f"--kubeconfig={node.folder / 'kubeconfig'}",
        f"--root-dir={node.folder / 'kubelet'}",
        f"--cert-dir={node.folder / 'kubelet-keys'}",
        f"--hostname-override={node.name}",
        f"--node-ip={addresses.node(node.number)}",
    ]


def kubelet_configuration(
    node: Node, addresses: Addresses, keys: Path, cgroup: str, has_pressure: bool = False
) -> dict[str, Any]:
    """Return the configuration of a kubelet.

    cgroup: the parent of the cgroups of its pods. has_pressure: it evicts pods, because the memory is used up.
    """
    soft = {"evictionSoft": {"memory.available": "100Ti"}} if has_pressure else {}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": str(addresses.node(node.number)),
        "port": _KUBELET_PORT,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(keys / "kubelets.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},  # of the API server, which has the only key
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "podLogsDir": str(node.folder / "logs"),
        "resolvConf": str(keys / "resolv.conf"),
        "clusterDomain": _DOMAIN,
        "clusterDNS": [str(addresses.dns)],
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        **soft,
        "evictionSoftGracePeriod": {"memory.available": "1s"},
        "evictionMaxPodGracePeriod": 30,
        "evictionPressureTransitionPeriod": "1s",
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "5s",
    }


def dns_configuration(addresses: Addresses, keys: Path) -> str:
    """Return the configuration of the DNS server, which knows the names of the cluster, and no others."""
    return f"""{_DOMAIN} {{
    bind {addresses.dns}
    errors
    kubernetes {{
        kubeconfig {keys / "dns.kubeconfig"}
    }}
}}
"""


def proxy_configuration(node: Node, addresses: Addresses, keys: Path) -> dict[str, Any]:
    """Return the configuration of the proxy, which makes the rules for services of all nodes."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": str(keys / "proxy.kubeconfig")},
        "clusterCIDR": str(addresses.pods),
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # The limits of the whole machine stay as they are.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def network_configuration(addresses: Addresses, data: Path) -> dict[str, Any]:
    """Return the network of the pods: each has a link of its own to its node, so that all packets pass its rules."""
    addresses_of_pods = {
        "type": "host-local",
        "dataDir": str(data),
        "ranges": [[{"subnet": str(addresses.pods)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {"type": "ptp", "ipam": addresses_of_pods},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def containerd_configuration(root: Path, state: Path, socket: Path, networks: Path, pause: str) -> str:
    """Return the configuration of a containerd.

    root, state: its folders. networks: the folder with the network configuration. pause: the image of the first
    container of each pod.
    """
    text = f"""
version = 2
root = {_quoted(root)}
state = {_quoted(state)}
[grpc]
  address = {_quoted(socket)}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Otherwise each pod needs the right CAP_SYS_RESOURCE, which not every machine gives to root.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = {_quoted(networks)}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""
    return text.lstrip()


def _quoted(path: Path) -> str:
    """Return a string of TOML, which has the quoting of JSON."""
    return json.dumps(str(path))
