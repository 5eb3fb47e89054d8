"""The settings of an issuer outside of JetSQL that says who users are: JWTs at the endpoints, and OpenID Connect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from jetsql.loopback import is_loopback
from jetsql.setting_fields import setting
from jetsql.setting_values import parse_file, parse_reference

_CLAIM: Final = re.compile(r"[^\s.]+(?:\.[^\s.]+)*")


def is_safe_url(text: str) -> bool:
    """Return whether others on the network cannot change the answer of a URL: it has HTTPS, or is on this machine."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        if not host or parts.username is not None or parts.fragment:
            return False
        return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    except ValueError:
        return False


def _parse_issuer(value: object) -> str:
    if not isinstance(value, str) or not is_safe_url(value.strip()):
        raise ValueError("a URL with https, or with http of this machine")
    return value.strip()


def _parse_keys(value: object) -> str:
    if isinstance(value, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value.strip()):
        return _parse_issuer(value)
    try:
        return str(parse_file(value))
    except ValueError:
        raise ValueError("the path of a file, or a URL with https") from None


def _parse_texts(value: object) -> tuple[str, ...]:
    texts = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise ValueError("one or several texts without blanks")
    return tuple(texts)


def _parse_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or re.search(r"\s", value.strip()):
        raise ValueError("a text without blanks")
    return value.strip()


def _parse_claim(value: object) -> str:
    if not isinstance(value, str) or not _CLAIM.fullmatch(value.strip()):
        raise ValueError("the name of a claim; one inside of another has a dot before it, as realm_access.roles")
    return value.strip()


@dataclass(frozen=True)
class IdentitySettings:
    """The settings of the issuer."""

    jwt_issuer: str | None = setting(
        None,
        _parse_issuer,
        "The issuer whose JWTs are accepted as tokens of users, as its tokens name it (`iss`): the URL of a provider of"
        " OpenID Connect.",
    )
    jwt_audience: tuple[str, ...] = setting(
        (),
        _parse_texts,
        "The audience (`aud`) that a JWT must have at the endpoints, or several. Without it, JWTs are accepted by"
        " OpenID Connect alone.",
    )
    jwt_keys: str | None = setting(
        None,
        _parse_keys,
        "Where the keys of the issuer are, as a JWKS: a file, or a URL with https. By default, the provider's own"
        " description says it.",
        is_path=True,
    )
    jwt_user_claim: str = setting(
        "sub", _parse_claim, "The claim of a token with the name of the user, such as `preferred_username`."
    )
    jwt_roles_claim: str | None = setting(
        None,
        _parse_claim,
        "The claim with the names of the user's roles, such as `groups` or `realm_access.roles`. With it, each login"
        " sets the roles of the user, and creates a user who has one. Without it, users and their roles are those of"
        " JetSQL's statements.",
    )
    jwt_ca_file: Path | None = setting(
        None,
        parse_file,
        "The certificates of authorities in PEM for connections to the issuer, in place of those of the system.",
        is_path=True,
    )
    oidc_client_id: str | None = setting(
        None,
        _parse_text,
        "The client id of the engine at the provider of OpenID Connect. With it, users log in to the web console"
        " there.",
    )
    oidc_client_secret: str | None = setting(
        None,
        parse_reference,
        "The secret of the client, as a reference: secret:file:PATH or secret:env:NAME. None for a public client.",
        is_secret=True,
    )
    oidc_scopes: tuple[str, ...] = setting(
        ("openid", "profile"),
        _parse_texts,
        "The scopes that the login requests, which decide the claims that the provider sends.",
        is_advanced=True,
    )
