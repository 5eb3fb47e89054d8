"""The page of a standby: it says what it is, and leads to the leader."""

from __future__ import annotations

import pytest

from tests.support.screens.console_browser import Browser
from tests.support.servers.http_server import TOKEN
from tests.support.servers.standby_http import run_standby


def test_standby_page_leads_to_the_leader() -> None:
    leader = "http://leader:8630"
    with run_standby(lambda: leader) as url:
        browser = Browser(url)
        assert browser.get("/").headers["location"] == "/console/"
        assert browser.get("/console").headers["location"] == "/console/"
        for path in ("/console/", "/console/login", "/console/jobs/1"):
            page = browser.get(path)
            assert page.status == 503
            assert "This engine is a standby" in page.visible
            assert 'href="http://leader:8630/console/"' in page.text
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        asset = page.text[page.text.index("/console/assets/") :]
        assert browser.get(asset[: asset.index('"')]).status == 200


def test_without_a_leader_it_waits() -> None:
    with run_standby(lambda: "") as url:
        assert "No engine leads at the moment" in Browser(url).get("/console/").visible


@pytest.mark.parametrize("leader", ["javascript:alert(1)", "<script>alert(1)</script>"])
def test_the_address_of_the_leader_runs_nothing(leader: str) -> None:
    with run_standby(lambda: leader) as url:
        page = Browser(url).get("/console/")
        assert "<script>alert" not in page.text and 'href="javascript' not in page.text


def test_standby_page_reveals_nothing_else() -> None:
    with run_standby(lambda: "http://leader:8630") as url:
        browser = Browser(url)
        for path in ("/v1/engine", "/metrics", "/nowhere", "/consoles"):
            assert browser.get(path).status == 401, path
        response = browser.request("POST", "/console/links", headers={"Authorization": f"Bearer {TOKEN}"})
        assert response.status == 503 and "JETSQL.NOT_LEADER" in response.text
        assert browser.log_in().status == 405
