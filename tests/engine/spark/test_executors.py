"""The conversion of Spark's executors to members."""

from __future__ import annotations

import pytest

from jetsql.engine.spark.executors import parse_cluster, parse_member
from jetsql.jobs.model.cluster_member import ClusterState, MemberStatus

SPARK_EXECUTOR = {
    "id": "0", "address": "127.0.0.1:41000", "cores": 1, "active": True, "excluded": False, "planned": False,
    "added": 1000, "removed": 0, "reason": "", "active_tasks": 0, "completed_tasks": 0, "failed_tasks": 0, "memory": 1,
    "pod": "", "node": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:41000", "127.0.0.1", 41000),
        ("[::1]:41000", "[::1]", 41000),
        ("127.0.0.1", "127.0.0.1", None),
        ("[::1]", "[::1]", None),
    ],
)
def test_a_member_that_has_just_joined_has_no_port_yet(address: str, host: str, port: int | None) -> None:
    member = parse_member({**SPARK_EXECUTOR, "address": address})
    assert (member.host, member.port) == (host, port)


def test_the_reason_is_one_line() -> None:
    reason = "Container from a bad node. Exit status: 137. Diagnostics: Killed by\n\texternal signal\n.\n"
    assert parse_member({**SPARK_EXECUTOR, "reason": reason}).reason == (
        "Container from a bad node. Exit status: 137. Diagnostics: Killed by external signal ."
    )


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({}, MemberStatus.ACTIVE, ""),
        ({"excluded": True}, MemberStatus.EXCLUDED, ""),
        (
            {"excluded": True, "planned": True},
            MemberStatus.LEAVING,
            "Planned: it gets no more tasks, and leaves when its last ones have ended.",
        ),
        (
            {"active": False, "planned": True, "reason": "Executor decommission: worker decommissioned"},
            MemberStatus.GONE,
            "It left as planned. Executor decommission: worker decommissioned",
        ),
        ({"active": False, "planned": True}, MemberStatus.GONE, "It left as planned."),
        ({"active": False, "reason": "Worker lost"}, MemberStatus.GONE, "Worker lost"),
    ],
)
def test_status_and_reason_of_members(changes: dict[str, object], status: MemberStatus, reason: str) -> None:
    member = parse_member({**SPARK_EXECUTOR, **changes})
    assert (member.status, member.reason) == (status, reason)


def test_the_report_of_the_cluster() -> None:
    cluster = parse_cluster({"members": ["1", "2"], "leaving": ["2"], "left": ["0"], "cores": 3})
    assert cluster == ClusterState(frozenset("12"), frozenset("2"), frozenset("0"), 3)
    assert (cluster.staying, cluster.planned) == (frozenset("1"), frozenset("02"))
