"""The engine as a process of its own: one home, its jobs, and the endpoints for clients.

Invalid settings are refused before Spark starts, which takes seconds. The note in the home is written when the
endpoints accept connections, marked when the engine stops, and removed when it has stopped. So a client that finds the
note but cannot connect knows that the engine has crashed. When Spark's process or its application ends, this process
ends immediately, and the next start recovers the jobs.

An engine whose store has a leader waits as a standby, see `standby`. A leader that finds another one kills its Spark,
so that nothing of its jobs continues, and starts again with the same process id, as a standby.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.console.console_app import WebConsole
from jetsql.console.web.engine_label import EngineLabel
from jetsql.console.web.login_sessions import FILE as LOGINS
from jetsql.console.web.login_sessions import LoginSessions
from jetsql.embedded import endpoints, open_engine
from jetsql.embedded.declared_jobs import declared_jobs
from jetsql.embedded.endpoints import Addresses
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.embedded.exit_reasons import ExitReasons
from jetsql.embedded.http_serving import create_server
from jetsql.embedded.pod_role import PodRole
from jetsql.embedded.process_log import logging_to
from jetsql.embedded.service_manager import READY, STOPPING, notify_manager
from jetsql.embedded.standby import Standby
from jetsql.engine.runs.warm_up import WarmUp
from jetsql.engine.spark.spark_end import SparkEnd, watch_spark
from jetsql.engine.spark.startup import Session
from jetsql.errors import EngineError
from jetsql.home.discovery import EngineNote, remove_note, write_note
from jetsql.home.home_lock import HomeLock, make_home, not_usable
from jetsql.identity.open_issuer import check_issuer, open_oidc
from jetsql.jobs.model.cluster_member import Role
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.postgresql.shared_store import join_homes
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from jetsql.jobs.store.store_choice import open_database, prepare_database
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth, without_port
from jetsql.server.server_certificate import ServerCertificate, open_certificate
from jetsql.settings.engine_settings import EndpointSettings, Settings
from jetsql.version import VERSION

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from jetsql.jobs.store.job_store import Store
    from jetsql.jobs.store.postgresql.lease import Lease

_LOG: Final = logging.getLogger(__name__)
SPARK_ENDED: Final = 3
"""Exit code of the process after Spark's process or its application has ended."""

_PRIVATE: Final = 0o077
"""The umask of the engine: all its files are for its owner alone."""
_EVERYWHERE: Final = ("0.0.0.0", "::")
_REJOIN_SECONDS: Final = 1.0
_JOIN_SECONDS: Final = 0.25


@dataclass(frozen=True)
class ServiceHooks:
    """The functions of the program around an engine."""

    prepare: Callable[[EngineInstance], None]
    """Called when the engine leads, before clients can send it statements."""
    ready: Callable[[EngineNote], None]
    """Called when the endpoints answer, first as a standby, if the engine is one."""
    restart: Callable[[int], NoReturn]
    """Replaces the program of this process by a new start of the same engine, from any thread. Its argument is a
    descriptor with the lock of the home."""
    home_lock: int | None = None
    """The descriptor with the lock of the home, for a start after `restart`: it waits for a store that is out of reach.
    None for other starts."""


def serve(settings: Settings, hooks: ServiceHooks, stop: threading.Event) -> None:
    """Run an engine until `stop` is set or a client stops it; its jobs stop gracefully, and the next start continues.

    The home becomes the current folder of the process: the one in which the engine was started may be a stranger's.
    settings: their paths are absolute.
    Raises EngineError as `embedded.open`, ENGINE_NOT_STARTED for a port in use, HOME_NOT_USABLE, and the errors of
    `hooks.prepare`.
    """
    home = make_home(settings.home)
    os.umask(_PRIVATE)
    os.chdir(home)
    with logging_to(home):
        _LOG.info("JetSQL %s starts on %s as process %d", VERSION, home, os.getpid())
        try:
            certificate = open_certificate(settings.endpoints)
            check_issuer(settings.identity)
            endpoints.check_ports(settings.endpoints)
            http = settings.endpoints
            with endpoints.listen(http.http_host, http.http_port, "The HTTP endpoint", "http") as listening:
                service = _Service(replace(settings, home=home), hooks, stop, listening, certificate)
                # It is in force until the process has ended, which is longer than the service runs.
                threading.Thread(target=service.limit_stop, name="stop-deadline", daemon=True).start()
                service.run()
        except Exception as error:
            _LOG.error("The engine ends: %s", error, exc_info=not isinstance(error, EngineError))
            raise
        finally:
            # Python would search all objects for garbage before it exits: half a second of the processor, which the
            # engine that takes over needs.
            gc.freeze()
        _LOG.info("Stopped")


