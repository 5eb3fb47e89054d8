"""An engine in a pod of a real Kubernetes, whose executors are pods, too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jetsql
from jetsql.client.dbapi import Connection
from tools.kubernetes.image import IMAGE
from tools.kubernetes.local_cluster import LocalCluster

USER: Final = 10001
"""The user of the image."""
STORAGE: Final = "/srv/jetsql"
EXECUTORS: Final = "spark-role=executor"
"""The label that Spark gives to executors."""
_LABEL_NAME, _, _LABEL = EXECUTORS.partition("=")
_CONTAINER: Final[Mapping[str, Any]] = {
    "imagePullPolicy": "IfNotPresent",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
}
_POD: Final[Mapping[str, Any]] = {
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
}
_ROLE: Final = (
    {
        "apiGroups": [""],
        "resources": ["pods", "configmaps", "persistentvolumeclaims"],
        "verbs": ["create", "get", "list", "watch", "patch", "delete"],
    },
)


class PodEngine:
    """An engine as the pod `engine` of a namespace. Its storage is a folder of this machine that all nodes mount."""

    def __init__(self, cluster: LocalCluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.storage = cluster.folder / f"storage-{namespace}"
        self._connection: Connection | None = None

    def start(self, conf: Mapping[str, str] | None = None, rules: Sequence[Mapping[str, Any]] = _ROLE) -> None:
        """Start the engine on the first node, and wait until it takes statements.

        conf: further settings of Spark. rules: the rights of its service account.
        """
        self.storage.mkdir(exist_ok=True)
        shutil.chown(self.storage, USER, USER)
        settings = {
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.kubernetes.executor.request.cores": "100m",
            "spark.kubernetes.executor.podTemplateFile": "/etc/jetsql/executor.json",
            **(conf or {}),
        }
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
            *self._account(rules),
            self._resource("v1", "ConfigMap", "engine", data={"executor.json": json.dumps(self._template())}),
            self._resource("v1", "Pod", "engine", spec=self._pod(settings)),
        )
        self.wait_until_up()

    def give_rights(self, rules: Sequence[Mapping[str, Any]] = _ROLE) -> None:
        """Change the rights of the engine's service account."""
        self.cluster.apply(*self._account(rules))

    def wait_until_up(self) -> None:
        """Wait until the engine takes statements, and connect."""
        self.kubectl("wait", "--for=condition=Ready", "--timeout=180s", "pod/engine")
        token = self.kubectl("exec", "engine", "--", "cat", "/var/lib/jetsql/home/engine.token").strip()
        address = self.pod("engine")["status"]["podIP"]
        self._connection = jetsql.connect(f"http://{address}:8630", token=token)

    def kubectl(self, *words: str) -> str:
        """Run kubectl in the namespace, and return its output."""
        return self.cluster.kubectl(f"--namespace={self.namespace}", *words)

    def pod(self, name: str) -> dict[str, Any]:
        """Return the description of a pod."""
        return dict(self.cluster.get(f"--namespace={self.namespace}", "pod", name))

    def executor_pods(self) -> list[dict[str, Any]]:
        """Return the descriptions of all pods of executors."""
        return list(self.cluster.get(f"--namespace={self.namespace}", "pods", f"--selector={EXECUTORS}")["items"])

    def log(self) -> str:
        """Return the log of the engine."""
        return self.kubectl("exec", "engine", "--", "cat", "/var/lib/jetsql/home/engine.log")

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        assert self._connection is not None, "it is started first"
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            if cursor.description is None:
                return []
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def members(self, status: str = "ACTIVE") -> dict[str, dict[str, Any]]:
        """Return the executors with a status, by their ids."""
        rows = self.sql("SHOW MEMBERS")
        return {row["id"]: row for row in rows if row["status"] == status and not row["is_driver"]}

    def wait_members(self, count: int) -> dict[str, dict[str, Any]]:
        """Wait until exactly so many executors are active, and return them."""
        self.wait_until(lambda: len(self.members()) == count, f"there are not {count} active executors")
        return self.members()

    def events(self, job: str) -> list[str]:
        """Return the events of a job."""
        return [row["event"] for row in self.sql(f"SHOW JOB HISTORY {job}")]

    def runs(self, job: str) -> int:
        """Return the number of the job's run; 0 while it does not run."""
        newest = self.sql(f"SHOW JOB HISTORY {job}")[-1]
        return int(newest["run"]) if newest["to_status"] == "RUNNING" else 0

    def wait_until(self, reached: Any, problem: str, seconds: float = 120.0) -> None:
        self.cluster.wait_until(reached, problem, seconds)

    def close(self) -> None:
        """Keep the log of the engine with those of the cluster, and delete the namespace with everything in it."""
        if self._connection is not None:
            self._connection.close()
            (self.cluster.folder / f"{self.namespace}-engine.log").write_text(self.log())
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=true", "--timeout=180s")

    def _resource(self, version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace, "labels": {"app": "jetsql"}}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}

    def _account(self, rules: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the service account of the engine, with its role."""
        group = "rbac.authorization.k8s.io"
        account = {"kind": "ServiceAccount", "name": "engine", "namespace": self.namespace}
        role = {"apiGroup": group, "kind": "Role", "name": "engine"}
        return [
            self._resource("v1", "ServiceAccount", "engine"),
            self._resource(f"{group}/v1", "Role", "engine", rules=list(rules)),
            self._resource(f"{group}/v1", "RoleBinding", "engine", roleRef=role, subjects=[account]),
        ]

    def _pod(self, conf: Mapping[str, str]) -> dict[str, Any]:
        """Return the specification of the engine's pod."""
        variables = {
            "JETSQL_HOME": "/var/lib/jetsql/home",
            "JETSQL_MASTER": "k8s",
            "JETSQL_STORAGE": STORAGE,
            "JETSQL_DRIVER_MEMORY": "1g",
            "JETSQL_SCALE_UP_DELAY_SECONDS": "20",
            "JETSQL_CONF": " ".join(f"{key}={value}" for key, value in conf.items()),
        }
        address = {"name": "JETSQL_HTTP_HOSTS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        health = {"path": "/readyz", "port": 8630, "httpHeaders": [{"name": "Host", "value": "localhost"}]}
        container = {
            **_CONTAINER,
            "name": "engine",
            "image": IMAGE,
            "args": ["serve"],
            "env": [*({"name": name, "value": value} for name, value in variables.items()), address],
            "readinessProbe": {"httpGet": health, "periodSeconds": 1},
            "volumeMounts": [
                *_mounts({"home": "/var/lib/jetsql", "cache": "/var/cache/jetsql", "tmp": "/tmp", "storage": STORAGE}),
                {"name": "template", "mountPath": "/etc/jetsql"},
            ],
        }
        volumes = [
            *self._volumes("home", "cache", "tmp"),
            {"name": "template", "configMap": {"name": "engine"}},
        ]
        node = {"kubernetes.io/hostname": self.cluster.nodes[0]}
        return {
            **_POD,
            "serviceAccountName": "engine",
            "nodeSelector": node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 130,
            "containers": [container],
            "volumes": volumes,
        }

    def _template(self) -> dict[str, Any]:
        """Return the template of the executors' pods: one on each node, as far as that is possible."""
        spread = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {_LABEL_NAME: _LABEL}},
        }
        preferred = [{"weight": 100, "podAffinityTerm": spread}]
        container = {**_CONTAINER, "name": "executor", "volumeMounts": _mounts({"tmp": "/tmp", "storage": STORAGE})}
        spec = {
            **_POD,
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
            "containers": [container],
            "volumes": self._volumes("tmp"),
        }
        return {"apiVersion": "v1", "kind": "Pod", "spec": spec}

    def _volumes(self, *empty: str) -> list[dict[str, Any]]:
        """Return the storage, and empty volumes."""
        storage = {"name": "storage", "hostPath": {"path": str(self.storage), "type": "Directory"}}
        return [storage, *({"name": name, "emptyDir": {}} for name in empty)]


def _mounts(volumes: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "mountPath": path} for name, path in volumes.items()]


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Add a file with rows as JSON to a folder that a job reads."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    hidden.chmod(0o644)
    hidden.rename(folder / f"{name}.json")
