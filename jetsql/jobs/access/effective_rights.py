"""The rights of all users as JSON for Spark's gates in Java, which never ask Python while Spark analyses a plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.model.job import Job, name_key
from jetsql.request import OWNER


def published_rights(state: AccessState, jobs: Iterable[Job]) -> str | None:
    """Return the effective rights of all users who are not disabled; None if the engine has no users.

    jobs: the live ones.
    """
    if not state.has_users:
        return None
    by_id = {job.id: job for job in jobs}
    active = [user for user in state.users if not user.disabled and user.key != OWNER]
    return json.dumps(
        {
            "users": {
                user.key: {"admin": state.is_admin(user.key), "rights": _rights(state, user.key, by_id)}
                for user in active
            },
            "views": {
                each.object.text: each.owner
                for each in sorted(state.owners, key=lambda each: each.object)
                if each.object.kind is SecurableKind.TABLE
            },
            "jobs": {job.id: job.owner for job in by_id.values() if job.owner != OWNER},
        }
    )


def _rights(state: AccessState, user: str, jobs: Mapping[str, Job]) -> list[dict[str, Any]]:
    """Return the rights of a user, without those on jobs that have ended."""
    held = {(grant.right, grant.object) for grant in state.effective(user)}
    held |= {(Right.OWNER, thing) for thing in state.owned_by(user)}
    held |= {(Right.OWNER, Securable(SecurableKind.JOB, (job.id,))) for job in jobs.values() if job.owner == user}
    named = ((right, thing, _name(thing, jobs)) for right, thing in sorted(held))
    return [
        {"right": right.value, "kind": thing.kind.value, "name": name}
        for right, thing, name in named
        if name is not None
    ]


def _name(thing: Securable, jobs: Mapping[str, Job]) -> list[str] | None:
    if thing.kind is not SecurableKind.JOB:
        return list(thing.name)
    job = jobs.get(thing.name[0])
    return None if job is None else [name_key(job.name)]
