"""Start Spark for an engine of JetSQL, with tables, metastore, log and temporary files in one home folder."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jdbc.jdbc_databases import describe_server, to_sentence
from jetsql.engine.jvm.authentication import driver_confs, is_on_loopback
from jetsql.engine.jvm.class_archive import find_archive
from jetsql.engine.jvm.connectors import check_formats, explain_missing_packages, load_formats
from jetsql.engine.jvm.java_classes import class_confs, jar, java, load_classes, with_jars
from jetsql.engine.jvm.launch import LOOPBACK, SparkStart, java_options, launch_jvm, socket_folder, split_secrets
from jetsql.engine.jvm.throwables import causes, throwable_of
from jetsql.engine.spark.executors import DECOMMISSION, UNREACHABLE
from jetsql.engine.spark.first_catalog import copy_first_catalog
from jetsql.engine.spark.hadoop_settings import configure_hadoop
from jetsql.engine.spark.kubernetes_pod import with_pod_settings
from jetsql.engine.spark.web_ui import close_ui, ui_confs
from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder
from jetsql.home.storage import METASTORE
from jetsql.installation import find_java
from jetsql.jobs.model.redaction import SECRET_NAMES, redact_urls
from jetsql.secret_references import is_reference, resolved
from jetsql.settings.s3_settings import LOADED_CONFS, S3
from jetsql.settings.store_settings import POSTGRESQL

Session = SparkSession

_LOG = logging.getLogger(__name__)
_LOG_TAIL = 5
_MASTER_SECONDS = 3.0
_STANDALONE = "spark://"
_KUBERNETES = "k8s://"
_NOISE = re.compile(r"\s+at |\s+\.\.\. |\S+ (WARN|INFO) |WARNING: ")
# The options that SHOW CREATE TABLE, DESCRIBE and SET redact: Spark's default patterns match few names of secrets.
_REDACTION = "spark.sql.redaction.options.regex"
_CONF_REDACTION = "spark.redaction.regex"
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
_EVENT_LOGS = "spark.eventLog.dir"
_SECRETS = f"(?i:url)|{SECRET_NAMES}"
_CATALOG_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
_CATALOG_KIND = "spark.sql.catalogImplementation"
_IN_MEMORY = "in-memory"
_POSTGRESQL_DRIVER = "org.postgresql.Driver"
_SERIALIZER = "spark.serializer"
_HEAP_LIMITS = ("spark.driver.maxResultSize", "spark.sql.maxBroadcastTableSize")
_JAVA_CLASS = re.compile(r"^(Exception in thread \S+ )?([\w$]+\.)+[\w$]+(Exception|Error): ")


def silence_query_errors() -> None:
    """Keep PySpark from logging errors of statements, which their callers get, with stack traces to stderr."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def start_spark(start: SparkStart) -> SparkSession:
    """Start a session with Hive's metastore on embedded Derby in the home folder.

    Raises EngineError INVALID_SETTING for Kryo as the serializer, and for an address that executors on Kubernetes do
    not reach; ENGINE_NOT_STARTED when Java is missing, the master is wrong or Spark refuses a setting;
    EXTERNAL_SYSTEM_UNAVAILABLE when the connector of a table format cannot be downloaded.
    """
    _check_serializer(start.conf)
    check_java()
    jar()
    check_formats(start.formats)
    start = with_pod_settings(start)
    confs = _confs(start)
    silence_query_errors()
    log_size = start.log.stat().st_size if start.log.exists() else 0
    try:
        with _keep_interrupt_handler():
            gateway = _launch(start, confs)
            _set_secret_properties(start, gateway)
            load_classes(gateway).watchdog.ParentProcess.watch(os.getpid())
            confs = with_jars(confs, gateway, load_formats(gateway, start.formats))
            if POSTGRESQL in start.formats:
                _register_driver(gateway)
            close_ui(gateway, confs, start.token)
            spark = _create_session(confs | class_confs(gateway, confs))
            configure_hadoop(spark)
            if _CATALOG_URL not in start.conf and start.conf.get(_CATALOG_KIND) != _IN_MEMORY:
                copy_first_catalog(spark, start.home, start.warehouse, start.class_archives)
            _warn_of_misspelled(spark, start.conf)
            return _check_catalog(_check_session(spark), start)
    except EngineError:
        raise
    except Exception as error:  # errors of Py4J, Spark and the system have no other common base class
        raise _not_started(start, error, log_size) from error


