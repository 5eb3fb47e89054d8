"""All endpoints of an engine with TLS and users, as clients and strangers use them."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.plan import SQL

from tests.external_clients.__main__ import try_client
from tests.external_clients.clients import Client
from tests.external_clients.engine import ROOT, ClientTestEngine, run_jetsql
from tests.support.servers.certificates import Authority, Files
from tests.support.servers.ports import listeners
from tests.support.servers.strangers import half_open, is_closed

pytestmark = pytest.mark.spark

_ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"  # of the clients of Spark Connect; read once by each process
_LOGIN = b"\x01\0\0\0\x05PLAIN" + b"\x02\0\0\0\x09\0me\0wrong"
_COUNT = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.udf.register("plus_one", lambda number: number + 1, "long")
print(spark.sql("SELECT sum(plus_one(id)) FROM range(10)").first()[0])
"""


@dataclass(frozen=True)
class TlsEngine:
    """A running engine with a certificate for `localhost`."""

    engine: ClientTestEngine
    authority: Authority
    files: Files
    config: str

    def __call__(self, text: str, *flags: str) -> str:
        ended = run_jetsql(self.engine.home, "-e", text, *flags, config=self.config)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def token(self, user: str) -> str:
        return str(json.loads(self(f"CREATE TOKEN FOR {user}", "--format", "json"))["token"])

    @property
    def ports(self) -> dict[str, int]:
        """Return the ports by the names of the endpoints."""
        thrift = self.engine.thrift.removeprefix("jdbc:")
        urls = {"http": self.engine.url, "connect": self.engine.connect, "thrift": thrift}
        return {name: int(urlsplit(url).port or 0) for name, url in urls.items()}

    def log_size(self) -> int:
        return (self.engine.home / "engine.log").stat().st_size


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsEngine]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority(folder)
    files = authority.issue(Files(folder / "cert.pem", folder / "key.pem"), ("localhost",))
    config = folder / "config.toml"
    config.write_text('tls_cert = "cert.pem"\ntls_key = "key.pem"\nlogins_most = 32\n', encoding="utf-8")
    home = folder / "home"
    started = run_jetsql(home, "start", "--thrift", config=str(config))
    assert started.returncode == 0, started.stderr
    os.environ[_ROOTS] = str(authority.file)
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        engine = ClientTestEngine(home, *(note[name] for name in ("pid", "url", "connect", "thrift", "token")))
        yield TlsEngine(engine, authority, files, str(config))
    finally:
        del os.environ[_ROOTS]
        assert run_jetsql(home, "stop", config=str(config)).returncode == 0


def connect_client(tls: TlsEngine, token: str, user: str, session: str = "") -> SparkConnectClient:
    chosen = f";session_id={session}" if session else ""
    return SparkConnectClient(f"{tls.engine.connect};token={token};user_id={user}{chosen}")


def rows(client: SparkConnectClient, text: str) -> list[dict[str, Any]]:
    table = client.to_table(SQL(text).to_proto(client), {})[0]
    return table.to_pylist()  # type: ignore[no-any-return]


def refusal(client: SparkConnectClient) -> str:
    with closing(client), pytest.raises(PySparkException) as caught:
        rows(client, "SELECT 1")
    return str(caught.value)


# --- clients ----------------------------------------------------------------------------------------------------------


def test_addresses_say_that_they_need_tls(tls: TlsEngine) -> None:
    shown = json.loads(run_jetsql(tls.engine.home, "status", "--format", "json", config=tls.config).stdout)
    assert shown["url"] == f"https://127.0.0.1:{tls.ports['http']}"
    assert shown["connect"] == f"sc://localhost:{tls.ports['connect']}/;use_ssl=true"
    assert shown["thrift"] == f"jdbc:hive2://localhost:{tls.ports['thrift']}/;ssl=true"


def test_spark_connect_with_tls(tls: TlsEngine) -> None:
    remote = f"{tls.engine.connect};token={tls.engine.token}"
    called = python(_COUNT, remote)
    assert called.stdout == "55\n", called.stderr


