"""The body of a job reaches only what the owner of the job has a right on, at each start by any user."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

from jetsql.jobs.model.job import Status
from tests.support.rights.escape_list import ESCAPES
from tests.support.rights.job_users import JobUsers, job_users
from tests.support.rights.refused_statements import assert_nothing_hidden, outcome
from tests.support.rights.restricted_session import CANARY

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

    from jetsql.embedded.engine_instance import EngineInstance

pytestmark = pytest.mark.spark
_QUERY: Final = re.compile(r"(SELECT|TABLE|FROM|WITH|VALUES|MAP)\b", re.IGNORECASE)
_INSERTS: Final = re.compile(r"INSERT\b|FROM .*\bINSERT\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def shared(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobUsers]:
    with job_users(engine, tmp_path_factory.mktemp("restricted")) as users:
        yield users


@pytest.fixture
def users(shared: JobUsers) -> Iterator[JobUsers]:
    yield shared
    shared.ann.drop_jobs()


def _bodies() -> Iterator[ParameterSet]:
    """Return the escapes that can be the body of a job, each with the statement that would create the job.

    Each query is the body of a view and of a job, one of which is a slow test, in turn.
    """
    queries = itertools.count()
    for group, entries in ESCAPES.items():
        for *before, last in entries:
            if before or not (_QUERY.match(last) or _INSERTS.match(last)):
                continue
            if _INSERTS.match(last):
                yield pytest.param(group, f"CREATE JOB escape AS {last}")
                continue
            view = f"CREATE MATERIALIZED VIEW own.escape AS {last}"
            job = f"CREATE JOB escape AS INSERT INTO s.inbox SELECT 1, 'x' WHERE EXISTS ({last})"
            turn = next(queries) % 2
            for number, text in enumerate((view, job)):
                yield pytest.param(group, text, marks=() if number == turn else pytest.mark.slow)


def _outcome(users: JobUsers, text: str, user: str = "ann") -> tuple[str, str]:
    return outcome(lambda: users.run(text, user))


def _assert_refused(users: JobUsers, text: str) -> None:
    condition, shown = _outcome(users, text)
    assert condition, shown
    assert_nothing_hidden(shown, text)
    assert users.ann.effects() == []
    assert users.rows("s.inbox") == [] and not users.registry.live()


@pytest.mark.parametrize(("group", "text"), tuple(_bodies()))
def test_body_reaches_nothing(users: JobUsers, group: str, text: str) -> None:
    _assert_refused(users, text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE JOB b AS INSERT INTO hr.pay SELECT id, 'x' FROM STREAM s.orders",
        "CREATE JOB b AS INSERT INTO s.orders SELECT id, 1 FROM STREAM s.items",
        "CREATE JOB b AS INSERT OVERWRITE s.inbox SELECT id, name FROM s.items",
        "CREATE JOB b AS SINK INTO hr.pay SELECT id, 'x' FROM STREAM s.orders",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, salary_column FROM STREAM hr.pay",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT o.id, p.salary_column FROM STREAM s.orders o JOIN hr.pay p"
        " ON o.id = p.id",
        "CREATE JOB b AS FROM STREAM s.orders INSERT INTO s.inbox SELECT id, 'x' INSERT INTO hr.pay SELECT id, 'x'",
        "CREATE JOB b AS FROM STREAM hr.pay INSERT INTO s.inbox SELECT id, salary_column INSERT INTO s.inbox"
        " SELECT id, salary_column",
        "CREATE JOB b AS AUTO CDC INTO s.inbox FROM STREAM hr.pay KEYS (id) SEQUENCE BY id",
        "CREATE JOB b AS AUTO CDC INTO hr.pay FROM STREAM s.items KEYS (id) SEQUENCE BY id",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT m.a, 'x' FROM STREAM hr.pay MATCH_RECOGNIZE (ORDER BY id MEASURES"
        " A.id AS a PATTERN (A) DEFINE A AS id = 1) m",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT batch, 'x' FROM jetsql.state('b')",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, name FROM jetsql.jobs",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, y FROM s.broken",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, s.leak() FROM STREAM s.orders",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, _metadata.file_path FROM STREAM s.orders",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, name FROM s.items VERSION AS OF 1",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, 'x' FROM STREAM s.orders WITH ('path' = '{folder}')",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT value, 'x' FROM STREAM text.`{file}`",
        "CREATE JOB b AS INSERT INTO parquet.`{folder}/out` SELECT id FROM STREAM s.orders",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT window_start, 'x' FROM TABLE(TUMBLE(TABLE hr.pay, DESCRIPTOR(id),"
        " INTERVAL '1' HOUR))",
        "CREATE STREAMING TABLE hr.made AS SELECT * FROM STREAM s.orders",
        "CREATE STREAMING TABLE s.made AS SELECT * FROM STREAM s.orders",
        "CREATE STREAMING TABLE own.made USING csv LOCATION '{folder}/made' AS SELECT * FROM STREAM s.orders",
        "CREATE STREAMING TABLE own.made USING csv OPTIONS ('path' = '{folder}/made') AS SELECT * FROM STREAM s.orders",
        "CREATE STREAMING TABLE own.made TBLPROPERTIES ('jetsql.job' = '1') AS SELECT * FROM STREAM s.orders",
        "CREATE STREAMING TABLE own.made USING kafka OPTIONS ('kafka.bootstrap.servers' = '127.0.0.1:{port}') AS"
        " SELECT CAST(id AS STRING) AS value FROM STREAM s.orders",
        "CREATE JOB b OPTIONS ('lateRows' = 'table:hr.late') AS INSERT INTO s.inbox SELECT id, 'x'"
        " FROM STREAM s.orders",
        "CREATE JOB b OPTIONS ('spark.sql.runSQLOnFiles' = 'true') AS INSERT INTO s.inbox SELECT id, name FROM s.items",
        "EXPLAIN CREATE JOB b AS INSERT INTO s.inbox SELECT id, salary_column FROM STREAM hr.pay",
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, hr.gap FROM s.orders",
        "DROP STREAMING TABLE hr.pay",
        "SHOW CREATE MATERIALIZED VIEW hr.pay",
        "REFRESH MATERIALIZED VIEW hr.pay",
        "ALTER STREAMING TABLE hr.pay SUSPEND",
    ],
)
def test_statement_of_a_job_reaches_nothing(users: JobUsers, text: str) -> None:
    _assert_refused(users, text)


def test_table_without_a_right_is_as_a_missing_one(users: JobUsers) -> None:
    def words(text: str, name: str) -> str:
        return _outcome(users, text.format(name))[1].replace(name, "NAME")

    for text in (
        "CREATE JOB b AS INSERT INTO s.inbox SELECT id, 'x' FROM STREAM hr.{}",
        "CREATE JOB b AS INSERT INTO hr.{} SELECT id, 'x' FROM STREAM s.orders",
        "CREATE JOB b AS SINK INTO hr.{} SELECT id, 'x' FROM STREAM s.orders",
        "CREATE JOB b AS AUTO CDC INTO hr.{} FROM STREAM s.items KEYS (id) SEQUENCE BY id",
        "CREATE STREAMING TABLE hr.{} AS SELECT * FROM STREAM s.orders",
        "DROP STREAMING TABLE hr.{}",
        "SHOW CREATE MATERIALIZED VIEW hr.{}",
        "CREATE JOB b OPTIONS ('lateRows' = 'table:hr.{}') AS INSERT INTO s.inbox SELECT id, 'x' FROM STREAM s.orders",
    ):
        assert words(text, "pay") == words(text, "gap")


def test_jobs_within_the_rights_run(users: JobUsers) -> None:
    users.run("CREATE STREAMING TABLE own.copied AS SELECT id, current_user() AS who FROM STREAM s.orders", "ann")
    users.run("WAIT FOR JOB `own.copied` TIMEOUT 60", "ann")
    assert users.rows("own.copied") == [(1, "ann"), (2, "ann")]
    assert users.run("SELECT * FROM own.copied ORDER BY id", "ann") == [(1, "ann"), (2, "ann")]
    users.run("CREATE MATERIALIZED VIEW own.counted AS SELECT n, who FROM s.names", "ann")
    assert users.rows("own.counted") == [(1, "ann")]
    users.run("CREATE JOB b AS INSERT INTO s.inbox SELECT id, current_user() FROM STREAM s.items WHERE id < 0", "ann")
    assert users.job("b").owner == "ann"
    shown = repr([users.run(f"{text} `own.counted`", "ann") for text in ("DESCRIBE JOB", "SHOW JOB HISTORY")])
    assert "hr.pay" not in shown
    users.run("DROP MATERIALIZED VIEW own.counted", "ann")
    users.run("DROP STREAMING TABLE own.copied", "ann")


@pytest.fixture
def copying(users: JobUsers) -> Iterator[JobUsers]:
    """Return users, of whom ann has a job that copies a table, and bob operates it."""
    users.run("CREATE TABLE s.source (id INT, text STRING) USING parquet")
    users.run("CREATE TABLE s.copy (id INT, text STRING) USING parquet")
    users.run("INSERT INTO s.source VALUES (1, 'a')")
    users.run("GRANT SELECT ON TABLE s.source TO ann")
    users.run("GRANT INSERT ON TABLE s.copy TO ann")
    users.run("CREATE JOB copying AS INSERT INTO s.copy SELECT * FROM STREAM s.source", "ann")
    users.run("GRANT OPERATE ON JOB copying TO bob")
    _wait(users)
    yield users
    users.ann.drop_jobs()
    users.run("DROP TABLE IF EXISTS s.source")
    users.run("DROP TABLE s.copy")


def _wait(users: JobUsers) -> None:
    users.run("WAIT FOR JOB copying UNTIL IDLE TIMEOUT 60")


@pytest.mark.parametrize("text", ["REVOKE SELECT ON TABLE s.source FROM ann", "REVOKE INSERT ON TABLE s.copy FROM ann"])
def test_revoke_stops_the_job_within_the_statement(copying: JobUsers, text: str) -> None:
    [(_, message)] = copying.run(text)
    assert "1 job was suspended" in message
    copying.run(f"INSERT INTO s.source VALUES (2, '{CANARY}')")
    assert copying.job("copying").status is Status.SUSPENDED
    for user in ("bob", "ann"):
        condition, shown = _outcome(copying, "RESUME JOB copying", user)
        assert condition == "JETSQL.NOT_ALLOWED" and ("`s`." in shown) == (user == "ann"), shown
    assert copying.rows("s.copy") == [(1, "a")]
    copying.run(text.replace("REVOKE", "GRANT").replace("FROM", "TO"))
    copying.run("RESUME JOB copying", "bob")
    _wait(copying)
    assert copying.rows("s.copy") == [(1, "a"), (2, CANARY)]


def test_disabled_user_has_no_running_job(copying: JobUsers) -> None:
    copying.run("ALTER USER ann DISABLE")
    assert copying.job("copying").status is Status.SUSPENDED
    copying.run("ALTER USER ann ENABLE")
    copying.run("RESUME JOB copying", "bob")


def test_new_table_under_the_name_has_no_rights(copying: JobUsers) -> None:
    copying.run("SUSPEND JOB copying", "bob")
    copying.run("DROP TABLE s.source")
    copying.run("CREATE TABLE s.source (id INT, text STRING) USING parquet")
    copying.run(f"INSERT INTO s.source VALUES (3, '{CANARY}')")
    for user in ("bob", "ann"):
        assert _outcome(copying, "RESUME JOB copying", user)[0]
    assert copying.rows("s.copy") == [(1, "a")]
    assert copying.job("copying").status is Status.SUSPENDED


def test_operator_starts_the_job_as_its_owner(copying: JobUsers) -> None:
    copying.run("SUSPEND JOB copying", "bob")
    copying.run("INSERT INTO s.source VALUES (2, 'b')")
    copying.run("RESUME JOB copying", "bob")
    _wait(copying)
    assert copying.rows("s.copy") == [(1, "a"), (2, "b")]
    assert _outcome(copying, "SELECT * FROM s.copy", "bob")[0] == "TABLE_OR_VIEW_NOT_FOUND"
    assert _outcome(copying, "ALTER JOB copying OWNER TO bob", "bob")[0] == "JETSQL.NOT_ALLOWED"
    condition, shown = _outcome(copying, "ALTER JOB copying OWNER TO bob", "owner")
    assert condition == "JETSQL.NOT_ALLOWED" and copying.job("copying").owner == "ann", shown


def test_replacement_by_an_admin_is_checked_as_the_owner(copying: JobUsers) -> None:
    text = "CREATE OR REPLACE JOB copying AS INSERT INTO s.copy SELECT id, salary_column FROM STREAM hr.pay"
    assert _outcome(copying, text, "owner")[0] == "TABLE_OR_VIEW_NOT_FOUND"
    assert _outcome(copying, text, "bob")[0] == "JETSQL.NOT_ALLOWED"
    assert copying.job("copying").status is Status.RUNNING


def test_side_table_needs_a_right_and_belongs_to_the_owner(users: JobUsers) -> None:
    body = (
        "AS INSERT INTO s.inbox SELECT count(*), 'x' FROM STREAM own.events WATERMARK at DELAY OF INTERVAL '1' SECOND"
        " GROUP BY window(at, '1 minute')"
    )
    users.run("CREATE TABLE own.events (at TIMESTAMP) USING parquet")
    for table in ("hr.late", "s.late", "s.hidden"):
        assert _outcome(users, f"CREATE JOB b OPTIONS ('lateRows' = 'table:{table}') {body}")[0] == "JETSQL.NOT_ALLOWED"
    users.run(f"CREATE JOB b OPTIONS ('lateRows' = 'table:own.late') {body}", "ann")
    grants = users.run("SHOW GRANTS FOR ann")
    assert any("own.late" in row and "OWNER" in row for row in grants), grants


def test_table_of_a_rule_needs_a_right(users: JobUsers) -> None:
    before = "CREATE JOB b (CONSTRAINT valid EXPECT (id < 2) ON VIOLATION INTO TABLE"
    body = "AS INSERT INTO s.inbox SELECT id, 'x' FROM STREAM s.orders"
    for table in ("hr.wrong", "s.wrong", "s.hidden"):
        assert _outcome(users, f"{before} {table}) {body}")[0] == "JETSQL.NOT_ALLOWED"
    users.run(f"{before} own.wrong) {body}", "ann")
    users.run("WAIT FOR JOB b UNTIL IDLE TIMEOUT 60", "ann")
    assert users.run("SELECT get_json_object(row, '$.id') FROM own.wrong", "ann") == [("2",)]
    users.ann.drop_jobs()
    users.run("ALTER TABLE own.wrong OWNER TO bob")
    assert _outcome(users, f"{before} own.wrong) {body}")[0] == "JETSQL.NOT_ALLOWED"


def test_table_of_refused_rows_needs_a_right(users: JobUsers) -> None:
    body = "AS INSERT INTO s.inbox SELECT id + 3000000000, 'x' FROM STREAM s.orders"
    for table in ("hr.kept", "s.kept", "s.hidden"):
        assert _outcome(users, f"CREATE JOB b OPTIONS ('sink.on.error' = 'table:{table}') {body}")[0] == (
            "JETSQL.NOT_ALLOWED"
        )
    users.run(f"CREATE JOB b OPTIONS ('sink.on.error' = 'table:own.kept') {body}", "ann")
    users.run("WAIT FOR JOB b UNTIL IDLE TIMEOUT 60", "ann")
    assert users.run("SELECT DISTINCT sqlstate FROM own.kept", "ann") == [("22003",)]
