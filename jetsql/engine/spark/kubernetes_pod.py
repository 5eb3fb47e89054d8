"""An engine in a pod with executors as pods: the master `k8s`.

The pod itself shows what Spark needs: the API server and the namespace, and the image, the name and the address of the
pod. Executors run the image of the engine. Kubernetes deletes them when the engine's pod is deleted, because it is
their owner.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from jetsql.engine.jvm.launch import SparkStart
from jetsql.errors import EngineError

MASTER: Final = "k8s"
_URL: Final = "k8s://"
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder in which Kubernetes gives a pod the token of its service account."""
_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_POD_NAME: Final = "spark.kubernetes.driver.pod.name"
_BIND_ADDRESS: Final = "spark.driver.bindAddress"
_USES_BIND_ADDRESS: Final = "spark.kubernetes.executor.useDriverPodIP"
_ALL_ADDRESSES: Final = ("0.0.0.0", "::", "[::]")
_SECONDS: Final = 20.0
_HINTS: Final[Mapping[int, str]] = {
    403: "Allow the service account of the pod to create, get, list, watch, patch and delete pods, config maps and"
    " persistent volume claims in the namespace.",
    404: f"Set the name of the pod: --conf {_POD_NAME}=NAME.",
}
"""A hint for each status of HTTP with which the API server refuses to show the pod."""


@dataclass(frozen=True)
class _Account:
    """The access of a pod to the API server."""

    url: str
    namespace: str
    token: str
    authority: Path
    """The file with the certificate of the cluster's authority."""

    def get_pod(self, name: str) -> dict[str, Any]:
        """Return the description of a pod. Raises OSError, which includes the errors of HTTP, and ValueError."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/namespaces/{self.namespace}/pods/{name}",
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json"},
        )
        context = ssl.create_default_context(cafile=str(self.authority))
        # A proxy of the environment is for other servers.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(request, timeout=_SECONDS) as response:
            return dict(json.load(response))


def with_pod_settings(
    start: SparkStart, environ: Mapping[str, str] = os.environ, folder: Path = _ACCOUNT
) -> SparkStart:
    """Return the start with Spark's master and settings for a pod; another master than `k8s` is left as it is.

    Raises EngineError ENGINE_NOT_STARTED if this process is in no pod, or the API server does not show the pod;
    INVALID_SETTING for an address at which no executor reaches the engine.
    """
    if start.master == MASTER:
        account = _find_account(environ, folder)
        name = start.conf.get(_POD_NAME) or environ.get("HOSTNAME") or socket.gethostname()
        pod = _describe(account, name)
        start = replace(start, master=f"{_URL}{account.url}", conf=_confs(account, name, pod) | dict(start.conf))
    if start.master.startswith(_URL):
        _check_address(start.conf)
    return start


def _find_account(environ: Mapping[str, str], folder: Path) -> _Account:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The master {MASTER} is for an engine in a pod of Kubernetes, and this process is in none:"
            " KUBERNETES_SERVICE_HOST is not set.",
            hint="Set the URL of the API server as the master: k8s://https://HOST:PORT.",
        )
    try:
        namespace, token = ((folder / name).read_text(encoding="utf-8").strip() for name in ("namespace", "token"))
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Cannot read the token of the pod's service account in {folder}: {error.strerror or error}.",
            hint="Do not set automountServiceAccountToken to false in the pod of an engine with this master.",
        ) from error
    return _Account(f"https://{f'[{host}]' if ':' in host else host}:{port}", namespace, token, folder / "ca.crt")


def _describe(account: _Account, name: str) -> dict[str, Any]:
    try:
        return account.get_pod(name)
    except urllib.error.HTTPError as error:
        reason, hint = f"it answers {error.code} {error.reason}", _HINTS.get(error.code, "")
    except (OSError, ValueError) as error:
        reason, hint = str(getattr(error, "reason", error)), "Check that a network policy lets the pod reach it."
    raise EngineError(
        "ENGINE_NOT_STARTED",
        f"The API server at {account.url} does not show the pod {name} in the namespace {account.namespace}: {reason}.",
        hint=hint,
    )


def _confs(account: _Account, name: str, pod: Mapping[str, Any]) -> dict[str, str]:
    """Return what the settings of Spark are in this pod."""
    container = _engine_container(pod)
    confs = {
        "spark.kubernetes.namespace": account.namespace,
        _POD_NAME: name,
        "spark.kubernetes.container.image": container["image"],
        "spark.kubernetes.container.image.pullPolicy": container["imagePullPolicy"],
        "spark.driver.host": pod["status"]["podIP"],
    }
    secrets = [each["name"] for each in pod["spec"].get("imagePullSecrets", ())]
    if secrets:
        confs["spark.kubernetes.container.image.pullSecrets"] = ",".join(secrets)
    return confs


def _engine_container(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the container of the engine: the one that `kubectl exec` takes by default."""
    name = pod["metadata"].get("annotations", {}).get(_DEFAULT_CONTAINER)
    containers: list[Mapping[str, Any]] = pod["spec"]["containers"]
    return next((each for each in containers if each["name"] == name), containers[0])


def _check_address(conf: Mapping[str, str]) -> None:
    """Raise EngineError INVALID_SETTING if executors would connect to all addresses.

    Spark gives executors the address to which the driver is bound, unless a setting turns this off.
    """
    if conf.get(_BIND_ADDRESS) in _ALL_ADDRESSES and conf.get(_USES_BIND_ADDRESS, "true").lower() != "false":
        raise EngineError(
            "INVALID_SETTING",
            f"With {_BIND_ADDRESS}={conf[_BIND_ADDRESS]}, executors on Kubernetes would connect to"
            f" {conf[_BIND_ADDRESS]} instead of to the engine.",
            hint=f"Remove the setting, or add --conf {_USES_BIND_ADDRESS}=false.",
        )
