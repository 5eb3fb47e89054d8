"""Statements saved under names, in private files next to the settings, because statements may contain secrets."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from jetsql.home.private_files import write_private

_NAME: Final = re.compile(r"\w[\w.-]{0,63}")


class Favourites:
    """The saved statements. The folder is created by the first `save`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names in order; other files in the folder are ignored."""
        files = (file for file in self._folder.glob("*.sql") if _NAME.fullmatch(file.stem) and file.is_file())
        return sorted(file.stem for file in files)

    def save(self, name: str, text: str) -> None:
        """Save a statement. Raises ValueError for an invalid name, OSError."""
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a valid name. Use letters, digits and _; after the first character also - and '.'."
            )
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(self._file(name), text.rstrip() + "\n")

    def load(self, name: str) -> str:
        """Return a saved statement. Raises ValueError if there is none of this name, OSError."""
        if not _NAME.fullmatch(name) or not self._file(name).exists():
            near = get_close_matches(name, self.names())
            advice = f"Did you mean {near[0]}?" if near else ".favourites lists them."
            raise ValueError(f"There is no favourite {name!r}. {advice}")
        try:
            return self._file(name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{self._file(name)} is not UTF-8.") from None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.sql"
