"""The versions of Spark that JetSQL supports, and what the older ones lack. No Spark is started."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from jetsql.engine.jvm.spark_version import (
    check_supported,
    fixed_partitions,
    lacking_clauses,
    newer_clause_hint,
    spark_home,
)
from jetsql.errors import EngineError
from tests.support.golden_reports import raises


@pytest.mark.parametrize("version", ["4.1.0", "4.2.1", "4.3.0", "4.3.1.dev0"])
def test_versions_that_are_supported(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    check_supported()


@pytest.mark.parametrize("version", ["4.0.5", "4.4.0", "3.5.9"])
def test_versions_that_are_not_supported(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with raises(EngineError, match="4.1 to 4.3"):
        check_supported()


@pytest.mark.parametrize(("version", "is_used"), [("4.1.4", False), ("4.2.0", True)])
def test_a_spark_of_another_version_is_not_used(
    version: str, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    own = Path(pyspark.__file__).parent
    assert spark_home() == own
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{version}.jar").touch()
    assert spark_home() == (tmp_path if is_used else own)


def test_only_an_old_spark_cannot_repartition_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    assert fixed_partitions() == "Spark 4.1 cannot repartition state, which needs Spark 4.2 or newer"
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    assert fixed_partitions() == ""


def test_clauses_of_newer_versions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["SELECT", "a", "qualify", "rank"]
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    hint = newer_clause_hint(words)
    assert hint.startswith(
        "QUALIFY needs Spark 4.2 or newer; this engine runs Spark 4.1. Write SELECT * FROM (SELECT *,"
    )
    assert lacking_clauses() == ("QUALIFY", "ASOF", "MATCH_CONDITION")
    monkeypatch.setattr(pyspark, "__version__", "4.2.1")
    assert newer_clause_hint(words) == ""
    hint = newer_clause_hint(["ASOF"])
    assert hint.startswith(
        "ASOF needs Spark 4.3 or newer; this engine runs Spark 4.2. For two streams with a WATERMARK"
    )
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    assert lacking_clauses() == ()
