"""Lookup of jobs by name, id or pattern."""

from __future__ import annotations

import re
from difflib import get_close_matches

from jetsql.errors import StatementError
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.ids import canonical_id
from jetsql.jobs.model.job import name_key
from jetsql.language.statement import Name


def find_live_job(manager: Manager, name: str) -> JobView | None:
    """Return the live job with this name, or None."""
    key = name_key(name)
    return next((view for view in manager.registry.live() if name_key(view.job.name) == key), None)


def find_job(manager: Manager, name: Name) -> JobView:
    """Return the live job with a name, otherwise the newest ended one; or the job with an id.

    Raises StatementError JOB_NOT_FOUND at the name.
    """
    if name.is_id:
        return _by_id(manager, name)
    live = find_live_job(manager, name.text)
    if live is not None:
        return live
    ended = manager.store.newest_named(name.text)
    if ended is None:
        raise _not_found(manager, name)
    return JobView(ended)


def _by_id(manager: Manager, name: Name) -> JobView:
    job_id = canonical_id(name.text)
    shown = manager.registry.get(job_id) if job_id else None
    if shown is not None:
        return shown
    ended = manager.store.job(job_id) if job_id else None
    if ended is None:
        hint = "Ids have the form '0401-9f77-b9c0-0001'; SHOW ALL JOBS lists them. Write a job's name without quotes."
        raise StatementError("JOB_NOT_FOUND", f"There is no job with the id '{name}'.", place=name.place, hint=hint)
    return JobView(ended)


def _not_found(manager: Manager, name: Name) -> StatementError:
    names = {name_key(view.job.name): view.job.name for view in manager.registry.live()}
    close = get_close_matches(name_key(name.text), names)
    hint = f"Did you mean {names[close[0]]}?" if close else "SHOW ALL JOBS lists the jobs."
    return StatementError("JOB_NOT_FOUND", f"There is no job named {name}.", place=name.place, hint=hint)


def like_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern with the wildcards of SHOW TABLES (`*`, `|`) and LIKE (`%`, `_`)."""
    alternatives = "|".join("".join(_translate(char) for char in part.strip()) for part in pattern.split("|"))
    return re.compile(alternatives, re.IGNORECASE | re.DOTALL)


def _translate(char: str) -> str:
    return {"%": ".*", "*": ".*", "_": "."}.get(char, re.escape(char))
