"""Compare the lists of the rights gates with the classes of Spark, of the table formats and of JetSQL.

The gates (`dev.jetsql.rights.gates`) allow only the plans and expressions in `plans.txt` and `expressions.txt`. They
refuse a class that is in no section. So a new class is safe, but it needs a decision.

    python -m tools.java.rights_lists

lists these classes, and the names in the lists that no supported Spark has.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tools.java.class_files import ABSTRACT, INTERFACE, Jars
from tools.java.jar import JAR, MAIN
from tools.java.older_sparks import OLDER, jars
from tools.java.packages import spark_jars

LISTS: Final = MAIN / "resources" / "dev" / "jetsql" / "rights" / "gates"
ROOTS: Final = {
    "plans.txt": "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan",
    "expressions.txt": "org/apache/spark/sql/catalyst/expressions/Expression",
}
"""The class that all classes of a list extend."""
_FORMAT: Final = re.compile(r"(delta-spark|iceberg-spark)[^/]*\.jar$")
_PACKAGES: Final = ("org/apache/spark/", "org/apache/iceberg/", "io/delta/", "dev/jetsql/")


def listed(name: str) -> dict[str, str]:
    """Return the names of a list with the line that begins their section, `allowed: REASON` or `refused: REASON`."""
    sections: dict[str, str] = {}
    section = ""
    for line in (LISTS / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            assert line.strip() not in sections, f"{line.strip()} is twice in {name}"
            sections[line.strip()] = section
        elif line and not line.startswith("#"):
            section = line
    return sections


def subclasses(classes: Jars, root: str) -> Iterator[str]:
    """Yield the names of the classes that extend a class and are not abstract, as Java reports them."""
    known = {root: True}
    for name in classes.names():
        if name.startswith(_PACKAGES) and _extends(classes, name, known):
            declared = classes.get(name)
            if declared is not None and not declared.access & (ABSTRACT | INTERFACE):
                yield name.replace("/", ".")


def _extends(classes: Jars, name: str, known: dict[str, bool]) -> bool:
    if name not in known:
        declared = classes.get(name)
        parents = () if declared is None else (*declared.interfaces, *filter(None, [declared.superclass]))
        known[name] = any(_extends(classes, parent, known) for parent in parents)
    return known[name]


@cache
def newest_classes() -> Jars:
    """Return the classes of the installed Spark, and those of JetSQL."""
    return Jars([*_with_plans(Path(spark_jars()).parent.glob("*.jar")), JAR])


def _with_plans(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.name.startswith(("spark-", "delta-", "iceberg-"))]


@cache
def older_classes(spark: str) -> Jars:
    """Return the classes of an older Spark; none if it is not installed."""
    return Jars(_with_plans(jars(spark)))


@cache
def format_classes() -> Jars:
    """Return the classes of Delta and Iceberg that an engine has downloaded on this machine, and those of Spark."""
    caches = sorted(each for cache in Path.home().glob(".ivy2*") for each in cache.rglob("*.jar"))
    formats = [each for each in caches if _FORMAT.search(each.name)]
    return Jars([*_with_plans(Path(spark_jars()).parent.glob("*.jar")), *formats] if formats else [])


def unlisted(name: str, classes: Jars) -> list[str]:
    """Return the classes that are in no section of a list."""
    known = listed(name)
    return sorted(each for each in subclasses(classes, ROOTS[name]) if each not in known)


def main() -> None:
    """Write what is missing; end with an error if there is something."""
    found = False
    for name in ROOTS:
        for classes in [newest_classes(), *map(older_classes, OLDER), format_classes()]:
            for each in unlisted(name, classes):
                found = True
                sys.stdout.write(f"{name} lacks {each}\n")
    sys.exit(found)


if __name__ == "__main__":
    main()
