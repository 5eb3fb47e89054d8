"""A limit of the files that a process can write, which has the effect of a full disk and needs no rights of root."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def file_size_limit(pid: int, size: int) -> Iterator[None]:
    """Let a process fail to write beyond a size in bytes in any file. Files that are larger can be read."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
