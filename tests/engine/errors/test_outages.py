"""The errors of clients whose server is away, one row each: jobs wait for the end of the outage.

The rows are the chains of classes and messages that the clients raise when the server was killed, stopped answering,
refuses connections, lost its name in DNS, has an expired certificate, or has no space left on its disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jetsql.engine.errors.remedies import Trace, explain_cause
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jdbc.jdbc_databases import JdbcError, explain_read_error
from jetsql.engine.watchdogs import external_systems
from jetsql.engine.watchdogs.external_systems import ExternalSystems
from jetsql.errors import RetryableError, StatementError
from jetsql.jobs.model.job import Cause
from tests.support.engines.in_memory_runtime import analysis, source

KAFKA = "org.apache.kafka.common.errors."
CLIENT = "org.apache.kafka.common.KafkaException"
SPARK = "org.apache.spark.SparkException"
S3 = "software.amazon.awssdk.core.exception.SdkClientException"
UNAVAILABLE = "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
FAILED = "Job aborted due to stage failure"
S3_FRAMES = "org.apache.hadoop.fs.s3a.Invoker.retry"


def explain(classes: Sequence[str], message: str, frames: str = "") -> Cause:
    messages = (*([FAILED] * (len(classes) - 1)), message)
    return explain_cause(Cause(message, error_class=classes[-1]), Trace(messages, frames, tuple(classes)), None)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        pytest.param(
            (SPARK, "java.util.concurrent.TimeoutException"),
            "Cannot fetch record for offset 1271 in 120000 milliseconds",
            id="stalled-fetch",
        ),
        ((SPARK, f"{KAFKA}TimeoutException"), "Timeout of 60000ms expired before the position could be determined"),
        ((SPARK, f"{KAFKA}TimeoutException"), "Topic t not present in metadata after 60000 ms."),
        ((SPARK, f"{KAFKA}TimeoutException"), "Expiring 5 record(s) for t-0:120000 ms has passed since batch creation"),
        ((SPARK, f"{KAFKA}TimeoutException"), "Timeout expired after 60000ms while awaiting InitProducerId"),
        ((SPARK, f"{KAFKA}DisconnectException"), "Cancelled fetchMetadata request due to node -1 being disconnected"),
        ((SPARK, f"{KAFKA}NetworkException"), "Disconnected from node 1"),
        ((SPARK, f"{KAFKA}BrokerNotAvailableException"), "The broker is not available."),
        ((SPARK, f"{KAFKA}CoordinatorNotAvailableException"), "The coordinator is not available."),
        ((SPARK, f"{KAFKA}CoordinatorLoadInProgressException"), "The coordinator is loading."),
        ((SPARK, f"{KAFKA}NotCoordinatorException"), "This is not the correct coordinator."),
        ((SPARK, f"{KAFKA}LeaderNotAvailableException"), "There is no leader for this topic-partition."),
        ((SPARK, f"{KAFKA}NotLeaderOrFollowerException"), "This server is not the leader."),
        ((SPARK, f"{KAFKA}UnknownLeaderEpochException"), "The leader epoch is newer."),
        ((SPARK, f"{KAFKA}FencedLeaderEpochException"), "The leader epoch is older."),
        ((SPARK, f"{KAFKA}NotEnoughReplicasException"), "There are fewer in-sync replicas than required."),
        ((SPARK, f"{KAFKA}NotEnoughReplicasAfterAppendException"), "Messages are rejected."),
        pytest.param((SPARK, f"{KAFKA}KafkaStorageException"), "Disk error when accessing log file.", id="disk-full"),
        ((SPARK, f"{KAFKA}ThrottlingQuotaExceededException"), "The throttling quota has been exceeded."),
        pytest.param(
            (SPARK, CLIENT, "org.apache.kafka.common.config.ConfigException"),
            "No resolvable bootstrap urls given in bootstrap.servers",
            id="no-name",
        ),
        pytest.param(
            (SPARK, f"{KAFKA}SslAuthenticationException", "javax.net.ssl.SSLHandshakeException"),
            "PKIX path validation failed",
            id="tls",
        ),
        pytest.param(
            (
                SPARK,
                f"{KAFKA}SslAuthenticationException",
                "javax.net.ssl.SSLHandshakeException",
                "java.security.cert.CertificateExpiredException",
            ),
            "NotAfter: Fri Nov 27 00:00:00 UTC 2026",
            id="tls-expired",
        ),
    ],
)
def test_kafka_not_reachable(classes: tuple[str, ...], message: str) -> None:
    cause = explain(classes, message)
    assert (cause.condition, cause.external_outage, cause.retryable) == (UNAVAILABLE, True, True)
    assert message in cause.message and cause.message.startswith("Kafka ")


@pytest.mark.parametrize(
    ("sqlstate", "message"),
    [
        ("08001", "Connection to db:5432 refused. Check that the hostname and port are correct."),
        ("08001", "The connection attempt failed."),  # an unknown name
        ("08001", "Connection attempt timed out."),
        ("08003", "This connection has been closed."),
        ("08006", "An I/O error occurred while sending to the backend."),
        ("08006", "SSL error: PKIX path validation failed: CertPathValidatorException: validity check failed"),
        ("57P01", "FATAL: terminating connection due to administrator command"),
        ("57P02", "WARNING: terminating connection because of crash of another server process"),
        ("57P03", "FATAL: the database system is starting up"),
        ("53100", 'ERROR: could not extend file "base/5/16384": No space left on device'),
        ("53200", "ERROR: out of memory"),
        ("53300", "FATAL: sorry, too many clients already"),
        ("58030", 'ERROR: could not write to file "pg_wal/xlogtemp.1": Input/output error'),
        ("25006", "ERROR: cannot execute INSERT in a read-only transaction"),
    ],
)
def test_postgresql_not_reachable(sqlstate: str, message: str) -> None:
    failure = JdbcError(sqlstate, message, error_class="org.postgresql.util.PSQLException")
    error = explain_read_error(failure)
    assert isinstance(error, RetryableError)
    cause = cause_of(error)
    assert (cause.condition, cause.external_outage, cause.retryable) == (UNAVAILABLE, True, True)


@pytest.mark.parametrize(
    ("sqlstate", "name", "message"),
    [
        ("", "java.sql.SQLTransientConnectionException", "HikariPool-1 - Connection is not available."),
        ("66000", "java.sql.SQLRecoverableException", "ORA-12541: Cannot connect. No listener at host db port 1521."),
        ("08006", "java.sql.SQLRecoverableException", "ORA-17800: Got minus one from a read call."),
        ("90067", "org.h2.jdbc.JdbcSQLNonTransientConnectionException", "Connection is broken"),
        ("08S01", "com.mysql.cj.jdbc.exceptions.CommunicationsException", "Communications link failure"),
        ("08000", "java.sql.SQLNonTransientConnectionException", "Socket fail to connect to db. Connection refused"),
        (
            "08S01",
            "com.microsoft.sqlserver.jdbc.SQLServerException",
            "The TCP/IP connection to the host db has failed.",
        ),
        ("08001", "java.sql.SQLNonTransientConnectionException", "Error connecting to server db on port 1527"),
        ("08001", "com.ibm.db2.jcc.am.DisconnectNonTransientConnectionException", "ERRORCODE=-4499, SQLSTATE=08001"),
    ],
)
def test_other_database_not_reachable(sqlstate: str, name: str, message: str) -> None:
    assert cause_of(explain_read_error(JdbcError(sqlstate, message, error_class=name))).external_outage


@pytest.mark.parametrize("sqlstate", ["42P01", "22012", "23505", "40001", "57014", "28P01", ""])
def test_database_that_reports_an_error_is_reachable(sqlstate: str) -> None:
    failure = JdbcError(sqlstate, "No.", error_class="org.postgresql.util.PSQLException")
    assert not cause_of(explain_read_error(failure)).external_outage


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ((S3, "java.net.ConnectException"), "Unable to execute HTTP request: Connect to s3:9000 failed"),
        ((S3, "java.net.UnknownHostException"), "Received an UnknownHostException: bucket.s3"),
        ((S3, "java.net.SocketTimeoutException"), "Unable to execute HTTP request: Read timed out"),
        ((S3, "java.net.SocketException"), "Unable to execute HTTP request: Connection reset"),
        ((S3, "org.apache.http.NoHttpResponseException"), "s3:9000 failed to respond"),
        ((S3, "java.security.cert.CertificateExpiredException"), "NotAfter: Fri Nov 27 00:00:00 UTC 2026"),
        ((S3,), "We encountered an internal error (Service: S3, Status Code: 500)"),
        ((S3,), "Storage backend has reached its minimum free drive threshold (Service: S3, Status Code: 507)"),
        ((S3,), "Please reduce your request rate (Service: S3, Status Code: 503)"),
    ],
)
def test_object_store_not_reachable(classes: tuple[str, ...], message: str) -> None:
    cause = explain((SPARK, *classes), f"s3a://lake/t: {message}", S3_FRAMES)
    assert (cause.condition, cause.external_outage, cause.retryable) == (UNAVAILABLE, True, True)


@pytest.mark.parametrize(
    "name",
    [
        "java.net.ConnectException",
        "java.net.NoRouteToHostException",
        "java.net.SocketTimeoutException",
        "java.net.UnknownHostException",
        "java.net.http.HttpConnectTimeoutException",
        "java.net.http.HttpTimeoutException",
        "java.nio.channels.UnresolvedAddressException",
        "javax.net.ssl.SSLHandshakeException",
        "java.security.cert.CertificateExpiredException",
        "org.apache.hc.client5.http.HttpHostConnectException",
        "org.apache.hadoop.net.ConnectTimeoutException",
        "org.apache.iceberg.exceptions.ServiceUnavailableException",
        "org.apache.thrift.transport.TTransportException",
    ],
)
def test_other_system_not_reachable(name: str) -> None:
    cause = explain((SPARK, "java.lang.RuntimeException", name, "java.io.IOException"), "No answer")
    assert (cause.condition, cause.external_outage) == (UNAVAILABLE, True)


@pytest.mark.parametrize("name", ["java.io.IOException", "java.lang.RuntimeException", "java.net.URISyntaxException"])
def test_an_error_without_a_network_is_no_outage(name: str) -> None:
    assert not explain((SPARK, name), "something broke").external_outage


# --- errors that no table knows --------------------------------------------------------------------------------------

AWAY = RetryableError("EXTERNAL_SYSTEM_UNAVAILABLE", "Kafka x cannot be reached: No.")


def judged(monkeypatch: pytest.MonkeyPatch, cause: Cause, error: Exception | None) -> Cause:
    def check(*_: Any) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(external_systems, "check_topic", check)

    class Tables:
        def table(self, name: str) -> object:
            return name

    systems = ExternalSystems(None, Tables(), lambda analysis: None)  # type: ignore[arg-type]
    return systems.judge(cause, analysis(sources=(source(format="kafka", created=1),)))


def test_unknown_error_is_an_outage_while_a_system_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    cause = judged(monkeypatch, Cause("It broke", batch=3, error_class="x.Y"), AWAY)
    assert (cause.external_outage, cause.condition, cause.batch, cause.error_class) == (True, UNAVAILABLE, 3, "x.Y")
    assert cause.message == "Kafka x cannot be reached: No. The error was: It broke."


def test_an_error_that_recurs_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    for cause in (Cause("x", "JETSQL.SINK_CHANGED", retryable=False), Cause("x", "DIVIDE_BY_ZERO", "22012")):
        assert judged(monkeypatch, cause, AWAY) is cause


def test_an_unknown_error_is_no_outage_while_all_systems_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    cause = Cause("It broke")
    assert judged(monkeypatch, cause, None) is cause
    broker_error = StatementError("SOURCE_NOT_READY", "Kafka x has no topic a_in.")  # the broker answers
    assert judged(monkeypatch, cause, broker_error) is cause
