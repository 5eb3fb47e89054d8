"""The API server of Kubernetes, as a pod reaches it with the token of its service account."""

from __future__ import annotations

import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jetsql.errors import EngineError

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder in which Kubernetes gives a pod the token of its service account."""
POD_NAME: Final = "spark.kubernetes.driver.pod.name"
_SECONDS: Final = 20.0
MERGE_PATCH: Final = "application/merge-patch+json"
"""The content type of a change, as RFC 7396 defines it."""


class ApiRefused(OSError):
    """The API server refused a request. status: of HTTP"""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"it answers {status} {reason}")
        self.status = status


@dataclass(frozen=True)
class PodAccount:
    """The access of a pod to the pods of its namespace. Methods raise OSError, such as ApiRefused, and ValueError."""

    url: str
    namespace: str
    folder: Path
    """The folder with the token, which Kubernetes renews each hour, and the certificate of the cluster's authority."""
    seconds: float = _SECONDS
    """The time limit of a request."""

    def get_pod(self, name: str) -> dict[str, Any]:
        """Return the description of a pod."""
        return self._request("GET", f"/{name}")

    def list_pods(self, selector: str) -> list[dict[str, Any]]:
        """Return the descriptions of the pods with some labels."""
        return list(self._request("GET", f"?{urlencode({'labelSelector': selector})}")["items"])

    def patch_pod(self, name: str, change: Mapping[str, Any]) -> None:
        """Merge a change into the description of a pod; None removes a value."""
        self._request("PATCH", f"/{name}", change)

    def headers(self, has_change: bool = False) -> dict[str, str]:
        """Return the headers of a request. Kubernetes renews the token, so it is read each time."""
        token = (self.folder / "token").read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        return {**headers, "Content-Type": MERGE_PATCH} if has_change else headers

    def tls(self) -> ssl.SSLContext:
        """Return the context of a connection, which trusts the cluster's authority alone."""
        return ssl.create_default_context(cafile=str(self.folder / "ca.crt"))

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url}/api/v1/namespaces/{self.namespace}/pods{path}",
            None if body is None else json.dumps(body).encode(),
            self.headers(has_change=body is not None),
            method=method,
        )
        # A proxy of the environment is for other servers.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.tls())
        )
        try:
            with opener.open(request, timeout=self.seconds) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            with error:
                raise ApiRefused(error.code, error.reason) from None


def find_account(user: str, hint: str, environ: Mapping[str, str], folder: Path) -> PodAccount:
    """Return the access of this pod to the API server.

    user: what needs it, the subject of a message. hint: the remedy outside of a pod.
    Raises EngineError ENGINE_NOT_STARTED if this process is in no pod, or its pod has no token.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{user} is for an engine in a pod of Kubernetes, and this process is in none:"
            " KUBERNETES_SERVICE_HOST is not set.",
            hint=hint,
        )
    try:
        namespace, token = ((folder / name).read_text(encoding="utf-8").strip() for name in ("namespace", "token"))
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Cannot read the token of the pod's service account in {folder}: {error.strerror or error}.",
            hint="Do not set automountServiceAccountToken to false in the pod of the engine.",
        ) from error
    assert token, "Kubernetes writes the whole file"
    return PodAccount(f"https://{f'[{host}]' if ':' in host else host}:{port}", namespace, folder)


def own_pod_name(conf: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return the name of this pod. conf: Spark's settings, one of which may name it"""
    return conf.get(POD_NAME) or environ.get("HOSTNAME") or socket.gethostname()


def describe_failure(error: OSError | ValueError) -> str:
    """Return why a request failed, as a clause."""
    return str(getattr(error, "reason", error))


def failure_hint(error: OSError | ValueError, hints: Mapping[int, str]) -> str:
    """Return the remedy for a failed request. hints: those of the statuses of HTTP"""
    if isinstance(error, ApiRefused):
        return hints.get(error.status, "")
    return "Check that a network policy lets the pod reach it."
