"""The processes that `benchmarks.startup` times: one start each, told as JSON on standard output.

    python -m benchmarks.starting {bare|jetsql} HOME MASTER MEMORY BEGAN

BEGAN is when the caller started this process (seconds since the epoch). Stages are timed where they happen, by watching
the functions that do them: what the caller measures is the real start, not one that was taken apart for measuring.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIRST_STATEMENT = "SHOW TABLES"  # asks the metastore, on both sides


class Watch:
    """Seconds by stage. A stage within another counts in both."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.stages: dict[str, float] = {"Python, to its first line": time.time() - began}

    def total(self, stage: str) -> None:
        """Note how long it is since the process was started."""
        self.stages[stage] = time.time() - self._began

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.stages[stage] = self.stages.get(stage, 0.0) + time.perf_counter() - began

    def on(self, owner: Any, name: str, stage: str) -> None:
        """Time every call of a function from now on."""
        watched = getattr(owner, name)

        @functools.wraps(watched, updated=())
        def timed(*args: Any, **kwargs: Any) -> Any:
            return self.time(stage, lambda: watched(*args, **kwargs))

        setattr(owner, name, timed)


def start_bare(watch: Watch, home: Path, master: str, memory: str) -> None:
    """What a program without JetSQL does for the same catalogue."""

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
    def imports() -> Any:
        from pyspark import core

        from jetsql.embedded import embedded_engine as embedded
        from jetsql.engine.session import startup

        return core.context, startup, embedded

    context, startup, embedded = watch.time("imports", imports)
    watch.on(context, "launch_gateway", "JVM")
    watch.on(startup, "load_classes", "our Java")
    watch.on(embedded, "start_spark", "session")
    watch.on(embedded, "Store", "store")
    watch.on(embedded.Manager, "start", "manager")
    engine = watch.time("open", lambda: embedded.open(home=home, master=master, conf={"spark.driver.memory": memory}))
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
