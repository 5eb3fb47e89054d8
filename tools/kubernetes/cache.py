"""The cache of downloads and of what was built, and the errors of this machine and of a build."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import platformdirs

CACHE: Final = platformdirs.user_cache_path("jetsql", appauthor=False) / "kubernetes"
"""The folder of everything that is kept."""


class NotAvailable(Exception):
    """The error for a machine that lacks what is needed, with the reason."""


class BuildFailed(Exception):
    """The error for a build that failed, with the end of its output."""


def run_logged(*command: str, log: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a command with its output in a file. Raises BuildFailed with the end of its output."""
    with log.open("w+") as output:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, check=False
        )
    if ended.returncode:
        lines = log.read_text(errors="replace").splitlines()[-30:]
        raise BuildFailed("\n".join((f"{' '.join(command)} ended with {ended.returncode} (see {log}):", *lines)))
