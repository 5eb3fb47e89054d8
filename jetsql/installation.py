"""The installed distribution: `jetsql`, or `jetsql-client`, which has the same packages without the engine.

Both install files into the package `jetsql`, as `pyspark` and `pyspark-client` do into `pyspark`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from jetsql.errors import EngineError

DISTRIBUTIONS: Final = ("jetsql", "jetsql-client")


def has_engine() -> bool:
    """Return whether the engine is installed."""
    spec = find_spec("jetsql.engine")
    return spec is not None and spec.origin is not None  # without an origin, it is a folder that pip left behind


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
