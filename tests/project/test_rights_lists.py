"""The lists of the rights gates have every plan, expression and function, each with a decision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.paths import ROOT
from tools.java import rights_lists
from tools.java.older_sparks import OLDER

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

_STATEMENT_RIGHTS = ROOT / "java/src/main/java/dev/jetsql/rights/gates/StatementRights.java"


@pytest.mark.parametrize("name", list(rights_lists.ROOTS))
def test_every_class_of_the_newest_spark_is_listed(name: str) -> None:
    assert rights_lists.unlisted(name, rights_lists.newest_classes()) == []


@pytest.mark.parametrize("name", list(rights_lists.ROOTS))
@pytest.mark.parametrize("spark", OLDER)
def test_every_class_of_an_older_spark_is_listed(spark: str, name: str) -> None:
    classes = rights_lists.older_classes(spark)
    if not list(classes.names()):
        pytest.skip(f"Spark {spark} is not installed")
    assert rights_lists.unlisted(name, classes) == []


@pytest.mark.slow  # the tests of lakehouses download the jars
@pytest.mark.parametrize("name", list(rights_lists.ROOTS))
def test_every_class_of_a_table_format_is_listed(name: str) -> None:
    classes = rights_lists.format_classes()
    if not list(classes.names()):
        pytest.skip("neither Delta nor Iceberg was downloaded")
    assert rights_lists.unlisted(name, classes) == []


def test_new_class_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    known = rights_lists.listed("plans.txt")
    removed = "org.apache.spark.sql.catalyst.plans.logical.Filter"
    monkeypatch.setattr(rights_lists, "listed", lambda name: {each: "" for each in known if each != removed})
    assert rights_lists.unlisted("plans.txt", rights_lists.newest_classes()) == [removed]


@pytest.mark.parametrize("name", [*rights_lists.ROOTS, "functions.txt"])
def test_each_section_has_a_decision_and_a_reason(name: str) -> None:
    for section in set(rights_lists.listed(name).values()):
        assert re.fullmatch(r"(allowed|refused): .{10,}", section)


def test_statements_with_a_right_are_allowed_plans() -> None:
    source = _STATEMENT_RIGHTS.read_text(encoding="utf-8")
    allowed = {
        name.rpartition(".")[2]
        for name, section in rights_lists.listed("plans.txt").items()
        if section.startswith("allowed: statements")
    }
    with_right = set(re.findall(r'Map\.entry\("(\w+)"', source))
    assert with_right and with_right <= allowed


@pytest.mark.spark
def test_every_function_of_spark_is_listed(engine: EngineInstance) -> None:
    gateway: Any = engine.spark.sparkContext._gateway
    analysis = gateway.jvm.org.apache.spark.sql.catalyst.analysis
    known = rights_lists.listed("functions.txt")
    for registry in (analysis.FunctionRegistry, analysis.TableFunctionRegistry):
        functions = registry.builtin().listFunction().iterator()
        names = []
        while functions.hasNext():
            names.append(functions.next().funcName())
        assert len(names) > 10
        assert [name for name in names if name not in known] == []
