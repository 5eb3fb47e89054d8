"""Users at the HTTP endpoint of an engine with Spark: rights on tables, owners of new ones, and rights that end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import pyarrow
import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import ReportedError
from tests.support.servers.http_server import TOKEN, run_server

pytestmark = pytest.mark.spark

SCHEMAS = ("s", "hidden")
USERS = ("ann", "bob", "boss")


@dataclass(frozen=True)
class Users:
    """A session of each user. boss is an admin, and owner has the token of the home."""

    clients: dict[str, EngineClient]

    def rows(self, user: str, text: str) -> list[tuple[object, ...]]:
        return list(self.clients[user].run(text).rows)

    def condition(self, user: str, text: str) -> str:
        with pytest.raises(ReportedError) as caught:
            self.rows(user, text)
        return caught.value.report.condition

    def message(self, user: str, text: str) -> str:
        with pytest.raises(ReportedError) as caught:
            self.rows(user, text)
        return caught.value.report.message


@pytest.fixture(scope="module")
def users(engine: EngineInstance) -> Iterator[Users]:
    """Yield sessions that began before there were users, but those of the users themselves."""
    with ExitStack() as stack:
        server = stack.enter_context(run_server(engine))
        users = Users({"owner": stack.enter_context(closing(EngineClient(server.url, TOKEN)))})
        for schema in SCHEMAS:
            users.rows("owner", f"CREATE SCHEMA {schema}")
        for text in ("CREATE TABLE s.t (a INT)", "INSERT INTO s.t VALUES (1)"):
            users.rows("owner", text)
        for user in USERS:
            users.rows("owner", f"CREATE USER {user}")
            token = str(users.rows("owner", f"CREATE TOKEN FOR {user}")[0][1])
            users.clients[user] = stack.enter_context(closing(EngineClient(server.url, token)))
        users.rows("owner", "GRANT ADMIN TO boss")
        yield users
        for schema in SCHEMAS:
            users.rows("owner", f"DROP SCHEMA {schema} CASCADE")
        for user in USERS:
            users.rows("owner", f"DROP USER {user}")


def test_right_holds_from_the_next_statement_on(users: Users) -> None:
    assert users.condition("ann", "SELECT * FROM s.t") == "TABLE_OR_VIEW_NOT_FOUND"
    users.rows("boss", "GRANT SELECT ON TABLE s.t TO ann")
    assert users.rows("ann", "SELECT * FROM s.t") == [(1,)]
    assert users.condition("ann", "INSERT INTO s.t VALUES (2)") == "JETSQL.NOT_ALLOWED"
    users.rows("boss", "REVOKE SELECT ON TABLE s.t FROM ann")
    assert users.condition("ann", "SELECT * FROM s.t") == "TABLE_OR_VIEW_NOT_FOUND"


def test_current_user_is_the_user(users: Users) -> None:
    assert [users.rows(user, "SELECT current_user()") for user in ("ann", "boss", "owner")] == [
        [("ann",)],
        [("boss",)],
        [("owner",)],
    ]


def test_table_belongs_to_its_creator(users: Users) -> None:
    users.rows("owner", "GRANT CREATE ON SCHEMA s TO ann")
    users.rows("ann", "CREATE TABLE s.own AS SELECT 7 AS a")
    users.rows("ann", "CREATE VIEW s.own_view AS SELECT * FROM s.own")
    assert users.rows("ann", "SELECT * FROM s.own_view") == [(7,)]
    assert users.condition("bob", "SELECT * FROM s.own") == "TABLE_OR_VIEW_NOT_FOUND"
    users.rows("ann", "GRANT SELECT ON VIEW s.own_view TO bob")
    assert users.rows("bob", "SELECT * FROM s.own_view") == [(7,)]
    assert users.condition("bob", "SELECT * FROM s.own") == "TABLE_OR_VIEW_NOT_FOUND"
    assert users.condition("bob", "DROP VIEW s.own_view") == "JETSQL.NOT_ALLOWED"
    users.rows("ann", "DROP VIEW s.own_view")
    users.rows("ann", "DROP TABLE s.own")


def test_rights_end_with_the_table(users: Users) -> None:
    users.rows("owner", "CREATE TABLE s.again (a INT)")
    users.rows("owner", "GRANT SELECT ON TABLE s.again TO ann")
    users.rows("owner", "DROP TABLE s.again")
    assert users.rows("owner", "SHOW GRANTS ON TABLE s.t") == []
    users.rows("owner", "CREATE TABLE s.again (a INT)")
    assert users.condition("ann", "SELECT * FROM s.again") == "TABLE_OR_VIEW_NOT_FOUND"
    users.rows("owner", "DROP TABLE s.again")


def test_rights_go_along_with_a_new_name(users: Users) -> None:
    users.rows("owner", "CREATE TABLE s.before (a INT)")
    users.rows("owner", "GRANT SELECT ON TABLE s.before TO ann")
    users.rows("owner", "ALTER TABLE s.before RENAME TO s.after")
    assert users.rows("ann", "SELECT * FROM s.after") == []
    users.rows("owner", "CREATE TABLE s.before (a INT)")
    assert users.condition("ann", "SELECT * FROM s.before") == "TABLE_OR_VIEW_NOT_FOUND"
    for name in ("before", "after"):
        users.rows("owner", f"DROP TABLE s.{name}")


def test_only_the_owner_of_a_table_adds_columns(users: Users) -> None:
    users.rows("owner", "CREATE TABLE s.grows (a INT)")
    users.rows("owner", "GRANT SELECT, INSERT, MODIFY ON TABLE s.grows TO ann")
    for change in ("ADD COLUMN b INT", "ALTER COLUMN a COMMENT 'c'"):
        assert users.condition("ann", f"ALTER TABLE s.grows {change}") == "JETSQL.NOT_ALLOWED"
    users.rows("owner", "ALTER TABLE s.grows OWNER TO ann")
    users.rows("ann", "ALTER TABLE s.grows ADD COLUMN b INT")
    users.rows("owner", "DROP TABLE s.grows")


def test_rights_end_with_the_schema(users: Users) -> None:
    users.rows("owner", "CREATE SCHEMA other")
    users.rows("owner", "CREATE TABLE other.t (a INT)")
    users.rows("owner", "GRANT SELECT ON SCHEMA other TO bob")
    users.rows("owner", "GRANT INSERT ON TABLE other.t TO bob")
    users.rows("owner", "DROP SCHEMA other CASCADE")
    users.rows("owner", "CREATE SCHEMA other")
    users.rows("owner", "CREATE TABLE other.t (a INT)")
    assert users.condition("bob", "SELECT * FROM other.t") == "TABLE_OR_VIEW_NOT_FOUND"
    assert users.condition("bob", "INSERT INTO other.t VALUES (1)") == "TABLE_OR_VIEW_NOT_FOUND"
    users.rows("owner", "DROP SCHEMA other CASCADE")


def test_failed_creation_changes_no_rights(users: Users) -> None:
    users.rows("owner", "GRANT SELECT ON TABLE s.t TO ann")
    users.rows("owner", "GRANT CREATE ON SCHEMA s TO bob")
    assert users.condition("bob", "CREATE TABLE s.t (b INT)") == "TABLE_OR_VIEW_ALREADY_EXISTS"
    users.rows("bob", "CREATE TABLE IF NOT EXISTS s.t (b INT)")
    assert users.rows("ann", "SELECT * FROM s.t") == [(1,)]
    assert users.condition("bob", "SELECT * FROM s.t") == "TABLE_OR_VIEW_NOT_FOUND"
    users.rows("owner", "REVOKE SELECT ON TABLE s.t FROM ann")


def test_function_in_python_has_rights(users: Users) -> None:
    create = "CREATE {}FUNCTION {}(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x + 1 $$"
    assert users.condition("ann", create.format("", "s.plus")) == "JETSQL.NOT_ALLOWED"
    users.rows("owner", "GRANT FUNCTION TO ann")
    hidden, missing = (users.message("ann", create.format("", f"{name}.plus")) for name in ("hidden", "gone"))
    assert hidden.replace("hidden", "gone") == missing
    users.rows("ann", create.format("", "s.plus"))
    assert users.rows("ann", "SELECT s.plus(1)") == [(2,)]
    missing = users.message("bob", "SELECT s.plut(1)")
    assert users.message("bob", "SELECT s.plus(1)") == missing.replace("plut", "plus")
    assert users.condition("bob", "DROP FUNCTION s.plus") == users.condition("bob", "DROP FUNCTION s.plut")
    assert users.rows("bob", "SELECT name FROM jetsql.functions") == []
    users.rows("ann", "GRANT USAGE ON FUNCTION s.plus TO bob")
    assert users.rows("bob", "SELECT s.plus(a) FROM VALUES (1) AS t(a)") == [(2,)]
    assert users.condition("bob", "DROP FUNCTION s.plus") == "JETSQL.NOT_ALLOWED"
    users.rows("owner", "GRANT FUNCTION TO bob")
    assert users.condition("bob", create.format("OR REPLACE ", "s.plus")) == "JETSQL.NOT_ALLOWED"
    users.rows("ann", "DROP FUNCTION s.plus")
    users.rows("owner", create.format("", "s.plus"))
    assert users.message("bob", "SELECT s.plus(1)") == missing.replace("plut", "plus")
    users.rows("owner", "DROP FUNCTION s.plus")


def test_result_comes_in_arrow(users: Users) -> None:
    for text in ("SELECT 1 AS a", "SHOW JOBS", "SHOW GRANTS", "SELECT * FROM jetsql.jobs", "SHOW SCHEMAS"):
        for user in ("ann", "boss"):
            with users.clients[user].run_arrow(text) as response:
                assert pyarrow.ipc.open_stream(response).read_all().num_columns > 0


def test_relations_show_what_the_user_may_see(users: Users) -> None:
    users.rows("owner", "CREATE TABLE s.target (a INT)")
    users.rows("owner", "CREATE JOB of_users AS INSERT INTO s.target SELECT * FROM s.t")
    names = "SELECT name FROM jetsql.jobs WHERE name = 'of_users'"
    assert [users.rows(user, names) for user in ("ann", "boss")] == [[], [("of_users",)]]
    assert users.rows("ann", "SELECT count(*) FROM jetsql.engines") == [(0,)]
    users.rows("owner", "GRANT OPERATE ON JOB of_users TO ann")
    assert users.rows("ann", names) == [("of_users",)]
    users.rows("owner", "DROP JOB of_users")


def test_statement_inside_a_statement_has_the_user(users: Users) -> None:
    assert users.condition("ann", "EXECUTE IMMEDIATE 'CREATE USER eve'") == "JETSQL.NOT_ALLOWED"
    assert users.rows("ann", "EXECUTE IMMEDIATE 'SHOW JOBS'") == users.rows("ann", "SHOW JOBS")


def test_disabled_user_is_refused_in_an_open_session(users: Users) -> None:
    assert users.rows("bob", "SELECT 1") == [(1,)]
    users.rows("owner", "ALTER USER bob DISABLE")
    with pytest.raises(Exception, match="token"):
        users.rows("bob", "SELECT 1")
    users.rows("owner", "ALTER USER bob ENABLE")
    assert users.rows("bob", "SELECT 1") == [(1,)]
