"""Several users at the HTTP endpoint: what each one can do, and what a stranger cannot find out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError
from tests.server.test_http import Response, request
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, logged_in, run_console
from tests.support.servers.http_server import TOKEN, RunningServer

NO_TOKEN = "jsq_aaaaaaaa_0123456789012345678901234567890123456789abc"


@dataclass(frozen=True)
class Site:
    """A server with the users ann, who operates the job j, mo, who monitors, eve without rights, and boss, an admin."""

    server: RunningServer
    engine: Managed
    tokens: dict[str, str]

    def send(self, user: str, method: str, path: str, body: str = "") -> Response:
        """Send a request with the token of a user, or with this text as the token."""
        token = self.tokens.get(user, user)
        return request(self.server, method, path, body, Authorization=f"Bearer {token}")

    def run(self, user: str, statement: str, **fields: object) -> Response:
        return self.send(user, "POST", "/v1/sql", json.dumps({"statement": statement, **fields}))

    def rows(self, user: str, statement: str) -> list[list[object]]:
        response = self.run(user, statement)
        lines = [json.loads(line) for line in response.content.splitlines()]
        assert response.status == 200 and "error" not in lines[-1], lines
        return [row for line in lines for row in line.get("rows", ())]

    def condition(self, user: str, statement: str) -> str:
        last = json.loads(self.run(user, statement).content.splitlines()[-1])
        return str(last["error"]["condition"])

    def open_session(self, user: str) -> str:
        return str(json.loads(self.send(user, "POST", "/v1/sessions").content)["session"])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Managed(tmp_path / "home")) as engine, run_console(engine) as server:
        site = Site(server, engine, {"owner": TOKEN})
        for job in ("j", "k"):
            site.rows("owner", f"CREATE JOB {job} AS INSERT INTO totals SELECT * FROM STREAM orders")
        for user in ("ann", "mo", "eve", "boss"):
            site.rows("owner", f"CREATE USER {user}")
            [[_, token, *_]] = site.rows("owner", f"CREATE TOKEN FOR {user}")
            site.tokens[user] = str(token)
        site.rows("owner", "GRANT OPERATE ON JOB j TO ann")
        site.rows("owner", "GRANT MONITOR TO mo")
        site.rows("owner", "GRANT ADMIN TO boss")
        yield site


PATHS = [
    ("GET", "/v1/jobs"),
    ("GET", "/v1/metrics"),
    ("GET", "/v1/engine"),
    ("GET", "/metrics"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/engine/stop"),
    ("POST", "/v1/backup"),
    ("GET", "/v1/sessions/x"),
    ("DELETE", "/v1/statements/0123456789012345678901"),
]


@pytest.mark.parametrize("token", ["", NO_TOKEN, "jsq_", "x" * 5000, "ann:", "Bearer", "\xff"])
def test_stranger_gets_nothing(site: Site, token: str) -> None:
    answers = {(each.status, each.content) for each in (site.send(token, method, path) for method, path in PATHS)}
    assert len(answers) == 1 and answers.pop()[0] == 401
    assert site.run(token, "SHOW JOBS").status == 401
    assert not site.server.stop_requested.is_set()


def test_refusal_of_a_token_has_no_reason(site: Site) -> None:
    refusal = site.send(NO_TOKEN, "GET", "/v1/jobs")
    site.rows("owner", "ALTER USER ann DISABLE")
    site.rows("owner", "DROP USER eve")
    token_id = site.tokens["mo"].split("_")[1]
    site.rows("owner", f"DROP TOKEN '{token_id}'")
    assert [site.send(user, "GET", "/v1/jobs") for user in ("ann", "eve", "mo")] == [refusal] * 3
    assert refusal.status == 401


@pytest.mark.parametrize(
    ("user", "jobs", "statuses"),
    [
        ("owner", ["k", "j"], {"metrics": 200, "stop": 202}),
        ("boss", ["k", "j"], {"metrics": 200, "stop": 202}),
        ("mo", ["k", "j"], {"metrics": 200, "stop": 403}),
        ("ann", ["j"], {"metrics": 403, "stop": 403}),
        ("eve", [], {"metrics": 403, "stop": 403}),
    ],
)
def test_paths_show_what_the_user_may_see(site: Site, user: str, jobs: list[str], statuses: dict[str, int]) -> None:
    assert [job["name"] for job in json.loads(site.send(user, "GET", "/v1/jobs?all=true").content)["jobs"]] == jobs
    assert [job["name"] for job in json.loads(site.send(user, "GET", "/v1/metrics").content)["jobs"]] == jobs[::-1]
    about = json.loads(site.send(user, "GET", "/v1/engine").content)
    assert sum(about["jobs"].values()) == len(jobs)
    assert site.send(user, "GET", "/metrics").status == statuses["metrics"]
    assert site.send(user, "POST", "/v1/engine/stop").status == statuses["stop"]
    assert site.server.stop_requested.is_set() is (statuses["stop"] == 202)
    backup = json.dumps({"folder": str(site.engine.home.parent / "backup")})
    assert (site.send(user, "POST", "/v1/backup", backup).status == 403) is (statuses["stop"] == 403)


def test_operator_controls_the_job_under_the_own_name(site: Site) -> None:
    site.rows("ann", "SUSPEND JOB j")
    assert site.condition("ann", "SUSPEND JOB k") == site.condition("ann", "SUSPEND JOB q") == "JETSQL.JOB_NOT_FOUND"
    assert site.condition("ann", "DROP JOB j") == "JETSQL.NOT_ALLOWED"
    assert "ann" in [row[5] for row in site.rows("owner", "SHOW JOB HISTORY j")]


@pytest.mark.parametrize("user", ["eve", "boss", "owner"])
def test_session_of_another_user_does_not_exist(site: Site, user: str) -> None:
    session = site.open_session("ann")
    missing = site.send(user, "GET", "/v1/sessions/none")
    assert site.send(user, "GET", f"/v1/sessions/{session}") == missing and missing.status == 404
    assert site.run(user, "SHOW JOBS", session=session) == site.run(user, "SHOW JOBS", session="none")
    site.send(user, "DELETE", f"/v1/sessions/{session}")
    assert site.send("ann", "GET", f"/v1/sessions/{session}").status == 200


@pytest.mark.parametrize("user", ["eve", "boss", "owner"])
def test_statement_of_another_user_is_not_cancelled(site: Site, user: str) -> None:
    statement_id = "0123456789012345678901234"
    with site.engine.runtime.gate("stop"):
        running = threading.Thread(target=lambda: site.run("ann", "SUSPEND JOB j", id=statement_id))
        running.start()
        site.engine.runtime.wait_entered("stop")
        assert site.send(user, "DELETE", f"/v1/statements/{statement_id}").status == 404
        assert site.send("ann", "DELETE", f"/v1/statements/{statement_id}").status == 202
    running.join(30)


def test_client_knows_the_engine_by_the_token_of_a_user(site: Site) -> None:
    with closing(EngineClient(site.server.url, site.tokens["ann"])) as client:
        assert [row[1] for row in client.run("SHOW JOBS").rows] == ["j"]
    for token in (NO_TOKEN, site.tokens["ann"][:-1] + "_"):
        with closing(EngineClient(site.server.url, token)) as client, pytest.raises(EngineError) as caught:
            list(client.run("SHOW JOBS").rows)
        assert caught.value.condition == "JETSQL.NOT_AUTHORIZED"


def test_proof_hides_which_tokens_exist(site: Site) -> None:
    def proof(token_id: str) -> str:
        address = site.server.url.removeprefix("http://")
        path = f"/healthz?nonce=n&address={address}&token={token_id}"
        return str(json.loads(site.send("", "GET", path).content)["proof"])

    known = site.tokens["ann"].split("_")[1]
    assert proof(known) == proof(known)
    assert len(proof("aaaaaaaa")) == len(proof(known)) and proof("aaaaaaaa") != proof("")
    site.rows("owner", "ALTER USER ann DISABLE")
    assert proof(known) != proof(known)


def test_failed_logins_are_slowed_down_and_valid_ones_are_not(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    async def note_delay(seconds: float) -> None:
        delays.append(seconds)

    monkeypatch.setattr("jetsql.server.auth.sleep", note_delay)
    for _ in range(22):
        assert site.send(NO_TOKEN, "GET", "/v1/jobs").status == 401
    assert delays == [*[0.0] * 20, 1.0, 1.0]
    assert site.send("ann", "GET", "/v1/jobs").status == 200
    assert len(delays) == 22


def test_console_is_for_all_users(site: Site) -> None:
    for user in ("ann", "mo", "eve"):
        assert Browser(site.server.url).log_in(site.tokens[user]).status == 303
        assert site.send(user, "POST", "/console/links").status == 201
    admin = Browser(site.server.url)
    assert admin.log_in(site.tokens["boss"]).status == 303
    assert admin.act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB j"}).status == 200
    assert "boss" in [row[5] for row in site.rows("owner", "SHOW JOB HISTORY j")]


def test_link_to_the_console_is_for_the_user_who_asked(site: Site) -> None:
    path = json.loads(site.send("boss", "POST", "/console/links").content)["path"]
    browser = Browser(site.server.url)
    assert "Log in as boss?" in browser.get(path).visible
    assert browser.post("/console/enter", {"code": path.partition("code=")[2]}).status == 200
    browser.act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB k"})
    assert "boss" in [row[5] for row in site.rows("owner", "SHOW JOB HISTORY k")]


def test_token_of_the_home_can_be_refused(site: Site) -> None:
    owner = logged_in(site.server)
    site.rows("boss", "ALTER USER owner DISABLE")
    assert site.send("owner", "GET", "/v1/jobs").status == 401 and owner.get().status == 303
    assert site.condition("boss", "DROP USER boss") == "JETSQL.LAST_ADMIN"
    site.rows("boss", "ALTER USER owner ENABLE")
    assert site.send("owner", "GET", "/v1/jobs").status == 200


def test_token_is_in_no_log_and_in_no_file(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    [[token_id, token, *_]] = site.rows("owner", "CREATE TOKEN FOR ann")
    site.send(str(token), "GET", "/v1/jobs")
    site.run("owner", f"DROP TOKEN '{token}'")
    secret = str(token).split("_", 2)[2]
    assert secret not in caplog.text
    for path in site.engine.home.rglob("*"):
        with suppress(IsADirectoryError):
            assert secret.encode() not in path.read_bytes(), path
    assert token_id
