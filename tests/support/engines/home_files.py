"""The files of a home whose engine runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def read_files(home: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield each file of a home with its content, except the temporary files that Spark deletes meanwhile."""
    for folder, _, names in os.walk(home):
        for name in names:
            path = Path(folder, name)
            with suppress(FileNotFoundError):
                if path.is_file():  # others are sockets
                    yield path, path.read_bytes()
