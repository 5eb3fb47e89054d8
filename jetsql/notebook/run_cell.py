"""Run the statements of a cell: on a thread, so that an interrupt of the kernel cancels the statement and nothing else.

PySpark's own handler of interrupts cancels all of Spark's jobs, also those of JetSQL's jobs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Final

from jetsql.notebook.cell_result import CellResult
from jetsql.notebook.live_table import LiveTable
from jetsql.notebook.notebook_engine import NotebookEngine
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.request import Cancellation, Endpoint, cancellable, inside_process
from jetsql.script import PreparedStatement, diagnose, prepare

REDRAW_SECONDS: Final = 0.5
_CANCEL_SECONDS: Final = 30.0
"""The longest time that a cancelled statement may take to end."""
_CANCEL_AGAIN_SECONDS: Final = 1.0
"""The time after which a cancellation is repeated: it may have reached the engine before its statement."""


class CellFailed(Exception):
    """A statement that failed. A notebook shows the error with its place, and no stack trace."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic
        self.condition = diagnostic.condition

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


@dataclass(frozen=True)
class CellOptions:
    """The options of a cell."""

    seconds: float | None = None  # after which a live table ends
    rows: int = 10_000  # of each result that are kept
    redraw: Callable[[CellResult], None] | None = None  # draws a live table; None where nothing can be redrawn


def run_cell(
    text: str, engine: NotebookEngine, values: Mapping[str, str], options: CellOptions
) -> Iterator[CellResult]:
    """Run the statements of a text, and yield their results. An interrupted live table is the last result.

    values: the variables. Raises CellFailed.
    """
    steps = prepare([Script("", text)], values)
    for step in steps:
        if isinstance(step, Diagnostic):  # before anything runs
            raise CellFailed(step)
    for step in steps:
        assert isinstance(step, PreparedStatement)
        run = _StatementRun(step, engine, options)
        yield run.result()
        if run.was_interrupted:
            return


class _StatementRun:
    """One statement on its thread."""

    def __init__(self, step: PreparedStatement, engine: NotebookEngine, options: CellOptions) -> None:
        self._step = step
        self._engine = engine
        self._options = options
        self._cancellation = Cancellation()
        self._ended = threading.Event()
        self._result: CellResult | None = None
        self._error: Exception | None = None
        self._live: LiveTable | None = None
        self.was_interrupted = False

    def result(self) -> CellResult:
        """Run the statement, and return its result. Raises CellFailed."""
        is_cancelled = False
        context = copy_context()
        thread = threading.Thread(target=context.run, args=(self._run,), name="jetsql-cell", daemon=True)
        with _python_interrupts():
            try:
                thread.start()
                is_cancelled = self._wait()
            except KeyboardInterrupt:
                is_cancelled = self.was_interrupted = True
            if is_cancelled:
                self._cancel()
        if self._live is not None and (self._error is None or is_cancelled):
            return self._live.result(is_final=True)
        if self._error is not None or self._result is None:
            raise CellFailed(self._diagnostic())
        return self._result

    def _wait(self) -> bool:
        """Wait until the statement ends, and redraw its live table. Return whether the time is over before."""
        started, drawn = monotonic(), -1
        while not self._ended.wait(REDRAW_SECONDS):
            live = self._live
            if live is not None and self._options.redraw is not None and live.changes != drawn:
                drawn = live.changes
                self._options.redraw(live.result(is_final=False))
            seconds = self._options.seconds
            if live is not None and seconds is not None and monotonic() - started >= seconds:
                return True
        return False

    def _cancel(self) -> None:
        """Cancel the statement, and wait until it has ended, but not without a limit."""
        until = monotonic() + _CANCEL_SECONDS
        self._engine.cancel(self._cancellation)
        while not self._ended.wait(_CANCEL_AGAIN_SECONDS) and monotonic() < until:
            self._engine.cancel(self._cancellation)
        self._engine.abandon()

    def _run(self) -> None:
        try:
            with cancellable(self._cancellation), inside_process(Endpoint.NOTEBOOK):
                self._cancellation.check()
                self._read()
        except Exception as error:  # the outermost frame of the thread; `result` reports it
            self._error = error
        finally:
            self._ended.set()

    def _read(self) -> None:
        result = self._engine.run(self._step.text)
        if result.live is not None:
            self._live = live = LiveTable(result.columns, result.live.mode, self._options.rows)
            for batch in result.live.batches:
                for row in batch.rows:
                    live.add_row(row)
                live.end_batch()
            return
        rows = tuple(islice(result.rows, self._options.rows))
        is_complete = next(iter(result.rows), None) is None
        self._result = CellResult(result.columns, rows, is_complete)
        if not is_complete:
            self._engine.cancel(self._cancellation)
            self._engine.abandon()

    def _diagnostic(self) -> Diagnostic:
        if self.was_interrupted or self._error is None:
            message = "The statement was interrupted, and cancelled."
            return Diagnostic(self._step.script, self._step.start, "JETSQL.STATEMENT_CANCELLED", message)
        return diagnose(self._step, self._engine.error(self._error, self._step.text))


@contextmanager
def _python_interrupts() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt, and do nothing else, inside the context."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
