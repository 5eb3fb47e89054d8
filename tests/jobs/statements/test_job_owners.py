"""A job runs with the rights of its owner: they are checked by CREATE, by each start, and when they change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import Grant, Right, Securable, SecurableKind, User
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.job_rights import lost_rights, weakened_owners
from jetsql.jobs.lifecycle.runtime import JobTable
from jetsql.jobs.manager.table_users import refuse_change
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.system_tables import rows
from jetsql.request import Caller, acting_for
from tests.support.engines.in_memory_runtime import InMemoryRuntime, source
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users

_LACKS = "The user ann lacks the right SELECT on hr.pay."
_AS = "AS INSERT INTO out SELECT * FROM STREAM src"
_TABLE = Securable(SecurableKind.TABLE, ("spark_catalog", "s", "t"))


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Users]:
    """Return an engine with a job of ann, which bob operates, and one of the engine's user."""
    with run_manager(tmp_path) as jobs:
        jobs.runtime.tables["spark_catalog.s.t"] = JobTable("spark_catalog.s.t")
        users = Users(jobs)
        for user in ("ann", "bob", "eve", "mo", "boss"):
            users.run(f"CREATE USER {user}")
        users.run("CREATE ROLE readers")
        users.run("GRANT readers TO ann")
        users.run("GRANT SELECT ON TABLE s.t TO readers")
        users.run("GRANT ADMIN TO boss")
        users.run("GRANT MONITOR TO mo")
        users.run(f"CREATE JOB j {_AS}", "ann")
        users.run(f"CREATE JOB other {_AS}")
        users.run("GRANT OPERATE ON JOB j TO bob")
        yield users


def _job(team: Users, name: str = "j") -> Job:
    [job] = [view.job for view in team.jobs.manager.registry.live() if view.job.name == name]
    return job


def _refuse(team: Users, user: str = "ann") -> None:
    """Let the checks of all jobs of a user fail from now on."""
    team.jobs.runtime.refused_owners[user] = _LACKS


def _shown(team: Users, user: str) -> str:
    """Return all that a user can read about the jobs."""
    statements = ("SHOW JOBS", "DESCRIBE JOB EXTENDED j", "SHOW JOB HISTORY j", "SHOW ALL JOBS")
    return repr([team.run(text, user) for text in statements])


def test_job_is_checked_as_its_creator(team: Users) -> None:
    assert (_job(team).owner, _job(team, "other").owner) == ("ann", "owner")
    team.jobs.runtime.checked_as.clear()
    team.run(f"CREATE OR REPLACE JOB j {_AS} WHERE id > 1", "boss")
    assert set(team.jobs.runtime.checked_as) == {"ann"}
    assert _job(team).owner == "ann"


def test_job_that_is_not_allowed_is_not_created(team: Users) -> None:
    _refuse(team)
    assert "SELECT on hr.pay" in team.refusal(f"CREATE JOB n {_AS}", "ann").message
    assert team.names("SHOW ALL JOBS", "ann") == ["j"]


def test_only_the_owner_and_admins_replace_a_job(team: Users) -> None:
    assert team.refusal(f"CREATE OR REPLACE JOB j {_AS}", "bob").condition == "JETSQL.NOT_ALLOWED"
    assert team.refusal(f"CREATE OR REPLACE JOB j {_AS}", "mo").condition == "JETSQL.NOT_ALLOWED"


@pytest.mark.parametrize("how", ["CREATE JOB", "CREATE JOB IF NOT EXISTS", "CREATE OR REPLACE JOB"])
def test_name_of_a_hidden_job_is_in_use(team: Users, how: str) -> None:
    assert team.refusal(f"{how} J {_AS}", "eve").message == "The name J is in use."


def test_statement_of_an_existing_job_is_only_compared_for_operators(team: Users) -> None:
    text = f"CREATE JOB IF NOT EXISTS j {_AS} WHERE id > 1"
    assert "Its statement is hidden." in team.message(text, "mo")
    assert "differs" in team.message(text, "bob")


