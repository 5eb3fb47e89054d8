"""One statement of JetSQL, built from a command's words: run on the engine, waited for, shown.

The commands are no second implementation of anything: each is a statement that anybody could write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from jetsql.cli.connect import reach
from jetsql.cli.flags import ExitCode, Flags, settings_of

if TYPE_CHECKING:
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.errors import ErrorReport
    from jetsql.output.console import Console
    from jetsql.output.render import Format, Rows
    from jetsql.resultset import Column

    Shape = Callable[[Rows, Format], Rows]

_UNDER_WAY: Final = ("STARTING", "COMPLETING")  # NOT_RUNNING may be for long: the row says why
_WENT_ON: Final = "Stopped waiting; {} goes on in the engine. `jetsql list-jobs` tells how it goes."


@dataclass(frozen=True)
class Answer:
    """Rows that have been read."""

    columns: tuple[Column, ...]
    table: tuple[tuple[Any, ...], ...]

    @cached_property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.table)


@dataclass(frozen=True)
class Order:
    """A statement that a job needs time for.

    doing: what is waited for, in words. again: the statement that goes on waiting for the job of an id, when the engine
    answered before the job was where it was to get.
    """

    text: str
    doing: str
    again: Callable[[str], str] | None = None


def with_engine(flags: Flags, work: Callable[[RemoteEngine, Console], ExitCode | None]) -> ExitCode:
    """Do something with the engine of the home, and say what to exit with."""
    settings = settings_of(flags)

    def reached(console: Console) -> ExitCode | None:
        with closing(reach(settings, flags, console, sessionless=True)) as engine:
            return work(engine, console)

    return answered(reached)


def answered(work: Callable[[Console], ExitCode | None]) -> ExitCode:
    """Do something that may go wrong as commands do: tell what, and say what to exit with."""
    from jetsql.errors import EngineError, ReportedError
    from jetsql.output.console import process_console
    from jetsql.output.result_sink import SurfaceLost

    console = process_console()
    try:
        code = work(console)
        console.flush()
        return code or ExitCode.FINE
    except ReportedError as error:
        console.mistake(mistake_words(error.report))
        return ExitCode.STATEMENT_FAILED
    except EngineError as error:
        console.say(str(error))
        return ExitCode.NO_ENGINE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SurfaceLost:
        console.give_up()
        return ExitCode.OUTPUT_CLOSED


def ask(flags: Flags, text: str, shape: Shape | None = None) -> ExitCode:
    """Run a statement that only tells something, and show its rows. shape: what the command makes of them."""

    def work(engine: RemoteEngine, console: Console) -> None:
        rows = engine.run(text)
        show(console, rows if shape is None else shape(rows, form_of(flags)), flags)

    return with_engine(flags, work)


def give(flags: Flags, order: Order) -> ExitCode:
    """Run a statement that does something, wait until it is done, and show its row."""

    def work(engine: RemoteEngine, console: Console) -> None:
        show(console, carry_out(engine, console, order), flags)

    return with_engine(flags, work)


def carry_out(engine: RemoteEngine, console: Console, order: Order) -> Answer:
    """What the statement answered when the job was where it was to get.

    Raises ReportedError, EngineError, and KeyboardInterrupt after it has told that only the waiting has ended.
    """
    from jetsql.output.terminal_text import printable

    doing = printable(order.doing)
    try:
        with console.waiting(doing):
            answer = _read(engine.run(order.text))
            while order.again is not None and (job := _under_way(answer)) is not None:
                answer = _read(engine.run(order.again(job)))
            return answer
    except KeyboardInterrupt:
        console.say(_WENT_ON.format(doing))
        raise


def _read(rows: Rows) -> Answer:
    return Answer(rows.columns, tuple(rows.rows))


def _under_way(answer: Answer) -> str | None:
    """The id of the job when it is on its way."""
    names = [column.name for column in answer.columns]
    rows = [dict(zip(names, row, strict=True)) for row in answer.table]
    return next((str(row["id"]) for row in rows if row.get("status") in _UNDER_WAY), None)


def picked(rows: Rows, names: Iterable[str]) -> Answer:
    """These columns, in this order."""
    given = [column.name for column in rows.columns]
    places = [given.index(name) for name in names if name in given]
    table = tuple(tuple(row[place] for place in places) for row in rows.rows)
    return Answer(tuple(rows.columns[place] for place in places), table)


def show(console: Console, rows: Rows, flags: Flags) -> None:
    from jetsql.output.render import lines

    for line in lines(rows, form_of(flags)):
        console.result(line)


def form_of(flags: Flags) -> Format:
    from jetsql.output.render import Format

    return Format(flags.form or "table")


def mistake_words(report: ErrorReport) -> str:
    """An error of a statement that the command wrote: to the user, its place in there is nothing."""
    condition = f"[{report.condition}] " if report.condition else ""
    told = f"{condition}{report.message} {report.hint}".strip()
    return f"{told}\n{report.trace}".strip()
