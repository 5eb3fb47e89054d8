"""Launch Spark's JVM with settings from a private file, and with its output in the engine's log.

PySpark passes settings as arguments of the process, which every user of the machine can read. This module writes them
to a file of mode 0600 and deletes it as soon as the JVM has read it. PySpark's JVM also inherits the terminal and would
write to it, where only results belong on stdout.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pyspark
from pyspark.java_gateway import launch_gateway

from jetsql.engine.jvm.class_archive import archive_options
from jetsql.engine.jvm.environment import set_module_path, set_variable
from jetsql.engine.jvm.spark_version import full_version, spark_home
from jetsql.errors import EngineError
from jetsql.home.discovery import read_note
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import append_private, write_private
from jetsql.home.process_folders import make_process_folder, name_length
from jetsql.jobs.model.redaction import is_secret

LOOPBACK: Final = "127.0.0.1"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
CRASH_REPORT: Final = "java-crash.log"
"""The file in a home with the report of a crash of Java."""
_PACKAGES: Final = "spark.jars.packages"
_PROPERTIES: Final = "spark.properties"
_TEMPORARY: Final = "tmp"
_SOCKET_NAME: Final = len("/.00000000-0000-0000-0000-000000000000.sock")
_MAX_SOCKET_PATH: Final = 103  # bytes on macOS; Linux has 4 more
_PREFIX: Final = "jetsql-java-"
_SHORT_TEMPORARY: Final = Path("/tmp")
_DEFAULT_MEMORY: Final = "1g"  # Spark's
_MEMORY: Final = re.compile(r"(?P<number>\d+)(?P<unit>[kmgt]?)b?")
_SMALL_HEAP: Final = 2 << 30
_COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC\b")
# The environment variables with options that Java and Spark's launcher add to their own.
_OPTION_VARIABLES: Final = (_ARGUMENTS, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
# Java's thresholds of the optimizing compiler times ten. An engine calls many methods some ten thousand times in its
# first minute, and compiling all of them takes a third of its processor time. The code for rows is soon beyond them.
_COMPILER_OPTIONS: Final = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
_LOG: Final = logging.getLogger(__name__)
_home: Path | None = None


@dataclass(frozen=True)
class SparkStart:
    """The parameters of a start of Spark."""

    home: Path
    """The folder of the metastore, the log and temporary files."""
    warehouse: str
    """The folder of managed tables, a path or URI."""
    master: str
    """Spark's master URL."""
    driver_memory: str | None = None
    """The driver's heap size as Spark writes sizes; None for Spark's default."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark settings that override the engine's; values may be references to secrets."""
    cluster_secret: Path | None = None
    """The file with the secret of a standalone cluster; None for the default file, see `find_secret_file`."""
    token: str = ""
    """The password of Spark's web UI."""
    formats: tuple[str, ...] = ()
    """The table formats and file systems whose connectors are loaded: `delta`, `iceberg`, `s3`."""
    class_archives: Path | None = None
    """The folder of the archives of Spark's classes; None for a start without one."""
    owns_process: bool = False
    """Spark ends with this engine, so its home can have all temporary files. In another program, the next engine may
    have another home."""

    @property
    def log(self) -> Path:
        return self.home / LOG

    @property
    def temporary(self) -> Path:
        """The folder for shuffle files, blocks and other temporary files of the driver."""
        return self.home / _TEMPORARY

    @property
    def java_temporary(self) -> Path:
        """The folder for Java's temporary files, such as native libraries and the files of Spark Connect's clients."""
        return self.temporary if self.owns_process else _temporary_of_process()

    @property
    def heap_bytes(self) -> int | None:
        """The size of the driver's heap; None for a setting that Spark will refuse."""
        memory = self.conf.get("spark.driver.memory", self.driver_memory or _DEFAULT_MEMORY)
        size = _MEMORY.fullmatch(memory.strip().lower())
        return None if size is None else int(size["number"]) * 1024 ** (1 + "kmgt".index(size["unit"] or "m"))


