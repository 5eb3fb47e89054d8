"""The server: it reads requests from standard input and writes responses to standard output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, BinaryIO, Final, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from jetsql.language_server.complete_document import TRIGGERS, completion_items
from jetsql.language_server.document_checks import CheckSchedule, DocumentChecks
from jetsql.language_server.engine_names import EngineNames
from jetsql.language_server.open_documents import Document, OpenDocuments
from jetsql.language_server.server_options import ServerOptions
from jetsql.language_server.server_protocol import JetSQLProtocol
from jetsql.shell.completion.known_names import Names
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
_Params = TypeVar("_Params")


class JetSQLServer(LanguageServer):
    """The server of one editor."""

    def __init__(self, options: ServerOptions) -> None:
        """Create it. options: those of the command line; the editor can change them when it connects."""
        super().__init__("jetsql", VERSION, protocol_cls=JetSQLProtocol)
        self.options = options
        self.documents = OpenDocuments()
        self.checks = DocumentChecks(options.variables)
        self.schedule = CheckSchedule(self.checks, self.documents.get, self._publish)
        self.engine: EngineNames | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_shut_down = False
        self._register()

    def on_change(self, uri: str) -> None:
        """Check a document that was opened or changed."""
        self.schedule.request(uri)

    def on_close(self, uri: str) -> None:
        """Remove the problems of a document that was closed."""
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def log(self, message: str) -> None:
        """Show a message in the editor's log. It may be called on any thread."""
        if self._loop is not None:
            params = types.LogMessageParams(type=types.MessageType.Info, message=message)
            self._loop.call_soon_threadsafe(self.window_log_message, params)

    def end(self) -> None:
        """End the process as the protocol says: with 0 after a request to shut down, otherwise with 1."""
        self._close()
        logging.shutdown()
        sys.stderr.flush()
        os._exit(0 if self._is_shut_down else 1)  # a thread still reads standard input

    def _close(self) -> None:
        self.schedule.close()
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def _register(self) -> None:
        self._add(types.INITIALIZE, self._initialize)
        self._add(types.INITIALIZED, self._initialized)
        self._add(types.SHUTDOWN, self._shut_down)
        options = types.CompletionOptions(trigger_characters=list(TRIGGERS))
        self._add(types.TEXT_DOCUMENT_COMPLETION, self._complete, options)

    def _add(self, method: str, handler: Callable[[_Params], Awaitable[Any]], options: object | None = None) -> None:
        """Add the handler of a method. An error is logged, and the editor gets a message without a stack trace."""

        async def handle(params: _Params) -> Any:
            try:
                return await handler(params)
            except Exception as error:
                _LOG.exception("%s failed", method)
                message = f"{method} failed: {type(error).__name__}. The log of the server has details."
                raise JsonRpcInternalError(message) from None

        self.feature(method, options)(handle)

    async def _initialize(self, params: types.InitializeParams) -> None:
        self._loop = asyncio.get_running_loop()
        self.options, messages = self.options.with_editor(params.initialization_options)
        self.documents.encoding = str(getattr(self.workspace.position_encoding, "value", "utf-16"))
        self.checks = DocumentChecks(self.options.variables, self.options.documentation)
        self.schedule = CheckSchedule(self.checks, self.documents.get, self._publish)
        if self.options.uses_engine:
            try:
                connect = self.options.connector(self.options.home, self.options.url)
                self.engine = EngineNames(connect, self.log)
            except ValueError as error:
                messages.append(str(error))
        for message in messages:
            warning = types.ShowMessageParams(type=types.MessageType.Warning, message=f"JetSQL: {message}")
            self.window_show_message(warning)

    async def _initialized(self, params: types.InitializedParams) -> None:
        if self.engine is not None:
            self.engine.start()

    async def _shut_down(self, params: None) -> None:
        self._is_shut_down = True
        await asyncio.to_thread(self._close)

    async def _complete(self, params: types.CompletionParams) -> types.CompletionList | None:
        document = self.documents.get(params.text_document.uri)
        if document is None:
            return None
        context = params.context
        is_typed_space = context is not None and context.trigger_character == " "
        return await asyncio.to_thread(self._completion, document, params.position, is_typed_space)

    def _completion(self, document: Document, position: types.Position, is_typed_space: bool) -> types.CompletionList:
        cursor = document.offset(position)
        names = self._names_for(document, cursor)
        items = completion_items(document, position, names, is_typed_space)
        is_incomplete = self.engine is not None and self.engine.lacks_names(document.text, cursor)
        return types.CompletionList(is_incomplete=is_incomplete, items=items)

    def _names_for(self, document: Document, cursor: int) -> Names:
        return Names() if self.engine is None else self.engine.names_for(document.text, cursor)

    def _publish(self, document: Document, diagnostics: Sequence[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(document.uri, list(diagnostics), document.version)
        self.text_document_publish_diagnostics(params)


def serve_stdio(options: ServerOptions) -> None:
    """Serve the editor at standard input and output until it ends the server or closes the connection."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns about statements that it keeps as they are
    JetSQLServer(options).start_io(sys.stdin.buffer, _take_stdout())


def _take_stdout() -> BinaryIO:
    """Return standard output, and let everything else that would write there write to standard error."""
    sys.stdout.flush()
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return stdout
