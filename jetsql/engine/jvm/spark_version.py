"""The versions of Spark that JetSQL supports, and what the older ones lack.

The classes of `dev.jetsql.versions` do the same inside Spark. `connectors.properties` there has the connectors of each
version. A new version needs an entry in both, and a record of `tools.java.linkage`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyspark

from jetsql.errors import EngineError

SUPPORTED: Final = ("4.1", "4.2", "4.3")
_NEWER_WORDS: Final = {"QUALIFY": (4, 2), "ASOF": (4, 3), "MATCH_CONDITION": (4, 3)}
"""Words of clauses, and the first Spark with them."""
_AS_OF: Final = "For two streams with a WATERMARK, write JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.id = b.id."
_INSTEAD: Final = {
    "QUALIFY": "Write SELECT * FROM (SELECT *, row_number() OVER (...) AS rank FROM ...) WHERE rank = 1.",
    "ASOF": _AS_OF,
    "MATCH_CONDITION": _AS_OF,
}
"""The text to write without each of these clauses, as a sentence."""


def spark_version() -> tuple[int, int]:
    """Return major and minor version of PySpark."""
    major, minor = pyspark.__version__.split(".")[:2]
    return int(major), int(minor)


def full_version() -> str:
    """Return the version of PySpark, as `4.3.0`."""
    return pyspark.__version__


def spark_home() -> Path:
    """Return the folder of Spark: SPARK_HOME in the environment if it has the version of PySpark, otherwise PySpark's.

    PySpark would start any Spark that SPARK_HOME names, also one of another version from an earlier installation.
    """
    given = os.environ.get("SPARK_HOME")
    if given and any(Path(given, "jars").glob(f"spark-core_*-{pyspark.__version__}.jar")):
        return Path(given)
    return Path(pyspark.__file__).parent


def version_name() -> str:
    """Return the version as in `SUPPORTED`."""
    return "{}.{}".format(*spark_version())


def check_supported() -> None:
    """Raise EngineError ENGINE_NOT_STARTED when JetSQL does not support the installed PySpark."""
    if version_name() not in SUPPORTED:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"JetSQL runs on Spark {SUPPORTED[0]} to {SUPPORTED[-1]}, and PySpark {pyspark.__version__} is installed.",
            hint=f"Install another version: pip install 'pyspark=={SUPPORTED[-1]}.*'.",
        )


def fixed_partitions() -> str:
    """Return why Spark cannot repartition the state of jobs, as a phrase without a full stop; empty when it can."""
    if spark_version() >= (4, 2):
        return ""
    return f"Spark {version_name()} cannot repartition state, which needs Spark 4.2 or newer"


def lacking_clauses() -> tuple[str, ...]:
    """Return the words of the clauses that only newer versions of Spark have."""
    return tuple(word for word, first in _NEWER_WORDS.items() if spark_version() < first)


def newer_clause_hint(words: Iterable[str]) -> str:
    """Return a hint when words of a statement belong to a clause that only newer versions of Spark have, or ""."""
    word = next((word.upper() for word in words if word.upper() in lacking_clauses()), None)
    if word is None:
        return ""
    major, minor = _NEWER_WORDS[word]
    return f"{word} needs Spark {major}.{minor} or newer; this engine runs Spark {version_name()}. {_INSTEAD[word]}"