def test_unknown_user_owns_nothing_of_the_engine(team: Users) -> None:
    team.run(f"CREATE JOB n {_AS}", "stranger")
    assert (_job(team, "n").owner, team.jobs.runtime.checked_as[-1]) == ("stranger", "stranger")


_WEAKENING = [
    "REVOKE SELECT ON TABLE s.t FROM readers",
    "REVOKE readers FROM ann",
    "DROP ROLE readers",
    "ALTER USER ann DISABLE",
]


@pytest.mark.parametrize("text", _WEAKENING)
def test_lost_right_suspends_the_jobs_of_its_holder(team: Users, text: str) -> None:
    _refuse(team)
    assert "1 job was suspended, because the owner lacks a right now." in team.message(text)
    job = _job(team)
    assert job.status is Status.SUSPENDED and job.cause is not None
    assert (job.cause.condition, job.cause.retryable) == ("JETSQL.NOT_ALLOWED", True)
    assert _job(team, "other").status is Status.RUNNING
    assert team.jobs.runtime.calls[-1].startswith("stop")
    last, event = team.run("SHOW JOB HISTORY j")[-1], team.run("SHOW JOB HISTORY j")[-2]
    assert (last["event"], event["event"], event["by"]) == ("suspended", "rights lost", "owner")


@pytest.mark.parametrize("text", _WEAKENING)
def test_job_that_cannot_be_checked_is_suspended(team: Users, text: str) -> None:
    team.jobs.runtime.check_error = OSError("no broker at hidden-broker:9092")
    message = team.message(text)
    assert "1 job was suspended, because the rights of the owner cannot be checked now." in message
    job = _job(team)
    assert job.status is Status.SUSPENDED and job.cause is not None
    assert (job.cause.condition, job.cause.retryable) == ("JETSQL.NOT_ALLOWED", True)
    assert _job(team, "other").status is Status.RUNNING
    shown = [_shown(team, user) for user in ("bob", "mo", "boss")]
    assert "cannot be checked now" in shown[0] and "hidden-broker" not in str(shown)
    assert "cannot be checked now" not in shown[1] and "JETSQL.NOT_ALLOWED" in shown[1]
    assert "cannot be checked now" in team.refusal("RESUME JOB j", "bob").message
    with pytest.raises(OSError, match="hidden-broker"):
        team.run("RESUME JOB j", "boss")
    team.jobs.runtime.check_error = None
    assert "Resumed" in team.message("RESUME JOB j", "boss")


def test_change_of_an_object_checks_no_job(team: Users) -> None:
    team.jobs.runtime.check_error = OSError("no broker")
    team.jobs.manager.access.note_dropped(_TABLE)
    assert team.jobs.manager.access.state.grants and _job(team).status is Status.RUNNING
    assert "SELECT" not in str(team.run("SHOW GRANTS FOR readers"))


def test_jobs_that_are_still_allowed_continue(team: Users) -> None:
    before = _job(team)
    assert team.message("REVOKE SELECT ON TABLE s.t FROM readers") == "Revoked SELECT."
    assert _job(team) == before and "check_owner 1" in team.jobs.runtime.calls


def test_only_jobs_of_those_who_lose_a_right_are_checked(team: Users) -> None:
    team.jobs.runtime.calls.clear()
    team.run("GRANT INSERT ON TABLE s.t TO ann")
    team.run("GRANT SELECT ON TABLE s.t TO bob")
    team.run("REVOKE SELECT ON TABLE s.t FROM bob")
    team.run("CREATE USER new")
    assert not [call for call in team.jobs.runtime.calls if "check" in call]


def test_jobs_that_read_views_of_others_are_checked_with_them(team: Users) -> None:
    team.run("ALTER TABLE s.t OWNER TO bob")  # a view is a table, too
    _refuse(team)
    assert "1 job was suspended" in team.message("ALTER TABLE s.t OWNER TO boss")


def test_waiting_job_is_suspended(team: Users) -> None:
    team.jobs.runtime.leave("driver")
    waiting = team.jobs.wait_status(_job(team).id, Status.NOT_RUNNING, Status.RUNNING)
    _refuse(team)
    team.run("REVOKE readers FROM ann")
    assert _job(team).status is Status.SUSPENDED, waiting


