"""The sessions of jobs: the settings captured from the session that creates a job, and the new session of each run.

Like a view, a job captures the catalog, the schema and every runtime setting that differs from the engine's. It always
captures the time zone and ANSI mode, because Spark stores neither in its checkpoint: if a job were resumed in another
time zone, the same instant could belong to the group of another day.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.session.engine_sessions import open_engine_session
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import PARSE_MODE, CapturedSession
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.model.spark_settings import PARENT_SETTING, unknown_setting
from jetsql.jobs.model.table_names import SESSION_CATALOG
from jetsql.jobs.openlineage.parent_runs import parse_parent
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.jobs.planning.protected_confs import protection_reason
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.tokens import quoted_name
from jetsql.settings.s3_settings import SCHEME

ALWAYS_CAPTURED = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
JOB_CONF = "spark.jetsql.job"
OWNER_CONF = "spark.jetsql.owner"  # what current_user() returns in a run
# Whether windows of TUMBLE and HOP begin at local times: not for jobs of earlier releases, whose state has others.
LOCAL_WINDOWS_CONF = "spark.jetsql.localWindows"
_MALFORMED_CONF = "spark.jetsql.files.onError"  # FileStream.java

# Settings of one session or of the engine, which would be wrong or refused in another session.
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
    OWNER_CONF,
    LOCAL_WINDOWS_CONF,
    _MALFORMED_CONF,
    PARENT_SETTING,
)

_STREAMING_CONFS = {
    # RocksDB for state of any size. Snapshots and rescaling need these three settings.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # A copy of a checkpoint needs the files of this many batches, see `CheckpointPins`.
    "spark.sql.streaming.minBatchesToRetain": "100",
    # Spark reports an idle trigger immediately: CREATE JOB and WAIT FOR JOB wait for the report.
    "spark.sql.streaming.noDataProgressEventInterval": "0",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    # A forced stop that waits for an external system must not block the engine.
    "spark.sql.streaming.stopTimeout": "60s",
}


# By default Spark writes its logs through Hadoop's FileContext, which on a local disk starts eight processes
# (`readlink`) for each rename, 24 in a batch. Renames through FileSystem are equally atomic there.
_LOCAL_CONFS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}

# A file source notes the files of each batch in a log. By default, Spark writes all of them into one file after every
# ten batches, which takes longer with each file that was ever read. A start reads the entries after the newest of these
# files one after the other: a hundred are read soon on a local disk, and in seconds from an object store.
_LOCAL_DEFAULTS = {"spark.sql.streaming.fileSource.log.compactInterval": "100"}

# For files in an object store, where Spark's own protocol copies each file twice.
_OBJECT_STORE_SINK_CONFS = {"spark.sql.sources.commitProtocolClass": "dev.jetsql.files.ObjectStoreCommit"}

# An object store has no rename: a file appears there as a whole when its stream is closed. Jobs with other sinks than
# tables write files next to their checkpoint.
_OBJECT_STORE_CONFS = {
    "spark.sql.streaming.checkpointFileManagerClass": "dev.jetsql.files.ObjectStoreCheckpoints",
    **_OBJECT_STORE_SINK_CONFS,
}

# A replayed batch has to be split into the same parts. Adaptive execution chooses them by the measured sizes.
_KAFKA_SINK_CONFS = {"spark.sql.adaptive.enabled": "false"}
# If Spark merged the sessions of a task first, it would not drop a late row that belongs to a longer session.
_LATE_ROWS_CONFS = {"spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "false"}

# Without a trigger interval, Spark would poll for new rows a hundred times a second.
_POLLING_CONFS = {"spark.sql.streaming.pollingDelay": "50ms"}


def with_utc_windows(session: SparkSession) -> SparkSession:
    """Return a copy of a user's session in which windows of TUMBLE and HOP begin at times in UTC."""
    copy = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    copy.conf.set(LOCAL_WINDOWS_CONF, "false")
    return copy


def _use(session: SparkSession, captured: CapturedSession) -> None:
    """Set the current catalogue and schema of a session."""
    if captured.catalog == SESSION_CATALOG:
        session.catalog.setCurrentCatalog(captured.catalog)
        session.catalog.setCurrentDatabase(captured.schema)
        return
    # Spark finds a catalogue by the settings of the thread's session, which only a statement sets.
    session.sql(f"USE {quoted_name(captured.catalog)}")
    # A catalogue can begin with a namespace that does not exist.
    if session.catalog.currentDatabase() != captured.schema:
        session.sql(f"USE {quoted_name(captured.catalog)}.{captured.schema}")


def streaming_confs(checkpoint_root: str) -> dict[str, str]:
    """Return the settings of every streaming query of JetSQL. checkpoint_root: a URI."""
    return {**_STREAMING_CONFS, **_checkpoint_confs(checkpoint_root)}


def _checkpoint_confs(root: str) -> Mapping[str, str]:
    """Return the settings that the file system of checkpoints needs. root: a URI."""
    if root.startswith(SCHEME):
        return _OBJECT_STORE_CONFS
    return _LOCAL_CONFS if root.startswith("file:") else {}