def launch_jvm(start: SparkStart, confs: Mapping[str, str]) -> Any:
    """Launch the JVM of this process with these settings, unless it runs, and return PySpark's gateway to it.

    Raises EngineError HOME_NOT_USABLE, EngineError INVALID_SETTING for arguments in the environment that would replace
    the settings, and PySpark's and the system's errors when the JVM does not start.
    """
    global _home
    _home = start.home
    context: Any = pyspark.SparkContext
    _renew_temporary_folder(start.temporary)
    if context._gateway is None:
        context._ensure_initialized(gateway=_launch(start, confs))
    else:
        utils = getattr(context._jvm.org.apache.spark.util, "Utils$")
        getattr(utils, "MODULE$").clearLocalRootDirs()  # the previous engine of this process had another home
    return context._gateway


def restart_hint(package: str) -> str:
    """Return, as a sentence, how to start the engine of this process again with a package of Maven.

    package: its coordinates; several are separated by commas.
    """
    note = None if _home is None else read_note(_home)
    if _home is None or note is None or note.pid != os.getpid():  # the engine is inside another program
        return f"Start Spark with the setting {_PACKAGES}={package}."
    others = note.conf.get(_PACKAGES)
    at_home = f"--home {shlex.quote(str(_home))}"
    conf = f"{_PACKAGES}={f'{others},{package}' if others else package}"
    return f"Run `jetsql stop {at_home}`, then `jetsql start {at_home} --conf {conf}`."


def _launch(start: SparkStart, confs: Mapping[str, str]) -> Any:
    file = start.home / _PROPERTIES
    launch: Any = launch_gateway
    local = confs.get("spark.driver.bindAddress") == LOOPBACK
    with append_private(start.log) as log, _environment(file, local):
        try:
            write_private(file, properties(confs))
            return launch(popen_kwargs={"stdout": log, "stderr": subprocess.STDOUT})
        finally:
            file.unlink(missing_ok=True)


def _collector_options(start: SparkStart) -> tuple[str, ...]:
    """Return the choice of the garbage collector, unless the user has chosen one.

    The parallel collector needs less processor time than G1, above all in small batches. But it stops Java while it
    collects the whole heap, for a second or more when the heap is large.
    """
    is_small = start.heap_bytes is not None and start.heap_bytes <= _SMALL_HEAP
    is_chosen = any(_COLLECTOR.search(text) for text in _given_java_options(start.conf))
    return ("-XX:+UseParallelGC",) if is_small and not is_chosen else ()


def _given_java_options(conf: Mapping[str, str]) -> Iterator[str]:
    """Return the texts in which the user can have set options of Java. Java refuses to start with two collectors."""
    yield conf.get("spark.driver.extraJavaOptions", "")
    yield from (os.environ.get(name, "") for name in _OPTION_VARIABLES)
    folder = os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf"
    with suppress(OSError):
        yield Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")


def java_options(start: SparkStart) -> str:
    """Return the options of the JVM as one line."""
    log4j = resources.files("jetsql.engine").joinpath("log4j2.properties")
    options = {
        "log4j2.configurationFile": Path(str(log4j)).as_uri(),
        "java.io.tmpdir": str(start.java_temporary),
        "jetsql.log": str(start.log),
        "derby.system.home": str(start.home),
        "derby.stream.error.file": str(start.home / "derby.log"),
        "derby.storage.useDefaultFilePermissions": "false",  # only the owner can read the files
    }
    flags = (
        *archive_options(start.class_archives),
        *_COMPILER_OPTIONS,
        *_collector_options(start),
        # After an OutOfMemoryError the JVM continues without the failed threads; jobs restart only after it has exited.
        "-XX:+ExitOnOutOfMemoryError",
        # Spark generates code for each query, and a JVM without room for it exits. Unused space takes no memory.
        "-XX:ReservedCodeCacheSize=512m",
        # Java collects its whole heap each time that the space of classes grows to this. A start loads 100 MB of them.
        "-XX:MetaspaceSize=192m",
    )
    crash = f'"-XX:ErrorFile={start.home / CRASH_REPORT}"'
    return " ".join((*flags, crash, *(f'"-D{key}={value}"' for key, value in options.items())))


