"""The programs of a build that are packages of the system, and what a machine must have for it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from tools.kubernetes.cache import NotAvailable

PACKAGES: Final[Mapping[str, str]] = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""Debian's package of each program; `tools/prepare buildah` installs them."""


def check_machine() -> None:
    """Raise NotAvailable if this machine cannot build an image, with all that is missing."""
    missing = [*_missing()]
    if missing:
        raise NotAvailable(" ".join(missing))


def _missing() -> Iterator[str]:
    if sys.platform != "linux":
        yield "The image is built with programs of Linux, and this is another system."
        return
    if os.geteuid() != 0:
        yield "Debian's base of the image needs the rights of root."
    packages = {package for program, package in PACKAGES.items() if shutil.which(program) is None}
    if packages:
        yield f"These packages are missing: {' '.join(sorted(packages))} (apt-get install --no-install-recommends)."
