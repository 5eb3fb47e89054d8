"""The HTTP endpoint with TLS, as its clients and strangers use it."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from jetsql.client.dbapi import connect
from jetsql.client.dbapi.exceptions import OperationalError
from jetsql.client.engine_client import EngineClient
from jetsql.client.http_client import HttpClient
from jetsql.client.server_trust import ServerTrust, proxy_of
from jetsql.errors import EngineError
from jetsql.home.discovery import EngineNote
from jetsql.server.server_certificate import ServerCertificate, open_certificate
from jetsql.settings.engine_settings import EndpointSettings, load
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.certificates import Authority, Files, new_key, write_key
from tests.support.servers.http_server import TOKEN, RunningServer, run_server
from tests.support.servers.strangers import connect as connect_stranger
from tests.support.servers.strangers import half_open, is_closed

SOON = EndpointSettings(login_seconds=0.3)
NEVER = EndpointSettings(login_seconds=3600.0)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.delenv("JETSQL_CA_FILE", raising=False)
    return Authority(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "cert.pem", tmp_path / "key.pem")


@pytest.fixture
def certificate(authority: Authority, files: Files) -> ServerCertificate:
    authority.issue(files)
    return ServerCertificate(files.certificate, files.key)


@pytest.fixture
def server(certificate: ServerCertificate) -> Iterator[RunningServer]:
    with run_server(ServedEngine(), certificate=certificate) as running:
        yield running


def port_of(server: RunningServer) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


def counts(url: str, trust: ServerTrust | None) -> list[tuple[int]]:
    """Return the rows that a client with the token gets."""
    with closing(EngineClient(url, TOKEN, trust)) as client:
        return list(client.run("COUNT 2").rows)


def refusal(url: str, trust: ServerTrust | None = None) -> EngineError:
    with pytest.raises(EngineError) as caught:
        HttpClient(url, TOKEN, trust=trust).request("GET", "/v1/engine")
    return caught.value


# --- clients ----------------------------------------------------------------------------------------------------------


def test_a_client_that_trusts_the_authority_uses_https(
    server: RunningServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counts(server.url, ServerTrust(str(authority.file))) == [(0,), (1,)]
    monkeypatch.setenv("JETSQL_CA_FILE", str(authority.file))
    assert counts(server.url, None) == [(0,), (1,)]


def test_a_kept_connection_takes_further_requests(server: RunningServer, authority: Authority) -> None:
    with closing(HttpClient(server.url, TOKEN, trust=ServerTrust(str(authority.file)))) as client:
        client.request("GET", "/v1/engine")
        kept = client._connection
        client.request("GET", "/v1/engine")
        assert client._connection is kept is not None


def test_connect_takes_a_file_of_authorities(server: RunningServer, authority: Authority) -> None:
    address = f"jetsql://:{TOKEN.replace(' ', '%20')}@127.0.0.1:{port_of(server)}"
    for url, ca_file in (
        (f"{address}?tls=true&ca_file={authority.file}", None),
        (f"{address}?tls=true", authority.file),
    ):
        with connect(url, ca_file=ca_file) as connection, connection.cursor() as cursor:
            cursor.execute("COUNT 2")
            assert cursor.fetchall() == [(0,), (1,)]
    with pytest.raises(OperationalError, match="is not trusted"):
        connect(f"{address}?tls=true")


def test_an_unknown_authority_is_refused_before_the_token_is_sent(server: RunningServer, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    for trust in (None, ServerTrust(str(other.file))):
        error = refusal(server.url, trust)
        assert error.condition == "JETSQL.ENGINE_NOT_REACHABLE"
        assert "is not trusted, so the token was not sent to it" in error.message
        assert "JETSQL_CA_FILE" in error.hint


def test_another_host_name_is_refused(authority: Authority, files: Files) -> None:
    authority.issue(files, ("engine.example.com",))
    with run_server(ServedEngine(), certificate=ServerCertificate(files.certificate, files.key)) as server:
        error = refusal(server.url, ServerTrust(str(authority.file)))
    assert "not valid for '127.0.0.1'" in error.message and "http_hosts" in error.hint


def test_a_certificate_that_expires_while_the_engine_runs_is_refused(authority: Authority, files: Files) -> None:
    authority.issue(files)
    certificate = ServerCertificate(files.certificate, files.key)
    authority.issue(files, ends=timedelta(seconds=-5))
    expired = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    expired.load_cert_chain(files.certificate, files.key)
    certificate._state, certificate._loaded = None, replace(certificate._loaded, context=expired)
    certificate.files = (files.certificate.with_name("gone"), files.key)  # it is not read again
    with run_server(ServedEngine(), certificate=certificate) as server:
        assert "has expired" in refusal(server.url, ServerTrust(str(authority.file))).message
        note = EngineNote(1, server.url, TOKEN, "1", 0.0, certificate=files.certificate.read_text())
        assert counts(server.url, ServerTrust(note=note)) == [(0,), (1,)]  # commands on its machine can still stop it


def test_each_protocol_names_the_other_one(server: RunningServer) -> None:
    error = refusal(server.url.replace("https:", "http:"))
    assert "write https://" in error.hint
    with run_server(ServedEngine()) as plain:
        error = refusal(plain.url.replace("http:", "https:"))
    assert "makes no TLS connection" in error.message and "write http://" in error.hint


def test_a_file_without_certificates_is_refused(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name, reason in (("empty.pem", "it has no certificate in PEM"), ("gone.pem", "No such file")):
        error = refusal(server.url, ServerTrust(str(tmp_path / name)))
        assert error.condition == "JETSQL.INVALID_SETTING" and reason in error.message


def test_the_engine_of_a_home_is_known_by_its_certificate(authority: Authority, files: Files, tmp_path: Path) -> None:
    """Connect without the name and the authority of its certificate."""
    authority.issue(files, ("engine.example.com",))
    certificate = ServerCertificate(files.certificate, files.key)
    with run_server(ServedEngine(), certificate=certificate) as server:
        note = EngineNote(
            1, server.url, TOKEN, "1", 0.0, certificate=certificate.own, certificate_file=str(files.certificate)
        )
        assert counts(server.url, ServerTrust(note=note)) == [(0,), (1,)]
        authority.issue(files, ("engine.example.com",))  # renewed, and the note is not written yet
        assert counts(server.url, ServerTrust(note=note)) == [(0,), (1,)]
        other = Files(tmp_path / "other.pem", tmp_path / "other.key")
        authority.issue(other, ("engine.example.com",))
        note = replace(note, certificate=other.certificate.read_text(), certificate_file=str(other.certificate))
        assert "is not trusted" in refusal(server.url, ServerTrust(note=note)).message


def test_strict_transport_is_for_names_of_hosts(
    certificate: ServerCertificate, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_server(ServedEngine(), certificate=certificate) as server:
        assert header(server, authority, "engine.example.com") == "max-age=31536000"
        assert header(server, authority, "localhost") is None


def header(server: RunningServer, authority: Authority, host: str) -> str | None:
    context = ssl.create_default_context(cafile=str(authority.file))
    with closing(HTTPSConnection("127.0.0.1", port_of(server), context=context, timeout=30)) as connection:
        connection.request("GET", "/healthz", headers={"Host": host})
        return connection.getresponse().getheader("Strict-Transport-Security")


# --- strangers --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_versions_of_tls_are_refused(server: RunningServer) -> None:
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(OSError):
            handshake(server, version)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert handshake(server, version).startswith(("ECDHE-", "TLS_"))


def handshake(server: RunningServer, version: ssl.TLSVersion) -> str:
    """Return the cipher of a connection with a version of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with connect_stranger(port_of(server)) as connection, context.wrap_socket(connection) as encrypted:
        found = encrypted.cipher()
        assert found is not None
        return found[0]


