"""The engine that a benchmark measures, with a temporary home, all cores of the machine and a small driver."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

import jetsql
from benchmarks.processes import processor_seconds
from jetsql.settings.engine_settings import load

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance


@dataclass(frozen=True)
class Bench:
    """An open engine with its folder."""

    engine: EngineInstance
    """The engine."""
    folder: Path
    """The temporary folder of the engine and of the benchmark's files."""

    def run(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement directly in the engine, without Spark's parser, and return its rows."""
        return list(self.engine.run(text).rows)

    def collect_garbage(self) -> None:
        """Collect the garbage of the previous run, so that the next run does not pay for it."""
        self.engine.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]

    @property
    def processes(self) -> dict[str, psutil.Process]:
        """Return the processes of the engine: this one, with Python, and Spark's driver."""
        driver: Any = self.engine.spark.sparkContext._gateway.proc  # type: ignore[union-attr]
        return {"python": psutil.Process(), "java": psutil.Process(driver.pid)}

    def processor_seconds(self) -> float:
        """Return the processor time that both processes of the engine have used."""
        return sum(processor_seconds(each) for each in self.processes.values())


@contextmanager
def bench(
    master: str, memory: str, conf: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Iterator[Bench]:
    """Open an engine with an empty home, and delete the home afterwards. conf, flags: see `jetsql.settings.load`."""
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder:
        confs = {"spark.driver.memory": memory, **(conf or {})}
        settings = load(home=Path(folder) / "home", master=master, conf=confs, flags=flags)
        with jetsql.open(settings=settings) as engine:
            yield Bench(engine, Path(folder))


def confs_by_hand(bench: Bench) -> dict[str, str]:
    """Return the settings that a careful author sets for a streaming query, which are the defaults of a job."""
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
