"""A result sink in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Transcript:
    """A result sink that records results and errors in their order, as `jetsql run` prints them."""

    lines: list[str] = field(default_factory=list)

    def write_line(self, line: str) -> None:
        self.lines.append(line)

    def show_error(self, text: str) -> None:
        self.lines += text.split("\n")

    def print_message(self, text: str) -> None:
        self.lines += text.split("\n")

    @contextmanager
    def report_if_slow(self, what: str) -> Iterator[None]:
        yield

    def flush(self) -> None:
        """Do nothing: no line is buffered."""
