"""The connectors that Spark's distribution lacks: which versions of Spark they exist for, and how they are loaded.

`connectors.properties` of the Java module is the only table of their versions.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.engine.jvm.java_classes import jar, load_classes
from jetsql.engine.jvm.spark_version import SUPPORTED, version_name
from jetsql.errors import EngineError

_TABLE: Final = "dev/jetsql/versions/connectors.properties"
_FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "delta": ("Delta", "io.delta.sql.DeltaSparkSessionExtension"),
    "iceberg": ("Iceberg", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"),
    "postgresql": ("PostgreSQL's driver", "org.postgresql.Driver"),
    "s3": ("S3", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
}
"""The name of each table format or file system, and a class of its connector."""
# Ivy's reports of packages that are in no repository, and of those whose description a local repository has without
# the jar, as other uses of Maven leave it. It asks no other repository then.
_PACKAGE: Final = r"([\w.-]+)#([\w.-]+);([\w.+-]+)"
_UNKNOWN_PACKAGE: Final = re.compile(rf"unresolved dependency: {_PACKAGE}: not found")
_LOST_JAR: Final = re.compile(rf"download failed: {_PACKAGE}!")
_REPOSITORY: Final = re.compile(r"^\s+(https?://[^/\s]+)", re.M)
_UNKNOWN_HOST: Final = re.compile(r"Host \S+ not found")


@cache
def connector_versions() -> Mapping[str, str]:
    """Return the packages by `CONNECTOR.SPARK`, such as `delta.4.2`."""
    with zipfile.ZipFile(jar()) as file:
        lines = file.read(_TABLE).decode("latin-1").splitlines()
    entries = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in entries}


def sparks_of(connectors: Iterable[str]) -> tuple[str, ...]:
    """Return the supported versions of Spark for which all the connectors exist, the oldest first."""
    versions = connector_versions()
    return tuple(spark for spark in SUPPORTED if all(f"{each}.{spark}" in versions for each in connectors))


def install_hint(formats: Iterable[str]) -> str:
    """Return, as a sentence, which PySpark to install for table formats."""
    sparks = sparks_of(formats)
    if not sparks:
        return "No supported Spark has all of them: start an engine for each."
    return f"Install a PySpark that has it: pip install 'pyspark=={sparks[-1]}.*'."


def check_formats(formats: Iterable[str]) -> None:
    """Raise EngineError ENGINE_NOT_STARTED when a table format does not exist for the installed PySpark."""
    formats = tuple(formats)
    lacking = [_FORMATS[each][0] for each in formats if version_name() not in sparks_of([each])]
    if lacking:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"{' and '.join(lacking)} cannot be loaded: there is no release for Spark {version_name()}, and PySpark"
            f" {pyspark.__version__} is installed.",
            hint=install_hint(formats),
        )


def load_formats(gateway: Any, formats: Iterable[str]) -> list[str]:
    """Download and load the connectors of table formats that are not loaded, and return the paths of their jars.

    Raises EngineError EXTERNAL_SYSTEM_UNAVAILABLE when the download fails.
    """
    jars: list[str] = []
    for each in formats:
        name, class_name = _FORMATS[each]
        try:
            loader = load_classes(gateway).versions.ConnectorJars
            jars.extend(loader.load(each, f"the connector of {name}", class_name))
        except (PySparkException, Py4JError) as error:
            raise EngineError("EXTERNAL_SYSTEM_UNAVAILABLE", _message(error)) from error
    return jars


def explain_missing_packages(log: str) -> tuple[str, str] | None:
    """Return a sentence and a hint about packages that a start of Spark could not download; None if none was missing.

    log: the output of the start.
    """
    unknown = ", ".join(dict.fromkeys(":".join(found) for found in _UNKNOWN_PACKAGE.findall(log)))
    if unknown:
        host = _UNKNOWN_HOST.search(log)
        reason = host[0] if host else "No repository has it"
        repositories = ", ".join(dict.fromkeys(_REPOSITORY.findall(log))) or "the local ones only"
        hint = (
            "Check the setting spark.jars.packages, let the engine reach the repositories, name a mirror with --conf"
            " spark.jars.repositories=URL, or start it with the jars in --conf spark.jars=..."
        )
        return f"Cannot download {unknown}. {reason}; asked: {repositories}.", hint
    lost = ", ".join(dict.fromkeys(":".join(found) for found in _LOST_JAR.findall(log)))
    if lost:
        message = f"Cannot download {lost}: the repository of Maven on this machine has only its description."
        return message, "Delete its folder below ~/.m2/repository, or start with the jars in --conf spark.jars=..."
    return None


def _message(error: Exception) -> str:
    java_error: Any = getattr(error, "java_exception", None)
    text = str(error) if java_error is None else str(java_error.getMessage())
    return text.partition("] ")[2].partition(" SQLSTATE:")[0] or text
