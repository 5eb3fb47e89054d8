"""Logins at Spark Connect: whose token a client has, and whether its user may use this endpoint.

Spark Connect runs code of its clients in the engine, so it is for users with all rights.
"""

from __future__ import annotations

from typing import Any

from jetsql.jobs.access.logins import Logins, shown_token
from jetsql.jobs.manager.access_registry import AccessRegistry
from jetsql.request import Caller, Endpoint


def log_in_to_connect(logins: Logins, accounts: AccessRegistry, token: str, address: str) -> dict[str, Any]:
    """Return the user with a token, or why it is refused, see `LOG_IN_TO_CONNECT` of `EngineCallback.java`."""
    logins.check(token)
    user = logins.user_of(token)
    caller = Caller(user or "", Endpoint.CONNECT, address, shown_token(user, token))
    if user is None:
        return {"refusal": "The token is missing or wrong.", "millis": int(logins.failure_delay(caller) * 1000)}
    logins.note_use(token)
    if not accounts.is_active_admin(user):
        refusal = (
            f"Spark Connect runs code in the engine, so it is for users with the right ADMIN, which {user} lacks."
            " Use the HTTP endpoint: jetsql.connect, SQLAlchemy, or jetsql --url. Or use Thrift."
        )
        logins.refused(caller, "the right ADMIN is missing")
        return {"user": user, "refusal": refusal}
    logins.succeeded(caller)
    return {"user": user, "token": caller.token, "has_users": accounts.has_users}
