"""The names in the SQL files of the workspace and in the open documents: where they are created, written and used."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final

from jetsql.completion.known_names import JobName, KnownName, Names, SnapshotName, TableKey, TableName
from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.language_server.document_checks import checked_statement
from jetsql.language_server.open_documents import Document, file_path, file_uri

if TYPE_CHECKING:
    from jetsql.script import PreparedStatement
    from jetsql.sqlfiles.name_uses import DefinedColumn, NamedKind, NameUse

_SCAN_SECONDS: Final = 5.0
"""The time for which the files of the workspace are taken as unchanged, unless the editor reports a change."""
_FILES_MOST: Final = 2_000
_ENTRIES_MOST: Final = 50_000  # of the folders; a workspace may be a home folder
_LARGEST: Final = 1_000_000
"""The size of the largest file on the disk that is read, in bytes. Larger ones contain data."""
_OTHER_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "target", "build", "dist", "venv"})


@dataclass(frozen=True)
class PlacedName:
    """A name in a document."""

    kind: NamedKind
    use: NameUse
    parts: tuple[str, ...]
    place: Span  # in the document
    statement: Span  # the statement around it, in the document

    @property
    def key(self) -> tuple[str, ...]:
        """Return the name in the form in which names are compared."""
        return tuple(name_key(part) for part in self.parts)


@dataclass(frozen=True)
class FileNames:
    """The names of one document."""

    document: Document
    names: tuple[PlacedName, ...]
    columns: Mapping[tuple[str, ...], tuple[DefinedColumn, ...]]  # of the tables that it creates, by their keys

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the last parts of all names, to find out quickly whether the document has one."""
        return frozenset(name.key[-1] for name in self.names)


def read_names(document: Document, values: Mapping[str, str]) -> FileNames:
    """Return the names of a document. values: its variables; a statement with another one is left out."""
    from jetsql.script import PreparedStatement, prepare
    from jetsql.sqlfiles.name_uses import NameUse, defined_columns, statement_names

    names: list[PlacedName] = []
    columns: dict[tuple[str, ...], tuple[DefinedColumn, ...]] = {}
    steps = () if document.file.problem is not None else prepare([document.script], values)
    for step in steps:
        if not isinstance(step, PreparedStatement):
            continue
        checked = checked_statement(step.filled.text)
        statement = Span(step.start, step.start + len(step.fragment.text))
        for each in statement_names(checked):
            name = PlacedName(each.kind, each.use, each.parts, _origin(step, each.place), statement)
            names.append(name)
            if each.use is NameUse.CREATES and (defined := defined_columns(checked)):
                columns[name.key] = defined
    return FileNames(document, tuple(names), columns)


def _origin(step: PreparedStatement, place: Span) -> Span:
    start = step.start + step.filled.original(place.start)
    return Span(start, max(start, step.start + step.filled.original(max(place.stop - 1, place.start)) + 1))


