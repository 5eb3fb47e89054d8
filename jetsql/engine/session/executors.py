"""The executors of the cluster, as members. On `local[*]` the driver runs the tasks itself and is one, too."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.jobs.lifecycle.engine_api import MembersListener
from jetsql.jobs.model.cluster_member import Member, MemberStatus

_WITH_PORT: Final = re.compile(r"(?P<host>.*):(?P<port>\d+)")


def list_members(spark: SparkSession) -> tuple[Member, ...]:
    """Return all members, lost ones too, the oldest first."""
    found = json.loads(java(spark).stream.ClusterExecutors.list(spark._jsparkSession))
    return tuple(sorted(map(parse_member, found), key=lambda member: (member.since, member.id)))


class _Told:
    """Calls a listener from Java (java.util.function.Consumer)."""

    def __init__(self, told: MembersListener) -> None:
        self._told = told

    def accept(self, told: str) -> None:
        there = json.loads(told)
        self._told(frozenset(there["members"]), there["cores"])

    class Java:
        implements = ("java.util.function.Consumer",)


def watch_members(spark: SparkSession, told: MembersListener) -> None:
    """Call a listener with the members now and whenever they change. It replaces the one before."""
    java(spark).stream.ClusterExecutors.watch(spark._jsparkSession, _Told(told))


def parse_member(told: dict[str, Any]) -> Member:
    """Return a member from Java's JSON. A member that has just joined has no port yet."""
    address = _WITH_PORT.fullmatch(told["address"])
    status = MemberStatus.EXCLUDED if told["excluded"] else MemberStatus.ACTIVE
    return Member(
        id=told["id"],
        host=address["host"] if address is not None else told["address"],
        port=int(address["port"]) if address is not None else None,
        cores=told["cores"],
        status=status if told["active"] else MemberStatus.GONE,
        is_driver=told["id"] == "driver",
        since=told["added"] / 1000,
        until=told["removed"] / 1000 if told["removed"] else None,
        reason=" ".join(told["reason"].split()),  # YARN's has lines
        active_tasks=told["active_tasks"],
        completed_tasks=told["completed_tasks"],
        failed_tasks=told["failed_tasks"],
        memory_bytes=told["memory"],
    )
