"""Authentication between Spark's processes: driver, executors, and the master and workers of a standalone cluster.

Without a secret, any client that reaches an RPC port of Spark can run programs as the user of the process. On
`local[*]`, YARN and Kubernetes Spark makes the secret itself; the processes of a standalone cluster share one in a
file of mode 0600, which `jetsql master` makes. Traffic that leaves the machine is encrypted.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import platformdirs

from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder, write_private

_ON_LOOPBACK: Final = re.compile(r"spark://(127\.[0-9.]+|localhost|\[::1\]):")
_STANDALONE: Final = "spark://"
_LOCAL_CLUSTER: Final = "local-cluster["
# The masters for which Spark makes a secret itself. It refuses all others except standalone masters.
_MAKES_SECRET: Final = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?|yarn|k8s://.*")
_ON: Final = "spark.authenticate"
_SECRET: Final = "spark.authenticate.secret"
_SECRET_BYTES: Final = 32
_MIN_CHARACTERS: Final = 16
_ENCRYPTION: Final = {"spark.network.crypto.enabled": "true", "spark.network.crypto.saslFallback": "false"}


def is_on_loopback(master: str) -> bool:
    """Return whether a standalone master listens on loopback, so that only its own machine can reach it."""
    return _ON_LOOPBACK.match(master) is not None


def find_secret_file(configured: Path | None) -> Path:
    """Return the file with a cluster's secret: the configured file, or by default one next to `config.toml`."""
    return configured or platformdirs.user_config_path("jetsql", appauthor=False) / "cluster.secret"


def make_secret(file: Path) -> None:
    """Write the secret of a new cluster, unless the file exists. Raises EngineError ENGINE_NOT_STARTED."""
    if file.exists():
        return
    try:
        private_folder(file.parent)
        write_private(file, f"{secrets.token_urlsafe(_SECRET_BYTES)}\n")
    except OSError as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Cannot write the cluster's secret to {file}: {error.strerror or error}.",
            hint="Set another file with --secret-file.",
        ) from error


def driver_confs(master: str, conf: Mapping[str, str], configured: Path | None) -> dict[str, str]:
    """Return the Spark settings that a driver uses to authenticate itself and its executors.

    Raises EngineError ENGINE_NOT_STARTED when a standalone cluster's secret cannot be read.
    conf: the user's Spark settings, which may have a secret or turn authentication off.
    configured: the file with the secret of a standalone cluster; None for the default file.
    """
    if conf.get(_ON, "true").strip().lower() != "true":
        return {}
    if master.startswith(_LOCAL_CLUSTER):
        return {_ON: "true", _SECRET: secrets.token_urlsafe(_SECRET_BYTES)}
    if _MAKES_SECRET.fullmatch(master) or _SECRET in conf:
        return {_ON: "true"}
    if not master.startswith(_STANDALONE):
        return {}
    file = find_secret_file(configured)
    if configured is None and not file.exists():
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The secret of the cluster at {master} is missing: the file {file} does not exist.",
            hint="Copy the file from the machine where `jetsql master` made it, or set another file with --secret-file."
            f" For a cluster without authentication, add --conf {_ON}=false.",
        )
    return daemon_confs(is_on_loopback(master), read_secret(file))


def daemon_confs(loopback: bool, secret: str) -> dict[str, str]:
    """Return the Spark settings that the processes of a standalone cluster use to authenticate each other.

    loopback: whether their traffic stays on this machine, so that it need not be encrypted.
    """
    return {_ON: "true", _SECRET: secret, **({} if loopback else _ENCRYPTION)}


def read_secret(file: Path) -> str:
    """Return the secret of a cluster. Raises EngineError ENGINE_NOT_STARTED."""
    try:
        secret = file.read_text(encoding="utf-8").strip()
        open_to_others = file.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Cannot read the cluster's secret from {file}: {getattr(error, 'strerror', None) or error}.",
            hint="Copy the file from the machine where `jetsql master` made it, and set it with --secret-file.",
        ) from error
    if open_to_others:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"Other users of this machine can read the cluster's secret in {file}.",
            hint=f"Run: chmod 600 {shlex.quote(str(file))}",
        )
    if len(secret) < _MIN_CHARACTERS:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The cluster's secret in {file} is too short: it has {len(secret)} characters and needs at least"
            f" {_MIN_CHARACTERS}.",
            hint="Write a longer secret, or delete the file and start `jetsql master`, which makes a new secret.",
        )
    return secret
