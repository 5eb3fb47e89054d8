"""The role of an engine as a label of its pod, by which a Service of Kubernetes finds the leader.

A label, and not an EndpointSlice that the engine writes, for these reasons:

- Kubernetes itself takes a pod that has ended, is not ready or is being deleted out of the Service. An address in an
  EndpointSlice would stay, and Kubernetes gives it to another pod some time.
- An engine with executors may patch pods anyway. Who may write EndpointSlices can redirect all Services of the
  namespace, so Kubernetes leaves this right out of its role `edit`.
- kubectl, disruption budgets and monitoring select pods by labels.

A leader that has died, or whose node is gone, cannot remove its label, and Kubernetes needs a minute to notice a lost
node. So the leader takes the label from all other pods. It repeats this, because a request of an engine that has just
lost the lead can arrive late.

The leader's pod also costs more to delete than a standby's. So a Deployment that replaces its pods deletes the standbys
first, and the lead changes once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from jetsql.engine.spark.kubernetes_api import (
    ACCOUNT,
    ApiRefused,
    PodAccount,
    describe_failure,
    failure_hint,
    find_account,
    own_pod_name,
)
from jetsql.errors import EngineError
from jetsql.jobs.model.cluster_member import Role

LABEL: Final = "jetsql.io/role"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COSTS: Final[Mapping[Role, str | None]] = {Role.LEADER: "100", Role.STANDBY: None}
_REQUEST_SECONDS: Final = 5.0
_PERIOD: Final = 10.0
_PAUSE: Final = 1.0  # after a failure
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "Allow the service account of the pod to list and patch pods in the namespace."
}
_LOG: Final = logging.getLogger(__name__)


class PodRole:
    """The label of this engine's pod, and of those of the other engines of its store."""

    def __init__(
        self,
        selector: str | None,
        conf: Mapping[str, str],
        leads: Callable[[], bool],
        environ: Mapping[str, str] = os.environ,
        folder: Path = ACCOUNT,
    ) -> None:
        """Create it.

        selector: the labels of the pods of all engines of a store; None if there are no labels to set.
        conf: Spark's settings. leads: returns whether this engine surely leads.
        """
        self._selector = selector
        self._conf = conf
        self._leads = leads
        self._environ = environ
        self._folder = folder
        self._ended = Event()
        self._changed = Event()

    def note_change(self) -> None:
        """Set the labels soon, because the role may have changed."""
        self._changed.set()

    @contextmanager
    def labelled(self) -> Iterator[None]:
        """Label the pod with its role inside the context. After it, the pod is not labelled as the leader.

        Raises EngineError ENGINE_NOT_STARTED if this process is in no pod or lacks the right, and INVALID_SETTING for
        a selector that does not match this pod. A server out of reach is logged, and asked again.
        """
        if self._selector is None:
            yield
            return
        hint = "Remove the setting outside of Kubernetes."
        account = find_account("The setting pod_selector", hint, self._environ, self._folder)
        account = replace(account, seconds=_REQUEST_SECONDS)
        labels = _PodLabels(account, own_pod_name(self._conf, self._environ), self._selector)
        is_out = not self._set_first(labels)
        thread = Thread(target=self._loop, args=(labels, is_out), name="pod-role", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._changed.set()
            thread.join(_REQUEST_SECONDS)

    def _role(self) -> Role:
        return Role.LEADER if self._leads() and not self._ended.is_set() else Role.STANDBY

    def _set_first(self, labels: _PodLabels) -> bool:
        """Set the labels at the start of the engine. Return whether the API server has answered."""
        try:
            labels.set(self._role)
        except (OSError, ValueError) as error:
            if isinstance(error, ApiRefused) and error.status == HTTPStatus.FORBIDDEN:
                message = f"The label {LABEL} of the pod cannot be set at the {labels.describe(error)}."
                raise EngineError("ENGINE_NOT_STARTED", message, hint=failure_hint(error, _HINTS)) from error
            _log_outage(labels, error)
            return False
        return True

    def _loop(self, labels: _PodLabels, is_out: bool) -> None:
        while True:
            self._changed.wait(_PAUSE if is_out else _PERIOD)
            self._changed.clear()
            is_last = self._ended.is_set()
            try:
                labels.set(self._role)
                if is_out:
                    _LOG.info("The label %s of the pod is up to date again", LABEL)
                is_out = False
            except (OSError, ValueError, EngineError) as error:
                if not is_out:
                    _log_outage(labels, error)
                is_out = True
            if is_last:
                return


class _PodLabels:
    """The labels of the pods of one store, at the API server."""

    def __init__(self, account: PodAccount, name: str, selector: str) -> None:
        self._account = account
        self._name = name
        self._selector = selector

    def set(self, role: Callable[[], Role]) -> None:
        """Label the pod of this engine with its role and, if that is the leader, take the label from all others.

        role: called when the pods are known, immediately before the first change.
        Raises OSError, ValueError, and EngineError INVALID_SETTING if the selector does not match the pod.
        """
        pods = {pod["metadata"]["name"]: pod for pod in self._account.list_pods(self._selector)}
        if self._name not in pods:
            raise EngineError(
                "INVALID_SETTING",
                f"pod_selector is {self._selector!r}, which does not match the pod {self._name} of this engine in the"
                f" namespace {self._account.namespace}.",
                hint="Set it to labels that the pods of all engines of the store have, and no other pods.",
            )
        own = role()
        if own is Role.LEADER:
            for name, pod in pods.items():
                if name != self._name and _label(pod) == Role.LEADER.value:
                    self._change(name, Role.STANDBY)
                    _LOG.info("The pod %s is not labelled as the leader any more", name)
        if _label(pods[self._name]) != own.value:
            self._change(self._name, own)
            _LOG.info("The pod %s has the label %s=%s", self._name, LABEL, own.value)

    def describe(self, error: OSError | ValueError) -> str:
        """Return the server and why a request to it failed."""
        return f"API server {self._account.url}: {describe_failure(error)}"

    def _change(self, name: str, role: Role) -> None:
        change = {"labels": {LABEL: role.value}, "annotations": {DELETION_COST: _COSTS[role]}}
        try:
            self._account.patch_pod(name, {"metadata": change})
        except ApiRefused as error:
            # The pod of another engine can have been deleted meanwhile.
            if error.status != HTTPStatus.NOT_FOUND or name == self._name:
                raise


def _label(pod: Mapping[str, Any]) -> str | None:
    label: str | None = pod["metadata"].get("labels", {}).get(LABEL)
    return label


def _log_outage(labels: _PodLabels, error: OSError | ValueError | EngineError) -> None:
    reason = error.message if isinstance(error, EngineError) else labels.describe(error)
    _LOG.warning("The label %s of the pod may be out of date; trying again. %s", LABEL, reason)
