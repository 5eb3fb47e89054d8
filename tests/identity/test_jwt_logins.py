"""JWTs as tokens: which are accepted, whose user they are, and attacks on the check."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jwt", reason="PyJWT is in the extra oidc")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from jetsql.errors import EngineError
from jetsql.identity.issuer_keys import FRESH_SECONDS, KEPT_SECONDS, RETRY_SECONDS
from jetsql.identity.issuer_users import IssuerUsers
from jetsql.identity.open_issuer import check_issuer, open_oidc
from jetsql.jobs.access.logins import Logins
from jetsql.jobs.model.job import name_key
from jetsql.settings.identity_settings import IdentitySettings
from tests.support.engines.managed_engine import Managed
from tests.support.servers.jwt_issuer import AUDIENCE, JwtIssuer, further_key, running_issuer


class Ticks:
    """The monotonic clock."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def served() -> Iterator[JwtIssuer]:
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(served: JwtIssuer) -> JwtIssuer:
    served.keys = {"one": served.keys["one"]}
    served.answers.clear()
    served.redirects.clear()
    served.requests.clear()
    return served


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    with closing(Managed(tmp_path / "home")) as engine:
        for user in ("ann", "bob"):
            list(engine.run(f"CREATE USER {user}").rows)
        yield engine


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def users(engine: Managed, issuer: JwtIssuer, ticks: Ticks, **settings: Any) -> IssuerUsers:
    accounts = engine.accounts
    return IssuerUsers(issuer.settings(**settings), accounts, accounts.change, engine.manager.clock, ticks)


def user_of(checked: IssuerUsers, token: str) -> str | None:
    """Return the user of a token, as a login does."""
    checked.check(token)
    identity = checked.identity_of(token)
    return None if identity is None else identity.user


@pytest.fixture
def checked(engine: Managed, issuer: JwtIssuer, ticks: Ticks) -> IssuerUsers:
    return users(engine, issuer, ticks)


# --- what is accepted ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "algorithm"), [("RSA", "RS256"), ("RSA", "PS384"), ("EC", "ES256"), ("OKP", "EdDSA")])
def test_token_of_the_issuer_is_accepted(issuer: JwtIssuer, checked: IssuerUsers, kind: str, algorithm: str) -> None:
    issuer.keys["two"] = further_key(kind)
    token = issuer.token(key="two", algorithm=algorithm)
    assert checked.identity_of(token) is None  # before the check
    assert user_of(checked, token) == "ann"
    identity = checked.identity_of(token)
    assert identity is not None and (identity.issuer, identity.token) == (issuer.url, "")
    assert not checked.end_of(identity)


def test_audiences_and_claims(engine: Managed, issuer: JwtIssuer, ticks: Ticks) -> None:
    checked = users(engine, issuer, ticks, jwt_audience=("a", "b"), jwt_user_claim="profile.name")
    assert user_of(checked, issuer.token(aud=["x", "b"], profile={"name": "Bob"})) == "bob"
    assert user_of(checked, issuer.token(aud="x", profile={"name": "bob"})) is None
    assert user_of(checked, issuer.token(aud="a", profile="bob")) is None
    dotted = users(engine, issuer, ticks, jwt_user_claim="https://example.com/name")
    assert user_of(dotted, issuer.token(**{"https://example.com/name": "bob"})) == "bob"


def test_token_ends_with_its_time(engine: Managed, issuer: JwtIssuer) -> None:
    now = [time.time()]
    checked = IssuerUsers(issuer.settings(), engine.accounts, None, lambda: now[0])
    token = issuer.token(exp=int(now[0]) + 100)
    assert user_of(checked, token) == "ann"
    identity = checked.identity_of(token)
    assert identity is not None and not checked.end_of(identity)
    now[0] += 131  # with the leeway
    assert checked.identity_of(token) is None and checked.end_of(identity) == "The JWT has expired."


def test_clocks_may_differ_a_little(issuer: JwtIssuer, checked: IssuerUsers) -> None:
    now = int(time.time())
    assert user_of(checked, issuer.token(exp=now - 20)) == "ann"
    assert user_of(checked, issuer.token(iat=now + 20, nbf=now + 20)) == "ann"
    assert user_of(checked, issuer.token(exp=now - 40)) is None
    assert user_of(checked, issuer.token(nbf=now + 100)) is None
    assert user_of(checked, issuer.token(iat=now + 100)) is None


