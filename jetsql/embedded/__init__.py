"""The engine in this process, and its endpoints.

Every engine imports this package before others, so it refuses an environment with mixed modules here.
"""

from __future__ import annotations

from importlib import metadata

from jetsql.errors import EngineError


def check_distributions() -> None:
    """Raise EngineError ENGINE_NOT_INSTALLED if `jetsql-client`, a distribution of release 0.2, is installed as well.

    It has files of the same modules: the one that was installed last has overwritten those of the other.
    """
    try:
        found = metadata.version("jetsql-client")
    except metadata.PackageNotFoundError:
        return
    raise EngineError(
        "ENGINE_NOT_INSTALLED",
        f"jetsql-client {found} is installed in the environment of jetsql, and their modules are mixed.",
        hint="Uninstall both, then install JetSQL: pip uninstall jetsql jetsql-client; pip install 'jetsql[engine]'.",
    )


check_distributions()
