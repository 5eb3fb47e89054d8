"""Go from a name to where it is created, written and used; list the names of documents; fold statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lsprotocol import types

from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.language import split
from jetsql.language.tokens import Kind, scan, unquote
from jetsql.language_server.open_documents import Document
from jetsql.language_server.workspace_names import FileNames, PlacedName, WorkspaceNames
from jetsql.sqlfiles.name_uses import NamedKind, NameUse
from jetsql.sqlfiles.statement_names import is_same_name

_SYMBOLS: Final = {
    NamedKind.JOB: types.SymbolKind.Event,
    NamedKind.TABLE: types.SymbolKind.Class,
    NamedKind.VIEW: types.SymbolKind.Interface,
    NamedKind.FUNCTION: types.SymbolKind.Function,
    NamedKind.SNAPSHOT: types.SymbolKind.File,
    NamedKind.ALERT: types.SymbolKind.Event,
}
_RELATIONS: Final = (NamedKind.TABLE, NamedKind.VIEW)
_SYMBOLS_MOST: Final = 500
_LINE_LENGTH: Final = 100  # up to which a statement is searched for the name at the cursor


def name_at(names: FileNames, offset: int) -> PlacedName | None:
    """Return the name of a statement at an offset, or None; also directly after the name."""
    inside = (each for each in names.names if each.place.start <= offset < each.place.stop)
    after = (each for each in names.names if each.place.stop == offset)
    return next(inside, None) or next(after, None)


def name_or_word_at(names: FileNames, offset: int) -> PlacedName | None:
    """Return the name at an offset; in a statement with an error, the word as the name of a table."""
    return name_at(names, offset) or _word_at(names.document, offset)


def definitions(workspace: WorkspaceNames, named: PlacedName) -> list[types.Location]:
    """Return where a thing is created; for a table, the jobs that write it go first."""
    found = [each for each in _same(workspace, named) if each[1].use is not NameUse.USES]
    found.sort(key=lambda each: each[1].use is NameUse.CREATES)
    return _locations(found)


def references(workspace: WorkspaceNames, named: PlacedName, with_definitions: bool) -> list[types.Location]:
    """Return where a thing is used. with_definitions: also where it is created."""
    return _locations(
        [each for each in _same(workspace, named) if with_definitions or each[1].use is not NameUse.CREATES]
    )


def document_symbols(names: FileNames) -> list[types.DocumentSymbol]:
    """Return what the statements of a document create."""
    document = names.document
    return [
        types.DocumentSymbol(
            name=".".join(each.parts),
            kind=_SYMBOLS[each.kind],
            range=document.range(_around(each.statement, each.place)),
            selection_range=document.range(each.place),
            detail=each.kind.value,
        )
        for each in names.names
        if each.use is NameUse.CREATES
    ]


def workspace_symbols(workspace: WorkspaceNames, query: str) -> list[types.WorkspaceSymbol]:
    """Return what the files of the workspace create, with the letters of the query in their order."""
    found = []
    for file in workspace.all_files():
        for each in file.names:
            name = ".".join(each.parts)
            if each.use is NameUse.CREATES and _has_letters(name, query):
                place = types.Location(file.document.uri, file.document.range(each.place))
                found.append(types.WorkspaceSymbol(place, name, _SYMBOLS[each.kind]))
    return found[:_SYMBOLS_MOST]


def folding_ranges(document: Document) -> list[types.FoldingRange]:
    """Return the statements and comments of several lines."""
    places = [Span(each.start, each.start + len(each.text)) for each in split(document.text)]
    places += [token.place for token in scan(document.text) if token.kind is Kind.COMMENT]
    ranges = []
    for place in places:
        start, stop = document.position(place.start).line, document.position(place.stop).line
        if stop > start:
            is_comment = document.text.startswith("/*", place.start)
            kind = types.FoldingRangeKind.Comment if is_comment else types.FoldingRangeKind.Region
            ranges.append(types.FoldingRange(start, stop, kind=kind))
    return sorted(ranges, key=lambda each: each.start_line)


def _same(workspace: WorkspaceNames, named: PlacedName) -> list[tuple[Document, PlacedName]]:
    """Return the names of one thing in all files."""
    key = named.key

    def matches(other: PlacedName) -> bool:
        if named.kind in _RELATIONS:
            return other.kind in _RELATIONS and is_same_name(other.key, key)
        return other.kind is named.kind and other.key == key

    return workspace.find(matches, key[-1])


def _locations(found: Sequence[tuple[Document, PlacedName]]) -> list[types.Location]:
    return [types.Location(document.uri, document.range(each.place)) for document, each in found]


def _word_at(document: Document, offset: int) -> PlacedName | None:
    begin = max(document.text.rfind("\n", 0, offset) + 1, offset - _LINE_LENGTH)
    end = document.text.find("\n", offset)
    line = document.text[begin : end if end >= 0 else len(document.text)][: 2 * _LINE_LENGTH]
    for token in scan(line):
        if token.kind in (Kind.WORD, Kind.QUOTED) and token.start <= offset - begin <= token.stop:
            name = unquote(token.text) if token.kind is Kind.QUOTED else token.text
            place = Span(begin + token.start, begin + token.stop)
            return PlacedName(NamedKind.TABLE, NameUse.USES, (name,), place, place)
    return None


def _around(outer: Span, inner: Span) -> Span:
    """Return a span with both: a name is within its statement, also if a variable has moved its end."""
    return Span(min(outer.start, inner.start), max(outer.stop, inner.stop))


def _has_letters(name: str, query: str) -> bool:
    letters: Iterator[str] = iter(name_key(name))
    return all(letter in letters for letter in name_key(query))