def _parent_run(session: SparkSession) -> str:
    """Return the parent of the runs of a new job. Raises StatementError INVALID_SETTING for a wrong text."""
    text = session.conf.get(PARENT_SETTING, "") or ""
    if text and parse_parent(text) is None:
        message = f"The setting {PARENT_SETTING} of the session is not NAMESPACE/JOB/RUN with a UUID as the run."
        raise StatementError("INVALID_OPTION_VALUE", message, hint=f"Use RESET {PARENT_SETTING}.")
    return text


class JobSessions:
    """The sessions of one engine's jobs; those of runs are children of the engine's session. checkpoint_root: a URI."""

    def __init__(self, spark: SparkSession, checkpoint_root: str) -> None:
        self._spark = spark
        self._checkpoint_confs = _checkpoint_confs(checkpoint_root)
        self._source_confs = _LOCAL_DEFAULTS if checkpoint_root.startswith("file:") else {}
        self._java = java(spark)
        self._initial_confs = self._confs(open_engine_session(spark))

    def capture(self, session: SparkSession) -> CapturedSession:
        """Return the catalog, schema and settings of a session that a job stores."""
        confs = {
            key: value
            for key, value in self._confs(session).items()
            if self._initial_confs.get(key) != value and self._is_captured(key) and session.conf.isModifiable(key)
        }
        for key in ALWAYS_CAPTURED:
            confs[key] = str(session.conf.get(key))
        catalog, schema = session.catalog.currentCatalog(), session.catalog.currentDatabase()
        return CapturedSession(catalog, schema, confs, _parent_run(session))

    @staticmethod
    def _is_captured(key: str) -> bool:
        """Return whether a job captures a setting. It captures no setting that its OPTIONS may not have."""
        return not key.startswith(_NOT_CAPTURED) and protection_reason(key) is None

    def open_for_job(self, job: Job) -> SparkSession:
        """Open a session with the settings that the job captured, its own, and those that its guarantee needs."""
        session = self.open_for_plan(job.plan, job.version.session_defaults)
        session.conf.set(JOB_CONF, job.id)
        session.conf.set(OWNER_CONF, job.owner)
        return session

    def open_for_plan(self, plan: Plan, job_defaults: Mapping[str, str]) -> SparkSession:
        """Open a session with the settings for runs of a plan. job_defaults: the stored defaults of an existing job."""
        session = open_engine_session(self._spark)
        captured = plan.analysis.session
        defaults = {**self.defaults(), **job_defaults, **(_POLLING_CONFS if tracks_asynchronously(plan) else {})}
        required = {**{name: defaults[name] for name in _STREAMING_CONFS}, **self._checkpoint_confs}
        if any(traits_of(sink).is_topic for sink in plan.analysis.sinks):
            required |= _KAFKA_SINK_CONFS
        if any(sink.location.startswith(SCHEME) for sink in plan.analysis.sinks):
            required |= _OBJECT_STORE_SINK_CONFS
        if plan.late_rows_table:
            required |= _LATE_ROWS_CONFS
        if not plan.analysis.local_windows:
            required |= {LOCAL_WINDOWS_CONF: "false"}
        plan_confs = revealed(self._spark, plan.options.spark_confs)
        for key, value in {**self._source_confs, **defaults, **captured.confs, **plan_confs, **required}.items():
            session.conf.set(key, value)
        if any(source.keeps_malformed_lines for source in plan.analysis.sources):
            session.conf.set(_MALFORMED_CONF, PARSE_MODE)
        _use(session, captured)
        return session

    def state_confs(self, job: Job) -> dict[str, str]:
        """Return the settings that a session needs to read the state of the job."""
        defaults = {**self.defaults(), **job.version.session_defaults}
        return {**{name: defaults[name] for name in _STREAMING_CONFS}, **self._checkpoint_confs}

    def defaults(self) -> dict[str, str]:
        """Return the default settings of the sessions of new jobs.

        A job stores the defaults that it was created with, so that a later release with other defaults can read its
        state.
        """
        return {"spark.sql.shuffle.partitions": str(self._spark.sparkContext.defaultParallelism), **_STREAMING_CONFS}

    def check_conf(self, name: str, value: str) -> None:
        """Raise StatementError for a setting that Spark refuses, or that it would ignore because it does not have it.

        Its condition is OPTION_NOT_CHANGEABLE, INVALID_OPTION_VALUE or UNKNOWN_OPTION.
        """
        meant = self._java.options.SparkSettings.meant(name)
        if meant or self._java.options.SparkSettings.isMissing(name):
            raise unknown_setting(name, meant)
        try:
            open_engine_session(self._spark).conf.set(name, revealed(self._spark, {name: value})[name])
        except PySparkException as error:
            condition = error.getCondition() or ""
            if condition.startswith("CANNOT_MODIFY"):
                message = f"Cannot set '{name}' for a job: it applies to the whole engine and is fixed at its start."
                raise StatementError(
                    "OPTION_NOT_CHANGEABLE", message, hint=f"Start the engine with --conf {name}=VALUE."
                ) from error
            raise StatementError("INVALID_OPTION_VALUE", strip_message(str(error), condition)) from error

    def _confs(self, session: SparkSession) -> dict[str, str]:
        confs: dict[str, str] = json.loads(self._java.catalog.Sessions.confs(session._jsparkSession))
        return confs
