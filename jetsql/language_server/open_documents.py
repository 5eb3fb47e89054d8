"""The documents that are open in the editor, with their newest text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from jetsql.errors import Span
from jetsql.language_server.text_positions import UTF_16, TextPositions
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.read_sql_files import SqlFile


@dataclass(frozen=True)
class Document:
    """A text at one version. It never changes, so a thread can read it while the user types."""

    uri: str
    text: str
    version: int = 0
    encoding: str = UTF_16  # of columns

    @cached_property
    def positions(self) -> TextPositions:
        """Return the positions in the text."""
        return TextPositions(self.text, self.encoding)

    @property
    def name(self) -> str:
        """Return the name of the document for messages: its file name."""
        return unquote(urlsplit(self.uri).path).rpartition("/")[2] or self.uri

    @property
    def script(self) -> Script:
        """Return the document as a script."""
        return Script(self.name, self.text)

    @property
    def file(self) -> SqlFile:
        """Return the document as a file for `jetsql lint` and `jetsql format`."""
        line_end = self.text.find("\n")
        return SqlFile(self.name, self.text, "\r\n" if line_end > 0 and self.text[line_end - 1] == "\r" else "\n")

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position."""
        return self.positions.offset(position.line, position.character)

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset."""
        return types.Position(*self.positions.position(offset))

    def range(self, place: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position(place.start), self.position(place.stop))

    def span(self, place: types.Range) -> Span:
        """Return the span of a range."""
        return Span(self.offset(place.start), self.offset(place.end))

    def changed(self, changes: Sequence[types.TextDocumentContentChangeEvent], version: int) -> Document:
        """Return the document after changes, each of which refers to the text after the one before."""
        document = self
        for change in changes:
            text = change.text
            if isinstance(change, types.TextDocumentContentChangePartial):
                place = document.span(change.range)
                text = document.text[: place.start] + text + document.text[max(place.start, place.stop) :]
            document = Document(self.uri, text, version, self.encoding)
        return document


@dataclass
class OpenDocuments:
    """The open documents by their URIs."""

    encoding: str = UTF_16
    _documents: dict[str, Document] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._documents.values()))

    def get(self, uri: str) -> Document | None:
        """Return an open document, or None."""
        return self._documents.get(uri)

    def open(self, item: types.TextDocumentItem) -> Document:
        """Add a document, and return it."""
        document = Document(item.uri, item.text, item.version, self.encoding)
        self._documents[item.uri] = document
        return document

    def change(self, params: types.DidChangeTextDocumentParams) -> Document | None:
        """Change a document, and return it; None if it is not open."""
        document = self._documents.get(params.text_document.uri)
        if document is None:
            return None
        document = document.changed(params.content_changes, params.text_document.version)
        self._documents[document.uri] = document
        return document

    def close(self, uri: str) -> None:
        """Remove a document."""
        self._documents.pop(uri, None)


def file_path(uri: str) -> Path | None:
    """Return the path of a file by its URI, or None for another URI."""
    from pygls.uris import to_fs_path

    path = to_fs_path(uri)
    return Path(path) if path and uri.startswith("file:") else None


def file_uri(path: Path) -> str:
    """Return the URI of a file."""
    return path.absolute().as_uri()