def split_secrets(options: str) -> tuple[str, dict[str, str]]:
    """Split a user's options of Java into those for the command line, and system properties with secrets.

    Every user of the machine can read the command line. Java reads properties such as those of TLS when it needs them.
    """
    try:
        words = shlex.split(options)
    except ValueError:  # an open quotation mark, which Spark refuses
        return options, {}
    pairs = {word: word.removeprefix("-D").partition("=") for word in words if word.startswith("-D")}
    secrets = {name: value for name, _, value in pairs.values() if is_secret(name)}
    if not secrets:
        return options, {}
    others = (word for word in words if word not in pairs or pairs[word][0] not in secrets)
    return " ".join(map(_quote, others)), secrets


def _quote(option: str) -> str:
    escaped = option.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'


def _renew_temporary_folder(folder: Path) -> None:
    """Create an empty folder. A killed engine has left its files there; this engine has the lock on the home.

    Raises EngineError HOME_NOT_USABLE.
    """
    try:
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"Cannot renew the temporary folder {folder}: {error.strerror or error}.",
            hint="Delete the folder, or choose a writable home (--home).",
        ) from error


def socket_folder(start: SparkStart) -> Path:
    """Return a private folder for Unix sockets, whose paths must be short. It exists when the JVM is launched."""
    if len(os.fsencode(start.java_temporary)) + _SOCKET_NAME <= _MAX_SOCKET_PATH:
        return start.java_temporary
    return _temporary_of_process()


@cache
def _temporary_of_process() -> Path:
    """Return a folder that only this user can access, until the process exits. Its path is short, for sockets."""
    length = len(os.fsencode(tempfile.gettempdir())) + len("/") + name_length(_PREFIX) + _SOCKET_NAME
    return make_process_folder(_PREFIX, None if length <= _MAX_SOCKET_PATH else _SHORT_TEMPORARY)


@contextmanager
def _environment(properties: Path, local: bool) -> Iterator[None]:
    """Set the environment variables of PySpark and Spark that have no setting, during the context.

    Raises EngineError INVALID_SETTING.
    local: whether Spark's web UI listens on loopback; only SPARK_LOCAL_IP sets its address.
    """
    given = os.environ.get(_ARGUMENTS, "pyspark-shell")
    if "--properties-file" in shlex.split(given):
        raise EngineError(
            "INVALID_SETTING",
            f"{_ARGUMENTS} in the environment has --properties-file, which would replace the engine's settings.",
            hint="Move the settings of that file into config.toml, or give them with --conf.",
        )
    arguments = f"--properties-file {shlex.quote(str(properties))} --load-spark-defaults {given}"
    address = LOOPBACK if local else os.environ.get("SPARK_LOCAL_IP")
    spark, other = spark_home(), os.environ.get("SPARK_HOME")
    if other and Path(other) != spark:
        _LOG.warning("SPARK_HOME=%s is ignored: it has no Spark %s, the version of PySpark", other, full_version())
    with (
        set_variable(_ARGUMENTS, arguments),
        set_variable("SPARK_HOME", str(spark)),
        set_variable("SPARK_LOCAL_IP", address),
        set_module_path(),
    ):
        yield


def properties(confs: Mapping[str, str]) -> str:
    """Return the settings in the format of java.util.Properties."""
    return "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in confs.items())


def _escape(text: str) -> str:
    return re.sub(r"[^\w.-]", _escape_character, text, flags=re.ASCII)


def _escape_character(char: re.Match[str]) -> str:
    units = char.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))
