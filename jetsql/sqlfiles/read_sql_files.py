"""Find and read SQL files: the files of folders, and texts that may not be UTF-8."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel

STDIN: Final = "-"
LARGEST_FILE: Final = 1_000_000
"""The size of the largest file that is read, in characters. Reading one that consists of tiny statements takes most of
a minute."""

_MOST_BYTES: Final = 4 * LARGEST_FILE + 4  # a character has at most 4 bytes
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
        zero = self.text.find("\0")
        if zero >= 0:
            message = "This byte is zero, so the file is no text in UTF-8 and was not read."
            hint = "Convert the file to UTF-8 if it is a text in UTF-16, or leave it out."
            return LintProblem(self.script, zero, zero + 1, ProblemLevel.ERROR, condition, message, hint)
        if len(self.text) > LARGEST_FILE:
            message = f"The file has more than {LARGEST_FILE} characters, and was not read."
            hint = "Split the file, and load data with a table. `jetsql run` takes files of any size."
            return LintProblem(self.script, 0, 0, ProblemLevel.ERROR, condition, message, hint)
        return None

    def encoded(self, text: str) -> bytes:
        """Return another text as the bytes of this file."""
        return ((_BOM if self.has_mark else "") + text).encode("utf-8")


def find_sql_files(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files with these names, and the SQL files in folders with these names, in order of their names.

    Hidden files and folders are left out, and links to folders are not followed. The second list has the links in a
    folder to files and folders outside of it. Raises OSError for a folder that cannot be read.
    """
    found: list[str] = []
    outside: list[str] = []
    for name in names:
        if name == STDIN or not os.path.isdir(name):
            found.append(name)
            continue
        root = Path(name).resolve()
        for file in sorted(_files_in(Path(name))):
            if os.path.islink(file) and not Path(file).resolve().is_relative_to(root):
                outside.append(file)
            elif not os.path.isdir(file):
                found.append(file)
    return found, outside


def _files_in(folder: Path) -> Iterator[str]:
    """Yield the SQL files in a folder and below, and the links to folders."""
    for place, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found = (str(Path(place) / each) for each in files if each.endswith(_SUFFIX) and not each.startswith("."))
        yield from filter(_is_file, found)
        yield from filter(os.path.islink, (str(Path(place) / each) for each in folders))


def _is_file(name: str) -> bool:
    """Return whether a name is that of a file, or of a link to one. Raises OSError without the right to know."""
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return False  # a link that leads nowhere
        raise


def _raise(error: OSError) -> NoReturn:
    raise error


def _read(name: str) -> bytes:
    """Return the content of a file; of a larger one than is checked, or one without end, only the beginning."""
    if name != STDIN:
        with open(name, "rb") as file:
            return file.read(_MOST_BYTES)
    if sys.stdin is None:
        raise OSError(errno.EBADF, "Standard input is closed")
    return sys.stdin.buffer.read(_MOST_BYTES)


def read_sql_file(name: str) -> SqlFile:
    """Return a file, or standard input for `-`. Raises OSError."""
    content = _read(name)
    is_whole = len(content) < _MOST_BYTES  # otherwise it can end inside of a character
    try:
        text, wrong = codecs.utf_8_decode(content, "strict", is_whole)[0], None
    except UnicodeDecodeError as error:
        wrong = len(content[: error.start].decode("utf-8"))
        text = content.decode("utf-8", errors="surrogateescape")
    has_mark = text.startswith(_BOM)
    if has_mark:
        text, wrong = text[1:], None if wrong is None else wrong - 1
    line_end = text.find("\n")
    line_ends = "\r\n" if line_end > 0 and text[line_end - 1] == "\r" else "\n"
    return SqlFile(name, text, line_ends, has_mark, wrong)
