"""The engine as a process of its own: one home, its jobs, and the endpoints for clients.

Invalid settings are refused before Spark starts, which takes seconds. The note in the home is written when the
endpoints accept connections, marked when the engine stops, and removed when it has stopped. So a client that finds the
note but cannot connect knows that the engine has crashed. When Spark's process ends, this process ends immediately,
and the next start recovers the jobs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvicorn

from jetsql.embedded import embedded_engine, endpoints
from jetsql.embedded.embedded_engine import EmbeddedEngine
from jetsql.embedded.endpoints import Addresses
from jetsql.embedded.process_log import logging_to
from jetsql.errors import EngineError
from jetsql.home.discovery import EngineNote, remove_note, write_note
from jetsql.home.home_lock import make_home, not_usable
from jetsql.server.app import HttpServer
from jetsql.server.auth import Access
from jetsql.server.login_limits import http_config, raise_file_limit
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
SPARK_ENDED: Final = 3
"""Exit code of the process after Spark's process has ended."""

Prepare = Callable[[EmbeddedEngine], None]
Ready = Callable[[EngineNote], None]


def serve(settings: Settings, prepare: Prepare, ready: Ready, stop: threading.Event) -> None:
    """Run an engine until `stop` is set or a client stops it; its jobs stop gracefully, and the next start continues.

    prepare: called before clients can connect. ready: called when the endpoints accept connections.
    Raises EngineError as `embedded.open`, ENGINE_NOT_STARTED for a port in use, HOME_NOT_USABLE, and the errors of
    `prepare`.
    """
    home = make_home(settings.home)
    with logging_to(home):
        _LOG.info("JetSQL %s starts on %s as process %d", VERSION, home, os.getpid())
        try:
            endpoints.check_ports(settings.endpoints)
            http = settings.endpoints
            with endpoints.listen(http.http_host, http.http_port, "The HTTP endpoint", "http") as listening:
                _serve(replace(settings, home=home), prepare, ready, stop, listening)
        except Exception as error:
            _LOG.error("The engine ends: %s", error, exc_info=not isinstance(error, EngineError))
            raise
        _LOG.info("Stopped")


def _serve(settings: Settings, prepare: Prepare, ready: Ready, stop: threading.Event, listening: socket.socket) -> None:
    engine = embedded_engine.open(settings=settings, service=True)
    try:
        prepare(engine)
        if stop.is_set():
            return
        threading.Thread(target=_end_with_spark, args=(engine,), name="spark-watch", daemon=True).start()
        secret = embedded_engine.home_token(settings.home)
        with engine.open_endpoints(settings.endpoints, secret) as addresses:
            note = _write_note(settings, secret, listening, addresses)
            try:
                asyncio.run(_serve_http(engine, settings, note, listening, stop, ready))
            finally:
                remove_note(settings.home)
    finally:
        engine.close()


async def _serve_http(
    engine: EmbeddedEngine,
    settings: Settings,
    note: EngineNote,
    listening: socket.socket,
    stop: threading.Event,
    ready: Ready,
) -> None:
    """Answer HTTP requests until `stop` is set or uvicorn ends."""
    http = settings.endpoints
    access = Access(note.token, (*http.http_hosts, http.http_host))
    http_server = HttpServer(engine, access, stop.set, http.session_idle_seconds, http.sessions_most)
    server = _Server(http_config(http_server.app, access, http, raise_file_limit()))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopped = asyncio.create_task(asyncio.to_thread(stop.wait))
    _LOG.info("The engine is ready at %s", note.url)
    ready(note)
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    running, sessions = len(http_server.running), len(http_server.sessions)
    _LOG.info("Stopping: %d statements and %d sessions of clients are open", running, sessions)
    stop.set()
    _note_stopping(settings.home, note)
    http_server.running.cancel_all()
    server.should_exit = True
    await serving
    await asyncio.to_thread(http_server.close)


class _Server(uvicorn.Server):
    """A server without signal handlers: the process handles signals, also before the server exists."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _write_note(settings: Settings, secret: str, listening: socket.socket, addresses: Addresses) -> EngineNote:
    """Write the note. Raises EngineError HOME_NOT_USABLE."""
    note = _make_note(settings, secret, listening, addresses)
    try:
        write_note(settings.home, note)
    except OSError as error:
        raise not_usable(settings.home, error) from error
    return note


def _note_stopping(home: Path, note: EngineNote) -> None:
    try:
        write_note(home, replace(note, stopping=True))
    except OSError:  # a full disk must not prevent the stop
        _LOG.exception("The note in %s could not be written", home)
        remove_note(home)


def _make_note(settings: Settings, secret: str, listening: socket.socket, addresses: Addresses) -> EngineNote:
    host, port = listening.getsockname()[:2]
    return EngineNote(
        pid=os.getpid(),
        url=f"http://{endpoints.url_host(host)}:{port}",
        token=secret,
        version=VERSION,
        started=time.time(),
        master=settings.master,
        conf=dict(settings.spark_conf),
        connect=addresses.connect,
        thrift=addresses.thrift,
    )


def _end_with_spark(engine: EmbeddedEngine) -> None:
    code = engine.wait_for_spark()
    if engine.is_closing:
        return
    _LOG.error("Spark's process ended with exit code %d, and the engine ends with it; the next start recovers", code)
    remove_note(engine.home)
    os._exit(SPARK_ENDED)
