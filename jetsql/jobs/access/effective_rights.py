"""The rights of all users as JSON for Spark's gates in Java, which never ask Python while Spark analyses a plan."""

from __future__ import annotations

import json
from typing import Any

from jetsql.jobs.access.access_records import Right, SecurableKind
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.rights_table import SESSION_SETTINGS
from jetsql.jobs.access.user_limits import limits_of
from jetsql.jobs.model.job_settings import LimitSettings
from jetsql.request import OWNER


def published_rights(state: AccessState, limits: LimitSettings) -> str | None:
    """Return the effective rights and limits of all users who are not disabled; None if the engine has no users.

    The rights on jobs and alerts are left out: their statements check them. limits: of users without own ones
    """
    if not state.has_users:
        return None
    active = [user for user in state.users if not user.disabled and user.key != OWNER]
    return json.dumps(
        {
            "users": {
                user.key: {
                    "admin": state.is_admin(user.key),
                    "rights": _rights(state, user.key),
                    "limits": limits_of(state, user.key, limits)._asdict(),
                }
                for user in active
            },
            "views": [
                {"name": list(each.object.name), "owner": each.owner}
                for each in sorted(state.owners, key=lambda each: each.object)
                if each.object.kind is SecurableKind.TABLE
            ],
            "settings": list(SESSION_SETTINGS),
        }
    )


def _rights(state: AccessState, user: str) -> list[dict[str, Any]]:
    held = {(grant.right, grant.object) for grant in state.effective(user)}
    held |= {(Right.OWNER, thing) for thing in state.owned_by(user)}
    return [
        {"right": right.value, "kind": thing.kind.value, "name": list(thing.name)}
        for right, thing in sorted(held)
        if thing.kind not in (SecurableKind.JOB, SecurableKind.ALERT)
    ]
