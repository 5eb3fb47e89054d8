"""The endpoints in addition to HTTP, before they are opened: refusals without Spark, and their addresses."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from jetsql.cli.connect import start_flags
from jetsql.cli.flags import Flags, load_settings
from jetsql.embedded import endpoints
from jetsql.embedded.endpoints import connect_address, thrift_address, tls_name
from jetsql.errors import EngineError
from jetsql.settings.engine_settings import EndpointSettings, load
from tests.support.golden_reports import raises

ALL = EndpointSettings(thrift=True)


@pytest.fixture
def taken() -> Iterator[int]:
    """Yield a port on which another socket listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


def test_free_ports_are_accepted() -> None:
    endpoints.check_ports(ALL)


@pytest.mark.parametrize("endpoint", ["connect", "thrift"])
def test_a_port_that_is_taken_names_the_setting(endpoint: str, taken: int) -> None:
    with raises(EngineError) as caught:
        endpoints.check_ports(replace(ALL, **{f"{endpoint}_port": taken}))  # type: ignore[arg-type]
    assert caught.value.condition == "JETSQL.ENGINE_NOT_STARTED"
    assert f"127.0.0.1:{taken}: Address already in use." in caught.value.message
    assert f"Set {endpoint}_port to a free port" in caught.value.hint


def test_an_address_of_another_machine_names_the_setting() -> None:
    with raises(EngineError, match=r"cannot listen on 192\.0\.2\.1:0.*thrift_host to an address of this"):
        endpoints.check_ports(replace(ALL, thrift_host="192.0.2.1"))


def test_ports_of_closed_endpoints_are_not_checked(taken: int) -> None:
    endpoints.check_ports(EndpointSettings(connect=False, connect_port=taken, thrift=False, thrift_port=taken))


def test_hives_own_variables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_SERVER2_THRIFT_BIND_HOST", "0.0.0.0")
    endpoints.check_ports(EndpointSettings())
    with raises(EngineError, match="HIVE_SERVER2_THRIFT_BIND_HOST in the environment would override"):
        endpoints.check_ports(ALL)


@pytest.mark.parametrize(
    ("host", "connect", "thrift"),
    [
        ("127.0.0.1", "sc://localhost:7", "jdbc:hive2://127.0.0.1:7"),
        ("0.0.0.0", "sc://localhost:7", "jdbc:hive2://127.0.0.1:7"),
        ("::", "sc://localhost:7", "jdbc:hive2://[::1]:7"),
        ("db.example.org", "sc://db.example.org:7", "jdbc:hive2://db.example.org:7"),
    ],
)
def test_addresses_are_those_that_clients_can_use(host: str, connect: str, thrift: str) -> None:
    assert (connect_address(host, 7), thrift_address(host, 7)) == (connect, thrift)


@pytest.mark.parametrize(
    "host, names, connect, thrift",
    [
        ("127.0.0.1", ("db.example.org",), "sc://localhost:7/;use_ssl=true", "jdbc:hive2://localhost:7/;ssl=true"),
        ("0.0.0.0", (), "sc://localhost:7/;use_ssl=true", "jdbc:hive2://localhost:7/;ssl=true"),
        ("0.0.0.0", ("db.org:80",), "sc://db.org:7/;use_ssl=true", "jdbc:hive2://db.org:7/;ssl=true"),
        ("10.1.2.3", (), "sc://10.1.2.3:7/;use_ssl=true", "jdbc:hive2://10.1.2.3:7/;ssl=true"),
    ],
)
def test_addresses_with_tls_have_a_name_of_the_certificate(
    host: str, names: tuple[str, ...], connect: str, thrift: str
) -> None:
    name = tls_name(EndpointSettings(http_hosts=names, tls_cert=Path("cert.pem")), host)
    assert (connect_address(host, 7, name), thrift_address(host, 7, name)) == (connect, thrift)


def test_settings_of_the_endpoints(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("connect = false\nthrift_port = 10000\n", encoding="utf-8")
    environ = {"JETSQL_CONFIG": str(file), "JETSQL_THRIFT": "true", "JETSQL_CONNECT_HOST": "0.0.0.0"}
    found = load(environ=environ, flags={"thrift_port": 10001}).endpoints
    assert (found.connect, found.connect_host, found.thrift, found.thrift_port) == (False, "0.0.0.0", True, 10001)
    with raises(EngineError, match=r"JETSQL_THRIFT in the environment is 'yes'.*It must be true or false"):
        load(environ={**environ, "JETSQL_THRIFT": "yes"})


def test_flags_reach_the_engine_that_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JETSQL_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").touch()
    flags = Flags(thrift=True, thrift_port=10001)
    settings = load_settings(flags)
    assert (settings.endpoints.thrift, settings.endpoints.thrift_port) == (True, 10001)
    assert start_flags(settings, flags) == ["--thrift", "--thrift-port", "10001"]
    assert start_flags(settings, Flags()) == []
    with pytest.raises(click.UsageError, match=r"--thrift-port is 70000"):
        load_settings(Flags(thrift_port=70000))


def test_connections_of_lost_machines_are_detected() -> None:
    with endpoints.listen("127.0.0.1", 0, "Spark Connect", "connect") as listening:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) != 0
        expected = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
        known = {name: seconds for name, seconds in expected.items() if hasattr(socket, name)}
        assert known == {name: listening.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in known}