class _Service:
    """One engine in this process."""

    def __init__(
        self,
        settings: Settings,
        hooks: ServiceHooks,
        stop: threading.Event,
        listening: socket.socket,
        certificate: ServerCertificate | None = None,
    ) -> None:
        self._settings = settings
        self._hooks = hooks
        self._stop = stop
        self._listening = listening
        self._certificate = certificate
        if certificate is not None:
            certificate.on_renewal = self._note_certificate
        self._note: EngineNote | None = None
        self._noting = threading.Lock()
        self._token = open_engine.home_token(settings.home)
        self._engine: EngineInstance | None = None
        self._exit_reasons = ExitReasons()
        self._watches_spark = False
        self._standby = Standby(
            settings, self._token, listening, certificate, stop, self._on_standby, partial(remove_note, settings.home)
        )
        self._pod_role = PodRole(settings.endpoints.pod_selector, settings.spark_conf, self._leads)
        self._home_lock = HomeLock(settings.home, service=True, handed_over=hooks.home_lock)
        self._ending = threading.Lock()  # the process either ends or restarts

    def run(self) -> None:
        try:
            with self._pod_role.labelled():
                engine = self._open()
                if engine is not None:
                    self._lead(engine)
        finally:
            with self._ending:
                self._stop.set()
                remove_note(self._settings.home)
                self._home_lock.release()

    def limit_stop(self) -> None:
        """End this process if its stop takes too long, because Spark does not answer."""
        self._stop.wait()
        seconds = self._settings.jobs.stop_deadline_seconds + self._settings.jobs.close_wait_seconds
        time.sleep(seconds)
        _LOG.error("The stop has not ended within %g s; the engine ends anyway, and the next start recovers", seconds)
        if self._engine is not None:
            self._engine.kill_spark()
        remove_note(self._settings.home)
        os._exit(SPARK_ENDED)

    def _leads(self) -> bool:
        return self._engine is not None and self._engine.leads and not self._stop.is_set()

    def _open(self) -> EngineInstance | None:
        """Return the engine when it leads; None if it was stopped before."""
        while not self._stop.is_set():
            try:
                return open_engine.open_service(self._settings, self)
            except EngineError as error:
                if self._hooks.home_lock is None or error.condition != "JETSQL.STORE_NOT_USABLE":
                    raise
                self._await_store(error)
        return None

    def _await_store(self, error: EngineError) -> None:
        """Answer clients as a standby until the store is within reach, or a client stops this engine."""
        _LOG.warning("%s Waiting for it.", error.message)
        given = self._settings.store
        database = prepare_database(self._settings.home, given.store, given.store_password, given.times)
        assert isinstance(database, StoreSchema), "only the engine of such a store loses the lead"
        with self._standby.serving(lambda: {"leader": "", "warm": False}, lambda: "unconfirmed"):
            while not self._stop.wait(_REJOIN_SECONDS):
                try:
                    database.read_owner()
                except EngineError as latest:
                    if latest.condition == error.condition:
                        continue
                break
            remove_note(self._settings.home)

    @property
    def address(self) -> str:
        return self._url(_advertised_host(self._settings.endpoints))

    def open_unless_led(self, home: Path, database: StoreDatabase) -> Store | None:
        while True:
            storage = None
            if isinstance(database, StoreSchema):
                storage = join_homes(home, self._settings.storage, database)
            try:
                return open_database(home, database, self._settings.new_store)
            except EngineError as error:
                if error.condition != "JETSQL.STORE_IN_USE":
                    raise
            if storage is not None:
                return None
            if self._stop.wait(_JOIN_SECONDS):
                raise EngineError("ENGINE_NOT_STARTED", "The engine was stopped while it waited for the leader.")

    def check_store(self, store: Store) -> None:
        readable = self._settings.endpoints.readable_on_network
        if readable and store.access().has_users:
            message = (
                "The engine has users, and others on the network could read their tokens, because an endpoint without"
                f" TLS is open to it: {', '.join(readable)}."
            )
            hint = CONDITIONS["ENDPOINT_NOT_ENCRYPTED"].remedy
            raise EngineError("ENDPOINT_NOT_ENCRYPTED", message, hint=hint)

    def wait_until_leading(self, lease: Lease, spark: Session, warm_up: WarmUp) -> bool:
        self._watch_spark(partial(watch_spark, spark))
        return self._standby.wait(lease, warm_up)

    def _on_standby(self) -> None:
        note = self._write_note(Addresses(), Role.STANDBY)
        _LOG.info("The engine waits as a standby at %s", note.url)
        notify_manager(READY, f"A standby at {note.url}")
        self._hooks.ready(note)

    def on_lost(self, engine: EngineInstance) -> None:
        if self._stop.is_set():
            return  # the engine is closing, and the new leader has its jobs
        _LOG.error("Another engine leads. This one ends its Spark, and starts again as a standby.")
        self._engine = engine
        engine.kill_spark()
        with self._ending:
            if self._stop.is_set():
                _LOG.info("The engine ends instead, because it was stopped meanwhile")
                return
            remove_note(self._settings.home)
            self._hooks.restart(self._home_lock.hand_over())

    def _watch_spark(self, watch: Callable[[], Callable[[], SparkEnd]]) -> None:
        """End this process when Spark ends, unless it watches Spark already. watch: see `watch_spark`"""
        if self._watches_spark:
            return
        self._watches_spark = True
        threading.Thread(target=self._end_with_spark, args=(watch(),), name="spark-watch", daemon=True).start()

    def _end_with_spark(self, wait: Callable[[], SparkEnd]) -> None:
        end = wait()
        if self._stop.is_set() if self._engine is None else self._engine.is_closing:
            return
        _LOG.error("%s, and the engine ends with it; the next start recovers", _describe_end(end))
        reason = None if end.reason is not None else self._exit_reasons.describe(end.exit_code)
        if reason is not None and self._engine is not None:
            self._record_crash(self._engine, reason)
        remove_note(self._settings.home)
        os._exit(SPARK_ENDED)

    @staticmethod
    def _record_crash(engine: EngineInstance, reason: str) -> None:
        try:
            engine.record_crash(reason)
        except Exception:  # the store may be out of reach, and the process has to end
            _LOG.exception("The crash could not be stored")

    def _lead(self, engine: EngineInstance) -> None:
        self._engine = engine
        self._pod_role.note_change()
        engine.accounts.readable_on_network = self._settings.endpoints.readable_on_network
        try:
            self._hooks.prepare(engine)
            if self._stop.is_set():
                return
            self._watch_spark(engine.watch_spark)
            with engine.open_endpoints(self._settings.endpoints, self._token) as addresses:
                note = self._write_note(addresses, Role.LEADER)
                with declared_jobs(engine, self._settings.kubernetes_jobs_user):
                    asyncio.run(self._serve_http(engine, note))
        finally:
            engine.close()

    def _write_note(self, addresses: Addresses, role: Role) -> EngineNote:
        """Write the note, and return it. Raises EngineError HOME_NOT_USABLE."""
        settings = self._settings
        note = EngineNote(
            pid=os.getpid(),
            url=self._url(endpoints.url_host(self._listening.getsockname()[0])),
            token=self._token,
            version=VERSION,
            started=time.time(),
            master=settings.master,
            conf=dict(settings.spark_conf),
            connect=addresses.connect,
            thrift=addresses.thrift,
            role=role.value,
            address=self.address,
            certificate="" if self._certificate is None else self._certificate.own,
            certificate_file="" if settings.endpoints.tls_cert is None else str(settings.endpoints.tls_cert),
        )
        try:
            with self._noting:
                self._note = note
                write_note(settings.home, note)
        except OSError as error:
            raise not_usable(settings.home, error) from error
        return note

    def _change_note(self, **changes: Any) -> None:
        """Write the note again. A full disk prevents neither a stop nor the renewal of a certificate."""
        with self._noting:
            if self._note is None:
                return
            self._note = replace(self._note, **changes)
            try:
                write_note(self._settings.home, self._note)
            except OSError:
                _LOG.exception("The note in %s could not be written", self._settings.home)
                remove_note(self._settings.home)

    def _note_certificate(self) -> None:
        if self._certificate is not None:
            self._change_note(certificate=self._certificate.own)

    def _url(self, host: str) -> str:
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://{host}:{self._listening.getsockname()[1]}"

    async def _serve_http(self, engine: EngineInstance, note: EngineNote) -> None:
        """Answer HTTP requests until `stop` is set or uvicorn ends."""
        http, stop = self._settings.endpoints, self._stop
        names, issuer = (*http.http_hosts, http.http_host), engine.issuer_users
        access = TokenAuth(note.token, names, engine.accounts, issuer, engine.audit)
        http_server = HttpServer(engine, access, stop.set, http.session_idle_seconds, http.sessions_most)
        logins = LoginSessions(
            idle_seconds=http.console_idle_seconds,
            absolute_seconds=http.console_login_seconds,
            file=self._settings.home / LOGINS,
            engine=access.name,
        )
        label = EngineLabel(http.console_name, http.console_colour)
        WebConsole(engine, http_server, access, logins, open_oidc(self._settings.identity, issuer), label)
        server = create_server(http_server.app, access, http, self._certificate)
        serving = asyncio.create_task(server.serve(sockets=[self._listening]))
        stopped = asyncio.create_task(asyncio.to_thread(stop.wait))
        _LOG.info("The engine is ready at %s", note.url)
        notify_manager(READY, f"Leads its jobs at {note.url}")
        self._hooks.ready(note)
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        running, sessions = len(http_server.running), len(http_server.sessions)
        _LOG.info("Stopping: %d statements and %d sessions of clients are open", running, sessions)
        stop.set()
        self._pod_role.note_change()
        notify_manager(STOPPING, "Stops its jobs between two batches")
        self._change_note(stopping=True)
        http_server.cancel_running()
        server.should_exit = True
        await serving
        await asyncio.to_thread(http_server.close)


def _describe_end(end: SparkEnd) -> str:
    """Return what has ended and why, as the beginning of a sentence."""
    if end.reason is None:
        return f"Spark's process ended with exit code {end.exit_code}"
    reason = end.reason.rstrip(".") or "Spark gives no reason, but the log before this line may have one"
    return f"Spark's application has ended ({reason})"


def _advertised_host(http: EndpointSettings) -> str:
    """Return the name under which clients of other machines reach the HTTP endpoint."""
    if http.http_hosts:
        return without_port(http.http_hosts[0])
    return socket.getfqdn() if http.http_host in _EVERYWHERE else endpoints.url_host(http.http_host)
