"""The installed distribution: `jetsql`, or `jetsql-client`, which has the same packages without the engine.

Both install files into the package `jetsql`, as `pyspark` and `pyspark-client` do into `pyspark`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError

DISTRIBUTIONS: Final = ("jetsql", "jetsql-client")


def has_engine() -> bool:
    """Return whether the engine is installed."""
    spec = find_spec("jetsql.engine")
    return spec is not None and spec.origin is not None  # without an origin, it is a folder that pip left behind


def describe_versions(version: str) -> str:
    """Return the versions of JetSQL, and with the engine, of PySpark and Java.

    version: of JetSQL. The versions are read from files, because PySpark and Java take long to load. A Java without
    a file that names its version is left out.
    """
    software = [each for each in (_pyspark(), _java()) if each] if has_engine() else []
    return f"jetsql {version}" + (f" ({', '.join(software)})" if software else "")


def python_command(*arguments: str) -> tuple[str, ...]:
    """Return the command that runs this Python. It imports nothing from the current folder, which may be a stranger's.

    Without `-P`, `-m` and `-c` would prefer a folder `jetsql` or a file `numpy.py` there to the installed packages.
    """
    return (sys.executable, "-P", *arguments)


def find_java() -> str | None:
    """Return the path of the `java` that Spark uses, or None."""
    java_home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(java_home) / "bin")) if java_home else shutil.which("java")


def _pyspark() -> str:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return "no PySpark"
    return _named("PySpark", Path(spec.origin).with_name("version.py"), r"""^__version__\b.*["'](.+)["']""")


def _java() -> str:
    java = find_java()
    if java is None:
        return "no Java"
    return _named("Java", Path(java).resolve().parents[1] / "release", r'^JAVA_VERSION="(.+)"')


def _named(name: str, file: Path, pattern: str) -> str:
    """Return a name with the version in a file, or "" without a version."""
    try:
        found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return f"{name} {found[1]}" if found else ""


def engine_missing(action: str) -> EngineError:
    """Return the error of what only an installation with the engine can do.

    action: the end of `jetsql-client cannot ...`.
    """
    return EngineError(
        "ENGINE_NOT_INSTALLED",
        f"jetsql-client cannot {action}.",
        hint="Install the engine in an environment of its own: pip install jetsql. To use an engine that runs, give its"
        " URL (--url, JETSQL_URL or jetsql.connect(url)).",
    )


def check_versions() -> None:
    """Raise EngineError ENGINE_NOT_INSTALLED if both distributions are installed in different versions.

    The one that was installed last has overwritten modules of the other.
    """
    from importlib.metadata import PackageNotFoundError, version  # takes its time, and only an engine needs it

    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if len(set(found.values())) > 1:
        listed = " and ".join(f"{name} {number}" for name, number in found.items())
        raise EngineError(
            "ENGINE_NOT_INSTALLED",
            f"{listed} are installed in one environment, and their modules are mixed.",
            hint="Uninstall both, then install one: pip uninstall jetsql jetsql-client; pip install jetsql.",
        )