def test_plain_text_gets_no_answer(server: RunningServer) -> None:
    with connect_stranger(port_of(server)) as stranger:
        stranger.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP" not in stranger.recv(4096)


@pytest.mark.parametrize("beginning", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01"])
def test_silent_connections_are_closed(certificate: ServerCertificate, beginning: bytes) -> None:
    with run_server(ServedEngine(), settings=SOON, certificate=certificate) as server:
        with connect_stranger(port_of(server)) as stranger:
            stranger.sendall(beginning)
            assert is_closed(stranger)


def test_a_handshake_without_a_request_is_closed(certificate: ServerCertificate, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    with run_server(ServedEngine(), settings=SOON, certificate=certificate) as server:
        with connect_stranger(port_of(server)) as plain, context.wrap_socket(plain, server_hostname="localhost") as own:
            assert is_closed(own)


def test_1500_connections_without_a_handshake_do_not_block_a_client(
    certificate: ServerCertificate, authority: Authority
) -> None:
    with (
        run_server(ServedEngine(), settings=NEVER, certificate=certificate) as server,
        half_open(port_of(server), 1500, b"", b"\x16\x03\x01") as strangers,
    ):
        trust = ServerTrust(str(authority.file))
        assert counts(server.url, trust) == [(0,), (1,)]
        surplus = strangers[: len(strangers) - NEVER.logins_most]
        assert all(is_closed(stranger) for stranger in surplus)
        assert counts(server.url, trust) == [(0,), (1,)]


def test_the_server_ends_while_strangers_are_connected(certificate: ServerCertificate) -> None:
    with run_server(ServedEngine(), settings=NEVER, certificate=certificate) as server:
        strangers = [connect_stranger(port_of(server)) for _ in range(3)]
    for stranger in strangers:
        with stranger:
            assert is_closed(stranger)


# --- renewal ----------------------------------------------------------------------------------------------------------


def test_a_renewed_certificate_serves_new_connections(
    server: RunningServer, certificate: ServerCertificate, authority: Authority, files: Files
) -> None:
    renewals = []
    certificate.on_renewal = lambda: renewals.append(certificate.own)
    trust = ServerTrust(str(authority.file))
    with closing(HttpClient(server.url, TOKEN, trust=trust)) as running:
        running.request("GET", "/v1/engine")
        before = peer(server)
        authority.issue(files)
        running.request("GET", "/v1/engine")
        assert renewals == []  # the open connection continues with the old one
        assert peer(server) != before
        running.request("GET", "/v1/engine")
    assert counts(server.url, trust) == [(0,), (1,)]
    assert renewals == [files.certificate.read_text().strip()]


def peer(server: RunningServer) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port_of(server)))


