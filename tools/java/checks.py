"""The checks of the Java sources that tests run: formatting, Error Prone, and JUnit tests.

    python -m tools.java.checks

formats the sources.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.java.jar import KAFKA_OPTIONS, MAIN, class_path, javac, sources
from tools.java.packages import ROOT, SHORT_LIVED, BuildError, connector_uris, fetch, program

TESTS: Final = ROOT / "java" / "src" / "test"
# The last versions that run on Java 17.
_FORMAT: Final = "ivy://com.google.googlejavaformat:google-java-format:1.28.0?transitive=true"
_ERROR_PRONE: Final = "ivy://com.google.errorprone:error_prone_core:2.42.0?transitive=true"
_JUNIT: Final = "ivy://org.junit.platform:junit-platform-console-standalone:1.13.4?transitive=false"
_COMPILER: Final = ("api", "code", "comp", "file", "main", "model", "parser", "processing", "tree", "util")
_ERROR_PRONE_OPTIONS: Final = ("-Xplugin:ErrorProne",)


def _exports() -> list[str]:
    exported = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{package}=ALL-UNNAMED" for package in _COMPILER]
    opened = [f"--add-opens=jdk.compiler/com.sun.tools.javac.{package}=ALL-UNNAMED" for package in ("code", "comp")]
    return [*exported, *opened]


def formatting(*options: str) -> None:
    """Run google-java-format over all sources. Raises BuildError when it fails or reports unformatted files."""
    jars = os.pathsep.join(map(str, _fetch_tool(_FORMAT)))
    files = [str(file) for folder in (MAIN, TESTS) for file in sources(folder)]
    command = [
        program("java"),
        *SHORT_LIVED,
        *_exports(),
        "-cp",
        jars,
        "com.google.googlejavaformat.java.Main",
        *options,
        *files,
    ]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        output = f"{ended.stdout}{ended.stderr}"
        raise BuildError(f"The Java sources are not formatted; run python -m tools.java.checks:\n{output}")


def check_formatting() -> None:
    """Raise BuildError with the names of the files that are not formatted."""
    formatting("--dry-run", "--set-exit-if-changed")


def _fetch_tool(uri: str) -> list[Path]:
    """Return the jars of a tool. The first call fetches all tools and the connector, with one start of Java."""
    fetch(*connector_uris(), _FORMAT, _ERROR_PRONE, _JUNIT)
    return fetch(uri)


def compile_with_error_prone(folder: Path) -> list[str]:
    """Compile the sources and their tests into a folder with Error Prone, and return the class path of the tests.

    One call of javac compiles both; the build of the jar proves that the sources do without the tests.
    Raises BuildError for any warning.
    """
    used = [str(KAFKA_OPTIONS.parent), str(MAIN / "resources"), *map(str, _fetch_tool(_JUNIT)), *class_path()]
    javac([*sources(), *sources(TESTS)], used, folder, _error_prone())
    return [str(folder), *used]


def _error_prone() -> Sequence[str]:
    processors = os.pathsep.join(map(str, _fetch_tool(_ERROR_PRONE)))
    compiler = [f"-J{option}" for option in (*SHORT_LIVED, *_exports())]
    policy = ("-XDcompilePolicy=simple", "--should-stop=ifError=FLOW", "-XDaddTypeAnnotationsToSymbol=true")
    return (*compiler, *policy, "-processorpath", processors, " ".join(_ERROR_PRONE_OPTIONS))


def run_tests(class_path: Sequence[str], tests: str = ".*Test", properties: Sequence[str] = ()) -> str:
    """Run the JUnit tests in the first entry of a class path and return their report.

    tests: a pattern of the names of their classes. properties: options of Java for them.
    Raises BuildError when a test fails.
    """
    launcher = ("org.junit.platform.console.ConsoleLauncher", "execute", "--scan-class-path", class_path[0])
    options = ("--fail-if-no-tests", "--details=tree", "--disable-banner", "--disable-ansi-colors")
    java = [program("java"), *SHORT_LIVED, *properties, "-cp", os.pathsep.join(class_path)]
    command = [*java, *launcher, "--include-classname", tests, *options]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise BuildError(f"{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    formatting("--replace")
