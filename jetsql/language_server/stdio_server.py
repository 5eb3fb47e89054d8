"""The server: it reads requests from standard input and writes responses to standard output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from jetsql.completion.known_names import Names
from jetsql.errors import StatementError
from jetsql.language_server.complete_document import TRIGGERS, completion_items
from jetsql.language_server.document_checks import CheckSchedule, DocumentChecks
from jetsql.language_server.engine_names import EngineNames
from jetsql.language_server.open_documents import Document, OpenDocuments, file_path
from jetsql.language_server.server_options import ServerOptions
from jetsql.language_server.workspace_names import WorkspaceNames, add_file_names
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
_Params = TypeVar("_Params")


class _HasDocument(Protocol):
    """The parameters of a method about a document."""

    text_document: types.TextDocumentIdentifier


_OnDocument = TypeVar("_OnDocument", bound=_HasDocument)


class JetSQLProtocol(LanguageServerProtocol):
    """The protocol.

    pygls splits lines at characters that are no line ends in the protocol, such as form feeds, and would apply the
    changes of the editor at wrong places. So the documents are kept in `OpenDocuments`.
    """

    _server: JetSQLServer

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.documents.open(params.text_document)
        self._server.on_change(params.text_document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        if self._server.documents.change(params) is not None:
            self._server.on_change(params.text_document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.documents.close(params.text_document.uri)
        self._server.on_close(params.text_document.uri)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        """End the process. pygls would wait for the thread that reads standard input."""
        self._server.end()


class JetSQLServer(LanguageServer):
    """The server of one editor."""

    def __init__(self, options: ServerOptions) -> None:
        """Create it. options: those of the command line; the editor can change them when it connects."""
        super().__init__("jetsql", VERSION, protocol_cls=JetSQLProtocol)
        self.options = options
        self.documents = OpenDocuments()
        self.checks = DocumentChecks(options.variables)
        self.schedule = CheckSchedule(self.checks, self.documents.get, self._publish)
        self.names = self._workspace_names()
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

    def _workspace_names(self) -> WorkspaceNames:
        return WorkspaceNames(self.documents, self.options.variables, self._workspace_folders, self.documents.encoding)

    def _close(self) -> None:
        self.schedule.close()
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def _register(self) -> None:
        self._add(types.INITIALIZE, self._initialize)
        self._add(types.INITIALIZED, self._initialized)
        self._add(types.SHUTDOWN, self._shut_down)
        self._add(types.TEXT_DOCUMENT_DID_SAVE, self._files_changed)
        self._add(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._files_changed)
        self._add(types.WORKSPACE_SYMBOL, self._workspace_symbols)
        completion = types.CompletionOptions(trigger_characters=list(TRIGGERS))
        self._add_on_document(types.TEXT_DOCUMENT_COMPLETION, self._complete, completion)
        self._add_on_document(types.TEXT_DOCUMENT_HOVER, self._hover)
        self._add_on_document(types.TEXT_DOCUMENT_DEFINITION, self._definition)
        self._add_on_document(types.TEXT_DOCUMENT_REFERENCES, self._references)
        self._add_on_document(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self._symbols)
        self._add_on_document(types.TEXT_DOCUMENT_FOLDING_RANGE, self._folding)
        self._add_on_document(types.TEXT_DOCUMENT_FORMATTING, self._format)
        self._add_on_document(types.TEXT_DOCUMENT_RANGE_FORMATTING, self._format_range)
        actions = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
        self._add_on_document(types.TEXT_DOCUMENT_CODE_ACTION, self._code_actions, actions)

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

    def _add_on_document(
        self, method: str, handler: Callable[[Document, _OnDocument], Any], options: object | None = None
    ) -> None:
        """Add the handler of a method about an open document. It runs on a thread, with the text as it is now.

        A document that `jetsql lint` refuses to read, because it is too large, only has this problem.
        """

        async def handle(params: _OnDocument) -> Any:
            document = self.documents.get(params.text_document.uri)
            if document is None or document.file.problem is not None:
                return None
            return await asyncio.to_thread(handler, document, params)

        self._add(method, handle, options)

    async def _initialize(self, params: types.InitializeParams) -> None:
        self._loop = asyncio.get_running_loop()
        self.options, messages = self.options.with_editor(params.initialization_options)
        encoding = self.workspace.position_encoding
        self.documents.encoding = str(getattr(encoding, "value", encoding))
        self.checks = DocumentChecks(self.options.variables, self.options.documentation)
        self.schedule = CheckSchedule(self.checks, self.documents.get, self._publish)
        self.names = self._workspace_names()
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

    async def _files_changed(self, params: object) -> None:
        self.names.expire()

    async def _workspace_symbols(self, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        from jetsql.language_server.navigation import workspace_symbols

        return await asyncio.to_thread(workspace_symbols, self.names, params.query)

    def _complete(self, document: Document, params: types.CompletionParams) -> types.CompletionList:
        cursor, context = document.offset(params.position), params.context
        is_typed_space = context is not None and context.trigger_character == " "
        names = add_file_names(self._engine_names(document, cursor), self.names.all_files())
        items = completion_items(document, params.position, names, is_typed_space)
        is_incomplete = self.engine is not None and self.engine.lacks_names(document.text, cursor)
        return types.CompletionList(is_incomplete=is_incomplete, items=items)

    def _engine_names(self, document: Document, cursor: int) -> Names:
        return Names() if self.engine is None else self.engine.names_for(document.text, cursor)

    def _hover(self, document: Document, params: types.HoverParams) -> types.Hover | None:
        from jetsql.language_server.hover import HoverText
        from jetsql.language_server.navigation import name_at

        offset = document.offset(params.position)
        help_text = HoverText(document, offset, self.options.documentation.rstrip("/"))
        if help_text.place is None:
            return None
        files = self.names.all_files()
        names = add_file_names(self._engine_names(document, help_text.cursor), files)
        text = help_text.markdown(names, files, name_at(self.names.of_document(document), offset))
        content = types.MarkupContent(types.MarkupKind.Markdown, text)
        return types.Hover(content, document.range(help_text.place)) if text else None

    def _definition(self, document: Document, params: types.DefinitionParams) -> list[types.Location]:
        from jetsql.language_server.navigation import definitions, name_or_word_at

        named = name_or_word_at(self.names.of_document(document), document.offset(params.position))
        return [] if named is None else definitions(self.names, named)

    def _references(self, document: Document, params: types.ReferenceParams) -> list[types.Location]:
        from jetsql.language_server.navigation import name_or_word_at, references

        named = name_or_word_at(self.names.of_document(document), document.offset(params.position))
        return [] if named is None else references(self.names, named, params.context.include_declaration)

    def _symbols(self, document: Document, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        from jetsql.language_server.navigation import document_symbols

        return document_symbols(self.names.of_document(document))

    def _folding(self, document: Document, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        from jetsql.language_server.navigation import folding_ranges

        return folding_ranges(document)

    def _format(self, document: Document, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        from jetsql.language_server.format_document import format_document

        try:
            return format_document(document)
        except StatementError as error:  # it is among the problems of the document
            self.log(f"{document.name} was not formatted: {error.explanation}")
            return []

    def _format_range(self, document: Document, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit]:
        from jetsql.language_server.format_document import format_range

        return format_range(document, params.range)

    def _code_actions(self, document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
        return self.checks.quick_fixes(document, params.range)

    def _workspace_folders(self) -> list[Path]:
        """Return the folders of the workspace; without one, that of each open document."""
        uris = [folder.uri for folder in self.workspace.folders.values()] or [self.workspace.root_uri or ""]
        folders = [path for uri in uris if (path := file_path(uri)) is not None]
        return folders or [path.parent for document in self.documents if (path := file_path(document.uri)) is not None]

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
