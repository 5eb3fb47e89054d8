"""The console of an engine with users: each sees and does what the user has a right to, and attacks on that."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jetsql.console.web.login_sessions import LoginSessions
from jetsql.request import Identity
from jetsql.server.server_certificate import ServerCertificate
from tests.console.test_console_strangers import HOSTILE, problems
from tests.support.engines.in_memory_runtime import source
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, Page, events, logged_in, run_console
from tests.support.servers.certificates import Authority, Files
from tests.support.servers.http_server import TOKEN, RunningServer

CANARY = "canary"
"""Is in the name, the comment, the statement and the tables of the hidden job."""


@dataclass(frozen=True)
class Site:
    """An engine with the jobs seen, of ann, and hidden.

    Users: ann operates and owns `seen`, ops operates it, mo monitors, eve has no rights, boss is an admin.
    """

    server: RunningServer
    engine: Managed
    tokens: dict[str, str]
    jobs: dict[str, str] = field(default_factory=dict)  # the ids by name

    def run(self, *statements: str) -> list[object]:
        return [list(self.engine.run(text).rows) for text in statements]

    def log_in(self, user: str) -> Browser:
        browser = Browser(self.server.url)
        page = browser.log_in(self.tokens[user])
        assert page.status == 303, page.text
        return browser


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Managed(tmp_path / "home")) as engine, run_console(engine) as server:
        site = Site(server, engine, {"owner": TOKEN})
        for name, sources in (("seen", ("src",)), (f"{CANARY}_job", (f"spark_catalog.{CANARY}_schema.t",))):
            engine.runtime.analysis = replace(engine.runtime.analysis, sources=tuple(source(each) for each in sources))
            text = f"CREATE JOB {name} COMMENT '{name}' AS INSERT INTO out SELECT '{name}' FROM STREAM src"
            [row] = engine.run(text).rows
            site.jobs[name.removesuffix("_job")] = str(row[0])
        site.run(f"CREATE SNAPSHOT {CANARY}_snapshot FOR JOB {CANARY}_job", "CREATE SNAPSHOT friday FOR JOB seen")
        for user in ("ann", "ops", "mo", "eve", "boss"):
            site.run(f"CREATE USER {user}")
            [row] = engine.run(f"CREATE TOKEN FOR {user}").rows
            site.tokens[user] = str(row[1])
        site.run("GRANT OPERATE ON JOB seen TO ops", "GRANT MONITOR TO mo", "GRANT ADMIN TO boss")
        site.run("ALTER JOB seen OWNER TO ann")
        engine.runtime.commit(site.jobs["seen"])
        engine.runtime.commit(site.jobs[CANARY])
        (engine.home / "engine.log").write_text(f"WARN {CANARY}\n")
        yield site


def paths(site: Site) -> list[str]:
    """Return the paths of all pages and their parts, with the id of the hidden job where one is needed."""
    hidden = site.jobs[CANARY]
    return [
        "/console/", "/console/jobs", "/console/jobs?q=canary", "/console/alerts",
        f"/console/jobs/{hidden}", f"/console/jobs/{hidden}?history=all",
        f"/console/jobs/{hidden}/measures", f"/console/jobs/{site.jobs['seen']}", "/console/snapshots",
        "/console/members", "/console/engine", "/console/engine?q=canary", "/console/catalog", "/console/sql",
        "/console/catalog/table?name=spark_catalog.default.out", "/console/account", "/console/users",
        f"/console/jobs/{site.jobs['seen']}/measures",
    ]  # fmt: skip


# --- what one sees ---------------------------------------------------------------------------------------------------


def test_pages_leave_out_objects_without_a_right(site: Site) -> None:
    for user in ("ann", "ops", "eve"):
        browser = site.log_in(user)
        for path in paths(site):
            page = browser.get(path)
            assert page.status in (200, 403, 404), (user, path)
            repeated = (f'value="{CANARY}"', f"q={CANARY}")  # the page repeats the search
            assert CANARY not in page.text.replace(repeated[0], "").replace(repeated[1], ""), (user, path)
    assert CANARY in site.log_in("mo").get().text and CANARY in site.log_in("boss").get().text


def test_a_hidden_job_is_like_a_missing_one(site: Site) -> None:
    browser, missing, hidden = site.log_in("ops"), "0000-0000-0000-0001", site.jobs[CANARY]

    def answers(job: str) -> list[tuple[int, str]]:
        pages = [browser.get(f"/console/jobs/{job}"), browser.get(f"/console/jobs/{job}/measures")]
        for action in ("suspend", "drop"):
            pages.append(browser.act("/console/jobs/confirm", {"action": action, "job": job}))
        pages.append(browser.act("/console/snapshots/confirm", {"action": "take", "job": job, "name": "s"}))
        pages.append(browser.act("/console/run", {"title": "Suspend", "statement": f"SUSPEND JOB '{job}'"}))
        with events(site.server, browser, f"/console/events/jobs/{job}?state=ended&after=0") as messages:
            assert next(messages)[0] == "ping"
        return [(page.status, page.text.replace(job, "ID")) for page in pages]

    assert [re.sub(r'csrf="[^"]+"', "", text) for _, text in answers(hidden)] == [
        re.sub(r'csrf="[^"]+"', "", text) for _, text in answers(missing)
    ]


@pytest.mark.parametrize(
    ("user", "names"), [("ann", ["seen"]), ("ops", ["seen"]), ("eve", []), ("mo", ["seen", CANARY])]
)
def test_events_have_the_jobs_of_their_user(site: Site, user: str, names: list[str]) -> None:
    owner, browser = site.log_in("owner"), site.log_in(user)
    with events(site.server, owner, "/console/events/jobs") as messages:  # samples all jobs
        assert set(next(messages)[1]["rows"]) == set(site.jobs.values())
        with events(site.server, browser, "/console/events/jobs") as own:
            assert set(next(own)[1]["rows"]) == {site.jobs[name] for name in names}
        assert set(re.findall(r'data-job="([^"]+)"', owner.get().text)) == set(site.jobs.values())
        assert set(re.findall(r'data-job="([^"]+)"', browser.get().text)) == {site.jobs[name] for name in names}


def test_events_follow_grants_and_revokes(site: Site) -> None:
    browser = site.log_in("eve")
    version = re.search(r'data-version="([^"]+)"', browser.get().text)
    assert version is not None
    with events(site.server, browser, f"/console/events/jobs?after={version[1]}") as messages:
        site.run("GRANT OPERATE ON JOB seen TO eve")
        added = next(content for name, content in messages if name == "jobs")
        assert (list(added["rows"]), added["all"]) == ([site.jobs["seen"]], True)
        site.run("REVOKE OPERATE ON JOB seen FROM eve")
        gone = next(content for name, content in messages if name == "jobs")
        assert (list(gone["rows"]), gone["all"]) == ([], True)


def test_events_of_a_job_end_with_the_right(site: Site) -> None:
    browser, job = site.log_in("ops"), site.jobs["seen"]
    with events(site.server, browser, f"/console/events/jobs/{job}?state=x&after=0") as messages:
        assert next(content for name, content in messages if name == "numbers")["measures"]
        site.run("REVOKE OPERATE ON JOB seen FROM ops")
        assert next(name for name, _ in messages if name != "numbers") == "changed"
        site.engine.runtime.commit(job, trigger_time=2e9)
        assert next(name for name, _ in messages) == "ping"


def test_a_statement_is_for_who_operates_the_job(site: Site) -> None:
    job = f"/console/jobs/{site.jobs['seen']}"
    texts = {user: site.log_in(user).get(job).visible for user in ("ann", "ops", "mo")}
    assert "SELECT 'seen'" in texts["ann"] and "SELECT 'seen'" in texts["ops"]
    assert "SELECT 'seen'" not in texts["mo"]
    assert "The statement is for users with the right OPERATE on the job." in texts["mo"]
    assert [user for user, text in texts.items() if "Change it in the editor" in text] == ["ann"]


def test_tables_that_a_view_reads_are_hidden(site: Site) -> None:
    site.run("GRANT OPERATE ON JOB canary_job TO ops")
    browser = site.log_in("ops")
    for path in (f"/console/jobs/{site.jobs[CANARY]}", "/console/catalog"):
        assert f"{CANARY}_schema" not in browser.get(path).text, path
        assert f"{CANARY}_schema" in site.log_in("boss").get(path).text, path


def test_alerts_are_for_their_owners(site: Site) -> None:
    alert = "CREATE ALERT boss_alert ON JOB seen STATUS SUSPENDED CALL 'http://127.0.0.1:9/'"
    site.run(alert, "SUSPEND JOB seen")
    for path in ("/console/alerts", "/console/", "/console/alerts?alert=boss_alert"):
        assert "boss_alert</a>" not in site.log_in("ops").get(path).text.replace("<wbr>", ""), path
        assert "boss_alert</a>" in site.log_in("boss").get(path).text.replace("<wbr>", ""), path
    question = site.log_in("ops").act("/console/alerts/confirm", {"action": "drop", "name": "boss_alert"})
    assert "DROP ALERT `boss_alert`" in question.visible  # the statement is refused
    outcome = site.log_in("ops").act("/console/run", {"title": "Drop", "statement": "DROP ALERT `boss_alert`"})
    assert "OBJECT_NOT_FOUND" in outcome.visible


def test_machine_and_members_need_a_right(site: Site) -> None:
    pages = {user: site.log_in(user).get("/console/").visible for user in ("ops", "mo", "boss")}
    assert ["Heap of the driver" in pages[user] for user in pages] == [False, False, True]
    assert ["Members 1, 0 tasks" in pages[user] for user in pages] == [False, True, True]


def test_log_and_settings_need_a_right(site: Site) -> None:
    for user, log, settings in (("eve", False, False), ("mo", False, False), ("boss", True, True)):
        browser = site.log_in(user)
        text = browser.get("/console/engine").text
        assert (CANARY in text, str(site.engine.home) in text) == (log, settings), user
        assert (browser.get("/console/events/log", Accept="text/html").status == 403) if not log else True
    browser = site.log_in("boss")
    with events(site.server, browser, "/console/events/log") as messages:
        assert next(messages)[0] == "end"
        site.run("REVOKE ADMIN FROM boss")
        assert [name for name, _ in messages if name != "ping"] == ["logout"]


def test_catalogues_are_those_with_a_right(site: Site) -> None:
    browser = site.log_in("eve")
    assert "catalog=" not in browser.get("/console/catalog").text
    site.run("GRANT SELECT ON SCHEMA s TO eve")
    text = browser.get("/console/catalog").text
    assert "catalog=spark_catalog" in text and "catalog=lake" not in text
    assert "catalog=lake" in site.log_in("boss").get("/console/catalog").text


# --- what one does ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "actions"),
    [
        ("boss", {"suspend", "restart", "drop"}),
        ("ann", {"suspend", "restart", "drop"}),
        ("ops", {"suspend", "restart"}),
        ("mo", set()),
    ],
)
def test_actions_are_offered_with_the_right(site: Site, user: str, actions: set[str]) -> None:
    browser = site.log_in(user)
    page = browser.get(f"/console/jobs/{site.jobs['seen']}").text
    offered = re.findall(r'name="action" value="(\w+)"', page.replace('value="drop" aria-label="Drop snapshot', ""))
    assert set(offered) - {"take"} == actions
    assert ("take" in offered) is bool(actions)
    table = browser.get().text
    assert set(re.findall(r'name="action" value="(\w+)"', table)) - {"resume"} == actions
    box = re.search(rf'value="{site.jobs["seen"]}" aria-label="Select seen"( disabled)?', table)
    assert box is not None and (box[1] is None) is bool(actions)


def test_statements_without_the_right_are_refused_with_the_reason(site: Site) -> None:
    browser = site.log_in("ops")
    question = browser.act("/console/jobs/confirm", {"action": "drop", "job": site.jobs["seen"]})
    assert "The statement will be refused, because it is for the owner of the job." in question.visible
    answer = browser.act("/console/run", {"title": "Drop", "statement": "DROP JOB seen"})
    assert "JETSQL.NOT_ALLOWED" in answer.visible and "which DROP JOB needs" in answer.visible
    for statement in ("CREATE USER x", "GRANT ADMIN TO ops", "CREATE TOKEN FOR boss", "SHOW TOKENS FOR boss"):
        answer = browser.act("/console/run", {"title": "x", "statement": statement})
        assert "JETSQL.NOT_ALLOWED" in answer.visible, statement
    mo = site.log_in("mo").act("/console/jobs/confirm", {"action": "suspend", "job": site.jobs["seen"]})
    assert "because you lack the right OPERATE on the job." in mo.visible


def test_the_history_names_the_user(site: Site) -> None:
    site.log_in("ops").act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB seen"})
    assert "by ops, console, 127.0.0.1" in site.log_in("ann").get(f"/console/jobs/{site.jobs['seen']}").visible


def test_the_sql_page_runs_as_its_user(site: Site) -> None:
    browser = site.log_in("ops")
    headers = {"X-CSRF-Token": browser.get().csrf, "Content-Type": "application/json"}

    def run(what: str, **message: object) -> Page:
        return browser.request("POST", f"/console/sql/{what}", json.dumps(message), headers)

    assert CANARY not in run("run", id="1", statement="SHOW ALL JOBS").text
    assert "JETSQL.NOT_ALLOWED" in run("run", id="2", statement="DROP USER boss").text
    text = "SUSPEND JOB "
    labels = [each["label"] for each in json.loads(run("complete", text=text, cursor=len(text)).text)["candidates"]]
    assert "seen" in labels and f"{CANARY}_job" not in labels
    assert run("cancel", id="1").status == 404


def test_a_statement_of_another_user_is_not_cancelled(site: Site) -> None:
    browsers = {user: site.log_in(user) for user in ("ann", "ops")}

    def post(user: str, what: str, **message: object) -> Page:
        headers = {"X-CSRF-Token": browsers[user].get().csrf}
        return browsers[user].request("POST", f"/console/sql/{what}", json.dumps(message), headers)

    with site.engine.runtime.gate("stop"):
        running = threading.Thread(
            target=post, args=("ann", "run"), kwargs={"id": "s", "statement": "SUSPEND JOB seen"}
        )
        running.start()
        site.engine.runtime.wait_entered("stop")
        assert post("ops", "cancel", id="s").status == 404
        assert post("ann", "cancel", id="s").status == 202
    running.join(30)


# --- users and sessions ----------------------------------------------------------------------------------------------


def test_the_page_of_users_is_for_admins(site: Site) -> None:
    for user in ("ann", "mo", "eve"):
        browser = site.log_in(user)
        page = browser.get("/console/users")
        assert (page.status, "lacks the right ADMIN" in page.visible) == (403, True)
        assert 'href="/console/users"' not in browser.get().text
    site.run("CREATE ROLE analysts", "GRANT analysts TO ann", "GRANT SELECT ON SCHEMA s TO analysts")
    page = site.log_in("boss").get("/console/users")
    assert page.status == 200
    for text in ("analysts", "SELECT SCHEMA", "ops Enabled", "VALID", "owner Enabled"):
        assert text in page.visible, text
    for secret in site.tokens.values():
        assert secret not in page.text


def test_an_account_shows_what_is_its_own(site: Site) -> None:
    ann, ops = site.log_in("ann"), site.log_in("ops")
    page = ann.get("/console/account")
    assert "OWNER JOB seen" in page.visible and "VALID" in page.visible
    assert site.tokens["ann"].split("_")[1] in page.text and site.tokens["ops"].split("_")[1] not in page.text
    assert page.visible.count("127.0.0.1") == 1  # the only session of ann
    assert ops.get("/console/account").status == 200
    assert 'href="/console/account"' in ann.get().text


def test_changes_of_users_ask_first(site: Site) -> None:
    boss = site.log_in("boss")
    question = boss.act("/console/users/confirm", {"action": "disable", "name": "ops`x"})
    assert "ALTER USER `ops``x` DISABLE" in question.visible
    token = site.tokens["ops"].split("_")[1]
    assert (
        f"DROP TOKEN '{token}'" in boss.act("/console/users/confirm", {"action": "drop-token", "name": token}).visible
    )
    assert boss.act("/console/users/confirm", {"action": "x", "name": "ops"}).status == 400
    assert boss.post("/console/users/confirm", {"action": "drop", "name": "ops"}).status == 403  # without the value


def sessions(page: Page) -> list[str]:
    return re.findall(r'name="id" value="([^"]+)"', page.text)


def test_a_user_ends_own_sessions_only(site: Site) -> None:
    first, second, other = site.log_in("ann"), site.log_in("ann"), site.log_in("ops")
    own = sessions(first.get("/console/account"))
    [foreign] = sessions(other.get("/console/account"))
    assert len(own) == 2 and foreign not in own
    answers = [first.act("/console/sessions/end", {"id": name}) for name in (foreign, "none")]
    assert answers[0].status == 400 and answers[0].text == answers[1].text
    assert other.get().status == 200
    assert first.post("/console/sessions/end", {"id": own[0]}).status == 403  # without the value
    assert second.get().status == 200
    assert first.act("/console/sessions/end", {"id": own[0]}).headers["location"] == "/console/account"
    assert (first.get().status, second.get().status) == (200, 303)
    page = first.act("/console/sessions/end", {"id": own[1]})
    assert (page.headers["location"], first.cookies) == ("/console/login", {})


def test_an_admin_ends_all_sessions(site: Site) -> None:
    boss, ann, owner = site.log_in("boss"), site.log_in("ann"), site.log_in("owner")
    assert len(sessions(boss.get("/console/users"))) == 3
    own = sessions(boss.get("/console/account"))
    for session in set(sessions(boss.get("/console/users"))) - set(own):
        page = boss.act("/console/sessions/end", {"id": session, "page": "users"})
        assert page.headers["location"] == "/console/users"
    assert (ann.get().status, owner.get().status, boss.get().status) == (303, 303, 200)


@pytest.mark.parametrize(
    "end",
    [
        "ALTER USER ops DISABLE",
        "DROP USER ops",
        "DROP TOKEN '{token}'",
    ],
)
def test_a_session_ends_with_its_user_and_its_token(site: Site, end: str) -> None:
    browser, other = site.log_in("ops"), site.log_in("ann")
    [row] = site.engine.run("CREATE TOKEN FOR ops").rows
    second = Browser(site.server.url)
    second.log_in(str(row[1]))
    with events(site.server, browser, "/console/events/alive") as messages:
        assert next(messages)[0] == "ping"
        site.run(end.format(token=site.tokens["ops"].split("_")[1]))
        assert [name for name, _ in messages if name != "ping"] == ["logout"]
    assert (browser.get().status, other.get().status) == (303, 200)
    assert (second.get().status == 200) is end.startswith("DROP TOKEN")
    assert Browser(site.server.url).log_in(site.tokens["ops"]).status == 401


def test_a_statement_ends_with_its_user(site: Site) -> None:
    browser = site.log_in("ops")
    headers = {"X-CSRF-Token": browser.get().csrf}
    answers: list[Page] = []

    def run() -> None:
        message = json.dumps({"id": "s", "statement": "SUSPEND JOB seen"})
        answers.append(browser.request("POST", "/console/sql/run", message, headers))

    with site.engine.runtime.gate("stop"):
        running = threading.Thread(target=run)
        running.start()
        site.engine.runtime.wait_entered("stop")
        site.run("ALTER USER ops DISABLE")
        running.join(30)
    error = json.loads(answers[0].text)["error"]
    assert (error["condition"], error["message"]) == (
        "JETSQL.LOGIN_ENDED",
        "The user ops was disabled. The statement was ended.",
    )


def test_a_user_can_drop_the_own_token_from_the_console(site: Site) -> None:
    browser = site.log_in("ops")
    token = site.tokens["ops"].split("_")[1]
    answer = browser.act("/console/run", {"title": "Drop", "statement": f"DROP TOKEN '{token}'"})
    assert "Dropped" in answer.visible
    assert browser.get().status == 303


def test_a_session_does_not_outlive_its_token(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    [row] = site.engine.run("CREATE TOKEN FOR ops EXPIRES IN 1 DAYS").rows
    browser = Browser(site.server.url)
    browser.log_in(str(row[1]))
    assert browser.get().status == 200
    now = site.engine.accounts._clock()
    monkeypatch.setattr(site.engine.accounts, "_clock", lambda: now + 86401)
    assert browser.get().status == 303
    assert site.log_in("ops").get().status == 200  # by the token without an end


def test_a_session_that_was_kept_ends_with_its_token_too(tmp_path: Path) -> None:
    file = tmp_path / "engine.logins"
    logins = LoginSessions(file=file)
    value, login = logins.open(identity=Identity("ann", "abcdefgh"), address="192.0.2.1")
    logins.save()
    found = LoginSessions(file=file).find(value)
    assert found is not None
    assert (found.identity, found.address, found.id) == (login.identity, login.address, login.id)


def test_users_cannot_end_sessions_of_others_by_many_logins() -> None:
    logins = LoginSessions()
    kept, _ = logins.open()
    for _ in range(300):
        logins.open(identity=Identity("ann", "abcdefgh"))
    assert logins.is_open(kept) and len(logins.all()) == 201
    code = logins.make_link()
    for _ in range(30):
        logins.make_link(Identity("ann", "abcdefgh"))
    assert logins.redeem(code) is not None


# --- attacks ---------------------------------------------------------------------------------------------------------


def link(site: Site, user: str) -> str:
    headers = {"Authorization": f"Bearer {site.tokens[user]}"}
    response = Browser(site.server.url).request("POST", "/console/links", headers=headers)
    assert response.status == 201
    return str(json.loads(response.text)["path"])


def test_a_link_of_another_user_asks_first(site: Site) -> None:
    """Otherwise a user sends a link to an admin, who then works in a session of this user without noticing."""
    admin = site.log_in("boss")
    path = link(site, "eve")
    page = admin.get(path)
    assert "Log in as eve?" in page.visible and "set-cookie" not in page.headers
    assert admin.get("/console/users").status == 200  # still the session of the admin
    code = path.partition("code=")[2]
    assert admin.post("/console/enter", {"code": code}, Origin="http://evil.example").status == 403
    assert Browser(site.server.url).post("/console/enter", {"code": code}).status == 200
    assert Browser(site.server.url).post("/console/enter", {"code": code}).status == 401


def test_a_link_ends_with_the_token_it_was_made_with(site: Site) -> None:
    path = link(site, "ops")
    site.run(f"DROP TOKEN '{site.tokens['ops'].split('_')[1]}'")
    code = path.partition("code=")[2]
    page = Browser(site.server.url).post("/console/enter", {"code": code})
    assert (page.status, "set-cookie" in page.headers) == (401, False)


def test_cookies_are_secure_with_tls(site: Site, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue(Files(tmp_path / "cert.pem", tmp_path / "key.pem"))
    certificate = ServerCertificate(files.certificate, files.key)
    with run_console(site.engine, certificate=certificate) as server:
        address = urlsplit(server.url)
        context = ssl.create_default_context(cafile=str(authority.file))
        with closing(HTTPSConnection("localhost", address.port, timeout=30, context=context)) as connection:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", "/console/login", f"token={site.tokens['ops']}", form)
            response = connection.getresponse()
            parts = {part.strip().lower() for part in response.headers["set-cookie"].split(";")[1:]}
            assert parts == {"httponly", "path=/console", "samesite=strict", "secure"}


def test_a_planted_cookie_of_another_user_is_replaced(site: Site) -> None:
    attacker = site.log_in("eve")
    victim = Browser(site.server.url, dict(attacker.cookies))
    victim.log_in(site.tokens["boss"])
    assert victim.cookies != attacker.cookies and attacker.get().status == 303
    assert victim.get("/console/users").status == 200


def test_the_csrf_value_of_another_user_is_refused(site: Site) -> None:
    eve, boss = site.log_in("eve"), site.log_in("boss")
    stolen = eve.get().csrf
    assert boss.post("/console/run", {"csrf": stolen, "statement": "GRANT ADMIN TO eve"}).status == 403
    assert boss.post("/console/sessions/end", {"csrf": stolen, "id": "x"}).status == 403


def test_a_session_gives_no_way_to_other_paths(site: Site) -> None:
    browser = site.log_in("ops")
    for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/sql"), ("GET", "/metrics"), ("POST", "/console/links")):
        assert browser.request(method, path).status == 401, path


def test_a_stranger_sees_nothing_of_the_users(site: Site) -> None:
    browser = Browser(site.server.url)
    for path in paths(site):
        page = browser.get(path)
        assert page.status == 303 and CANARY not in page.text, path
    refusals = {browser.log_in(token).text for token in ("", "x", "jsq_aaaaaaaa_b", f"{site.tokens['ann']}x")}
    site.run("ALTER USER ann DISABLE", "DROP USER eve")
    refusals |= {browser.log_in(site.tokens[user]).text for user in ("ann", "eve")}
    assert len(refusals) == 1


def test_hostile_names_add_nothing_to_the_pages_of_users(site: Site) -> None:
    name = HOSTILE.replace("`", "``")
    site.run(f"CREATE USER `{name}`", f"CREATE ROLE `{name}2`", f"GRANT `{name}2` TO `{name}`")
    comment = "'" + HOSTILE.replace("\\", "\\\\").replace("'", "\\'") + "'"
    [row] = site.engine.run(f"CREATE TOKEN FOR `{name}` COMMENT {comment}").rows
    browser = Browser(site.server.url)
    assert browser.log_in(str(row[1])).status == 303
    boss = site.log_in("boss")
    pages = [browser.get(), browser.get("/console/account"), boss.get("/console/users"), browser.get("/console/users")]
    pages.append(boss.act("/console/users/confirm", {"action": "drop", "name": HOSTILE}))
    pages.append(Browser(site.server.url).get(link(replace(site, tokens={"x": str(row[1])}), "x")))
    for page in pages:
        assert problems(page.text) == [], page.text
    assert sum("<script>alert(1)</script>" in page.visible for page in pages) >= 5


# --- an engine without users -----------------------------------------------------------------------------------------


def test_an_engine_without_users_is_as_before(server: RunningServer) -> None:
    browser = logged_in(server)
    text = browser.get().text
    assert "/console/account" not in text and "/console/users" not in text
    assert "Token of the engine" in Browser(server.url).get("/console/login").visible


def test_the_first_user_leaves_the_owner_logged_in(engine: Managed, server: RunningServer) -> None:
    browser = logged_in(server)
    list(engine.run("CREATE USER ann").rows)
    assert 'href="/console/users"' in browser.get().text
    assert browser.get("/console/users").status == 200 and urlsplit(server.url).netloc
