"""Changes of one job for its open page: that its status changed, and the measures of new batches."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Final

from jetsql.console.jobs.job_graph import job_graph
from jetsql.console.jobs.job_plots import plot_columns
from jetsql.console.jobs.jobs_feed import PING_SECONDS, TICK_SECONDS, OnThread, fixed_part
from jetsql.console.web.page_templates import render
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.job_queries import JobQueries

ENDED: Final = "ended"


def state_of(job: Job) -> str:
    """Return a short text that changes with the job, apart from its numbers."""
    return hashlib.sha256(repr((fixed_part(job), job.run)).encode()).hexdigest()[:16] if job.is_live else ENDED


class JobFeed:
    """The changes of single jobs. It reads memory only."""

    def __init__(self, jobs: JobQueries, on_thread: OnThread) -> None:
        self._jobs = jobs
        self._on_thread = on_thread
        self._stopped = False

    def stop(self) -> None:
        """End all messages, because the engine stops."""
        self._stopped = True

    async def messages(
        self, job_id: str, state: str, after: float, is_open: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """Yield messages for a page, first the graph, because a batch may have ended since the page was made.

        state: that of the job on the page, see `state_of`. after: the time of the newest measure that the page has.
        is_open: see `JobsFeed`.
        """
        shown = self._fixed(job_id)
        view = self._jobs.view(job_id)
        if state != (ENDED if view is None else state_of(view.job)):
            yield b"event: changed\ndata: \n\n"
        silent, is_current = PING_SECONDS, False
        while not self._stopped and is_open():
            fixed = self._fixed(job_id)
            if fixed != shown:
                shown = fixed
                yield b"event: changed\ndata: \n\n"
            latest = self._jobs.latest_batch(job_id)
            if latest is not None and (not is_current or latest.time > after):
                yield b"event: numbers\ndata: %s\n\n" % await self._on_thread(self._numbers, job_id, after)
                after, silent, is_current = max(after, latest.time), 0.0, True
            elif silent >= PING_SECONDS:
                yield b"event: ping\ndata: \n\n"
                silent = 0.0
            await asyncio.sleep(TICK_SECONDS)
            silent += TICK_SECONDS
        if not self._stopped:
            yield b"event: logout\ndata: \n\n"

    def _fixed(self, job_id: str) -> tuple[object, ...] | None:
        view = self._jobs.view(job_id)
        return None if view is None else (*fixed_part(view.job), view.job.run)

    def _numbers(self, job_id: str, after: float) -> bytes:
        new = self._jobs.batches_after(job_id, after)
        message: dict[str, object] = {"measures": plot_columns(new)}
        view = self._jobs.view(job_id)
        if view is not None:
            metrics = self._jobs.metrics(view.job)
            graph = job_graph(view.job.plan, metrics)
            message["graph"] = render("graph.html", graph=graph)
        return json.dumps(message, separators=(",", ":")).encode()
