"""The folders in which the jobs that write a file table stage its rows."""

from __future__ import annotations

from typing import Final

STAGING: Final = ".jetsql"
"""The hidden folder of a file table; each job has folders in it."""


def staging_owner(folder: str) -> str:
    """Return the job id in a folder's name: four groups, followed by the number of dead letters or of a sink."""
    return "-".join(folder.split("-")[:4])
