"""A real API server of Kubernetes with its etcd, on loopback: no node is needed for custom resources."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from jetsql.engine.spark.kubernetes_api import ACCOUNT
from tests.support.paths import ROOT
from tools.free_ports import free_ports
from tools.kubernetes import configuration
from tools.kubernetes.keys import write_key
from tools.kubernetes.programs import are_programs_built, build_programs

NAMESPACE = "streams"
_ADMIN, _ENGINE = "admin-token", "engine-token"
_ACCOUNT = f"system:serviceaccount:{NAMESPACE}:engine"
_START_SECONDS = 120.0


def missing_programs() -> str:
    """Return why the API server cannot run, a sentence; empty if it can."""
    if not are_programs_built():
        return "The programs of Kubernetes are not built: run python -m tools.kubernetes programs."
    return "" if shutil.which("kubectl") else "There is no kubectl."


class RealApiServer:
    """An API server, which can be stopped and started again."""

    def __init__(self, folder: Path, port: int, command: Sequence[str]) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self._folder = folder
        self._command = command
        self._running = ExitStack()
        self.account = folder / "account"
        """The folder of the service account of the engine's pod."""
        self._config = folder / "kubeconfig"

    @property
    def in_pod(self) -> tuple[str, ...]:
        """Return a command that runs another one with the files of a pod's service account, as root."""
        place = shlex.quote(str(ACCOUNT))
        copy = f"mount -t tmpfs none /run && mkdir -p {place} && cp {shlex.quote(str(self.account))}/* {place}"
        return ("unshare", "--mount", "sh", "-c", f'{copy} && exec "$@"', "sh")

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self._running.enter_context(_running(self._folder, "kube-apiserver", self._command))
        if not self._config.exists():
            _write_config(self._folder, self)
        _wait_until_ready(self, self._folder)

    def close(self) -> None:
        """Stop the server; etcd keeps its resources."""
        self._running.close()

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl as an admin, and return its output. text: its input."""
        command = ["kubectl", f"--kubeconfig={self._config}", f"--namespace={NAMESPACE}", *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *resources: dict[str, Any]) -> None:
        """Apply resources on the server."""
        listed = {"apiVersion": "v1", "kind": "List", "items": resources}
        self.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(listed))

    def get(self, name: str, kind: str = "jetsqljob") -> dict[str, Any]:
        """Return a resource."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def resources(self) -> list[dict[str, Any]]:
        """Return all JetSQLJobs."""
        path = f"/apis/jetsql.io/v1alpha1/namespaces/{NAMESPACE}/jetsqljobs"
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", "--raw", path))["items"]
        return found


def job_resource(name: str, sql: str, **spec: str) -> dict[str, Any]:
    """Return a JetSQLJob."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "jetsql.io/v1alpha1",
        "kind": "JetSQLJob",
        "metadata": metadata,
        "spec": {"sql": sql, **spec},
    }


def snapshot_resource(name: str, job: str) -> dict[str, Any]:
    """Return a JetSQLSnapshot of the job of a JetSQLJob."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "jetsql.io/v1alpha1",
        "kind": "JetSQLSnapshot",
        "metadata": metadata,
        "spec": {"job": job},
    }


@contextmanager
def running_api_server(folder: Path) -> Iterator[RealApiServer]:
    """Run a server with the definitions of the resources, and the rights of an engine on them, inside the context."""
    programs = build_programs()
    folder.mkdir(parents=True, exist_ok=True)
    write_key(folder / "accounts.key")
    (folder / "tokens.csv").write_text(f'{_ADMIN},admin,admin,"system:masters"\n{_ENGINE},{_ACCOUNT},engine\n')
    client, peer, port = free_ports(3)
    urls = (f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}")
    server = RealApiServer(folder, port, [str(programs / "kube-apiserver"), *_api_flags(urls[0], port)])
    etcd = [str(programs / "etcd"), *configuration.etcd_options(Path("etcd"), *urls)]
    with _running(folder, "etcd", etcd), closing(server):
        server.start()
        server.kubectl("create", "namespace", NAMESPACE)
        server.kubectl("apply", "-f", str(ROOT / "deploy" / "chart" / "crds"))
        server.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        server.apply(*_rights())
        yield server


def _api_flags(etcd: str, port: int) -> Iterator[str]:
    yield f"--etcd-servers={etcd}"
    yield f"--secure-port={port}"
    yield from ("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none")
    yield from ("--cert-dir=certificates", "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC")
    yield from ("--token-auth-file=tokens.csv", "--service-account-issuer=https://kubernetes.default.svc")
    yield from ("--service-account-key-file=accounts.key", "--service-account-signing-key-file=accounts.key")


@contextmanager
def _running(folder: Path, name: str, command: Sequence[str]) -> Iterator[None]:
    with open(folder / f"{name}.log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _write_config(folder: Path, server: RealApiServer) -> None:
    authority = folder / "certificates" / "apiserver.crt"
    _wait_for(authority.exists, folder)
    server.account.mkdir()
    shutil.copy(authority, server.account / "ca.crt")
    (server.account / "token").write_text(_ENGINE)
    (server.account / "namespace").write_text(NAMESPACE)
    (folder / "kubeconfig").write_text(configuration.kubeconfig(server.url, authority, _ADMIN))


def _wait_until_ready(server: RealApiServer, folder: Path) -> None:
    def is_ready() -> bool:
        try:
            return server.kubectl("get", "--raw", "/readyz") == "ok"
        except AssertionError:
            return False

    _wait_for(is_ready, folder)


def _wait_for(reached: Any, folder: Path) -> None:
    until = monotonic() + _START_SECONDS
    while not reached():
        assert monotonic() < until, (folder / "kube-apiserver.log").read_text()[-3000:]
        sleep(0.2)


def _rights() -> Iterator[dict[str, Any]]:
    """Yield the rights that the manual lists for the service account of the engine."""
    group, kinds = "rbac.authorization.k8s.io", ["jetsqljobs", "jetsqlsnapshots"]
    metadata = {"name": "jobs", "namespace": NAMESPACE}
    rules = [
        {"apiGroups": ["jetsql.io"], "resources": kinds, "verbs": ["list", "watch", "patch"]},
        {"apiGroups": ["jetsql.io"], "resources": [f"{kind}/status" for kind in kinds], "verbs": ["patch"]},
    ]
    yield {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "jobs"},
        "subjects": [{"kind": "User", "name": _ACCOUNT, "apiGroup": group}],
    }