def _check_serializer(given: Mapping[str, str]) -> None:
    """Raise EngineError INVALID_SETTING for Kryo.

    A sink that reads the rows of a batch twice stores them in Spark's cache. When Kryo closes a compressed block, it
    ignores the error of the last write, so a full disk cuts the block off, and the job loses rows without an error.
    """
    if _is_kryo(given.get(_SERIALIZER, "")):
        raise EngineError(
            "INVALID_SETTING",
            f"The engine does not run with {_SERIALIZER}={given[_SERIALIZER]}: on a full disk, Kryo loses stored rows"
            " without an error.",
            hint="Remove the setting. It hardly makes SQL faster, which has a format of its own for rows.",
        )


def _is_kryo(serializer: str) -> bool:
    return serializer.endswith("KryoSerializer")


def _launch(start: SparkStart, confs: Mapping[str, str]) -> Any:
    """Launch the JVM; if it ends immediately with an archive of Spark's classes, without the archive."""
    archive = None if start.class_archives is None else find_archive(start.class_archives)
    if archive is None or not archive.is_usable():
        if archive is not None and archive.exists():
            _LOG.warning(
                "Java starts without %s: it cannot be read, or another user can write it or its folder", archive.file
            )
        return launch_jvm(start, confs)
    try:
        return launch_jvm(start, confs)
    except PySparkException:
        start = replace(start, class_archives=None)
        gateway = launch_jvm(start, _confs(start))
        archive.discard(f"Java ended immediately with it; see {start.log}.")
        _LOG.warning("Java ended immediately with the archive %s, which is discarded", archive.file)
        return gateway


def _create_session(confs: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("JetSQL").enableHiveSupport()
    for key, value in confs.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _warn_of_misspelled(spark: SparkSession, conf: Mapping[str, str]) -> None:
    """Log a warning for each setting of the user that Spark ignores, because it has another name."""
    for name in conf:
        meant = java(spark).options.SparkSettings.meant(name)
        if meant:
            _LOG.warning("Spark has no setting %s. Did you mean %s?", name, meant)


def _check_session(spark: SparkSession) -> SparkSession:
    """Return the session after Spark has opened its catalogue and checked its settings, which it does lazily."""
    try:
        spark._jsparkSession.sessionState()
    except Exception:
        spark.stop()
        raise
    return spark


def _register_driver(gateway: Any) -> None:
    """Make PostgreSQL's driver known to the whole JVM: Hive's class loader does not see the jars of connectors."""
    gateway.jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(_POSTGRESQL_DRIVER)


def _check_catalog(spark: SparkSession, start: SparkStart) -> SparkSession:
    """Return the session after Hive has opened a catalogue in a database, which Spark does at the first statement.

    Raises EngineError ENGINE_NOT_STARTED when it cannot be opened.
    """
    url = start.conf.get(_CATALOG_URL)
    if url is None:
        return spark
    try:
        spark.catalog.databaseExists("default")
    except Exception as error:  # errors of Spark, Hive, the driver and Py4J have no other common base class
        messages = [str(each.getMessage()) for each in causes(throwable_of(error))] or [str(error)]
        spark.stop()
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Cannot open the catalogue in {describe_server(url)}: {to_sentence(redact_urls(messages[-1]))}",
            hint=f"Check the settings catalog, catalog_user and catalog_password. See {start.log} for details.",
        ) from error
    return spark


