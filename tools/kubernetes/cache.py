"""The cache of downloads and of what was built, and the errors of this machine and of a build."""

from __future__ import annotations

from typing import Final

import platformdirs

CACHE: Final = platformdirs.user_cache_path("jetsql", appauthor=False) / "kubernetes"
"""The folder of everything that is kept."""


class NotAvailable(Exception):
    """The error for a machine that lacks what is needed, with the reason."""


class BuildFailed(Exception):
    """The error for a build that failed, with the end of its output."""