@dataclass
class WorkspaceNames:
    """The names of all files. Its methods may be called on several threads."""

    documents: Iterable[Document]  # the open ones; they replace the files on the disk
    values: Mapping[str, str]  # the variables
    folders: Callable[[], Sequence[Path]]  # of the workspace
    encoding: str
    _scanned: float | None = None
    _files: dict[Path, tuple[tuple[int, int], FileNames]] = field(default_factory=dict)
    _open: dict[str, FileNames] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def expire(self) -> None:
        """Read changed files again at the next use."""
        self._scanned = None

    def all_files(self) -> list[FileNames]:
        """Return the names of the open documents, then those of the other files."""
        with self._lock:
            if self._scanned is None or monotonic() - self._scanned > _SCAN_SECONDS:
                self._scan()
                self._scanned = monotonic()
            documents = {document.uri: document for document in self.documents}
            self._open = {uri: self._names_of(document) for uri, document in documents.items()}
            opened = {file_path(uri) for uri in documents}
            others = [names for path, (_, names) in self._files.items() if path not in opened]
            return [*self._open.values(), *others]

    def of_document(self, document: Document) -> FileNames:
        """Return the names of an open document."""
        with self._lock:
            names = self._open[document.uri] = self._names_of(document)
            return names

    def find(self, matches: Callable[[PlacedName], bool], key: str) -> list[tuple[Document, PlacedName]]:
        """Return the names that match. key: their last part, in the form in which names are compared."""
        files = [each for each in self.all_files() if key in each.keys]
        return [(each.document, name) for each in files for name in each.names if matches(name)]

    def _names_of(self, document: Document) -> FileNames:
        known = self._open.get(document.uri)
        return known if known is not None and known.document is document else read_names(document, self.values)

    def _scan(self) -> None:
        files: dict[Path, tuple[tuple[int, int], FileNames]] = {}
        for path in islice(_sql_files(self.folders()), _FILES_MOST):
            try:
                status = path.stat()
                stamp = status.st_mtime_ns, status.st_size
                known = self._files.get(path)
                if known is not None and known[0] == stamp:
                    files[path] = known
                elif stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                    text = path.read_bytes().decode("utf-8", errors="replace")
                    document = Document(file_uri(path), text, encoding=self.encoding)
                    files[path] = stamp, read_names(document, self.values)
            except OSError:
                continue  # it was deleted meanwhile, or the user may not read it
        self._files = files


def _sql_files(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the SQL files below folders, without hidden folders and those of other tools."""
    left = _ENTRIES_MOST
    for folder in folders:
        for parent, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in _OTHER_FOLDERS)
            left -= len(inner) + len(names)
            yield from (Path(parent, name) for name in sorted(names) if name.endswith(".sql"))
            if left < 0:
                return


def add_file_names(names: Names, files: Iterable[FileNames]) -> Names:
    """Return the names of an engine with those of files, for completion: the engine may not have them yet."""
    from jetsql.sqlfiles.name_uses import NamedKind, NameUse

    jobs = {name_key(job.name): job for job in names.jobs}
    snapshots = {name_key(snapshot.name): snapshot for snapshot in names.snapshots}
    alerts = {name_key(alert.name): alert for alert in names.alerts}
    tables = {schema: {table.name.lower(): table for table in known} for schema, known in names.tables.items()}
    schemas = {schema.lower(): schema for schema in names.schemas}
    functions = {function.name.lower(): function for function in names.functions}
    columns = dict(names.columns)
    for each in files:
        for name in each.names:
            last = name.parts[-1]
            if name.kind is NamedKind.JOB and name.use is NameUse.CREATES:
                jobs.setdefault(name_key(last), JobName("", last, None))
            elif name.kind is NamedKind.SNAPSHOT and name.use is NameUse.CREATES:
                snapshots.setdefault(name_key(last), SnapshotName(last, ""))
            elif name.kind is NamedKind.ALERT and name.use is NameUse.CREATES:
                alerts.setdefault(name_key(last), KnownName(last, each.document.name))
            elif name.kind is NamedKind.FUNCTION and name.use is NameUse.CREATES:
                functions.setdefault(last.lower(), KnownName(last, each.document.name))
            elif name.kind in (NamedKind.TABLE, NamedKind.VIEW):
                schema = name.parts[-2] if len(name.parts) > 1 else names.schema
                if len(name.parts) > 1:
                    schemas.setdefault(schema.lower(), schema)
                table = TableName(last, name.kind is NamedKind.VIEW)
                tables.setdefault(schema.lower(), {}).setdefault(last.lower(), table)
                defined = each.columns.get(name.key, ())
                key = TableKey(schema.lower(), last.lower())
                if defined and not columns.get(key):
                    columns[key] = tuple(KnownName(column.name, column.type) for column in defined)
    return replace(
        names,
        jobs=tuple(jobs.values()),
        snapshots=tuple(snapshots.values()),
        alerts=tuple(alerts.values()),
        schemas=tuple(schemas.values()),
        tables={schema: tuple(known.values()) for schema, known in tables.items()},
        columns=columns,
        functions=tuple(functions.values()),
    )