def _confs(start: SparkStart) -> dict[str, str]:
    metastore = f"jdbc:derby:;databaseName={start.home / METASTORE};create=true"
    confs = {
        "spark.master": start.master,
        "spark.ui.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(start.temporary),
        "spark.scheduler.mode": "FAIR",
        _SERIALIZER: "org.apache.spark.serializer.JavaSerializer",
        "spark.sql.warehouse.dir": start.warehouse,
        _CATALOG_URL: metastore,
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # A JDBC client receives a large result in parts; as a whole, it could exhaust the engine's memory.
        "spark.sql.thriftServer.incrementalCollect": "true",
        # Results from executors on other machines are fetched to a file instead of memory.
        "spark.network.maxRemoteBlockSizeFetchToMem": "8m",
        # Spark starts a new thread for each stage of a plan up to these limits (1,024 each by default), even if other
        # threads are idle: small batches of a few jobs start a thousand threads, and a container may allow fewer.
        "spark.sql.shuffleExchange.maxThreadThreshold": "128",
        "spark.sql.resultQueryStage.maxThreadThreshold": "128",
        _REDACTION: _SECRETS,
        _CONF_REDACTION: SECRET_NAMES,
        # Values of parameters stay literals. Otherwise Spark writes them into the text, which changes a timestamp in
        # the repeated hour after daylight saving time, and shifts the positions of errors.
        "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        # Scripts substitute variables. Spark would replace each ${name} that is no setting with an empty text.
        "spark.sql.variable.substitute": "false",
        # Otherwise Spark's parser refuses ASOF JOIN, which joins rows of a stream with the rows of a table before them.
        "spark.sql.join.asofJoin.enabled": "true",
    }
    confs |= _master_confs(start)
    if S3 in start.formats:
        confs |= LOADED_CONFS
    if start.driver_memory:
        confs["spark.driver.memory"] = start.driver_memory
    given = {key: resolved(value, key) for key, value in start.conf.items()}
    confs |= driver_confs(start.master, given, start.cluster_secret) | _event_log_confs(start, given) | given
    confs = heap_limits(start.heap_bytes) | confs
    confs |= _redaction_confs(confs, start.conf) | ui_confs(confs)
    user_options, _ = split_secrets(given.get(_DRIVER_OPTIONS, ""))
    confs[_DRIVER_OPTIONS] = f"{java_options(start)} {user_options}".strip()
    return confs


def _master_confs(start: SparkStart) -> dict[str, str]:
    """Return the settings that depend on where the tasks run."""
    confs: dict[str, str] = {}
    if start.master.startswith("local") or is_on_loopback(start.master):
        confs |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        # Executors report the progress of tasks with heartbeats, the only progress of a running real-time batch.
        confs["spark.executor.heartbeatInterval"] = "2s"
    if start.master.startswith("local"):
        confs["spark.hadoop.hadoop.tmp.dir"] = str(start.java_temporary)
        # Each batch broadcasts Hadoop's settings, and nothing of a broadcast leaves the process.
        confs["spark.broadcast.compress"] = "false"
        # Between Spark and its Python processes, TCP ports would be open to every user of the machine.
        confs["spark.python.unix.domain.socket.enabled"] = "true"
        confs["spark.python.unix.domain.socket.dir"] = str(socket_folder(start))
    else:
        confs["spark.executorEnv.PYTHONSAFEPATH"] = "1"  # see `set_module_path`
        confs |= DECOMMISSION
        confs |= UNREACHABLE
        # Otherwise Spark ends the engine after some executors that failed or could not be created, in its whole life.
        confs["spark.executor.maxNumFailures"] = str(2**31 - 1)
    return confs


def _event_log_confs(start: SparkStart, given: Mapping[str, str]) -> dict[str, str]:
    """Return the folder of Spark's event logs, which is made if they are on.

    Spark opens the files to their group, and its default is a folder in /tmp. Only the owner can enter one in the home.
    """
    if given.get("spark.eventLog.enabled", "").strip().lower() != "true" or _EVENT_LOGS in given:
        return {}
    folder = start.home / "events"
    private_folder(folder)
    return {_EVENT_LOGS: folder.as_uri()}


