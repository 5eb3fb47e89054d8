"""The one jar of JetSQL links with every supported Spark, of which only the newest is installed."""

from __future__ import annotations

import re

import pytest

from jetsql.engine.jvm.spark_version import SUPPORTED
from tools.java.class_files import ABSTRACT, FINAL, INTERFACE, Compiled, Declared, Reference
from tools.java.jar import sources
from tools.java.linkage import Linkage, Recorded, difference, newest_classes, own_classes, read_record
from tools.java.older_sparks import OLDER
from tools.java.packages import connector_uris, supported_sparks

UNUSED = {
    "4.1": {"dev/jetsql/stream/EarlyEndingReader.nextWithTimeout:(Ljava/lang/Long;Ljava/lang/Long;)"},
    "4.2": set(),
}
"""The methods that override a method of the newest Spark that the older one does not have, and so does not call."""


@pytest.fixture(scope="module")
def newest() -> Linkage:
    return Linkage(own_classes(), newest_classes())


@pytest.fixture(scope="module", params=OLDER)
def older(request: pytest.FixtureRequest, newest: Linkage) -> Linkage:
    return Linkage(own_classes(), Recorded(newest.spark, read_record(request.param)))


def test_the_jar_links_with_the_newest_spark(newest: Linkage) -> None:
    assert newest.problems() == []


def test_the_jar_links_with_an_older_spark(older: Linkage) -> None:
    assert older.problems() == []


@pytest.mark.parametrize("spark", OLDER)
def test_an_older_spark_calls_the_same_methods(spark: str, newest: Linkage) -> None:
    older = Linkage(own_classes(), Recorded(newest.spark, read_record(spark)))
    unused = {hook.partition(")")[0] + ")" for hook in newest.hooks() - older.hooks()}
    assert unused == UNUSED[spark]


def test_token_numbers_are_not_compiled_in() -> None:
    """Check the constants, which javac copies into the classes that use them, so the linkage does not show them."""
    copied = re.compile(r"\bSqlBase(?:Lexer|Parser)\.(?!VOCABULARY)[A-Z_]{2,}\b")
    assert [file.name for file in sources() if copied.search(file.read_text(encoding="utf-8"))] == []


def test_python_and_java_support_the_same_versions() -> None:
    assert tuple(supported_sparks()) == SUPPORTED


@pytest.mark.parametrize("spark", SUPPORTED)
def test_a_version_has_each_connector(spark: str) -> None:
    packages = " ".join(connector_uris(spark))
    assert all(name in packages for name in ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "spark-avro"))


OBJECT = "java/lang/Object"
PARENT = Declared(0, OBJECT, (), {"size:()I": 0, "name:Ljava/lang/String;": 0})
OWN = Declared(0, "spark/Parent", ("spark/Sized",), {"own:()V": 0})
SIZED = Declared(INTERFACE | ABSTRACT, OBJECT, (), {"size:()I": ABSTRACT})
SPARK = {"spark/Parent": PARENT, "spark/Sized": SIZED}


def problems(spark: dict[str, Declared], *references: Reference) -> list[str]:
    own = Compiled("dev/jetsql/Own", OWN, frozenset(references), frozenset({"spark/Parent"}))
    return [problem.partition(": ")[2] for problem in Linkage([own], spark).problems()]


def test_existing_members_are_no_problem() -> None:
    used = (Reference("spark/Parent", "size:()I", False), Reference("spark/Parent", "name:Ljava/lang/String;", None))
    assert problems(SPARK, *used, Reference("spark/Sized", "hashCode:()I", True)) == []


@pytest.mark.parametrize(
    ("spark", "reference", "problem"),
    [
        (SPARK, Reference("spark/Parent", "size:()J", False), "spark/Parent has no size:()J"),
        (SPARK, Reference("spark/Parent", "<init>:()V", False), "spark/Parent has no <init>:()V"),
        (SPARK, Reference("spark/Parent", "size:()I", True), "spark/Parent is a class"),
        (SPARK, Reference("spark/Sized", "size:()I", False), "spark/Sized is an interface"),
        ({"spark/Sized": SIZED}, None, "there is no class spark/Parent"),
        (SPARK | {"spark/Sized": PARENT}, None, "spark/Sized is a class"),
        (SPARK | {"spark/Parent": Declared(FINAL, OBJECT, (), PARENT.members)}, None, "spark/Parent is final"),
        (
            SPARK | {"spark/Parent": Declared(0, OBJECT, (), {**PARENT.members, "own:()V": FINAL})},
            None,
            "spark/Parent.own:()V is final",
        ),
        (
            SPARK | {"spark/Sized": Declared(INTERFACE, OBJECT, (), {"width:()I": ABSTRACT})},
            None,
            "spark/Sized.width:()I is abstract, and not implemented",
        ),
    ],
)
def test_missing_members_are_found(spark: dict[str, Declared], reference: Reference | None, problem: str) -> None:
    assert problem in problems(spark, *([reference] if reference else []))


def test_a_record_restores_a_class() -> None:
    older = Declared(FINAL, "spark/Parent", ("spark/Sized",), {"size:()I": FINAL, "old:()V": 0})
    record = {"classes": {"spark/Parent": difference(older, PARENT), "spark/Sized": difference(None, SIZED)}}
    spark = Recorded(SPARK, record)
    assert spark.get("spark/Parent") == older
    assert spark.get("spark/Sized") is None
    assert spark.get("spark/Other") is None
