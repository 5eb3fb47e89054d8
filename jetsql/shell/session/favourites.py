"""Statements kept under names: files in a folder beside the settings, private because statements may hold secrets."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from jetsql.home.private_files import write_private

_NAME: Final = re.compile(r"\w[\w.-]{0,63}")


class Favourites:
    """folder: made at the first `save`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Sorted; other things may lie in the folder."""
        files = (file for file in self._folder.glob("*.sql") if _NAME.fullmatch(file.stem) and file.is_file())
        return sorted(file.stem for file in files)

    def save(self, name: str, text: str) -> None:
        """Raises ValueError for what is no name, OSError."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name for a favourite: letters, digits, and _ - . within.")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self._file(name), text.rstrip() + "\n")

    def text(self, name: str) -> str:
        """Raises ValueError when there is none of this name, OSError."""
        if not _NAME.fullmatch(name) or not self._file(name).exists():
            near = get_close_matches(name, self.names(), n=1)
            told = f"Did you mean {near[0]}?" if near else ".favourites lists them."
            raise ValueError(f"There is no favourite {name!r}. {told}")
        try:
            return self._file(name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{self._file(name)} is not UTF-8.") from None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.sql"
