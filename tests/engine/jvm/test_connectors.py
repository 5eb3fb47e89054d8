"""The versions of Spark that Delta and Iceberg have releases for, without Spark."""

from __future__ import annotations

import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pyspark
import pytest

from jetsql.engine.jvm import connectors, spark_version
from jetsql.engine.jvm.connectors import (
    check_formats,
    connector_versions,
    explain_missing_packages,
    install_hint,
    sparks_of,
)
from jetsql.errors import EngineError
from tests.external_clients.engine import run_jetsql

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def _run_on(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", f"{version}.9")


def test_the_table_of_versions() -> None:
    versions = connector_versions()
    assert set(spark_version.SUPPORTED) == set(sparks_of(["kafka"])), "each Spark has Kafka's connector"
    for key, packages in versions.items():
        if key.partition(".")[0] in ("delta", "iceberg"):
            spark = key.partition(".")[2]
            assert f"_{spark}_2.13:" in packages or f"-{spark}_2.13:" in packages


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_extras_choose_a_pyspark_with_the_format(name: str) -> None:
    extras = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras[name] == ["jetsql[engine]", f"pyspark=={sparks_of([name])[-1]}.*"]
    assert f"pip install 'pyspark=={sparks_of([name])[-1]}.*'" in install_hint([name])


@pytest.mark.parametrize(
    ("version", "formats", "lacking", "install"),
    [
        ("4.3", ["delta"], "Delta", "4.2"),
        ("4.3", ["iceberg"], "Iceberg", "4.1"),
        ("4.3", ["delta", "iceberg"], "Delta and Iceberg", "4.1"),
        ("4.2", ["delta", "iceberg"], "Iceberg", "4.1"),
    ],
)
def test_incompatible_versions_are_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, formats: list[str], lacking: str, install: str
) -> None:
    _run_on(monkeypatch, version)
    with pytest.raises(EngineError) as error:
        check_formats(formats)
    assert error.value.condition == "JETSQL.ENGINE_NOT_STARTED"
    assert error.value.message.startswith(f"{lacking} cannot be loaded: there is no release for Spark {version}")
    assert f"pip install 'pyspark=={install}.*'" in error.value.hint


@pytest.mark.parametrize(("version", "formats"), [("4.1", ["delta", "iceberg"]), ("4.2", ["delta"]), ("4.3", [])])
def test_compatible_versions(monkeypatch: pytest.MonkeyPatch, version: str, formats: list[str]) -> None:
    _run_on(monkeypatch, version)
    check_formats(formats)


def test_formats_that_no_spark_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "connector_versions", lambda: {"delta.4.3": "", "iceberg.4.2": ""})
    assert install_hint(["delta", "iceberg"]) == "No supported Spark has all of them: start an engine for each."


@pytest.mark.spark
@pytest.mark.slow
def test_a_local_repository_with_descriptions_but_no_jars_is_harmless(tmp_path: Path) -> None:
    """Leave descriptions without jars, as Maven does: Spark's resolver prefers them to complete packages elsewhere."""
    packages = connector_versions()[f"kafka.{spark_version.version_name()}"].split()
    for package in packages:
        group, name, version = urlsplit(package).netloc.split(":")
        folder = tmp_path / ".m2" / "repository" / Path(*group.split(".")) / name / version
        folder.mkdir(parents=True)
        pom = f"<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        (folder / f"{name}-{version}.pom").write_text(
            f"<project><modelVersion>4.0.0</modelVersion>{pom}</project>", encoding="utf-8"
        )
    home = tmp_path / "home"
    conf = f"spark.driver.extraJavaOptions=-Duser.home={tmp_path} -Dspark.jars.ivy={tmp_path}/.ivy2"
    started = run_jetsql(home, "start", "--kafka", "--conf", conf)
    try:
        assert started.returncode == 0, started.stderr
    finally:
        run_jetsql(home, "stop")


def test_missing_packages_are_named_with_the_repositories() -> None:
    log = """:: problems summary ::
\tHost repo1.maven.org not found. url=https://repo1.maven.org/maven2/org/example/none/1.0/none-1.0.pom
\t\tmodule not found: org.example#none;1.0
\t  file:/home/ann/.m2/repository/org/example/none/1.0/none-1.0.pom
\t  https://repo1.maven.org/maven2/org/example/none/1.0/none-1.0.pom
\t  https://repos.spark-packages.org/org/example/none/1.0/none-1.0.pom
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.example#none;1.0: not found]
"""
    message, hint = explain_missing_packages(log) or ("", "")
    asked = "https://repo1.maven.org, https://repos.spark-packages.org"
    assert message == f"Cannot download org.example:none:1.0. Host repo1.maven.org not found; asked: {asked}."
    assert "spark.jars.repositories" in hint
    half_filled = "[download failed: com.example#jar;3.0.2!jar.jar, download failed: a#b;1!b.jar]"
    message, hint = explain_missing_packages(half_filled) or ("", "")
    assert message.startswith("Cannot download com.example:jar:3.0.2, a:b:1: ") and "~/.m2/repository" in hint
    assert explain_missing_packages("Invalid maximum heap size: -Xmxlots") is None
