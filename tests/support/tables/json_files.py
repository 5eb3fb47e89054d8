"""Folders of JSON files that a stream reads one after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.conftest import Sql

_FIRST_SECONDS: Final = 1_700_000_000


def write_json_files(folder: Path, parts: Iterable[Iterable[Mapping[str, object]]], first: int = 0) -> None:
    """Write a file for each part. Their times have the order of their numbers.

    first: the number of the first file
    """
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(parts, start=first):
        path = folder / f"{number:03}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (_FIRST_SECONDS + number, _FIRST_SECONDS + number))


def create_stream(sql: Sql, folder: Path, columns: str, parts: Iterable[Iterable[Mapping[str, object]]]) -> None:
    """Create a table with the folder's name, whose stream reads a file in each batch."""
    write_json_files(folder, parts)
    sql(f"CREATE TABLE {folder.name} ({columns}) USING json LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '1')")
