"""Broken documents: cut off anywhere, of other systems, binary, huge. The server answers every request about them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError

from jetsql.client.engine_client import EngineClient
from jetsql.language_server.server_options import ServerOptions
from jetsql.language_server.stdio_server import JetSQLServer
from tests.sqlfiles.test_bad_files import OTHERS, SCRIPT
from tests.support.language_client import Editor, running_editor

CUTS = 20


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with running_editor("--no-engine") as editor:
        yield editor


async def ask_everything(editor: Editor, uri: str, position: types.Position) -> list[Any]:
    """Send all requests about a position in parallel, as an editor does. Raises the error of an answer."""
    client, document, options = editor.client, types.TextDocumentIdentifier(uri), types.FormattingOptions(4, True)
    whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
    actions = types.CodeActionParams(document, whole, types.CodeActionContext([]))
    return await asyncio.gather(
        client.text_document_completion_async(types.CompletionParams(document, position)),
        client.text_document_hover_async(types.HoverParams(document, position)),
        client.text_document_definition_async(types.DefinitionParams(document, position)),
        client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), document, position)),
        client.text_document_document_symbol_async(types.DocumentSymbolParams(document)),
        client.text_document_folding_range_async(types.FoldingRangeParams(document)),
        client.text_document_formatting_async(types.DocumentFormattingParams(document, options)),
        client.text_document_range_formatting_async(types.DocumentRangeFormattingParams(document, whole, options)),
        client.text_document_code_action_async(actions),
        client.workspace_symbol_async(types.WorkspaceSymbolParams("a")),
    )


def end_of(text: str) -> types.Position:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return types.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le", "surrogatepass")) // 2)


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_documents_of_other_kinds(editor: Editor, name: str) -> None:
    uri = editor.open(OTHERS[name])
    editor.call(ask_everything(editor, uri, end_of(OTHERS[name])))
    editor.diagnostics(uri)
    editor.close_documents()


def test_documents_that_are_cut_off_while_they_are_typed(editor: Editor) -> None:
    """Cut the text after each of some characters, by a change of the document, with the cursor there."""
    chosen = random.Random(7)
    uri, text = editor.open(SCRIPT), SCRIPT
    for version, stop in enumerate(sorted(chosen.sample(range(len(SCRIPT)), CUTS), reverse=True), start=2):
        cut = SCRIPT[:stop]
        change = types.TextDocumentContentChangePartial(types.Range(end_of(cut), end_of(text)), "")
        editor.change(uri, version, change)
        editor.call(ask_everything(editor, uri, end_of(cut)))
        text = cut
    editor.diagnostics(uri, CUTS + 1)
    editor.close_documents()


@pytest.mark.slow
def test_a_document_of_10_mb_is_named_as_too_large(editor: Editor) -> None:
    text = "INSERT INTO t VALUES (1, 'a 😀');\n" * 320_000
    uri = editor.open(text)
    [problem] = editor.diagnostics(uri)
    assert problem.code == "JETSQL.FILE_NOT_READABLE"
    editor.call(ask_everything(editor, uri, types.Position(0, 13)))
    editor.change(uri, 2, types.TextDocumentContentChangeWholeDocument("SHOW JOBS"))
    assert editor.diagnostics(uri, 2) == []
    editor.close_documents()


def test_requests_about_other_documents_and_positions_have_empty_answers(editor: Editor) -> None:
    for answer in editor.call(ask_everything(editor, "untitled:nothing", types.Position(0, 0)))[:9]:
        assert not answer
    uri = editor.open("SHOW JOBS")
    editor.call(ask_everything(editor, uri, types.Position(99, 99)))
    editor.change("untitled:nothing", 2, types.TextDocumentContentChangeWholeDocument("SHOW"))
    editor.close_documents()


def test_an_unexpected_error_reaches_the_editor_without_a_stack_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    server = JetSQLServer(ServerOptions(lambda home, url: lambda progress: EngineClient("", "")))
    server.documents.open(types.TextDocumentItem("file:///a.sql", "sql", 1, "SHOW JOBS"))
    monkeypatch.setattr("jetsql.language_server.navigation.folding_ranges", lambda document: 1 / 0)
    handle = server.protocol.fm.features[types.TEXT_DOCUMENT_FOLDING_RANGE]
    params = types.FoldingRangeParams(types.TextDocumentIdentifier("file:///a.sql"))
    with pytest.raises(JsonRpcInternalError) as raised:
        asyncio.run(handle(params))
    assert raised.value.to_response_error().data is None
    assert "textDocument/foldingRange failed: ZeroDivisionError." in raised.value.message
