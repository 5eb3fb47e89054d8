"""Format files in place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from jetsql.errors import StatementError
from jetsql.output.counts import counted
from jetsql.sqlfiles.formatting.format_script import format_script
from jetsql.sqlfiles.lint_problems import LintProblem, ProblemLevel
from jetsql.sqlfiles.read_sql_files import STDIN, SqlFile


@dataclass(frozen=True)
class FormattedFile:
    """A file after formatting."""

    file: SqlFile
    text: str
    problems: tuple[LintProblem, ...]

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff of the file and its new text."""
        name = self.file.script.name
        before, after = self.file.text.splitlines(keepends=True), self.text.splitlines(keepends=True)
        for line in unified_diff(before, after, name, f"{name} (formatted)"):
            yield line.rstrip("\r\n")


class FileFormatter:
    """Format files, and count them."""

    def __init__(self, only_check: bool) -> None:
        """Create it. only_check: write no file."""
        self._only_check = only_check
        self._counts: Counter[str] = Counter()

    @property
    def changed(self) -> bool:
        """Return whether a file was changed or would be."""
        return self._counts["changed"] > 0

    @property
    def failed(self) -> bool:
        """Return whether a file has an error because of which it stays as it is."""
        return self._counts["failed"] > 0

    def format(self, file: SqlFile) -> FormattedFile:
        """Format a file and write it, unless it is standard input or nothing is written. Raises OSError."""
        formatted = self._format(file)
        if any(problem.level is ProblemLevel.ERROR for problem in formatted.problems):
            self._counts["failed"] += 1
        elif formatted.text == file.text:
            self._counts["unchanged"] += 1
        else:
            self._counts["changed"] += 1
            if file.name != STDIN and not self._only_check:
                _write(Path(file.name), file.encoded(formatted.text))
        return formatted

    def summary(self) -> str:
        """Return a sentence with the number of files."""
        done = "would be formatted" if self._only_check else "formatted"
        names = {"changed": done, "unchanged": "left unchanged", "failed": "with an error"}
        found = (f"{counted(self._counts[kind], 'file')} {name}" for kind, name in names.items() if self._counts[kind])
        return f"{', '.join(found) or 'No files'}."

    def _format(self, file: SqlFile) -> FormattedFile:
        if file.problem is not None:
            return FormattedFile(file, file.text, (file.problem,))
        script = file.script
        try:
            formatted = format_script(script, file.line_ends)
        except StatementError as error:
            at = error.place.start if error.place else 0
            problem = LintProblem(script, at, at + 1, ProblemLevel.ERROR, error.condition, error.message, error.hint)
            return FormattedFile(file, file.text, (problem,))
        return FormattedFile(file, formatted.text, formatted.notes)


def _write(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically: an interruption leaves the old content or the new one."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=".jetsql-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        shutil.copymode(target, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
