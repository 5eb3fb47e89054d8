"""The versions of Spark that Delta and Iceberg have releases for, without Spark."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from jetsql.engine.jvm import connectors, spark_version
from jetsql.engine.jvm.connectors import check_formats, connector_versions, install_hint, sparks_of
from jetsql.errors import EngineError

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def _run_on(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(spark_version.pyspark, "__version__", f"{version}.9")


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
    assert extras[name] == [f"pyspark=={sparks_of([name])[-1]}.*"]
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
def test_a_wrong_pair_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, formats: list[str], lacking: str, install: str
) -> None:
    _run_on(monkeypatch, version)
    with pytest.raises(EngineError) as error:
        check_formats(formats)
    assert error.value.condition == "JETSQL.ENGINE_NOT_STARTED"
    assert error.value.message.startswith(f"{lacking} cannot be loaded: there is no release for Spark {version}")
    assert f"pip install 'pyspark=={install}.*'" in error.value.hint


def test_right_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, formats in (("4.1", ["delta", "iceberg"]), ("4.2", ["delta"]), ("4.3", [])):
        _run_on(monkeypatch, version)
        check_formats(formats)


def test_formats_that_no_spark_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "connector_versions", lambda: {"delta.4.3": "", "iceberg.4.2": ""})
    assert install_hint(["delta", "iceberg"]) == "No supported Spark has all of them: start an engine for each."
