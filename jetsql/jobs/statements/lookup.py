"""Lookup of jobs by name, id or pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.access.access_state import alert_object, table_object
from jetsql.jobs.alerts.alert_records import AlertMessage, AlertRecord
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.ids import canonical_id
from jetsql.jobs.model.job import Cause, Job, Plan, Snapshot, name_key
from jetsql.jobs.model.redaction import redact_folders
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.compatibility import StateCompatibility, compare_plans
from jetsql.language.statement import Name
from jetsql.language.tokens import written_name

HIDDEN_TABLE: Final = "a table that a view reads"
HIDDEN_SINK: Final = "a table of another user"
HIDDEN_ERROR: Final = "The text of the error is for users with the right OPERATE on the job."
_MOST_MEANT: Final = 3  # names in a hint


def find_live_job(manager: Manager, name: str) -> JobView | None:
    """Return the live job with this name, or None."""
    key = name_key(name)
    return next(iter(live_views(manager, lambda job: name_key(job.name) == key)), None)


def live_views(manager: Manager, wanted: Callable[[Job], bool] = lambda job: True) -> tuple[JobView, ...]:
    """Return the live jobs that the caller has a right on, newest first.

    wanted: whether to return a job. The rights on other jobs are not checked, which takes longer.
    """
    return tuple(view for view in manager.registry.live() if wanted(view.job) and manager.access.sees_job(view.job))


def visible_jobs(manager: Manager, jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return the jobs that the caller has a right on, in their order."""
    return tuple(job for job in jobs if manager.access.sees_job(job))


def owns_alert(manager: Manager, alert: AlertRecord) -> bool:
    """Return whether an alert exists for the caller: for its owner, and for an admin."""
    return manager.access.owns(alert_object(alert.name))


def visible_alerts(manager: Manager) -> tuple[AlertRecord, ...]:
    """Return the alerts of the caller, or all for an admin, by name."""
    return tuple(alert for alert in manager.alerts.all if owns_alert(manager, alert))


def visible_messages(manager: Manager) -> Iterator[AlertMessage]:
    """Yield the messages of the caller's alerts, oldest first; for an admin also those of dropped alerts."""
    own = {alert.id for alert in visible_alerts(manager)}
    for message in manager.store.alert_messages():
        if manager.access.is_admin or message.alert_id in own:
            yield message


def visible_snapshots(manager: Manager) -> tuple[Snapshot, ...]:
    """Return the snapshots of the caller and of jobs that it can operate, oldest first; all of them for an admin."""
    return tuple(snapshot for snapshot in manager.store.snapshots() if sees_snapshot(manager, snapshot))


def visible_snapshot(manager: Manager, snapshot: Snapshot | None) -> Snapshot | None:
    """Return a snapshot if it exists and the caller can use it, otherwise None."""
    return snapshot if snapshot is not None and sees_snapshot(manager, snapshot) else None


def sees_snapshot(manager: Manager, snapshot: Snapshot) -> bool:
    """Return whether the caller can use and drop a snapshot."""
    if manager.access.owns_snapshot(snapshot):
        return True
    view = manager.registry.get(snapshot.job_id)
    job = manager.store.job(snapshot.job_id) if view is None else view.job
    return job is not None and manager.access.has_right_on_job(Right.OPERATE, job)


def shown_owner(manager: Manager, owner: str) -> str | None:
    """Return the name of the owner of a job, a snapshot or a function; None for a snapshot of an older release.

    owner: the key.
    """
    return manager.access.state.shown_name(owner) or None


def visible_plan(manager: Manager, plan: Plan) -> Plan:
    """Return a plan to show: for other users than an admin without places of rows, and without names of hidden tables.

    Hidden are the tables on which the caller has no right, such as those that views of others read.
    """
    if manager.access.is_admin:
        return plan
    sources = tuple(
        replace(source, name=_shown_table(manager, source.name, HIDDEN_TABLE), location="")
        for source in plan.analysis.sources
    )
    sinks = tuple(
        replace(sink, table=_shown_table(manager, sink.table, HIDDEN_SINK), location="", system="")
        for sink in plan.analysis.sinks
    )
    return replace(plan, analysis=replace(plan.analysis, sources=sources, sinks=sinks))


def _shown_table(manager: Manager, table: str, otherwise: str) -> str:
    return table if manager.access.sees(table_object(table)) else otherwise


def visible_text(manager: Manager, text: str, *plans: Plan) -> str:
    """Return an error or a message to show: for other users than an admin without folders of the engine's machine.

    plans: those that the text is about; the names of their hidden sources are left out
    """
    if manager.access.is_admin:
        return text
    for name in {source.name for plan in plans for source in plan.analysis.sources}:
        text = text.replace(name, _shown_table(manager, name, HIDDEN_TABLE))
    return redact_folders(text)


