"""Starting Spark for an engine of our own: one home folder holds tables, metastore, log and temporary files."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.authentication import driver_confs, on_loopback
from jetsql.engine.jvm.java_classes import class_confs, jar, java, load_classes
from jetsql.engine.jvm.launch import LOOPBACK, SparkStart, java_options, launch_jvm, socket_folder
from jetsql.engine.jvm.local_files import set_rights_by_calls
from jetsql.engine.jvm.web_ui import close_ui, ui_confs
from jetsql.errors import EngineError
from jetsql.jobs.model.redaction import SECRET_NAMES
from jetsql.secret_references import is_reference, resolved

Session = SparkSession

_LOG_TAIL = 5
_MASTER_SECONDS = 3.0
_STANDALONE = "spark://"
_KUBERNETES = "k8s://"
_NOISE = re.compile(r"\s+at |\s+\.\.\. |\S+ (WARN|INFO) |WARNING: ")
# What SHOW CREATE TABLE, DESCRIBE and SET hide: Spark's own patterns know few names of secrets.
_REDACTION = "spark.sql.redaction.options.regex"
_CONF_REDACTION = "spark.redaction.regex"
_SECRETS = f"(?i:url)|{SECRET_NAMES}"
_JAVA_CLASS = re.compile(r"^(Exception in thread \S+ )?([\w$]+\.)+[\w$]+(Exception|Error): ")


def start_spark(start: SparkStart) -> SparkSession:
    """A session with Hive's metastore on embedded Derby in the home folder.

    Raises EngineError ENGINE_NOT_STARTED: no Java, a bad master, a setting that Spark refuses.
    """
    check_java()
    jar()
    confs = _confs(start)
    # Every error that a statement meets is told to its user; PySpark's own copy on stderr would be a second one.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    logged = start.log.stat().st_size if start.log.exists() else 0
    try:
        with _own_interrupts():
            gateway = launch_jvm(start, confs)
            load_classes(gateway)
            close_ui(gateway, confs, start.token)
            spark = _session(confs | class_confs(gateway, confs))
            set_rights_by_calls(spark)
            return _whole(spark)
    except EngineError:
        raise
    except Exception as error:  # Py4J's, Spark's and the system's errors have no nearer ancestor
        raise _not_started(start, error, logged) from error


def _session(confs: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("JetSQL").enableHiveSupport()
    for key, value in confs.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _whole(spark: SparkSession) -> SparkSession:
    """The session with its catalogue and settings, which Spark makes and checks only when they are first needed."""
    try:
        spark._jsparkSession.sessionState()
    except Exception:
        spark.stop()
        raise
    return spark


def _confs(start: SparkStart) -> dict[str, str]:
    metastore = f"jdbc:derby:;databaseName={start.home / 'metastore'};create=true"
    confs = {
        "spark.master": start.master,
        "spark.ui.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(start.temporary),
        "spark.scheduler.mode": "FAIR",
        "spark.sql.warehouse.dir": start.warehouse,
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # A client of JDBC gets a large result part by part: whole, it would take the engine's memory, and the engine.
        "spark.sql.thriftServer.incrementalCollect": "true",
        # Rows of a result that an executor of another machine has come through a file, and not through memory.
        "spark.network.maxRemoteBlockSizeFetchToMem": "8m",
        # Spark makes a new thread for each piece of a plan up to these limits (1,024 each, if not told otherwise), idle
        # ones or not: small batches of a few jobs come to a thousand threads, where a container may allow fewer.
        "spark.sql.shuffleExchange.maxThreadThreshold": "128",
        "spark.sql.resultQueryStage.maxThreadThreshold": "128",
        _REDACTION: _SECRETS,
        _CONF_REDACTION: SECRET_NAMES,
        # Values of parameters stay the literals that they are. Else Spark writes them into the text, where a timestamp
        # of an hour that a clock shows twice is another one, and places of errors are those of another text.
        "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        # Variables are filled in by scripts. Spark would make an empty text of each ${name} that is no setting.
        "spark.sql.variable.substitute": "false",
    }
    if start.master.startswith("local") or on_loopback(start.master):
        confs |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        # How often tasks tell how far they are, which is all that is known of a batch in real-time mode while it lasts.
        confs["spark.executor.heartbeatInterval"] = "2s"
    if start.master.startswith("local"):
        # Between Spark and its Python processes, where TCP ports would be open to every user of the machine.
        confs["spark.python.unix.domain.socket.enabled"] = "true"
        confs["spark.python.unix.domain.socket.dir"] = str(socket_folder(start))
    if start.driver_memory:
        confs["spark.driver.memory"] = start.driver_memory
    given = {key: resolved(value, key) for key, value in start.conf.items()}
    confs |= driver_confs(start.master, given, start.cluster_secret) | given
    confs |= _hiding(confs, start.conf) | ui_confs(confs)
    own = java_options(start)
    asked = start.conf.get("spark.driver.extraJavaOptions", "")
    confs["spark.driver.extraJavaOptions"] = f"{own} {asked}".strip()
    return confs


def _hiding(confs: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that have Spark hide every setting that was given as a reference to a secret."""
    names = [f"^{re.escape(key)}$" for key, value in given.items() if is_reference(value)]
    return {_CONF_REDACTION: "|".join((confs[_CONF_REDACTION], *names))}


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """PySpark answers Ctrl-C by cancelling every running batch; the handler that was there before stays instead."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def check_java() -> None:
    """Raises EngineError ENGINE_NOT_STARTED where there is no Java."""
    java_home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(java_home) / "bin")) if java_home else shutil.which("java")
    if java is None:
        where = (
            f"JAVA_HOME is {java_home}, and there is no bin/java in it" if java_home else "there is no java on the PATH"
        )
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Spark needs Java 17, and {where}.",
            hint="Install it (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17).",
        )


def _not_started(start: SparkStart, error: Exception, logged: int) -> EngineError:
    if "JAVA_GATEWAY_EXITED" in str(error):
        reason = f"Java ended at once: {_last_words(start.log, logged)}"
    else:
        reason = _JAVA_CLASS.sub("", cause_of(error).message)
    hint = f"More stands in {start.log}."
    silent = unanswered(start.master)
    if silent:
        reason = f"no master answers at {silent}."
        start_it = "Start one there with 'jetsql master', or name" if start.master.startswith(_STANDALONE) else "Name"
        hint = f"{start_it} another one with --master. {hint}"
    return EngineError("ENGINE_NOT_STARTED", f"Spark could not start: {reason}", hint=hint)


def unanswered(master: str) -> str:
    """Where no standalone master and no Kubernetes listens, and why; empty when one does, and for other kinds.

    Spark's own words for it are those of whatever fell over first when it gave up.
    """
    silent = []
    for address in _addresses(master):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_MASTER_SECONDS).close()
        except (OSError, ValueError, OverflowError) as error:
            silent.append(f"{address} ({getattr(error, 'strerror', None) or error})")
        else:
            return ""
    return ", ".join(silent)


def _addresses(master: str) -> list[str]:
    """Of those that may be the master, each with its port."""
    if master.startswith(_STANDALONE):
        return master.removeprefix(_STANDALONE).split(",")
    if not master.startswith(_KUBERNETES):
        return []
    url = master.removeprefix(_KUBERNETES)
    parts = urlsplit(url if "://" in url else f"https://{url}")
    port = parts.netloc.rpartition(":")[2]
    return [parts.netloc if port.isdigit() else f"{parts.netloc}:{80 if parts.scheme == 'http' else 443}"]


def _last_words(log: Path, since: int) -> str:
    """What Java said in the log, from a byte on, without its stack and its warnings."""
    lines = log.read_bytes()[since:].decode(errors="replace").splitlines()
    told = [_JAVA_CLASS.sub("", line.strip()) for line in lines if line.strip() and not _NOISE.match(line)]
    return " ".join(told[-_LOG_TAIL:])


def load_kafka(spark: Session) -> None:
    """Fetch Spark's Kafka connector where it is not there yet. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    except (PySparkException, Py4JError) as error:
        raise EngineError("ENGINE_NOT_STARTED", cause_of(error).message) from error


