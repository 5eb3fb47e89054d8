"""`jetsql logs`: the engine's log, whole or what is in it about one job, with the job's history woven in.

It reads the files in the home, for a log is most wanted when no engine runs; only the history comes from the engine.
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

from jetsql.cli.connect import settings_here
from jetsql.cli.flags import HOME_OPTION, ExitCode, flags_of, with_these
from jetsql.cli.statement_commands import answered, picked

if TYPE_CHECKING:
    from pathlib import Path

    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.home.log_reader import Record
    from jetsql.output.console import Console

_LOOK_AGAIN_SECONDS: Final = 0.5
_HISTORY_COLUMNS: Final = ("time", "event", "from_status", "to_status", "message")


@click.command()
@click.argument("job", metavar="[JOB]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("-n", "--lines", "most", type=click.IntRange(min=0), metavar="N", help="Only the last N messages.")
@with_these(HOME_OPTION)
@click.pass_context
def logs(context: click.Context, /, job: str | None, follow: bool, most: int | None, **given: Any) -> None:
    """Show the log of the engine, or of one job.

    JOB is a name or an id: shown are the messages that name the job or were logged by its run, and its history among
    them. The log is engine.log in the home and those that were full before it. No engine is started; without one the
    history is left out.

    \b
    Examples:
      jetsql logs
      jetsql logs -f -n 20
      jetsql logs orders
    """
    settings = settings_here(flags_of(context, given))
    context.exit(_logs(settings.home, job, follow, most))


def _logs(home: Path, job: str | None, follow: bool, most: int | None) -> ExitCode:
    from jetsql.home.home_lock import not_usable

    def work(console: Console) -> None:
        try:
            with ExitStack() as open_things:
                subject = None if job is None else _subject(home, job, console, open_things)
                for text in _Log(home, subject, open_things).texts(follow, most):
                    console.result(text)
                    console.flush()
        except OSError as error:
            raise not_usable(home, error) from error

    return answered(work)


@dataclass(frozen=True)
class _Subject:
    """The job that is asked about. since: when it was submitted, as the log writes times. engine: None if none runs."""

    id: str
    name: str
    since: str
    engine: RemoteEngine | None

    def is_in(self, record: Record) -> bool:
        """Names may have had other jobs before; ids are the job's own."""
        return self.id in record.text or (record.job == self.name and record.time >= self.since)

    def history(self) -> list[Record]:
        """Every event so far. When the engine has ended meanwhile, there is nothing more."""
        from jetsql.errors import EngineError
        from jetsql.home.log_reader import Record

        if self.engine is None:
            return []
        try:
            rows = picked(self.engine.run(f"SHOW JOB HISTORY '{self.id}'"), _HISTORY_COLUMNS).table
        except EngineError:
            return []
        return [Record(f"{_stamp(when)} JOB {self.name}: {_words(*told)}", _stamp(when)) for when, *told in rows]


def _stamp(moment: datetime) -> str:
    return moment.astimezone().replace(tzinfo=None).isoformat(timespec="milliseconds")


def _words(event: str, before: str | None, after: str, message: str) -> str:
    move = after if before in (None, after) else f"{before} -> {after}"
    return f"{event} ({move}) {message}".strip()


class _Log:
    """The messages that are to be shown, in the order of their times."""

    def __init__(self, home: Path, subject: _Subject | None, open_things: ExitStack) -> None:
        from jetsql.home.log_reader import LogReader

        self._subject = subject
        self._reader = LogReader(home)
        open_things.callback(self._reader.close)
        self._told = 0

    def texts(self, follow: bool, most: int | None) -> Iterator[str]:
        shown = self._new()
        yield from shown if most is None else deque(shown, most)
        while follow:
            time.sleep(_LOOK_AGAIN_SECONDS)
            yield from self._new()

    def _new(self) -> Iterator[str]:
        from jetsql.home.log_reader import records

        subject = self._subject
        if subject is None:
            return (record.text for record in records(self._reader.lines()))
        history = subject.history()[self._told :]
        self._told += len(history)
        return (record.text for record in _woven(history, filter(subject.is_in, records(self._reader.lines()))))


def _woven(history: list[Record], logged: Iterable[Record]) -> Iterator[Record]:
    waiting = deque(history)
    for record in logged:
        while waiting and record.time and waiting[0].time <= record.time:
            yield waiting.popleft()
        yield record
    yield from waiting


def _subject(home: Path, job: str, console: Console, open_things: ExitStack) -> _Subject:
    """Raises ReportedError JOB_NOT_FOUND, EngineError."""
    from jetsql.cli.job_commands import named
    from jetsql.client import find_engine
    from jetsql.client.remote_engine import RemoteEngine

    found = find_engine.find(home)
    if found is None:
        console.say(f"No engine runs on {home}: what the log says is all there is, without the job's history.")
        return _stored(home, job)
    engine = RemoteEngine(found.note.url, found.note.token)
    open_things.callback(engine.close)
    facts = dict(engine.run(f"DESCRIBE JOB {named(job)}").rows)
    return _Subject(facts["id"], facts["name"], _stamp(datetime.fromisoformat(facts["submission time"])), engine)


def _stored(home: Path, job: str) -> _Subject:
    """As the store has it, which needs no engine. Raises ReportedError JOB_NOT_FOUND."""
    from jetsql.errors import ReportedError, StatementError
    from jetsql.jobs.model.ids import canonical_id
    from jetsql.jobs.model.job import name_key
    from jetsql.jobs.store.store_file import StoreFile

    contents = StoreFile(home / "jetsql.db").contents()
    wanted = canonical_id(job)
    fitting = [
        each
        for each in (contents.jobs if contents is not None else ())
        if (each.id == wanted if wanted is not None else name_key(each.name) == name_key(job))
    ]
    if not fitting:
        raise ReportedError(StatementError("JOB_NOT_FOUND", f"There is no job {job} in {home}.").report())
    newest = max(fitting, key=lambda each: each.id)
    return _Subject(newest.id, newest.name, _stamp(datetime.fromtimestamp(newest.submission_time)), None)
