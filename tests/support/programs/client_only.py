"""Run the command line, or a program, as in an environment with nothing but `jetsql-client`.

    python client_only.py FOLDER PACKAGES [-c PROGRAM | ARGUMENT...]

FOLDER: with the files of the wheel. PACKAGES: the other packages that may be imported, parted by commas.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class OnlyThese:
    """A finder before all others, which refuses packages that are not installed with the client."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.allowed = {"jetsql", *packages, *sys.stdlib_module_names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self.allowed:
            raise ModuleNotFoundError(f"No module named {name!r}, which jetsql-client does not depend on", name=name)
        return None


if __name__ == "__main__":
    folder, packages, *arguments = sys.argv[1:]
    # An editable installation has a finder of its own, which would find the modules that the wheel leaves out.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")]
    sys.meta_path.insert(0, OnlyThese(packages.split(",")))
    sys.path[0] = folder
    if arguments[:1] == ["-c"]:
        exec(arguments[1], {"__name__": "__main__"})
    else:
        from jetsql.cli import main

        sys.exit(main(arguments))
