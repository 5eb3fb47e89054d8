"""The build backend for wheels and source distributions: setuptools, after the jar of the Java classes was built.

A source distribution has the sources and the jar, so a wheel can be built from it without a JDK. An editable
installation does not build the jar: `tools/prepare java` does.
"""

from __future__ import annotations

import tomllib
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the other hooks

from tools.java.jar import build, is_current
from tools.java.packages import ROOT


def _requires() -> list[str]:
    """Return the requirements for building the jar: the PySpark that JetSQL runs with; none for a current jar."""
    if is_current():
        return []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [each for each in project["optional-dependencies"]["engine"] if each.startswith("pyspark")]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_requires()]


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_requires()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    build()
    return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    build()
    return str(build_meta.build_sdist(sdist_directory, config_settings))
