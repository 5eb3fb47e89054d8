"""A user without rights reaches nothing through the endpoints either: every eighth statement of `test_rights.py`.

The slow tests run all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import ReportedError
from tests.support.rights.escape_list import ALLOWED, ESCAPES
from tests.support.rights.restricted_session import HIDDEN, Restricted
from tests.support.rights.user_logins import ENDPOINTS, Run, logged_in
from tests.support.servers.http_server import run_server

pytestmark = pytest.mark.spark

_SAME_WORDS = (
    "SELECT * FROM hr.{}",
    "INSERT INTO hr.{} VALUES (1, 'x')",
    "DESCRIBE hr.{}",
    "DROP TABLE hr.{}",
    "SHOW COLUMNS IN hr.{}",
    "SHOW CREATE TABLE hr.{}",
    "ALTER TABLE hr.{} OWNER TO ann",
    "GRANT SELECT ON TABLE hr.{} TO bob",
    "SELECT * FROM s.{}",
)


SOME = pytest.mark.parametrize("step", [pytest.param(8, id="some"), pytest.param(1, marks=pytest.mark.slow, id="all")])


@pytest.fixture(scope="module", params=ENDPOINTS)
def run(request: pytest.FixtureRequest, ann: Restricted) -> Iterator[Run]:
    with logged_in(request.param, ann) as run:
        yield run


@SOME
@pytest.mark.parametrize("group", ESCAPES)
def test_statement_reaches_nothing(run: Run, ann: Restricted, group: str, step: int) -> None:
    for statements in ESCAPES[group][::step]:
        written_by_ann = " ".join(statements)
        condition = ""
        for statement in statements:
            condition, text = run(statement)
            assert not [word for word in HIDDEN if word in text and word not in written_by_ann], (statements, text)
        assert condition, statements
        assert ann.effects() == [], statements


@SOME
def test_statement_within_the_rights_runs(run: Run, ann: Restricted, step: int) -> None:
    for statements in ALLOWED[::step]:
        for statement in statements:
            condition, text = run(statement)
            assert not condition, (statement, text)
            assert not [word for word in (*HIDDEN, "hr.db") if word in text]
    assert ann.effects() == []
    for created in ("TABLE IF EXISTS own.a2", "TABLE IF EXISTS own.a3", "VIEW IF EXISTS own.a4"):
        ann.run_as_owner(f"DROP {created}")


@pytest.mark.parametrize("statement", _SAME_WORDS)
def test_hidden_table_has_the_error_of_a_missing_one(run: Run, statement: str) -> None:
    for hidden, missing in (("pay", "gap"), ("hidden", "gapped")):  # of the same length, for positions
        answers = [run(statement.format(name)) for name in (hidden, missing)]
        assert answers[0][0] == answers[1][0] != ""
        assert answers[0][1].replace(hidden, "NAME") == answers[1][1].replace(missing, "NAME")


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    "statement, parameters",
    [
        ("SELECT * FROM IDENTIFIER(:name)", {"name": "hr.pay"}),
        ("SELECT * FROM IDENTIFIER(?)", ["hr.pay"]),
        ("SELECT IDENTIFIER(:name)('java.lang.System', 'setProperty', 'jetsql.canary', 'x')", {"name": "reflect"}),
        ("EXECUTE IMMEDIATE :text", {"text": "SELECT * FROM hr.pay"}),
        ("SELECT * FROM STREAM hr.pay", None),
        ("SELECT * FROM STREAM IDENTIFIER(:name)", {"name": "hr.pay"}),
    ],
)
def test_parameters_and_live_results_reach_nothing(
    engine: EngineInstance, ann: Restricted, statement: str, parameters: Any, live: bool
) -> None:
    with run_server(engine) as server, closing(EngineClient(server.url, ann.tokens["ann"])) as client:
        with pytest.raises(ReportedError) as caught:
            rows = client.run(statement, parameters, live=live)
            list(rows.rows if rows.live is None else rows.batches)
        assert not [word for word in HIDDEN if word in str(caught.value)]
    assert ann.effects() == []


def test_rows_as_arrow_are_checked(engine: EngineInstance, ann: Restricted) -> None:
    with run_server(engine) as server, closing(EngineClient(server.url, ann.tokens["ann"])) as client:
        with pytest.raises(ReportedError, match="TABLE_OR_VIEW_NOT_FOUND"):
            client.run_arrow("SELECT * FROM hr.pay").read()
