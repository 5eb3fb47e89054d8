"""`jetsql format` on random scripts: what Spark reads stays, nothing raises, and formatting again changes nothing."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from time import monotonic

import pytest

from jetsql.errors import StatementError
from jetsql.language import parse, split
from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, scan
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.formatting.format_script import format_script
from tests.support.paths import ROOT
from tests.support.spark_parser import SparkParser
from tests.support.sql_mutations import RAW_STATEMENTS, Mutations, base_statements

SECONDS = float(os.environ.get("JETSQL_FORMAT_SECONDS") or 600)
WITH_NAMES = ROOT / "tests" / "sqlfiles" / "names_in_statements.txt"  # {} is the name
SEED = int(os.environ.get("JETSQL_SEED") or 1)
# Of the plan: ids, functions of Java, places of parameters, ALL for all columns, and the text of a view, up to its
# first child.
NOT_COMPARED = re.compile(
    r"#\d+|\$\$Lambda\S+|posparameter\(\d+\)|'(?:all|ALL)\b"
    r"|^'?(?:CreateView|CreateStreaming|CreateMaterialized|CreateUserDefinedFunction|AlterView|CreateVariable|CacheTable"
    r"|DescribeQuery).*?(?=\n:- |\n\+- |\Z)",
    re.DOTALL,
)


pytestmark = pytest.mark.usefixtures("quiet_sqlglot")


@pytest.fixture(scope="module")
def spark_parser() -> Iterator[SparkParser]:
    parser = SparkParser()
    yield parser
    parser.close()


def words(text: str) -> list[str]:
    """Return the tokens and comments of a text, plain words in capitals."""
    return [token.text.upper() if token.kind is Kind.WORD else token.text for token in scan(text)]


def formatted(text: str) -> str | None:
    """Return a script formatted, after a check; None if a quote in it has no end."""
    try:
        once = format_script(Script("a.sql", text)).text
    except StatementError:
        return None
    assert words(once) == words(text)
    before, after = split(text), split(once)
    assert list(map(words, (each.text for each in before))) == list(map(words, (each.text for each in after)))
    assert format_script(Script("a.sql", once)).text == once
    return once


def test_random_scripts() -> None:
    scripts = Mutations(base_statements(), 1)
    for _ in range(300):
        formatted(scripts.script())


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 300)
def test_random_scripts_for_some_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    scripts, counts, stop = Mutations(base_statements(), SEED), Counter[str](), monotonic() + SECONDS
    while monotonic() < stop:
        text = scripts.script()
        once = formatted(text)
        counts["with an open quote" if once is None else "unchanged" if once == text else "formatted"] += 1
    with capsys.disabled():
        sys.stdout.write(f"{counts.total()} scripts: {dict(counts)}; no token, comment or statement changed\n")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(SECONDS + 300)
def test_spark_reads_random_scripts_as_before(spark_parser: SparkParser, capsys: pytest.CaptureFixture[str]) -> None:
    scripts, counts, stop = Mutations(base_statements(), SEED), Counter[str](), monotonic() + SECONDS
    while monotonic() < stop:
        text = scripts.script()
        once = None if "$" in text else formatted(text)  # not even Spark's lexer reads texts with variables
        for before, after in zip(split(text), split(once or text), strict=True):
            if before.text != after.text:
                counts["statements"] += 1
                counts["that Spark parses"] += same_for_spark(spark_parser, before.text, after.text)
    with capsys.disabled():
        sys.stdout.write(f"{dict(counts)}; Spark read each as before\n")


@pytest.mark.parametrize(
    "text",
    [
        "select a From from t",
        "select a Union, b In, c Div from t",
        "select a Lateral from t",
        "select count(*) Over from t",
        "select * Intersect from t",
        "select All from t",
        "insert into Select select 1",
        "insert overwrite Table select 1",
        "insert into t (Null, False) select 1",
        "insert into t partition (Null = 1) select 1",
        "create table t (a int, True string) partitioned by (True)",
        "alter table t rename column Null to Select",
        "update Describe set a = 1",
        "describe Begin",
        "comment on table Select is 'x'",
        "from t Insert select a",
        "select * from Values a join Values b",
        "select extract(Order from t)",
        "select Exists(a, x -> x), Any(b), Grouping(c), First(d) from t",
        "select a collate Null from t",
        "select a from t Tablesample where a = 1",
        "select a from t left join Stream using (Stream)",
        "select a from t Outer union select 1",
        "select * from t unpivot (v for Null in (Null, b))",
    ],
)
def test_keywords_that_are_names_keep_their_case(text: str) -> None:
    names = [token.text for token in scan(text) if token.text.istitle()]
    once = formatted(text)
    assert once is not None
    assert [token.text for token in scan(once) if token.text.istitle()] == names


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1500)
def test_keywords_keep_their_meaning_where_names_can_be(spark_parser: SparkParser) -> None:
    for statement in WITH_NAMES.read_text(encoding="utf-8").splitlines():
        for keyword in sorted(KEYWORDS):
            before = statement.replace("{}", keyword.lower())
            same_for_spark(spark_parser, before, str(formatted(before)).rstrip("\n"))


def same_for_spark(spark: SparkParser, before: str, after: str) -> bool:
    """Compare what Spark reads, and return whether it is a statement of Spark."""
    folded = ([(kind, text.upper()) for kind, text in spark.tokens(each)] for each in (before, after))
    assert next(folded) == next(folded)
    try:
        if parse(before) is not None:
            return False
    except StatementError:
        return False
    first, second = (spark.plan(each) for each in (before, after))
    assert (first is None) == (second is None)
    if first is None or second is None:
        return False
    assert NOT_COMPARED.sub("", first) == NOT_COMPARED.sub("", second), f"{before}\n---\n{after}"
    return True


@pytest.mark.spark
def test_spark_reads_text_in_no_other_rule(spark_parser: SparkParser) -> None:
    """Fail when a new Spark reads text elsewhere: the formatter then needs to know it."""
    # SET and RESET; REFRESH, ADD and LIST, and the statements of Hive that Spark refuses.
    assert spark_parser.raw_rules() == {"setResetStatement": 6, "statement": 3}


@pytest.mark.spark
def test_text_for_spark_stays(spark_parser: SparkParser) -> None:
    for text in RAW_STATEMENTS:
        once = formatted(text)
        assert once is not None
        same_for_spark(spark_parser, text, once.rstrip("\n"))
