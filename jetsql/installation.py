"""The parts of JetSQL that are installed: a client, and with the extra `engine`, an engine, too."""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError

ENGINE_MODULES: Final = (
    *("anyio", "jinja2", "prometheus_client", "psutil", "pyspark", "sqlalchemy", "starlette", "uvicorn"),
)
"""The modules of the packages of the extra `engine`."""


def has_engine() -> bool:
    """Return whether the engine is installed."""
    return not _missing_modules()


def _missing_modules() -> list[str]:
    """Return the modules that the engine lacks."""
    specs = {name: find_spec(name) for name in ENGINE_MODULES}
    # Without an origin, it is a folder that pip left behind.
    return [name for name, spec in specs.items() if spec is None or spec.origin is None]


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

    action: the end of `JetSQL cannot ...`.
    """
    missing = _missing_modules()
    lacking = "" if "pyspark" in missing else f" completely (without {', '.join(missing)})"
    return EngineError(
        "ENGINE_NOT_INSTALLED",
        f"JetSQL cannot {action}: the engine is not installed{lacking}.",
        hint="Install it: pip install 'jetsql[engine]'. To use an engine that runs, give its URL (--url, JETSQL_URL or"
        " jetsql.connect(url)).",
    )