def hide_secrets(spark: Session) -> None:
    """Have a session that others made, and those that come after it, hide the secrets in options of tables as well."""
    later: Any = spark.sparkContext._jsc.sc().conf()
    spark.conf.set(_REDACTION, _with_secrets(spark.conf.get(_REDACTION) or ""))
    later.set(_REDACTION, _with_secrets(later.get(_REDACTION, "")))
    # A setting of Spark's core, which no session can be given: this one keeps Spark's own short list.
    later.set(_CONF_REDACTION, SECRET_NAMES)


def _with_secrets(pattern: str) -> str:
    if _SECRETS in pattern:
        return pattern
    return f"{pattern}|{_SECRETS}" if pattern else _SECRETS


def has_active_session() -> bool:
    """Whether this process has a Spark session already."""
    return SparkSession.getActiveSession() is not None


def is_stopped(spark: Session) -> bool:
    """Whether the session's Spark has ended, by whomever."""
    java = spark.sparkContext._jsc
    return java is None or bool(java.sc().isStopped())


def is_lost(error: BaseException) -> bool:
    """Whether an error means that the process that Spark runs in does not answer any more."""
    unanswered = type(error) is Py4JError and "Trace:" not in str(error)  # Py4J tells no reason then
    return unanswered or isinstance(error, Py4JNetworkError | ConnectionError)


def wait_for_end(spark: Session) -> int:
    """Block until the process that Spark runs in has ended, however it did. Returns its exit code."""
    process: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    return int(process.wait())


def same_spark(one: Session, other: Session) -> bool:
    return one.sparkContext is other.sparkContext and not is_stopped(one)


def shortcomings(spark: Session) -> list[str]:
    """What a session that others made lacks, and can't be given while it runs."""
    conf = spark.sparkContext.getConf()
    found = []
    if conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory":
        found.append(
            "This session keeps its tables in memory: they are gone when it ends, and jobs that need them wait as"
            " SUSPENDED. Build the session with enableHiveSupport() to keep them."
        )
    if conf.get("spark.scheduler.mode", "FIFO") != "FAIR":
        found.append(
            "This session schedules FIFO, so a job with large batches holds up the others. Build it with"
            " spark.scheduler.mode=FAIR to share the cores."
        )
    if conf.get("spark.authenticate", "false") != "true":
        found.append(
            "Every user who reaches the ports of this session's Spark can run code in it. Build the session with"
            " spark.authenticate=true."
        )
    if conf.get("spark.ui.enabled", "true") == "true":
        found.append(
            "Spark's web UI of this session shows statements with their literals to everybody who reaches its port."
            " Build the session with spark.ui.enabled=false."
        )
    return found
