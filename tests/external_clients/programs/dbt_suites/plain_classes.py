"""Make test classes of the suite's base classes, which run as they are."""

from collections.abc import Mapping
from typing import Any


def plain(*bases: type, **members: Any) -> Mapping[str, type]:
    """Return a test class for each base class, by its name. members: further members of all of them."""
    found = {}
    for base in bases:
        name = f"Test{base.__name__.removeprefix('Base')}"
        assert name not in found, name
        found[name] = type(name, (base,), dict(members))
    return found
