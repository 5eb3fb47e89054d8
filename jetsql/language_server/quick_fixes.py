"""Correct problems: a misspelled keyword, option or value, a spelling other than the manual's."""

from __future__ import annotations

from lsprotocol import types

from jetsql.errors import Span
from jetsql.language_server.document_checks import DocumentChecks
from jetsql.language_server.open_documents import Document


def quick_fixes(checks: DocumentChecks, document: Document, place: types.Range) -> list[types.CodeAction]:
    """Return a correction for each problem in a range that has one."""
    wanted = document.span(place)
    return [
        types.CodeAction(
            title=f"Write {problem.correction}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[checks.diagnostic(document, problem)],
            is_preferred=True,
            edit=types.WorkspaceEdit(
                changes={
                    document.uri: [
                        types.TextEdit(document.range(Span(problem.offset, problem.stop)), problem.correction)
                    ]
                }
            ),
        )
        for problem in checks.problems(document)
        if problem.correction and problem.offset <= wanted.stop and wanted.start <= problem.stop
    ]
