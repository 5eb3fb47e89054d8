"""The profiles by which property tests choose their examples.

    gate     the same examples each time, so that a failure of `make test` comes from the change (the default)
    search   JETSQL_HYPOTHESIS=search: ten times as many, different each time; JETSQL_SEED repeats them

Neither measures time, because other work on the machine could make a test fail.
"""

from __future__ import annotations

import os
from random import randrange
from typing import Any, Final

from hypothesis import HealthCheck, settings

SEARCHES: Final = os.environ.get("JETSQL_HYPOTHESIS") == "search"


def examples(number: int) -> int:
    """Return the number of examples in this profile. number: the number in `gate`."""
    return number * 10 if SEARCHES else number


def seed() -> int | None:
    """Return the seed of a search, which all processes of the run share, or None in `gate`."""
    if not SEARCHES:
        return None
    return int(os.environ.setdefault("JETSQL_SEED", str(randrange(1_000_000))))


def use_profile() -> None:
    """Set the profile that the environment names as the default. Raises InvalidArgument for an unknown one."""
    timeless: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("gate", derandomize=True, **timeless)
    settings.register_profile("search", max_examples=examples(100), print_blob=True, **timeless)
    settings.load_profile(os.environ.get("JETSQL_HYPOTHESIS") or "gate")
