"""Statements that went through sqlglot are the same plans for Spark."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot
from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException
from sqlglot.errors import SqlglotError

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.several_inserts import branch_text, source_text
from jetsql.language.statement import Body
from jetsql.sqlglot_dialect import JetSQL
from jetsql.sqlglot_dialect.faithful_trees import WRITTEN
from tests.support.sql_corpus import accepted_statements, document_statements

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

pytestmark = pytest.mark.spark
_EQUAL = (
    (re.compile(r"#\d+L?|\[plan_id=\d+\]|cterelation(?:def|ref) \d+|-?\d{15,}"), ""),  # numbers, seeds
    (re.compile(r"not isnull\("), "isnotnull("),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*"), "now"),  # localtimestamp
)
"""Remove what differs between plans with the same meaning."""

_EXAMPLE = re.compile(r"^\s*> ((?:SELECT|WITH|FROM).*?);\s*$", re.MULTILINE | re.DOTALL)

SAMPLE = (
    "SELECT parse_json('{\"a\": 1}'), try_parse_json('x'), rlike('a', 'b') = true, current_catalog(), current_date()",
    "SELECT struct(1, 'a'), named_struct('a', 1), map('a', 1), map(), array(1, 2), array()",
    "SELECT 'it''s', 'a' 'b', r'\\d', \"q\", 1L, 2.0D, 3BD, 4S, 5Y, 1e3, X'1F', (1 + 2)::string",
    "SELECT -128::tinyint, .5, +1",
    "SELECT interval 1 hour 30 minutes, interval '1-2' year to month, interval '5 minutes', interval -3 days",
    "SELECT date '2020-01-01', timestamp '2020-01-01 10:00:00', timestamp_ntz '2020-01-01 10:00:00', time '10:00:00'",
    "SELECT a IS NOT NULL, a NOT IN (1, 2), b NOT LIKE 'x', b RLIKE 'x', a <=> 1 AND b <=> 'x', !c, a != 1 AS d"
    " FROM VALUES (1, 'x', true) AS t(a, b, c) WHERE a IS NOT NULL AND NOT (b IS NULL)",
    "SELECT substr('abc', 2), substring('abc', 2, 1), left('abc', 1), instr('abc', 'b'), nvl(1, 2)",
    "SELECT date_add(date '2020-01-01', 1), dateadd(DAY, 1, date '2020-01-01'), datediff('2020-01-02', '2020-01-01'),"
    " trunc(date '2020-01-01', 'MM'), to_date('2020', 'yyyy'), unix_timestamp(), day('2020-01-01')",
    "SELECT int('1'), string(1), date('2020-01-01'), boolean('true'), double(1), decimal('1')",
    "SELECT a % 2, a DIV 2, a / 2, ~a, -a, +a, a ^ 1, a | 1, a & 1, a || 'x' FROM VALUES (1) AS t(a)",
    "SELECT count(*), count(DISTINCT a), sum(a) FILTER (WHERE a > 1), first(a) IGNORE NULLS, any_value(a),"
    " percentile_approx(a, 0.5), collect_list(a), max_by(a, a), listagg(b, ',') FROM VALUES (1, 'x') AS t(a, b)",
    "SELECT transform(array(1), x -> x + 1), filter(array(1), x -> x > 0), aggregate(array(1), 0, (s, x) -> s + x)",
    "SELECT * FROM (WITH c AS (SELECT 1 AS a) SELECT * FROM c) x"
    " JOIN (WITH c AS (SELECT 2 AS a) SELECT * FROM c) y ON true",
    "WITH c AS (SELECT 1 AS a) SELECT (WITH c AS (SELECT 2 AS a) SELECT max(a) FROM c) AS m, a FROM c",
    "SELECT * FROM range(3) a, range(2) b LEFT JOIN range(1) c ON b.id = c.id",
    "SELECT a, b FROM VALUES (1, 'x') AS t(a, b) LATERAL VIEW OUTER explode(array(1)) e AS y"
    " ORDER BY a DESC NULLS LAST, b ASC",
    "SELECT v:x FROM (SELECT parse_json('{}') AS v)",
    "SELECT position('b' IN 'abc')",
    "SELECT extract(YEAR FROM date '2020-01-01'), trim(BOTH 'x' FROM 'xax'), overlay('abc' PLACING 'x' FROM 1)",
    "SELECT Date, YEAR, `a b` FROM VALUES (1, 2, 3) AS t(Date, YEAR, `a b`) GROUP BY ALL",
    "SELECT get_json_object('{}', '$.a'), json_tuple('{}', 'a'), from_json('{}', 'a INT'), to_json(struct(1 AS a))",
)


def bodies(text: str) -> list[str]:
    """Return the texts of a job's body that Spark parses."""
    try:
        statement = parse(text)
    except StatementError:
        return []
    create = getattr(statement, "create", statement)
    body = getattr(getattr(create, "create", create), "body", None)
    if not isinstance(body, Body):
        return []
    if body.branches:
        return [source_text(body), *(branch_text(body, branch) for branch in body.branches)]
    return [body.spark_text]


