"""Spark's own doors, opened in the engine's driver: Spark Connect, and Thrift for JDBC.

Both are Spark's servers as they are, and their sessions are made from the engine's, so they speak JetSQL. What is ours
is who may come in: whoever shows the home's token. It never stands among the settings that Spark is started with: they
are arguments of its process, which every user of the machine can read.
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
    """What a door is opened with. port: 0 for any that is free. idle_seconds: unused sessions are closed after.
    login_seconds, logins_most: see `EndpointSettings`; of Thrift only."""

    host: str
    port: int
    token: str
    idle_seconds: float
    login_seconds: float
    logins_most: int


@dataclass(frozen=True)
class OpenEndpoint:
    """A door that answers at `port`; `close` breaks off what its clients have running."""

    port: int
    close: Callable[[], None]


def open_connect(spark: Session, plan: EndpointPlan) -> OpenEndpoint:
    """Raises EngineError ENGINE_NOT_STARTED."""
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
        raise not_open("Spark Connect", "connect", plan.host, plan.port, cause_of(error).message) from error
    finally:
        conf.remove(_CONNECT_TOKEN)  # read by then; every later session would have it among its settings
    none = jvm.scala.Option.empty()
    return OpenEndpoint(service.localPort(), lambda: service.stop(none, none))


def open_thrift(spark: Session, plan: EndpointPlan, scratch: Path) -> OpenEndpoint:
    """scratch: a folder for what the server keeps of its sessions. Raises EngineError ENGINE_NOT_STARTED.

    The server is put together here as `HiveThriftServer2.startWithSparkSession` does it, but with settings of our own:
    that one takes them from Spark's start only, and opens to everybody on every address when it finds none.
    """
    jvm: Any = spark.sparkContext._jvm
    servers = jvm.org.apache.spark.sql.hive.thriftserver
    shared = getattr(getattr(servers, "HiveThriftServer2$"), "MODULE$")
    shared.systemExitOnError().set(False)
    # Without the listener that the original adds: it keeps the texts of statements, for Spark's web pages.
    getattr(shared, "eventManager_$eq")(servers.ui.HiveThriftServer2EventManager(spark.sparkContext._jsc.sc()))
    logins = java(spark).endpoints.ThriftLogins
    # At each login the server reads Hive's settings anew, and a property of the system is the only way to these.
    jvm.java.lang.System.setProperty(_THRIFT_LOGIN, logins.expect(plan.token))
    (scratch / "local").mkdir(parents=True, exist_ok=True)
    server = servers.HiveThriftServer2(spark._jsparkSession)
    try:
        conf = _hive_conf(spark, _thrift_confs(plan, scratch))
        server.init(conf)
        logins.limit(server, conf, plan.logins_most, int(plan.login_seconds * 1000))
        server.start()
    except Py4JJavaError as error:
        raise not_open("The Thrift door", "thrift", plan.host, plan.port, cause_of(error).message) from error
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
    # Hive's own catalogue, which nobody asks here: one in memory, and not a second hand on the engine's.
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
        # A thread outlives its connection for a moment when that is closed for the next.
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


def not_open(door: str, setting: str, host: str, port: int, reason: str) -> EngineError:
    """A door that can't open. setting: what the names of its settings begin with."""
    return EngineError(
        "ENGINE_NOT_STARTED",
        f"{door} can't open at {host}:{port}: {reason.rstrip('.')}.",
        hint=f"Set {setting}_port to one that is free, or to 0 for any, and {setting}_host to an address of this "
        "machine.",
    )
