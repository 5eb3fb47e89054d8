"""The Java classes of JetSQL inside Spark's JVM: their jar, and calls of their static methods.

Parsers, analyzer rules and listeners have to be JVM classes. They do only the work that needs the JVM; Python makes all
decisions. The sources are in the folder `java` of the repository, and the jar is built before Spark starts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import JavaMember, JavaObject, is_instance_of
from py4j.protocol import STATIC_PREFIX, Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.jvm.callbacks import start_callback_server
from jetsql.engine.jvm.spark_version import check_supported
from jetsql.errors import EngineError
from jetsql.jobs.model.redaction import SECRET_NAMES
from jetsql.request import current
from jetsql.secret_references import is_reference

_PACKAGE: Final = "dev.jetsql"
_EXTENSIONS: Final = f"{_PACKAGE}.sql.JetSqlExtensions"
_EXTENSIONS_FILE: Final = "dev/jetsql/sql/JetSqlExtensions.class"
_SPARK_EXTENSIONS: Final = "spark.sql.extensions"
_SPARK_JARS: Final = "spark.jars"
_SPARK_PLUGINS: Final = "spark.plugins"
_PLUGIN: Final = f"{_PACKAGE}.endpoints.SparkLoginsPlugin"
# The class loader of Spark's driver: the parent of the class loaders of all sessions and threads.
_SPARK_LOADER: Final = "org.apache.spark.util.MutableURLClassLoader"
_loaded: dict[int, JavaPackage] = {}
_loading = threading.RLock()


class JavaPackage:
    """A package of the jar: `java(spark).catalog.Tables.facts(...)` calls a static method of a class.

    Py4J's `JVMView` sends a request to Java for each part of the name; here a call is a single request.
    """

    def __init__(self, gateway: Any, name: str) -> None:
        self._gateway = gateway
        self._name = name

    def __getattr__(self, name: str) -> Any:
        kind = JavaPackage if name[0].islower() else _StaticMethods
        member = kind(self._gateway, f"{self._name}.{name}")
        self.__dict__[name] = member  # later accesses do not call __getattr__
        return member


class _StaticMethods:
    def __init__(self, gateway: Any, class_name: str) -> None:
        self._gateway = gateway
        self._class_name = class_name

    def __getattr__(self, name: str) -> Any:
        method = JavaMember(name, None, STATIC_PREFIX + self._class_name, self._gateway._gateway_client)
        self.__dict__[name] = method
        return method


def java(spark: SparkSession) -> JavaPackage:
    """Return the classes of the jar. Raises EngineError ENGINE_NOT_STARTED as `load_classes` does."""
    return load_classes(spark.sparkContext._gateway)


def load_classes(gateway: Any) -> JavaPackage:
    """Load the jar into the JVM, unless it is loaded, and return its classes.

    Raises EngineError ENGINE_NOT_STARTED when the jar is missing or the JVM cannot load it.
    """
    with _loading:
        if id(gateway) not in _loaded:
            check_supported()
            _add_jar(gateway)
            start_callback_server(gateway)
            classes = JavaPackage(gateway, _PACKAGE)
            classes.common.ClassLookups.install()
            classes.common.Secrets.setNames(SECRET_NAMES)
            server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
            classes.endpoints.GatewayLogins.limit(server)
            _loaded[id(gateway)] = classes
    return _loaded[id(gateway)]


def jar() -> Path:
    """Return the path of the jar. Raises EngineError ENGINE_NOT_STARTED when it was not built."""
    path = Path(str(resources.files("jetsql.engine").joinpath("jetsql.jar")))
    if not path.exists():
        raise EngineError(
            "ENGINE_NOT_STARTED",
            f"The Java classes of JetSQL were not built: {path} does not exist.",
            hint="In a checkout, build them with 'make java'.",
        )
    return path


def _add_jar(gateway: Any) -> None:
    loader = _StaticMethods(gateway, "org.apache.spark.util.Utils").getContextOrSparkClassLoader()
    if loader.getResource(_EXTENSIONS_FILE) is not None:
        return
    driver_loader = None
    while loader is not None:
        driver_loader = loader if is_instance_of(gateway, loader, _SPARK_LOADER) else driver_loader
        loader = loader.getParent()
    if driver_loader is None:
        raise EngineError(
            "ENGINE_NOT_STARTED",
            "The running Spark of this session cannot load JetSQL's classes.",
            hint=f"Start Spark with --conf {_SPARK_JARS}={jar()}.",
        )
    driver_loader.addURL(gateway.jvm.java.net.URL(jar().as_uri()))


def class_confs(gateway: Any, given: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings that add JetSQL's extensions to sessions, and its jar and its plugin to executors.

    given: the engine's settings. For missing ones, the settings that the JVM was launched with apply.
    """
    added = {_SPARK_JARS: str(jar()), _SPARK_EXTENSIONS: _EXTENSIONS, _SPARK_PLUGINS: _PLUGIN}
    return {key: append_item(given.get(key) or _read_property(gateway, key), value) for key, value in added.items()}


def with_jars(confs: Mapping[str, str], gateway: Any, jars: Sequence[str]) -> dict[str, str]:
    """Return the Spark settings with further jars for the executors. confs: the engine's settings."""
    if not jars:
        return dict(confs)
    items = confs.get(_SPARK_JARS) or _read_property(gateway, _SPARK_JARS)
    for each in jars:
        items = append_item(items, each)
    return {**confs, _SPARK_JARS: items}


def _read_property(gateway: Any, key: str) -> str:
    return str(_StaticMethods(gateway, "java.lang.System").getProperty(key, ""))


def append_item(items: str, item: str) -> str:
    """Return a list with commas, with an item at its end."""
    others = [each for each in items.split(",") if each and each != item]
    return ",".join([*others, item])  # Spark calls the parser of the last extension first


def enable(spark: SparkSession) -> None:
    """Extend a running session, and sessions created from it later, with JetSQL. A second call does nothing."""
    java(spark).sql.JetSqlExtensions.enable(spark._jsparkSession)
    java(spark).endpoints.SparkLogins.limit(spark.sparkContext._jsc.sc().env())
    spark.conf._jconf = spark._jsparkSession.conf()  # PySpark keeps the object that Java has replaced
    context: Any = spark.sparkContext
    if jar().name not in str(context._jsc.sc().listJars()):
        context._jsc.addJar(str(jar()))  # for the executors


def revealed(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with references replaced by their secrets (`secret:NAME`, `secret:file:PATH`, ...).

    Raises PySpark's AnalysisException with the condition JETSQL.SECRET_NOT_READABLE.
    """
    if not any(is_reference(value) for value in options.values()):
        return dict(options)
    caller, given = current().caller, json.dumps(dict(options))
    revealing = java(spark).connections.NamedSecrets.revealOptions
    values: dict[str, str] = json.loads(revealing(spark._jsparkSession, caller.user, given))
    return values


def without_secrets(text: str) -> str:
    """Return a text without the values of secrets that Java has read, see `Secrets.java`."""
    for classes in list(_loaded.values()):
        try:
            text = str(classes.common.Secrets.redact(text))
        except (Py4JError, ConnectionError) as error:
            if isinstance(error, Py4JJavaError):
                raise
            # The JVM has ended, and Python has no list of the secrets.
    return text


def missing_file(error: BaseException) -> bool:
    """Return whether a Java call failed because a file is missing."""
    return isinstance(error, Py4JJavaError) and "FileNotFoundException" in str(error.java_exception.getClass())
