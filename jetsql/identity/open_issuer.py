"""The issuer of the settings, as the endpoints of an engine use it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from jetsql.errors import EngineError
from jetsql.identity.issuer_users import Change, IssuerUsers, UserStore
from jetsql.identity.oidc_logins import OidcLogins
from jetsql.secret_references import resolved
from jetsql.settings.identity_settings import IdentitySettings


def check_issuer(settings: IdentitySettings) -> None:
    """Raise EngineError INVALID_SETTING for settings that do not fit together, ENGINE_NOT_STARTED without PyJWT."""
    if settings.jwt_issuer is None:
        others: dict[str, Any] = {
            "jwt_audience": settings.jwt_audience,
            "jwt_keys": settings.jwt_keys,
            "jwt_roles_claim": settings.jwt_roles_claim,
            "oidc_client_id": settings.oidc_client_id,
        }
        given = [name for name, value in others.items() if value]
        if given:
            message = f"{given[0]} is set without jwt_issuer."
            raise EngineError("INVALID_SETTING", message, hint="Set jwt_issuer to the URL of the issuer.")
        return
    if not settings.jwt_audience and settings.oidc_client_id is None:
        message = "jwt_issuer is set without jwt_audience and oidc_client_id, so no login would be accepted."
        hint = "Set jwt_audience for JWTs, oidc_client_id for logins to the web console, or both."
        raise EngineError("INVALID_SETTING", message, hint=hint)
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        message = "jwt_issuer is set, but PyJWT is not installed, which checks JWTs."
        raise EngineError("ENGINE_NOT_STARTED", message, hint="Install jetsql[oidc] next to the engine.")


def open_issuer(
    settings: IdentitySettings, users: UserStore, change: Change | None, clock: Callable[[], float]
) -> IssuerUsers | None:
    """Return the users of the issuer; None without one. change, clock: see `IssuerUsers`."""
    return None if settings.jwt_issuer is None else IssuerUsers(settings, users, change, clock)


def open_oidc(settings: IdentitySettings, users: IssuerUsers | None) -> OidcLogins | None:
    """Return the logins at a provider of OpenID Connect; None without one. Raises EngineError SECRET_NOT_READABLE."""
    if users is None or settings.oidc_client_id is None:
        return None
    secret = settings.oidc_client_secret
    return OidcLogins(settings, users, None if secret is None else resolved(secret, "oidc_client_secret"))