def test_links_of_a_certificate_manager_are_followed(authority: Authority, tmp_path: Path) -> None:
    """Replace a link to the folder with the files, as Kubernetes does."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        authority.issue(Files(folder / "tls.crt", folder / "tls.key"))
    data = tmp_path / "data"
    data.symlink_to(folders[0])
    certificate = ServerCertificate(data / "tls.crt", data / "tls.key")
    with run_server(ServedEngine(), certificate=certificate) as server:
        before = peer(server)
        link = tmp_path / "new"
        link.symlink_to(folders[1])
        os.replace(link, data)
        assert peer(server) != before
        assert peer(server) == (folders[1] / "tls.crt").read_text()


def test_a_renewed_certificate_that_is_not_usable_is_not_used(
    server: RunningServer, authority: Authority, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    before = peer(server)
    key = files.key.read_bytes()
    with caplog.at_level(logging.ERROR):
        authority.issue(files)
        new_key_text = files.key.read_bytes()
        files.key.write_bytes(key)  # the certificate is replaced first
        assert [peer(server), peer(server)] == [before, before]
        assert len(caplog.records) == 1 and "does not belong to the certificate" in caplog.text
        files.key.write_bytes(new_key_text)
        assert peer(server) == files.certificate.read_text()
        files.key.unlink()
        assert peer(server) == files.certificate.read_text()


# --- checks at the start ----------------------------------------------------------------------------------------------


def not_usable(files: Files) -> EngineError:
    with pytest.raises(EngineError) as caught:
        ServerCertificate(files.certificate, files.key)
    assert caught.value.condition == "JETSQL.CERTIFICATE_NOT_USABLE" and caught.value.hint
    return caught.value


def test_a_key_that_others_can_read_is_refused(authority: Authority, files: Files) -> None:
    authority.issue(files)
    files.key.chmod(0o640)  # of a group for certificates
    ServerCertificate(files.certificate, files.key)
    for mode in (stat.S_IROTH, stat.S_IWOTH):
        files.key.chmod(0o600 | mode)
        error = not_usable(files)
        assert "Other users of this machine can access the private key" in error.message and "chmod o=" in error.hint


def test_a_key_of_another_certificate_is_refused(authority: Authority, files: Files) -> None:
    authority.issue(files)
    write_key(files.key, new_key())
    assert "The private key does not belong to the certificate." in not_usable(files).message


@pytest.mark.parametrize(
    "begins, ends, reason",
    [(-9, -1, "has expired"), (1, 9, "is not valid yet")],
)
def test_a_certificate_at_another_time_is_refused(
    authority: Authority, files: Files, begins: int, ends: int, reason: str
) -> None:
    authority.issue(files, begins=timedelta(days=begins), ends=timedelta(days=ends))
    assert reason in not_usable(files).message


def test_a_certificate_of_a_client_is_refused(authority: Authority, files: Files) -> None:
    authority.issue(files, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    assert "is not one of a server" in not_usable(files).message


def test_an_encrypted_key_is_refused_without_a_question(authority: Authority, files: Files) -> None:
    key = new_key()
    authority.issue(files, key=key)
    write_key(files.key, key, passphrase=b"hush")
    assert "is encrypted" in not_usable(files).message


def test_files_that_are_missing_or_not_pem_are_refused(authority: Authority, files: Files) -> None:
    authority.issue(files)
    for file, name in ((files.certificate, "tls_cert"), (files.key, "tls_key")):
        kept = file.read_bytes()
        file.write_bytes(b"\x30\x82")
        assert name in not_usable(files).message
        file.unlink()
        error = not_usable(files)
        assert f"{file} ({name}) cannot be read: No such file" in error.message
        os.mkfifo(file)
        assert "it is no regular file" in not_usable(files).message
        file.unlink()
        file.write_bytes(kept)
        file.chmod(0o600)
    ServerCertificate(files.certificate, files.key)


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("bits", [0, 2048])
def test_all_forms_of_keys_are_read(authority: Authority, files: Files, form: PrivateFormat, bits: int) -> None:
    authority.issue(files, key=new_key(bits), form=form)
    ServerCertificate(files.certificate, files.key)


def test_one_file_alone_is_refused(files: Files) -> None:
    assert open_certificate(EndpointSettings()) is None
    alone = {"tls_cert": EndpointSettings(tls_cert=files.certificate), "tls_key": EndpointSettings(tls_key=files.key)}
    for (given, settings), missing in zip(alone.items(), reversed(alone), strict=True):
        with pytest.raises(EngineError, match=f"{given} is set, but {missing} is not") as caught:
            open_certificate(settings)
        assert caught.value.condition == "JETSQL.INVALID_SETTING"


def test_paths_are_relative_to_the_file_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('tls_cert = "tls/cert.pem"\ntls_key = "/run/key.pem"\n')
    settings = load(environ={"JETSQL_CONFIG": str(tmp_path / "config.toml")}).endpoints
    assert (settings.tls_cert, settings.tls_key) == (tmp_path / "tls/cert.pem", Path("/run/key.pem"))


def test_endpoints_that_others_on_the_network_can_read() -> None:
    def readable(**settings: object) -> tuple[str, ...]:
        return EndpointSettings(**settings).readable_on_network  # type: ignore[arg-type]

    assert readable() == readable(http_host="127.0.0.5", connect_host="::1", thrift_host="localhost") == ()
    assert readable(http_host="0.0.0.0") == ("http_host = 0.0.0.0",)
    assert readable(connect_host="db1", thrift_host="::") == ("connect_host = db1",)
    assert readable(thrift=True, thrift_host="::", connect=False, connect_host="::") == ("thrift_host = ::",)
    assert readable(http_host="::", tls_cert=Path("cert.pem")) == readable(http_host="::", plain_endpoints=True) == ()


# --- proxies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "exceptions, host, is_direct",
    [
        ("", "localhost", True),
        ("", "127.0.0.2", True),
        ("", "db.example.com", False),
        ("example.com", "db.example.com", True),
        (".example.com", "db.example.com", True),
        ("*.example.com", "DB.example.com", True),
        ("ample.com", "db.example.com", False),
        ("other, example.com:8443", "db.example.com", True),
        ("example.com:443", "db.example.com", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("*", "db.example.com", True),
    ],
)
def test_hosts_without_a_proxy(exceptions: str, host: str, is_direct: bool) -> None:
    for proxy in ("HTTPS_PROXY", "https_proxy"):
        environ = {proxy: "proxy.example.com:3128", "NO_PROXY": exceptions}
        found = proxy_of(host, 8443, environ)
        assert (found is None) is is_direct
        assert found is None or (found.hostname, found.port) == ("proxy.example.com", 3128)
    assert proxy_of(host, 8443, {"HTTP_PROXY": "http://proxy.example.com"}) is None


@pytest.mark.parametrize("url", ["https://ann:hush@proxy:3128", "socks5://proxy", "http://", "http://proxy:99999"])
def test_another_kind_of_proxy_is_refused(url: str) -> None:
    with pytest.raises(EngineError) as caught:
        proxy_of("db.example.com", 443, {"HTTPS_PROXY": url})
    assert caught.value.condition == "JETSQL.INVALID_SETTING" and "http://HOST:PORT" in caught.value.hint
    assert "hush" not in str(caught.value)


def test_https_goes_through_the_proxy_of_the_environment(
    authority: Authority, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.issue(files, ("engine.example.com",))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:s%40@127.0.0.1:{proxy.getsockname()[1]}")
        connection = ServerTrust(str(authority.file)).connection("https://engine.example.com:8443", 30)
        proxy.settimeout(30)
        seen: list[bytes] = []

        def refuse() -> None:
            client, _ = proxy.accept()
            with client:
                seen.append(client.recv(4096))
                client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(OSError, match="403 Forbidden"):
            connection.connect()
        thread.join(30)
    assert seen[0].startswith(b"CONNECT engine.example.com:8443 HTTP/1.")
    assert b"Proxy-Authorization: Basic YW5uOnNA" in seen[0]
