"""Find and read SQL files: the files of folders, and texts that may not be UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel

STDIN: Final = "-"
LARGEST_FILE: Final = 2_000_000
"""The size of the largest file that is read, in characters. Reading one that consists of data takes some seconds."""

_SUFFIX: Final = ".sql"
_BOM: Final = "\ufeff"


@dataclass(frozen=True)
class SqlFile:
    """A file and its text."""

    name: str  # as the user wrote it, or below the folder that the user wrote
    text: str  # without a byte order mark; undecodable bytes are surrogates
    line_ends: str = "\n"  # "\r\n" if its first line ends so
    has_mark: bool = False  # it begins with a byte order mark
    wrong_byte: int | None = None  # the offset in the text of the first byte that is not UTF-8

    @property
    def script(self) -> Script:
        """Return the file as a script for messages."""
        return Script("<stdin>" if self.name == STDIN else self.name, self.text)

    @property
    def problem(self) -> LintProblem | None:
        """Return why the file is not read, or None."""
        at, condition = self.wrong_byte, f"{PREFIX}FILE_NOT_READABLE"
        if at is not None:
            message = "This byte is not UTF-8, so the file was not read."
            hint = "Convert the file to UTF-8, or leave it out."
            return LintProblem(self.script, at, at + 1, ProblemLevel.ERROR, condition, message, hint)
        if len(self.text) > LARGEST_FILE:
            message = f"The file has {len(self.text)} characters, and more than {LARGEST_FILE} are not read."
            hint = "Split the file, and load data with a table. `jetsql run` takes files of any size."
            return LintProblem(self.script, 0, 0, ProblemLevel.ERROR, condition, message, hint)
        return None

    def encoded(self, text: str) -> bytes:
        """Return another text as the bytes of this file."""
        return ((_BOM if self.has_mark else "") + text).encode("utf-8")


def find_sql_files(names: Sequence[str]) -> Iterator[str]:
    """Yield the files with these names, and the SQL files in folders with these names, in order of their names.

    Raises OSError for a name that does not exist.
    """
    for name in names:
        path = Path(name)
        if name == STDIN or not path.is_dir():
            yield name
            continue
        found = (file for file in path.rglob(f"*{_SUFFIX}") if file.is_file())
        yield from sorted(str(file) for file in found if not _is_hidden(file.relative_to(path)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_sql_file(name: str) -> SqlFile:
    """Return a file, or standard input for `-`. Raises OSError."""
    content = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    try:
        text, wrong = content.decode("utf-8"), None
    except UnicodeDecodeError as error:
        wrong = len(content[: error.start].decode("utf-8"))
        text = content.decode("utf-8", errors="surrogateescape")
    has_mark = text.startswith(_BOM)
    if has_mark:
        text, wrong = text[1:], None if wrong is None else wrong - 1
    line_end = text.find("\n")
    line_ends = "\r\n" if line_end > 0 and text[line_end - 1] == "\r" else "\n"
    return SqlFile(name, text, line_ends, has_mark, wrong)
