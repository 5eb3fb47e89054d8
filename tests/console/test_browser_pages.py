"""All pages of the console in a real browser: accessible, on small screens, and as pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from jetsql.jobs.model.cluster_member import EngineRecord, Member, MemberStatus, Role
from jetsql.jobs.model.job import Cause
from jetsql.settings.engine_settings import Settings, shown_settings
from jetsql.version import VERSION
from tests.support.engines.managed_engine import Managed
from tests.support.paths import ROOT
from tests.support.screens.chromium import accessibility_problems, checked_page, overflows
from tests.support.screens.console_steps import PAGES, commit, create, log_in, open_jobs, row
from tests.support.servers.http_server import RunningServer

pytestmark = pytest.mark.browser


@pytest.fixture
def engine(shop: Managed) -> Managed:
    return shop


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(engine: Managed, chromium: Browser, server: RunningServer, scheme: Any) -> None:
    job = create(engine)
    failed = create(engine, "failed")
    commit(engine, job, state_rows=7, state_bytes=2048, lag={"spark_catalog.shop.orders": 3})
    engine.runtime.fail(failed, Cause("The table is gone.", "X", hint="Create it again.", retryable=False))
    list(engine.run(f"CREATE SNAPSHOT friday FOR JOB '{job}'").rows)
    (engine.home / "engine.log").write_text(LOG, encoding="utf-8")
    with checked_page(chromium, color_scheme=scheme) as page:
        page.goto(f"{server.url}/console/login")
        assert accessibility_problems(page) == []
        log_in(page, server.url)
        for path in PAGES:
            page.goto(server.url + path.format(job=job))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert accessibility_problems(page) == [], path
        open_jobs(page, server.url)
        row(page, "orders").get_by_role("checkbox").check()
        page.get_by_role("button", name="Drop").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert accessibility_problems(page) == []


@pytest.mark.parametrize(
    "size", [{"width": 400, "height": 800}, {"width": 640, "height": 450}], ids=["400 px", "200 %"]
)
def test_pages_fit_on_small_screens(engine: Managed, chromium: Browser, server: RunningServer, size: Any) -> None:
    """Halve the pixels of the window, as a zoom of 200 % does."""
    name = "a_job_with_a_long_name_that_has_to_be_broken_somewhere_" * 2
    job = create(engine, name)
    commit(engine, job, state_rows=7, state_bytes=2048)
    list(engine.run(f"CREATE SNAPSHOT {name} FOR JOB '{job}'").rows)
    (engine.home / "engine.log").write_text(LOG.replace(" ", "_"), encoding="utf-8")
    with checked_page(chromium, viewport=size) as page:
        log_in(page, server.url)
        for path in PAGES:
            page.goto(server.url + path.format(job=job))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert not overflows(page), path


LOG = """\
2026-11-26 09:12:03,114 INFO jetsql.embedded.engine_process: The engine is ready at http://127.0.0.1:8630
2026-11-26 09:12:41,830 INFO jetsql.jobs.manager.job_manager: Job orders_per_minute: STARTING, run 1
2026-11-26 09:12:44,207 INFO jetsql.jobs.manager.job_manager: Job orders_per_minute: RUNNING, run 1
2026-11-26 09:14:02,559 WARNING jetsql.engine.runs.spark_runtime: Job late_flights: the table shop.flights is gone
2026-11-26 09:14:02,610 INFO jetsql.jobs.manager.job_manager: Job late_flights: SUSPENDED, run 1
"""


def fill(engine: Managed, monkeypatch: pytest.MonkeyPatch) -> str:
    """Fill the pages with jobs, snapshots, members and a log, and return the id of a job."""
    jobs = [create(engine, name) for name in ("orders_per_minute", "payments_to_lake", "fraud_alerts", "late_flights")]
    for number in range(100):
        for place, job in enumerate(jobs[:3]):
            rate = 400.0 + 300 * abs((number + 9 * place) % 40 - 20)
            values = {
                "input_rows": int(rate * 2),
                "input_rows_per_second": rate,
                "output_rows": int(rate),
                "trigger_ms": 400 + number % 7 * 40,
                "add_batch_ms": 300 + number % 5 * 40,
                "lag": {"spark_catalog.shop.orders": number % 9 * 100},
                "watermark": engine.manager.clock() - 12,
                "state_rows": 120_000 + number * 100,
                "state_bytes": (40 + number // 10) * 2**20,
            }
            commit(engine, job, ago=(100 - number) * 2.0, **values)
    commit(engine, jobs[3], ago=60.0)
    engine.runtime.fail(jobs[3], Cause("The table is gone.", "JETSQL.JOB_CHANGED", hint="Create it.", retryable=False))
    for name, job in (("friday", jobs[0]), ("before_release_7", jobs[0]), ("fraud_model_2", jobs[2])):
        list(engine.run(f"CREATE SNAPSHOT {name} FOR JOB '{job}'").rows)
    (engine.home / "engine.log").write_text(LOG, encoding="utf-8")
    settings = shown_settings(Settings(home=Path("/srv/jetsql")))
    facts = {"version": VERSION, "spark": "4.1.0", "master": "spark://analytics-1:7077", **settings}
    own = str(Path.home())
    monkeypatch.setattr(Managed, "facts", {name: value for name, value in facts.items() if own not in value})
    now = engine.manager.clock()
    worker = Member("", "", 40_000, 8, MemberStatus.ACTIVE, False, now - 9000, None, "", 2, 12_000, 0, 4 * 2**30)
    members = [replace(worker, id=str(number), host=f"worker-{number}") for number in range(1, 5)]
    members[3] = replace(members[3], status=MemberStatus.GONE, until=now - 600, reason="Heartbeat timed out.")
    driver = replace(worker, id="driver", host="analytics-1", cores=0, is_driver=True, completed_tasks=0)
    monkeypatch.setattr(engine.runtime, "members", lambda: (driver, *members))
    for alert in (
        "jobs_stopped ON JOB ALL STATUS FAILED, SUSPENDED CALL 'http://127.0.0.1:9/x' COMMENT 'on call'",
        "orders_late ON JOB orders_per_minute LAG > 5 MINUTES CALL 'http://127.0.0.1:9/x' DISABLE",
    ):
        list(engine.run(f"CREATE ALERT {alert}").rows)
    leader = EngineRecord("analytics-1-5d0c2f71", "http://analytics-1:8630", Role.LEADER, now - 40_000, VERSION)
    standby = EngineRecord("analytics-2-9b1e66a0", "http://analytics-2:8630", Role.STANDBY, now - 39_000, VERSION)
    monkeypatch.setattr(engine.manager.store, "engines", lambda: (leader, standby))
    return jobs[0]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_of_all_pages(
    engine: Managed, chromium: Browser, server: RunningServer, scheme: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep a picture of each page in build/console, to see what a change does to them."""
    job = fill(engine, monkeypatch)
    folder = ROOT / "build" / "console"
    folder.mkdir(parents=True, exist_ok=True)
    with checked_page(chromium, color_scheme=scheme) as page:
        log_in(page, server.url)
        open_jobs(page, server.url)
        expect(row(page, "late_flights")).to_contain_text("Suspended")
        for path in PAGES:
            page.goto(server.url + path.format(job=job))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            name = path.partition("?")[0].replace("{job}", "job").strip("/").replace("/", "-")
            picture = page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
            assert picture.startswith(b"\x89PNG")
