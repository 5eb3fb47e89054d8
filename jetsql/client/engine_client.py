"""Run statements on an engine in another process: a `script.StatementEngine` over the HTTP endpoint."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from typing import Any, Final

from jetsql.client.http_client import HttpClient
from jetsql.client.response_rows import RemoteRows, read_response
from jetsql.client.server_trust import ServerTrust
from jetsql.errors import EngineError, ErrorReport, JetSQLError, ReportedError

ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"


class EngineClient:
    """A session on an engine, which is opened with the first statement."""

    def __init__(
        self,
        url: str,
        token: str,
        trust: ServerTrust | None = None,
        *,
        with_traces: bool = False,
        session: str | None = None,
        sessionless: bool = False,
        client: HttpClient | None = None,
    ) -> None:
        """Create a session.

        trust: see `HttpClient`.
        with_traces: request stack traces with errors.
        session: the id of an existing session to use.
        sessionless: run every statement in a session of its own.
        client: an open connection to this engine.
        """
        self.url = url
        self._token = token
        self._client = client or HttpClient(url, token, trust=trust)
        self._session = session
        self._owns_session = session is None
        self._sessionless = sessionless
        self._with_traces = with_traces
        self._running: str | None = None

    def run(
        self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None, live: bool = False
    ) -> RemoteRows:
        """Run one statement.

        parameters: see `jetsql.server.parameter_values`.
        live: run a SELECT over a stream without an end.
        Raises ReportedError, EngineError, also while the rows are read.
        """
        request = self._request(text, parameters)
        with self._closing_on_failure():
            lines = self._client.stream_lines("/v1/sql", {**request, "live": True} if live else request)
            return read_response(lines)

    def run_arrow(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None = None) -> HTTPResponse:
        """Run one statement, and return the response with its rows as an Arrow stream.

        Call `abandon_response` if the stream is not read to its end.
        """
        request = self._request(text, parameters)
        with self._closing_on_failure():
            return self._client.open_response("/v1/sql", request, ARROW_TYPE)

    @property
    def leader_url(self) -> str:
        """Return the URL of the engine that has answered the last request."""
        return self._client.url

    @property
    def session_id(self) -> str:
        """Return the id of the session, and open the session at the first use."""
        if self._session is None:
            self._session = str(self.request("POST", "/v1/sessions", {})["session"])
        return self._session

    def open_parallel(self) -> EngineClient:
        """Return another connection to the same session: statements may run on both at the same time."""
        trust, session = self._client.trust, self.session_id
        return EngineClient(self.url, self._token, trust, with_traces=self._with_traces, session=session)

    def open_session(self) -> EngineClient:
        """Return a connection to the same engine with a session of its own."""
        return EngineClient(self.url, self._token, self._client.trust, with_traces=self._with_traces)

    def abandon_response(self) -> None:
        """Close a response that was not read to its end, which cancels its statement."""
        self._client.close()

    def cancel(self) -> None:
        """Cancel the running statement, from another thread. Does nothing without one, or if the engine is gone."""
        session, running = self._session, self._running
        if session is None or running is None:
            return
        client = HttpClient(self.url, self._token, binds_proof=self._client.binds_proof, trust=self._client.trust)
        with suppress(ReportedError, EngineError):  # the statement or the engine has ended meanwhile
            client.request("DELETE", f"/v1/sessions/{session}/statements/{running}")
        client.close()

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send another request to the endpoint. Raises as `HttpClient.request`."""
        return self._client.request(method, path, body)

    def current_schema(self) -> str:
        """Return the session's current schema."""
        return str(self.request("GET", f"/v1/sessions/{self.session_id}")["schema"])

    def error(self, error: BaseException, text: str) -> ErrorReport:
        """Return the report of an error that `run` raised. text: the statement."""
        if isinstance(error, ReportedError):
            return error.report
        if isinstance(error, JetSQLError):
            return error.report(text)
        return ErrorReport("JETSQL.INTERNAL_ERROR", "XX000", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the session. The engine and its jobs continue to run."""
        session, self._session = self._session, None
        with suppress(EngineError):  # the engine is gone, and the session with it
            if session is not None and self._owns_session:
                self.request("DELETE", f"/v1/sessions/{session}")
        self._client.close()

    def _request(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
        self._running = str(uuid.uuid4())
        session = None if self._sessionless else self.session_id
        request = {"statement": text, "session": session, "id": self._running, "trace": self._with_traces}
        return {**request, "parameters": parameters} if parameters else request

    @contextmanager
    def _closing_on_failure(self) -> Iterator[None]:
        try:
            yield
        except ReportedError:
            raise
        except BaseException:  # also KeyboardInterrupt: the statement has to end when the caller stops waiting
            self._client.close()
            raise
