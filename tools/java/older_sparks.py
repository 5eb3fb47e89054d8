"""Environments with the older Sparks that JetSQL supports: `.venv.spark41` and so on.

`.venv` has the newest Spark. Each of the others takes a download of 450 MB from PyPI, once, and again when
pyproject.toml changes.

    python -m tools.java.older_sparks

installs all of them.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from tools.java.packages import ROOT, supported_sparks

OLDER: Final = tuple(supported_sparks()[:-1])
"""The versions of Spark before the newest one, such as 4.1."""


def environment(spark: str) -> Path:
    """Return the folder of the environment of an older Spark."""
    return ROOT / f".venv.spark{spark.replace('.', '')}"


def install(spark: str) -> Path:
    """Install an older Spark with JetSQL and its tests unless it is there, and return its Python.

    A folder that is a link belongs to another checkout, and is used as it is.

    Raises CalledProcessError, and FileNotFoundError for a link to an environment that is not there.
    """
    folder = environment(spark)
    python, ready = folder / "bin" / "python", folder / "ready"
    stamp = sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if folder.is_symlink():
        if not python.exists():
            raise FileNotFoundError(f"{folder.name} is a link to {folder.readlink()}, which has no Python.")
        return python
    if not ready.exists() or ready.read_text(encoding="utf-8") != stamp:
        sys.stderr.write(f"Setting up {folder.name} (once; downloads Spark {spark}, some 450 MB) ...\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = ["--editable", f"{ROOT}[test]", f"pyspark[connect]=={spark}.*"]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        subprocess.run(pip, check=True)
        ready.write_text(stamp, encoding="utf-8")
    return python


def jars(spark: str) -> list[Path]:
    """Return the jars of an older Spark; none if it is not installed."""
    return sorted(environment(spark).glob("lib/python*/site-packages/pyspark/jars/*.jar"))


def main() -> None:
    """Install the older Sparks that are missing. Raises CalledProcessError."""
    for spark in OLDER:
        install(spark)


if __name__ == "__main__":
    main()
