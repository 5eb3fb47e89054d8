"""The Kubernetes of the stories: its command lines, configuration files and keys, without running it."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import tomllib
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import psutil
import pytest

from tests.conftest import until
from tests.support.paths import ROOT
from tools.kubernetes import configuration, programs, system_packages
from tools.kubernetes.cache import NotAvailable
from tools.kubernetes.configuration import Addresses, Node
from tools.kubernetes.keys import write_client_certificate

ADDRESSES = Addresses(IPv4Network("10.200.0.0/16"))
FOLDER = Path("/cache/clusters/7")
KEYS = FOLDER / "keys"
NODES = [Node(number, FOLDER / f"node-{number + 1}") for number in range(2)]


def test_addresses_do_not_overlap() -> None:
    links = IPv4Network("10.200.0.0/29")
    fixed = [ADDRESSES.machine, *(ADDRESSES.node(number) for number in range(5))]
    assert len(set(fixed)) == 6 and all(each in links for each in fixed)
    networks = [links, ADDRESSES.services, ADDRESSES.pods]
    assert not any(one.overlaps(other) for one in networks for other in networks if one is not other)
    assert all(each.subnet_of(ADDRESSES.network) for each in networks)
    assert ADDRESSES.node(0) == IPv4Address("10.200.0.2")


def test_token_file_gives_each_client_its_user() -> None:
    tokens = {name: f"token-{name}" for name in configuration.USERS}
    lines = configuration.token_file(tokens, {node.user: f"token-{node.name}" for node in NODES}).splitlines()
    assert lines == [
        'token-admin,admin,admin,"system:masters"',
        'token-controllers,system:kube-controller-manager,system:kube-controller-manager,""',
        'token-scheduler,system:kube-scheduler,system:kube-scheduler,""',
        'token-proxy,system:kube-proxy,system:kube-proxy,""',
        'token-dns,dns,dns,"system:masters"',
        'token-node-1,system:node:node-1,system:node:node-1,"system:nodes"',
        'token-node-2,system:node:node-2,system:node:node-2,"system:nodes"',
    ]


def test_kubeconfig_checks_the_certificate_of_the_server() -> None:
    [cluster] = json.loads(configuration.kubeconfig(ADDRESSES.api_server, KEYS / "apiserver.crt", "t"))["clusters"]
    assert cluster["cluster"] == {
        "server": "https://10.200.0.2:6443",
        "certificate-authority": "/cache/clusters/7/keys/apiserver.crt",
    }


def test_no_program_listens_on_all_addresses() -> None:
    texts = [
        *configuration.etcd_options(FOLDER),
        *configuration.api_server_options(ADDRESSES, KEYS),
        *configuration.controller_manager_options(ADDRESSES, KEYS),
        *configuration.scheduler_options(KEYS),
        *(json.dumps(configuration.kubelet_configuration(node, ADDRESSES, KEYS, "/c")) for node in NODES),
        json.dumps(configuration.proxy_configuration(NODES[0], ADDRESSES, KEYS)),
        configuration.dns_configuration(ADDRESSES, KEYS),
    ]
    assert [text for text in texts if "0.0.0.0:" in text or text.endswith("0.0.0.0")] == []


def test_kubelets_admit_only_the_key_of_the_server() -> None:
    content = configuration.kubelet_configuration(NODES[1], ADDRESSES, KEYS, "/c")
    assert content["authentication"] == {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": False},
        "x509": {"clientCAFile": "/cache/clusters/7/keys/kubelets.crt"},
    }
    assert f"--kubelet-client-certificate={KEYS}/kubelets.crt" in configuration.api_server_options(ADDRESSES, KEYS)


def test_kubelet_evicts_pods_only_under_pressure() -> None:
    calm, pressed = (
        configuration.kubelet_configuration(NODES[0], ADDRESSES, KEYS, "/c", each) for each in (False, True)
    )
    assert "evictionSoft" not in calm and pressed["evictionSoft"]["memory.available"] == "100Ti"


def test_nodes_share_no_address_and_no_folder() -> None:
    contents = [configuration.kubelet_configuration(node, ADDRESSES, KEYS, node.name) for node in NODES]
    same = {key for key in contents[0] if contents[0][key] == contents[1][key]}
    assert {"address", "containerRuntimeEndpoint", "cgroupRoot", "podLogsDir"}.isdisjoint(same)
    one, other = (configuration.kubelet_options(node, ADDRESSES) for node in NODES)
    assert set(one).isdisjoint(other)


def test_containerd_configuration_is_toml() -> None:
    folder = Path('/a "cache"')
    text = configuration.containerd_configuration(folder, folder / "state", folder / "s.sock", folder / "n", "p:1")
    content = tomllib.loads(text)
    cri = content["plugins"]["io.containerd.grpc.v1.cri"]
    assert (content["root"], content["grpc"]["address"]) == ('/a "cache"', '/a "cache"/s.sock')
    assert (cri["sandbox_image"], cri["cni"]["conf_dir"]) == ("p:1", '/a "cache"/n')


def test_client_certificate_is_its_own_authority(tmp_path: Path) -> None:
    write_client_certificate(tmp_path / "c.crt", tmp_path / "c.key", "kube-apiserver")
    context = ssl.create_default_context(cafile=str(tmp_path / "c.crt"))
    context.load_cert_chain(tmp_path / "c.crt", tmp_path / "c.key")
    assert (tmp_path / "c.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):  # a key is never replaced
        write_client_certificate(tmp_path / "c.crt", tmp_path / "c.key", "kube-apiserver")


def test_versions_are_those_of_the_modules() -> None:
    assert programs.kubernetes_version().startswith("v1.")
    assert programs.etcd_version().startswith("v3.")
    assert programs.helm_version().startswith("v3.")
    module = (programs.SOURCES / "kubernetes" / "go.mod").read_text()
    staging = programs.kubernetes_version().replace("v1.", "v0.")
    assert module.count("=> k8s.io/") == module.count(f" {staging}\n", module.index("replace ("))


def test_missing_programs_and_rights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/none")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(NotAvailable) as caught:
        system_packages.check_cluster_machine()
    message = str(caught.value)
    assert message.startswith("A cluster runs with the rights of root. These packages are missing: ")
    for word in ("containerd", "runc", "iptables", "util-linux", "Go 1.21"):
        assert word in message


def test_other_system_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotAvailable, match="A cluster runs with programs of Linux, and this is another system"):
        system_packages.check_cluster_machine()


NAMESPACES = """
import pathlib, sys, time
from tools.kubernetes.namespaces import namespaces
folder = pathlib.Path(sys.argv[1])
with namespaces(folder) as inside:
    inside.start(folder / "log.txt", "sleep", "1000")
    print(inside.run("ip", "-brief", "link").split()[0], inside.pid, flush=True)
    time.sleep(1000)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and the rights of root")
def test_namespaces_end_with_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NAMESPACES, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link, pid = process.stdout.readline().split()
        assert link == "lo"
        until(lambda: "sleep" in {each.name() for each in psutil.Process(int(pid)).children()})
        programs_inside = [psutil.Process(int(pid)), *psutil.Process(process.pid).children(recursive=True)]
        process.kill()
        _, alive = psutil.wait_procs(programs_inside, 20)
        assert alive == []
