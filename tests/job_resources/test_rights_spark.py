"""The audit of the statements of resources."""

from __future__ import annotations

from uuid import uuid4

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import StatementError
from jetsql.job_resources.engine_statements import EngineStatements

pytestmark = pytest.mark.spark


def test_statements_are_recorded_with_user_and_endpoint(engine: EngineInstance) -> None:
    user = f"deployer_{uuid4().hex[:8]}"
    statements = EngineStatements(engine, user)
    with statements.for_user():
        statements.run("DROP JOB IF EXISTS missing_of_the_audit")
        with pytest.raises(StatementError):
            statements.run("DROP JOB missing_of_the_audit")
    rows = engine.run(f"SELECT kind, endpoint, outcome FROM jetsql.audit WHERE user = '{user}' ORDER BY time").rows
    assert list(rows) == [
        ("DROP JOB", "kubernetes", "ok"),
        ("DROP JOB", "kubernetes", "failed: JETSQL.JOB_NOT_FOUND"),
    ]
