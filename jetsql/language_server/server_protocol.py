"""The protocol of the server: pygls' protocol with the documents of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol, lsp_method

if TYPE_CHECKING:
    from jetsql.language_server.stdio_server import JetSQLServer


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
