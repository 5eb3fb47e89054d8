"""The pods of executors that have not joined, as members with the reason that Kubernetes reports."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.engine.spark.starting_pods import parse_pods, parse_refusal
from jetsql.jobs.model.cluster_member import MemberStatus

NOT_PULLED = {
    "phase": "Pending",
    "podIP": "10.200.128.4",
    "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "not ready"}],
    "containerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "Image x is not present"}}}],
}
NOT_SCHEDULED = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes\n are available"}
    ],
}


def pod(status: dict[str, Any], **metadata: str) -> dict[str, Any]:
    labels = {"spark-exec-id": "7"}
    names = {"name": "exec-7", "creationTimestamp": "2026-03-01T10:00:00Z", "labels": labels, **metadata}
    return {"metadata": names, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (NOT_PULLED, "ErrImageNeverPull: Image x is not present"),
        (NOT_SCHEDULED, "Unschedulable: 0/2 nodes are available"),
        ({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}, ""),
        ({"phase": "Pending"}, ""),
    ],
)
def test_reason_is_that_of_kubernetes(status: dict[str, Any], reason: str) -> None:
    [member] = parse_pods([pod(status)], {"1"})
    assert (member.id, member.status, member.pod, member.reason) == ("7", MemberStatus.STARTING, "exec-7", reason)
    assert member.since == 1772359200


def test_pods_that_have_joined_or_end_are_no_members() -> None:
    running = {"phase": "Running"}
    assert [*parse_pods([pod(running)], {"7"})] == []
    assert [*parse_pods([pod({"phase": "Failed"}), pod(running, deletionTimestamp="2026-03-01T10:00:00Z")], ())] == []


def test_refused_pod_is_a_member_without_an_id() -> None:
    reason = "exceeded quota: few"
    [member] = parse_refusal('{"since": 1772359200500, "reason": "exceeded quota: few"}')
    assert (member.id, member.status, member.pod, member.reason) == ("", MemberStatus.STARTING, "", reason)
    assert member.since == 1772359200.5
    assert parse_refusal("") == []
