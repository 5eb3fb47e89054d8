"""Logins to the console with OpenID Connect, and with JWTs over HTTP, on an engine without Spark."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

pytest.importorskip("jwt", reason="PyJWT is in the extra oidc")

from jetsql.client.engine_client import EngineClient
from jetsql.client.server_trust import ServerTrust
from jetsql.console.web.login_sessions import LoginSessions
from jetsql.errors import EngineError
from jetsql.identity.issuer_users import IssuerUsers
from jetsql.identity.oidc_logins import LOGIN_SECONDS, LoginFailed, OidcLogins
from jetsql.request import Identity
from jetsql.server.server_certificate import ServerCertificate
from jetsql.settings.engine_settings import EndpointSettings
from jetsql.settings.identity_settings import IdentitySettings
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, Page, events, run_console
from tests.support.servers.certificates import Authority, Files
from tests.support.servers.http_server import RunningServer
from tests.support.servers.jwt_issuer import JwtIssuer, further_key, query_of, running_issuer

CLIENT = "jetsql-console"
FAILED = "The login at the provider did not succeed."


@pytest.fixture(scope="module")
def served() -> Iterator[JwtIssuer]:
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(served: JwtIssuer) -> JwtIssuer:
    served.requests.clear()
    served.answers.clear()
    served.client_secret = None
    return served


@dataclass(frozen=True)
class Site:
    """An engine with the users ann and bob, whose issuer is also a provider of OpenID Connect."""

    server: RunningServer
    engine: Managed
    issuer: JwtIssuer
    provider: OidcLogins

    def start(self, browser: Browser, target: str = "/console/sql") -> str:
        """Go to the provider, and return the URL there."""
        page = browser.get(f"/console/oidc/login?{urlencode({'next': target})}")
        assert page.status == 303, page.text
        return str(page.headers["location"])

    def come_back(self, browser: Browser, url: str, code: str, **changes: str) -> Page:
        """Return the page of a browser that comes back from the provider, whose pages are of another site."""
        query = {"state": query_of(url)["state"], "code": code} | changes
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        return browser.request("GET", f"/console/oidc/callback?{urlencode(query)}", headers=headers)

    def log_in(self, browser: Browser, user: str = "ann", **claims: Any) -> Page:
        url = self.start(browser)
        _, code = self.issuer.authorize(url, user, **claims)
        return self.come_back(browser, url, code)


def opened(engine: Managed, settings: IdentitySettings, secret: str | None = None) -> tuple[IssuerUsers, OidcLogins]:
    users = IssuerUsers(settings, engine.accounts, engine.accounts.change, engine.manager.clock)
    return users, OidcLogins(replace(settings, oidc_client_id=CLIENT), users, secret)


@pytest.fixture
def site(tmp_path: Path, issuer: JwtIssuer) -> Iterator[Site]:
    with closing(Managed(tmp_path / "home")) as engine:
        for user in ("ann", "bob"):
            list(engine.run(f"CREATE USER {user}").rows)
        list(engine.run("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)
        list(engine.run("GRANT OPERATE ON JOB j TO ann").rows)
        users, provider = opened(engine, issuer.settings(oidc_client_id=CLIENT))
        with run_console(engine, provider=provider, issuer=users) as server:
            yield Site(server, engine, issuer, provider)


# --- the flow --------------------------------------------------------------------------------------------------------


def test_user_logs_in_at_the_provider(site: Site) -> None:
    browser = Browser(site.server.url)
    login_page = browser.get("/console/login?next=/console/sql")
    assert 'href="/console/oidc/login?next=/console/sql"' in login_page.text
    url = site.start(browser)
    asked = query_of(url)
    assert asked["redirect_uri"] == f"{site.server.url}/console/oidc/callback"
    assert asked["scope"] == "openid profile" and len(asked["code_challenge"]) == 43
    _, code = site.issuer.authorize(url)
    page = site.come_back(browser, url, code)
    assert page.status == 200 and 'content="0; url=/console/sql"' in page.text
    assert [name for name in browser.cookies if "oidc" in name] == []
    cookie = (page.headers.get_all("set-cookie") or [""])[0].lower()
    assert "samesite=strict" in cookie and "httponly" in cookie
    assert 'title="Your rights' in browser.get().text and ">ann<" in browser.get().text
    browser.act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB j"})
    assert "ann" in [row[5] for row in site.engine.run("SHOW JOB HISTORY j").rows]


@pytest.mark.filterwarnings("ignore")  # of the provider's own libraries
def test_a_real_provider(tmp_path: Path) -> None:
    mock = pytest.importorskip("oidc_provider_mock")
    with closing(Managed(tmp_path / "home")) as engine, mock.run_server_in_thread(require_nonce=True) as provider:
        list(engine.run("CREATE USER ann").rows)
        url = f"http://localhost:{provider.server_port}"
        settings = IdentitySettings(jwt_issuer=url, oidc_client_id=CLIENT)
        users, logins = opened(engine, settings, secret="a secret")
        with run_console(engine, provider=logins, issuer=users) as server:
            for user, status in (("ann", 200), ("eve", 401)):
                browser = Browser(server.url)
                at_provider = urlsplit(str(browser.get("/console/oidc/login").headers["location"]))
                with closing(HTTPConnection(at_provider.netloc, timeout=30)) as connection:
                    form = {"Content-Type": "application/x-www-form-urlencoded"}
                    path = f"{at_provider.path}?{at_provider.query}"
                    connection.request("POST", path, urlencode({"sub": user}), form)
                    back = connection.getresponse().headers["location"]
                page = browser.get(f"{urlsplit(back).path}?{urlsplit(back).query}")
                assert page.status == status, page.text
                assert browser.get().status == (200 if status == 200 else 303)


def test_client_with_a_secret_sends_it(site: Site) -> None:
    site.issuer.client_secret = "a secret"
    assert site.log_in(Browser(site.server.url)).status == 401
    settings = site.issuer.settings(oidc_client_id=CLIENT)
    _, provider = opened(site.engine, settings, "a secret")
    url, cookie = provider.begin("http://localhost/console/oidc/callback", "/console/")
    _, code = site.issuer.authorize(url)
    identity, target = provider.finish(cookie, {"state": query_of(url)["state"], "code": code})
    assert (identity.user, identity.issuer, target) == ("ann", site.issuer.url, "/console/")


def test_session_ends_with_its_user(site: Site) -> None:
    browser = Browser(site.server.url)
    assert site.log_in(browser).status == 200 and browser.get().status == 200
    list(site.engine.run("ALTER USER ann DISABLE").rows)
    assert browser.get().status == 303
    list(site.engine.run("ALTER USER ann ENABLE").rows)
    assert browser.get().status == 303
    assert site.log_in(browser).status == 200


def test_sessions_of_an_issuer_end_with_its_setting(tmp_path: Path, issuer: JwtIssuer) -> None:
    file = tmp_path / "engine.logins"
    logins = LoginSessions(file=file)
    value, _ = logins.open(identity=Identity("ann", issuer="https://before.example"))
    logins.save()
    with closing(Managed(tmp_path / "home")) as engine:
        list(engine.run("CREATE USER ann").rows)
        users, provider = opened(engine, issuer.settings(oidc_client_id=CLIENT))
        with run_console(engine, LoginSessions(file=file), provider, issuer=users) as server:
            browser = Browser(server.url)
            name = next(iter(_cookies(server)))
            browser.cookies[name] = value
            assert browser.get().status == 303


def _cookies(server: RunningServer) -> dict[str, str]:
    browser = Browser(server.url)
    browser.log_in()
    return browser.cookies


# --- attacks ---------------------------------------------------------------------------------------------------------


def test_code_of_another_browser_opens_no_session(site: Site) -> None:
    """Login CSRF: an attacker ends the own login in the browser of a victim, who then works as the attacker."""
    attacker, victim = Browser(site.server.url), Browser(site.server.url)
    url = site.start(attacker)
    _, code = site.issuer.authorize(url, "bob")
    page = site.come_back(victim, url, code)
    assert page.status == 401 and FAILED in page.visible and not victim.cookies
    other = site.start(victim)
    assert site.come_back(victim, url, code).status == 401  # with the cookie of another login
    _, own = site.issuer.authorize(other)
    assert site.come_back(victim, other, own).status == 401  # whose attempt has ended with it
    assert "/token" not in site.issuer.requests


def test_login_ends_once(site: Site) -> None:
    browser = Browser(site.server.url)
    url = site.start(browser)
    _, code = site.issuer.authorize(url)
    [(name, cookie)] = browser.cookies.items()
    assert site.come_back(browser, url, code).status == 200
    again = Browser(site.server.url, {name: cookie})
    _, second = site.issuer.authorize(url)
    assert site.come_back(again, url, second).status == 401


def test_login_has_a_deadline(site: Site) -> None:
    now = [1000.0]
    _, provider = opened(site.engine, site.issuer.settings(oidc_client_id=CLIENT))
    provider._clock = lambda: now[0]
    url, cookie = provider.begin("http://localhost/c", "/console/")
    _, code = site.issuer.authorize(url)
    now[0] += LOGIN_SECONDS
    with pytest.raises(LoginFailed, match="too long ago"):
        provider.finish(cookie, {"state": query_of(url)["state"], "code": code})


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "x"},
        {"state": ""},
        {"code": "x"},
        {"code": ""},
        {"iss": "https://evil.example"},
        {"error": "access_denied"},
    ],
    ids=str,
)
def test_other_answers_are_refused(site: Site, changes: dict[str, str]) -> None:
    browser = Browser(site.server.url)
    url = site.start(browser)
    _, code = site.issuer.authorize(url)
    page = site.come_back(browser, url, **{"code": code, **changes})
    assert page.status == 401 and FAILED in page.visible
    assert browser.get().status == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "x"},
        {"nonce": None},
        {"nonce": ""},
        {"aud": "another"},
        {"aud": "jetsql"},
        {"aud": [CLIENT, "another"]},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"sub": "owner"},
        {"sub": "stranger"},
    ],
    ids=str,
)
def test_other_id_tokens_are_refused(site: Site, claims: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    browser = Browser(site.server.url)
    assert site.log_in(browser, **claims).status == 401
    assert browser.get().status == 303
    assert "A login with OpenID Connect failed" in caplog.text


def test_id_token_of_another_key_is_refused(site: Site) -> None:
    browser = Browser(site.server.url)
    url = site.start(browser)
    redirect, code = site.issuer.authorize(url)
    asked, _ = site.issuer.codes[code]
    own = site.issuer.claims(aud=CLIENT, nonce=asked["nonce"])
    site.issuer.codes[code] = (asked, site.issuer.sign(own, further_key("RSA"), "RS256", {"kid": "one"}))
    assert redirect and site.come_back(browser, url, code).status == 401


def test_login_leads_to_pages_of_the_console_only(site: Site) -> None:
    for target in ("https://evil.example", "//evil.example", "/v1/jobs", "/console/\\evil", '/console/"><script>'):
        browser = Browser(site.server.url)
        url = site.start(browser, target)
        _, code = site.issuer.authorize(url)
        page = site.come_back(browser, url, code)
        found = re.search(r'content="0; url=([^"]*)"', page.text)
        assert found is not None and found[1].startswith("/console/") and "<script>" not in page.text


def test_reasons_are_not_shown_to_strangers(site: Site) -> None:
    pages = {
        re.sub(r"\?next=[^\"]*", "", page.text)
        for page in (
            site.log_in(Browser(site.server.url), "stranger"),
            site.log_in(Browser(site.server.url), aud="another"),
            Browser(site.server.url).get("/console/oidc/callback?error=x&error_description=<script>"),
        )
    }
    assert len(pages) == 1


def test_the_host_of_a_stranger_is_no_redirect_uri(site: Site) -> None:
    assert Browser(site.server.url).get("/console/oidc/login", Host="evil.example").status == 403


def test_provider_that_is_away(site: Site) -> None:
    site.issuer.answers["/.well-known/openid-configuration"] = b"{}"
    _, provider = opened(site.engine, site.issuer.settings(oidc_client_id=CLIENT))
    with pytest.raises(LoginFailed, match="is the description of None"):
        provider.begin("http://localhost/c", "/console/")
    document = {"issuer": site.issuer.url, "authorization_endpoint": "http://192.0.2.1/authorize"}
    site.issuer.answers["/.well-known/openid-configuration"] = json.dumps(document).encode()
    with pytest.raises(LoginFailed, match="no authorization_endpoint with https"):
        provider.begin("http://localhost/c", "/console/")


def test_no_provider_has_no_paths(tmp_path: Path) -> None:
    with closing(Managed(tmp_path / "home")) as engine, run_console(engine) as server:
        list(engine.run("CREATE USER ann").rows)
        browser = Browser(server.url)
        assert "oidc" not in browser.get("/console/login").text
        assert browser.get("/console/oidc/login").status == 404


# --- JWTs over HTTP --------------------------------------------------------------------------------------------------


def ask(site: Site, token: str, path: str = "/v1/jobs?all=true") -> Page:
    return Browser(site.server.url).request("GET", path, headers={"Authorization": f"Bearer {token}"})


def test_jwt_is_a_token_at_http(site: Site) -> None:
    answer = ask(site, site.issuer.token())
    assert [job["name"] for job in json.loads(answer.text)["jobs"]] == ["j"]
    assert json.loads(ask(site, site.issuer.token("bob")).text)["jobs"] == []
    assert json.loads(ask(site, site.issuer.token(), "/v1/engine").text)["user"] == "ann"
    assert ask(site, site.issuer.token(), "/metrics").status == 403


def test_refusals_of_jwts_are_those_of_other_tokens(site: Site) -> None:
    tokens = ["x", site.issuer.token(aud="x"), site.issuer.token("stranger"), site.issuer.token(exp=1), "eyJ.a.b"]
    answers = {(page.status, page.text) for page in (ask(site, token) for token in tokens)}
    assert len(answers) == 1 and answers.pop()[0] == 401


def test_long_response_to_a_first_request_is_not_cut(site: Site) -> None:
    """End the deadline of connections without a token when the token was checked, also after the head has arrived."""
    users, _ = opened(site.engine, site.issuer.settings())
    users.check(site.issuer.token(x=1))  # loads the keys
    with run_console(site.engine, issuer=users, settings=EndpointSettings(login_seconds=2.0)) as server:
        with site.engine.runtime.gate("stop") as opens:
            address = urlsplit(server.url).netloc
            with closing(HTTPConnection(address, timeout=30)) as connection:
                headers = {"Authorization": f"Bearer {site.issuer.token()}"}
                connection.request("POST", "/v1/sql", json.dumps({"statement": "SUSPEND JOB j"}), headers)
                site.engine.runtime.wait_entered("stop")
                time.sleep(2.5)
                opens.set()
                response = connection.getresponse()
                assert response.status == 200 and b"Suspended." in response.read()


def test_jwt_opens_the_console_until_it_ends(site: Site) -> None:
    now = [time.time()]
    accounts = site.engine.accounts
    users = IssuerUsers(site.issuer.settings(), accounts, accounts.change, lambda: now[0])
    with run_console(site.engine, issuer=users) as server:
        browser = Browser(server.url)
        token = site.issuer.token(exp=int(now[0]) + 100)
        assert browser.log_in(token).status == 303 and browser.get().status == 200
        with events(server, browser, "/console/events/alive") as messages:
            assert next(messages)[0] == "ping"
            now[0] += 131  # with the leeway
            assert [name for name, _ in messages if name != "ping"] == ["logout"]
        assert browser.get().status == 303 and browser.log_in(token).status == 401


def test_client_sends_a_jwt_only_with_tls(site: Site) -> None:
    """Refuse others: an engine cannot prove that it knows a JWT, so its certificate has to be checked."""
    with closing(EngineClient(site.server.url, site.issuer.token())) as client, pytest.raises(EngineError) as caught:
        list(client.run("SHOW JOBS").rows)
    assert caught.value.condition == "JETSQL.NOT_AUTHORIZED" and "TLS" in caught.value.message


def test_client_uses_a_jwt_with_tls(site: Site, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue(Files(tmp_path / "cert.pem", tmp_path / "key.pem"))
    certificate = ServerCertificate(files.certificate, files.key)
    users, _ = opened(site.engine, site.issuer.settings())
    with run_console(site.engine, issuer=users, certificate=certificate) as server:
        url, trust = server.url.replace("127.0.0.1", "localhost"), ServerTrust(str(authority.file))
        with closing(EngineClient(url, site.issuer.token(), trust)) as client:
            assert [row[1] for row in client.run("SHOW JOBS").rows] == ["j"]
        with (
            closing(EngineClient(url, site.issuer.token(aud="x"), trust)) as client,
            pytest.raises(EngineError) as error,
        ):
            list(client.run("SHOW JOBS").rows)
        assert error.value.condition == "JETSQL.NOT_AUTHORIZED"
