"""An engine in a pod with executors as pods: the master `k8s`.

The pod itself shows what Spark needs: the API server and the namespace, and the image, the name and the address of the
pod. Executors run the image of the engine. Kubernetes deletes them when the engine's pod is deleted, because it is
their owner.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from jetsql.engine.jvm.java_classes import append_item
from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark.kubernetes_api import (
    ACCOUNT,
    POD_NAME,
    PodAccount,
    describe_failure,
    failure_hint,
    find_account,
    own_pod_name,
)
from jetsql.errors import EngineError

MASTER: Final = "k8s"
_URL: Final = "k8s://"
_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_BIND_ADDRESS: Final = "spark.driver.bindAddress"
_USES_BIND_ADDRESS: Final = "spark.kubernetes.executor.useDriverPodIP"
_POD_STEPS: Final = "spark.kubernetes.executor.pod.featureSteps"
_ALLOCATION: Final[Mapping[str, str]] = {
    # Spark logs a page for each executor that it cannot create, by default every second.
    "spark.kubernetes.allocation.batch.delay": "5s",
    "spark.kubernetes.allocation.pods.allocator": "dev.jetsql.stream.ExecutorPodAllocator",
    # There is none, and deleting it needs a right.
    "spark.kubernetes.driver.service.deleteOnTermination": "false",
}
_POD_NAMES_STEP: Final = "dev.jetsql.stream.ExecutorPodNames"
_ALL_ADDRESSES: Final = ("0.0.0.0", "::", "[::]")
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "Allow the service account of the pod to create, get, list, watch, patch and delete pods,"
    " config maps and persistent volume claims in the namespace.",
    HTTPStatus.NOT_FOUND: f"Set the name of the pod: --conf {POD_NAME}=NAME.",
}
"""A hint for each status of HTTP with which the API server refuses to show the pod."""


def with_pod_settings(start: SparkStart, environ: Mapping[str, str] = os.environ, folder: Path = ACCOUNT) -> SparkStart:
    """Return the start with Spark's master and settings for a pod; another master than `k8s` is left as it is.

    Raises EngineError ENGINE_NOT_STARTED if this process is in no pod, or the API server does not show the pod;
    INVALID_SETTING for an address at which no executor reaches the engine.
    """
    if start.master == MASTER:
        hint = "Set the URL of the API server as the master: k8s://https://HOST:PORT."
        account = find_account(f"The master {MASTER}", hint, environ, folder)
        name = own_pod_name(start.conf, environ)
        pod = _describe(account, name)
        start = replace(start, master=f"{_URL}{account.url}", conf=_confs(account, name, pod) | dict(start.conf))
    if start.master.startswith(_URL):
        _check_address(start.conf)
        steps = append_item(start.conf.get(_POD_STEPS, ""), _POD_NAMES_STEP)
        start = replace(start, conf={**_ALLOCATION, **start.conf, _POD_STEPS: steps})
    return start


def _describe(account: PodAccount, name: str) -> dict[str, Any]:
    try:
        return account.get_pod(name)
    except (OSError, ValueError) as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The API server at {account.url} does not show the pod {name} in the namespace {account.namespace}:"
            f" {describe_failure(error)}.",
            hint=failure_hint(error, _HINTS),
        ) from error


def _confs(account: PodAccount, name: str, pod: Mapping[str, Any]) -> dict[str, str]:
    """Return what the settings of Spark are in this pod."""
    container = _engine_container(pod)
    confs = {
        "spark.kubernetes.namespace": account.namespace,
        POD_NAME: name,
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
