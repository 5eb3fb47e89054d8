"""The language server as an editor sees it, over standard input and output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.support.language_client import Editor, running_editor
from tests.support.paths import ROOT

TABLES = """CREATE TABLE orders (id INT, `customer name` STRING, amount DOUBLE) USING parquet;
CREATE TABLE totals (customer STRING, total DOUBLE) USING parquet;
CREATE OR REPLACE TEMPORARY VIEW large AS SELECT * FROM orders WHERE amount > 10;
"""
JOBS = """-- 😀 the totals
CREATE JOB sum_up OPTIONS ('trigger' = 'availableNow') AS
INSERT OVERWRITE totals
SELECT `customer name`, sum(amount) FROM STREAM orders GROUP BY 1;
SUSPEND JOB sum_up;
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a workspace 😀")
    (folder / "tables.sql").write_text(TABLES, encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub" / "jobs.sql").write_text(JOBS, encoding="utf-8")
    (folder / "data.sql").write_bytes(b"SELECT '\xff\x00")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "other.sql").write_text("CREATE JOB sum_up AS INSERT INTO a SELECT 1", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(workspace: Path) -> Iterator[Editor]:
    options = {"variables": {"day": "1"}, "documentation": "https://docs.example/"}
    with running_editor("--no-engine", folder=workspace, options=options) as editor:
        yield editor


@pytest.fixture
def editor(server: Editor) -> Iterator[Editor]:
    yield server
    server.close_documents()


def at(line: int, column: int, end_line: int, end: int) -> types.Range:
    return types.Range(types.Position(line, column), types.Position(end_line, end))


def place(uri: str, line: int, column: int) -> tuple[types.TextDocumentIdentifier, types.Position]:
    return types.TextDocumentIdentifier(uri), types.Position(line, column)


def test_problems_have_places_in_utf_16_conditions_and_links(editor: Editor) -> None:
    uri = editor.open("-- 😀\n/* 😀 */ SUSPEDN JOB `😀`;\nSELECT 1")
    [problem] = editor.diagnostics(uri)
    assert problem.range == at(1, 9, 1, 16)
    assert (problem.code, problem.source) == ("JETSQL.PARSE_SYNTAX_ERROR", "jetsql")
    assert "Did you mean SUSPEND?" in problem.message
    assert problem.code_description is not None
    assert problem.code_description.href == "https://docs.example/reference/errors/#parse_syntax_error"


def test_variables_come_from_the_options_of_the_editor(editor: Editor) -> None:
    uri = editor.open("SELECT ${day}, ${dya}")
    [problem] = editor.diagnostics(uri)
    assert (problem.code, problem.range) == ("JETSQL.VARIABLE_NOT_SET", at(0, 15, 0, 21))


def test_changes_apply_where_the_editor_made_them(editor: Editor) -> None:
    uri = editor.open("-- \f\x85\u2028 😀\r\nSHOW JOBS;\rSHOW JOB")  # the first three end no line in the protocol
    editor.change(
        uri,
        2,
        types.TextDocumentContentChangePartial(at(0, 7, 0, 9), "a😀b"),
        types.TextDocumentContentChangePartial(at(0, 10, 0, 11), ""),
        types.TextDocumentContentChangePartial(at(2, 8, 2, 8), "S;\nSHOW JOBZ"),
    )
    [problem] = editor.diagnostics(uri, 2)
    assert problem.range == at(3, 5, 3, 9)
    editor.change(uri, 3, types.TextDocumentContentChangeWholeDocument("SHOW JOBS"))
    assert editor.diagnostics(uri, 3) == []


def test_a_correction_is_offered_for_each_misspelling(editor: Editor) -> None:
    text = "CREATE JOB j OPTIONS ('trigge' = 'avilableNow') AS INSERT INTO t SELECT 1;\nDROP JBO j;"
    fixed = "CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO t SELECT 1;\nDROP JOB j;"
    uri, version = editor.open(text), 1
    while editor.diagnostics(uri, version):
        context = types.CodeActionContext(diagnostics=[])
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), at(0, 0, 9, 0), context)
        [action, *_] = editor.call(editor.client.text_document_code_action_async(params)) or []
        assert isinstance(action, types.CodeAction) and action.edit is not None and action.edit.changes is not None
        [edit] = action.edit.changes[uri]
        lines = text.split("\n")
        line = lines[edit.range.start.line]
        lines[edit.range.start.line] = (
            line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
        )
        text, version = "\n".join(lines), version + 1
        editor.change(uri, version, types.TextDocumentContentChangeWholeDocument(text))
    assert (text, version) == (fixed, 4)


def test_completion_replaces_the_word_at_the_cursor(editor: Editor) -> None:
    uri = editor.open("/* 😀 */ SHOW JO")
    items = {item.label: item.text_edit for item in editor.complete(uri, 0, 16)}
    assert items == {
        "JOB": types.TextEdit(at(0, 14, 0, 16), "JOB"),
        "JOBS": types.TextEdit(at(0, 14, 0, 16), "JOBS"),
    }


def test_completion_knows_jobs_tables_and_columns_of_files(editor: Editor) -> None:
    uri = editor.open("RESUME JOB s;\nSELECT  FROM orders;\nSELECT * FROM ;\nDROP VIEW ")
    assert [item.label for item in editor.complete(uri, 0, 12)] == ["sum_up"]
    columns = {item.label: item.text_edit for item in editor.complete(uri, 1, 7)}
    assert columns["customer name"] == types.TextEdit(at(1, 7, 1, 7), "`customer name`")
    tables = [item.label for item in editor.complete(uri, 2, 14)]
    assert {"orders", "totals", "large"} <= set(tables)
    assert [item.label for item in editor.complete(uri, 3, 10) if item.detail == "view"] == ["large"]


def test_alerts_of_files_are_names_of_their_own(editor: Editor) -> None:
    """Complete, and find the definition of an alert and of its job, which have the same name."""
    create = "CREATE ALERT sum_up ON JOB sum_up STATUS FAILED CALL 'secret:s';"
    uri = editor.open(f"{create}\nALTER ALERT sum_up DISABLE;\nCREATE USER sum_up;\nDROP ALERT ")
    assert [item.label for item in editor.complete(uri, 3, 11) if item.detail == "alert"] == ["sum_up"]

    def found(line: int, column: int) -> list[tuple[bool, types.Range]]:
        params = types.DefinitionParams(*place(uri, line, column))
        locations = editor.call(editor.client.text_document_definition_async(params))
        assert isinstance(locations, list)
        return [(each.uri == uri, each.range) for each in locations if isinstance(each, types.Location)]

    assert found(1, 14) == [(True, at(0, 13, 0, 19))]
    assert found(0, 29) == [(False, at(1, 11, 1, 17))]
    assert found(2, 14) == []


def test_completion_of_options_begins_at_their_quote(editor: Editor) -> None:
    uri = editor.open("CREATE JOB j OPTIONS ('tri")
    [item] = editor.complete(uri, 0, 26, "'")
    assert (item.label, item.filter_text) == ("trigger", "'trigger' = ")
    assert item.text_edit == types.TextEdit(at(0, 22, 0, 26), "'trigger' = ")


def test_a_space_opens_no_menu_of_keywords(editor: Editor) -> None:
    uri = editor.open("SHOW ;\nRESUME JOB ")
    assert editor.complete(uri, 0, 5, " ") == []
    assert [item.label for item in editor.complete(uri, 1, 11, " ")] == ["sum_up"]


@pytest.mark.parametrize(
    ("line", "column", "parts"),
    [
        (1, 3, ["**CREATE JOB**", "Starts a job.", "CREATE [OR REPLACE] JOB", "/reference/statements/#create-job)"]),
        (1, 13, ["**job `sum_up`**", "Created in `jobs.sql`"]),
        (1, 30, ["**`trigger`**", "Values: "]),
        (1, 41, ["`availableNow`: ", "**`trigger`**"]),
        (2, 18, ["**table `totals`**", "Created in `tables.sql`", "Written by job `sum_up` in `jobs.sql`", "double"]),
        (3, 50, ["**table `orders`**", "- `customer name` string"]),
        (3, 10, ["**column `customer name`** string of table `orders`"]),
        (0, 4, []),
        (5, 0, []),
    ],
)
def test_hover_explains_the_word(editor: Editor, workspace: Path, line: int, column: int, parts: list[str]) -> None:
    uri = editor.open(JOBS, (workspace / "sub" / "jobs.sql").as_uri())
    found = editor.call(editor.client.text_document_hover_async(types.HoverParams(*place(uri, line, column))))
    content = found.contents.value if found is not None and isinstance(found.contents, types.MarkupContent) else ""
    assert bool(content) == bool(parts)
    for part in parts:
        assert part in content


@pytest.mark.parametrize(
    ("column", "help_text"),
    [
        (41, "**`value.format`**\n\nThe format of the message's value"),
        (58, "**`value.format`**\n\nThe format of the message's value"),
        (66, "**`kafka.acks`**\n\nAs in Spark and Kafka."),
    ],
)
def test_hover_explains_options_of_kafka_tables(editor: Editor, column: int, help_text: str) -> None:
    uri = editor.open("CREATE TABLE k (a INT) USING kafka OPTIONS ('value.format' = 'json', 'kafka.acks' = '1');")
    found = editor.call(editor.client.text_document_hover_async(types.HoverParams(*place(uri, 0, column + 4))))
    assert found is not None and isinstance(found.contents, types.MarkupContent)
    assert found.contents.value.startswith(help_text)


