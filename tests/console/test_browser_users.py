"""The walk of a user with few rights through the console, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.support.engines.managed_engine import Managed
from tests.support.screens.chromium import accessibility_problems, checked_page
from tests.support.screens.console_steps import create, open_jobs, open_sql, row, run
from tests.support.servers.http_server import RunningServer

pytestmark = pytest.mark.browser


def test_a_user_operates_one_job_and_sees_no_other(engine: Managed, chromium: Browser, server: RunningServer) -> None:
    job, hidden = create(engine), create(engine, "hidden")
    tokens = {}
    for user in ("ann", "boss"):
        list(engine.run(f"CREATE USER {user}").rows)
        tokens[user] = str(next(engine.run(f"CREATE TOKEN FOR {user}").rows)[1])
    list(engine.run("GRANT ADMIN TO boss").rows)
    list(engine.run("GRANT OPERATE ON JOB orders TO ann").rows)
    with checked_page(chromium) as page, checked_page(chromium) as admin:
        page.goto(server.url)
        page.get_by_label("Your token").fill(tokens["ann"])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        open_jobs(page, server.url)
        expect(row(page, "orders")).to_be_visible()
        expect(row(page, "hidden")).to_have_count(0)
        expect(page.get_by_role("button", name="Drop")).to_have_count(0)
        page.get_by_label("Select orders").check()
        page.get_by_role("button", name="Suspend").click()
        page.locator("#dialog").get_by_role("button", name="Suspend").click()
        expect(page.get_by_text("Suspended.")).to_be_visible()
        page.get_by_role("button", name="Close").click()
        expect(row(page, "orders")).to_contain_text("Suspended")
        row(page, "orders").get_by_role("link").click()
        expect(page.locator(".timeline")).to_contain_text("by ann, console")
        open_sql(page)
        expect(run(page, "CREATE USER zoe")).to_contain_text("NOT_ALLOWED")
        expect(run(page, f"SUSPEND JOB '{hidden}'")).to_contain_text("There is no job")
        page.get_by_role("link", name="ann").click()
        expect(page.get_by_role("heading", name="ann", level=1)).to_be_visible()
        assert accessibility_problems(page) == []

        admin.goto(server.url)
        admin.get_by_label("Your token").fill(tokens["boss"])
        admin.get_by_role("button", name="Log in").click()
        admin.get_by_role("link", name="Users").click()
        assert accessibility_problems(admin) == []
        admin.get_by_role("button", name="Disable ann").click()
        admin.locator("#dialog").get_by_role("button", name="Disable user").click()
        expect(admin.get_by_text("The tokens of the user are refused from now on.")).to_be_visible()
        expect(page.get_by_text("You are logged out")).to_be_visible()
        page.goto(f"{server.url}/console/jobs/{job}")
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
