"""Copies of files with their digests, and the lists of files below a folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from jetsql import request
from jetsql.backup.backup_manifest import SavedFile
from jetsql.home.private_files import private_folders, private_opener, regular_opener

_CHUNK: Final = 1024 * 1024
_UNFINISHED: Final = re.compile(r"_temporary|\.spark-staging.*")
_VERSIONS: Final = re.compile(r"\..*\.versions")
_VERSION: Final = re.compile(r"(?P<job>\w{4}(-\w{4}){3})-[\d-]+")
_KEPT_VERSIONS: Final = 2


def copy_file(source: Path, target: Path) -> SavedFile:
    """Copy a file and its modification time, and return its digest. Raises OSError, StatementError on cancellation."""
    request.current().cancellation.check()
    private_folders(target.parent)
    with open(source, "rb", opener=regular_opener) as reading, open(target, "xb", opener=private_opener) as writing:
        modified = os.fstat(reading.fileno()).st_mtime_ns
        digest, size = hashlib.sha256(), 0
        while chunk := reading.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            writing.write(chunk)
    os.utime(target, ns=(modified, modified))
    return SavedFile(size, modified, digest.hexdigest())


def read_file(path: Path) -> SavedFile:
    """Return the digest of a file. Raises OSError, StatementError on cancellation."""
    request.current().cancellation.check()
    with open(path, "rb", opener=regular_opener) as reading:
        status = os.fstat(reading.fileno())
        digest = hashlib.file_digest(reading, "sha256")
    return SavedFile(status.st_size, status.st_mtime_ns, digest.hexdigest())


def list_tree(root: Path) -> tuple[list[str], list[str]]:
    """Return the folders and the files below a folder, relative to it; none for one that does not exist.

    Spark's folders of unfinished writes are left out, and so are all but the newest versions of overwritten tables.
    """
    folders: list[str] = []
    files: list[str] = []
    for path, names, file_names in os.walk(root):
        if _VERSIONS.fullmatch(Path(path).name):
            names[:] = _newest_versions(names)
        # Delta's log is listed before the files that it names, which are written first.
        names[:] = sorted((name for name in names if not _UNFINISHED.fullmatch(name)), key=_log_first)
        below = Path(path).relative_to(root)
        folders += [str(below / name) for name in names]
        files += [str(below / name) for name in sorted(file_names) if (Path(path) / name).is_file()]
    return folders, files


def _log_first(name: str) -> tuple[bool, str]:
    return not name.startswith("_"), name


def _newest_versions(names: list[str]) -> list[str]:
    """Return the newest versions of each job: that of a planned batch, and the one that is read until then."""
    of_job: dict[str, list[str]] = defaultdict(list)
    others = []
    for name in sorted(names):
        match = _VERSION.fullmatch(name)
        if match is None:
            others.append(name)
        else:
            of_job[match["job"]].append(name)
    return [*others, *(name for versions in of_job.values() for name in versions[-_KEPT_VERSIONS:])]
