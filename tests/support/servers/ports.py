"""The listening sockets of processes, and their answers to a client without token and secret."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import psutil

_SECONDS = 10.0
_SILENCE = 2.0
_MOST = 65536
NEEDS_SECRET = b"Expected SaslMessage"
# Py4J: call `apply` of the first object that Python has handed to Java, with a text that is a statement.
_CALL = b"c\np0\napply\nsSHOW JOBS\ne\n"
_WRONG_TOKEN = b"A\nnot the token\ne\n"
_REFUSED = b"!xn\n"
# SASL as Thrift has it: start PLAIN, then the user's name and a wrong password.
_LOGIN = b"\x01\0\0\0\x05PLAIN" + b"\x02\0\0\0\x09\0me\0wrong"
_WRONG_LOGIN = b"Error validating the login"
_ACCUMULATOR_TOKEN = 64  # more bytes than it has: a right one would be acknowledged


@dataclass(frozen=True)
class Listener:
    """A socket that accepts TCP connections."""

    program: str
    """The name of the process: java, python."""
    address: str
    port: int


def listeners(process: psutil.Process) -> Iterator[Listener]:
    """Yield the TCP sockets that a process and its descendants listen on."""
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            name = "python" if each.name().startswith("python") else each.name()
            for found in each.net_connections(kind="tcp"):
                if found.status == psutil.CONN_LISTEN:
                    yield Listener(name, found.laddr.ip.removeprefix("::ffff:"), found.laddr.port)


def unix_sockets(process: psutil.Process) -> set[str]:
    """Return the paths of the Unix sockets that a process and its descendants have bound."""
    paths = set()
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            paths |= {found.laddr for found in each.net_connections(kind="unix") if found.laddr}
    return paths


def kinds(listeners: Iterable[Listener]) -> list[str]:
    """Return the kind of each listener. All are asked in parallel, because most ignore questions of other kinds.

    That silence takes `_SILENCE` seconds for each question.
    """
    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(kind, listeners))


def kind(listener: Listener) -> str:
    """Return the kind of the listener and its refusal of a stranger, or "unknown"."""
    http = ask(listener.port, b"GET /jobs/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    if http.startswith(b"HTTP/1.1 401") and b"NOT_AUTHORIZED" in http:
        return "HTTP endpoint: 401"
    if http.startswith(b"HTTP/1.1 401") and b"Spark UI" in http:
        return "Spark web UI: 401"
    if http.startswith(b"HTTP/1.1 403"):
        return "web pages of master or worker: 403"
    if _WRONG_LOGIN in ask(listener.port, _LOGIN):
        return "Thrift: login required"
    if NEEDS_SECRET in call_rpc(listener.port):
        return "Spark RPC or blocks: secret required"
    if listener.program == "java" and call_java(listener.port).startswith(b"!x"):
        return "Py4J gateway: token required"
    if listener.program == "python" and refuses_calls(listener.port):
        return "Py4J callbacks: token required"
    if listener.program == "python" and ask(listener.port, b"x" * _ACCUMULATOR_TOKEN) == b"":
        return "Python accumulators: token required"
    return "unknown"


def call_rpc(port: int, address: str = "127.0.0.1") -> bytes:
    """Return the answer of a port of Spark's network library to a request without authentication."""
    body = b"hello"
    message = b"\x03" + struct.pack(">qi", 1, len(body)) + body
    return ask(port, struct.pack(">q", 8 + len(message)) + message, until=NEEDS_SECRET, address=address)


def call_java(port: int) -> bytes:
    """Return the answer of Py4J's gateway to a call without its token."""
    return ask(port, b"c\nz:java.lang.System\nlineSeparator\ne\n")


def call_first_proxy(port: int) -> bytes:
    """Return the answer of Py4J's callback server to a call without its token."""
    return ask(port, _CALL)


def refuses_calls(port: int) -> bool:
    """Return whether a callback server ends a connection without its token, and one with a wrong token."""
    return call_first_proxy(port) == b"" and ask(port, _WRONG_TOKEN + _CALL) == _REFUSED


def ask(port: int, words: bytes, until: bytes | None = None, address: str = "127.0.0.1") -> bytes:
    """Return the bytes that arrive until the other side closes, is silent, or has sent certain bytes."""
    answer = b""
    with suppress(OSError), socket.create_connection((address, port), timeout=_SECONDS) as connection:
        connection.settimeout(_SILENCE)
        connection.sendall(words)
        while len(answer) < _MOST and (until is None or until not in answer) and (piece := connection.recv(4096)):
            answer += piece
    return answer
