"""The programs that are packages of the system, and what a machine must have to build the image or to run a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.kubernetes.cache import CACHE, NotAvailable

IMAGE_PACKAGES: Final[Mapping[str, str]] = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""Debian's package of each program that builds the image; `tools/prepare buildah` installs them."""
CLUSTER_PACKAGES: Final[Mapping[str, str]] = {
    "containerd": "containerd",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "runc": "runc",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
}
"""Debian's package of each further program that runs a cluster; `tools/prepare kubernetes` installs them."""
_HIDDEN: Final = ("/run", "/var/lib", "/var/log")
"""Folders of the machine that a cluster does not see."""
_GO: Final = (1, 21)
"""The first Go that fetches the newer Go that a module requires."""


def check_machine() -> None:
    """Raise NotAvailable if this machine cannot build an image, with all that is missing."""
    _raise_if_missing("The image is built", IMAGE_PACKAGES, ())


def check_cluster_machine() -> None:
    """Raise NotAvailable if this machine cannot run a cluster, with all that is missing."""
    _raise_if_missing("A cluster runs", {**IMAGE_PACKAGES, **CLUSTER_PACKAGES}, _missing_for_clusters())


def _raise_if_missing(purpose: str, packages: Mapping[str, str], more: Iterator[str] | tuple[()]) -> None:
    if sys.platform != "linux":
        raise NotAvailable(f"{purpose} with programs of Linux, and this is another system.")
    missing = [*_missing(purpose, packages), *more]
    if missing:
        raise NotAvailable(" ".join(missing))


def _missing(purpose: str, packages: Mapping[str, str]) -> Iterator[str]:
    if os.geteuid() != 0:
        yield f"{purpose} with the rights of root."
    missing = {package for program, package in packages.items() if shutil.which(program) is None}
    if missing:
        yield f"These packages are missing: {' '.join(sorted(missing))} (apt-get install --no-install-recommends)."


def _missing_for_clusters() -> Iterator[str]:
    if _go_version() < _GO:
        yield f"Go {'.'.join(map(str, _GO))} or newer is missing (https://go.dev/dl). It builds Kubernetes."
    if any(CACHE.is_relative_to(folder) for folder in _HIDDEN):
        yield f"The cache {CACHE} is in a folder that a cluster does not see: set XDG_CACHE_HOME."
    if not Path("/sys/fs/cgroup").is_mount():
        yield "The cgroups are not mounted at /sys/fs/cgroup."


def _go_version() -> tuple[int, ...]:
    """Return the version of the Go compiler on this machine, or an empty one."""
    if shutil.which("go") is None:
        return ()
    output = subprocess.run(("go", "env", "GOVERSION"), capture_output=True, text=True, check=False).stdout
    numbers = output.strip().removeprefix("go").split(".")[:2]
    return tuple(int(each) for each in numbers if each.isdigit())
