"""Build the wheel of jetsql-client: the packages that pyproject.toml here names, from the folder above.

Setuptools packs only what is below a project's folder. So the packages are copied to a temporary folder, and it runs
there. There is no source distribution: jetsql's has everything, this folder too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, Final

from setuptools import build_meta

CLIENT: Final = Path(__file__).resolve().parent
ROOT: Final = CLIENT.parent


class UnsupportedOperation(Exception):
    """The error by which PEP 517 lets a backend refuse to build a source distribution."""


def copy_project(target: Path) -> None:
    """Copy everything that setuptools needs for the wheel to an empty folder."""
    options = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders, data = options["package-dir"], options["package-data"]
    for package in options["packages"]:
        folder = folders.get(package, package.replace(".", "/"))
        (target / folder).mkdir(parents=True, exist_ok=True)
        for pattern in ("*.py", *data.get(package, ())):
            for file in (ROOT / folder).glob(pattern):
                copied = target / folder / file.relative_to(ROOT / folder)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copied)
    for file in (CLIENT / "pyproject.toml", CLIENT / "README.md", ROOT / "LICENSE"):
        shutil.copyfile(file, target / file.name)


@contextmanager
def _in_copy() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="jetsql-client-") as folder:
        copy_project(Path(folder))
        with chdir(folder):
            yield


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    metadata_directory = os.path.abspath(metadata_directory)
    with _in_copy():
        return str(build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    wheel_directory = os.path.abspath(wheel_directory)
    with _in_copy():
        return str(build_meta.build_wheel(wheel_directory, config_settings))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    raise UnsupportedOperation("jetsql-client is built from the source distribution of jetsql.")
