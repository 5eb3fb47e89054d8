"""The statements about alerts: what they refuse, for whom alerts exist, and what they never show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.jobs.alerts.alert_commands import AlertSettings, parse_commands
from jetsql.jobs.model.job import Cause
from tests.jobs.manager.test_alerts import rows, wait_delivered, wait_for
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users
from tests.support.servers.webhook import Webhook, run_webhook

COMMANDS = AlertSettings(parse_commands(["page=/bin/true --now"]))
CREATE = "CREATE ALERT a ON JOB j STATUS SUSPENDED CALL 'https://hooks.example.com/canary?token=canary'"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Users]:
    with run_manager(tmp_path, alerts=COMMANDS) as jobs:
        jobs.make()
        yield Users(jobs)


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    with run_webhook() as server:
        monkeypatch.setenv("HOOK_URL", server.url)
        monkeypatch.setenv("HOOK_KEY", "key canary")
        yield server


def with_users(engine: Users) -> None:
    """Create two users, of whom ann operates the job."""
    for user in ("ann", "bob"):
        engine.run(f"CREATE USER {user}")
    engine.run("CREATE SECRET hook FROM ENV 'HOOK_URL'")
    engine.run("CREATE SECRET key FROM ENV 'HOOK_KEY'")
    engine.run("GRANT OPERATE ON JOB j TO ann")


def test_created_alert_is_shown_without_the_path_of_its_url(engine: Users) -> None:
    assert engine.message(f"{CREATE} OPTIONS ('every' = '2 hours') COMMENT 'c'") == "Created."
    [row] = engine.run("SHOW ALERTS")
    assert "canary" not in str(row)
    assert {name: row[name] for name in ("name", "job", "condition", "receiver", "format", "every", "enabled")} == {
        "name": "a",
        "job": "j",
        "condition": "STATUS SUSPENDED",
        "receiver": "https://hooks.example.com",
        "format": "webhook",
        "every": "2 hours",
        "enabled": True,
    }
    assert (row["firing"], row["last_message"], row["owner"], row["comment"]) == (None, None, "owner", "c")


def test_names_are_taken_once(engine: Users) -> None:
    engine.run(CREATE)
    assert engine.refusal(CREATE.replace(" a ", " A ")).condition == "JETSQL.OBJECT_ALREADY_EXISTS"
    again = CREATE.replace("ALERT", "ALERT IF NOT EXISTS")
    assert engine.message(again) == "An alert with this name already exists."
    replaced = CREATE.replace("CREATE", "CREATE OR REPLACE").replace("SUSPENDED", "FAILED")
    assert engine.message(replaced) == "Replaced."
    assert engine.names("SHOW ALERTS", "owner", "condition") == ["STATUS FAILED"]


def test_altered_alert_keeps_what_is_not_named(engine: Users) -> None:
    engine.run(f"{CREATE} OPTIONS ('every' = '2 hours') COMMENT 'c'")
    assert engine.message("ALTER ALERT a LAG > 5 ROWS CALL COMMAND page") == "Changed."
    [row] = engine.run("SHOW ALERTS")
    assert (row["condition"], row["receiver"], row["every"], row["comment"], row["format"]) == (
        *("LAG > 5 ROWS", "command page", "2 hours", "c", None),
    )
    assert engine.message("ALTER ALERT a DISABLE").startswith("Disabled.")
    assert engine.names("SHOW ALERTS", "owner", "enabled") == [False]


def test_dropped_alert_is_gone(engine: Users) -> None:
    engine.run(CREATE)
    assert engine.message("DROP ALERT A") == "Dropped."
    assert engine.run("SHOW ALERTS") == []
    assert engine.refusal("DROP ALERT a").condition == "JETSQL.OBJECT_NOT_FOUND"
    assert "nothing to drop" in engine.message("DROP ALERT IF EXISTS a")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ON JOB missing STATUS FAILED CALL COMMAND page", "JOB_NOT_FOUND"),
        ("ON JOB j STATUS BROKEN CALL COMMAND page", "INVALID_ALERT"),
        ("ON JOB j EXPECTATION r CALL COMMAND page", "OBJECT_NOT_FOUND"),
        ("ON JOB j STATUS FAILED CALL COMMAND rm", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL COMMAND page OPTIONS ('format' = 'slack')", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'http://hooks.example.com/'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'http://169.254.169.254/'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'file:///etc/passwd'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'https://user:pw@hooks.example.com/'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('format' = 'slack')", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('format' = 'xml')", "INVALID_OPTION_VALUE"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('secret' = 'plain')", "INVALID_OPTION_VALUE"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('every' = 'often')", "INVALID_OPTION_VALUE"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('url' = 'x')", "UNKNOWN_OPTION"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('every' = '1 day', 'EVERY' = '1 day')", "DUPLICATE_OPTION"),
        ("ON JOB j STATUS FAILED CALL 'secret:nothing'", "OBJECT_NOT_FOUND"),
        ("ON JOB j STATUS FAILED CALL 'secret:env:HOME'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'secret:file:/etc/passwd'", "INVALID_ALERT"),
        ("ON JOB j STATUS FAILED CALL 'https://h/' OPTIONS ('secret' = 'secret:env:HOME')", "INVALID_ALERT"),
    ],
)
def test_alerts_that_cannot_work_are_refused(engine: Users, text: str, condition: str) -> None:
    assert engine.refusal(f"CREATE ALERT a {text}").condition == f"JETSQL.{condition}"
    assert engine.run("SHOW ALERTS") == []


def test_secret_goes_only_to_its_hosts(engine: Users, webhook: Webhook) -> None:
    engine.run("CREATE SECRET key FROM ENV 'HOOK_KEY' FOR 'https://hooks.example.com/'")
    options = "OPTIONS ('secret' = 'secret:key')"
    other = "CREATE ALERT a ON JOB j STATUS FAILED CALL 'https://evil.example.com/'"
    assert engine.refusal(f"{other} {options}").condition == "JETSQL.SECRET_NOT_FOR_HOST"
    assert engine.message(f"{CREATE} {options}") == "Created."


def test_url_in_a_secret_is_called_only_at_its_hosts(engine: Users, webhook: Webhook) -> None:
    engine.run("CREATE SECRET hook FROM ENV 'HOOK_URL' FOR 'https://hooks.example.com/'")
    engine.run("CREATE ALERT a ON JOB j STATUS SUSPENDED CALL 'secret:hook'")
    engine.run("SUSPEND JOB j")
    wait_for(lambda: bool(rows(engine.jobs)[0]["error"]))
    [row] = rows(engine.jobs)
    assert row["error"] == "The secret hook is for https://hooks.example.com/, and not for this URL."
    engine.run("ALTER SECRET hook FOR 'http://127.0.0.1/'")
    engine.run("ALTER ALERT a OPTIONS ('every' = '1 hour')")
    wait_delivered(engine.jobs, 1)
    assert len(webhook.requests) == 1


def test_secret_of_an_alert_is_not_dropped(engine: Users, webhook: Webhook) -> None:
    engine.run("CREATE SECRET hook FROM ENV 'HOOK_URL'")
    engine.run("CREATE ALERT a ON JOB j STATUS FAILED CALL 'secret:hook'")
    error = engine.refusal("DROP SECRET hook")
    assert error.condition == "JETSQL.OBJECT_IN_USE" and "the alert a" in error.message
    assert engine.names("SHOW SECRETS", "owner", "used_by") == ["a"]


def test_secrets_are_in_no_row_and_no_error(engine: Users, webhook: Webhook, tmp_path: Path) -> None:
    """Send with a secret URL that does not answer, and search for it in all that the engine shows and stores."""
    key = tmp_path / "canary-folder" / "key"
    engine.run("CREATE SECRET hook FROM ENV 'HOOK_URL'")
    engine.run(f"CREATE SECRET key FROM FILE '{key}'")
    engine.run("CREATE ALERT a ON JOB j STATUS SUSPENDED CALL 'secret:hook' OPTIONS ('secret' = 'secret:key')")
    engine.run("SUSPEND JOB j")
    wait_for(lambda: bool(rows(engine.jobs)[0]["error"]))
    assert rows(engine.jobs)[0]["error"] == "The secret key cannot be read."
    key.parent.mkdir()
    key.write_text("key canary\n")
    engine.run("ALTER ALERT a OPTIONS ('every' = '1 hour')")
    [request] = webhook.wait(1)
    assert request.headers["webhook-signature"].startswith("v1,")
    reads = [
        (event["outcome"], event["detail"])
        for event in engine.jobs.manager.audit.newest()
        if "secret" in event["event"]
    ]
    detail = "For the alert a."
    assert reads[:2] == [("ok", detail), ("failed: JETSQL.SECRET_NOT_READABLE", detail)]
    assert reads[-2:] == [("ok", detail)] * 2
    shown = (rows(engine.jobs), engine.run("SHOW ALERTS"), engine.jobs.manager.store.alerts())
    assert "canary" not in str(shown) and "/hook" not in str(shown)
    assert b"canary" not in (tmp_path / "jetsql.db").read_bytes().replace(b"canary-folder", b"")


def created_text(engine: Users, user: str = "owner") -> str:
    [row] = engine.run("SHOW CREATE ALERT A", user)
    return str(row["create_statement"])


@pytest.mark.parametrize(
    "rest",
    [
        "ON JOB j STATUS FAILED, SUSPENDED CALL 'https://hooks.example.com/a?b=\\'c'",
        "ON JOB ALL STATUS FAILED CALL COMMAND page OPTIONS ('every' = '90 minutes') COMMENT 'it\\'s\n2'",
        "ON JOB `J` LAG > 10 ROWS CALL 'secret:hook' OPTIONS ('format' = 'slack', 'every' = '0 seconds')",
        "ON JOB j LAG > 90 SECONDS CALL 'https://h/' OPTIONS ('secret' = 'secret:hook', 'applyGroup' = 'shop')",
        "ON JOB j NO COMMIT FOR 1 DAY CALL COMMAND `page` DISABLE",
        "ON JOB j EXPECTATION CALL COMMAND page COMMENT ''",
    ],
)
def test_shown_statement_creates_an_equal_alert(engine: Users, webhook: Webhook, rest: str) -> None:
    engine.run("CREATE SECRET hook FROM ENV 'HOOK_URL'")
    engine.run(f"CREATE ALERT a {rest}")
    before, text = engine.run("SHOW ALERTS"), created_text(engine)
    engine.run("DROP ALERT a")
    assert engine.message(text) == "Created."
    assert engine.run("SHOW ALERTS") == before and created_text(engine) == text


def test_shown_statement_has_no_defaults(engine: Users) -> None:
    engine.run(f"{CREATE} OPTIONS ('every' = '300 seconds', 'format' = 'webhook')")
    url = "'https://hooks.example.com/canary?token=canary'"
    assert created_text(engine) == f"CREATE ALERT `a`\nON JOB `j`\nSTATUS SUSPENDED\nCALL {url}"
    engine.run("ALTER ALERT a DISABLE")
    assert created_text(engine).endswith("\nDISABLE")


def test_disabled_alert_is_created_without_a_message(engine: Users, webhook: Webhook) -> None:
    engine.run("SUSPEND JOB j")
    engine.run(f"CREATE ALERT a ON JOB j STATUS SUSPENDED CALL '{webhook.url}' DISABLE")
    assert engine.names("SHOW ALERTS", "owner", "firing") == [None] and rows(engine.jobs) == []
    engine.run("ALTER ALERT a ENABLE")
    wait_delivered(engine.jobs, 1)


def test_only_admins_see_the_whole_url(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("GRANT ADMIN TO ann")
    engine.run(CREATE, "ann")
    assert "canary" in created_text(engine, "ann") and "canary" in created_text(engine)
    engine.run("REVOKE ADMIN FROM ann")
    error = engine.refusal("SHOW CREATE ALERT a", "ann")
    assert error.condition == "JETSQL.NOT_ALLOWED" and "canary" not in f"{error.message}{error.hint}"
    assert engine.refusal("SHOW CREATE ALERT a", "bob").condition == "JETSQL.OBJECT_NOT_FOUND"
    engine.run("ALTER ALERT a CALL 'secret:hook'")
    assert "CALL 'secret:hook'" in created_text(engine, "ann")


# --- rights -----------------------------------------------------------------------------------------------------------


def test_users_call_urls_only_by_secrets_with_usage(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    create = "CREATE ALERT mine ON JOB j STATUS SUSPENDED CALL 'secret:hook'"
    assert engine.refusal(CREATE, "ann").condition == "JETSQL.NOT_ALLOWED"
    assert engine.refusal(create, "ann").condition == "JETSQL.OBJECT_NOT_FOUND"
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    assert engine.message(create, "ann") == "Created."
    signed = "ALTER ALERT mine OPTIONS ('secret' = 'secret:key')"
    assert engine.refusal(signed, "ann").condition == "JETSQL.OBJECT_NOT_FOUND"
    engine.run("SUSPEND JOB j")
    wait_delivered(engine.jobs, 1)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ALERT b ON JOB ALL STATUS FAILED CALL 'secret:hook'",
        "CREATE ALERT b ON JOB j STATUS FAILED CALL COMMAND page",
        "CREATE ALERT b ON JOB j STATUS FAILED CALL 'https://hooks.example.com/'",
        "CREATE ALERT b ON JOB j STATUS FAILED CALL 'http://127.0.0.1:22/'",
        "ALTER ALERT mine CALL COMMAND page",
        "ALTER ALERT mine CALL 'https://hooks.example.com/'",
    ],
)
def test_receivers_without_a_secret_need_admin(engine: Users, text: str) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS FAILED CALL 'secret:hook'", "ann")
    assert engine.refusal(text, "ann").condition == "JETSQL.NOT_ALLOWED"


def test_alerts_on_invisible_jobs_are_refused(engine: Users) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO bob")
    create = "CREATE ALERT b ON JOB j STATUS FAILED CALL 'secret:hook'"
    assert engine.refusal(create, "bob").condition == "JETSQL.JOB_NOT_FOUND"


def test_alerts_of_others_do_not_exist(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS SUSPENDED CALL 'secret:hook'", "ann")
    engine.run("SUSPEND JOB j")
    wait_delivered(engine.jobs, 1)
    assert engine.run("SHOW ALERTS", "bob") == []
    for text in ("DROP ALERT mine", "ALTER ALERT mine DISABLE"):
        assert engine.refusal(text, "bob").condition == "JETSQL.OBJECT_NOT_FOUND"
    replaced = "CREATE OR REPLACE ALERT mine ON JOB j STATUS FAILED CALL 'secret:hook'"
    engine.run("GRANT OPERATE ON JOB j TO bob")
    assert engine.refusal(replaced, "bob").condition == "JETSQL.OBJECT_ALREADY_EXISTS"
    assert engine.names("SHOW ALERTS", "ann") == ["mine"]
    assert engine.names("SHOW ALERTS", "ann", "owner") == ["ann"]


def test_lost_right_on_the_job_ends_its_messages(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS SUSPENDED CALL 'secret:hook'", "ann")
    engine.run("REVOKE OPERATE ON JOB j FROM ann")
    engine.run("SUSPEND JOB j")
    assert rows(engine.jobs) == []


def test_lost_right_on_the_secret_ends_its_delivery(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS SUSPENDED CALL 'secret:hook'", "ann")
    engine.run("REVOKE USAGE ON SECRET hook FROM ann")
    engine.run("SUSPEND JOB j")
    wait_for(lambda: bool(rows(engine.jobs)[0]["error"]))
    assert rows(engine.jobs)[0]["error"] == "There is no secret named hook." and not webhook.requests


def test_error_of_a_job_needs_the_right_to_operate(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("REVOKE OPERATE ON JOB j FROM ann")
    engine.run("GRANT MONITOR TO ann")
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS SUSPENDED, FAILED, NOT_RUNNING CALL 'secret:hook'", "ann")
    job_id = engine.jobs.manager.registry.live()[0].job.id
    engine.jobs.runtime.fail(job_id, Cause("row 'canary'", "DIVIDE_BY_ZERO", retryable=False))
    [request] = webhook.wait(1)
    assert "canary" not in json.dumps(request.data)
    assert "DIVIDE_BY_ZERO" in request.data["message"]


def test_user_with_alerts_is_not_dropped(engine: Users, webhook: Webhook) -> None:
    with_users(engine)
    engine.run("GRANT USAGE ON SECRET hook TO ann")
    engine.run("CREATE ALERT mine ON JOB j STATUS FAILED CALL 'secret:hook'", "ann")
    error = engine.refusal("DROP USER ann")
    assert error.condition == "JETSQL.USER_OWNS_OBJECTS" and "the alert mine" in error.message
    engine.run("REASSIGN OWNED BY ann TO bob")
    assert engine.names("SHOW ALERTS", "bob", "owner") == ["bob"]
    engine.run("DROP USER ann")


# --- commands ---------------------------------------------------------------------------------------------------------


def test_command_of_the_configuration_is_run(engine: Users) -> None:
    engine.run("CREATE ALERT a ON JOB ALL STATUS SUSPENDED CALL COMMAND PAGE")
    engine.run("SUSPEND JOB j")
    wait_delivered(engine.jobs, 1)


@pytest.mark.parametrize("value", [["rm -rf /"], ["page=rm"], ["=/bin/true"], ["a b=/bin/true"], ["x="], ["x=/a 'b"]])
def test_commands_without_a_full_path_are_refused(value: list[str]) -> None:
    with pytest.raises(ValueError, match="full path"):
        parse_commands(value)


def test_commands_have_different_names() -> None:
    with pytest.raises(ValueError, match="different names"):
        parse_commands("a=/bin/true;A=/bin/false")
    assert [str(each) for each in parse_commands("a=/bin/true 'x y'; b=/bin/false")] == [
        *("a=/bin/true 'x y'", "b=/bin/false")
    ]
