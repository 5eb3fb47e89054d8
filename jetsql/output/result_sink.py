"""Where results and mistakes are shown: a console, a notebook, a test."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class ResultSink(Protocol):
    """Where a run shows itself. Its own failures (nobody reads any more) must be `SurfaceLost`."""

    def result(self, line: str) -> None:
        """One line of a result."""

    def mistake(self, text: str) -> None:
        """What is wrong, in one or more lines."""

    def busy(self, what: str) -> AbstractContextManager[object]:
        """Tell that `what` is under way, should the block take long."""

    def flush(self) -> None:
        """Let people see what has been shown so far."""


class SurfaceLost(Exception):
    """Nobody reads the output any more."""
