"""Check documents as `jetsql lint` does, and send problems and their corrections to the editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from jetsql.errors import Span
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel

if TYPE_CHECKING:
    from jetsql.language_server.open_documents import Document
    from jetsql.sqlfiles.lint_statement import CheckedStatement

PAUSE_SECONDS: Final = 0.2
"""The time after the last change until a document is checked."""

_SEVERITIES: Final = {
    ProblemLevel.ERROR: types.DiagnosticSeverity.Error,
    ProblemLevel.WARNING: types.DiagnosticSeverity.Warning,
    ProblemLevel.NOTE: types.DiagnosticSeverity.Information,
}
_STATEMENTS_MOST: Final = 2_000  # whose checks are kept, because a change is in one of them
_DOCUMENTS_MOST: Final = 8


@lru_cache(maxsize=_STATEMENTS_MOST)
def checked_statement(text: str) -> CheckedStatement:
    """Return the check of a statement; of a text that was checked before, the same one."""
    from jetsql.sqlfiles.lint_statement import CheckedStatement  # sqlglot would delay the start

    return CheckedStatement(text)


class DocumentChecks:
    """The problems of documents."""

    def __init__(self, values: Mapping[str, str], documentation: str = "") -> None:
        """Create it.

        values: the variables of the documents.
        documentation: the URL of the documentation's site, for links to the conditions; empty for no links.
        """
        self._values = values
        self._documentation = documentation.rstrip("/")
        self._problems: dict[str, tuple[Document, tuple[LintProblem, ...]]] = {}
        self._lock = Lock()

    def problems(self, document: Document) -> tuple[LintProblem, ...]:
        """Return the problems of a document, in the order of their places."""
        from jetsql.sqlfiles.lint_files import LintRun

        with self._lock:
            known = self._problems.get(document.uri)
            if known is not None and known[0] is document:
                return known[1]
            problems = tuple(LintRun(self._values, check_statement=checked_statement).check([document.file]))
            self._problems.pop(document.uri, None)
            while len(self._problems) >= _DOCUMENTS_MOST:
                del self._problems[next(iter(self._problems))]
            self._problems[document.uri] = document, problems
            return problems

    def diagnostics(self, document: Document) -> list[types.Diagnostic]:
        """Return the problems of a document for the editor."""
        return [self.diagnostic(document, problem) for problem in self.problems(document)]

    def diagnostic(self, document: Document, problem: LintProblem) -> types.Diagnostic:
        """Return a problem for the editor."""
        return types.Diagnostic(
            range=document.range(Span(problem.offset, problem.stop)),
            message=f"{problem.message} {problem.hint}".strip(),
            severity=_SEVERITIES[problem.level],
            code=problem.condition,
            code_description=self._description(problem.condition),
            source="jetsql",
        )

    def quick_fixes(self, document: Document, place: types.Range) -> list[types.CodeAction]:
        """Return a correction for each problem in a range that has one."""
        wanted = document.span(place)
        return [
            types.CodeAction(
                title=f"Write {problem.correction}",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[self.diagnostic(document, problem)],
                is_preferred=True,
                edit=types.WorkspaceEdit(
                    changes={
                        document.uri: [
                            types.TextEdit(document.range(Span(problem.offset, problem.stop)), problem.correction)
                        ]
                    }
                ),
            )
            for problem in self.problems(document)
            if problem.correction and problem.offset <= wanted.stop and wanted.start <= problem.stop
        ]

    def _description(self, condition: str) -> types.CodeDescription | None:
        if not self._documentation or not condition.startswith(PREFIX):
            return None
        name = condition.removeprefix(PREFIX).lower()
        return types.CodeDescription(href=f"{self._documentation}/reference/errors/#{name}")


CurrentDocument = Callable[[str], "Document | None"]
Publish = Callable[["Document", Sequence[types.Diagnostic]], None]


class CheckSchedule:
    """Check documents after changes: one check of a document at a time, and none while the user types."""

    def __init__(self, checks: DocumentChecks, current: CurrentDocument, publish: Publish) -> None:
        """Create it. current: returns the newest text of a document. publish: sends its problems to the editor."""
        self._checks = checks
        self._current = current
        self._publish = publish
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def request(self, uri: str) -> None:
        """Check a document after a pause. Returns immediately."""
        running = self._tasks.get(uri)
        if running is None or running.done():  # a task that is not done takes the newest text
            self._tasks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    def close(self) -> None:
        """Check no more."""
        for task in list(self._tasks.values()):
            task.cancel()

    async def _check(self, uri: str) -> None:
        checked: Document | None = None
        while (document := self._current(uri)) is not None and document is not checked:
            await asyncio.sleep(PAUSE_SECONDS)
            if self._current(uri) is document:
                found = await asyncio.to_thread(self._checks.diagnostics, document)
                checked = document
                if self._current(uri) is document:
                    self._publish(document, found)
