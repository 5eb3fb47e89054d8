"""Find the damage in the state of a checkpoint: the files from which Spark loads the state of its newest batch.

    state/<operator>/<partition>/[<store>/]<version>_<id>.changelog     the changes of a version
    state/<operator>/<partition>/[<store>/]<version>_<id>.zip           a whole version, with a list of files in SSTs/
    state/<operator>/<partition>/[<store>/]_metadata/schema             the types of keys and values
    state/<operator>/_metadata/                                         the name of the operator and its stores

A batch writes the version with the number after its own. Its commit names the ids of the files. Spark writes a checksum
of each file next to it (`<file>.crc`, JSON).
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from jetsql.jobs.checkpoint_files.crc32c import crc32c
from jetsql.jobs.checkpoint_files.log_entries import Log, json_lines, json_object, missing, range_text
from jetsql.jobs.checkpoint_files.stored_files import StoredFiles

_FILE: Final = re.compile(r"(?P<version>\d+)(_(?P<id>[^.]+))?\.(?P<kind>changelog|delta|zip|snapshot)")
_WHOLE: Final = ("zip", "snapshot")
_SCHEMA: Final = re.compile(r"\d+/0/([^/]+/)?_metadata/schema")
# Without it, Spark cannot find the schemas of an operator with several variables. A start does not read `metadata`.
_OPERATOR: Final = re.compile(r"\d+/_metadata/v2/\d+")
_STATE_SCHEMA: Final = re.compile(r"\d+/_stateSchema/[^/]+/[^/]+")

Problem = tuple[str, str]
"""A path, and the predicate to it."""


def find_state_damages(files: StoredFiles, folder: str, commits: Log, keeps_state: bool) -> Iterator[Problem]:
    """Return the damage in the state of the newest commit.

    folder: that of the checkpoint. keeps_state: whether there must be state if the commit names none.
    """
    if commits.newest is None:
        return
    try:
        ids = state_ids(json_lines(files, commits.path(commits.newest))[0])
    except (FileNotFoundError, ValueError):
        return  # the damage of this commit is reported
    if ids == {} or (ids is None and not keeps_state):
        return
    yield from _State(files, f"{folder}/state", commits, ids).damages()


def state_ids(facts: object) -> Mapping[str, frozenset[str]] | None:
    """Return the ids of the state files that a commit names, by operator and partition; None if it names none.

    facts: those of the commit. Raises ValueError with the problem as a phrase.
    """
    named = facts.get("stateUniqueIds") if isinstance(facts, dict) else None
    if named is None:
        return None
    try:
        return {
            f"{int(operator)}/{number}": frozenset(str(id_) for id_ in ids)
            for operator, partitions in named.items()
            for number, ids in enumerate(partitions)
        }
    except (TypeError, AttributeError, ValueError):
        raise ValueError("its references to state are malformed") from None


@dataclass(frozen=True)
class _State:
    """The state of one commit."""

    files: StoredFiles
    folder: str
    commits: Log
    ids: Mapping[str, frozenset[str]] | None  # of its files, by operator and partition
    _ids_by_version: dict[int, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files.list_tree(self.folder))

    @cached_property
    def _stores(self) -> Mapping[str, list[re.Match[str]]]:
        """Return the files with versions of each store, by its folder."""
        stores = defaultdict[str, list[re.Match[str]]](list)
        for name in sorted(self._names):
            store, _, file = name.rpartition("/")
            match = _FILE.fullmatch(file)
            if match is not None and store.count("/") >= 1:
                stores[store].append(match)
        return stores

    @property
    def _version(self) -> int:
        assert self.commits.newest is not None, "the state is that of a commit"
        return self.commits.newest + 1

    def damages(self) -> Iterator[Problem]:
        if not self._stores:
            yield self.folder, "is missing or empty"
            return
        operators = {partition.partition("/")[0] for partition in self.ids or map(_partition, self._stores)}
        yield from self._description_damages(operators)
        for store in self._stores:
            if self.ids is None or _partition(store) in self.ids:  # Spark keeps partitions that the job had before
                yield from self._store_damages(store)
        for partition, ids in (self.ids or {}).items():
            yield from self._absent_files(partition, ids)

    def _absent_files(self, partition: str, ids: frozenset[str]) -> Iterator[Problem]:
        """Check that a partition has a file with each id of the commit. One id is that of the only store."""
        stores = [store for store in self._stores if _partition(store) == partition]
        present = {match["id"] for store in stores for match in self._stores[store]}
        if len(ids) == 1 and not stores and any(name.startswith(f"{partition}/") for name in self._names):
            yield f"{self.folder}/{partition}/{self._version}_{next(iter(ids))}.changelog", "is missing"
        elif not stores or (len(ids) > 1 and not present.issuperset(ids)):
            yield f"{self.folder}/{partition}", f"lacks files of batch {self._version - 1}"

    def _store_damages(self, store: str) -> Iterator[Problem]:
        """Check that a store has its last whole version and every change since."""
        known = [match for match in self._stores[store] if self._is_named(store, match)]
        version = self._version
        whole = (int(each["version"]) for each in known if each["kind"] in _WHOLE and int(each["version"]) <= version)
        begin = max(whole, default=0)
        for gap in missing((int(match["version"]) for match in known), begin + 1, version):
            yield self._gap(store, gap)
        for match in known:
            at = int(match["version"])
            if at == begin and match["kind"] in _WHOLE:
                yield from self._whole_damages(store, match.string)
            elif begin < at <= version and match["kind"] not in _WHOLE:
                yield from self._content_damages(f"{store}/{match.string}")

    def _gap(self, store: str, gap: range) -> Problem:
        """Return the damage of a store that lacks versions, with the file's name if the commit has it."""
        ids = self._ids_of(gap.start).get(_partition(store), frozenset())
        if len(gap) == 1 and len(ids) == 1:
            return f"{self.folder}/{store}/{gap.start}_{next(iter(ids))}.changelog", "is missing"
        return f"{self.folder}/{store}", f"lacks version {range_text(gap)}"

    def _is_named(self, store: str, match: re.Match[str]) -> bool:
        """Return whether a file belongs to a committed batch, or this is not known. Failed tasks leave others."""
        ids = self._ids_of(int(match["version"])).get(_partition(store))
        return ids is None or match["id"] is None or match["id"] in ids

    def _ids_of(self, version: int) -> Mapping[str, frozenset[str]]:
        if version not in self._ids_by_version:
            self._ids_by_version[version] = {}
            if version - 1 in self.commits.numbers:
                with suppress(FileNotFoundError, ValueError):  # an old commit that no start needs
                    facts = json_lines(self.files, self.commits.path(version - 1))[0]
                    self._ids_by_version[version] = state_ids(facts) or {}
        return self._ids_by_version[version]

    def _whole_damages(self, store: str, name: str) -> Iterator[Problem]:
        """Check a whole version, and the files that it refers to."""
        found = list(self._content_damages(f"{store}/{name}"))
        yield from found
        if found or not name.endswith(".zip"):
            return
        try:
            content = self.files.read_checked(f"{self.folder}/{store}/{name}")
            referred = _referred_files(content)
        except FileNotFoundError:
            return
        except ValueError as error:
            yield f"{self.folder}/{store}/{name}", f"is not readable: {error}"
            return
        for file, size in referred.items():
            yield from self._content_damages(f"{store}/SSTs/{file}", size)

    def _content_damages(self, name: str, size: int | None = None) -> Iterator[Problem]:
        """Check a file against the checksums of Hadoop and Spark. size: its size in bytes, if it is known."""
        path = f"{self.folder}/{name}"
        try:
            content = self.files.read_checked(path)
        except FileNotFoundError:
            yield path, "is missing"
            return
        except ValueError as error:
            yield path, f"is not readable: {error}"
            return
        if size is not None and len(content) != size:
            yield path, f"is not readable: it has {len(content)} bytes of {size}"
        elif f"{name}.crc" in self._names:
            yield from self._sum_damages(path, content)

    def _sum_damages(self, path: str, content: bytes) -> Iterator[Problem]:
        try:
            sums = json_object(self.files, f"{path}.crc")
            size, value = int(str(sums["mainFileSize"])), int(str(sums["value"]))
        except FileNotFoundError:
            return
        except (ValueError, KeyError) as error:
            yield f"{path}.crc", f"is not readable: {f'it lacks {error}' if isinstance(error, KeyError) else error}"
            return
        if len(content) != size:
            yield path, f"is not readable: it has {len(content)} bytes of {size}"
        elif not self.files.has_checksums(path) and crc32c(content) != value & 0xFFFFFFFF:
            yield path, "is not readable: its checksum does not match"

    def _description_damages(self, operators: set[str]) -> Iterator[Problem]:
        """Check the files that name types, and the stores of operators with several variables."""
        for name in sorted(self._names):
            path = f"{self.folder}/{name}"
            if name.partition("/")[0] not in operators:
                continue
            try:
                if _OPERATOR.fullmatch(name):
                    json_lines(self.files, path)
                elif _SCHEMA.fullmatch(name):
                    _read_schema(self.files.read_checked(path))
                elif _STATE_SCHEMA.fullmatch(name):
                    self.files.read_checked(path)
            except FileNotFoundError:
                continue  # a running engine has replaced it
            except ValueError as error:
                yield path, f"is not readable: {error}"