def same_form(plan: str) -> str:
    found = plan.casefold()
    for pattern, replacement in _EQUAL:
        found = pattern.sub(replacement, found)
    return found


class Plans:
    """Spark's plans of texts."""

    def __init__(self, engine: EngineInstance) -> None:
        self._state = engine.spark._jsparkSession.sessionState()

    def parsed(self, text: str) -> str:
        try:
            return same_form(str(self._state.sqlParser().parsePlan(text).toString()))
        except ParseException as error:  # the grammar's corpus has bodies that only Spark refuses
            return str(error.getCondition())

    def analyzed(self, text: str) -> str:
        """Return the analysed plan of a query, or the condition of the error."""
        try:
            plan = self._state.sqlParser().parsePlan(text)
            return same_form(str(self._state.executePlan(plan, self._mode()).analyzed().toString()))
        except PySparkException as error:
            return str(error.getCondition())
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage()).partition("]")[0]

    def _mode(self) -> Any:
        method = "executePlan$default$2"
        return getattr(self._state, method)()

    def differences(self, text: str) -> list[str]:
        """Return the plan of a query and that of what sqlglot makes of it, if they differ."""
        before = self.analyzed(text)
        found = []
        for pretty in (False, True):
            generated = sqlglot.parse_one(text, read=JetSQL).sql(JetSQL, pretty=pretty)
            after = self.analyzed(generated)
            if before != after:
                found += [text, generated, before, after]
        return found


def test_bodies_are_the_same_plans(engine: EngineInstance) -> None:
    plans = Plans(engine)

    def parsed(text: str) -> list[str]:
        return [plans.parsed(body) for body in bodies(text)]

    checked = 0
    different = []
    for text in [*accepted_statements(), *document_statements()]:
        before = parsed(text)
        if not before:
            continue
        [tree] = sqlglot.parse(text, read=JetSQL)
        assert tree is not None
        for pretty in (False, True):
            after = parsed(tree.sql(JetSQL, pretty=pretty))
            if after != before:
                different.append((text, before, after))
        checked += 1
    assert different == []
    assert checked > 100


def test_queries_are_the_same_plans(engine: EngineInstance) -> None:
    plans = Plans(engine)
    assert [found for text in SAMPLE if (found := plans.differences(text))] == []


@pytest.mark.slow
def test_examples_of_all_functions_of_spark_are_the_same_plans(
    engine: EngineInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = Plans(engine)
    examples: dict[str, None] = {}
    names = [row.function for row in engine.spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    for name in names:
        lines = engine.spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        text = "\n".join(row[0] for row in lines)
        examples |= dict.fromkeys(
            match.strip() for match in re.findall(r"^\s*> ((?:SELECT|WITH|FROM).*?);\s*$", text, re.M | re.S)
        )
    different, kept, unread, rejected = [], 0, [], 0
    for example in examples:
        try:
            tree = sqlglot.parse_one(example, read=JetSQL)
        except SqlglotError:
            unread.append(example)
            continue
        kept += WRITTEN in tree.args
        rejected += " " not in plans.analyzed(example)
        found = plans.differences(example)
        if found:
            different.append(found)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(names)} functions, {len(examples)} examples: {len(different)} plans differ, {kept} keep their"
            f" text, {len(unread)} are errors for sqlglot, {rejected} are errors for Spark\n"
        )
    assert different == []
    assert len(examples) > 400
