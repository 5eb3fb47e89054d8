"""The first page: which engine this is, how its jobs are, which of them are in trouble, and what has changed lately.

GET  /console/                  the overview; without a session, the login page
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from jetsql.console.engine_facts import EngineFacts
from jetsql.console.jobs.job_rows import JobRow, ended_rows
from jetsql.console.jobs.jobs_feed import JobsFeed
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.home.machine_use import MachineUse
from jetsql.jobs.model.cluster_member import EngineRecord, MemberStatus, Role
from jetsql.jobs.model.job_counts import JobCounts, count_jobs, group_of
from jetsql.jobs.statements.job_queries import FiringAlert, JobChange, JobQueries
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth

_CHANGES_SECONDS: Final = 3600.0
_CHANGES_READ: Final = 200
CHANGES_MOST: Final = 20
TROUBLE_MOST: Final = 50
_EVENTS_MOST: Final = 5
_CLEANED_UP: Final = "cleaned up"


@dataclass(frozen=True)
class MembersUse:
    """The members of the cluster."""

    members: int  # that run tasks
    cores: int
    tasks: int  # that run now
    away: int  # members that do not take tasks, or are gone


@dataclass(frozen=True)
class ChangedJob:
    """The newest events of a job."""

    job_id: str
    job: str  # its name
    time: float  # of the newest event, seconds since the epoch
    status: str  # after it, as users see it
    events: str  # the newest ones, in their order
    by: str  # the users of these events; empty for the engine itself
    message: str  # of the newest event that has one


@dataclass(frozen=True)
class Overview:
    """The contents of the page."""

    version: str  # of the jobs that the page knows, see `JobsFeed.rows`
    counts: JobCounts
    trouble: Sequence[JobRow]  # worst first
    changes: Sequence[ChangedJob]  # in the last hour, newest first
    firing: Sequence[FiringAlert]
    started: float  # seconds since the epoch
    engines: Sequence[EngineRecord]
    members: MembersUse | None  # None without the right to see them
    machine: MachineUse | None  # None without the right to see it

    @property
    def standbys(self) -> int:
        """Return the number of engines that can take over."""
        return sum(engine.role is Role.STANDBY for engine in self.engines)


class OverviewPage:
    """The page and its route."""

    def __init__(
        self, engine: EngineFacts, jobs: JobQueries, feed: JobsFeed, http_server: HttpServer, access: TokenAuth
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._feed = feed
        self._http_server = http_server
        self._access = access

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [Route("/", login_required(self._overview))]

    async def _overview(self, http: Request, login: Login) -> Response:
        overview = await self._http_server.on_thread(self._read)
        facts = await self._http_server.on_thread(lambda: self._engine.facts)
        values = {"facts": facts, "trouble_most": TROUBLE_MOST, "changes_most": CHANGES_MOST}
        return page(http, login, "overview.html", overview=overview, **values)

    def _read(self) -> Overview:
        version, live = self._feed.rows()
        rows = [*live.values(), *ended_rows(self._jobs, live)]
        trouble = [row for row in rows if row.needs_attention]
        return Overview(
            version,
            count_jobs((row.status, bool(row.error)) for row in rows),
            sorted(trouble, key=lambda row: (group_of(row.status, True).rank, row.name.casefold())),
            changed_jobs(self._jobs.recent_changes(_CHANGES_SECONDS, _CHANGES_READ)),
            self._jobs.firing_alerts(),
            self._jobs.started,
            self._jobs.engines(),
            self._members(),
            self._engine.machine_use() if self._access.is_admin else None,
        )

    def _members(self) -> MembersUse | None:
        members = self._jobs.members()
        if not members:
            return None
        active = [each for each in members if each.status is MemberStatus.ACTIVE and each.cores]
        away = [each for each in members if each.status is not MemberStatus.ACTIVE]
        cores, tasks = sum(each.cores for each in active), sum(each.active_tasks for each in active)
        return MembersUse(len(active), cores, tasks, len(away))


def changed_jobs(changes: Sequence[JobChange]) -> list[ChangedJob]:
    """Return the jobs of these changes with their events, the job that has changed last first.

    changes: newest first
    """
    of_jobs: dict[str, list[JobChange]] = {}
    for change in changes:
        of_jobs.setdefault(change.job_id, []).append(change)
    return [_changed_job(each) for each in of_jobs.values()]


def _changed_job(changes: Sequence[JobChange]) -> ChangedJob:
    newest, shown = changes[0], changes[:_EVENTS_MOST]
    events = [each.row.event for each in reversed(shown)]
    authors = dict.fromkeys(str(each.row.by) for each in shown if each.row.by is not None and each.row.by.endpoint)
    # What is cleaned up after the end of a job is not the news.
    message = next((each.row.message for each in changes if each.row.message and each.row.event != _CLEANED_UP), "")
    text = ("… → " if len(changes) > len(shown) else "") + " → ".join(events)
    return ChangedJob(newest.job_id, newest.job, newest.row.time, newest.status, text, "; ".join(authors), message)
