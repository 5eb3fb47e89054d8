"""The executors of the cluster, listed as members. On `local[*]` the driver runs the tasks and is the only member."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.spark.starting_pods import starting_members
from jetsql.jobs.lifecycle.runtime import MembersListener
from jetsql.jobs.model.cluster_member import ClusterState, Member, MemberStatus

_WITH_PORT: Final = re.compile(r"(?P<host>.*):(?P<port>\d+)")
DECOMMISSION: Final[Mapping[str, str]] = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    # An executor searches again for blocks of tasks that ended meanwhile before it leaves. Spark's interval of 30 s is
    # also the time that Kubernetes gives to a pod.
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}
"""Settings of a cluster with which executors can leave as planned, after they have copied their blocks to others."""
UNREACHABLE: Final[Mapping[str, str]] = {
    "spark.network.timeout": "45s",
    "spark.network.timeoutInterval": "5s",
    # An executor whose engine is out of reach, with its machine for example, ends itself after a minute. With Spark's
    # default of 60 it occupies its memory for ten.
    "spark.executor.heartbeat.maxFailures": "6",
}
"""Settings of a cluster with which an executor that sends nothing, because its machine is lost for example, is gone in
50 s. Its tasks run again elsewhere, and until then their jobs wait: with Spark's defaults up to three minutes."""
_LEAVING: Final = "Planned: it gets no more tasks, and leaves when its last ones have ended."
_LEFT: Final = "It left as planned."


def list_members(spark: SparkSession) -> tuple[Member, ...]:
    """Return all members with those that are gone or have not joined yet, the oldest first."""
    records = json.loads(java(spark).stream.ClusterExecutors.list(spark._jsparkSession))
    members = [*map(parse_member, records)]
    members += starting_members(spark, {member.id for member in members})
    return tuple(sorted(members, key=lambda member: (member.since, member.id)))


class _ListenerCallback:
    """A listener in a form that Java can call (java.util.function.Consumer)."""

    def __init__(self, listener: MembersListener) -> None:
        self._listener = listener

    def accept(self, report: str) -> None:
        self._listener(parse_cluster(json.loads(report)))

    class Java:
        implements = ("java.util.function.Consumer",)


def watch_members(spark: SparkSession, listener: MembersListener) -> None:
    """Call a listener with the current members and whenever they change. It replaces the previous listener."""
    java(spark).stream.ClusterExecutors.watch(spark._jsparkSession, _ListenerCallback(listener))


def parse_cluster(report: dict[str, Any]) -> ClusterState:
    """Return the members from Java's JSON."""
    return ClusterState(
        members=frozenset(report["members"]),
        leaving=frozenset(report["leaving"]),
        left=frozenset(report["left"]),
        cores=report["cores"],
    )


def parse_member(record: dict[str, Any]) -> Member:
    """Return a member from Java's JSON. An executor that has just registered has no port yet."""
    address = _WITH_PORT.fullmatch(record["address"])
    return Member(
        id=record["id"],
        host=address["host"] if address is not None else record["address"],
        port=int(address["port"]) if address is not None else None,
        cores=record["cores"],
        status=_status(record),
        is_driver=record["id"] == "driver",
        since=record["added"] / 1000,
        until=record["removed"] / 1000 if record["removed"] else None,
        reason=_reason(record),
        active_tasks=record["active_tasks"],
        completed_tasks=record["completed_tasks"],
        failed_tasks=record["failed_tasks"],
        memory_bytes=record["memory"],
        pod=record["pod"],
        node=record["node"],
    )


def _status(record: dict[str, Any]) -> MemberStatus:
    if not record["active"]:
        return MemberStatus.GONE
    if record["planned"]:
        return MemberStatus.LEAVING
    return MemberStatus.EXCLUDED if record["excluded"] else MemberStatus.ACTIVE


def _reason(record: dict[str, Any]) -> str:
    reason = " ".join(record["reason"].split())  # YARN's reasons have several lines
    if record["planned"]:
        return f"{_LEFT} {reason}".rstrip() if not record["active"] else _LEAVING
    return reason
