"""The page of alerts: their state and messages, and changes that ask first."""

from __future__ import annotations

import pytest

from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser

CREATE = "CREATE ALERT stopped ON JOB orders STATUS SUSPENDED CALL 'http://127.0.0.1:9/secret-path' COMMENT 'on call'"


@pytest.fixture
def alert(engine: Managed) -> str:
    list(engine.run("CREATE JOB orders AS INSERT INTO out SELECT * FROM STREAM src").rows)
    list(engine.run(CREATE).rows)
    return "stopped"


def test_page_without_alerts_says_what_to_do(browser: Browser) -> None:
    page = browser.get("/console/alerts").visible
    assert "There are no alerts of yours" in page and "CREATE ALERT name ON JOB ALL" in page
    assert "No message was made" in page


def test_alerts_and_messages_are_shown(engine: Managed, browser: Browser, alert: str) -> None:
    page = browser.get("/console/alerts")
    assert "Quiet stopped on call orders STATUS SUSPENDED" in page.visible
    list(engine.run("SUSPEND JOB orders").rows)
    page = browser.get("/console/alerts")
    assert "Firing stopped" in page.visible and "met by orders" in page.visible
    assert "Job orders has the status SUSPENDED." in page.visible
    assert "secret-path" not in page.text
    list(engine.run("RESUME JOB orders").rows)
    for path in ("/console/alerts", "/console/alerts?alert=STOPPED"):
        assert "Resolved" in browser.get(path).visible
    assert "No message was made by this alert" in browser.get("/console/alerts?alert=other").visible


@pytest.mark.parametrize(
    ("action", "statement", "loss", "message"),
    [
        ("disable", "ALTER ALERT `stopped` DISABLE", "It sends no messages", "Disabled."),
        ("enable", "ALTER ALERT `stopped` ENABLE", "It begins without a state", "Enabled."),
        ("drop", "DROP ALERT `stopped`", "The alert is deleted", "Dropped."),
    ],
)
def test_changes_ask_first(browser: Browser, alert: str, action: str, statement: str, loss: str, message: str) -> None:
    question = browser.act("/console/alerts/confirm", {"action": action, "name": alert})
    assert question.status == 200 and loss in question.visible and statement in question.visible
    assert "Quiet" in browser.get("/console/alerts").visible
    outcome = browser.act("/console/run", {"title": action, "statement": statement})
    assert message in outcome.visible
    state = {"disable": "Disabled", "enable": "Quiet", "drop": "no alerts of yours"}[action]
    assert state in browser.get("/console/alerts").visible


def test_unknown_changes_are_refused(browser: Browser, alert: str) -> None:
    assert browser.act("/console/alerts/confirm", {"action": "explode", "name": alert}).status == 400
    assert browser.post("/console/alerts/confirm", {"action": "drop", "name": alert, "csrf": "x"}).status == 403
