"""The language server as an editor sees it, over standard input and output."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsprotocol import types

from tests.support.language_client import Editor, running_editor


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with running_editor("--no-engine", options={"variables": {"day": "1"}}) as editor:
        yield editor


def test_problems_have_places_in_utf_16_and_conditions(editor: Editor) -> None:
    uri = editor.open("-- 😀\n/* 😀 */ SUSPEDN JOB `😀`;\nSELECT 1")
    [problem] = editor.diagnostics(uri)
    assert problem.range == types.Range(types.Position(1, 9), types.Position(1, 16))
    assert (problem.code, problem.source) == ("JETSQL.PARSE_SYNTAX_ERROR", "jetsql")
    assert "Did you mean SUSPEND?" in problem.message


def test_completion_replaces_the_word_at_the_cursor(editor: Editor) -> None:
    uri = editor.open("/* 😀 */ SHOW JO")
    items = {item.label: item.text_edit for item in editor.complete(uri, 0, 16)}
    assert set(items) == {"JOB", "JOBS"}
    assert items["JOBS"] == types.TextEdit(types.Range(types.Position(0, 14), types.Position(0, 16)), "JOBS")
