"""The programs of Kubernetes that are no packages of the system: they are built once from Go modules, and kept.

The sources are in `go/`: one program for all parts of Kubernetes, etcd, the DNS server, Helm, and the pause container.
Debian's etcd is too old: it refuses the progress of watches, so that Spark's client misses changes of pods.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from filelock import FileLock

from tools.kubernetes.cache import CACHE, run_logged

SOURCES: Final = Path(__file__).with_name("go")
PARTS: Final = ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet")
"""The parts of Kubernetes, which are links to one program."""
_NOTE: Final = (
    "Building Kubernetes {version}, etcd, CoreDNS and Helm from their Go modules (once; downloads 400 MB, and takes"
    " 15 minutes of processor time).\n"
)
_CAPABILITIES: Final = "helm.sh/helm/v3/pkg/chartutil.k8sVersion"
_STATIC: Final[Mapping[str, str]] = {"CGO_ENABLED": "0"}


def build_programs() -> Path:
    """Return the folder of `PARTS`, `coredns`, `etcd`, `helm` and `pause`, built at first. Raises BuildFailed."""
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(CACHE / "programs.lock"):
        folder = _folder()
        if not folder.exists():
            _build(folder)
        return folder


def are_programs_built() -> bool:
    """Return whether the programs of these sources are in the cache."""
    return _folder().exists()


def helm_program() -> Path:
    """Return the program of Helm among the programs of these sources."""
    return _folder() / "helm"


def kubernetes_version() -> str:
    """Return the version of Kubernetes, such as `v1.34.4`."""
    return _required_version("kubernetes", "k8s.io/kubernetes")


def etcd_version() -> str:
    """Return the version of etcd, such as `v3.6.13`."""
    return _required_version("etcd", "go.etcd.io/etcd/server/v3")


def helm_version() -> str:
    """Return the version of Helm, such as `v3.19.4`."""
    return _required_version("helm", "helm.sh/helm/v3")


def _required_version(module: str, name: str) -> str:
    """Return the version that one of the modules in `go/` requires of another one."""
    [version] = re.findall(rf"^require {re.escape(name)} (\S+)$", (SOURCES / module / "go.mod").read_text(), re.M)
    return str(version)


def _build(folder: Path) -> None:
    sys.stderr.write(_NOTE.format(version=kubernetes_version()))
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    major, minor, _ = kubernetes_version().removeprefix("v").split(".")
    version = {"k8s.io/component-base/version.gitVersion": kubernetes_version()}
    # The version that Helm assumes where it has no cluster; without it, one of 2020.
    assumed = {f"{_CAPABILITIES}Major": major, f"{_CAPABILITIES}Minor": minor}
    _go_build("kubernetes", unfinished / "kubernetes", variables=version)
    _go_build("etcd", unfinished / "etcd")
    _go_build("coredns", unfinished / "coredns")
    _go_build("helm", unfinished / "helm", package="helm.sh/helm/v3/cmd/helm", variables=assumed)
    _go_build("pause", unfinished / "pause", environment=_STATIC)  # its image contains nothing else
    for part in PARTS:
        (unfinished / part).symlink_to("kubernetes")
    unfinished.rename(folder)
    for old in CACHE.glob("programs-*"):
        if old != folder:
            shutil.rmtree(old)


def _go_build(
    module: str,
    program: Path,
    package: str = ".",
    variables: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Build a package of one of the modules in `go/`. variables: the values of Go's variables."""
    flags = " ".join(f"-X {name}={value}" for name, value in (variables or {}).items())
    run_logged(
        *("go", "build", "-C", str(SOURCES / module), "-trimpath", "-ldflags", flags, "-o", str(program), package),
        log=CACHE / "programs.log",
        environment={**os.environ, **(environment or {})},
    )


def _folder() -> Path:
    """Return the folder of the programs, whose name has a digest of the sources, and of how they are built."""
    digest = sha256(Path(__file__).read_bytes())
    for file in sorted(each for each in SOURCES.rglob("*") if each.is_file()):
        digest.update(f"{file.relative_to(SOURCES)}\0".encode() + file.read_bytes())
    return CACHE / f"programs-{digest.hexdigest()[:12]}"
