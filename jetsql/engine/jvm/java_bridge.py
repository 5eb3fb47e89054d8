"""Our Java inside Spark's JVM: compiled at start by the Janino that ships in Spark, so there is no build step.

A parser, an analyzer rule or a listener has to be a JVM class. Four small sources do what must happen there; all
decisions stay in Python. Compiling takes some tenths of a second, so the classes are kept for the life of the JVM.
"""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.jvm.callbacks import start_callback_server
from jetsql.jobs.model.redaction import SECRET_NAMES
from jetsql.secret_references import is_reference

_PACKAGE = "dev.jetsql"
_bridges: dict[int, Any] = {}
_shipped: dict[tuple[str, str], Any] = {}
# Jobs start side by side, and a class must not come from two loaders: Py4J tells classes apart by their names alone.
_making = threading.RLock()


def bridge(spark: SparkSession) -> Any:
    """The object with everything that our Java does, `Bridge.java`; made once a JVM."""
    return _bridge(spark.sparkContext._gateway)


def _bridge(gateway: Any) -> Any:
    with _making:
        if id(gateway) not in _bridges:
            start_callback_server(gateway)
            compiled = _compile(gateway, "java")
            loaded = _loaded(gateway, compiled, _parent(gateway), "Bridge")
            loaded.setSecretNames(SECRET_NAMES)
            _bridges[id(gateway)] = loaded
    return _bridges[id(gateway)]


def revealed(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """The options with the secrets that values name (`secret:env:NAME`, `secret:file:PATH`).

    Raises PySpark's AnalysisException with the condition JETSQL.SECRET_NOT_READABLE.
    """
    if not any(is_reference(value) for value in options.values()):
        return dict(options)
    found: dict[str, str] = json.loads(bridge(spark).reveal(json.dumps(dict(options))))
    return found


def without_secrets(text: str) -> str:
    """Return a text of an error without the values of the secrets that Java has read, see `Secrets.java`."""
    for each in list(_bridges.values()):
        try:
            text = str(each.hideSecrets(text))
        except (Py4JError, ConnectionError) as error:
            if isinstance(error, Py4JJavaError):
                raise
            # Java has ended, and what it had read is gone with it.
    return text


def class_beside(gateway: Any, beside: str, folder: str, name: str) -> Any:
    """An instance of a class in a folder of sources, which are put where a class of Spark's is (`beside`, by its name).

    For what Spark loads by a name in a setting: its class loaders know nothing of ours. Compiled when it is asked for.
    """
    made: dict[str, Any] = {}
    for file, code in _compile(gateway, f"java/{folder}").items():
        whole = str(file).removesuffix(".class").replace("/", ".")
        made[whole] = _bridge(gateway).define(beside, whole, code)
    return _instance(gateway, made[f"{_PACKAGE}.{name}"])


def shipped(spark: SparkSession, folder: str, name: str) -> Any:
    """An instance of a class in a folder of sources, all of which the executors have too: Spark hands them a jar.

    Compiled when it is asked for the first time, so the sources may name classes of jars that were added by then.
    """
    gateway: Any = spark.sparkContext._gateway
    key = (str(spark.sparkContext.applicationId), folder)
    with _making:
        if key not in _shipped:
            parent = spark._jsparkSession.sharedState().jarClassLoader()
            compiled = _compile(gateway, f"java/{folder}", parent)
            spark.sparkContext._jsc.addJar(_packed(gateway, folder, compiled))
            _shipped[key] = _loaded(gateway, compiled, parent, name)
    return _shipped[key]


def _loaded(gateway: Any, compiled: Any, parent: Any, name: str) -> Any:
    """An instance of one of the compiled classes, which come from a class loader of their own."""
    finder = gateway.jvm.org.codehaus.commons.compiler.util.resource.MapResourceFinder(compiled)
    loader = gateway.jvm.org.codehaus.commons.compiler.util.ResourceFinderClassLoader(finder, parent)
    return _instance(gateway, loader.loadClass(f"{_PACKAGE}.{name}"))


def _packed(gateway: Any, folder: str, classes: Any) -> str:
    """A jar of classes, which is deleted when Java ends."""
    temporary = gateway.jvm.java.lang.System.getProperty("java.io.tmpdir")
    place = gateway.jvm.org.apache.spark.util.Utils.createTempDir(temporary, "jetsql")
    path = Path(str(place.getAbsolutePath())) / f"jetsql-{folder}.jar"
    with zipfile.ZipFile(path, "w") as jar:
        for file in classes.keySet():
            jar.writestr(file, bytes(classes.get(file)))
    return str(path)


def _instance(gateway: Any, java_class: Any) -> Any:
    return java_class.getConstructors()[0].newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0))


def _parent(gateway: Any) -> Any:
    return gateway.jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()


def _compile(gateway: Any, folder: str, parent: Any = None) -> Any:
    """The classes of a folder of sources: their bytes by the names of their files. parent: finds what they name."""
    jvm = gateway.jvm
    sources = [f for f in resources.files("jetsql.engine").joinpath(folder).iterdir() if f.name.endswith(".java")]
    resource_type = jvm.org.codehaus.commons.compiler.util.resource.Resource
    array = gateway.new_array(resource_type, len(sources))
    for n, source in enumerate(sorted(sources, key=lambda f: f.name)):
        array[n] = jvm.org.codehaus.commons.compiler.util.resource.StringResource(source.name, source.read_text())
    classes = jvm.java.util.HashMap()
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(parent or _parent(gateway)))
    compiler.setClassFileCreator(jvm.org.codehaus.commons.compiler.util.resource.MapResourceCreator(classes))
    compiler.compile(array)
    return classes


def missing_file(error: BaseException) -> bool:
    """Whether a call failed because a file was not there."""
    return isinstance(error, Py4JJavaError) and "FileNotFoundException" in str(error.java_exception.getClass())