def test_restart_is_changed_to_a_suspension(team: Users) -> None:
    with team.jobs.runtime.gate("stop") as stopped:
        restarting = team.jobs.in_background("RESTART JOB j")
        team.jobs.runtime.wait_entered("stop")
        _refuse(team)
        revoking = team.jobs.in_background("REVOKE readers FROM ann")
        team.jobs.manager.registry.wait(
            team.jobs.manager.view(_job(team)), lambda view: view.job.stop_cause is not None, 20.0
        )
        stopped.set()
        assert "1 job was suspended" in str(revoking.result().rows)
    assert restarting.exception() is not None
    assert _job(team).status is Status.SUSPENDED


def test_others_do_not_learn_what_is_missing(team: Users) -> None:
    _refuse(team)
    team.run("REVOKE readers FROM ann")
    assert "The owner of the job, ann, lacks a right that the job needs." in _shown(team, "bob")
    for user in ("bob", "mo"):
        assert "hr.pay" not in _shown(team, user)
    assert "hr.pay" not in team.refusal("RESUME JOB j", "bob").message
    assert _LACKS in team.refusal("RESUME JOB j", "ann").message
    assert _LACKS in team.refusal("RESUME JOB j", "boss").message
    assert _job(team).status is Status.SUSPENDED


def test_operator_starts_the_job_with_the_rights_of_its_owner(team: Users) -> None:
    team.run("SUSPEND JOB j", "bob")
    _refuse(team, "bob")
    assert "Resumed" in team.message("RESUME JOB j", "bob")
    team.run("SUSPEND JOB j", "bob")
    _refuse(team)
    assert "lacks a right" in team.refusal("RESUME JOB j", "bob").message
    assert _job(team).owner == "ann" and _job(team).status is Status.SUSPENDED
    del team.jobs.runtime.refused_owners["ann"]
    assert "Resumed" in team.message("RESUME JOB j", "bob")


def test_next_engine_starts_only_what_is_allowed(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        users = Users(jobs)
        users.run("CREATE USER ann")
        users.run(f"CREATE JOB j {_AS}", "ann")
        users.run(f"CREATE JOB other {_AS}")
    with run_manager(tmp_path, InMemoryRuntime(refused_owners={"ann": _LACKS})) as jobs:
        team = Users(jobs)
        job = jobs.wait_status(_job(team).id, Status.SUSPENDED)
        assert job.cause is not None and job.cause.condition == "JETSQL.NOT_ALLOWED"
        jobs.wait_status(_job(team, "other").id, Status.RUNNING)


def test_job_without_a_commit_is_suspended_as_well(team: Users) -> None:
    team.jobs.runtime.start_errors.append(lost_rights("ann"))
    assert "lacks a right" in team.refusal(f"CREATE JOB n {_AS}", "ann").message
    assert _job(team, "n").status is Status.SUSPENDED


def test_job_is_given_only_to_those_who_may_run_it(team: Users) -> None:
    _refuse(team, "eve")
    error = team.refusal("ALTER JOB j OWNER TO eve")
    assert error.condition == "JETSQL.NOT_ALLOWED" and "hr.pay" in error.message
    assert _job(team).owner == "ann"
    team.run("ALTER JOB j OWNER TO bob")
    assert _job(team).owner == "bob"


def test_reassigned_jobs_that_are_not_allowed_are_suspended(team: Users) -> None:
    _refuse(team, "eve")
    message = team.message("REASSIGN OWNED BY ann TO eve")
    assert "1 job was suspended" in message and _job(team).owner == "eve"
    assert _job(team).status is Status.SUSPENDED


def test_owner_of_a_job_is_not_dropped(team: Users) -> None:
    assert "the job j" in team.refusal("DROP USER ann").message
    team.run("REASSIGN OWNED BY ann TO bob")
    assert "Dropped" in team.message("DROP USER ann")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.warehouse", "/x"),
        ("spark.sql.runSQLOnFiles", "true"),
        ("spark.jetsql.job", "1"),
        ("spark.sql.session.timeZone", "secret:file:/etc/shadow"),
    ],
)
def test_users_give_jobs_only_settings_of_a_list(team: Users, name: str, value: str) -> None:
    options = f"OPTIONS ('{name}' = '{value}')"
    assert team.refusal(f"CREATE JOB n {options} {_AS}", "ann").condition == "JETSQL.NOT_ALLOWED"
    team.run("SUSPEND JOB j", "ann")
    assert team.refusal(f"ALTER JOB j {options}", "ann").condition in (
        "JETSQL.NOT_ALLOWED",
        "JETSQL.OPTION_NOT_CHANGEABLE",
    )
    assert team.run(f"CREATE JOB n OPTIONS ('spark.sql.session.timeZone' = 'UTC') {_AS}", "ann")