@pytest.mark.parametrize("statement", ["ALTER USER ann DISABLE", "DROP USER ann"])
def test_token_ends_with_its_user(engine: Managed, issuer: JwtIssuer, checked: IssuerUsers, statement: str) -> None:
    token = issuer.token()
    assert user_of(checked, token) == "ann"
    list(engine.run(statement).rows)
    assert checked.identity_of(token) is None


def test_no_token_is_accepted_without_users(tmp_path: Path, issuer: JwtIssuer, ticks: Ticks) -> None:
    with closing(Managed(tmp_path / "home")) as engine:
        assert user_of(users(engine, issuer, ticks, jwt_roles_claim="groups"), issuer.token(groups=["x"])) is None
        assert not engine.accounts.has_users


def test_other_tokens_are_not_searched_at_the_issuer(issuer: JwtIssuer, checked: IssuerUsers) -> None:
    for text in ("", "open sesame", "jsq_abcdefgh_x", "a.b.c", "eyJ", "eyJ.eyJ.eyJ.x", "eyJ" + "a" * 20000):
        assert not checked.needs_check(text)
        assert user_of(checked, text) is None
    assert issuer.requests == []
    no_audience = IssuerUsers(issuer.settings(jwt_audience=(), oidc_client_id="x"), checked._users, None)
    assert not no_audience.needs_check(issuer.token())


# --- attacks ---------------------------------------------------------------------------------------------------------


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_token_without_a_signature_is_refused(issuer: JwtIssuer, checked: IssuerUsers) -> None:
    token = issuer.token()
    head, claims, signature = token.split(".")
    for algorithm in ("none", "None", "NONE", "nOnE", "", None):
        for end in ("", signature):
            assert user_of(checked, f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'one'})}.{claims}.{end}") is None
    assert user_of(checked, f"{head}.{claims}.") is None
    assert user_of(checked, f"{head}.{part(issuer.claims('bob'))}.{signature}") is None


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_public_key_is_no_shared_secret(issuer: JwtIssuer, checked: IssuerUsers, algorithm: str) -> None:
    """Use the public key, which everybody has, as the secret of an HMAC: the classic confusion."""
    public = issuer.keys["one"].public_key()
    encodings = serialization.Encoding.PEM, serialization.Encoding.DER
    for encoding in encodings:
        for form in (serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1):
            secret = public.public_bytes(encoding, form)
            body = f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'one'})}.{part(issuer.claims())}"
            digest = hmac.digest(secret, body.encode(), hashlib.sha256)
            mac = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            assert user_of(checked, f"{body}.{mac}") is None
    secret_key = {"kty": "oct", "kid": "two", "k": base64.urlsafe_b64encode(b"x" * 32).decode()}
    issuer.answers["/keys"] = json.dumps({"keys": [secret_key]}).encode()
    assert user_of(checked, issuer.sign(issuer.claims(), b"x" * 32, "HS256", {"kid": "two"})) is None


def test_key_in_the_token_is_not_used(issuer: JwtIssuer, checked: IssuerUsers) -> None:
    from tests.support.servers.jwt_issuer import public_jwk

    own = further_key("RSA")
    for headers in (
        {"kid": "one", "jwk": public_jwk(own)},
        {"kid": "own", "jwk": public_jwk(own)},
        {"kid": "one", "jku": f"{issuer.url}/other"},
        {"kid": "../../../../dev/null"},
        {"kid": "one", "x5u": f"{issuer.url}/other"},
        {},
    ):
        assert user_of(checked, issuer.sign(issuer.claims(), own, "RS256", headers)) is None
    assert set(issuer.requests) == {"/.well-known/openid-configuration", "/keys"}


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"iss": ["http://127.0.0.1"]},
        {"aud": "another"},
        {"aud": None},
        {"aud": []},
        {"aud": {"jetsql": 1}},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": float("inf")},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": ["ann"]},
        {"sub": "carol"},
        {"sub": "owner"},
        {"sub": "Engine"},
        {"sub": "system"},
        {"sub": "ann\0"},
        {"sub": " ann"},
        {"sub": "ann\n"},
        {"sub": "a" * 300},
    ],
    ids=str,
)
def test_other_claims_are_refused(issuer: JwtIssuer, checked: IssuerUsers, claims: dict[str, Any]) -> None:
    try:
        token = issuer.token(**claims)
    except (TypeError, ValueError):  # PyJWT makes no such token
        token = issuer.token()
        head, _, _ = token.split(".")
        token = f"{head}.{part({**issuer.claims(), **claims})}.x"
    assert user_of(checked, token) is None


