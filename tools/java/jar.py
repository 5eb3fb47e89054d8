"""Build the jar of the Java classes (`jetsql/engine/jetsql.jar`) from the folder `java` when its sources have changed.

The classes are compiled against the jars of the installed PySpark. The jar's manifest has a digest of the sources.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from tools.java.packages import ROOT, BuildError, connectors, program, spark_jars

JAR: Final = ROOT / "jetsql" / "engine" / "jetsql.jar"
MAIN: Final = ROOT / "java" / "src" / "main"
KAFKA_OPTIONS: Final = ROOT / "grammar" / "kafka_options.json"
"""The options of Kafka tables, which Python reads as well."""
OPTIONS: Final = (
    "--release=17",
    "-encoding",
    "UTF-8",
    # Any warning fails the build, but without -Werror, with which javac ends at the first warning of Error Prone.
    # classfile: annotations in Spark's classes whose definitions are in no jar. path: missing jars in the class paths
    # that jars name. processing: annotations (of Jackson, in Spark) without a processor.
    "-Xlint:all,-classfile,-path,-processing",
)
_STAMP: Final = "JetSQL-Sources"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time of a zip file, so that the same sources give the same jar


def sources(folder: Path = MAIN) -> list[Path]:
    """Return the Java sources below a folder, sorted."""
    return sorted((folder / "java").rglob("*.java"))


def stamp() -> str:
    """Return a digest of the sources, the resources and the compiler's options."""
    digest = sha256(" ".join(OPTIONS).encode())
    files = {file.relative_to(MAIN).as_posix(): file for file in MAIN.rglob("*") if file.is_file()}
    for name, file in [(KAFKA_OPTIONS.name, KAFKA_OPTIONS), *sorted(files.items())]:
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def is_current() -> bool:
    """Return whether the jar exists and was built from these sources."""
    try:
        with zipfile.ZipFile(JAR) as jar:
            return f"{_STAMP}: {stamp()}" in jar.read("META-INF/MANIFEST.MF").decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False


def build() -> None:
    """Build the jar unless it is current. Raises BuildError."""
    if is_current():
        return
    # Not `jetsql-java-`: engines that start delete folders of this name that no process has locked.
    with tempfile.TemporaryDirectory(prefix="jetsql-javac-") as folder:
        javac(sources(), class_path(), Path(folder), ("-proc:none",))
        _pack(Path(folder))


def class_path() -> list[str]:
    """Return the class path for compiling: Spark and the Kafka connector."""
    return [spark_jars(), *map(str, connectors())]


def javac(files: Iterable[Path], class_path: Sequence[str], target: Path, options: Sequence[str]) -> None:
    """Compile sources into a folder. Raises BuildError with javac's output for any error or warning."""
    command = [program("javac"), *OPTIONS, *options, "-cp", os.pathsep.join(class_path), "-d", str(target)]
    ended = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    if ended.returncode or "warning" in ended.stderr:
        raise BuildError(f"The Java classes do not compile without warnings:\n{ended.stderr}{ended.stdout}")


def _pack(classes: Path) -> None:
    manifest = f"Manifest-Version: 1.0\n{_STAMP}: {stamp()}\n\n"
    part = JAR.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
        _add(jar, "META-INF/MANIFEST.MF", manifest.encode())
        _add(jar, KAFKA_OPTIONS.name, KAFKA_OPTIONS.read_bytes())
        for folder in (classes, MAIN / "resources"):
            for file in sorted(path for path in folder.rglob("*") if path.is_file()):
                _add(jar, file.relative_to(folder).as_posix(), file.read_bytes())
    part.rename(JAR)


def _add(jar: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    jar.writestr(info, data)


def main() -> None:
    if is_current():
        return
    sys.stderr.write("Building the Java classes (only after changes) ...\n")
    try:
        build()
    except BuildError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
