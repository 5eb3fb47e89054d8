"""The protocol of objects that show results and errors: a console, a notebook, a test."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class ResultSink(Protocol):
    """Show the results and errors of a run. Raises OutputClosed when the reader is gone."""

    def write_line(self, line: str) -> None:
        """Write one line of a result."""

    def show_error(self, text: str) -> None:
        """Show an error, in one or more lines."""

    def print_message(self, text: str) -> None:
        """Print a text that is neither a result nor an error, in one or more lines."""

    def report_if_slow(self, what: str) -> AbstractContextManager[object]:
        """Report that `what` is running if the block takes long."""

    def flush(self) -> None:
        """Make everything written so far visible."""


class OutputClosed(Exception):
    """The reader of the output is gone."""
