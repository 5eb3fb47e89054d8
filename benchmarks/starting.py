"""The processes that `benchmarks.startup` measures: each starts once and prints its times as JSON.

    python -m benchmarks.starting {bare|jetsql} HOME MASTER MEMORY BEGAN

BEGAN is the time when the caller started this process (seconds since the epoch). The stages are measured by wrapping
the functions that run them, so the measured start is the real one.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIRST_STATEMENT = "SHOW TABLES"  # reads the metastore in both variants


class Watch:
    """The seconds of each stage. The time of a nested stage counts in both."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.stages: dict[str, float] = {"Python, to its first line": time.time() - began}

    def total(self, stage: str) -> None:
        """Store the time since the start of the process as a stage."""
        self.stages[stage] = time.time() - self._began

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        """Call a function, add its time to a stage, and return its result."""
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.stages[stage] = self.stages.get(stage, 0.0) + time.perf_counter() - began

    def on(self, owner: Any, name: str, stage: str) -> None:
        """Replace a function with one that adds the time of every call to a stage."""
        original = getattr(owner, name)

        @functools.wraps(original, updated=())
        def timed(*args: Any, **kwargs: Any) -> Any:
            return self.time(stage, lambda: original(*args, **kwargs))

        setattr(owner, name, timed)


def start_bare(watch: Watch, home: Path, master: str, memory: str) -> None:
    """Start Spark with the same catalogue, as a program without JetSQL does."""

    def imports() -> Any:
        from pyspark import core
        from pyspark.sql import SparkSession

        return SparkSession, core.context

    session, context = watch.time("imports", imports)
    watch.on(context, "launch_gateway", "JVM")
    derby = f'"-Dderby.system.home={home}" "-Dderby.stream.error.file={home / "derby.log"}"'
    builder = session.builder.appName("bare").enableHiveSupport().master(master)
    confs = {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home / 'metastore'};create=true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.driver.extraJavaOptions": derby,
    }
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark = watch.time("session", builder.getOrCreate)
    watch.time(f"first {FIRST_STATEMENT}", lambda: spark.sql(FIRST_STATEMENT).collect())
    watch.total("total")
    spark.stop()


def start_jetsql(watch: Watch, home: Path, master: str, memory: str) -> None:
    """Start an engine and run the first statements."""

    def imports() -> Any:
        from pyspark import core

        from jetsql.embedded import engine_instance, open_engine
        from jetsql.engine.spark import startup

        return core.context, startup, engine_instance, open_engine

    context, startup, embedded, opening = watch.time("imports", imports)
    watch.on(context, "launch_gateway", "JVM")
    watch.on(startup, "load_classes", "JetSQL's classes")
    watch.on(opening, "start_spark", "session")
    watch.on(opening, "open_database", "store")
    watch.on(embedded.Manager, "start", "manager")
    engine = watch.time("open", lambda: opening.open(home=home, master=master, conf={"spark.driver.memory": memory}))
    watch.time("first SHOW JOBS", lambda: list(engine.run("SHOW JOBS").rows))
    watch.time(f"first {FIRST_STATEMENT}", lambda: list(engine.run(FIRST_STATEMENT).rows))
    watch.total("total")
    engine.close()


def main(kind: str, home: str, master: str, memory: str, began: str) -> None:
    watch = Watch(float(began))
    start = start_jetsql if kind == "jetsql" else start_bare
    start(watch, Path(home), master, memory)
    print(json.dumps(watch.stages))


if __name__ == "__main__":
    main(*sys.argv[1:])
