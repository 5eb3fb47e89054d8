"""A release of the chart on a real Kubernetes: a leader and a standby, each with executors as pods."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final
from urllib.request import Request, urlopen

import jetsql
from jetsql.client.dbapi import Connection, Error
from tests.support.paths import ROOT
from tests.support.servers.object_store import ACCESS_KEY, SECRET_KEY, ObjectStore
from tools.kubernetes.cache import BuildFailed
from tools.kubernetes.image import IMAGE, VARIANTS
from tools.kubernetes.local_cluster import LocalCluster

USER: Final = 10001
"""The user of the image."""
NAME: Final = "orders"
"""The name of the release."""
NEXT_IMAGE: Final = f"{IMAGE.rpartition(':')[0]}:next"
"""The image of upgrades, which is the same by another name."""
LAKE_IMAGE: Final = VARIANTS["iceberg"].image
"""The image with Delta and Iceberg."""
OBJECTS: Final = f"{NAME}-jetsql"
"""The name of its Deployment and of its Service."""
EXECUTORS: Final = "spark-role=executor"
"""The label that Spark gives to executors."""
ENGINES: Final = "app.kubernetes.io/component=engine"
_LEADER: Final = "jetsql.io/role=leader"
_EVICTION: Final = ("DisruptionTarget", "TerminationByKubelet")
"""Type and reason of the condition of a pod that a kubelet evicts."""
_PORT: Final = 8630
SCALE_UP_SECONDS: Final = 20
_CONFIG: Final = f"""
kafka = true
scale_up_delay_seconds = {SCALE_UP_SECONDS}

