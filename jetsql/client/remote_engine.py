"""An engine in another process, to run statements on: a `script.Engine` over the HTTP door."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from typing import Any, Final

from jetsql.client.http_client import HttpClient
from jetsql.client.response_rows import RemoteRows, answer
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError

ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"


class RemoteEngine:
    """One session on an engine, opened with the first statement."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        traces: bool = False,
        session: str | None = None,
        sessionless: bool = False,
        door: HttpClient | None = None,
    ) -> None:
        """session: of another `RemoteEngine`, to run statements in that one. sessionless: every statement runs on its
        own. door: a connection to this engine that is open already.
        """
        self.url = url
        self._token = token
        self._door = door or HttpClient(url, token)
        self._session = session
        self._owns_session = session is None
        self._sessionless = sessionless
        self._traces = traces
        self._running: str | None = None

    def run(
        self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None, live: bool = False
    ) -> RemoteRows:
        """Run one statement. parameters: see `jetsql.server.parameter_values`. live: a SELECT over a stream has no end.

        Raises ReportedError, EngineError; also while the rows are read.
        """
        request = self._request(text, parameters)
        with self._leaving_on_failure():
            lines = self._door.stream("/v1/sql", {**request, "live": True} if live else request)
            return answer(lines)

    def run_arrow(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None) -> HTTPResponse:
        """As `run`, with the answer as an Arrow stream; `leave` when it is not read to its end."""
        request = self._request(text, parameters)
        with self._leaving_on_failure():
            return self._door.read("/v1/sql", request, ARROW_TYPE)

    @property
    def session(self) -> str:
        """The id of the session, which is opened when it is first asked for."""
        if self._session is None:
            self._session = str(self.ask("POST", "/v1/sessions", {})["session"])
        return self._session

    def beside(self) -> RemoteEngine:
        """Another for the same session: statements may run in both at the same time."""
        return RemoteEngine(self.url, self._token, traces=self._traces, session=self.session)

    def leave(self) -> None:
        """Give up the answer that is still under way, if one is; its statement ends."""
        self._door.close()

    def cancel(self) -> None:
        """From another thread: end what runs. Nothing running is fine, and an engine that is gone."""
        session, running = self._session, self._running
        if session is None or running is None:
            return
        door = HttpClient(self.url, self._token)
        with suppress(ReportedError, EngineError):  # it has ended meanwhile, or its engine has
            door.ask("DELETE", f"/v1/sessions/{session}/statements/{running}")
        door.close()

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Anything else of the door. Raises as `HttpClient.ask`."""
        return self._door.ask(method, path, body)

    def schema(self) -> str:
        """The session's current schema."""
        return str(self.ask("GET", f"/v1/sessions/{self.session}")["schema"])

    def error(self, error: BaseException, text: str) -> ErrorReport:
        """What an error of `run` says of the text."""
        if isinstance(error, ReportedError):
            return error.report
        if isinstance(error, JetSQLError):
            return error.report(text)
        return ErrorReport("JETSQL.INTERNAL_ERROR", "XX000", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the session; the engine and its jobs go on."""
        session, self._session = self._session, None
        with suppress(EngineError):  # it is gone, and the session with it
            if session is not None and self._owns_session:
                self.ask("DELETE", f"/v1/sessions/{session}")
        self._door.close()

    def _request(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
        self._running = str(uuid.uuid4())
        session = None if self._sessionless else self.session
        request = {"statement": text, "session": session, "id": self._running, "trace": self._traces}
        return {**request, "parameters": parameters} if parameters else request

    @contextmanager
    def _leaving_on_failure(self) -> Iterator[None]:
        try:
            yield
        except ReportedError:
            raise
        except BaseException:  # also Ctrl-C: whoever stops waiting for a statement wants it to end
            self._door.close()
            raise
