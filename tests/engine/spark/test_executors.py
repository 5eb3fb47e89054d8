"""The conversion of Spark's executors to members."""

from __future__ import annotations

import pytest

from jetsql.engine.spark.executors import parse_member

SPARK_EXECUTOR = {
    "id": "0", "address": "127.0.0.1:41000", "cores": 1, "active": True, "excluded": False, "added": 1000, "removed": 0,
    "reason": "", "active_tasks": 0, "completed_tasks": 0, "failed_tasks": 0, "memory": 1,
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
