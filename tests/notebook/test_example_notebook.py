"""The example notebook runs in a kernel of its own, with an engine on Spark, as `nbconvert --execute` runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.paths import ROOT

NOTEBOOK = ROOT / "examples" / "notebooks" / "big_orders.ipynb"

# Spark lists the queries of one session only, and each query has a thread.
COUNT_QUERIES = """
threads = engine.spark._jvm.java.lang.Thread.getAllStackTraces().keySet()
sum(thread.getName().startswith("stream execution thread") for thread in threads)
"""


def texts(cell: Any, kind: str = "text/plain") -> str:
    """Return what a cell shows."""
    shown = [output.get("data", {}).get(kind, "") for output in cell.outputs]
    return "\n".join([*shown, *("\n".join(output.get("traceback", [])) for output in cell.outputs)])


def cell_with(notebook: Any, part: str) -> Any:
    return next(cell for cell in notebook.cells if cell.cell_type == "code" and part in cell.source)


def check(notebook: Any) -> None:
    assert "big_orders" in texts(cell_with(notebook, "SHOW JOBS"))
    frame = texts(cell_with(notebook, "big.df()"))
    assert "350.50" in frame and "990.00" in frame and "110.00" not in frame
    live = cell_with(notebook, "--seconds")
    assert "<table>" in texts(live, "text/html") and "Grace" in texts(live)
    failed = texts(cell_with(notebook, "SUSPEND JOB big_order"))
    assert "[JETSQL.JOB_NOT_FOUND]" in failed and "Did you mean big_orders?" in failed
    assert "            ^" in failed and "Traceback" not in failed


def test_the_outputs_in_the_example_are_those_of_its_cells() -> None:
    check(nbformat.read(NOTEBOOK, 4))


@pytest.mark.spark
@pytest.mark.slow
def test_the_example_runs_and_leaves_no_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(NOTEBOOK, 4)
    after = notebook.cells.index(cell_with(notebook, "--seconds")) + 1
    count = nbformat.v4.new_code_cell(COUNT_QUERIES, id="count")
    notebook.cells.insert(after, count)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=240, kernel_name="python3", resources=resources).execute()
    check(notebook)
    assert texts(notebook.cells[after]).strip() == "1"  # that of the job
