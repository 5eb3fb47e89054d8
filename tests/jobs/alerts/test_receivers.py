"""Attempts to reach a receiver: which URLs are refused, and the receivers that do not behave."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from jetsql.jobs.alerts.receivers import DELIVERED, call_webhook, run_command
from jetsql.jobs.alerts.webhook_urls import find_url_problem, origin_of
from tests.support.servers.webhook import run_webhook


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?b=c",
        "https://10.0.0.7:8443/",
        "http://127.0.0.1:9/x",
        "http://[::1]:9/",
        "http://localhost/",
    ],
)
def test_urls_over_https_and_to_this_machine_are_allowed(url: str) -> None:
    assert find_url_problem(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1.example.com/",
        "http://localhost.example.com/",
        "http://user:password@127.0.0.1/",
        "https://127.0.0.1@evil.example.com/",
        "http://127.0.0.1\\@evil.example.com/",
        "http://evil.example.com#@127.0.0.1/",
        "http://2130706433/",
        "http://0.0.0.0/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/",
        "https:///path",
        "https://host:port/",
        "https://[::1/",
        "//127.0.0.1/",
        "https://a\r\nHost: b/",
        "https://a b/",
        "https://exämple.com/",
        "",
        "secret:name",
    ],
)
def test_other_urls_are_refused(url: str) -> None:
    assert find_url_problem(url)
    assert call_webhook(url, b"{}", {}).is_final


def test_origin_has_no_path_and_no_user() -> None:
    assert origin_of("https://u:p@hooks.slack.com:443/services/T/B/canary?x=canary#canary") == (
        "https://hooks.slack.com:443"
    )


@pytest.mark.parametrize(
    ("status", "is_delivered", "is_final"),
    [
        *((200, True, False), (204, True, False), (302, False, True), (308, False, True), (404, False, True)),
        *((429, False, False), (408, False, False), (500, False, False), (503, False, False)),
    ],
)
def test_status_decides_about_a_further_attempt(status: int, is_delivered: bool, is_final: bool) -> None:
    with run_webhook() as webhook:
        webhook.statuses = [status]
        attempt = call_webhook(webhook.url, b"{}", {"webhook-id": "m"})
        assert (attempt == DELIVERED, attempt.is_final) == (is_delivered, is_final)
        assert [request.path for request in webhook.requests] == ["/hook"]  # no redirect was followed


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with run_webhook() as webhook:
        assert call_webhook(webhook.url, b"{}", {}) == DELIVERED


def test_receiver_that_is_away_is_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    attempt = call_webhook(f"http://127.0.0.1:{port}/canary", b"{}", {})
    assert not attempt.is_final and "refused" in attempt.error and "canary" not in attempt.error


def test_certificate_of_the_receiver_is_checked() -> None:
    with run_webhook() as webhook:
        attempt = call_webhook(f"https://127.0.0.1:{webhook.port}/", b"{}", {}, 5)
    assert attempt.error and not webhook.requests


@pytest.mark.parametrize("sent", [b"", b"H", b"HTTP/1.1 200 OK\r\nX: "])
def test_receiver_that_sends_slowly_for_ever_ends_in_time(sent: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    connection.sendall(sent)
                    while True:
                        sleep(0.05)
                        if sent:
                            connection.sendall(b"x")
                except OSError:
                    return

        Thread(target=answer, daemon=True).start()
        began = monotonic()
        attempt = call_webhook(f"http://127.0.0.1:{port}/", b"{}", {}, seconds=0.5)
        assert monotonic() - began < 5
        assert not attempt.is_final and bool(attempt.error) is (b"200" not in sent)


def test_command_gets_the_message_without_a_shell(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = "import os, sys; open(sys.argv[1], 'w').write(sys.stdin.read() + os.environ['JETSQL_MESSAGE_ID'])"
    words = [sys.executable, "-c", program, str(out), "; touch /tmp/canary", "$(id)"]
    assert run_command(words, b'{"a": 1}', "m1") == DELIVERED
    assert out.read_text() == '{"a": 1}m1'


def test_environment_of_a_command_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "canary")
    out = tmp_path / "out"
    program = "import os, sys; open(sys.argv[1], 'w').write(repr(dict(os.environ)))"
    assert run_command([sys.executable, "-c", program, str(out)], b"", "m1") == DELIVERED
    assert "canary" not in out.read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [(["/bin/sh", "-c", "exit 3"], "code 3"), (["/no/such/program"], "No such file"), (["/bin/sleep", "9"], "0.2 s")],
)
def test_command_that_fails_is_run_again(words: list[str], error: str) -> None:
    attempt = run_command(words, b"", "m1", seconds=0.2 if "sleep" in words[0] else 5)
    assert error in attempt.error and not attempt.is_final