def _set_secret_properties(start: SparkStart, gateway: Any) -> None:
    """Set the system properties with secrets, which are not on Java's command line."""
    given = {name: start.conf.get(name, "") for name in (_DRIVER_OPTIONS, _EXECUTOR_OPTIONS)}
    options = {name: resolved(value, name) for name, value in given.items()}
    _, secrets = split_secrets(options[_DRIVER_OPTIONS])
    for name, value in secrets.items():
        gateway.jvm.java.lang.System.setProperty(name, value)
    for name in split_secrets(options[_EXECUTOR_OPTIONS])[1]:
        _LOG.warning(
            "Every user of the machines with executors can read the value of %s in %s", name, _EXECUTOR_OPTIONS
        )


def heap_limits(heap_bytes: int | None) -> dict[str, str]:
    """Return Spark's limits for what a query may bring to the driver as a whole, for a heap of this size.

    By default, they are 1 GB for the results of tasks and 8 GB for a broadcast table, which also fill a large heap.
    Beyond the limit, the query or job fails with an error. The rows of clients are not limited: they are sent in parts.
    heap_bytes: None for an invalid setting, which Spark reports.
    """
    if heap_bytes is None:
        return {}
    return dict.fromkeys(_HEAP_LIMITS, f"{max(heap_bytes // 4096, 1)}k")


def _redaction_confs(confs: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that make Spark redact every setting whose value was a reference to a secret."""
    names = [f"^{re.escape(key)}$" for key, value in given.items() if is_reference(value)]
    return {_CONF_REDACTION: "|".join((confs[_CONF_REDACTION], *names))}


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """Restore the SIGINT handler after the context: PySpark replaces it with one that cancels every running batch."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def check_java() -> None:
    """Raise EngineError ENGINE_NOT_STARTED when Java is not installed."""
    if find_java() is None:
        java_home = os.environ.get("JAVA_HOME")
        problem = f"JAVA_HOME ({java_home}) has no bin/java" if java_home else "there is no java on the PATH"
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Spark needs Java 17, and {problem}.",
            hint="Install Java (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17).",
        )


def _not_started(start: SparkStart, error: Exception, log_size: int) -> EngineError:
    hint = f"See {start.log} for details."
    if "JAVA_GATEWAY_EXITED" in str(error):
        log = start.log.read_bytes()[log_size:].decode(errors="replace")
        missing = explain_missing_packages(log)
        if missing is not None:
            return EngineError("ENGINE_NOT_STARTED", missing[0], hint=f"{missing[1]} {hint}")
        reason = f"Java exited immediately: {_last_lines(log)}"
    else:
        reason = _JAVA_CLASS.sub("", cause_of(error).message)
    unreachable = find_unreachable_masters(start.master)
    if unreachable:
        reason = f"no master answers at {unreachable}."
        is_standalone = start.master.startswith(_STANDALONE)
        advice = "Start a master there with 'jetsql master', or set" if is_standalone else "Set"
        hint = f"{advice} another one with --master. {hint}"
    return EngineError("ENGINE_NOT_STARTED", f"Spark cannot start: {reason}", hint=hint)


def find_unreachable_masters(master: str) -> str:
    """Return the addresses of the masters that do not answer, with reasons; an empty text when any master answers.

    Only standalone masters and Kubernetes are checked. Spark's error may name another failure.
    """
    unreachable = []
    for address in _master_addresses(master):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_MASTER_SECONDS).close()
        except (OSError, ValueError, OverflowError) as error:
            unreachable.append(f"{address} ({getattr(error, 'strerror', None) or error})")
        else:
            return ""
    return ", ".join(unreachable)


def _master_addresses(master: str) -> list[str]:
    """Return the possible addresses of the master, each with its port."""
    if master.startswith(_STANDALONE):
        return master.removeprefix(_STANDALONE).split(",")
    if not master.startswith(_KUBERNETES):
        return []
    url = master.removeprefix(_KUBERNETES)
    parts = urlsplit(url if "://" in url else f"https://{url}")
    port = parts.netloc.rpartition(":")[2]
    return [parts.netloc if port.isdigit() else f"{parts.netloc}:{80 if parts.scheme == 'http' else 443}"]


