"""Logins at a provider of OpenID Connect: the authorization code flow with PKCE (RFC 7636), as RFC 9700 recommends it.

The browser that comes back with a code must be the one that has left: a cookie binds it to the login. Each login has a
state, a nonce, and a verifier of its own, can end once, and only within `LOGIN_SECONDS`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from jetsql.identity.issuer_documents import IssuerError, read_document
from jetsql.identity.issuer_users import IssuerUsers
from jetsql.identity.jwt_tokens import TokenRefused
from jetsql.request import Identity
from jetsql.settings.identity_settings import IdentitySettings, is_safe_url

_LOG: Final = logging.getLogger(__name__)
LOGIN_SECONDS: Final = 600.0
"""The limit of the time that a login spends at the provider."""
_PENDING_MOST: Final = 1000
_DESCRIPTION_SECONDS: Final = 600.0


class LoginFailed(Exception):
    """A login has failed. Its text is for the log: strangers must not see it."""


@dataclass(frozen=True)
class PendingLogin:
    """A login that is at the provider."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    target: str  # the page that the user comes from
    until: float  # seconds of the monotonic clock


class OidcLogins:
    """The logins of one client at one provider. Any thread can use it; a call may wait for the provider."""

    def __init__(
        self,
        settings: IdentitySettings,
        users: IssuerUsers,
        secret: str | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Create it. settings: with a client. secret: of the client; None for a public one."""
        assert settings.oidc_client_id is not None, "only a client of a provider has logins there"
        self._client_id = settings.oidc_client_id
        self._settings = settings
        self._users = users
        self._secret = secret
        self._clock = clock
        self._pending: dict[str, PendingLogin] = {}
        self._description: tuple[float, dict[str, Any]] | None = None
        self._lock = Lock()

    def begin(self, redirect_uri: str, target: str) -> tuple[str, str]:
        """Begin a login. Return the URL at the provider, and the value of the cookie of the browser.

        target: the page for the user afterwards. Raises LoginFailed.
        """
        endpoint = self._endpoint("authorization_endpoint")
        cookie, state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
        now = self._clock()
        with self._lock:
            for key in [key for key, each in self._pending.items() if each.until <= now]:
                del self._pending[key]
            while len(self._pending) >= _PENDING_MOST:
                del self._pending[next(iter(self._pending))]
            self._pending[_hash(cookie)] = PendingLogin(
                state, nonce, verifier, redirect_uri, target, now + LOGIN_SECONDS
            )
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self._client_id,
                "redirect_uri": redirect_uri,
                "scope": " ".join(dict.fromkeys(("openid", *self._settings.oidc_scopes))),
                "state": state,
                "nonce": nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
        )
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}", cookie

    def finish(self, cookie: str, answer: Mapping[str, str]) -> tuple[Identity, str]:
        """End a login. Return its user, and the page that the user came from.

        answer: the parameters with which the browser came back. Raises LoginFailed.
        """
        with self._lock:
            pending = self._pending.pop(_hash(cookie), None)
        if pending is None or pending.until <= self._clock():
            raise LoginFailed("the browser has begun no login, or too long ago")
        if not hmac.compare_digest(answer.get("state", "").encode(errors="replace"), pending.state.encode()):
            raise LoginFailed("the answer is for another login")
        if answer.get("iss", self._users.issuer) != self._users.issuer:
            raise LoginFailed(f"the answer is of another issuer, {answer['iss']!r}")
        if "error" in answer:
            raise LoginFailed(f"the provider reports {answer['error']!r}: {answer.get('error_description', '')!r}")
        tokens = self._redeem(answer.get("code", ""), pending)
        try:
            return self._users.log_in(str(tokens.get("id_token", "")), self._client_id, pending.nonce), pending.target
        except TokenRefused as error:
            raise LoginFailed(str(error)) from error

    def _redeem(self, code: str, pending: PendingLogin) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": pending.redirect_uri,
            "client_id": self._client_id,
            "code_verifier": pending.verifier,
        }
        headers = {}
        if self._secret is not None:
            # RFC 6749, 2.3.1: both are encoded as in a form first.
            login = f"{quote_plus(self._client_id)}:{quote_plus(self._secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        try:
            return read_document(self._endpoint("token_endpoint"), self._settings.jwt_ca_file, form, headers)
        except IssuerError as error:
            raise LoginFailed(f"the code was not redeemed: {error}") from error

    def _endpoint(self, name: str) -> str:
        """Return a URL of the provider's description. Raises LoginFailed."""
        with self._lock:
            known, now = self._description, self._clock()
        try:
            if known is None or now - known[0] >= _DESCRIPTION_SECONDS:
                known = (now, self._users.describe())
                with self._lock:
                    self._description = known
        except IssuerError as error:
            raise LoginFailed(str(error)) from error
        url = str(known[1].get(name, ""))
        if not is_safe_url(url):
            raise LoginFailed(f"the description of the provider has no {name} with https")
        return url


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode(errors="replace")).hexdigest()