def test_options_that_name_tables_are_checked_as_the_owner(team: Users) -> None:
    team.run("SUSPEND JOB j", "ann")
    _refuse(team)
    assert team.refusal("ALTER JOB j OPTIONS ('restartAttempts' = '5')", "boss").condition == "JETSQL.NOT_ALLOWED"


def test_plan_of_spark_and_hidden_tables_are_not_shown(team: Users) -> None:
    team.jobs.runtime.scan = "FileScan hr.pay"
    hidden = source("spark_catalog.hr.pay")
    team.jobs.runtime.analysis = replace(team.jobs.runtime.analysis, sources=(hidden,))
    text = f"EXPLAIN CREATE JOB n {_AS}"
    assert "hr.pay" in str(team.run(text)) and "hr.pay" not in str(team.run(text, "ann"))
    team.run(f"CREATE JOB n {_AS}", "ann")
    assert "hr.pay" in str(team.run("DESCRIBE JOB n")) and "hr.pay" not in str(team.run("DESCRIBE JOB n", "ann"))


def test_conflict_with_a_hidden_job_does_not_name_it(team: Users) -> None:
    team.jobs.runtime.analysis = replace(team.jobs.runtime.analysis, streaming=False)
    text = "CREATE JOB n AS INSERT OVERWRITE out SELECT * FROM src"
    for user in ("eve", "bob", "owner"):
        error = team.refusal(text, user)
        shown = f"{error.message} {error.hint}"
        assert error.condition == "JETSQL.TABLE_IN_USE"
        assert ("a job of another user" in shown and "ask an admin" in shown) == (user != "owner"), shown
        assert ("the job other" in shown and "DROP JOB `other`" in shown) == (user == "owner"), shown
    team.run("DROP JOB other")
    assert "the job j writes" in team.refusal(text, "bob").message
    assert "a job of another user writes" in team.refusal(text, "eve").message


def test_table_in_use_by_hidden_jobs_does_not_name_them(team: Users) -> None:
    manager = team.jobs.manager

    def refusal(user: str) -> str:
        with acting_for(Caller(user)):
            sees = manager.access.sees_job
            return refuse_change(manager.registry, sees, "drop", ["spark_catalog", "default"], "out")

    assert refusal("eve") == (
        "Cannot drop default.out: 2 jobs of other users use it. Ask an admin about the jobs of other users."
    )
    assert refusal("bob") == (
        "Cannot drop default.out: the job j writes it; 1 job of other users uses it. Run DROP JOB `j` first, or SUSPEND"
        " JOB `j` to keep the state. Ask an admin about the jobs of other users."
    )
    assert "other users" not in refusal("owner")


def test_folders_are_shown_to_admins_only(team: Users) -> None:
    folder = "file:/tables/spark_catalog.default"
    runtime = team.jobs.runtime
    cause = runtime.cause_of(OSError("Path does not exist: file:/tables/x/part-0, nor /tables/y/part-1."))
    runtime.fail(_job(team).id, cause)
    team.jobs.wait_status(_job(team).id, Status.NOT_RUNNING, Status.SUSPENDED, Status.RUNNING)
    texts = (
        "DESCRIBE JOB EXTENDED j",
        "SHOW JOB HISTORY j",
        "SHOW JOBS",
        "EXPLAIN CREATE JOB n AS INSERT INTO out TABLE src",
    )
    for user in ("ann", "bob", "mo", "boss"):
        shown = repr([team.run(text, user) for text in texts])
        assert ("/tables" in shown) == (user == "boss"), shown
    assert folder in repr(team.run("DESCRIBE JOB EXTENDED j", "boss"))


