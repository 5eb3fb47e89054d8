"""The lineage of columns of Nexmark's queries and of others, compared with a table that was written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nexmark.query import NAMES, load
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.runs.analysis import resolve_body
from jetsql.jobs.planning.output_mode import MODES
from jetsql.language import parse
from jetsql.language.statement import CreateJob
from tests.conftest import Sql
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark
SCHEMA = "lineage"
Uses = dict[str, dict[str, frozenset[str]]]
"""The columns on which each column of the result depends, with the ways."""


@dataclass
class Case:
    """A query with its lineage."""

    name: str
    statements: list[str] = field(default_factory=list)
    uses: Uses = field(default_factory=dict)


def read_cases() -> Iterator[Case]:
    text = Path(__file__).with_name("column_lineage.txt").read_text()
    for part in text.split("\n== ")[1:]:
        head, _, rest = part.partition("\n")
        case = Case(head.strip())
        sql, has_sql, lines = rest.rpartition("\n--\n")
        if has_sql:
            case.statements = [each.strip() for each in sql.split(";\n")]
        for line in lines.strip().splitlines():
            column, _, uses = line.partition(" = ")
            case.uses[column] = dict(map(read_use, uses.split()))
        yield case


def read_use(text: str) -> tuple[str, frozenset[str]]:
    column, _, kinds = text.partition(":")
    return column, frozenset(kinds.split("+")) if kinds else frozenset({"IDENTITY"})


CASES = list(read_cases())


@pytest.fixture(scope="module")
def tables(engine: EngineInstance) -> Iterator[Sql]:
    sql = Sql(engine)
    sql(f"CREATE SCHEMA {SCHEMA}")
    sql(f"USE {SCHEMA}")
    example = (ROOT / "examples" / "tested" / "nexmark.sql").read_text()
    for statement in example.split(";\n"):
        if statement.strip():
            sql(statement)
    sql("CREATE TABLE side_input (key BIGINT, value STRING) USING parquet")
    sql("CREATE FUNCTION count_char(a STRING, b STRING) RETURNS INT RETURN length(a) - length(replace(a, b, ''))")
    yield sql
    sql("USE default")
    sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def test_the_table_has_nexmark_and_thirty_other_queries() -> None:
    names = [case.name for case in CASES]
    assert names[:24] == list(NAMES)
    assert len(set(names)) == len(names) >= 54


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_lineage_equals_the_table_written_by_hand(case: Case, engine: EngineInstance, tables: Sql) -> None:
    *before, statement = case.statements or [load(case.name).body]
    for each in before:
        tables(each)
    if not before:
        select = load(case.name).select if not case.statements else statement
        columns = ", ".join(f"`{name}` {kind}" for name, kind, *_ in tables(f"DESCRIBE QUERY {select}"))
        tables(f"CREATE TABLE {case.name} ({columns}) USING parquet")
        statement = f"INSERT INTO {case.name} {select}"
    assert find(engine, statement) == case.uses


def find(engine: EngineInstance, statement: str) -> Uses:
    """Return the lineage of the body of a job."""
    parsed = parse(f"CREATE JOB j AS {statement}")
    assert isinstance(parsed, CreateJob)
    runtime = engine._runtime
    captured = runtime._sessions.capture(engine.spark)
    body = resolve_body(parsed.body, engine.spark, captured, MODES[parsed.body.verb]).java_body
    facts = json.loads(body.lineage())
    inputs = [each["table"].rpartition(".")[2] for each in facts["inputs"]]
    uses: Uses = {}
    for output in facts["outputs"]:
        table = output["dataset"]["table"].rpartition(".")[2]
        prefix = f"{table}." if len(facts["outputs"]) > 1 else ""
        for column, found in (*output["fields"].items(), ("rows", output["rows"])):
            if found:
                uses[f"{prefix}{column}"] = {f"{inputs[use[0]]}.{use[1]}": read_kinds(use[2:]) for use in found}
    return uses


def read_kinds(kinds: list[Any]) -> frozenset[str]:
    return frozenset(f"{kind.split()[-1]}!" if " " in kind else kind for kind in kinds)
