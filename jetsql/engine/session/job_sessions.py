"""Sessions of jobs: what a job captures of the session that creates it, and the new session that each run gets.

Like a view, a job captures catalog, schema and every runtime setting that differs from the engine's. It always
captures time zone and ANSI mode, because Spark pins neither in its checkpoint: resumed under another zone, the same
instant would belong to another day's group.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.errors import StatementError
from jetsql.jobs.model.job import CapturedSession, Job, Plan, SinkKind
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.jobs.planning.protected_confs import protection_reason

ALWAYS_CAPTURED = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
JOB_CONF = "spark.jetsql.job"

# Belong to one session or to the engine, and would be wrong or refused in another.
_NOT_CAPTURED = (
    "spark.sql.warehouse.dir",
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.streaming.checkpointLocation",
    "spark.sql.artifact.",
    # Set by the endpoints that opened the session.
    "spark.connect.",
    "spark.sql.datetime.java8API.enabled",
    JOB_CONF,
)

# For state of any size; snapshots and rescaling need them.
_STREAMING_CONFS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Copies of a checkpoint depend on how long its files are kept, see `CheckpointPins`.
    "spark.sql.streaming.minBatchesToRetain": "100",
    # Report an idle trigger immediately: CREATE JOB and WAIT FOR JOB wait for it.
    "spark.sql.streaming.noDataProgressEventInterval": "0",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    # A forced stop that hangs in another server must not block the engine.
    "spark.sql.streaming.stopTimeout": "60s",
}


# Spark writes its logs through another interface of Hadoop's where it can, which on a local disk starts eight processes
# (`readlink`) for each rename, 24 a batch. Renames are as atomic there through this one.
_LOCAL_CONFS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}

# A replayed batch has to be split into the same parts, whatever sizes are measured while it runs.
_KAFKA_SINK_CONFS = {"spark.sql.adaptive.enabled": "false"}

# Without a trigger interval, Spark would poll for new rows a hundred times a second.
_POLLING_CONFS = {"spark.sql.streaming.pollingDelay": "50ms"}


def streaming_confs(checkpoint_root: str) -> dict[str, str]:
    """Return the settings that every streaming query of JetSQL runs with. checkpoint_root: a URI."""
    return {**_STREAMING_CONFS, **(_LOCAL_CONFS if checkpoint_root.startswith("file:") else {})}


class JobSessions:
    """Captures sessions, and opens those of runs as children of the engine's own. checkpoint_root: a URI."""

    def __init__(self, spark: SparkSession, checkpoint_root: str) -> None:
        self._spark = spark
        self._checkpoint_confs = _LOCAL_CONFS if checkpoint_root.startswith("file:") else {}
        self._java = java(spark)
        self._initial_confs = self._confs(spark.newSession())

    def capture(self, session: SparkSession) -> CapturedSession:
        """Return what a job keeps of a session."""
        confs = {
            key: value
            for key, value in self._confs(session).items()
            if self._initial_confs.get(key) != value and self._is_captured(key) and session.conf.isModifiable(key)
        }
        for key in ALWAYS_CAPTURED:
            confs[key] = str(session.conf.get(key))
        return CapturedSession(session.catalog.currentCatalog(), session.catalog.currentDatabase(), confs)

    @staticmethod
    def _is_captured(key: str) -> bool:
        """Return whether a job captures a setting: none that it may not set for itself either."""
        return not key.startswith(_NOT_CAPTURED) and protection_reason(key) is None

    def open_for_job(self, job: Job) -> SparkSession:
        """Open a session with what the job captured, its own settings, and those that its guarantee needs."""
        session = self.open_for_plan(job.plan, job.version.session_defaults)
        session.conf.set(JOB_CONF, job.id)
        return session

    def open_for_plan(self, plan: Plan, job_defaults: Mapping[str, str]) -> SparkSession:
        """Open a session as runs of the plan have it. job_defaults: those of an existing job."""
        session = self._spark.newSession()
        captured = plan.analysis.session
        defaults = {**self.defaults(), **job_defaults, **(_POLLING_CONFS if tracks_asynchronously(plan) else {})}
        required = {**{name: defaults[name] for name in _STREAMING_CONFS}, **self._checkpoint_confs}
        if plan.analysis.sink.kind is SinkKind.KAFKA:
            required |= _KAFKA_SINK_CONFS
        own = revealed(self._spark, plan.spark_confs)
        for key, value in {**defaults, **captured.confs, **own, **required}.items():
            session.conf.set(key, value)
        session.catalog.setCurrentCatalog(captured.catalog)
        session.catalog.setCurrentDatabase(captured.schema)
        return session

    def defaults(self) -> dict[str, str]:
        """Return the settings that sessions of jobs have by default.

        A job keeps the defaults that it was created with, so that a later release with others can read its state.
        """
        return {"spark.sql.shuffle.partitions": str(self._spark.sparkContext.defaultParallelism), **_STREAMING_CONFS}

    def check_conf(self, name: str, value: str) -> None:
        """Raise StatementError OPTION_NOT_CHANGEABLE or INVALID_OPTION_VALUE for a setting that no session can have."""
        try:
            self._spark.newSession().conf.set(name, revealed(self._spark, {name: value})[name])
        except PySparkException as error:
            condition = error.getCondition() or ""
            if condition.startswith("CANNOT_MODIFY"):
                message = f"'{name}' can't be set for a job: it holds for the whole engine, from its start to its end."
                raise StatementError(
                    "OPTION_NOT_CHANGEABLE", message, hint=f"Start the engine with --conf {name}=VALUE."
                ) from error
            raise StatementError("INVALID_OPTION_VALUE", strip_message(str(error), condition)) from error

    def _confs(self, session: SparkSession) -> dict[str, str]:
        confs: dict[str, str] = json.loads(self._java.sql.Sessions.confs(session._jsparkSession))
        return confs
