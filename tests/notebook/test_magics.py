"""The commands of a notebook in IPython's shell, on an engine without Spark behind a real HTTP endpoint."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import jetsql
from jetsql.client.engine_client import EngineClient
from jetsql.live_rows import LiveMode
from jetsql.notebook import magics
from jetsql.notebook.cell_completion import CellCompletion
from jetsql.notebook.cell_result import CellResult
from jetsql.notebook.live_table import LiveTable
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from tests.support.engines.catalog_engine import CatalogEngine
from tests.support.engines.server_engine import ServedEngine
from tests.support.engines.stub_engine import StubEngine, StubReport
from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, run_server

HOSTILE = "<script>alert('x')</script>&amp;\"`"


@dataclass
class Notebook:
    """A shell, and what its cells show."""

    shell: InteractiveShell
    engine: ServedEngine
    url: str

    def run(self, cell: str) -> Any:
        """Run a cell, and return what it shows. `result` is then its value, `error` its exception."""
        with capture_output() as shown:
            done = self.shell.run_cell(cell)
        self.result, self.error = done.result, done.error_in_exec
        return shown


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "jetsql")
    shell.run_line_magic("load_ext", "jetsql")  # again, without effect
    yield shell
    shell.run_line_magic("unload_ext", "jetsql")
    InteractiveShell.clear_instance()


@pytest.fixture
def notebook(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    engine = ServedEngine()
    with run_server(engine) as server:
        notebook = Notebook(shell, engine, server.url)
        notebook.run(f"%jetsql {server.url}")
        yield notebook
        notebook.run("%jetsql --close")


def test_a_line_returns_its_rows(notebook: Notebook) -> None:
    notebook.run("found = %jetsql SELECT a, b")
    found = notebook.shell.user_ns["found"]
    assert (list(found), len(found), found[0]) == ([("a", "b")], 1, ("a", "b"))
    assert found.records == [{"c0": "a", "c1": "b"}]
    assert found.df().to_dict("list") == {"c0": ["a"], "c1": ["b"]}
    assert found.to_pandas().equals(found.DataFrame())


def test_a_cell_shows_each_result_and_returns_the_last(notebook: Notebook) -> None:
    shown = notebook.run("%%jetsql\nSELECT 1;\nCREATE x;\nSELECT 2; -- the end\n")
    assert [output.data["text/html"].count("<td") for output in shown.outputs[:2]] == [1, 0]
    assert notebook.result.rows == (("2",),)
    assert notebook.engine.statements.texts[-1].lstrip() == "SELECT 2"


def test_a_name_keeps_the_last_result_and_shows_nothing(notebook: Notebook) -> None:
    shown = notebook.run("%%jetsql kept <<\nSELECT 1;\nSELECT 2")
    assert (notebook.result, len(shown.outputs)) == (None, 1)
    assert notebook.shell.user_ns["kept"].rows == (("2",),)
    notebook.run("%jetsql line << SELECT 3")
    assert notebook.shell.user_ns["line"].rows == (("3",),)


def test_variables_of_the_notebook_fill_in(notebook: Notebook) -> None:
    notebook.run("day, number, hidden = '2013-01-01', 3, object()")
    notebook.run("%jetsql SELECT ${day}, ${number}, ${other:-none}")
    assert notebook.result.rows == (("2013-01-01", "3", "none"),)
    shown = notebook.run("%jetsql SELECT ${hidden}")
    assert "[JETSQL.VARIABLE_NOT_SET]" in shown.stdout


def test_error_has_its_place_in_the_cell_without_stack_trace(notebook: Notebook) -> None:
    shown = notebook.run("%%jetsql\nSELECT 1;\n  FAIL TO word;\nSELECT 3")
    assert notebook.error is not None and notebook.error.condition == "JETSQL.JOB_NOT_FOUND"
    assert shown.stdout.splitlines()[-4:] == [
        "[JETSQL.JOB_NOT_FOUND] There is no such job.",
        "    2 |   FAIL TO word;",
        "      |           ^",
        "See SHOW JOBS.",
    ]
    assert "Traceback" not in shown.stdout + shown.stderr
    assert [output.data["text/plain"] for output in shown.outputs if "text/html" in output.data]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%jetsql SHOW JOBS '", "[JETSQL.PARSE_SYNTAX_ERROR] The string that begins here is not closed."),
        ("%jetsql .jobs", "A line that begins with a dot is a command of the shell"),
        ("%jetsql --nothing", "There is no option --nothing."),
        ("%jetsql --rows many SELECT 1", "--rows needs a value."),
        ("%jetsql --seconds", "--seconds needs a value."),
        ("%jetsql --spark missing", "The notebook has no variable missing."),
        ("%jetsql jetsql://h:1/s?x=1", "Unknown option: 'x'"),
        ("%jetsql http://127.0.0.1:1", "No engine answers at"),
    ],
)
def test_wrong_lines_are_explained_without_a_stack_trace(notebook: Notebook, cell: str, message: str) -> None:
    shown = notebook.run(cell)
    assert notebook.error is not None
    assert message in shown.stdout + shown.stderr
    assert "Traceback" not in shown.stdout + shown.stderr


def test_long_result_is_cut_and_its_statement_cancelled(notebook: Notebook) -> None:
    notebook.run("%jetsql --rows 3 ENDLESS")
    assert (len(notebook.result), notebook.result.is_complete) == (3, False)
    assert "--rows N reads more" in notebook.result.caption()
    assert notebook.engine.ended.wait(60)
    notebook.run("%jetsql --rows 3 COUNT 3")
    assert notebook.result.is_complete and notebook.result.caption() == "3 rows"


def test_a_live_table_has_the_newest_rows(notebook: Notebook) -> None:
    notebook.run("%jetsql LOOK 2 70")
    result = notebook.result
    assert len(result) == 72 and result.note.startswith("72 rows in 2 batches")
    assert "<td" in result._repr_html_() and ">169<" in result._repr_html_() and ">0<" not in result._repr_html_()


def test_a_live_table_redraws_in_a_kernel(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetsql.notebook.run_cell.REDRAW_SECONDS", 0.01)
    monkeypatch.setattr(notebook.shell, "kernel", object(), raising=False)
    shown = notebook.run("%jetsql --seconds 0.3 LOOK 1 ENDLESS")
    assert notebook.engine.ended.wait(60)
    tables = [each for each in shown.outputs if "text/html" in each.data]
    assert len(tables) > 1 and [each.update for each in tables] == [False, *[True] * (len(tables) - 1)]
    assert "ends" in tables[0].data["text/html"] and "ends" not in tables[-1].data["text/html"]


def test_an_interrupt_ends_a_live_table_and_its_statement(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived, add_row = threading.Event(), LiveTable.add_row

    def add(self: LiveTable, row: tuple[Any, ...]) -> None:
        add_row(self, row)
        arrived.set()

    monkeypatch.setattr(LiveTable, "add_row", add)

    def interrupt() -> None:
        assert arrived.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    notebook.run("%%jetsql\nLOOK ENDLESS;\nSELECT 'not run'")
    thread.join()
    assert notebook.engine.ended.wait(60)
    assert notebook.error is None and isinstance(notebook.result, CellResult) and notebook.result.rows
    shown = notebook.run("%jetsql SELECT 5")
    assert notebook.error is None, shown.stdout
    assert notebook.result.rows == (("5",),)


def interrupt_waiting(notebook: Notebook) -> Any:
    """Run WAIT, interrupt it when the engine has begun it, and return what its cell shows."""

    def interrupt() -> None:
        assert notebook.engine.waiting.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    shown = notebook.run("%jetsql WAIT")
    thread.join()
    return shown


def test_an_interrupt_cancels_another_statement(notebook: Notebook) -> None:
    shown = interrupt_waiting(notebook)
    assert notebook.engine.woken.wait(60)
    assert "[JETSQL.STATEMENT_CANCELLED] The statement was interrupted" in shown.stdout
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_cancels_a_statement_that_has_just_begun(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def start_and_interrupt(self: threading.Thread) -> None:
        start(self)
        if self.name == "jetsql-cell":
            assert notebook.engine.waiting.wait(60)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    shown = notebook.run("%jetsql WAIT")
    assert notebook.engine.woken.wait(60)
    assert "[JETSQL.STATEMENT_CANCELLED] The statement was interrupted" in shown.stdout


def test_a_cancellation_is_repeated_until_the_statement_ends(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel, calls = EngineClient.cancel, itertools.count()

    def cancel_later(self: EngineClient) -> None:
        if next(calls):  # the first has reached the engine before the statement
            cancel(self)

    monkeypatch.setattr(EngineClient, "cancel", cancel_later)
    shown = interrupt_waiting(notebook)
    assert notebook.engine.woken.wait(60)
    assert "[JETSQL.STATEMENT_CANCELLED] The statement was interrupted" in shown.stdout


def test_the_connection_is_shown_and_closed(notebook: Notebook) -> None:
    assert notebook.run("%jetsql").stdout == f"JetSQL: the engine at {notebook.url}\n"
    assert "%%jetsql" in notebook.run("%jetsql --help").stdout
    notebook.run("%jetsql --close")
    assert notebook.run("%jetsql").stdout == "JetSQL: not connected; the first statement connects\n"


def test_the_first_statement_connects_to_the_engine_of_the_environment(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.run("%jetsql --close")
    monkeypatch.setenv("JETSQL_URL", notebook.url)
    notebook.run("%jetsql SELECT 1")
    assert notebook.result.rows == (("1",),)


class EngineInside:
    """An engine inside the notebook, without Spark."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.closed = False
        self.statements = StubEngine()

    def run(self, text: str, live: bool) -> StatementResult:
        found = self.statements.run(text)
        return StatementResult(found.columns, found.rows)

    def error(self, error: Exception, text: str) -> StubReport:
        return self.statements.error(error, text)


