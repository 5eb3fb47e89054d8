"""The engine that a benchmark measures: one home folder in a temporary place, the machine's cores, small driver."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jetsql

if TYPE_CHECKING:
    from jetsql.embedded.embedded_engine import EmbeddedEngine


@dataclass(frozen=True)
class Bench:
    """An open engine and the folder that it and the benchmark's files live in."""

    engine: EmbeddedEngine
    folder: Path

    def run(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, on the core: no detour through Spark's parser."""
        return list(self.engine.run(text).rows)


@contextmanager
def bench(master: str, memory: str, conf: Mapping[str, str] | None = None) -> Iterator[Bench]:
    """An engine with an empty home; all of it is gone afterwards. conf: settings of Spark, on top of its memory."""
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder:
        given = {"spark.driver.memory": memory, **(conf or {})}
        with jetsql.open(home=Path(folder) / "home", master=master, conf=given) as engine:
            yield Bench(engine, Path(folder))


def confs_by_hand(bench: Bench) -> dict[str, str]:
    """What a careful author sets for a streaming query, and what a job has by default."""
    return {
        "spark.sql.shuffle.partitions": str(bench.engine.spark.sparkContext.defaultParallelism),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }
