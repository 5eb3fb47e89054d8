"""The process of an engine with TLS, with an engine without Spark, and the commands on its machine."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jetsql.cli.flags import ExitCode
from jetsql.client.engine_client import EngineClient
from jetsql.client.server_trust import ServerTrust
from jetsql.errors import ReportedError
from tests.embedded.test_engine_process import Bench, jetsql
from tests.support.servers.certificates import Authority, Files

__all__ = ["jetsql"]  # a fixture

NAME = "engine.example.com"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def files(jetsql: Bench, authority: Authority, tmp_path: Path) -> Iterator[Files]:
    """Return the files of a certificate that has none of the names of the loopback interface."""
    files = authority.issue(Files(tmp_path / "cert.pem", tmp_path / "key.pem"), (NAME,))
    jetsql.environ |= {
        "JETSQL_TLS_CERT": str(files.certificate),
        "JETSQL_TLS_KEY": str(files.key),
        "JETSQL_HTTP_HOSTS": NAME,
    }
    yield files


def test_commands_on_its_machine_need_no_authority(jetsql: Bench, files: Files) -> None:
    started = jetsql("start")
    assert (started.returncode, started.stderr) == (ExitCode.SUCCESS, "")
    assert jetsql.note.url.startswith("https://127.0.0.1:")
    shown = json.loads(jetsql("status", "--format", "json").stdout)
    assert (shown["status"], shown["url"]) == ("up", jetsql.note.url)
    jetsql.submit("orders")
    assert jetsql.row("list-jobs")["name"] == "orders"
    link = jetsql("console", "--no-browser").stdout
    assert link.startswith(f"https://{NAME}:{urlsplit(jetsql.note.url).port}/console/enter?code=")
    assert jetsql("stop").stdout == "stopped\n"


def test_a_renewed_certificate_is_in_the_note(jetsql: Bench, files: Files, authority: Authority) -> None:
    assert jetsql("start").returncode == ExitCode.SUCCESS
    before = jetsql.note
    assert before.certificate == files.certificate.read_text().strip()
    authority.issue(files, (NAME,))
    jetsql.submit("orders")  # the engine reads the new files for this connection
    assert jetsql.note.certificate == files.certificate.read_text().strip() != before.certificate
    files.key.write_text("damaged")
    assert jetsql.row("list-jobs")["name"] == "orders"
    assert "still use the last certificate" in jetsql.log


def test_a_key_that_others_can_read_ends_the_start(jetsql: Bench, files: Files) -> None:
    files.key.chmod(0o644)
    ended = jetsql("start")
    assert ended.returncode == ExitCode.NO_ENGINE
    assert "[JETSQL.CERTIFICATE_NOT_USABLE] Other users of this machine can access" in ended.stderr
    assert "SQLSTATE: 58000" in ended.stderr and "chmod o=" in ended.stderr


def test_the_cookie_of_the_console_is_for_https(jetsql: Bench, files: Files) -> None:
    assert jetsql("start").returncode == ExitCode.SUCCESS
    note = jetsql.note
    port = urlsplit(note.url).port
    path = jetsql("console", "--no-browser").stdout.strip().removeprefix(f"{note.address}")
    context = ssl.create_default_context(cadata=note.certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    with closing(HTTPSConnection("127.0.0.1", port, context=context, timeout=30)) as browser:
        browser.request("GET", path, headers={"Host": f"{NAME}:{port}"})
        response = browser.getresponse()
        assert response.status == 200
        assert "; Secure" in response.headers["Set-Cookie"]
        assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
        response.read()
        browser.request("GET", "/", headers={"Host": f"{NAME}:{port}"})
        assert browser.getresponse().headers["Location"].startswith("/console")


def test_an_engine_with_users_does_not_show_their_tokens(jetsql: Bench, files: Files) -> None:
    plain = {name: "" for name in ("JETSQL_TLS_CERT", "JETSQL_TLS_KEY")}
    open_to_all = {"JETSQL_HTTP_HOST": "0.0.0.0", **plain}
    assert jetsql("start", **open_to_all).returncode == ExitCode.SUCCESS
    first = jetsql("-e", "CREATE USER ann")
    assert "[JETSQL.ENDPOINT_NOT_ENCRYPTED]" in first.stderr and "http_host = 0.0.0.0" in first.stderr
    assert jetsql("stop").returncode == ExitCode.SUCCESS
    assert jetsql("start", JETSQL_HTTP_HOST="0.0.0.0").returncode == ExitCode.SUCCESS
    assert jetsql.row("-e", "CREATE USER ann")["name"] == "ann"
    token = str(jetsql.row("-e", "CREATE TOKEN FOR ann")["token"])
    with closing(EngineClient(jetsql.note.url, token, ServerTrust(note=jetsql.note))) as ann:
        with pytest.raises(ReportedError, match="ann lacks the right ADMIN"):
            ann.run("CREATE USER bob")
    assert jetsql("stop").returncode == ExitCode.SUCCESS
    started = jetsql("start", **open_to_all)
    assert started.returncode == ExitCode.NO_ENGINE
    assert "[JETSQL.ENDPOINT_NOT_ENCRYPTED] The engine has users" in started.stderr
    assert "plain_endpoints = true" in started.stderr and "SQLSTATE: 55000" in started.stderr
    allowed = jetsql("start", **open_to_all, JETSQL_PLAIN_ENDPOINTS="true")
    assert allowed.returncode == ExitCode.SUCCESS, allowed.stderr
    assert jetsql.row("-e", "CREATE USER bob")["name"] == "bob"


def test_a_client_on_another_machine(jetsql: Bench, files: Files, authority: Authority) -> None:
    """Use the loopback address, which the certificate has as well, for that of another machine."""
    authority.issue(files, (NAME, "127.0.0.1"))
    assert jetsql("start").returncode == ExitCode.SUCCESS
    remote = {"JETSQL_TOKEN": jetsql.note.token}
    flags = ("--url", jetsql.note.url, "-e", "SELECT 2", "--format", "csv")
    untrusting = jetsql(*flags, **remote)
    assert untrusting.returncode == ExitCode.NO_ENGINE and "is not trusted" in untrusting.stderr
    shown = jetsql(*flags, **remote, JETSQL_CA_FILE=str(authority.file))
    assert shown.stdout.split() == ["n", "0", "1"], shown.stderr
    wrong = jetsql(*flags, **remote, JETSQL_CA_FILE=os.devnull)
    assert "it has no certificate in PEM" in wrong.stderr