def test_an_engine_inside_the_notebook_is_found(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [EngineInside("first"), EngineInside("second")]
    opened = SimpleNamespace(current_engine=lambda: next(each for each in engines if not each.closed))
    monkeypatch.setitem(sys.modules, "jetsql.embedded.open_engine", opened)
    notebook.run("%jetsql --close")
    for engine in engines:
        notebook.run("%jetsql SELECT 1")
        assert notebook.result.rows == (("1",),)
        assert notebook.run("%jetsql").stdout == f"JetSQL: the engine in this notebook, on {engine.home}\n"
        shown = notebook.run("%jetsql FAIL job")
        assert "[JETSQL.JOB_NOT_FOUND]" in shown.stdout
        engine.closed = True


def test_jetsql_is_added_to_the_spark_session_of_the_notebook(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    enabled: list[tuple[object, object]] = []

    def enable(spark: object, home: str | None = None) -> EngineInside:
        enabled.append((spark, home))
        return EngineInside("here")

    monkeypatch.setattr(jetsql, "enable", enable, raising=False)
    notebook.run("session = 'a session'")
    notebook.run("%jetsql --home 'a home' --spark session")
    notebook.run("spark = 'another'")
    notebook.run("%jetsql --spark")
    assert enabled == [("a session", "a home"), ("another", None)]
    notebook.run("%jetsql SELECT 1")
    assert notebook.result.rows == (("1",),)


def test_names_and_values_are_escaped() -> None:
    columns = (Column(HOSTILE, HOSTILE), Column("n", "int"))
    html = CellResult(columns, ((HOSTILE, 1), (None, 2)))._repr_html_()
    assert "<script" not in html and "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;amp;&quot;" in html
    assert ">NULL<" in html and 'text-align: right">2<' in html
    plan = CellResult((Column("plan"),), (("== Plan ==\n<b>",),))
    assert plan._repr_html_() == "<pre>== Plan ==\n&lt;b&gt;</pre>"
    assert "\x1b" not in repr(CellResult((Column("a"),), (("\x1b[31m",),)))


def test_a_replaced_table_marks_its_changes() -> None:
    live = LiveTable((Column("k"), Column("n", "int")), LiveMode.REPLACE, 100)
    for counts in ((1, 1), (1, 2)):
        for key, count in zip("ab", counts, strict=True):
            live.add_row((key, count))
        live.end_batch()
    changed = live.result(is_final=False)._repr_html_()
    assert changed.count("background-color") == 1
    assert "background-color" not in live.result(is_final=True)._repr_html_()


def test_cells_are_completed_as_in_the_shell() -> None:
    completion = CellCompletion(lambda: None)
    for cell in ("%%jetsql x <<\nSHOW JOBS;\nSHOW JO|\nSELECT 1", "x = 1\ny = %jetsql SHOW JO|\nprint(1)"):
        cursor = cell.index("|")
        found = completion.candidates(cell.replace("|", ""), cursor)
        assert [(text, kind) for text, _, kind in found] == [("JOB", "keyword"), ("JOBS", "keyword")]
        assert {start for _, start, _ in found} == {cursor - 2}
    assert completion.candidates("print('SHOW JO')", 14) == []
    assert completion.candidates("%%jetsql SHOW", 12) == []


def test_tab_completes_with_the_names_of_the_engine(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    with run_server(CatalogEngine()) as server:
        shell.run_line_magic("jetsql", server.url)
        pause = threading.Event()
        for _ in range(600):
            with provisionalcompleter():
                found = list(shell.Completer.completions("%jetsql SUSPEND JOB t", 21))
            if [each.text for each in found] == ["totals"]:
                break
            pause.wait(0.05)
        assert [(each.text, each.start, each.end, each.type) for each in found] == [("totals", 20, 21, "job")]
        shell.run_line_magic("jetsql", "--close")


def test_the_import_of_jetsql_does_not_load_ipython() -> None:
    program = (
        "import sys, jetsql; assert 'IPython' not in sys.modules; jetsql.load_ipython_extension; magics = sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=ROOT, timeout=120)
    assert magics.load is not magics.unload
