"""The engine as a process of its own: one home, its jobs, and the doors through which clients come.

What can be refused is refused before Spark starts, which takes seconds. The note in the home is written when the doors
answer and removed before they close, so whoever reads it and is not answered knows that the engine died. Should Spark's
own process die, this one ends with it at once: nothing here is worth keeping without it, and the next start recovers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn

from jetsql.discovery import EngineNote, remove_note, token, write_note
from jetsql.engine.startup import wait_for_end
from jetsql.errors import EngineError
from jetsql.lease import make_home, not_usable
from jetsql.service import embedded
from jetsql.service.access import Access
from jetsql.service.embedded import EmbeddedEngine
from jetsql.service.http import Door
from jetsql.settings import DoorSettings, Settings
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
SPARK_ENDED: Final = 3
"""Exit code of the process when Spark's ended under it."""

Prepare = Callable[[EmbeddedEngine], None]
Ready = Callable[[EngineNote], None]


def serve(settings: Settings, prepare: Prepare, ready: Ready) -> None:
    """Run an engine until SIGTERM or SIGINT; its jobs then stop gracefully and go on with the next start.

    prepare: called before anybody else can come in. ready: called when the doors answer.
    Raises EngineError as `embedded.open`, ENGINE_NOT_STARTED for a port that is taken, and what `prepare` raises.
    """
    home = make_home(settings.home)
    listening = _listen(settings.doors)
    with listening, _stopping() as stop:
        engine = embedded.open(settings=settings, service=True)
        try:
            prepare(engine)
            watch = threading.Thread(target=_end_with_spark, args=(engine,), name="spark-watch", daemon=True)
            watch.start()
            note = _note(settings, _token(settings), listening)
            write_note(home, note)
            try:
                asyncio.run(_answer(engine, settings.doors, note, listening, stop, ready))
            finally:
                remove_note(home)
        finally:
            engine.close()


async def _answer(
    engine: EmbeddedEngine,
    doors: DoorSettings,
    note: EngineNote,
    listening: socket.socket,
    stop: threading.Event,
    ready: Ready,
) -> None:
    access = Access(note.token, (*doors.http_hosts, doors.http_host))
    door = Door(engine, access, stop.set, doors.session_idle_seconds, doors.sessions_most)
    config = uvicorn.Config(door.app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopped = asyncio.create_task(asyncio.to_thread(stop.wait))
    ready(note)
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    door.running.cancel_all()
    server.should_exit = True
    await serving
    await asyncio.to_thread(door.close)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that signals set. A second one, when the first was not long ago, ends nothing sooner: jobs stop within
    their deadline anyway."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(doors: DoorSettings) -> socket.socket:
    """The socket of the HTTP door. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        family = socket.getaddrinfo(doors.http_host, doors.http_port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((doors.http_host, doors.http_port))
        listening.listen(128)
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The HTTP door can't open at {doors.http_host}:{doors.http_port}: {error.strerror or error}.",
            hint="Set http_port to one that is free, or to 0 for any, and http_host to an address of this machine.",
        ) from error
    return listening


def _token(settings: Settings) -> str:
    try:
        return token(settings.home)
    except OSError as error:
        raise not_usable(settings.home, error) from error


def _note(settings: Settings, secret: str, listening: socket.socket) -> EngineNote:
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(host, host)
    return EngineNote(
        pid=os.getpid(),
        url=f"http://{shown}:{port}",
        token=secret,
        version=VERSION,
        started=time.time(),
        master=settings.master,
        conf=dict(settings.spark_conf),
    )


def _end_with_spark(engine: EmbeddedEngine) -> None:
    code = wait_for_end(engine.spark)
    if engine.closing:
        return
    _LOG.error("Spark's process ended with exit code %d; the engine ends with it", code)
    remove_note(engine.home)
    os._exit(SPARK_ENDED)
