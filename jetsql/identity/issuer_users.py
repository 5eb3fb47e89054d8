"""The users of JetSQL that an issuer vouches for: by a JWT, or by a login with OpenID Connect.

Users and their rights stay in JetSQL, as in Kafka, where an issuer only names the principal: jobs run with the rights
of their owner also while no client of the owner is there, so rights cannot come with a token. Without
`jwt_roles_claim`, a user must exist. With it, the issuer manages who is in which role, as in Grafana: a login sets the
roles of the user to those of the claim that exist in JetSQL, and creates a user who has one. A role that the claim does
not name any more is revoked, with the effects of REVOKE on running jobs. Rights that were granted to a user directly
stay.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic, time
from typing import Any, Final, Protocol

from jetsql.errors import JetSQLError
from jetsql.home.token_form import is_jwt
from jetsql.identity.issuer_documents import IssuerError, read_document
from jetsql.identity.issuer_keys import FRESH_SECONDS, IssuerKeys, keys_reader
from jetsql.identity.jwt_tokens import LEEWAY_SECONDS, TokenRefused, checked_claims, claim_at
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.token_accounts import inactive_user
from jetsql.jobs.model.job import name_key
from jetsql.request import Identity
from jetsql.settings.identity_settings import IdentitySettings

_LOG: Final = logging.getLogger(__name__)
_KNOWN_MOST: Final = 2000
_NAME_CHARS_MOST: Final = 255


Change = Callable[[Callable[[AccessState], AccessState]], object]
"""A function that changes the users of an engine, as `AccessRegistry.change`."""


class UserStore(Protocol):
    """The users of an engine: an `AccessRegistry`, or the `StoredAccounts` of a standby."""

    @property
    def state(self) -> AccessState:
        """Return the users and rights as they are now."""

    def expect_expiry(self, time: float | None) -> None:
        """Call the listeners of changes at a time, when a login expires."""


@dataclass(frozen=True)
class _Known:
    """A token that was checked."""

    identity: Identity
    checked: float  # seconds of the monotonic clock


class IssuerUsers:
    """The users of one issuer. Any thread can use it."""

    def __init__(
        self,
        settings: IdentitySettings,
        users: UserStore,
        change: Change | None,
        clock: Callable[[], float] = time,
        ticks: Callable[[], float] = monotonic,
    ) -> None:
        """Create it.

        settings: with an issuer. change: None for a standby, where tokens change no roles. clock: returns seconds since
        the epoch. ticks: returns seconds of the monotonic clock.
        """
        assert settings.jwt_issuer is not None, "only an engine with an issuer has its users"
        self.issuer = settings.jwt_issuer
        self._settings = settings
        self._users = users
        self._change = change
        self._clock = clock
        self._ticks = ticks
        self._keys = IssuerKeys(self._read_keys, ticks)
        self._known: dict[bytes, _Known] = {}
        self._roles_of: dict[str, float] = {}  # when the token was issued that has set the roles of a user last
        self._lock = Lock()

    def _read_keys(self) -> Mapping[str, Any]:
        location = self._settings.jwt_keys or str(self.describe().get("jwks_uri", ""))
        return keys_reader(location, self._settings.jwt_ca_file)()

    def describe(self) -> dict[str, Any]:
        """Return the description of the issuer (OpenID Connect Discovery). Raises IssuerError."""
        url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        document = read_document(url, self._settings.jwt_ca_file)
        if document.get("issuer") != self.issuer:
            raise IssuerError(f"{url} is the description of {document.get('issuer')!r}, not of {self.issuer!r}")
        return document

    # --- JWTs as tokens ----------------------------------------------------------------------------------------------

    def needs_check(self, text: str) -> bool:
        """Return whether a text may be a JWT that `check` has not seen."""
        if not self._settings.jwt_audience or not is_jwt(text):
            return False
        known = self._known.get(_digest(text))
        return known is None or self._ticks() - known.checked >= FRESH_SECONDS  # its key may have been withdrawn

    def check(self, text: str) -> None:
        """Check a JWT, which may wait for the issuer. `identity_of` returns its user from then on."""
        if not self.needs_check(text):
            return
        try:
            claims = self._claims(text, self._settings.jwt_audience)
            user = self._user(claims)
        except TokenRefused as error:
            _LOG.warning("A JWT was refused: %s", error)
            with self._lock:
                self._known.pop(_digest(text), None)
            return
        identity = Identity(user, issuer=self.issuer, expires=float(claims["exp"]) + LEEWAY_SECONDS)
        self._users.expect_expiry(identity.expires)
        with self._lock:
            self._known[_digest(text)] = _Known(identity, self._ticks())
            while len(self._known) > _KNOWN_MOST:
                del self._known[next(iter(self._known))]

    def identity_of(self, text: str) -> Identity | None:
        """Return the user of a JWT that `check` has accepted, and that is still valid; None for any other text."""
        known = self._known.get(_digest(text))
        return None if known is None or self.end_of(known.identity) else known.identity

    def end_of(self, identity: Identity) -> str:
        """Return why a login of this issuer is not valid any more, a sentence; empty while it is valid."""
        if identity.issuer != self.issuer:
            return f"The engine does not accept users of {identity.issuer} any more."
        if identity.expires is not None and self._clock() >= identity.expires:
            return "The JWT has expired."
        return inactive_user(self._users.state, identity.user)

    # --- OpenID Connect ----------------------------------------------------------------------------------------------

    def log_in(self, id_token: str, client_id: str, nonce: str) -> Identity:
        """Return the user of an ID token. nonce: of the request that led to it. Raises TokenRefused."""
        claims = self._claims(id_token, (client_id,))
        audience = claims["aud"]
        if claims.get("azp", client_id) != client_id or (isinstance(audience, list) and set(audience) != {client_id}):
            raise TokenRefused("the ID token is for another client")
        if not nonce or claims.get("nonce") != nonce:
            raise TokenRefused("the ID token belongs to another login")
        return Identity(self._user(claims), issuer=self.issuer)

    # --- users -------------------------------------------------------------------------------------------------------

    def _claims(self, text: str, audience: Sequence[str]) -> dict[str, Any]:
        return checked_claims(text, self._keys, self.issuer, audience)

    def _user(self, claims: Mapping[str, Any]) -> str:
        """Return the key of the user of checked claims, whose roles are set if the claims have them."""
        name = self._name(claims)
        state = self._users.state
        if not state.has_users:
            raise TokenRefused("the engine has no users; CREATE USER creates the first")
        key = name_key(name)
        user = state.user(key)
        if key in access_changes.RESERVED or (user is not None and not _is_same(user.name, name)):
            raise TokenRefused(f"the name {name!r} is reserved, or like that of another user")
        if state.role(key) is not None:
            raise TokenRefused(f"{name!r} is the name of a role")
        if self._settings.jwt_roles_claim is not None and self._change is not None:
            self._set_roles(name, claims, self._change)
        if not self._users.state.is_active(key):
            raise TokenRefused(f"the user {name!r} does not exist, has no role, or is disabled")
        return key

    def _name(self, claims: Mapping[str, Any]) -> str:
        claim = self._settings.jwt_user_claim
        name = claim_at(claims, claim)
        if not isinstance(name, str) or not name or len(name) > _NAME_CHARS_MOST or not name.isprintable():
            raise TokenRefused(f"the claim {claim!r} is no name of a user")
        if name != name.strip():
            raise TokenRefused(f"the claim {claim!r} begins or ends with a blank")
        if claim == "email" and claims.get("email_verified") is not True:
            raise TokenRefused("the issuer has not verified the email address")
        return name

    def _set_roles(self, name: str, claims: Mapping[str, Any], change: Change) -> None:
        """Set the roles of a user to those of the claim, unless a newer token has set them."""
        claim, key, issued = self._settings.jwt_roles_claim or "", name_key(name), float(claims["iat"])
        named = claim_at(claims, claim)
        named = [named] if isinstance(named, str) else named
        if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
            raise TokenRefused(f"the claim {claim!r} is no list of roles")
        with self._lock:
            if issued < self._roles_of.get(key, 0.0):
                return
            known = {each: self._users.state.role(name_key(each)) for each in named}
            roles = frozenset(
                role.key for each, role in known.items() if role is not None and _is_same(role.name, each)
            )

            def set_roles(state: AccessState) -> AccessState:
                return access_changes.set_roles(state, name, roles, self._clock())

            try:
                if set_roles(self._users.state) != self._users.state:
                    change(set_roles)
                    _LOG.info("The user %r has the roles of the token: %s", name, ", ".join(sorted(roles)) or "none")
            except JetSQLError as error:
                raise TokenRefused(f"the roles of {name!r} cannot be set: {error}") from error
            self._roles_of[key] = issued


def _is_same(name: str, other: str) -> bool:
    """Return whether a name of a token is that of a user or role: as it is, or without case in ASCII.

    The keys of names equate more letters, such as `ss` and `ß`, so one could take the name of another user.
    """
    return name == other or (name.isascii() and other.isascii() and name_key(name) == name_key(other))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
