"""Sessions of jobs: what a job keeps of the session that made it, and the fresh session that each run gets.

Like a view, a job captures catalog, schema and every runtime setting that differs from the engine's; time zone and ANSI
mode always, because Spark pins neither in its checkpoint: resumed under another zone, the same instant would land in
another day's group.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import plain_message
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.errors import StatementError
from jetsql.jobs.model.job import CapturedSession, Job, Plan, SinkKind
from jetsql.jobs.planning.progress_tracking import tracks_beside
from jetsql.jobs.planning.protected_confs import refusal

ALWAYS_CAPTURED = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
JOB_CONF = "spark.jetsql.job"

# Belong to one session or to the engine, and would be wrong or refused in another.
_NOT_CAPTURED = (
    "spark.sql.warehouse.dir",
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.streaming.checkpointLocation",
    "spark.sql.artifact.",
    # Of the doors that a session came through.
    "spark.connect.",
    "spark.sql.datetime.java8API.enabled",
    JOB_CONF,
)

# Good for state of any size, and what snapshots and scaling rest on.
_DELIVERY_CONFS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Copies of a checkpoint rest on how long its files stay, see `holds`.
    "spark.sql.streaming.minBatchesToRetain": "100",
    # An idle trigger tells so at once: CREATE JOB and WAIT FOR JOB wait for it.
    "spark.sql.streaming.noDataProgressEventInterval": "0",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    # A forced stop that hangs in somebody else's server must not hang the engine with it.
    "spark.sql.streaming.stopTimeout": "60s",
}


# Spark writes its logs through another interface of Hadoop's where it can, which on a local disk starts eight processes
# (`readlink`) for each rename, 24 a batch. Renames are as atomic there through this one.
_LOCAL_CONFS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}

# A batch that comes again has to be split into the same parts, whatever sizes are measured while it runs.
_PARTS_CONFS = {"spark.sql.adaptive.enabled": "false"}

# Batches that follow each other at once ask for new rows a hundred times a second while there are none.
_POLLING_CONFS = {"spark.sql.streaming.pollingDelay": "50ms"}


def delivery_confs(checkpoint_root: str) -> dict[str, str]:
    """What every streaming query of ours runs with. checkpoint_root: where its checkpoint is, a URI."""
    return {**_DELIVERY_CONFS, **(_LOCAL_CONFS if checkpoint_root.startswith("file:") else {})}


class Sessions:
    """Captures sessions and makes those of runs, all children of the engine's own. checkpoint_root: a URI."""

    def __init__(self, spark: SparkSession, checkpoint_root: str) -> None:
        self._spark = spark
        self._checkpoint_confs = _LOCAL_CONFS if checkpoint_root.startswith("file:") else {}
        self._java = java(spark)
        self._fresh = self._confs(spark.newSession())

    def capture(self, session: SparkSession) -> CapturedSession:
        confs = {
            key: value
            for key, value in self._confs(session).items()
            if self._fresh.get(key) != value and self._is_captured(key) and session.conf.isModifiable(key)
        }
        for key in ALWAYS_CAPTURED:
            confs[key] = str(session.conf.get(key))
        return CapturedSession(session.catalog.currentCatalog(), session.catalog.currentDatabase(), confs)

    @staticmethod
    def _is_captured(key: str) -> bool:
        """What a job may not set for itself is not taken from the session that makes it either."""
        return not key.startswith(_NOT_CAPTURED) and refusal(key) is None

    def for_job(self, job: Job) -> SparkSession:
        """A fresh session with what the job captured, its own settings, and those that delivery rests on."""
        session = self.for_plan(job.plan, job.defaults)
        session.conf.set(JOB_CONF, job.id)
        return session

    def for_plan(self, plan: Plan, made_with: Mapping[str, str]) -> SparkSession:
        """A session such as runs of the plan have. made_with: the defaults of its job, if there is one already."""
        session = self._spark.newSession()
        captured = plan.analysis.session
        defaults = {**self.defaults(), **made_with, **(_POLLING_CONFS if tracks_beside(plan) else {})}
        delivery = {**{name: defaults[name] for name in _DELIVERY_CONFS}, **self._checkpoint_confs}
        if plan.analysis.sink.kind is SinkKind.KAFKA:
            delivery |= _PARTS_CONFS
        own = revealed(self._spark, plan.spark_confs)
        for key, value in {**defaults, **captured.confs, **own, **delivery}.items():
            session.conf.set(key, value)
        session.catalog.setCurrentCatalog(captured.catalog)
        session.catalog.setCurrentDatabase(captured.schema)
        return session

    def defaults(self) -> dict[str, str]:
        """What sessions of jobs have that nobody chose. A job keeps those that it was made with, so that a later
        release with others does not change its state's form.
        """
        return {"spark.sql.shuffle.partitions": str(self._spark.sparkContext.defaultParallelism), **_DELIVERY_CONFS}

    def check_conf(self, name: str, value: str) -> None:
        """Raises StatementError OPTION_NOT_CHANGEABLE, INVALID_OPTION_VALUE for what no session can be given."""
        try:
            self._spark.newSession().conf.set(name, revealed(self._spark, {name: value})[name])
        except PySparkException as error:
            condition = error.getCondition() or ""
            if condition.startswith("CANNOT_MODIFY"):
                message = f"'{name}' can't be set for a job: it holds for the whole engine, from its start to its end."
                raise StatementError(
                    "OPTION_NOT_CHANGEABLE", message, hint=f"Start the engine with --conf {name}=VALUE."
                ) from error
            raise StatementError("INVALID_OPTION_VALUE", plain_message(str(error), condition)) from error

    def _confs(self, session: SparkSession) -> dict[str, str]:
        confs: dict[str, str] = json.loads(self._java.sql.Sessions.confs(session._jsparkSession))
        return confs