def test_definitions_of_tables_and_jobs(editor: Editor, workspace: Path) -> None:
    uri = editor.open("SELECT * FROM totals;\nSUSPEND JOB SUM_UP;\nSELEC * FROM large, orders")
    jobs, tables = (workspace / "sub" / "jobs.sql").as_uri(), (workspace / "tables.sql").as_uri()
    expected = {
        (0, 15): [types.Location(jobs, at(2, 17, 2, 23)), types.Location(tables, at(1, 13, 1, 19))],
        (1, 14): [types.Location(jobs, at(1, 11, 1, 17))],
        (2, 16): [types.Location(tables, at(2, 33, 2, 38))],  # in a statement with an error
        (0, 3): [],
    }
    for position, locations in expected.items():
        params = types.DefinitionParams(*place(uri, *position))
        assert editor.call(editor.client.text_document_definition_async(params)) == locations


def test_references_are_found_in_all_files(editor: Editor, workspace: Path) -> None:
    uri = editor.open(TABLES, (workspace / "tables.sql").as_uri())
    params = types.ReferenceParams(
        text_document=types.TextDocumentIdentifier(uri),
        position=types.Position(0, 13),
        context=types.ReferenceContext(include_declaration=False),
    )
    found = editor.call(editor.client.text_document_references_async(params)) or []
    mine = [each for each in found if each.uri.startswith(workspace.as_uri())]
    assert [(each.uri.rpartition("/")[2], each.range.start) for each in mine] == [
        ("tables.sql", types.Position(2, 56)),
        ("jobs.sql", types.Position(3, 48)),
    ]


def test_symbols_and_folds_are_those_of_the_statements(editor: Editor, workspace: Path) -> None:
    uri = editor.open(JOBS + TABLES)
    document = types.TextDocumentIdentifier(uri)
    symbols = editor.call(editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(document)))
    assert [each.name for each in symbols or []] == ["sum_up", "orders", "totals", "large"]
    folds = editor.call(editor.client.text_document_folding_range_async(types.FoldingRangeParams(document)))
    assert [(each.start_line, each.end_line) for each in folds or []] == [(1, 3)]
    found = editor.call(editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("sup")))
    assert {each.name for each in found or []} == {"sum_up"}


def test_formatting_is_that_of_jetsql_format(editor: Editor) -> None:
    uri = editor.open("show  jobs;\r\nselect a,b from   t -- 😀\r\n;\r\nshow   members")
    document, options = types.TextDocumentIdentifier(uri), types.FormattingOptions(4, True)
    ranged = types.DocumentRangeFormattingParams(document, at(3, 0, 3, 1), options)
    edits = editor.call(editor.client.text_document_range_formatting_async(ranged)) or []
    assert list(edits) == [types.TextEdit(at(3, 0, 3, 14), "SHOW MEMBERS")]
    [edit] = (
        editor.call(editor.client.text_document_formatting_async(types.DocumentFormattingParams(document, options)))
        or []
    )
    assert edit.new_text.startswith("SHOW JOBS;\r\n")
    broken = types.TextDocumentIdentifier(editor.open("show jobs; select 'a"))
    params = types.DocumentFormattingParams(broken, options)
    assert not editor.call(editor.client.text_document_formatting_async(params))
    editor.wait_for_message("was not formatted")


def test_a_closed_document_has_no_problems(editor: Editor) -> None:
    uri = editor.open("SHOW JOBZ")
    assert editor.diagnostics(uri)
    editor.close_documents()
    editor.wait_for(lambda: editor.published(uri) == [])


def test_wrong_options_are_reported_and_the_others_apply() -> None:
    options = {"variables": {"a": 1}, "hom": "x", "url": "ftp://h", "engine": 3}
    utf_8 = [types.PositionEncodingKind.Utf8]
    with running_editor(options=options, encodings=utf_8) as editor:
        assert editor.server.capabilities.position_encoding == types.PositionEncodingKind.Utf8
        editor.wait_for_message("The initialization option 'hom' is unknown or wrong.")
        editor.wait_for_message("The initialization option 'engine' is unknown or wrong.")
        editor.wait_for_message("The engine's URL 'ftp://h' begins with neither http:// nor https://.")
        [problem] = editor.diagnostics(editor.open("/* ä😀 */ SELECT ${a}, ${b}"))
        assert problem.range == at(0, 26, 0, 30)


def test_exit_without_shutdown_request_has_code_1() -> None:
    message = b'{"jsonrpc": "2.0", "method": "exit"}'
    sent = b"Content-Length: %d\r\n\r\n%b" % (len(message), message)
    command = [sys.executable, "-m", "jetsql", "lsp", "--stdio", "--no-engine"]
    done = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_wrong_address_is_refused_before_the_editor_connects() -> None:
    command = [sys.executable, "-m", "jetsql", "lsp", "--url", "ftp://h"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "begins with neither http:// nor https://" in done.stderr


def test_a_missing_extra_is_named() -> None:
    program = "import sys; sys.modules['pygls'] = None; from jetsql.cli import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'jetsql[lsp]'" in done.stderr and "Traceback" not in done.stderr
