"""The settings that Spark has, and the one that a misspelled name means. Spark ignores names that it does not know.

`spark_settings.txt` has the list of the newest Spark, as `SparkSettings.java` gives it: a test compares them. The
engine asks the running Spark instead.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from jetsql.errors import StatementError

PARENT_SETTING: Final = "spark.jetsql.openlineage.parent"
"""The setting of a session with the parent of the runs of its new jobs, see `jobs.openlineage.parent_runs`."""

_SQL: Final = "spark.sql."
_SHORT: Final = 6  # of names in which only one letter may differ


def unknown_setting(name: str, meant: str) -> StatementError:
    """Return the error for a setting that Spark does not have. meant: a similar name of Spark, or ''."""
    hint = f"Did you mean '{meant}'?" if meant else "Remove it."
    return StatementError("UNKNOWN_OPTION", f"Spark has no setting '{name}'.", hint=hint)


def is_missing(name: str) -> bool:
    """Return whether Spark lacks a setting whose name is one of its own, as `SparkSettings.isMissing` does."""
    names, _ = _known()
    if not name.startswith(_SQL) or _is_known(name):
        return False
    group = name[: name.rindex(".") + 1]
    return any(each.startswith(group) for each in names)


def find_meant(name: str) -> str:
    """Return the setting that a name probably means, or '', as `SparkSettings.meant` does."""
    if _is_known(name):
        return ""
    names, _ = _known()
    for each in names:
        if each.lower() == name.lower():  # Spark compares the case
            return each
    key = _folded(name)
    nearest, limit = "", 1 if len(key) < _SHORT else 2
    for each in names:
        distance = _distance(_folded(each), key, limit)
        if distance <= limit:
            nearest, limit = each, distance - 1
    return nearest


def _is_known(name: str) -> bool:
    names, others = _known()
    return name in names or name.startswith(others)


@cache
def _known() -> tuple[dict[str, None], tuple[str, ...]]:
    """Return the names of Spark, sorted, and the prefixes of other programs' settings."""
    lines = files(__package__).joinpath("spark_settings.txt").read_text("utf-8").split()
    return {line: None for line in lines if not line.endswith(".")}, tuple(x for x in lines if x.endswith("."))


def _folded(name: str) -> str:
    return name.lower().replace(".", "").replace("_", "").replace("-", "")


def _distance(left: str, right: str, limit: int) -> int:
    """Return the number of letters to insert, remove or replace, or any greater number than a limit."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (letter != other))
        if min(row) > limit:
            return limit + 1
    return row[-1]