def sees_texts(manager: Manager, job: Job) -> bool:
    """Return whether the caller sees the texts of a job: its statement, its errors, and the messages of its history.

    They can quote rows, so the right to see the job (MONITOR) is not enough.
    """
    return manager.access.has_right_on_job(Right.OPERATE, job)


def visible_cause(manager: Manager, job: Job) -> Cause | None:
    """Return the last error of a job as the caller may see it: only its condition without the right to the texts."""
    cause = job.cause
    if cause is None or job.is_dropped:
        return cause
    if not sees_texts(manager, job):
        return Cause(HIDDEN_ERROR, cause.condition, cause.sqlstate, cause.batch, cause.retryable)
    message, where, hint = (visible_text(manager, text) for text in (cause.message, cause.where, cause.hint))
    return replace(cause, message=message, where=where, hint=hint)


def visible_job(manager: Manager, job: Job) -> Job:
    """Return a job with its plan and its last error as the caller may see them."""
    plan, cause = visible_plan(manager, job.plan), visible_cause(manager, job)
    return replace(job, version=replace(job.version, plan=plan), cause=cause)


def compare_visible(manager: Manager, old: Plan, new: Plan) -> StateCompatibility:
    """Compare two plans as `compare_plans` does, with texts as the caller may see them."""
    compared = compare_plans(old, new, manager.runtime.fixed_partitions)
    reasons, changes = (
        tuple(visible_text(manager, text, old, new) for text in texts) for texts in (compared.reasons, compared.changes)
    )
    return replace(compared, reasons=reasons, changes=changes)


def find_job(manager: Manager, name: Name) -> JobView:
    """Return the live job with a name, otherwise the newest ended one; or the job with an id.

    Raises StatementError JOB_NOT_FOUND at the name.
    """
    find = _by_id if name.is_id else _by_name
    return find(manager, name.text, name.place)


def find_job_of_argument(manager: Manager, text: str) -> JobView:
    """Return the job with a name or an id that is the value of an argument. Raises StatementError JOB_NOT_FOUND."""
    is_id = canonical_id(text) is not None and find_live_job(manager, text) is None
    find = _by_id if is_id else _by_name
    return find(manager, text, None)


def _by_name(manager: Manager, text: str, place: Span | None) -> JobView:
    live = find_live_job(manager, text)
    if live is not None:
        return live
    ended = manager.store.newest_named(text)
    if ended is None or not manager.access.sees_job(ended):
        raise _not_found(manager, text, place)
    return JobView(ended)


def _by_id(manager: Manager, text: str, place: Span | None) -> JobView:
    job_id = canonical_id(text)
    shown = manager.registry.get(job_id) if job_id else None
    if shown is not None and manager.access.sees_job(shown.job):
        return shown
    ended = manager.store.job(job_id) if job_id else None
    if ended is None or not manager.access.sees_job(ended):
        hint = "Ids have the form '0401-9f77-b9c0-0001'; SHOW ALL JOBS lists them. Write a job's name without quotes."
        raise StatementError("JOB_NOT_FOUND", f"There is no job with the id '{text}'.", place=place, hint=hint)
    return JobView(ended)


def _not_found(manager: Manager, text: str, place: Span | None) -> StatementError:
    meant = meant_name(text, (view.job.name for view in live_views(manager)))
    hint = meant or "SHOW ALL JOBS lists the jobs."
    return StatementError("JOB_NOT_FOUND", f"There is no job named {text}.", place=place, hint=hint)


def meant_name(text: str, names: Iterable[str]) -> str:
    """Return the question with the names that were probably meant, as statements accept them; empty without any.

    The job of a streaming table has the name of its table with the schema, which users leave out.
    """
    by_key = {name_key(name): name for name in names}
    of_tables = [key for key in sorted(by_key) if "." in key and name_key(split_table(key)[-1]) == name_key(text)]
    close = of_tables[:_MOST_MEANT] or get_close_matches(name_key(text), by_key, n=1)
    return f"Did you mean {' or '.join(written_name(by_key[key]) for key in close)}?" if close else ""


def like_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern with the wildcards of SHOW TABLES (`*`, `|`) and LIKE (`%`, `_`).

    Its time grows with the lengths of name and pattern only, because Python runs nothing else while it matches.
    """
    return re.compile("|".join(_translate(part.strip()) for part in pattern.split("|")), re.IGNORECASE | re.DOTALL)


def _translate(part: str) -> str:
    """Return the regular expression of a pattern without alternatives.

    The text between two wildcards matches where it is found first; no later place can help the rest of the pattern.
    """
    texts = ["".join("." if char == "_" else re.escape(char) for char in text) for text in re.split("[%*]+", part)]
    if len(texts) == 1:
        return texts[0]
    first, *middle, last = texts
    return "".join((first, *(f"(?>.*?{text})" for text in middle), f".*{last}"))
