"""The table of capabilities is that of the code, and no page contradicts it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

import pytest

from jetsql.engine.jvm.spark_version import SUPPORTED
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.planning.options import OPTIONS
from jetsql.language.statement import Verb
from jetsql.language.statement_syntax import statement_rules
from jetsql.settings.engine_settings import SPECS
from tests.support.paths import ROOT
from tools.docs import capabilities
from tools.docs.capabilities import CAPABILITIES, LIMITS, TABLE_KINDS, Capability
from tools.docs.parts import written_pages

_JAVA: Final = ROOT / "java" / "src" / "main"
_REWRITES: Final = _JAVA / "java" / "dev" / "jetsql" / "rewrites"
_CONNECTORS: Final = _JAVA / "resources" / "dev" / "jetsql" / "versions" / "connectors.properties"


def rewrite_rules() -> set[str]:
    """Return the names of the rules that rewrite queries, which Java's sources create."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in _REWRITES.rglob("*.java")}
    literal = re.findall(r'new RewriteRule\("([\w ]+)"', texts["RewrittenQuery"])
    classes = re.findall(r"new RewriteRule\((\w+)\.NAME", texts["RewrittenQuery"])
    return {*literal, *(name for each in classes for name in re.findall(r' NAME = "([\w ]+)"', texts[each]))}


def sparks(connector: str) -> list[str]:
    """Return the versions of Spark with the connector, the newest first."""
    return re.findall(rf"^{connector}\.(\d\.\d)", _CONNECTORS.read_text(encoding="utf-8"), re.MULTILINE)


def connectors() -> set[str]:
    return set(re.findall(r"^(\w+)\.\d", _CONNECTORS.read_text(encoding="utf-8"), re.MULTILINE))


COMPLETE: Final[Mapping[str, tuple[Callable[[], Collection[object]], Callable[[Capability], Collection[object]]]]] = {
    "statements": (statement_rules, lambda each: each.statements),
    "verbs": (lambda: list(Verb), lambda each: each.verbs),
    "sinks": (lambda: list(SinkKind), lambda each: each.sinks),
    "rewrites": (rewrite_rules, lambda each: each.rewrites),
    "connectors": (connectors, lambda each: each.connectors),
}
"""The parts of the code that belong to a capability without exception, and those that the table names."""


@pytest.mark.parametrize("part", COMPLETE)
def test_every_part_of_the_code_belongs_to_a_capability(part: str) -> None:
    """Fail until the part is added to a capability of `tools/docs/capabilities.py`, or removed there."""
    of_code, of_table = COMPLETE[part]
    assert {name for each in CAPABILITIES for name in of_table(each)} == set(of_code())


def test_settings_and_options_of_capabilities_exist() -> None:
    assert {name for each in CAPABILITIES for name in each.settings} <= set(SPECS)
    assert {name for each in CAPABILITIES for name in each.options} <= {option.name for option in OPTIONS}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda each: each.name)
def test_a_limit_is_still_there(limit: capabilities.Limit) -> None:
    """Fail if the limit is gone, so that it moves to the capabilities, or if its text has changed."""
    assert limit.evidence in (ROOT / limit.source).read_text(encoding="utf-8")


@pytest.mark.parametrize("capability", [each for each in CAPABILITIES if each.denied_by], ids=lambda each: each.name)
def test_no_page_denies_a_capability(capability: Capability) -> None:
    denied = re.compile(capability.denied_by)
    pages = {path: " ".join(path.read_text(encoding="utf-8").split()) for path in written_pages()}
    assert {path.name: found[0] for path, text in pages.items() if (found := denied.search(text))} == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sinks, exactly once", "Delta, Iceberg and bucketed tables cannot be sinks yet."),
        ("sinks, exactly once", "| Delta and Iceberg tables | not as sinks yet |"),
        ("changed rows of a result", "A join of updating results does not."),
        ("changed rows of a result", "There are no joins of updating results."),
        (
            "several engines",
            "There is one engine process. After its death, jobs do not run until an engine starts again.",
        ),
    ],
)
def test_a_denial_is_found(name: str, sentence: str) -> None:
    capability = next(each for each in CAPABILITIES if each.name == name)
    assert re.search(capability.denied_by, sentence)


def test_comparison_agrees_with_the_table_about_jetsql() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    _, _, rows = page.partition("| | JetSQL |")
    cells = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", rows.partition("\n## ")[0], re.MULTILINE))
    named = dict(row for each in CAPABILITIES for row in each.compared)
    assert named == {row: cell for row, cell in cells.items() if row not in ("unit", "can be queried for results")}


def test_every_sink_is_in_the_table_of_kinds() -> None:
    assert {kind.sink for kind in TABLE_KINDS if kind.sink is not None} == set(SinkKind)


def test_the_guarantee_of_a_kind_is_that_of_the_planner() -> None:
    guarantees = {kind.name: capabilities.guarantee(kind) for kind in TABLE_KINDS}
    assert guarantees["JDBC: PostgreSQL"] == "exactly once"
    assert guarantees["JDBC: other databases"] == "at least once"
    assert guarantees["socket"] == "no"


def test_the_versions_of_spark_are_those_of_the_code() -> None:
    *older, newest = SUPPORTED
    readme, versions, lakehouse = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/reference/versions.md", "docs/how-to/lakehouse.md")
    )
    assert f"It runs on Spark {', '.join(older)} and {newest}\n" in readme
    assert f"| Spark | PySpark {SUPPORTED[0]} to {newest};" in versions
    for name in ("Delta", "Iceberg"):
        assert re.search(rf"^\| {name} [\d.]+ \| {' or '.join(sparks(name.lower()))} \|", lakehouse, re.MULTILINE)
