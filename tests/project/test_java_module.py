"""The Java sources: formatted, without warnings of javac and Error Prone, tested by JUnit, in packages without cycles.

Spark's resolver fetches the tools from Maven; without them these tests fail.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import fields
from importlib import resources
from pathlib import Path

import pytest

from jetsql.engine.jvm import java_classes, launch
from jetsql.engine.session.extension import EngineCallbacks
from jetsql.errors import EngineError
from jetsql.home.process_folders import make_process_folder
from tests.support.paths import ROOT
from tools.java import checks, jar
from tools.java.packages import BuildError

PACKAGES = (
    # Each package may import those before it.
    "common",
    "versions",
    "rights",
    "connections",
    "plans",
    "patterns",
    "files",
    "records",
    "kafka.registry",
    "kafka.protobuf",
    "kafka.transactions",
    "kafka",
    "kafka.topics",
    "rewrites.bytime",
    "rewrites.patterns",
    "rewrites.changes",
    "rewrites.ttl",
    "rewrites",
    "flink",
    "lookup",
    "scheduling",
    "triggers",
    "stream",
    "rows",
    "failures",
    "watchdog",
    "functions",
    "options",
    "jdbc",
    "endpoints",
    "parser",
    "catalog",
    "expectations",
    "refused",
    "lineage",
    "bodies",
    "lake",
    "rights.gates",
    "sql",
    "testing",
)
PYTHON_NAMES_THEM = tuple(f"{package}." for package in PACKAGES)
# Long enough to fetch the tools for the first time, and for javac with Error Prone on a busy machine.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def test_formatting() -> None:
    checks.check_formatting()


def test_javac_and_error_prone_report_nothing_and_junit_passes(tmp_path: Path) -> None:
    report = checks.run_tests(checks.compile_with_error_prone(tmp_path))
    assert re.search(r"\[ +0 tests failed", report) and re.search(r"\[ +0 tests skipped", report)


@pytest.mark.slow  # the test before reads fewer of them
@pytest.mark.timeout(3600)
def test_a_million_odd_messages_are_read_as_by_spark(tmp_path: Path) -> None:
    classes = checks.compile_with_error_prone(tmp_path)
    report = checks.run_tests(classes, ".*JsonObjectsTest", ["-Djetsql.odd.messages=1000000"])
    assert re.search(r"\[ +0 tests failed", report)


def test_packages_import_those_below_them_only() -> None:
    found = set()
    for file in jar.sources():
        text = file.read_text(encoding="utf-8")
        [package] = re.findall(r"^package dev\.jetsql\.([\w.]+);", text, re.M)
        for imported in re.findall(r"^import (?:static )?dev\.jetsql\.([a-z.]+)\.[A-Z]", text, re.M):
            if PACKAGES.index(imported) > PACKAGES.index(package):
                found.add(f"{package} -> {imported}")
    assert found == set()


def test_callbacks_have_the_same_names_in_java_and_python() -> None:
    text = (jar.MAIN / "java/dev/jetsql/common/EngineCallback.java").read_text(encoding="utf-8")
    names = {name.lower() for name in re.findall(r"^  ([A-Z_]+)[,;]$", text, re.M)}
    assert names == {field.name for field in fields(EngineCallbacks)}


def test_the_jar_is_current() -> None:
    """Spark runs the classes in this jar, which every target of make builds."""
    assert jar.is_current()


def test_a_change_of_a_source_makes_the_jar_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "main" / "java" / "A.java"
    source.parent.mkdir(parents=True)
    source.write_text("class A {}")
    monkeypatch.setattr(jar, "MAIN", tmp_path / "main")
    monkeypatch.setattr(jar, "JAR", tmp_path / "a.jar")
    assert not jar.is_current()
    jar._pack(tmp_path / "classes")
    assert jar.is_current()
    source.write_text("class A { }")
    assert not jar.is_current()


def test_engine_that_starts_keeps_the_classes_of_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start_engine(files: object, class_path: object, target: Path, options: object) -> None:
        os.utime(target, (0, 0))  # a build takes longer than an engine waits for the lock of a new folder
        make_process_folder(launch._PREFIX, target.parent)
        raise BuildError(f"exists: {target.exists()}")

    monkeypatch.setattr(jar, "JAR", tmp_path / "a.jar")
    monkeypatch.setattr(jar, "javac", start_engine)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(BuildError, match="exists: True"):
        jar.build()


def test_missing_jar_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    with pytest.raises(EngineError, match="make java"):
        java_classes.jar()


def test_static_methods_that_python_calls_exist() -> None:
    """Find missing methods, which Py4J reports only when they are called, and type checkers do not see."""
    call = re.compile(r"\.((?:[a-z]+\.)+)([A-Z]\w+)\.(\w+)\(")
    missing, count = [], 0
    for file in (ROOT / "jetsql").rglob("*.py"):
        for package, name, method in call.findall(file.read_text(encoding="utf-8")):
            source = ROOT / "java/src/main/java/dev/jetsql" / package.replace(".", "/") / f"{name}.java"
            if source.exists():
                count += 1
                declared = rf"public static [^;={{]*?\b{method}\("
                if not re.search(declared, source.read_text(encoding="utf-8")):
                    missing.append(f"{file.name}: {name}.{method}")
            elif package in PYTHON_NAMES_THEM:
                missing.append(f"{file.name}: {package}{name}")
    assert missing == [] and count > 30