@pytest.mark.parametrize("header", [{"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"crit": ["exp"]}, {"typ": 7}], ids=str)
def test_tokens_for_other_purposes_are_refused(issuer: JwtIssuer, checked: IssuerUsers, header: dict[str, Any]) -> None:
    key = issuer.keys["one"]
    body = f"{part({'alg': 'RS256', 'kid': 'one', **header})}.{part(issuer.claims())}"
    import jwt

    signature = base64.urlsafe_b64encode(jwt.get_algorithm_by_name("RS256").sign(body.encode(), key))
    assert user_of(checked, f"{body}.{signature.rstrip(b'=').decode()}") is None
    good = f"{part({'alg': 'RS256', 'kid': 'one', 'typ': 'at+JWT'})}.{part(issuer.claims())}"
    signature = base64.urlsafe_b64encode(jwt.get_algorithm_by_name("RS256").sign(good.encode(), key))
    assert user_of(checked, f"{good}.{signature.rstrip(b'=').decode()}") == "ann"


def test_weak_and_unfit_keys_are_refused(issuer: JwtIssuer, checked: IssuerUsers, ticks: Ticks) -> None:
    issuer.keys["weak"] = rsa.generate_private_key(65537, 1024)
    body = f"{part({'alg': 'RS256', 'kid': 'weak'})}.{part(issuer.claims())}"
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    signature = issuer.keys["weak"].sign(body.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert user_of(checked, f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}") is None
    jwks = issuer.jwks()
    for change in ({"use": "enc"}, {"alg": "PS256"}, {"kty": "EC"}, {"kty": None}, {"n": "!"}, {"n": 7}):
        issuer.answers["/keys"] = json.dumps({"keys": [{**jwks["keys"][0], **change}, "x", None]}).encode()
        ticks.now += FRESH_SECONDS
        assert user_of(checked, issuer.token()) is None, change


def test_similar_names_are_different_users(engine: Managed, issuer: JwtIssuer, ticks: Ticks) -> None:
    for user in ("oss", "straße", "mark"):
        list(engine.run(f"CREATE USER `{user}`").rows)
    for role in ("admins", "fluß"):
        list(engine.run(f"CREATE ROLE `{role}`").rows)
    checked = users(engine, issuer, ticks)
    assert (
        user_of(checked, issuer.token("OSS")) == "oss"
        and user_of(checked, issuer.token("straße")) == "straße".casefold()
    )
    for name in ("o\u017fs", "strasse", "STRASSE", "mar\u212a", "\uff4dark"):
        assert name_key(name) and user_of(checked, issuer.token(name)) is None, name
    checked = users(engine, issuer, ticks, jwt_roles_claim="groups")
    user_of(checked, issuer.token("mark", groups=["admin\u017f", "fluss"]))
    assert engine.accounts.state.roles_of("mark") == frozenset()


def test_unverified_email_is_no_user(engine: Managed, issuer: JwtIssuer, ticks: Ticks) -> None:
    list(engine.run("CREATE USER `ann@example.com`").rows)
    checked = users(engine, issuer, ticks, jwt_user_claim="email")
    for verified in ({}, {"email_verified": False}, {"email_verified": "true"}):
        assert user_of(checked, issuer.token(email="ann@example.com", **verified)) is None
    assert user_of(checked, issuer.token(email="ann@example.com", email_verified=True)) == "ann@example.com"


def test_refusals_are_in_the_log_without_the_token(
    issuer: JwtIssuer, checked: IssuerUsers, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = [issuer.token(aud="another"), issuer.token("carol"), issuer.token(exp=1)]
    assert [user_of(checked, token) for token in tokens] == [None] * 3
    for reason in ("Audience", "the user 'carol' does not exist", "expired"):
        assert reason in caplog.text
    assert not any(token.split(".")[2] in caplog.text for token in tokens)


# --- keys ------------------------------------------------------------------------------------------------------------


def test_new_key_is_found_and_not_searched_all_the_time(issuer: JwtIssuer, checked: IssuerUsers, ticks: Ticks) -> None:
    assert user_of(checked, issuer.token()) == "ann"
    issuer.keys["two"] = further_key("EC")
    token = issuer.token(key="two", algorithm="ES256")
    assert user_of(checked, token) is None  # just loaded
    ticks.now += RETRY_SECONDS
    issuer.requests.clear()
    assert user_of(checked, token) == "ann"
    for number in range(50):
        strange = issuer.sign(issuer.claims(), issuer.keys["one"], "RS256", {"kid": f"k{number}"})
        assert user_of(checked, strange) is None
    assert issuer.requests.count("/keys") == 1


def test_withdrawn_key_ends_its_tokens(issuer: JwtIssuer, checked: IssuerUsers, ticks: Ticks) -> None:
    issuer.keys["two"] = further_key("RSA")
    token = issuer.token(key="two")
    assert user_of(checked, token) == "ann"
    del issuer.keys["two"]
    assert user_of(checked, token) == "ann"
    ticks.now += FRESH_SECONDS
    assert user_of(checked, token) is None


def test_issuer_that_is_away_keeps_its_keys_for_a_day(issuer: JwtIssuer, checked: IssuerUsers, ticks: Ticks) -> None:
    assert user_of(checked, issuer.token()) == "ann"
    issuer.answers["/keys"] = b"<html>"
    ticks.now += KEPT_SECONDS - 1
    assert user_of(checked, issuer.token(x=1)) == "ann"
    ticks.now += 2
    assert user_of(checked, issuer.token(x=2)) is None
    del issuer.answers["/keys"]
    ticks.now += RETRY_SECONDS
    assert user_of(checked, issuer.token(x=3)) == "ann"


def test_keys_of_a_file(engine: Managed, issuer: JwtIssuer, ticks: Ticks, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    checked = users(engine, issuer, ticks, jwt_keys=str(file))
    assert user_of(checked, issuer.token()) is None
    file.write_text(json.dumps(issuer.jwks()))
    ticks.now += RETRY_SECONDS
    assert user_of(checked, issuer.token()) == "ann"
    assert issuer.requests == []


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b'{"keys": 7}', b"\xff", b"[" * 100_000, b'{"keys": [' + b"1," * 600_000 + b"1]}"]
)
def test_broken_keys_are_refused(issuer: JwtIssuer, checked: IssuerUsers, answer: bytes) -> None:
    issuer.answers["/keys"] = answer
    assert user_of(checked, issuer.token()) is None


def test_redirects_and_other_issuers_are_not_followed(issuer: JwtIssuer, checked: IssuerUsers, ticks: Ticks) -> None:
    issuer.redirects["/keys"] = f"{issuer.url}/other"
    issuer.answers["/other"] = json.dumps(issuer.jwks()).encode()
    assert user_of(checked, issuer.token()) is None and "/other" not in issuer.requests
    issuer.redirects.clear()
    description = "/.well-known/openid-configuration"
    for document in (
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://192.0.2.1/keys"},
        {"jwks_uri": "file:///x"},
    ):
        issuer.answers[description] = json.dumps({"issuer": issuer.url, **document}).encode()
        ticks.now += RETRY_SECONDS
        assert user_of(checked, issuer.token()) is None, document


def test_issuer_on_this_machine_is_asked_without_a_proxy(
    issuer: JwtIssuer, checked: IssuerUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert user_of(checked, issuer.token()) == "ann"


# --- roles -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def with_roles(engine: Managed, issuer: JwtIssuer, ticks: Ticks) -> IssuerUsers:
    for role in ("analysts", "ops", "bosses"):
        list(engine.run(f"CREATE ROLE {role}").rows)
    list(engine.run("GRANT ADMIN TO bosses").rows)
    return users(engine, issuer, ticks, jwt_roles_claim="realm.roles")


def test_roles_follow_the_claim(engine: Managed, issuer: JwtIssuer, with_roles: IssuerUsers) -> None:
    def roles(*named: object, user: str = "ann", **claims: Any) -> frozenset[str]:
        user_of(with_roles, issuer.token(user, realm={"roles": list(named)}, **claims))
        return engine.accounts.state.roles_of(user)

    now = int(time.time())
    assert roles("analysts", "Ops", "unknown", iat=now - 5) == {"analysts", "ops"}
    assert roles("ops", iat=now - 4) == {"ops"}
    assert roles("bosses", iat=now - 10) == {"ops"}  # an older token
    assert roles(iat=now - 3) == frozenset()
    assert roles("ops", 7, iat=now - 2) == frozenset()
    assert roles("bosses", iat=now - 1) == {"bosses"} and engine.accounts.state.is_admin("ann")


def test_user_with_a_role_is_created(engine: Managed, issuer: JwtIssuer, with_roles: IssuerUsers) -> None:
    assert user_of(with_roles, issuer.token("Zoe", realm={"roles": ["other"]})) is None
    assert user_of(with_roles, issuer.token("Zoe")) is None
    assert engine.accounts.state.user("zoe") is None
    assert user_of(with_roles, issuer.token("Zoe", realm={"roles": ["ops"]})) == "zoe"
    user = engine.accounts.state.user("zoe")
    assert user is not None and user.name == "Zoe"
    for name in ("owner", "engine", "ops", "admin", "public"):
        assert user_of(with_roles, issuer.token(name, realm={"roles": ["ops"]})) is None, name
    list(engine.run("ALTER USER zoe DISABLE").rows)
    assert user_of(with_roles, issuer.token("Zoe", realm={"roles": ["ops"]})) is None


def test_last_admin_keeps_the_role(engine: Managed, issuer: JwtIssuer, with_roles: IssuerUsers) -> None:
    now = int(time.time())
    assert user_of(with_roles, issuer.token(realm={"roles": ["bosses"]}, iat=now - 5)) == "ann"
    list(engine.run("CREATE TOKEN FOR ann").rows)
    list(engine.run("ALTER USER owner DISABLE").rows)
    assert user_of(with_roles, issuer.token(realm={"roles": []}, iat=now - 1)) is None
    assert engine.accounts.state.is_admin("ann")


# --- with other logins -----------------------------------------------------------------------------------------------


def test_thrift_takes_a_jwt_as_the_password(engine: Managed, issuer: JwtIssuer, checked: IssuerUsers) -> None:
    logins = Logins("home's", engine.accounts, checked)
    assert logins.log_in("thrift", "ann", issuer.token(), "")["user"] == "ann"
    assert logins.log_in("thrift", "bob", issuer.token(), "")["user"] == ""
    assert logins.log_in("thrift", "ann", issuer.token(aud="x"), "")["user"] == ""
    assert logins.log_in("thrift", "owner", "home's", "")["user"] == "owner"


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        IdentitySettings(jwt_audience=("x",)),
        IdentitySettings(oidc_client_id="x"),
        IdentitySettings(jwt_issuer="https://a"),
    ],
    ids=["no issuer", "no issuer for OpenID Connect", "nothing to accept"],
)
def test_settings_that_do_not_fit_are_refused(settings: IdentitySettings) -> None:
    with pytest.raises(EngineError) as caught:
        check_issuer(settings)
    assert caught.value.condition == "JETSQL.INVALID_SETTING"


def test_settings_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_issuer(IdentitySettings())
    check_issuer(IdentitySettings(jwt_issuer="https://a", jwt_audience=(AUDIENCE,)))
    assert open_oidc(IdentitySettings(), None) is None
    monkeypatch.setattr("jetsql.identity.open_issuer.find_spec", lambda name: None)
    with pytest.raises(EngineError, match="PyJWT is not installed"):
        check_issuer(IdentitySettings(jwt_issuer="https://a", jwt_audience=(AUDIENCE,)))
