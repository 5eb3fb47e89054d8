"""The statements about users and rights, and what a user without a right gets from all other statements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import JobTable
from jetsql.jobs.manager.access_registry import AccessRegistry
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.statement_table import SPECS
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from jetsql.language.objects.rights_statement import RightsStatement
from jetsql.request import OWNER, Caller, Endpoint, acting_for
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users


def user_of(access: AccessRegistry, token: str) -> str | None:
    identity = access.identity_of(token)
    return None if identity is None else identity.user


@pytest.fixture
def users(tmp_path: Path) -> Iterator[Users]:
    with run_manager(tmp_path) as jobs:
        jobs.runtime.tables["spark_catalog.s.t"] = JobTable("spark_catalog.s.t")
        jobs.runtime.tables["spark_catalog.s.v"] = JobTable("spark_catalog.s.v", is_view=True)
        yield Users(jobs)


@pytest.fixture
def team(users: Users) -> Users:
    """Return an engine with jobs, and users of different rights: eve has none, bob operates j, mo monitors."""
    for job in ("j", "k"):
        users.jobs.make(job)
    for user in ("ann", "bob", "eve", "mo", "boss"):
        users.run(f"CREATE USER {user}")
    users.run("CREATE ROLE operators")
    users.run("GRANT OPERATE ON JOB j TO operators")
    users.run("GRANT operators TO bob")
    users.run("GRANT MONITOR TO mo")
    users.run("GRANT ADMIN TO boss")
    users.run("ALTER JOB k OWNER TO ann")
    return users


def test_first_user_is_announced(users: Users) -> None:
    assert "This is the first user" in users.message("CREATE USER ann")
    assert "first" not in users.message("CREATE USER bob")
    users.run("DROP USER ann")
    assert "rights do not apply" in users.message("DROP USER bob")


def test_no_first_user_while_others_can_read_tokens(users: Users) -> None:
    access = users.jobs.manager.access
    access.readable_on_network = ("http_host = 0.0.0.0", "thrift_host = ::")
    refusal = users.refusal("CREATE USER ann")
    assert refusal.condition == "JETSQL.ENDPOINT_NOT_ENCRYPTED" and "plain_endpoints" in refusal.hint
    assert "http_host = 0.0.0.0, thrift_host = ::" in refusal.message
    assert not access.has_users
    access.readable_on_network = ()
    assert "This is the first user" in users.message("CREATE USER ann")


def test_without_users_rights_do_not_apply(users: Users) -> None:
    users.jobs.make("j")
    for user in ("", "anyone", OWNER):
        assert users.names("SHOW JOBS", user) == ["j"]
        assert users.run("SUSPEND JOB j", user) and users.run("RESUME JOB j", user)
    assert users.jobs.runtime.rights is None


def test_rights_are_published_after_each_change(team: Users) -> None:
    published = json.loads(team.jobs.runtime.rights or "")
    assert published["users"]["boss"]["admin"] and not published["users"]["eve"]["rights"]
    team.run("REVOKE operators FROM bob")
    assert json.loads(team.jobs.runtime.rights or "")["users"]["bob"]["rights"] == []
    team.run("ALTER USER mo DISABLE")
    assert "mo" not in json.loads(team.jobs.runtime.rights or "")["users"]


def test_users_and_rights_outlive_the_engine(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        Users(jobs).jobs.make("j")
        for text in ("CREATE USER ann", "GRANT OPERATE ON JOB j TO ann"):
            Users(jobs).run(text)
        [created] = Users(jobs).run("CREATE TOKEN FOR ann")
    with run_manager(tmp_path) as jobs:
        assert user_of(jobs.manager.access, created["token"]) == "ann"
        assert Users(jobs).names("SHOW JOBS", "ann") == ["j"] and Users(jobs).names("SHOW JOBS", "bob") == []
        assert "ann" in json.loads(jobs.runtime.rights or "")["users"]


@pytest.mark.parametrize("user", ["ann", "bob", "eve", "mo", "stranger", ""])
@pytest.mark.parametrize(
    "text",
    [
        "SUSPEND JOB {job}",
        "RESUME JOB {job}",
        "RESTART JOB {job}",
        "ALTER JOB {job} OPTIONS ('trigger' = '5s')",
        "ALTER JOB {job} OWNER TO bob",
        "DROP JOB {job}",
        "DROP JOB IF EXISTS {job}",
        "DROP JOB {job} WITH SNAPSHOT x",
        "WAIT FOR JOB {job} TIMEOUT 1",
        "CREATE SNAPSHOT x FOR JOB {job}",
        "CREATE OR REPLACE SNAPSHOT x FOR JOB {job}",
        "SHOW SNAPSHOTS FOR JOB {job}",
        "DESCRIBE JOB {job}",
        "DESCRIBE JOB EXTENDED {job}",
        "SHOW CREATE JOB {job}",
        "SHOW JOB HISTORY {job}",
        "GRANT OPERATE ON JOB {job} TO eve",
        "REVOKE OPERATE ON JOB {job} FROM bob",
        "SHOW GRANTS ON JOB {job}",
    ],
)
def test_job_without_any_right_is_as_a_missing_one(team: Users, text: str, user: str) -> None:
    def outcome(job: str) -> str:
        try:
            found = str(team.run(text.format(job=job), user))
        except StatementError as error:
            found = str(error)
        return re.sub(rf"(?<!\w){job}(?!\w)", "JOB", found)

    job_ids = {view.job.name: view.job.id for view in team.jobs.manager.registry.live()}
    visible = {"ann": {"k"}, "bob": {"j"}, "mo": {"j", "k"}}.get(user, set())
    for job in {"j", "k"} - visible:
        assert outcome(job) == outcome("q")
        assert outcome(f"'{job_ids[job]}'") == outcome("'0000-0000-0000-0000'")
    assert {view.job.name for view in team.jobs.manager.registry.live()} == {"j", "k"}


def test_search_of_a_job_checks_no_rights_on_others(team: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    access = team.jobs.manager.access
    checked: list[str] = []
    sees_job = access.sees_job

    def noted(job: Job) -> bool:
        checked.append(job.name)
        return sees_job(job)

    monkeypatch.setattr(access, "sees_job", noted)
    queries = JobQueries(team.jobs.manager)
    with acting_for(Caller("ann", Endpoint.HTTP)):
        assert [view.job.name for view in queries.live(lambda job: job.name == "k")] == ["k"]
        assert queries.live_named("K") is not None and set(checked) == {"k"}
        assert queries.live(lambda job: job.name == "j") == () and queries.live_named("j") is None


@pytest.mark.parametrize(
    ("user", "seen"),
    [("ann", ["k"]), ("bob", ["j"]), ("eve", []), ("mo", ["k", "j"]), ("boss", ["k", "j"]), ("stranger", []), ("", [])],
)
def test_lists_have_only_what_the_caller_may_see(team: Users, user: str, seen: list[str]) -> None:
    team.run("CREATE SNAPSHOT of_j FOR JOB j")
    team.run("CREATE SNAPSHOT of_k FOR JOB k")
    operated = {"ann": ["of_k"], "bob": ["of_j"], "boss": ["of_k", "of_j"]}.get(user, [])
    assert team.names("SHOW JOBS", user) == team.names("SHOW ALL JOBS", user) == seen
    assert team.names("SHOW SNAPSHOTS", user) == operated
    queries = JobQueries(team.jobs.manager)
    with acting_for(Caller(user, Endpoint.HTTP)):
        assert [view.job.name for view in queries.live()] == seen
        assert [sample.metrics.name for sample in queries.all_samples()] == seen[::-1]
        assert [snapshot.name for snapshot in queries.snapshots()] == operated
        for view in team.jobs.manager.registry.live():
            is_seen = view.job.name in seen
            assert bool(queries.history(view.job.id)) is bool(queries.batches(view.job.id)) is is_seen
            assert (queries.view(view.job.id) is not None) is (queries.stored(view.job.id) is not None) is is_seen
        for table in SYSTEM_TABLES:
            rows = str(list(table.rows(team.jobs.manager)))
            if table.name in ("jobs", "snapshots", "job_history", "metrics"):
                hidden = {view.job.id for view in team.jobs.manager.registry.live() if view.job.name not in seen}
                assert not any(job_id in rows for job_id in hidden), table.name


@pytest.mark.parametrize("user", ["ann", "bob", "eve", "mo", "stranger"])
@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$",
        "CREATE USER n",
        "ALTER USER ann DISABLE",
        "DROP USER eve",
        "CREATE ROLE n",
        "DROP ROLE operators",
        "CREATE TOKEN FOR eve",
        "GRANT operators TO eve",
        "REVOKE operators FROM bob",
        "GRANT ADMIN TO eve",
        "GRANT SELECT ON ALL SCHEMAS TO eve",
        "REASSIGN OWNED BY ann TO eve",
        "SHOW GRANTS FOR boss",
        "SHOW TOKENS FOR boss",
    ],
)
def test_statements_of_admins_are_refused_for_others(team: Users, text: str, user: str) -> None:
    before = team.jobs.manager.access.state
    assert team.refusal(text, user).condition == "JETSQL.NOT_ALLOWED"
    assert team.jobs.manager.access.state == before


def test_operator_controls_a_job_and_does_not_own_it(team: Users) -> None:
    team.run("SUSPEND JOB j", "bob")
    team.refusal("ALTER JOB j OPTIONS ('trigger' = '5s')", "bob")
    team.refusal("ALTER JOB j OWNER TO bob", "bob")
    team.refusal("DROP JOB j", "bob")
    team.run("RESUME JOB j", "bob")
    team.refusal("SUSPEND JOB j", "mo")
    team.refusal("SHOW CREATE JOB j", "mo")
    assert team.run("DESCRIBE JOB j", "mo") and team.run("SHOW JOB HISTORY j", "mo")


def test_owner_does_everything_with_the_job(team: Users) -> None:
    team.run("SUSPEND JOB k", "ann")
    team.run("GRANT OPERATE ON JOB k TO eve", "ann")
    assert team.names("SHOW JOBS", "eve") == ["k"]
    team.run("REVOKE OPERATE ON JOB k FROM eve", "ann")
    team.run("DROP JOB k", "ann")
    assert team.names("SHOW JOBS", OWNER) == ["j"]


def test_new_job_with_an_old_name_begins_without_rights(team: Users) -> None:
    team.run("DROP JOB j")
    team.jobs.make("j")
    assert team.names("SHOW JOBS", "bob") == []
    assert "JOB_NOT_FOUND" in team.refusal("SUSPEND JOB j", "bob").condition


def test_job_belongs_to_its_creator(team: Users) -> None:
    team.run("CREATE JOB n AS INSERT INTO out SELECT * FROM STREAM src", "boss")
    grants = team.run("SHOW GRANTS FOR boss")
    assert ("OWNER", "n") in [(row["right"], row["object"]) for row in grants]
    assert "the job n" in team.refusal("DROP USER boss").message
    team.run("REASSIGN OWNED BY boss TO owner")
    team.run("DROP USER boss")
    assert team.run("SHOW JOB HISTORY n")[-1]["event"] == "owner changed"


def test_owner_of_tables_and_views(team: Users) -> None:
    team.run("ALTER TABLE s.t OWNER TO ann")
    team.run("ALTER VIEW s.v OWNER TO ann")
    assert json.loads(team.jobs.runtime.rights or "")["views"] == [
        {"name": ["spark_catalog", "s", name], "owner": "ann"} for name in ("t", "v")
    ]
    team.run("GRANT SELECT ON TABLE s.t TO eve", "ann")
    assert team.names("SHOW GRANTS", "eve", "right") == ["SELECT"]
    assert "the table s.t" in team.refusal("DROP USER ann").message
    team.run("REASSIGN OWNED BY ann TO bob")
    team.run("DROP USER ann")
    team.run("REASSIGN OWNED BY bob TO owner")
    assert json.loads(team.jobs.runtime.rights or "")["views"] == []


def test_option_lets_the_grantee_grant(team: Users) -> None:
    team.run("GRANT SELECT ON TABLE s.t TO bob WITH GRANT OPTION")
    team.run("GRANT SELECT ON TABLE s.t TO eve", "bob")
    team.refusal("GRANT INSERT ON TABLE s.t TO eve", "bob")
    team.refusal("GRANT SELECT ON TABLE s.t TO bob", "eve")
    assert team.run("SHOW GRANTS", "eve")[0]["grantor"] == "bob"
    assert "already" in team.message("GRANT SELECT ON TABLE s.t TO eve")
    assert "did not have" in team.message("REVOKE INSERT ON TABLE s.t FROM eve")
    team.run("GRANT SELECT ON SCHEMA s TO eve")
    assert "keeps SELECT" in team.message("REVOKE SELECT ON TABLE s.t FROM eve")


def test_table_without_any_right_is_as_a_missing_one(team: Users) -> None:
    hidden = team.refusal("GRANT SELECT ON TABLE s.t TO eve", "eve")
    missing = team.refusal("GRANT SELECT ON TABLE s.q TO eve", "eve")
    assert str(hidden) == str(missing).replace("s.q", "s.t")
    hidden = team.refusal("GRANT SELECT ON SCHEMA s TO eve", "eve")
    missing = team.refusal("GRANT SELECT ON SCHEMA q TO eve", "eve")
    assert str(hidden) == str(missing).replace(" q.", " s.")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE USER Ann",
        "CREATE USER operators",
        "CREATE ROLE ann",
        "CREATE USER owner",
        "CREATE ROLE admin",
        "DROP USER none",
        "DROP USER operators",
        "DROP USER owner",
        "DROP ROLE none",
        "DROP ROLE ann",
        "ALTER USER none DISABLE",
        "CREATE TOKEN FOR none",
        "CREATE TOKEN FOR owner",
        "DROP TOKEN 'none'",
        "DROP TOKEN 'owner'",
        "GRANT none TO ann",
        "GRANT ann TO bob",
        "GRANT operators TO none",
        "GRANT operators TO operators",
        "GRANT SELECT ON TABLE s.t TO owner",
        "GRANT SELECT ON TABLE s.none TO ann",
        "GRANT SELECT ON TABLE s.v TO ann",
        "GRANT SELECT ON VIEW s.t TO ann",
        "GRANT SELECT ON SCHEMA none TO ann",
        "GRANT SELECT ON CATALOG none TO ann",
        "GRANT USAGE ON FUNCTION s.none TO ann",
        "GRANT USAGE ON SECRET shop TO ann",
        "GRANT USAGE ON CONNECTION pg TO ann",
        "GRANT USAGE ON LOCATION 'in' TO ann",
        "GRANT USAGE ON LOCATION 's3a://b/../c' TO ann",
        "GRANT OPERATE ON JOB none TO ann",
        "GRANT OPERATE ON TABLE s.t TO ann",
        "GRANT SELECT ON JOB j TO ann",
        "GRANT CREATE ON TABLE s.t TO ann",
        "GRANT SELECT ON JOBS IN SCHEMA s TO ann",
        "GRANT USAGE ON ALL SCHEMAS TO ann",
        "ALTER TABLE s.t OWNER TO none",
        "ALTER TABLE s.none OWNER TO ann",
        "ALTER JOB none OWNER TO ann",
        "REASSIGN OWNED BY none TO ann",
        "REASSIGN OWNED BY ann TO none",
        "SHOW TOKENS FOR none",
        "SHOW GRANTS FOR none",
        "SHOW GRANTS ON TABLE s.none",
    ],
)
def test_bad_statements_are_refused(team: Users, text: str) -> None:
    before = team.jobs.manager.access.state
    assert team.refusal(text).place is not None
    assert team.jobs.manager.access.state == before


def test_role_cannot_have_itself(team: Users) -> None:
    for role in ("a", "b", "c"):
        team.run(f"CREATE ROLE {role}")
    team.run("GRANT a TO b")
    team.run("GRANT b TO c")
    team.refusal("GRANT c TO a")


def test_last_admin_stays(team: Users) -> None:
    team.refusal("ALTER USER owner DISABLE")
    [created] = team.run("CREATE TOKEN FOR boss EXPIRES IN 1 DAY")
    team.run("ALTER USER owner DISABLE")
    assert team.jobs.manager.access.is_token_disabled
    for text in ("DROP USER boss", "ALTER USER boss DISABLE", "REVOKE ADMIN FROM boss"):
        assert team.refusal(text).condition == "JETSQL.LAST_ADMIN"
    assert team.condition(f"DROP TOKEN '{created['id']}'") == "JETSQL.LAST_ADMIN"
    team.run("ALTER USER owner ENABLE")
    team.run("DROP USER boss")


def test_statements_with_if_exists_do_nothing(team: Users) -> None:
    before = team.jobs.manager.access.state
    for text in (
        "CREATE USER IF NOT EXISTS ann",
        "CREATE ROLE IF NOT EXISTS operators",
        "DROP USER IF EXISTS none",
        "DROP ROLE IF EXISTS none",
        "DROP TOKEN IF EXISTS 'none'",
        "ALTER USER ann ENABLE",
        "GRANT operators TO bob",
        "REVOKE operators FROM ann",
    ):
        team.run(text)
    assert team.jobs.manager.access.state == before


def test_token_is_shown_once_and_ends(team: Users) -> None:
    access = team.jobs.manager.access
    [created] = team.run("CREATE TOKEN FOR ann EXPIRES IN 2 DAYS COMMENT 'laptop'")
    assert user_of(access, created["token"]) == "ann" and user_of(access, f"{created['token']}x") is None
    secret = created["token"].split("_", 2)[2]
    assert secret not in str(team.run("SHOW TOKENS")) and secret not in str(access.state)
    [row] = team.run("SHOW TOKENS FOR ann")
    assert (row["id"], row["status"], row["comment"], row["last_used"]) == (created["id"], "VALID", "laptop", None)
    assert round(row["expires"] - row["created"]) == 2 * 86400
    access.note_use(created["token"])
    used = team.run("SHOW TOKENS", "ann")[0]["last_used"]
    assert used is not None and team.run("SHOW TOKENS", "eve") == []
    access.note_use(created["token"])
    assert team.run("SHOW TOKENS", "ann")[0]["last_used"] == used
    team.run("ALTER USER ann DISABLE")
    assert user_of(access, created["token"]) is None and team.run("SHOW TOKENS")[0]["status"] == "DISABLED"
    team.run("ALTER USER ann ENABLE")
    assert user_of(access, created["token"]) == "ann"
    assert team.condition(f"DROP TOKEN '{created['id']}'", "eve") == "JETSQL.OBJECT_NOT_FOUND"
    team.run(f"DROP TOKEN '{created['id']}'", "ann")
    assert user_of(access, created["token"]) is None


def test_expired_token_is_refused(tmp_path: Path) -> None:
    now = [1_000_000.0]
    with run_manager(tmp_path, clock=lambda: now[0]) as jobs:
        users = Users(jobs)
        users.run("CREATE USER ann")
        [created] = users.run("CREATE TOKEN FOR ann EXPIRES IN 1 DAY")
        now[0] += 86399
        assert user_of(jobs.manager.access, created["token"]) == "ann"
        now[0] += 1
        assert user_of(jobs.manager.access, created["token"]) is None
        assert users.names("SHOW TOKENS", OWNER, "status") == ["EXPIRED"]


def test_snapshot_of_a_hidden_job_is_not_replaced(team: Users) -> None:
    team.run("CREATE SNAPSHOT x FOR JOB k")
    refusal = team.refusal("CREATE OR REPLACE SNAPSHOT x FOR JOB j", "bob")
    assert "k" not in refusal.message.replace("JETSQL", "")
    team.refusal("DROP SNAPSHOT x", "bob")
    assert team.names("SHOW SNAPSHOTS", OWNER, "job") == ["k"]


def test_each_statement_names_the_right_it_needs() -> None:
    open_for_all = {kind.__name__ for kind, spec in SPECS.items() if spec.needs.right is None}
    assert open_for_all - {kind.__name__ for kind in SPECS if "Expect" in kind.__name__} == {
        "AdvanceClock",
        "AlterAlert",
        "AlterOwner",
        "AlterStreamingTable",
        "CreateAlert",
        "CreateJob",
        "CreateStreamingTable",
        "DescribeConnection",
        "DescribeJob",
        "DropAlert",
        "DropSnapshot",
        "DropStreamingTable",
        "DropToken",
        "ExplainCreateJob",
        "ExplainCreateStreamingTable",
        "GrantRights",
        "RefreshStreamingTable",
        "RevokeRights",
        "RunFile",
        "RunJobs",
        "ShowAlerts",
        "ShowConnections",
        "ShowCreateAlert",
        "ShowCreateStreamingTable",
        "ShowGrants",
        "ShowJobHistory",
        "ShowJobs",
        "ShowRoles",
        "ShowSecrets",
        "ShowSnapshots",
        "ShowStreamingTables",
        "ShowTokens",
        "ShowUsers",
        "StartTest",
    }
    assert set(RightsStatement.__args__) <= set(SPECS)
