"""Send a message to its receiver: a webhook over HTTPS, or a command of the engine's configuration.

An attempt ends after `ATTEMPT_SECONDS`, whatever the receiver does. Redirects are not followed, proxies are not used,
and the response is not kept: it could contain what the receiver was sent.
"""

from __future__ import annotations

import http.client
import os
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from socket import SHUT_RDWR
from threading import Timer
from typing import Final
from urllib.parse import SplitResult, urlsplit

from jetsql.jobs.alerts.webhook_urls import find_url_problem, origin_of

ATTEMPT_SECONDS: Final = 10.0
_RETRYABLE: Final = (408, 425, 429)
_USER_AGENT: Final = "JetSQL-alerts"


@dataclass(frozen=True)
class Attempt:
    """The outcome of one attempt."""

    error: str = ""  # a sentence; empty for a delivery
    is_final: bool = False  # a further attempt cannot help


DELIVERED: Final = Attempt()


def call_webhook(url: str, body: bytes, headers: Mapping[str, str], seconds: float = ATTEMPT_SECONDS) -> Attempt:
    """Send a POST request. Never raises."""
    if problem := find_url_problem(url):
        return Attempt(f"The URL cannot be called: {problem}.", is_final=True)
    return post(url, body, {**headers, "User-Agent": _USER_AGENT}, seconds)


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = ATTEMPT_SECONDS) -> Attempt:
    """Send a POST request to a URL of http or https that the engine's configuration allows. Never raises."""
    parts = urlsplit(url)
    connection = _connection(parts, seconds)
    deadline = Timer(seconds, lambda: _cut(connection))
    deadline.daemon = True
    try:
        deadline.start()
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.request("POST", path, body, {**headers, "Connection": "close"})
        return _judge(connection.getresponse().status)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Attempt(f"{origin_of(url)} did not answer: {_reason(error)}.")
    finally:
        deadline.cancel()
        connection.close()


def _connection(parts: SplitResult, seconds: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection("127.0.0.1" if host == "localhost" else host, parts.port, timeout=seconds)
    return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=ssl.create_default_context())


def _cut(connection: http.client.HTTPConnection) -> None:
    """End an attempt whose receiver sends single bytes for ever: each one begins the timeout of the socket again."""
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(SHUT_RDWR)


def _judge(status: int) -> Attempt:
    if 200 <= status < 300:
        return DELIVERED
    if 300 <= status < 400:
        return Attempt(f"The receiver answered with a redirect ({status}), which is not followed.", is_final=True)
    return Attempt(f"The receiver answered with status {status}.", is_final=status < 500 and status not in _RETRYABLE)


def _reason(error: Exception) -> str:
    """Return the reason of an error without what the receiver has sent."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "the time is up"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return type(error).__name__


def run_command(words: Sequence[str], body: bytes, message_id: str, seconds: float = ATTEMPT_SECONDS) -> Attempt:
    """Run a command with a message as its input. Its environment has the id of the message. Never raises."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment["JETSQL_MESSAGE_ID"] = message_id
    try:
        ended = subprocess.run(
            list(words),
            input=body,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            env=environment,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Attempt(f"The command was stopped, because it ran for more than {seconds:g} s.")
    except (OSError, ValueError) as error:
        return Attempt(f"The command cannot be started: {getattr(error, 'strerror', None) or error}.")
    return DELIVERED if ended.returncode == 0 else Attempt(f"The command ended with code {ended.returncode}.")
