"""Compare jobs into parquet, Delta and Iceberg tables with PySpark programs written by hand for the same tables.

Both run in one JVM over the same files with the same batch limits and shuffle partitions, until all files are read
(availableNow), each to an empty table. The programs by hand deliver each row once as well: into parquet with Spark's
file sink, into Delta in `foreachBatch` with the options `txnAppId` and `txnVersion`, into Iceberg with its own stream
writer; SINK INTO is compared with MERGE in `foreachBatch`. A pair is one run of each; the order alternates. After a
pair, the rows of both are compared by number and digest; the benchmark fails when they differ.

Each format runs on the newest Spark that its connector exists for, in an environment of its own (`.venv.spark41`,
`.venv.spark42`; the first time downloads 450 MB each). Parquet runs on both, to compare.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.contents import contents
from benchmarks.engines import Bench, bench, confs_by_hand
from benchmarks.overhead import EVENT, PROJECTED, PROJECTION, ROWS, Measured, Workload, report
from benchmarks.pairs import measure_pairs
from benchmarks.reporting import Goal, figure, figures, introduce, say, table, text
from tools.java.older_sparks import install
from tools.java.packages import ROOT

GOAL: Final = Goal(least=0.95)
SPARKS: Final = {"4.2": ("parquet", "delta"), "4.1": ("parquet", "iceberg")}
"""The formats that are measured on each Spark."""
FORMATS: Final = ("parquet", "delta", "iceberg")
CATALOG: Final = "lake"
"""The catalogue of the Iceberg tables."""
MERGE: Final = "merge"
_DELTA_CONF: Final = "spark.databricks.delta.write."
_GROUPS: Final = """
SELECT id % 2000 AS k, carrier, count(*) AS n, sum(distance) AS distance, max(at) AS newest
FROM {source} GROUP BY id % 2000, carrier
"""
_GROUPED: Final = "k BIGINT, carrier STRING, n BIGINT, distance DOUBLE, newest TIMESTAMP"
_KEYS: Final = ("k", "carrier")
WORKLOADS: Final = (
    Workload("large batches", 8, 500_000, 2, PROJECTION, PROJECTED),
    Workload("small batches", 30, 1_000, 1, PROJECTION, PROJECTED),
    Workload(MERGE, 8, 50_000, 1, _GROUPS, _GROUPED),
)


class Contest:
    """The two variants of one workload and format."""

    def __init__(self, bench: Bench, workload: Workload, table_format: str) -> None:
        self._bench = bench
        self._workload = workload
        self._format = table_format
        self._name = workload.name.replace(" ", "_")
        self._source = bench.folder / self._name
        self._prefix = f"{CATALOG}.db." if table_format == "iceberg" else ""
        self._runs = 0
        self._hand = bench.engine.spark.newSession()
        for key, value in confs_by_hand(bench).items():
            self._hand.conf.set(key, value)

    def prepare(self) -> None:
        """Write the files of the source, unless they are there, and create a table over them for the job."""
        load = self._workload
        if not self._source.exists():
            query = ROWS.format(first=0, last=load.rows, files=load.files)
            self._bench.engine.spark.sql(query).write.parquet(str(self._source))
            self._bench.run(f"CREATE TABLE source_{self._name} ({EVENT}) USING parquet LOCATION '{self._source}'")
        if self._prefix:
            self._bench.run(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")

    def job(self) -> Measured:
        """Run the workload as a job."""
        load, run = self._workload, self._bench.run
        name = self._next_name()
        sink = self._create(name)
        source = f"STREAM source_{self._name} WITH ('maxFilesPerTrigger' = '{load.files_in_batch}')"
        verb = "SINK INTO" if load.name == MERGE else "INSERT INTO"
        self._bench.collect_garbage()
        began = time.perf_counter()
        run(
            f"CREATE JOB {name} OPTIONS ('trigger' = 'availableNow', 'processingGuarantee' = 'exactlyOnce')\n"
            f"AS {verb} {sink} {load.query.format(source=source)}"
        )
        run(f"WAIT FOR JOB {name} UNTIL COMPLETED")
        return self._measured(began, sink)

    def hand(self) -> Measured:
        """Run the workload by hand."""
        name = self._next_name()
        checkpoint = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=self._bench.folder))
        sink = self._create(name)
        self._bench.collect_garbage()
        began = time.perf_counter()
        writer = self._rows().writeStream.trigger(availableNow=True).option("checkpointLocation", str(checkpoint))
        self._start(writer, sink).awaitTermination()
        measured = self._measured(began, sink)
        shutil.rmtree(checkpoint, ignore_errors=True)  # Spark may still clean up its state there
        return measured

    def _next_name(self) -> str:
        """Return a new name for a table: a session may have cached a table that another one has dropped."""
        self._runs += 1
        return f"{self._name}_{self._format}_{self._runs}"

    def _create(self, name: str) -> str:
        """Create the table of a run, and return its name."""
        keys = f" TBLPROPERTIES ('key.columns' = '{', '.join(_KEYS)}')" if self._workload.name == MERGE else ""
        self._bench.run(f"CREATE TABLE {self._prefix}{name} ({self._workload.sink}) USING {self._format}{keys}")
        return self._prefix + name

    def _measured(self, began: float, sink: str) -> Measured:
        seconds = time.perf_counter() - began
        written = contents(self._bench.engine.spark.newSession().table(sink))
        self._bench.run(f"DROP TABLE {sink}")
        return Measured(seconds, written)

    def _rows(self) -> Any:
        load = self._workload
        stream: Any = self._hand.readStream.schema(EVENT).option("maxFilesPerTrigger", load.files_in_batch)
        stream.parquet(str(self._source)).createOrReplaceTempView("source")
        return self._hand.sql(load.query.format(source="source"))

    def _start(self, writer: Any, sink: str) -> Any:
        if self._workload.name == MERGE:
            return writer.outputMode("update").foreachBatch(lambda rows, batch: self._merge(rows, batch, sink)).start()
        if self._format == "delta":

            def append(rows: Any, batch: int) -> None:
                options = {"txnAppId": sink, "txnVersion": str(batch)}
                rows.write.format("delta").mode("append").options(**options).saveAsTable(sink)

            return writer.foreachBatch(append).start()
        return writer.format(self._format).outputMode("append").toTable(sink)

    def _merge(self, rows: Any, batch: int, sink: str) -> None:
        session = rows.sparkSession
        rows.persist()  # MERGE reads its source more than once
        rows.createOrReplaceTempView("changes")
        session.conf.set(f"{_DELTA_CONF}txnAppId", sink)
        session.conf.set(f"{_DELTA_CONF}txnVersion", str(batch))
        matches = " AND ".join(f"t.{key} = s.{key}" for key in _KEYS)
        session.sql(
            f"MERGE INTO {sink} t USING changes s ON {matches} WHEN MATCHED THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT *"
        )
        session.conf.unset(f"{_DELTA_CONF}txnAppId")
        session.conf.unset(f"{_DELTA_CONF}txnVersion")
        rows.unpersist()


def measure(formats: tuple[str, ...], names: tuple[str, ...], count: int, warm_ups: int, engine: Bench) -> None:
    """Measure formats with the Spark of this process, and print the pairs and the ratios."""
    ratios = {}
    for load in WORKLOADS:
        for table_format in formats:
            if (names and load.name not in names) or (load.name == MERGE and table_format == "parquet"):
                continue
            contest = Contest(engine, load, table_format)
            contest.prepare()
            say(f"{table_format}:")
            pairs = list(measure_pairs(contest.job, contest.hand, warm_ups, count))
            ratios[f"{table_format}, {load.name}"] = report(load, pairs)
    rows = ((name, figure(ratio), GOAL.describe(ratio)) for name, ratio in ratios.items())
    table((text("workload"), *figures("median ratio"), text("goal")), rows)


@click.command(help=__doc__)
@click.option("--pairs", "count", type=click.IntRange(1), default=5, show_default=True, help="Measured pairs.")
@click.option("--warm-ups", type=click.IntRange(0), default=2, show_default=True, help="Pairs before, not measured.")
@click.option(
    "--workload",
    "names",
    multiple=True,
    type=click.Choice([load.name for load in WORKLOADS]),
    help="Only this workload; may be repeated.",
)
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Only this format.")
@click.option("--spark", "sparks", multiple=True, type=click.Choice(list(SPARKS)), help="Only this Spark.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
@click.option("--here", is_flag=True, hidden=True, help="Measure with the Spark of this process.")
def main(
    count: int,
    warm_ups: int,
    names: tuple[str, ...],
    formats: tuple[str, ...],
    sparks: tuple[str, ...],
    master: str,
    memory: str,
    here: bool,
) -> None:
    if not here:
        for spark, measured in SPARKS.items():
            chosen = [name for name in measured if not formats or name in formats]
            if not chosen or (sparks and spark not in sparks):
                continue
            options = [f"--format={name}" for name in chosen] + [f"--workload={name}" for name in names]
            options += [f"--pairs={count}", f"--warm-ups={warm_ups}", f"--master={master}", f"--memory={memory}"]
            command = [str(install(spark)), "-m", "benchmarks.lakehouse", "--here", *options]
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                sys.exit(1)
        return
    introduce(
        "lakehouse: jobs compared with PySpark by hand, into the same tables",
        "job: availableNow, exactly once; by hand: writeStream or foreachBatch, each row once",
    )
    flags = {name: True for name in formats if name != "parquet"}
    key = f"spark.sql.catalog.{CATALOG}"
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as warehouse:
        catalog = {key: "org.apache.iceberg.spark.SparkCatalog", f"{key}.type": "hadoop", f"{key}.warehouse": warehouse}
        with bench(master, memory, catalog if "iceberg" in formats else {}, flags) as engine:
            measure(formats, names, count, warm_ups, engine)


if __name__ == "__main__":
    main()
