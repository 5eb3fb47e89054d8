"""The table of statements has a row for each kind of statement."""

from __future__ import annotations

from typing import get_args

from jetsql.jobs.statements.statement_table import SPECS
from jetsql.language.statement import Statement


def test_each_statement_is_specified_once() -> None:
    assert set(SPECS) == set(get_args(Statement))


def test_statements_that_only_read_the_jobs_start_no_session() -> None:
    sessions = {kind.__name__ for kind, spec in SPECS.items() if spec.needs_session}
    assert sessions == {
        "AlterOwner",
        "AlterStreamingTable",
        "CreateFunction",
        "CreateJob",
        "CreateStreamingTable",
        "DropStreamingTable",
        "ExplainCreateJob",
        "ExplainCreateStreamingTable",
        "GrantRights",
        "RefreshStreamingTable",
        "RevokeRights",
        "ShowCreateStreamingTable",
        "ShowGrants",
    }