def test_monitor_sees_neither_statement_nor_hidden_tables(team: Users) -> None:
    for user in ("ann", "bob", "mo", "boss"):
        shown = repr(team.run("DESCRIBE JOB EXTENDED j", user))
        assert ("SELECT * FROM STREAM src" in shown) == (user != "mo")
        assert ("spark_catalog.default.out" in shown) == (user == "boss"), shown


def test_texts_of_errors_are_for_operators(team: Users) -> None:
    runtime = team.jobs.runtime
    error = ArithmeticError("[CAST_INVALID_INPUT] The value 'hunter2canary' of the type STRING cannot be cast.")
    job_id = _job(team).id
    runtime.fail(job_id, replace(runtime.cause_of(error), retryable=False))
    team.jobs.wait_status(job_id, Status.SUSPENDED, Status.FAILED)
    manager = team.jobs.manager
    for user, sees_text in (("ann", True), ("bob", True), ("mo", False), ("boss", True)):
        with acting_for(Caller(user)):
            queries = JobQueries(manager)
            found = queries.find(job_id)
            read = {
                "relations": [list(rows(manager, name)) for name in ("jobs", "job_history")],
                "metrics": queries.all_metrics(),
                "job": (found.cause, queries.not_running(found), queries.stored(job_id)),
                "history": queries.history(job_id),
                "facts": queries.facts(job_id),
                "statements": _shown(team, user),
            }
        assert {name: "hunter2canary" in repr(text) for name, text in read.items()} == dict.fromkeys(read, sees_text)
    assert "The text of the error is for users with the right OPERATE" in _shown(team, "mo")
    history = team.run("SHOW JOB HISTORY j", "mo")
    assert {row["message"] for row in history} == {None} and next(row["to_status"] for row in history) == "STARTING"


def test_table_of_a_job_belongs_to_the_job_owner(team: Users) -> None:
    for job in ("j", "other"):
        team.run(f"DROP JOB {job}")
    team.run("CREATE STREAMING TABLE out AS SELECT * FROM STREAM src", "ann")
    state = team.jobs.manager.access.state
    table = Securable(SecurableKind.TABLE, ("spark_catalog", "default", "out"))
    assert state.owner_of(table) == "ann" and _job(team, "default.out").owner == "ann"
    hidden = ("SHOW CREATE STREAMING TABLE out", "REFRESH STREAMING TABLE out", "DROP STREAMING TABLE out")
    for text in (*hidden, "ALTER STREAMING TABLE out SUSPEND"):
        assert team.refusal(text, "eve").condition == "JETSQL.TABLE_NOT_FOUND"
    team.run("GRANT OPERATE ON JOB `default.out` TO eve")
    assert team.run("SHOW CREATE STREAMING TABLE out", "eve")
    assert team.refusal("DROP STREAMING TABLE out", "eve").condition == "JETSQL.NOT_ALLOWED"
    text = "CREATE OR REFRESH STREAMING TABLE out AS SELECT * FROM STREAM src"
    assert team.refusal(text, "eve").condition == "JETSQL.NOT_ALLOWED"
    team.run("DROP STREAMING TABLE out", "ann")
    assert team.jobs.manager.access.state.owner_of(table) == "owner"
    assert "spark_catalog.default.out" not in team.jobs.runtime.tables


def test_change_of_rights_names_those_who_may_do_less() -> None:
    users = AccessState(users=(User("ann", 0.0), User("bob", 0.0)))
    granted = access_changes.grant(users, [Grant("ann", Right.SELECT, _TABLE)])
    owning = access_changes.set_owner(granted, _TABLE, "bob")
    assert weakened_owners(users, granted) == frozenset()
    assert weakened_owners(granted, users) == frozenset({"ann"})
    assert weakened_owners(owning, granted) is None
    assert weakened_owners(granted, AccessState()) == frozenset()
