"""The language server next to an engine: it offers the engine's names, and does without an engine that is away."""

from __future__ import annotations

import socket
import threading

import pytest
from lsprotocol import types

from tests.support.engines.catalog_engine import CatalogEngine
from tests.support.language_client import Editor, running_editor
from tests.support.servers.http_server import TOKEN, run_server


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)


def offered_until(editor: Editor, uri: str, line: int, column: int, label: str) -> types.CompletionItem:
    """Request completion as an editor does while the user types, until a candidate is there."""
    pause = threading.Event()
    for _ in range(600):
        found = {item.label: item for item in editor.complete(uri, line, column)}
        if label in found:
            return found[label]
        pause.wait(0.05)
    raise AssertionError(f"{label} is not offered, but {list(found)}")


def hover(editor: Editor, uri: str, line: int, column: int) -> str:
    params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, column))
    found = editor.call(editor.client.text_document_hover_async(params))
    assert found is not None and isinstance(found.contents, types.MarkupContent)
    return found.contents.value


def test_names_of_the_engine_are_offered_and_explained() -> None:
    with run_server(CatalogEngine()) as server, running_editor("--url", server.url) as editor:
        text = "SUSPEND JOB totals;\nSELECT  FROM orders;\nDROP SNAPSHOT ;\nSELECT id FROM orders;\nDROP ALERT "
        uri = editor.open(text)
        job = offered_until(editor, uri, 0, 18, "totals")
        assert (job.detail, job.documentation) == ("job", "RUNNING")
        assert offered_until(editor, uri, 1, 7, "day").documentation == "date"
        assert offered_until(editor, uri, 2, 14, "noon").detail == "snapshot"
        assert offered_until(editor, uri, 4, 11, "stopped").documentation == "on job totals"
        assert "Status: RUNNING, id: `01`" in hover(editor, uri, 0, 12)
        assert hover(editor, uri, 3, 16) == "**table `orders`**\n\n- `id` bigint\n- `day` date"


def test_an_engine_that_ends_and_comes_back_is_found_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with running_editor(options={"url": f"http://127.0.0.1:{port}"}) as editor:
        uri = editor.open("SUSPEND JOB ")
        editor.wait_for_message("ENGINE_NOT_REACHABLE")
        assert editor.complete(uri, 0, 12) == []  # and no wait
        for _ in range(2):
            with run_server(CatalogEngine(), port=port):
                offered_until(editor, uri, 0, 12, "totals")


def test_a_home_without_an_engine_is_not_created(tmp_path: object) -> None:
    home = f"{tmp_path}/home"
    with running_editor("--home", home) as editor:
        editor.wait_for_message("No engine runs on")
        assert editor.complete(editor.open("SHOW J"), 0, 6)
