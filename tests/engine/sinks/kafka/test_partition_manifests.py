"""A replayed batch for Kafka: the messages that are committed, and undecidable cases. No broker is started."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import cast

import pytest

from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.sinks.kafka.partition_manifest import Part, PartitionManifest, PartitionManifests, is_committed
from jetsql.errors import StatementError

A, B, C = Part("k0-t-0", "k0-t-0 0-5"), Part("k0-t-1", "k0-t-1 0-7"), Part("k0-t-2", "k0-t-2 3-4")


class Disk:
    """The files of the job's folder."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read_if_there(self, path: str) -> str | None:
        return self.texts.get(path)

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text

    def delete(self, path: str) -> None:
        self.texts.pop(path, None)


@dataclass
class Broker:
    """A broker with the batches that its transactions have committed."""

    noted: dict[str, int] = field(default_factory=dict)
    kept: float = 600.0
    fenced: list[str] = field(default_factory=list)
    under_way: dict[str, int] = field(default_factory=dict)  # commits that fencing their part completes
    asked: int = 0  # the number of requests
    server: str = "Kafka b:9092"

    def newest_batches(self, names: list[str]) -> dict[str, int]:
        self.asked += 1
        return {name: self.noted[name] for name in names if name in self.noted}

    def retention_seconds(self) -> float:
        return self.kept

    def fence(self, names: list[str]) -> None:
        self.fenced += names
        self.noted |= self.under_way


@pytest.fixture
def manifests() -> PartitionManifests:
    return PartitionManifests("job/parts", cast(FileSystem, Disk()))


def stored(manifests: PartitionManifests, batch: int) -> list[str]:
    found = manifests.read(batch)
    assert isinstance(found, PartitionManifest)
    return found.part_names


def test_a_new_batch_is_stored_before_anything_is_asked(manifests: PartitionManifests) -> None:
    broker = Broker()
    assert not is_committed(manifests, broker, "t", 4, (A, B))
    assert (stored(manifests, 4), broker.asked) == ([A.name, B.name], 0)


def test_partial_batch_is_detected(manifests: PartitionManifests) -> None:
    is_committed(manifests, Broker(), "t", 4, (A, B))
    assert not is_committed(manifests, Broker({A.name: 4, B.name: 3}), "t", 4, (B, A))
    assert is_committed(manifests, Broker({A.name: 4, B.name: 4}), "t", 4, (B, A))
    assert is_committed(manifests, Broker({A.name: 4, B.name: 4}, kept=0.0), "t", 4, (C,))


def test_other_parts_are_accepted_until_one_is_committed(manifests: PartitionManifests) -> None:
    is_committed(manifests, Broker(), "t", 4, (A, B))
    moved = Part(B.name, "k0-t-1 0-9")
    with pytest.raises(StatementError, match="1 of 2 parts of batch 4 are in t") as caught:
        is_committed(manifests, Broker({A.name: 4}), "t", 4, (A, moved))
    assert caught.value.condition == "JETSQL.PENDING_BATCH_FAILED"
    broker = Broker({A.name: 3})
    assert not is_committed(manifests, broker, "t", 4, (A, moved, C))
    assert broker.fenced == [A.name, B.name]
    assert stored(manifests, 4) == [A.name, moved.name, C.name]


def test_part_in_commit_counts_as_committed(manifests: PartitionManifests) -> None:
    is_committed(manifests, Broker(), "t", 4, (A, B))
    with pytest.raises(StatementError, match="1 of 2 parts of batch 4 are in t"):
        is_committed(manifests, Broker(under_way={B.name: 4}), "t", 4, (A, C))
    assert stored(manifests, 4) == [A.name, B.name]


def test_batch_with_expired_notes_is_refused(manifests: PartitionManifests, monkeypatch: pytest.MonkeyPatch) -> None:
    is_committed(manifests, Broker(), "t", 4, (A, B))
    later = time.time() + 3 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    assert not is_committed(manifests, Broker(kept=7 * 86400.0), "t", 4, (A, B))
    with pytest.raises(StatementError, match=r"begun 3.0 days ago .* after 3.0 days \(offsets.retention.minutes\)"):
        is_committed(manifests, Broker({A.name: 4}, kept=3 * 86400.0), "t", 4, (A, B))


def test_partial_manifest_is_damage(manifests: PartitionManifests) -> None:
    is_committed(manifests, Broker(), "t", 4, (A,))
    manifests.files.write("job/parts/000000004.json", '{"batch": 4, "par')
    with pytest.raises(StatementError) as caught:
        is_committed(manifests, Broker(), "t", 4, (A,))
    assert caught.value.condition == "JETSQL.CHECKPOINT_DAMAGED"


def test_old_manifests_are_deleted(manifests: PartitionManifests) -> None:
    for batch in range(15):
        is_committed(manifests, Broker(), "t", batch, (A,))
    assert [batch for batch in range(15) if manifests.read(batch) is not None] == list(range(5, 15))