def _partition(store: str) -> str:
    """Return the operator and partition of a store's folder."""
    return "/".join(store.split("/")[:2])


def _referred_files(content: bytes) -> dict[str, int]:
    """Return the names and sizes of the files that a whole version refers to. Raises ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"its part {damaged} is damaged")
            text = archive.read("metadata").decode() if "metadata" in archive.namelist() else "\n{}"
        entries = json.loads(text.partition("\n")[2]).get("sstFiles", ())
        return {str(entry["dfsSstFileName"]): int(entry["sizeBytes"]) for entry in entries}
    except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError("it is not a complete archive") from error


def _read_schema(content: bytes) -> None:
    """Raise ValueError for a schema that Spark cannot read.

    Java's `DataOutputStream` writes it: its version, then twice a number of texts with the types of keys and of values.
    """
    if not content.strip(b"\0"):
        raise ValueError("it is empty")
    stream = io.BytesIO(content)
    try:
        if _read_texts(stream, 1) != "v2":
            raise ValueError("it does not begin with a version")
        for _ in ("keys", "values"):
            json.loads(_read_texts(stream, *struct.unpack(">i", stream.read(4))))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError("it is truncated or was changed") from error
    except json.JSONDecodeError as error:
        raise ValueError("its types are not JSON") from error


def _read_texts(stream: io.BytesIO, number: int) -> str:
    """Read texts of Java's `writeUTF`. Raises struct.error, UnicodeDecodeError."""
    texts = []
    for _ in range(number):
        [size] = struct.unpack(">H", stream.read(2))
        text = stream.read(size)
        if len(text) < size:
            raise struct.error("the text is truncated")
        texts.append(text.decode())
    return "".join(texts)
