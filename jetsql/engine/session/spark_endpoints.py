"""Spark's own endpoints in the engine's driver: Spark Connect, and Thrift for JDBC.

Both are Spark's servers, unchanged. Their sessions are children of the engine's, so they understand JetSQL. JetSQL
adds authentication: clients have to send the home's token. The token is never among the settings that Spark is
started with, because every user of the machine can read the arguments of its process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.startup import Session
from jetsql.errors import EngineError

_CONNECT_TOKEN = "spark.connect.authenticate.token"
_THRIFT_LOGIN = "hive.server2.custom.authentication.class"
_THRIFT_CLIENTS = 500
"""Connections of clients that have logged in, each of which takes a thread. Hive's own default."""


@dataclass(frozen=True)
class EndpointPlan:
    """The settings of an endpoint."""

    host: str
    port: int
    """0 for any free port."""
    token: str
    idle_seconds: float
    """Unused sessions are closed after this time."""
    login_seconds: float
    """See `EndpointSettings`; of Thrift only."""
    logins_most: int
    """See `EndpointSettings`; of Thrift only."""


@dataclass(frozen=True)
class OpenEndpoint:
    """An endpoint that listens at `port`; `close` cancels the statements of its clients."""

    port: int
    close: Callable[[], None]


def open_connect(spark: Session, plan: EndpointPlan) -> OpenEndpoint:
    """Start Spark Connect. Raises EngineError ENGINE_NOT_STARTED."""
    jvm: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    conf = context.conf()
    conf.set("spark.connect.grpc.binding.address", plan.host)
    conf.set("spark.connect.grpc.binding.port", str(plan.port))
    conf.set("spark.connect.session.manager.defaultSessionTimeout", _millis(plan.idle_seconds))
    service = getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")
    conf.set(_CONNECT_TOKEN, plan.token)
    try:
        service.start(context)
    except Py4JJavaError as error:
        raise cannot_open("Spark Connect", "connect", plan.host, plan.port, cause_of(error).message) from error
    finally:
        conf.remove(_CONNECT_TOKEN)  # read by then; every later session would have it among its settings
    none = jvm.scala.Option.empty()
    return OpenEndpoint(service.localPort(), lambda: service.stop(none, none))


def open_thrift(spark: Session, plan: EndpointPlan, scratch: Path) -> OpenEndpoint:
    """Start the Thrift server. Raises EngineError ENGINE_NOT_STARTED.

    scratch: a folder for what the server stores of its sessions.

    This builds the server as `HiveThriftServer2.startWithSparkSession` does, but with settings of its own. The original
    takes them from Spark's start only, and without them it listens on every address without authentication.
    """
    jvm: Any = spark.sparkContext._jvm
    servers = jvm.org.apache.spark.sql.hive.thriftserver
    shared = getattr(getattr(servers, "HiveThriftServer2$"), "MODULE$")
    shared.systemExitOnError().set(False)
    # Without the listener that the original adds: it keeps the texts of statements, for Spark's web pages.
    getattr(shared, "eventManager_$eq")(servers.ui.HiveThriftServer2EventManager(spark.sparkContext._jsc.sc()))
    logins = java(spark).endpoints.ThriftLogins
    # At each login the server reads Hive's settings again, and only a system property can change those.
    jvm.java.lang.System.setProperty(_THRIFT_LOGIN, logins.expect(plan.token))
    (scratch / "local").mkdir(parents=True, exist_ok=True)
    server = servers.HiveThriftServer2(spark._jsparkSession)
    try:
        conf = _hive_conf(spark, _thrift_confs(plan, scratch))
        server.init(conf)
        logins.limit(server, conf, plan.logins_most, int(plan.login_seconds * 1000))
        server.start()
    except Py4JJavaError as error:
        raise cannot_open("The Thrift endpoint", "thrift", plan.host, plan.port, cause_of(error).message) from error
    [port] = [service.getPortNumber() for service in server.getServices() if "Thrift" in service.getName()]
    [sessions] = [service.getSessionManager() for service in server.getServices() if service.getName() == "CLIService"]
    java(spark).stream.ThriftStreamingSelects.connect(sessions.getOperationManager().sessionToContexts())

    def close() -> None:
        java(spark).stream.ThriftStreamingSelects.connect(None)
        server.stop()

    return OpenEndpoint(port, close)


def _hive_conf(spark: Session, confs: Mapping[str, str]) -> Any:
    jvm: Any = spark.sparkContext._jvm
    hive_conf = jvm.org.apache.hadoop.hive.conf.HiveConf
    conf = hive_conf(spark.sparkContext._jsc.hadoopConfiguration(), hive_conf().getClass())
    # Hive's own catalogue, which is not used here: one in memory, so that it does not open the engine's.
    hive_utils = getattr(getattr(jvm.org.apache.spark.sql.hive, "HiveUtils$"), "MODULE$")
    aside = jvm.scala.jdk.javaapi.CollectionConverters.asJava(hive_utils.newTemporaryConfiguration(True))
    for key, value in {**aside, **confs}.items():
        conf.set(key, value)
    return conf


def _thrift_confs(plan: EndpointPlan, scratch: Path) -> dict[str, str]:
    return {
        "hive.server2.transport.mode": "binary",
        "hive.server2.thrift.bind.host": plan.host,
        "hive.server2.thrift.port": str(plan.port),
        # A thread outlives its connection briefly when that is closed for the next one.
        "hive.server2.thrift.max.worker.threads": str(_THRIFT_CLIENTS + 2 * plan.logins_most),
        "hive.server2.authentication": "CUSTOM",
        # Whatever name a client gives, it is the engine that reads and writes.
        "hive.server2.enable.doAs": "false",
        "hive.server2.idle.session.timeout": _millis(plan.idle_seconds),
        "hive.server2.session.check.interval": "60000ms",
        # Would write every statement, passwords included, into files under /tmp.
        "hive.server2.logging.operation.enabled": "false",
        "hive.exec.scratchdir": str(scratch / "sessions"),
        "hive.exec.local.scratchdir": str(scratch / "local"),
        "hive.downloaded.resources.dir": str(scratch / "resources"),
    }


def _millis(seconds: float) -> str:
    return f"{int(seconds * 1000)}ms"


def cannot_open(endpoint: str, setting: str, host: str, port: int, reason: str) -> EngineError:
    """Return the error for an endpoint that cannot listen. setting: the prefix of its settings."""
    return EngineError(
        "ENGINE_NOT_STARTED",
        f"{endpoint} can't open at {host}:{port}: {reason.rstrip('.')}.",
        hint=f"Set {setting}_port to one that is free, or to 0 for any, and {setting}_host to an address of this "
        "machine.",
    )
