"""Check a JWT (RFC 7519): its signature, its issuer and audience, and its time. PyJWT does the cryptography.

The best current practices of RFC 8725 hold: a list of algorithms, the type of the key must fit to the algorithm, keys
come from the settings alone (never from the header of a token), and tokens for another purpose are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from jetsql.home.token_form import is_jwt
from jetsql.identity.issuer_documents import IssuerError
from jetsql.identity.issuer_keys import ALGORITHMS, IssuerKeys

LEEWAY_SECONDS: Final = 30.0
"""The clocks of the issuer and the engine may differ by this."""
_TYPES: Final = (None, "jwt", "at+jwt", "application/at+jwt")
"""The values of `typ` in headers, without case. Others are for other purposes, such as `logout+jwt`."""


class TokenRefused(Exception):
    """A token is not accepted. Its text is for the log: strangers must not see it."""


def checked_claims(text: str, keys: IssuerKeys, issuer: str, audience: Sequence[str]) -> dict[str, Any]:
    """Return the claims of a valid token. It may wait for the keys of the issuer.

    audience: of which the token must have one. Raises TokenRefused.
    """
    if not is_jwt(text):
        raise TokenRefused("it is no signed JWT")
    jwt = import_module("jwt")
    try:
        header: Mapping[str, Any] = jwt.get_unverified_header(text)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise TokenRefused(f"the algorithm {algorithm!r} is not accepted")
        kind = header.get("typ")
        if (kind.casefold() if isinstance(kind, str) else kind) not in _TYPES or "crit" in header:
            raise TokenRefused(f"tokens of the type {kind!r}, or with critical extensions, are not accepted")
        key_id = header.get("kid")
        if not isinstance(key_id, str | None):
            raise TokenRefused("the id of the key is no text")
        claims: dict[str, Any] = jwt.decode(
            text,
            keys.find(key_id, algorithm),
            algorithms=[algorithm],
            audience=list(audience),
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud"], "verify_signature": True},
        )
    except IssuerError as error:
        raise TokenRefused(str(error)) from error
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise TokenRefused(f"{type(error).__name__}: {error}") from error
    return claims


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim, or one inside of others; None without it. path: such as `realm_access.roles`

    A claim whose own name has the dots comes first, as `https://example.com/roles` of some providers.
    """
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