@pytest.mark.parametrize("endpoint", ["http", "connect", "thrift"])
def test_other_authorities_and_names_are_not_trusted(tls: TlsEngine, endpoint: str, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    for authority, name in ((other, "localhost"), (tls.authority, "127.0.0.1")):
        context = ssl.create_default_context(cafile=str(authority.file))
        with socket.create_connection(("localhost", tls.ports[endpoint]), timeout=30) as plain:
            with pytest.raises(ssl.SSLCertVerificationError):
                context.wrap_socket(plain, server_hostname=name)


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.slow
def test_jdbc_with_tls(tls: TlsEngine, tmp_path: Path) -> None:
    trust = tmp_path / "trust.p12"
    imported = ("keytool", "-importcert", "-noprompt", "-file", str(tls.authority.file), "-keystore", str(trust))
    subprocess.run((*imported, "-storepass", "trusted"), check=True, capture_output=True, timeout=60)
    address = f"{tls.engine.thrift};sslTrustStore={trust};trustStorePassword=trusted"
    found = try_client(Client("beeline-tls", "beeline.py"), replace(tls.engine, thrift=address))
    assert [step for step in found if not step.ok] == []


# --- users of Spark Connect -------------------------------------------------------------------------------------------


def test_any_name_fits_the_token_of_a_home_without_users(tls: TlsEngine) -> None:
    with closing(connect_client(tls, tls.engine.token, "anyone")) as client:
        assert rows(client, "SELECT 1 AS one") == [{"one": 1}]
    for token in ("wrong", "jsq_abcdefgh_" + "x" * 43):
        assert "The token is missing or wrong" in refusal(connect_client(tls, token, "anyone"))


@pytest.fixture
def users(tls: TlsEngine) -> Iterator[dict[str, str]]:
    """Create ann and boss, who are admins, and bob, and return their tokens."""
    tls("CREATE USER ann; CREATE USER boss; CREATE USER bob; GRANT ADMIN TO ann; GRANT ADMIN TO boss")
    try:
        yield {user: tls.token(user) for user in ("ann", "boss", "bob")}
    finally:
        tls("REASSIGN OWNED BY ann TO owner; DROP USER ann; DROP USER boss; DROP USER bob")


def test_each_token_is_for_the_sessions_of_its_user(tls: TlsEngine, users: dict[str, str]) -> None:
    chosen = str(uuid.uuid4())
    with closing(connect_client(tls, users["ann"], "ann", chosen)) as ann:
        rows(ann, "SET spark.sql.shuffle.partitions = 7")
        theft = refusal(connect_client(tls, users["boss"], "ann", chosen))
        assert "The session is one of the user ann, and the token belongs to boss" in theft
        assert "user_id=boss" in theft
        with closing(connect_client(tls, users["boss"], "boss", chosen)) as boss:  # a session of its own
            assert rows(boss, "SET spark.sql.shuffle.partitions")[0]["value"] != "7"
        assert rows(ann, "SET spark.sql.shuffle.partitions")[0]["value"] == "7"
        assert "user_id=owner" in refusal(connect_client(tls, tls.engine.token, "ann", chosen))
        with closing(connect_client(tls, tls.engine.token, "owner", chosen)) as owner:
            assert rows(owner, "SELECT 1 AS one") == [{"one": 1}]


def test_other_requests_than_statements_need_the_user(tls: TlsEngine, users: dict[str, str]) -> None:
    with closing(connect_client(tls, users["boss"], "ann", str(uuid.uuid4()))) as thief:
        calls = {
            "config": lambda: thief.get_configs("spark.sql.shuffle.partitions"),
            "analyze": lambda: thief.schema(SQL("SELECT 1").to_proto(thief)),
            "artifacts": lambda: thief.add_artifacts(__file__, pyfile=True, archive=False, file=False),
            "interrupt": thief.interrupt_all,
        }
        for name, call in calls.items():
            with pytest.raises(Exception, match="the token belongs to boss"):
                call()
                pytest.fail(name)


def test_users_without_admin_are_led_to_other_endpoints(tls: TlsEngine, users: dict[str, str]) -> None:
    message = refusal(connect_client(tls, users["bob"], "bob"))
    assert "for users with the right ADMIN, which bob lacks. Use the HTTP endpoint" in message
    tls("GRANT ADMIN TO bob")
    with closing(connect_client(tls, users["bob"], "bob")) as bob:
        assert rows(bob, "SELECT 1 AS one") == [{"one": 1}]
        tls("REVOKE ADMIN FROM bob")
        with pytest.raises(PySparkException, match="which bob lacks"):
            rows(bob, "SELECT 1 AS one")


def test_a_dropped_token_is_refused_with_the_next_request(tls: TlsEngine, users: dict[str, str]) -> None:
    with closing(connect_client(tls, users["ann"], "ann")) as ann:
        assert rows(ann, "SELECT 1 AS one") == [{"one": 1}]
        tls(f"DROP TOKEN '{users['ann'][4:12]}'")
        with pytest.raises(PySparkException, match="The token is missing or wrong"):
            rows(ann, "SELECT 1 AS one")


def test_histories_name_the_user(tls: TlsEngine, users: dict[str, str]) -> None:
    with closing(connect_client(tls, users["ann"], "ann")) as ann:
        rows(ann, "CREATE TABLE src (id INT) USING json")
        rows(ann, "CREATE TABLE sink (id INT) USING json")
        rows(ann, "CREATE JOB copied AS INSERT INTO sink SELECT * FROM STREAM src")
        rows(ann, "SUSPEND JOB copied")
        found = rows(ann, "SELECT by, endpoint FROM jetsql.job_history WHERE event LIKE 'suspend%'")
        assert {"by": "ann", "endpoint": "connect"} in found
        rows(ann, "DROP JOB copied")
        rows(ann, "DROP TABLE src")
        rows(ann, "DROP TABLE sink")


# --- strangers --------------------------------------------------------------------------------------------------------


def test_only_the_endpoints_listen_for_clients(tls: TlsEngine) -> None:
    """Find no server of Spark's own for Connect, which has no TLS, when the engine answers."""
    found = list(listeners(psutil.Process(tls.engine.pid)))
    assert {each.address for each in found} == {"127.0.0.1"}
    assert len(found) == 4 + len(tls.ports)  # RPC and blocks, and Py4J in both directions


@pytest.mark.parametrize("endpoint", ["http", "connect", "thrift"])
def test_plain_text_gets_nothing(tls: TlsEngine, endpoint: str) -> None:
    before = tls.log_size()
    beginnings = (_LOGIN, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    for beginning in beginnings * 20:
        with socket.create_connection(("localhost", tls.ports[endpoint]), timeout=30) as stranger:
            stranger.sendall(beginning)
            answer = b""
            with suppress(ConnectionError):
                while piece := stranger.recv(4096):
                    answer += piece
            assert not answer or answer[0] in (0x15, 0x80)  # an alert of TLS
    assert tls.log_size() - before < 50_000


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("endpoint", ["http", "connect", "thrift"])
def test_versions_and_ciphers(tls: TlsEngine, endpoint: str) -> None:
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(OSError):
            cipher(tls, endpoint, version)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        name = cipher(tls, endpoint, version)
        assert name.startswith(("ECDHE-", "TLS_")) and ("GCM" in name or "CHACHA20" in name)
    with pytest.raises(OSError):
        cipher(tls, endpoint, ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-AES256-SHA384")


def cipher(tls: TlsEngine, endpoint: str, version: ssl.TLSVersion, ciphers: str = "ALL") -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(tls.authority.file)
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"] if endpoint == "connect" else [])
    address = ("localhost", tls.ports[endpoint])
    with socket.create_connection(address, timeout=30) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
            found = encrypted.cipher()
            assert found is not None
            return found[0]


def test_thrift_refuses_a_wrong_token_inside_tls(tls: TlsEngine) -> None:
    context = ssl.create_default_context(cafile=str(tls.authority.file))
    with socket.create_connection(("localhost", tls.ports["thrift"]), timeout=30) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
            encrypted.sendall(_LOGIN)
            assert b"Error validating the login" in encrypted.recv(4096)


@pytest.mark.parametrize("beginning", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01"])
def test_silent_connections_are_closed(tls: TlsEngine, beginning: bytes) -> None:
    with ExitStack() as stack:
        silent = {port: stack.enter_context(half_open(port, 60, beginning)) for port in tls.ports.values()}
        for connections in silent.values():
            assert is_closed(connections[0])  # the oldest, immediately
        assert "1" in tls("SELECT 1")
        with closing(connect_client(tls, tls.engine.token, "owner")) as client:
            assert rows(client, "SELECT 1 AS one") == [{"one": 1}]


def test_no_copy_of_the_key_is_written(tls: TlsEngine) -> None:
    key = tls.files.key.read_text(encoding="utf-8").splitlines()[1]
    for file in tls.engine.home.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes(), file
    for process in (psutil.Process(tls.engine.pid), *psutil.Process(tls.engine.pid).children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a process of Python has just ended
            assert key not in " ".join(process.cmdline())


def test_a_renewed_certificate_serves_new_connections_everywhere(tls: TlsEngine) -> None:
    with closing(connect_client(tls, tls.engine.token, "owner")) as running:
        rows(running, "SET spark.sql.shuffle.partitions = 9")
        before = {name: peer(tls, name) for name in tls.ports}
        assert len(set(before.values())) == 1
        tls.authority.issue(tls.files, ("localhost",))
        after = {name: peer(tls, name) for name in tls.ports}
        assert set(after.values()) == {tls.files.certificate.read_text()} != set(before.values())
        assert rows(running, "SET spark.sql.shuffle.partitions")[0]["value"] == "9"
    assert "1" in tls("SELECT 1")


def peer(tls: TlsEngine, endpoint: str) -> str:
    """Return the certificate that an endpoint presents."""
    context = ssl.create_default_context(cafile=str(tls.authority.file))
    context.set_alpn_protocols(["h2"] if endpoint == "connect" else [])
    with socket.create_connection(("localhost", tls.ports[endpoint]), timeout=30) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
            return ssl.DER_cert_to_PEM_cert(encrypted.getpeercert(binary_form=True) or b"")
