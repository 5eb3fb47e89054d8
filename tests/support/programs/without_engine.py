"""Run the command line, or a program, as in an environment without the engine's packages.

    python without_engine.py FOLDER PACKAGES [-c PROGRAM | ARGUMENT...]

FOLDER: with the files of the wheel of JetSQL. PACKAGES: the other packages that may be imported, parted by commas.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class OnlyThese:
    """The path finder of Python, without packages that are not installed with a client."""

    find_distributions = staticmethod(importlib.machinery.PathFinder.find_distributions)  # has the entry points

    def __init__(self, packages: Sequence[str]) -> None:
        self.allowed = {"jetsql", *packages, *sys.stdlib_module_names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self.allowed:
            return None
        return importlib.machinery.PathFinder.find_spec(name, path, target)


if __name__ == "__main__":
    folder, packages, *arguments = sys.argv[1:]
    # Other finders, such as that of an editable installation, would find the modules of the checkout.
    sys.meta_path[:] = [
        *(importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter),
        OnlyThese(packages.split(",")),
    ]
    sys.path[0] = folder
    if arguments[:1] == ["-c"]:
        exec(arguments[1], {"__name__": "__main__"})
    else:
        from jetsql.cli import main

        sys.exit(main(arguments))
