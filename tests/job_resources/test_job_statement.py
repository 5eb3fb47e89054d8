"""The statement of a resource: users who may create resources can create a job, and do nothing else."""

from __future__ import annotations

import pytest

from jetsql.errors import StatementError
from jetsql.job_resources.engine_statements import EngineStatements
from jetsql.job_resources.job_statement import SQL_MOST, read_job_statement
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.language import parse
from jetsql.language.statement import CreateJob
from jetsql.output.diagnostics import Diagnostic
from jetsql.sqlfiles.apply.engine_state import StatementFailed

JOB = "CREATE JOB orders AS INSERT INTO out SELECT * FROM STREAM src"
GROUP = "kubernetes/streams/shop"


def error_of(sql: str) -> Diagnostic:
    with pytest.raises(StatementFailed) as caught:
        read_job_statement(sql, GROUP)
    return caught.value.diagnostic


@pytest.mark.parametrize(
    "sql",
    [
        JOB,
        f"-- first\n{JOB};\n-- last; DROP TABLE out",
        f"/* DROP TABLE out; */ {JOB} /* ; DROP TABLE out */ ;",
        f"{JOB} WHERE a = '; DROP TABLE out'",
        JOB.replace("CREATE JOB", "CREATE OR REPLACE JOB"),
        JOB.replace("CREATE JOB", "create job if not exists"),
    ],
)
def test_one_create_job_is_read(sql: str) -> None:
    statement = read_job_statement(sql, GROUP)
    assert statement.declaration.name == "orders"
    assert [(each.key, each.value) for each in statement.create.options] == [("applyGroup", GROUP)]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "  -- nothing",
        "DROP TABLE out",
        "DROP JOB orders",
        "SUSPEND JOB orders",
        "EXPLAIN " + JOB,
        "GRANT ADMIN TO deployer",
        "CREATE USER ann",
        "CREATE TABLE t (a INT) USING parquet",
        "CREATE STREAMING TABLE t AS SELECT * FROM STREAM src",
        "CREATE MATERIALIZED VIEW t AS SELECT * FROM src",
        "CREATE SECRET s FROM ENV PATH",
        "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 1 $$",
        "INSERT INTO out SELECT * FROM src",
        "SET spark.sql.ansi.enabled = false",
        "USE other",
        f"USE other; {JOB}",
        f"SET a = b; {JOB}",
        f"{JOB}; DROP TABLE out",
        f"{JOB};;DROP TABLE out",
        f"{JOB}; {JOB.replace('orders', 'others')}",
        f"BEGIN {JOB}; DROP TABLE out; END",
        f"BEGIN DROP TABLE out; END; {JOB}",
        f"{JOB} -- \n; DROP TABLE out",
        f"{JOB} /* /* */ ; DROP TABLE out; /* */ */ ; DROP TABLE out",
        "CREATE JOB orders AS DROP TABLE out",
        "CREATE JOB orders AS INSERT INTO out SELECT 1; DROP TABLE out",
        "CREATE JOB orders AS (DROP TABLE out)",
        f"{JOB} 'open",
        f"{JOB} /* open",
        f"{JOB}\0; DROP TABLE out",
        f"{JOB} \u037e DROP TABLE out ; DROP TABLE out",
        f"${{jobs}}; {JOB}",
        "${statement}",
        "CREATE ${what} orders AS INSERT INTO out SELECT 1",
    ],
)
def test_everything_else_is_refused(sql: str) -> None:
    assert error_of(sql).message


def test_refusals_name_place_and_remedy() -> None:
    found = error_of(f"{JOB};\n  DROP TABLE out")
    assert found.condition == "JETSQL.NOT_A_JOB_STATEMENT"
    assert (found.script.line(found.offset), found.script.column(found.offset)) == (2, 3)
    assert "CREATE JOB" in found.hint
    found = error_of("\nCREATE JOB orders AS INSRT INTO out SELECT 1")
    assert (found.script.line(found.offset), found.script.column(found.offset)) == (2, 22)


def test_size_of_a_statement_is_limited() -> None:
    assert "262144" in error_of(f"{JOB}{' ' * SQL_MOST}").message


def test_only_statements_of_resources_reach_an_engine() -> None:
    class Engine:
        leads = True
        accounts = type("Accounts", (), {"has_users": False})
        limits = UserLimits(LimitSettings(), None)

        def __init__(self) -> None:
            self.ran: list[str] = []

        def session(self) -> Engine:
            return self

        def run(self, text: str) -> str:
            self.ran.append(text)
            return text

    engine = Engine()
    statements = EngineStatements(engine, "deployer")  # type: ignore[arg-type]
    for text in ("DROP TABLE out", "SELECT 1", "SHOW JOBS", "DROP USER ann", "SET a = b"):
        with pytest.raises(StatementError):
            statements.run(text)
    assert engine.ran == []
    for text in (JOB, f"EXPLAIN {JOB}", "SUSPEND JOB a", "RESUME JOB a", "DROP JOB a"):
        statements.run(text)
    assert isinstance(parse(engine.ran[0]), CreateJob)
