"""The request that this thread works for: who has sent it, and the cancellation of its statement.

Both are needed in many places: a statement waits for a job's status, for Spark, and for a client that reads its rows,
and the history names the author of each change. Arguments would appear in every signature, so the thread carries both
in a context variable. It is set where a request enters. Another thread gets it with `contextvars.copy_context`.

Code that waits registers a callback with `on_cancel` and calls `check`. A thread without a request works for the
engine, and nothing cancels it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Lock
from typing import Final

from jetsql.errors import StatementError


class Endpoint(StrEnum):
    """The ways by which requests enter an engine."""

    HTTP = "http"
    CONSOLE = "console"
    CONNECT = "connect"
    THRIFT = "thrift"
    SPARK_SQL = "spark.sql"  # a Spark session in the engine's process
    KUBERNETES = "kubernetes"  # resources, see `jetsql.job_resources`
    EMBEDDED = "embedded"  # a program, in the engine's process
    NOTEBOOK = "notebook"  # in the engine's process


OWNER: Final = "owner"
"""The user who knows the engine's token, or has started the engine's process."""


@dataclass(frozen=True)
class Identity:
    """The user of a login, and what the login depends on."""

    user: str
    token: str = ""  # the id of the user's token; empty for the token of the home
    issuer: str = ""  # who has vouched for the user, see `IssuerTokens`; empty for a token of JetSQL
    expires: float | None = None  # seconds since the epoch, of a JWT


BY_HOME_TOKEN: Final = Identity(OWNER)
"""A login with the token of the home."""


@dataclass(frozen=True)
class Caller:
    """The author of a request, or of a change that the engine makes by itself."""

    user: str  # empty before the login
    endpoint: str = ""  # an `Endpoint`; empty for the engine itself
    address: str = ""  # the client's IP address; empty inside the engine's process
    token: str = field(default="", compare=False)  # the id of the token that the client has sent
    client: str = field(default="", compare=False)  # what the client says that it is
    login: Identity | None = field(default=None, compare=False)  # that the request depends on; None for none

    def __str__(self) -> str:
        return ", ".join(part for part in (self.user, self.endpoint, self.address) if part)


ENGINE: Final = Caller("engine")
"""The author of changes without a request, such as restarts after an error."""


ENGINE_STOPS: Final = "CONNECTION_LOST"
"""The condition of a statement that ends because the engine stops, as for a client that the engine leaves."""


class Cancellation:
    """The cancellation token of one statement."""

    def __init__(self) -> None:
        self._requested = False
        self._reason = "The statement was cancelled."
        self._condition = "STATEMENT_CANCELLED"
        self._callbacks: list[Callable[[], None]] = []
        self._lock = Lock()

    @property
    def is_requested(self) -> bool:
        return self._requested

    def cancel(self, reason: str = "", condition: str = "") -> None:
        """Wake the statement where it waits; further calls do not change the error.

        reason, condition: of the error, when the client did not request the cancellation.
        """
        with self._lock:
            if not self._requested:
                self._reason, self._condition = reason or self._reason, condition or self._condition
            self._requested = True
            callbacks = list(self._callbacks)
        with ExitStack() as stack:  # runs every callback, even if one raises
            for callback in callbacks:
                stack.callback(callback)

    def end_with_engine(self, note: str = "") -> None:
        """Wake the statement because the engine stops: its client cannot know what it has changed.

        note: a further sentence of its message.
        """
        self.cancel(f"The engine is stopping. {note}".rstrip(), ENGINE_STOPS)

    def check(self) -> None:
        """Raise StatementError STATEMENT_CANCELLED, or the one of the reason, when the cancellation was requested."""
        if self._requested:
            raise StatementError(self._condition, self._reason)

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` on the thread of `cancel` if the statement is cancelled inside the context.

        Raises as `check` when it is cancelled already.
        """
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)


NEVER: Final = Cancellation()
"""The token of statements that cannot be cancelled."""


@dataclass(frozen=True)
class Request:
    """The request of a thread."""

    caller: Caller = ENGINE
    cancellation: Cancellation = NEVER


_OF_ENGINE: Final = Request()
_current: ContextVar[Request] = ContextVar("request", default=_OF_ENGINE)


def current() -> Request:
    """Return the request that this thread works for."""
    return _current.get()


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Make `cancellation` the token of this thread inside the context."""
    with _changed(replace(current(), cancellation=cancellation)):
        yield


@contextmanager
def acting_for(caller: Caller) -> Iterator[None]:
    """Make `caller` the author of what this thread does inside the context."""
    with _changed(replace(current(), caller=caller)):
        yield


def log_in(login: Identity) -> None:
    """Name the login of this thread's request, until the context of `acting_for` ends."""
    _current.set(replace(current(), caller=replace(current().caller, user=login.user, login=login)))


@contextmanager
def inside_process(endpoint: Endpoint) -> Iterator[None]:
    """Let this thread act for a program in the engine's process, unless it acts for another caller already."""
    with acting_for(Caller(OWNER, endpoint) if current().caller is ENGINE else current().caller):
        yield


@contextmanager
def _changed(request: Request) -> Iterator[None]:
    before = _current.set(request)
    try:
        yield
    finally:
        _current.reset(before)