[spark]
sql.shuffle.partitions = 2
kubernetes.executor.request.cores = "100m"
# Many processes start, and only the first compiler of Java is worth its time in all of them.
driver.extraJavaOptions = "-XX:TieredStopAtLevel=1"
executor.extraJavaOptions = "-XX:TieredStopAtLevel=1"
"""


class NoLeader(Exception):
    """The error if no pod has the label of the leader, or two have it."""


class ChartRelease:
    """The release in a namespace of its own, which enforces the level `restricted` of the Pod Security Standards."""

    def __init__(self, cluster: LocalCluster, namespace: str, values: Mapping[str, Any]) -> None:
        """Create it. values: of the chart, in addition to those of small engines."""
        self.cluster = cluster
        self.namespace = namespace
        self.values = {**_small_engines(), **values}
        """The values of the next installation."""
        self._file = cluster.folder / f"{namespace}-values.json"
        self._token = secrets.token_hex(32)
        self._connection: Connection | None = None

    def create_namespace(self, **contents: Mapping[str, str]) -> None:
        """Create the namespace with Secrets. contents: of each Secret, in addition to that of the token."""
        level = {"pod-security.kubernetes.io/enforce": "restricted"}
        metadata = {"name": self.namespace, "labels": level}
        self.cluster.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
            *(
                self.resource("v1", "Secret", name, stringData=content)
                for name, content in {"token": {"token": self._token}, **contents}.items()
            ),
        )

    def install(self, *options: str, waits: bool = True) -> None:
        """Install the chart, or change the release. options: of `helm upgrade`. waits: until all pods are ready."""
        self._file.write_text(json.dumps(self.values))
        wait = ("--wait", "--timeout=8m") if waits else ()
        self.helm(
            "upgrade", "--install", NAME, str(ROOT / "deploy" / "chart"), f"--values={self._file}", *wait, *options
        )

    @contextmanager
    def without_right(self, verb: str) -> Iterator[None]:
        """Take a verb from all rights of the engines inside the context."""
        rules = self.cluster.get(f"--namespace={self.namespace}", "role", OBJECTS)["rules"]
        self._set_rules([{**rule, "verbs": [each for each in rule["verbs"] if each != verb]} for rule in rules])
        try:
            yield
        finally:
            self._set_rules(rules)

    def helm(self, *words: str) -> str:
        """Run Helm in the namespace, and return its output. Raises BuildFailed."""
        return self.cluster.helm(f"--namespace={self.namespace}", *words)

    def kubectl(self, *words: str) -> str:
        """Run kubectl in the namespace, and return its output. Raises BuildFailed."""
        return self.cluster.kubectl(f"--namespace={self.namespace}", *words)

    def resource(self, version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        """Return a resource of the namespace."""
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}

    def pods(self, selector: str = ENGINES) -> dict[str, dict[str, Any]]:
        """Return the descriptions of pods by their names, without those that are being deleted or have ended."""
        items = self.cluster.get(f"--namespace={self.namespace}", "pods", f"--selector={selector}")["items"]
        return {
            pod["metadata"]["name"]: pod
            for pod in items
            if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in ("Failed", "Succeeded")
        }

    def leader(self) -> str:
        """Return the name of the leader's pod, for which it waits."""
        found: list[str] = []

        def is_found() -> bool:
            found[:] = self.pods(_LEADER)
            return len(found) == 1

        self.wait_until(is_found, "no pod is the leader")
        return found[0]

    def standby(self) -> str:
        """Return the name of the standby's pod, for which it waits."""
        self.wait_until(lambda: len(self._ready()) == 2, "there are not two engines that are ready")
        [name] = self._ready() - {self.leader()}
        return name

    def is_ready(self, pod: str) -> bool:
        return pod in self._ready()

    def wait_until_warm(self, pod: str) -> None:
        """Wait until a standby has rehearsed all jobs."""
        request = Request(f"http://{self.address(pod)}:{_PORT}/v1/engine")
        request.add_header("Authorization", f"Bearer {self._token}")

        def is_warm() -> bool:
            with urlopen(request, timeout=20) as response:
                return bool(json.load(response)["warm"])

        self.wait_until(is_warm, f"{pod} is not warm", 600)

    def end_reason(self, pod: str) -> str:
        """Return why the engine in a pod has ended before it was started again; empty if it was not."""
        states = self.pods()[pod]["status"]["containerStatuses"]
        [state] = [each["lastState"] for each in states if each["name"] == "engine"]
        return str(state.get("terminated", {}).get("reason", ""))

    def evicted(self) -> bool:
        """Return whether a kubelet has evicted a pod. One that ended gracefully then is `Succeeded`, not `Failed`."""
        items = self.cluster.get(f"--namespace={self.namespace}", "pods")["items"]
        conditions = [each for pod in items for each in pod["status"].get("conditions", ())]
        return any((each["type"], each.get("reason")) == _EVICTION for each in conditions)

    def spread_engines(self) -> None:
        """Wait for two engines on different nodes, for which the standby is replaced if necessary."""
        while self.node(standby := self.standby()) == self.node(self.leader()):
            self.kubectl("delete", "pod", standby)

    def spread_executors(self) -> None:
        """Wait for two executors of the leader on different nodes, for which one is replaced if necessary."""
        while True:
            one, other = self.wait_members(2).values()
            if one["node"] != other["node"]:
                return
            self.kubectl("delete", "pod", one["pod"])

    def address(self, pod: str) -> str:
        return str(self.pods()[pod]["status"]["podIP"])

    def node(self, pod: str) -> str:
        return str(self.pods()[pod]["spec"]["nodeName"])

    def log(self) -> str:
        """Return the log of the leader."""
        return self.kubectl("logs", self.leader(), "--container=log")

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a query. It is sent again while the lead changes."""
        rows: list[dict[str, Any]] = []

        def answered() -> bool:
            nonlocal rows
            try:
                rows = self._rows(text)
            except (Error, NoLeader, BuildFailed):
                self._disconnect()
                return False
            return True

        self.wait_until(answered, f"no leader has answered: {text}")
        return rows

    def members(self, status: str = "ACTIVE") -> dict[str, dict[str, Any]]:
        """Return the executors of the leader with a status, by their ids."""
        rows = self.sql("SHOW MEMBERS")
        return {row["id"]: row for row in rows if row["status"] == status and not row["is_driver"]}

    def wait_members(self, count: int) -> dict[str, dict[str, Any]]:
        """Wait until exactly so many executors are active, and return them."""
        self.wait_until(lambda: len(self.members()) == count, f"there are not {count} active executors")
        return self.members()

    def wait_restarts(self, runs: Mapping[str, int], count: int) -> None:
        """Wait until each job has restarted so often. runs: the numbers of their runs before."""
        self.wait_until(
            lambda: all(run >= runs[job] + count for job, run in self.runs().items()),
            f"not all jobs have restarted {count} times",
        )

    def wait_settled(self) -> None:
        """Wait until no job has restarted for longer than an engine waits for further executors."""
        before: dict[str, int] = {}
        since = monotonic()

        def is_settled() -> bool:
            nonlocal before, since
            if before != (now := self.runs()):
                before, since = now, monotonic()
            return monotonic() - since > SCALE_UP_SECONDS + 5

        self.wait_until(is_settled, "jobs restart again and again")

    def runs(self) -> dict[str, int]:
        """Return the number of the run of each job; 0 while it does not run."""
        rows = self.sql("SELECT name, IF(status = 'RUNNING', run, 0) AS run FROM jetsql.jobs")
        return {row["name"]: row["run"] for row in rows}

    def wait_until(self, reached: Any, problem: str, seconds: float = 180.0) -> None:
        self.cluster.wait_until(reached, problem, seconds)

    def close(self) -> None:
        """Keep the logs of the engines with those of the cluster, and delete the namespace with everything in it."""
        self._disconnect()
        for pod in self.pods():
            for container in ("log", "engine"):
                with suppress(BuildFailed):  # it has not started
                    text = self.kubectl("logs", pod, f"--container={container}")
                    (self.cluster.folder / f"{self.namespace}-{pod}-{container}.log").write_text(text)
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=true", "--timeout=180s")

    def _rows(self, text: str) -> list[dict[str, Any]]:
        if self._connection is None:
            leaders = list(self.pods(_LEADER))
            if len(leaders) != 1:
                raise NoLeader
            self._connection = jetsql.connect(f"http://{self.address(leaders[0])}:{_PORT}", token=self._token)
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _set_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        self.kubectl("patch", "role", OBJECTS, "--type=merge", f"--patch={json.dumps({'rules': rules})}")

    def _ready(self) -> set[str]:
        """Return the names of the engines that are ready."""
        return {name for name, pod in self.pods().items() if _is_ready(pod)}

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(Error):
                self._connection.close()
            self._connection = None


S3_SECRET: Final = {"access-key": ACCESS_KEY, "secret-key": SECRET_KEY}
"""The content of the Secret `s3`, with the keys of the bucket."""


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def s3_values(objects: ObjectStore) -> dict[str, Any]:
    """Return the values of the chart for an object store."""
    return {"endpoint": objects.endpoint, "region": "us-east-1", "pathStyle": True, "existingSecret": "s3"}


def _small_engines() -> dict[str, Any]:
    """Return the values with which two engines and their executors fit on a small machine."""
    repository, _, tag = IMAGE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "token": {"existingSecret": "token"},
        "config": _CONFIG,
        "engine": {
            "driverMemory": "1g",
            "resources": {"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
        },
        "executors": {
            "enabled": True,
            "memory": "512m",
            "memoryOverhead": "384m",
        },
    }
