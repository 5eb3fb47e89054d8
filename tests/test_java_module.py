"""The Java sources: formatted, free of warnings of javac and Error Prone, tested by JUnit, in packages without cycles.

The tools come from Maven, by Spark's resolver; without them these tests fail.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jetsql.engine.jvm import java_classes
from jetsql.errors import EngineError
from tools.java import checks, jar

ROOT = Path(__file__).parents[1]
PACKAGES = (
    # Each may import those before it.
    "common",
    "files",
    "endpoints",
    "kafka.transactions",
    "kafka",
    "stream",
    "rows",
    "sql",
)
# The first fetch of the tools, and javac with Error Prone, on a machine that is busy.
pytestmark = pytest.mark.timeout(900)


def test_formatting() -> None:
    checks.check_formatting()


def test_javac_and_error_prone_report_nothing() -> None:
    checks.check_with_error_prone()


def test_junit() -> None:
    report = checks.run_tests()
    assert re.search(r"\[ +0 tests failed", report) and re.search(r"\[ +0 tests skipped", report)


def test_packages_import_those_below_them_only() -> None:
    found = set()
    for file in jar.sources():
        text = file.read_text(encoding="utf-8")
        [package] = re.findall(r"^package dev\.jetsql\.([\w.]+);", text, re.M)
        for imported in re.findall(r"^import (?:static )?dev\.jetsql\.([a-z.]+)\.[A-Z]", text, re.M):
            if PACKAGES.index(imported) > PACKAGES.index(package):
                found.add(f"{package} -> {imported}")
    assert found == set()


def test_the_jar_is_current() -> None:
    """As every target of make builds it: Spark runs the classes of these sources."""
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


def test_a_jar_that_was_not_built_is_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(java_classes.resources, "files", lambda package: tmp_path)
    with pytest.raises(EngineError, match="make java"):
        java_classes.jar()


def test_python_calls_static_methods_that_are_there() -> None:
    """Py4J finds a method by its name when it is called: this test finds those that are not there before."""
    static = set()
    for file in jar.sources():
        name = ".".join(file.relative_to(jar.MAIN / "java" / "dev" / "jetsql").with_suffix("").parts)
        text = file.read_text(encoding="utf-8")
        static |= {f"{name}.{method}" for method in re.findall(r"public static [^;={]*?\b(\w+)\(", text)}
    calls = re.compile(r"(?:java\([\w.]+\)|_java|load_classes\(gateway\)|classes)\.((?:[a-z]\w*\.)+[A-Z]\w+\.\w+)\(")
    sources = [*(ROOT / "jetsql" / "engine").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    called = {call for source in sources for call in calls.findall(source.read_text(encoding="utf-8"))}
    assert len(called) > 30
    assert called <= static
