"""Locations of the catalogue as local paths, also in a copy of a home, whose store has the paths of the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CheckedPaths:
    """The home that is checked."""

    home: Path
    original: Path | None = None  # the home's path before it was copied or moved; None for a home in its place

    def local_path(self, location: str) -> Path | None:
        """Return a location as a local path, in the copy if it is in the home; None for other file systems."""
        scheme, colon, path = location.partition(":")
        if colon and "/" not in scheme:
            if scheme != "file":
                return None
            location = "/" + path.lstrip("/")
        found = Path(location)
        if self.original is not None and found.is_relative_to(self.original):
            return self.home / found.relative_to(self.original)
        return found

    def is_checked(self, folder: Path) -> bool:
        """Return whether a folder belongs to what is checked. Next to a copy, the original home may be in use."""
        return self.original is None or folder.is_relative_to(self.home)