def _last_lines(log: str) -> str:
    """Return the last lines of Java's output, without stack traces and warnings."""
    lines = log.splitlines()
    messages = [_JAVA_CLASS.sub("", line.strip()) for line in lines if line.strip() and not _NOISE.match(line)]
    return " ".join(messages[-_LOG_TAIL:])


def load_kafka_connector(spark: Session) -> None:
    """Download and load Spark's Kafka connector, unless it is loaded. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    except (PySparkException, Py4JError) as error:
        raise EngineError("ENGINE_NOT_STARTED", cause_of(error).message) from error


def redact_table_options(spark: Session) -> None:
    """Redact secrets in the options of tables in a session that JetSQL did not start, and in later sessions."""
    later_conf: Any = spark.sparkContext._jsc.sc().conf()
    spark.conf.set(_REDACTION, _add_secrets(spark.conf.get(_REDACTION) or ""))
    later_conf.set(_REDACTION, _add_secrets(later_conf.get(_REDACTION, "")))
    # A setting of Spark's core, which an existing session cannot change: this session keeps Spark's short default.
    later_conf.set(_CONF_REDACTION, SECRET_NAMES)


def _add_secrets(pattern: str) -> str:
    if _SECRETS in pattern:
        return pattern
    return f"{pattern}|{_SECRETS}" if pattern else _SECRETS


def has_active_session() -> bool:
    """Return whether this process already has a Spark session."""
    return SparkSession.getActiveSession() is not None


def is_stopped(spark: Session) -> bool:
    """Return whether the session's Spark was stopped, by JetSQL or by another program."""
    context = spark.sparkContext._jsc
    return context is None or bool(context.sc().isStopped())


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that Spark's process no longer answers."""
    is_unanswered = type(error) is Py4JError and "Trace:" not in str(error)  # Py4J reports no reason then
    return is_unanswered or isinstance(error, Py4JNetworkError | ConnectionError)


def wait_for_process(spark: Session) -> int:
    """Block until Spark's process has ended, and return its exit code."""
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    return int(process.wait())


def kill_process(spark: Session) -> None:
    """Kill Spark's process, and wait until it has ended."""
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    process.kill()
    process.wait()


def is_same_spark(one: Session, other: Session) -> bool:
    """Return whether two sessions belong to the same running Spark."""
    return one.sparkContext is other.sparkContext and not is_stopped(one)


def list_session_problems(spark: Session) -> list[str]:
    """Return warnings about settings of a session that JetSQL did not start and cannot change."""
    conf = spark.sparkContext.getConf()
    problems = []
    if conf.get(_CATALOG_KIND, _IN_MEMORY) == _IN_MEMORY:
        problems.append(
            "This session stores its catalogue in memory: its tables are lost when it ends, and jobs that need them are"
            " then SUSPENDED. Build the session with enableHiveSupport() to keep them."
        )
    if conf.get("spark.scheduler.mode", "FIFO") != "FAIR":
        problems.append(
            "This session schedules FIFO, so a job with large batches delays the others. Build the session with"
            " spark.scheduler.mode=FAIR to share the cores."
        )
    if _is_kryo(conf.get(_SERIALIZER, "")):
        problems.append(
            "This session serializes with Kryo, which can lose stored rows of a batch on a full disk without an error."
            " Build the session without spark.serializer."
        )
    if conf.get("spark.authenticate", "false") != "true":
        problems.append(
            "Every user who reaches the ports of this session's Spark can run code in it. Build the session with"
            " spark.authenticate=true."
        )
    if conf.get("spark.ui.enabled", "true") == "true":
        problems.append(
            "The web UI of this session's Spark shows statements with their literals to every user who reaches its"
            " port. Build the session with spark.ui.enabled=false."
        )
    return problems
