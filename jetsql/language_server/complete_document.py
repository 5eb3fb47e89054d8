"""Complete documents with the completion of the shell."""

from __future__ import annotations

from itertools import islice
from typing import Final

from lsprotocol import types

from jetsql.completion.candidates import Candidate, CandidateKind
from jetsql.completion.complete import complete
from jetsql.completion.known_names import Names
from jetsql.errors import Span
from jetsql.language_server.open_documents import Document

TRIGGERS: Final = (".", "'", "`", " ")
_ITEMS_MOST: Final = 300
_KINDS: Final = {
    CandidateKind.KEYWORD: types.CompletionItemKind.Keyword,
    CandidateKind.COLUMN: types.CompletionItemKind.Field,
    CandidateKind.ALIAS: types.CompletionItemKind.Variable,
    CandidateKind.CTE: types.CompletionItemKind.Variable,
    CandidateKind.TABLE: types.CompletionItemKind.Class,
    CandidateKind.VIEW: types.CompletionItemKind.Interface,
    CandidateKind.SCHEMA: types.CompletionItemKind.Module,
    CandidateKind.FUNCTION: types.CompletionItemKind.Function,
    CandidateKind.JOB: types.CompletionItemKind.Event,
    CandidateKind.SNAPSHOT: types.CompletionItemKind.File,
    CandidateKind.ALERT: types.CompletionItemKind.Event,
    CandidateKind.OPTION: types.CompletionItemKind.Property,
    CandidateKind.VALUE: types.CompletionItemKind.EnumMember,
    CandidateKind.CONF: types.CompletionItemKind.Property,
}


def completion_items(
    document: Document, position: types.Position, names: Names, is_typed_space: bool
) -> list[types.CompletionItem]:
    """Return what can be written at a position, the most relevant first.

    is_typed_space: the request came from a space, at which keywords alone would be in the way.
    """
    cursor = document.offset(position)
    found = complete(document.text, cursor, names)
    if is_typed_space and all(each.kind in (CandidateKind.KEYWORD, CandidateKind.FUNCTION) for each in found):
        return []
    return [_item(document, cursor, each, rank) for rank, each in enumerate(islice(found, _ITEMS_MOST))]


def _item(document: Document, cursor: int, candidate: Candidate, rank: int) -> types.CompletionItem:
    place = document.range(Span(candidate.start, cursor))
    written = document.text[candidate.start : cursor]
    return types.CompletionItem(
        label=candidate.display,
        kind=_KINDS[candidate.kind],
        detail=candidate.kind.value,
        documentation=candidate.description or None,
        sort_text=f"{rank:04}",
        # The editor filters by what is written, which may begin with a quote.
        filter_text=candidate.text if written[:1] in ("'", '"', "`") else candidate.display,
        text_edit=types.TextEdit(range=place, new_text=candidate.text),
    )
