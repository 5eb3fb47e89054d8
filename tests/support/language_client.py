"""An editor for tests: it starts `jetsql lsp` and speaks with it over standard input and output."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.support.paths import ROOT

_T = TypeVar("_T")
_SECONDS = 120.0  # for a loaded machine


class Editor:
    """A client of one server. Its methods may be called on any thread except its own."""

    def __init__(self) -> None:
        self.server: Any = None  # what the server answered to `initialize`
        self.messages: list[str] = []  # shown to the user, or in the log
        self._numbers = itertools.count(1)
        self._opened: list[str] = []
        self._published: dict[str, types.PublishDiagnosticsParams] = {}
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="editor")
        self.client = LanguageClient("tests", "1")

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            with self._changed:
                self._published[params.uri] = params
                self._changed.notify_all()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self._add_message(params.message)

        @self.client.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            self._add_message(params.message)

    def start(
        self,
        *arguments: str,
        folder: Path | None = None,
        options: dict[str, Any] | None = None,
        encodings: list[types.PositionEncodingKind] | None = None,
    ) -> None:
        """Start a server, and wait for its answer to `initialize`."""
        self._thread.start()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = (sys.executable, "-m", "jetsql", "lsp", *arguments)
        self.call(self.client.start_io(*command, env=environment))
        general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
        params = types.InitializeParams(
            capabilities=types.ClientCapabilities(general=general),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)] if folder else None,
            initialization_options=options,
        )
        self.server = self.call(self.client.initialize_async(params))
        self.notify(self.client.initialized, types.InitializedParams())

    def stop(self) -> tuple[int, str]:
        """End the server as the protocol says. Return its exit code, and what it wrote to standard error."""
        self.call(self.client.shutdown_async(None))
        return self.call(self._exit())

    async def _exit(self) -> tuple[int, str]:
        process: Any = self.client._server
        self.client.exit(None)
        errors = await process.stderr.read()
        code = await process.wait()
        await self.client.stop()
        return code, errors.decode()

    def close(self) -> None:
        """End the thread of this client."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, request: Coroutine[Any, Any, _T]) -> _T:
        """Return the answer to a request."""
        return asyncio.run_coroutine_threadsafe(request, self._loop).result(_SECONDS)

    def notify(self, send: Any, params: Any) -> None:
        """Send a notification."""

        async def run() -> None:
            send(params)

        self.call(run())

    def open(self, text: str, uri: str | None = None) -> str:
        """Open a document, and return its URI."""
        uri = uri or f"file:///tests/document{next(self._numbers)}.sql"
        item = types.TextDocumentItem(uri, "sql", 1, text)
        self.notify(self.client.text_document_did_open, types.DidOpenTextDocumentParams(item))
        self._opened.append(uri)
        return uri

    def close_documents(self) -> None:
        """Close all documents."""
        for uri in self._opened:
            params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
            self.notify(self.client.text_document_did_close, params)
        self._opened.clear()

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Change a document."""
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        params = types.DidChangeTextDocumentParams(document, list(changes))
        self.notify(self.client.text_document_did_change, params)

    def diagnostics(self, uri: str, version: int = 1) -> list[types.Diagnostic]:
        """Wait for the problems of a document at a version, and return them."""
        self.wait_for(lambda: self._at(uri, version))
        return self.published(uri)

    def published(self, uri: str) -> list[types.Diagnostic]:
        """Return the newest problems of a document."""
        return list(self._published[uri].diagnostics)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until problems or messages that have arrived fulfil a condition."""
        with self._changed:
            assert self._changed.wait_for(condition, _SECONDS)

    def wait_for_message(self, part: str) -> None:
        """Wait for a message that contains a text."""
        self.wait_for(lambda: any(part in each for each in self.messages))

    def complete(self, uri: str, line: int, column: int, typed: str | None = None) -> list[types.CompletionItem]:
        """Return what can be written at a position. typed: the character that opened the menu."""
        kind = types.CompletionTriggerKind.TriggerCharacter
        context = types.CompletionContext(kind, typed) if typed else None
        place = types.TextDocumentIdentifier(uri), types.Position(line, column)
        found = self.call(self.client.text_document_completion_async(types.CompletionParams(*place, context)))
        assert isinstance(found, types.CompletionList)
        return list(found.items)

    def _at(self, uri: str, version: int) -> bool:
        published = self._published.get(uri)
        return published is not None and (published.version or 0) >= version

    def _add_message(self, message: str) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()


@contextmanager
def running_editor(*arguments: str, **options: Any) -> Iterator[Editor]:
    """Yield an editor with a server, and end both."""
    editor = Editor()
    try:
        editor.start(*arguments, **options)
        yield editor
        code, errors = editor.stop()
        assert (code, errors) == (0, "")
    finally:
        editor.close()
