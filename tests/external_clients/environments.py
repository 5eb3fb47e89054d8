"""Create an environment for each client with pip, and keep it in build/clients."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "clients"


class EnvironmentFailed(Exception):
    """The environment could not be created; the message says why."""


@cache
def python(name: str, packages: tuple[str, ...], seconds: float, own: bool = False) -> Path:
    """Return the Python of an environment with these packages. own: and with JetSQL, without its dependencies.

    A package that begins with `.` is this tree: its environment is made again by each process.

    Raises EnvironmentFailed.
    """
    folder = FOLDER / name
    stamp = folder / "packages"
    wanted = "\n".join((sys.version, *packages))
    found = folder / "bin" / "python"
    from_tree = any(package.startswith(".") for package in packages)
    if from_tree or not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)], 120)
        _run([str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], seconds)
        if own:
            _run([str(found), "-m", "pip", "install", "--quiet", "--no-deps", "--editable", str(ROOT)], 120)
        stamp.write_text(wanted, encoding="utf-8")
    return found


def _run(command: Sequence[str], seconds: float) -> None:
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(f"not installed within {seconds:g} s") from None
    if ended.returncode != 0:
        raise EnvironmentFailed((ended.stderr.strip().splitlines() or ["pip failed"])[-1])
