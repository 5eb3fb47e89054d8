"""Serve an engine over the Thrift endpoint, and a client of it: Hive's own library in the engine's JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jetsql.settings.engine_settings import EndpointSettings

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

TOKEN = "open sesame"
NEVER = EndpointSettings(connect=False, thrift=True, login_seconds=3600.0)
"""Settings under which a connection may log in at any time."""


@dataclass(frozen=True)
class Endpoint:
    """A Thrift endpoint."""

    jvm: Any
    port: int

    def client(self, name: str = "me", token: str = TOKEN) -> Client:
        """Return a client with a session. Raises Py4JJavaError when the login is refused."""
        return Client(self.jvm, self.port, name, token)

    def jdbc(self, name: str, token: str) -> Any:
        """Return a connection of Hive's JDBC driver."""
        login = self.jvm.java.util.Properties()
        login.setProperty("user", name)
        login.setProperty("password", token)
        return self.jvm.org.apache.hive.jdbc.HiveDriver().connect(f"jdbc:hive2://127.0.0.1:{self.port}/default", login)


class Client:
    """A session of Hive's own client library."""

    def __init__(self, jvm: Any, port: int, name: str, token: str) -> None:
        self._rpc = jvm.org.apache.hive.service.rpc.thrift
        socket = jvm.org.apache.thrift.transport.TSocket("127.0.0.1", port, 60_000)
        plain = jvm.org.apache.hive.service.auth.PlainSaslHelper
        self._transport = plain.getPlainTransport(name, token, socket)
        self._transport.open()
        protocol = jvm.org.apache.thrift.protocol.TBinaryProtocol(self._transport)
        self.calls = getattr(self._rpc, "TCLIService$Client")(protocol)
        self.session = self.open(jvm.java.util.HashMap()).getSessionHandle()

    def open(self, settings: Any) -> Any:
        """Open a session and return the response. settings: a map of Java."""
        request = self._rpc.TOpenSessionReq()
        request.setConfiguration(settings)
        return self.calls.OpenSession(request)

    def execute(self, text: str, session: Any = None, background: bool = False) -> Any:
        """Return the response, with the operation's handle or what went wrong."""
        request = self._rpc.TExecuteStatementReq(session or self.session, text)
        request.setRunAsync(background)
        return self.calls.ExecuteStatement(request)

    def outcome(self, text: str) -> tuple[bool, str]:
        """Return whether a statement fails, and its error or its rows as a text."""
        response = self.execute(text)
        if not response.isSetOperationHandle():
            return True, str(response.getStatus().getErrorMessage())
        return False, self.rows(response.getOperationHandle())

    def rows(self, operation: Any) -> str:
        """Return the rows of an operation, or its error, as a text."""
        first = self._rpc.TFetchOrientation.FETCH_NEXT
        response = self.calls.FetchResults(self._rpc.TFetchResultsReq(operation, first, 1000))
        return str(response.getResults() if response.isSetResults() else response.getStatus().getErrorMessage())

    def value(self, text: str) -> str:
        """Return the only value of the only row, a text."""
        first = self._rpc.TFetchOrientation.FETCH_NEXT
        request = self._rpc.TFetchResultsReq(self.execute(text).getOperationHandle(), first, 10)
        [column] = self.calls.FetchResults(request).getResults().getColumns()
        [value] = column.getStringVal().getValues()
        return str(value)

    def state(self, operation: Any) -> str:
        return str(self.calls.GetOperationStatus(self._rpc.TGetOperationStatusReq(operation)).getOperationState())

    def cancel(self, operation: Any) -> str:
        return str(self.calls.CancelOperation(self._rpc.TCancelOperationReq(operation)).getStatus().getStatusCode())

    def close_session(self, session: Any) -> str:
        return str(self.calls.CloseSession(self._rpc.TCloseSessionReq(session)).getStatus().getStatusCode())

    def close(self) -> None:
        self._transport.close()


@contextmanager
def thrift(engine: EngineInstance, settings: EndpointSettings) -> Iterator[Endpoint]:
    with engine.open_endpoints(settings, TOKEN) as addresses:
        yield Endpoint(engine.spark.sparkContext._jvm, int(addresses.thrift.rpartition(":")[2]))
