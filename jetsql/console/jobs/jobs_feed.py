"""Changes of the jobs for open pages: jobs are sampled once for all pages, and only while a page is open.

Jobs are sampled for the engine, and each page gets those that its user has a right on. If these have changed, by
GRANT or REVOKE, the page gets all of its rows again.

The status of a job is compared every half second, the numbers that change with each batch every two seconds. A page
names the version that it has, so that it gets the differences, also after its connection was lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Final

from jetsql.console.jobs.job_actions import has_actions
from jetsql.console.jobs.job_rows import ENDED_MOST, JobRow, job_row
from jetsql.console.web.page_templates import macro
from jetsql.errors import JetSQLError
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.request import ENGINE, acting_for

_LOG: Final = logging.getLogger(__name__)
TICK_SECONDS: Final = 0.5
_TICKS_OF_NUMBERS: Final = 4
PING_SECONDS: Final = 5.0
"""The time after which a message is sent in any case, so that a page recognizes a lost engine."""
_GONE_MOST: Final = 1000

OnThread = Callable[..., Awaitable[Any]]
"""A function that runs another one on a thread."""


@dataclass
class _Shown:
    """A job as the pages have it, with the versions of its parts."""

    row: JobRow
    html: str
    changed: int  # the version in which its fixed part changed
    moved: int  # the version in which its numbers changed


class JobsFeed:
    """The current rows of the jobs page, and their changes."""

    def __init__(self, jobs: JobQueries, on_thread: OnThread) -> None:
        """Create it. on_thread: runs a function that may wait."""
        self._jobs = jobs
        self._on_thread = on_thread
        self._lock = Lock()
        self._epoch = secrets.token_hex(4)
        self._version = 0
        self._shown: dict[str, _Shown] = {}
        self._fixed: dict[str, tuple[object, ...]] = {}
        self._gone: dict[str, int] = {}
        self._message: tuple[int, int, bytes] | None = None  # the version that it leads from, that it leads to
        self._subscribers = 0
        self._ticker: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._stopped = False

    def rows(self) -> tuple[str, dict[str, JobRow]]:
        """Return the current version, as a page of the caller names it, and the rows of live jobs by id, newest first.

        Those of jobs that ended while a page was open are among them.
        """
        with self._lock, acting_for(ENGINE):
            self._refresh(numbers=True)
            version, shown = self._version, sorted(self._shown.items(), reverse=True)
        seen = self._seen(dict(shown))
        return self._name(version, seen), {job: self._own_row(each.row) for job, each in shown if _in(job, seen)}

    def _seen(self, job_ids: Collection[str]) -> frozenset[str] | None:
        """Return the jobs that the caller has a right on; None for all."""
        return None if self._jobs.sees_all else frozenset(self._jobs.visible(job_ids))

    def _own_row(self, row: JobRow) -> JobRow:
        """Return a row as the caller may use it. The feed has those of the engine, which may use all."""
        if self._jobs.sees_all:
            return row
        view = self._jobs.view(row.id)
        return replace(row, has_actions=view is not None and has_actions(self._jobs, view.job))

    def _name(self, version: int, seen: Collection[str] | None) -> str:
        """Return the name of a version for a page that shows these jobs."""
        mark = "" if seen is None else f"-{hashlib.sha256(' '.join(sorted(seen)).encode()).hexdigest()[:12]}"
        return f"{self._epoch}-{version}{mark}"

    async def messages(self, after: str, is_open: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield messages for a page.

        after: the version that the page has; empty for none. is_open: returns whether the user is still logged in.
        """
        known, mark = self._known(after), after.partition("-")[2].partition("-")[2]
        with self._subscribed():
            if self._subscribers == 1:  # nothing was sampled while no page was open
                await self._on_thread(self._try_refresh, True)
            while not self._stopped:
                if not is_open():
                    yield b"event: logout\ndata: \n\n"
                    return
                version, name, message = await self._on_thread(self._message_after, known, mark)
                if message:
                    yield b"id: %s\nevent: jobs\ndata: %s\n\n" % (name.encode(), message)
                else:
                    yield b"event: ping\ndata: \n\n"
                known, mark = version, name.partition("-")[2].partition("-")[2]
                await self._wait_for_news(version)

    async def _wait_for_news(self, version: int) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS), self._news:
                await self._news.wait_for(lambda: self._stopped or self._version != version)
        except TimeoutError:
            return

    def stop(self) -> None:
        """End all messages, because the engine stops. Any thread can call it."""
        self._stopped = True
        ticker = self._ticker
        if ticker is not None and not ticker.done():
            ticker.get_loop().call_soon_threadsafe(ticker.cancel)

    def _known(self, after: str) -> int:
        """Return the number of a version; -1 for one that this engine has not named."""
        epoch, _, rest = after.partition("-")
        version = rest.partition("-")[0]
        is_known = epoch == self._epoch and version.isdecimal() and len(version) <= len(str(self._version))
        return int(version) if is_known else -1

    def _subscribed(self) -> _Subscription:
        return _Subscription(self)

    def enter(self) -> None:
        """Count a page, and begin to sample with the first."""
        self._subscribers += 1
        if self._ticker is None:
            with acting_for(ENGINE):  # for all pages, not only the caller of this one
                self._ticker = asyncio.create_task(self._tick())

    def leave(self) -> None:
        """Count a page less, and stop to sample with the last."""
        self._subscribers -= 1
        if self._subscribers == 0 and self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    async def _tick(self) -> None:
        tick = notified = 0
        try:
            while not self._stopped:
                await self._on_thread(self._try_refresh, tick % _TICKS_OF_NUMBERS == 0)
                if self._version != notified:  # also after a change that a new page has found
                    notified = self._version
                    await self._notify()
                tick += 1
                await asyncio.sleep(TICK_SECONDS)
        finally:
            if self._stopped:
                await self._notify()

    async def _notify(self) -> None:
        async with self._news:
            self._news.notify_all()

    def _try_refresh(self, numbers: bool) -> None:
        """Sample the jobs. A store that is out of reach is tried again."""
        with self._lock, acting_for(ENGINE):
            try:
                self._refresh(numbers)
            except JetSQLError as error:
                _LOG.warning("The jobs cannot be shown at the moment: %s", error)

    def _refresh(self, numbers: bool) -> None:
        """Sample the jobs. numbers: whether to sample all, not only those whose fixed part changed."""
        version = self._version + 1
        jobs = {view.job.id: view.job for view in self._jobs.live()}
        fixed = {job_id: fixed_part(job) for job_id, job in jobs.items()}
        changed = False
        for job_id, job in jobs.items():
            if numbers or self._fixed.get(job_id) != fixed[job_id]:
                changed |= self._show(job_row(self._jobs, job), version)
        for job_id in self._fixed.keys() - fixed.keys():
            changed |= self._show_ended(job_id, version)
        self._fixed = fixed
        if changed:
            self._version = version

    def _show(self, row: JobRow, version: int) -> bool:
        """Show a row, and return whether it changed."""
        before = self._shown.get(row.id)
        if before is not None and before.row == row:
            return False
        if before is not None and before.row.fixed_part == row.fixed_part:
            before.row, before.moved = row, version
            return True
        self._shown[row.id] = _Shown(row, _row_html(row), version, version)
        self._gone.pop(row.id, None)
        return True

    def _show_ended(self, job_id: str, version: int) -> bool:
        job = self._jobs.stored(job_id)
        if job is None:
            self._forget(job_id, version)
            return True
        changed = self._show(job_row(self._jobs, job), version)
        ended = sorted(job_id for job_id, shown in self._shown.items() if not shown.row.is_live)
        for oldest in ended[:-ENDED_MOST]:
            self._forget(oldest, version)
        return changed

    def _forget(self, job_id: str, version: int) -> None:
        self._shown.pop(job_id, None)
        self._gone[job_id] = version
        while len(self._gone) > _GONE_MOST:
            del self._gone[next(iter(self._gone))]

    def _message_after(self, known: int, mark: str) -> tuple[int, str, bytes]:
        """Return the current version, its name, and the changes for the caller as JSON; empty for none.

        known: the version that the page has. mark: of the jobs that the page shows, the last part of its name.
        """
        with self._lock:
            version = self._version
            seen = self._seen(self._shown)
            name = self._name(version, seen)
            if seen is not None:
                is_same = name == f"{self._epoch}-{version}-{mark}"
                if is_same and known == version:
                    return version, name, b""
                return version, name, self._changes(known if is_same else -1, seen)
            if known == version and not mark:
                return version, name, b""
            known = -1 if mark else known
            if self._message is None or self._message[:2] != (known, version):
                self._message = known, version, self._changes(known, None)
            return version, name, self._message[2]

    def _changes(self, known: int, seen: Collection[str] | None) -> bytes:
        """Return the changes since a version as JSON. seen: the jobs that the user has a right on; None for all"""
        rows: dict[str, str] = {}
        cells: dict[str, Mapping[str, object]] = {}
        for job_id, shown in self._shown.items():
            if not _in(job_id, seen):
                continue
            if shown.changed > known:
                rows[job_id] = shown.html if seen is None else _row_html(self._own_row(shown.row))
            if shown.moved > known:
                cells[job_id] = shown.row.moving_part()
        gone = [job_id for job_id, version in self._gone.items() if version > known and seen is None]
        message = {"rows": rows, "cells": cells, "gone": gone, "all": known < 0}
        return json.dumps(message, separators=(",", ":")).encode()


def _row_html(row: JobRow) -> str:
    return str(macro("job_table.html", "job_row")(row))


def _in(job_id: str, seen: Collection[str] | None) -> bool:
    return seen is None or job_id in seen


class _Subscription:
    """A page that gets messages."""

    def __init__(self, feed: JobsFeed) -> None:
        self._feed = feed

    def __enter__(self) -> None:
        self._feed.enter()

    def __exit__(self, *error: object) -> None:
        self._feed.leave()


def fixed_part(job: Job) -> tuple[object, ...]:
    """Return what changes the appearance of a job apart from its numbers."""
    return job.status, job.stop_goal, job.cause, job.waiting_for_members, job.version, job.name
