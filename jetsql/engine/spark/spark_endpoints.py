"""Spark's own endpoints in the engine's driver: Spark Connect, and Thrift for JDBC.

Both are services of Spark. Their sessions are children of the engine's session, so they understand JetSQL. JetSQL adds
TLS and authentication: clients have to send a token. The token is not among the settings that Spark is started with,
because every user of the machine can read the arguments of its process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.spark.startup import Session
from jetsql.errors import EngineError

_LARGEST_PLAN = 128 * 1024 * 1024
"""Spark's limit of a request. A compressed plan may become four times as large by default, half of a small heap."""
_THRIFT_LOGIN = "hive.server2.custom.authentication.class"
_THRIFT_CLIENTS = 500
"""The number of connections after login, each of which takes a thread; Hive's default."""


@dataclass(frozen=True)
class EndpointPlan:
    """The settings of an endpoint."""

    host: str
    """The address to listen on."""
    port: int
    """The port to listen on; 0 for any free port."""
    idle_seconds: float
    """The time after which unused sessions are closed."""
    login_seconds: float
    """See `EndpointSettings`."""
    max_logins: int
    """See `logins_most` of `EndpointSettings`."""
    certificate: Any = None
    """The result of `read_certificate`; None without TLS."""


@dataclass(frozen=True)
class OpenEndpoint:
    """A listening endpoint."""

    port: int
    """The port that it listens on."""
    close: Callable[[], None]
    """Stops the endpoint and cancels the statements of its clients."""


def read_certificate(spark: Session, certificate: Path, key: Path) -> Any:
    """Return the certificate for both endpoints. Raises EngineError CERTIFICATE_NOT_USABLE."""
    try:
        return java(spark).endpoints.TlsCertificate.read(str(certificate), str(key))
    except Py4JJavaError as error:
        message = f"Java cannot use the certificate {certificate} (tls_cert) and the private key {key} (tls_key)"
        hint = "Use a key of RSA or of an elliptic curve."
        raise EngineError(
            "CERTIFICATE_NOT_USABLE", f"{message}: {cause_of(error).message.rstrip('.')}.", hint=hint
        ) from error


def open_connect(spark: Session, plan: EndpointPlan) -> OpenEndpoint:
    """Start Spark Connect. Raises EngineError ENGINE_NOT_STARTED."""
    jvm: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    conf = context.conf()
    conf.set("spark.connect.session.manager.defaultSessionTimeout", _millis(plan.idle_seconds))
    conf.setIfMissing("spark.connect.maxPlanSize", str(_LARGEST_PLAN))
    server = java(spark).endpoints.ConnectServer
    try:
        port = server.start(
            context, plan.host, plan.port, plan.certificate, plan.max_logins, int(plan.login_seconds * 1000)
        )
    except Py4JJavaError as error:
        raise cannot_open("Spark Connect", "connect", plan.host, plan.port, cause_of(error).message) from error
    service = getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")
    none = jvm.scala.Option.empty()
    return OpenEndpoint(port, lambda: service.stop(none, none))


def open_thrift(spark: Session, plan: EndpointPlan, scratch: Path) -> OpenEndpoint:
    """Start the Thrift server. Raises EngineError ENGINE_NOT_STARTED.

    This creates the server in the way of `HiveThriftServer2.startWithSparkSession`, but with its own settings. The
    original reads them only at Spark's start, and without them it listens on every address without authentication.
    scratch: a folder for the server's session files.
    """
    jvm: Any = spark.sparkContext._jvm
    servers = jvm.org.apache.spark.sql.hive.thriftserver
    shared = getattr(getattr(servers, "HiveThriftServer2$"), "MODULE$")
    shared.systemExitOnError().set(False)
    # The original adds a listener that stores the texts of statements for Spark's web UI; JetSQL does not.
    getattr(shared, "eventManager_$eq")(servers.ui.HiveThriftServer2EventManager(spark.sparkContext._jsc.sc()))
    logins = java(spark).endpoints.ThriftLogins
    # At each login the server reads Hive's settings again, which only a system property can change.
    jvm.java.lang.System.setProperty(_THRIFT_LOGIN, logins.check())
    (scratch / "local").mkdir(parents=True, exist_ok=True)
    server = servers.HiveThriftServer2(spark._jsparkSession)
    try:
        conf = _hive_conf(spark, _thrift_confs(plan, scratch))
        server.init(conf)
        logins.limit(server, conf, plan.max_logins, int(plan.login_seconds * 1000), plan.certificate)
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
    # The server opens a Hive catalogue of its own, which it does not use. In memory, it does not open the engine's.
    hive_utils = getattr(getattr(jvm.org.apache.spark.sql.hive, "HiveUtils$"), "MODULE$")
    in_memory = jvm.scala.jdk.javaapi.CollectionConverters.asJava(hive_utils.newTemporaryConfiguration(True))
    for key, value in {**in_memory, **confs}.items():
        conf.set(key, value)
    return conf


def _thrift_confs(plan: EndpointPlan, scratch: Path) -> dict[str, str]:
    return {
        "hive.server2.transport.mode": "binary",
        "hive.server2.thrift.bind.host": plan.host,
        "hive.server2.thrift.port": str(plan.port),
        # A thread briefly outlives a connection that was closed to make room for the next one.
        "hive.server2.thrift.max.worker.threads": str(_THRIFT_CLIENTS + 2 * plan.max_logins),
        "hive.server2.authentication": "CUSTOM",
        # The engine reads and writes as its own user, not as the user that a client names.
        "hive.server2.enable.doAs": "false",
        "hive.server2.allow.user.substitution": "false",
        "hive.server2.idle.session.timeout": _millis(plan.idle_seconds),
        "hive.server2.session.check.interval": "60000ms",
        # The operation log would write every statement, with passwords, to files under /tmp.
        "hive.server2.logging.operation.enabled": "false",
        "hive.exec.scratchdir": str(scratch / "sessions"),
        "hive.exec.local.scratchdir": str(scratch / "local"),
        "hive.downloaded.resources.dir": str(scratch / "resources"),
    }


def _millis(seconds: float) -> str:
    return f"{int(seconds * 1000)}ms"


def cannot_open(endpoint: str, setting: str, host: str, port: int, reason: str) -> EngineError:
    """Return the error to raise for an endpoint that cannot listen. setting: the prefix of its settings."""
    return EngineError(
        "ENGINE_NOT_STARTED",
        f"{endpoint} cannot listen on {host}:{port}: {reason.rstrip('.')}.",
        hint=f"Set {setting}_port to a free port, or to 0 for any, and {setting}_host to an address of this machine.",
    )


def end_logins(spark: Session, ended: Mapping[str, str]) -> None:
    """End the sessions of Thrift and Spark Connect whose logins have ended. ended: their keys, with the reasons"""
    java(spark).endpoints.EndedLogins.end(json.dumps(dict(ended)))
