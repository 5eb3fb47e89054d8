"""Resources in an engine with Spark: the audit of statements, the rights of their user, and hostile statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import StatementError
from jetsql.job_resources.engine_statements import EngineStatements
from jetsql.job_resources.reconcile_job import JobReconciler, Reconciliation
from jetsql.job_resources.resource import CustomResource, ResourceKind

pytestmark = pytest.mark.spark

USER = "deployer_of_rights"
SQL = "CREATE JOB copied_by_right AS INSERT INTO hostile.copied SELECT a FROM STREAM hostile.counting"


@dataclass(frozen=True)
class Declared:
    """The engine with a user for resources, who has no rights."""

    engine: EngineInstance
    statements: EngineStatements

    def reconcile(self, sql: str, state: str = "Running") -> Reconciliation:
        metadata = {"name": "r", "namespace": "streams", "generation": 1, "resourceVersion": "1"}
        body = {"metadata": metadata, "spec": {"sql": sql, "state": state}}
        reconciler = JobReconciler(self.statements, lambda resource, name: None)
        return reconciler.reconcile(CustomResource(ResourceKind.JOB, body))


@pytest.fixture
def declared(engine: EngineInstance) -> Iterator[Declared]:
    engine.run("CREATE SCHEMA hostile")
    for table in ("counting", "copied"):
        engine.run(f"CREATE TABLE hostile.{table} (a BIGINT) USING parquet")
    engine.run(f"CREATE USER {USER}")
    yield Declared(engine, EngineStatements(engine, USER))
    engine.run("DROP JOB IF EXISTS copied_by_right")
    engine.run(f"REASSIGN OWNED BY {USER} TO owner")
    engine.run(f"DROP USER {USER}")
    engine.run("DROP SCHEMA hostile CASCADE")


def test_statements_are_recorded_with_user_and_endpoint(declared: Declared) -> None:
    with declared.statements.for_user():
        declared.statements.run("DROP JOB IF EXISTS missing_of_the_audit")
        with pytest.raises(StatementError):
            declared.statements.run("DROP JOB missing_of_the_audit")
    events = f"SELECT kind, endpoint, outcome FROM jetsql.audit WHERE user = '{USER}' ORDER BY time"
    assert list(declared.engine.run(events).rows) == [
        ("DROP JOB", "kubernetes", "ok"),
        ("DROP JOB", "kubernetes", "failed: JETSQL.JOB_NOT_FOUND"),
    ]


def test_job_needs_the_rights_of_the_user(declared: Declared) -> None:
    found = declared.reconcile(SQL)
    assert found.error is not None and found.error.sqlstate == "42P01", "a table without rights does not exist"
    declared.engine.run(f"GRANT SELECT ON TABLE hostile.counting TO {USER}")
    declared.engine.run(f"GRANT SELECT ON TABLE hostile.copied TO {USER}")
    found = declared.reconcile(SQL)
    assert found.error is not None and (found.error.condition, found.error.sqlstate) == ("JETSQL.NOT_ALLOWED", "42501")
    declared.engine.run(f"GRANT INSERT ON TABLE hostile.copied TO {USER}")
    assert declared.reconcile(SQL).is_ready
    declared.engine.run(f"REVOKE SELECT ON TABLE hostile.counting FROM {USER}")
    found = declared.reconcile(SQL.replace("SELECT a", "SELECT a + 0"))
    assert found.error is not None and found.error.sqlstate == "42P01" and found.is_stalled


def test_very_deep_statement_ends_in_an_error(declared: Declared) -> None:
    for right in ("SELECT", "INSERT"):
        declared.engine.run(f"GRANT {right} ON SCHEMA hostile TO {USER}")
    found = declared.reconcile(f"{SQL} WHERE {'(' * 20_000}a > 1{')' * 20_000}")
    assert found.reason == "StatementFailed" and found.error is not None and found.error.sqlstate
    assert declared.reconcile(SQL).is_ready, "the engine continues"
