"""`jetsql logs`: show the engine's log, or the log of a job, merged with the job's history.

The log is read from the files in the home, because it is needed most when no engine runs. The history is requested from
the engine, or read from the store if none runs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import local_settings, missing_home
from jetsql.cli.flags import HOME_OPTION, ExitCode, add_options, parse_flags
from jetsql.cli.statement_commands import run_and_report, select_columns

if TYPE_CHECKING:
    from pathlib import Path

    from jetsql.client.engine_client import EngineClient
    from jetsql.home.log_reader import Record
    from jetsql.jobs.model.history_row import HistoryRow
    from jetsql.output.console import Console
    from jetsql.settings.engine_settings import Settings

_POLL_SECONDS: Final = 0.5
_HISTORY_COLUMNS: Final = ("time", "event", "from_status", "to_status", "message")


@click.command()
@click.argument("job", metavar="[JOB]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Print new messages, until Ctrl-C.")
@click.option("-n", "--lines", "limit", type=click.IntRange(min=0), metavar="N", help="Print only the last N messages.")
@add_options(HOME_OPTION)
@click.pass_context
def logs(context: click.Context, /, job: str | None, follow: bool, limit: int | None, **params: Any) -> None:
    """Show the log of the engine, or of one job.

    JOB is a name or an id. The log of a job consists of the messages that name it, those of its runs, and its history.
    The messages are in the file engine.log of the home and in the older log files next to it. The command does not
    start an engine; if none runs, the history is read from the store.

    \b
    Examples:
      jetsql logs
      jetsql logs -f -n 20
      jetsql logs orders
    """
    settings = local_settings(parse_flags(context, params))
    context.exit(_print_log(settings, job, follow, limit))


def _print_log(settings: Settings, job: str | None, follow: bool, limit: int | None) -> ExitCode:
    from jetsql.errors import ReportedError
    from jetsql.home.home_lock import not_usable

    home = settings.home

    def work(console: Console) -> None:
        if not home.is_dir():
            # Not as EngineError, since the command needs no engine: the exit code is that of a job that does not exist.
            raise ReportedError(missing_home(home).report())
        try:
            with ExitStack() as open_things:
                subject = None if job is None else _find_job(settings, job, open_things)
                for text in _LogView(home, subject, open_things).messages(follow, limit):
                    console.write_line(text)
                    console.flush()
        except OSError as error:
            raise not_usable(home, error) from error

    return run_and_report(work)


@dataclass(frozen=True)
class _LoggedJob:
    """The job whose log is shown."""

    id: str
    name: str
    since: str  # when it was submitted, in the format of the log
    engine: EngineClient | None  # None if none runs
    stored: tuple[HistoryRow, ...] = ()  # the history in the store, if no engine runs
    is_dropped: bool = False  # if no engine runs

    def concerns(self, record: Record) -> bool:
        """Return whether a record is about this job. An earlier job may have had its name, but not its id."""
        return self.id in record.text or (record.job == self.name and record.time >= self.since)

    def history(self) -> list[Record]:
        """Return the events so far; none if the engine has ended meanwhile."""
        from jetsql.errors import EngineError
        from jetsql.home.log_reader import Record

        if self.engine is None:
            rows = [_event_of(row, self.is_dropped) for row in self.stored]
        else:
            try:
                rows = list(select_columns(self.engine.run(f"SHOW JOB HISTORY '{self.id}'"), _HISTORY_COLUMNS).table)
            except EngineError:
                return []
        return [
            Record(f"{_log_time(when)} JOB {self.name}: {_event_text(*event)}", _log_time(when))
            for when, *event in rows
        ]


def _event_of(row: HistoryRow, is_dropped: bool) -> tuple[Any, ...]:
    """Return the columns of the history for a row of the store."""
    before, after = row.shown_before(is_dropped), row.shown_status(is_dropped)
    return datetime.fromtimestamp(row.time), row.event, before, after, row.message


def _log_time(time: datetime) -> str:
    return time.astimezone().replace(tzinfo=None).isoformat(timespec="milliseconds")


def _event_text(event: str, before: str | None, after: str, message: str) -> str:
    transition = after if before in (None, after) else f"{before} -> {after}"
    return f"{event} ({transition}) {message}".strip()


class _LogView:
    """The messages to show, ordered by time."""

    def __init__(self, home: Path, job: _LoggedJob | None, resources: ExitStack) -> None:
        from jetsql.home.log_reader import LogReader

        self._job = job
        self._reader = LogReader(home)
        resources.callback(self._reader.close)
        self._printed_events = 0

    def messages(self, follow: bool, limit: int | None) -> Iterator[str]:
        """Yield the existing messages, at most the last `limit`, and with `follow` also new messages."""
        existing = self._new_messages()
        yield from existing if limit is None else deque(existing, limit)
        while follow:
            time.sleep(_POLL_SECONDS)
            yield from self._new_messages()

    def _new_messages(self) -> Iterator[str]:
        from jetsql.home.log_reader import records

        job = self._job
        if job is None:
            return (record.text for record in records(self._reader.lines()))
        history = job.history()[self._printed_events :]
        self._printed_events += len(history)
        return (record.text for record in _merge_history(history, filter(job.concerns, records(self._reader.lines()))))


def _merge_history(history: list[Record], logged: Iterable[Record]) -> Iterator[Record]:
    pending = deque(history)
    for record in logged:
        while pending and record.time and pending[0].time <= record.time:
            yield pending.popleft()
        yield record
    yield from pending


def _find_job(settings: Settings, job: str, resources: ExitStack) -> _LoggedJob:
    """Return the job, from the engine if one runs. Raises ReportedError JOB_NOT_FOUND, EngineError."""
    from jetsql.cli.job_commands import job_reference
    from jetsql.client import find_engine
    from jetsql.client.engine_client import EngineClient
    from jetsql.client.server_trust import ServerTrust

    running = find_engine.find_engine(settings.home)
    if running is None:
        return _job_from_store(settings, job)
    engine = EngineClient(running.note.url, running.note.token, ServerTrust(note=running.note))
    resources.callback(engine.close)
    described = dict(engine.run(f"DESCRIBE JOB {job_reference(job)}").rows)
    return _LoggedJob(
        described["id"], described["name"], _log_time(datetime.fromisoformat(described["submission time"])), engine
    )


def _job_from_store(settings: Settings, job: str) -> _LoggedJob:
    """Return the job from the store, which needs no engine. Raises ReportedError JOB_NOT_FOUND, EngineError."""
    from jetsql.errors import ReportedError, StatementError
    from jetsql.installation import engine_missing, has_engine

    if not has_engine():
        raise engine_missing("find a job in the store of a home")
    from jetsql.jobs.model.ids import canonical_id
    from jetsql.jobs.model.job import name_key
    from jetsql.jobs.store.store_choice import find_database

    home, store = settings.home, settings.store
    contents = find_database(home, store.store, store.store_password).contents()
    job_id = canonical_id(job)
    matches = [
        each
        for each in (contents.jobs if contents is not None else ())
        if (each.id == job_id if job_id is not None else name_key(each.name) == name_key(job))
    ]
    if not matches:
        raise ReportedError(StatementError("JOB_NOT_FOUND", f"There is no job {job} in {home}.").report())
    newest = max(matches, key=lambda each: each.id)
    history = tuple(row for row in (contents.history if contents is not None else ()) if row.job_id == newest.id)
    since = _log_time(datetime.fromtimestamp(newest.submission_time))
    return _LoggedJob(newest.id, newest.name, since, None, history, newest.is_dropped)
