"""Maven packages for the build, which Spark's own resolver downloads with its cache and repositories.

As for Spark, the setting `spark.jars.repositories` names a mirror, here as a Java property:
`JAVA_TOOL_OPTIONS=-Dspark.jars.repositories=URL make java`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_RESOLVE: Final = Path(__file__).with_name("Resolve.java")
_CONNECTORS: Final = ROOT / "java/src/main/resources/dev/jetsql/versions/connectors.properties"
_COMPILED: Final = ("kafka", "avro")
"""The connectors whose classes the Java sources use."""
_EXCLUDED: Final = re.compile(r"\b(\w+_)?EXCLUDED\b")
"""The name of a list of packages in the table of connectors."""
SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java options of tools and of engines in tests, which run for seconds.

They run too briefly for the optimizing compiler, and have too little garbage for a parallel collector.
"""

_fetched: dict[str, list[Path]] = {}  # the jars of each URI


class BuildError(Exception):
    """The error for a failed build or a missing tool of the build."""


def program(name: str) -> str:
    """Return the path of a program of the JDK. Raises BuildError when it does not run."""
    home = os.environ.get("JAVA_HOME")
    path = Path(home) / "bin" / name if home else Path(name)
    try:
        subprocess.run([path, "-version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"Building the Java classes needs a JDK, and {path} cannot be run: {error}.") from error
    return str(path)


def spark_jars() -> str:
    """Return the class path of the installed PySpark. Raises BuildError."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("Building the Java classes needs PySpark, which is not installed.")
    return f"{spec.submodule_search_locations[0]}/jars/*"


def connectors(spark: str | None = None) -> list[Path]:
    """Return the jars of a Spark's Kafka connector and Avro module, which JetSQL downloads at their first use."""
    return fetch(*connector_uris(spark))


def connector_uris(spark: str | None = None, names: Iterable[str] = _COMPILED) -> list[str]:
    """Return the URIs of the connectors' packages, for `fetch`. spark: such as 4.1; None is the newest."""
    table = _table()
    version = spark or supported_sparks()[-1]
    uris = [uri for connector in names for uri in table[f"{connector}.{version}"].split()]
    return [_EXCLUDED.sub(lambda name: table[name[0].lower()], uri) for uri in uris]


def supported_sparks() -> list[str]:
    """Return the versions of Spark that have connectors, the oldest first."""
    return sorted(key.removeprefix("kafka.") for key in _table() if key.startswith("kafka."))


def newest_spark(names: Iterable[str]) -> str:
    """Return the newest version of Spark that has all the connectors."""
    table, names = _table(), tuple(names)
    return next(
        spark for spark in reversed(supported_sparks()) if all(f"{connector}.{spark}" in table for connector in names)
    )


def _table() -> dict[str, str]:
    """Return the packages by `CONNECTOR.SPARK`, and the lists of excluded ones."""
    lines = _CONNECTORS.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def fetch(*uris: str) -> list[Path]:
    """Download packages (`ivy://GROUP:NAME:VERSION`) with their dependencies and return the jars. Raises BuildError.

    Each download starts Java, so the results are kept for later calls in this process.
    """
    missing = [uri for uri in uris if uri not in _fetched]
    if missing:
        command = [program("java"), *SHORT_LIVED, "-cp", spark_jars(), str(_RESOLVE), *missing]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode:
            raise BuildError(f"Spark's resolver cannot download {', '.join(missing)}:\n{ended.stderr}")
        jars: dict[str, list[Path]] = {uri: [] for uri in missing}
        for line in ended.stdout.splitlines():
            uri, _, jar = line.partition("\t")
            jars[uri].append(Path(jar))
        _fetched.update(jars)
    return [jar for uri in uris for jar in _fetched[uri]]
