"""An API server of Kubernetes on a real socket with TLS: the pods of one namespace, for one service account."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.certificates import Authority, Files

NAMESPACE = "streams"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
Pod = dict[str, Any]


@dataclass
class KubernetesApi:
    """The server."""

    folder: Path
    """The folder of the account's files."""
    pods: dict[str, Pod] = field(default_factory=dict)
    """The pods by name."""
    status: int = 200
    """The status of all responses."""
    requests: list[str] = field(default_factory=list)
    """The requests with the right token: method and path."""
    port: int = 0

    @property
    def environ(self) -> dict[str, str]:
        """Return the environment of the pod `engine-0`."""
        host = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}
        return {**host, "HOSTNAME": "engine-0"}

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text().strip()

    def answer(self, path: str, change: Pod | None) -> Any:
        """Return the JSON of a response; None for a pod that does not exist."""
        parts = urlsplit(path)
        if parts.path == PODS:
            [selector] = parse_qs(parts.query)["labelSelector"]
            labels = dict(each.split("=") for each in selector.split(","))
            return {"items": [pod for pod in self.pods.values() if labels.items() <= pod["metadata"]["labels"].items()]}
        pod = self.pods.get(parts.path.removeprefix(f"{PODS}/"))
        if pod is not None and change is not None:
            merge(pod, change)
        return pod


def merge(target: Pod, change: Pod) -> None:
    """Merge a change as RFC 7396 defines it."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


def write_account(folder: Path) -> ssl.SSLContext:
    """Write the files of a pod's service account into a folder. Return the context of a server that they trust."""
    authority = Authority(folder)
    authority.file.rename(folder / "ca.crt")
    files = authority.issue(Files(folder / "server.pem", folder / "server.key"))
    (folder / "token").write_text("s3cr3t\n")
    (folder / "namespace").write_text(NAMESPACE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    return context


@contextmanager
def run_kubernetes_api(folder: Path) -> Iterator[KubernetesApi]:
    """Yield a running server, and write the files of the account into a folder."""
    context = write_account(folder)
    api = KubernetesApi(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_PATCH(self) -> None:
            assert self.headers["Content-Type"] == "application/merge-patch+json"
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, change: Pod | None) -> None:
            assert self.headers["Authorization"] == f"Bearer {api.token}"
            api.requests.append(f"{self.command} {self.path}")
            answer = api.answer(self.path, change) if api.status == 200 else None
            self.send_response(404 if answer is None and api.status == 200 else api.status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        api.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield api
        server.shutdown()
        thread.join()
