"""Run the statement that a command stands for, wait for it, and show its result.

The commands have no logic of their own: each runs a statement that the user could enter as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from jetsql.cli.connect import connect
from jetsql.cli.flags import ExitCode, Flags, load_settings

if TYPE_CHECKING:
    from jetsql.client.engine_client import EngineClient
    from jetsql.errors import ErrorReport
    from jetsql.output.console import Console
    from jetsql.output.render import Format, Rows
    from jetsql.resultset import Column

    Shape = Callable[[Rows, Format], Rows]

_STOPPED_WAITING: Final = "Stopped waiting. The engine continues {}; `jetsql list-jobs` shows the status."


@dataclass(frozen=True)
class FetchedRows:
    """A result whose rows have been fetched."""

    columns: tuple[Column, ...]
    table: tuple[tuple[Any, ...], ...]

    @cached_property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Return an iterator over the rows."""
        return iter(self.table)


@dataclass(frozen=True)
class JobCommand:
    """A statement about a job that takes time."""

    text: str
    description: str  # of the action, such as "suspending orders"
    # Returns the statement to wait with, for the id of a job that is still in transition.
    wait_statement: Callable[[str], str] | None = None


def run_with_engine(
    flags: Flags, work: Callable[[EngineClient, Console], ExitCode | None], *, only_existing_home: bool = True
) -> ExitCode:
    """Connect to the engine of the home, do the work and return the exit code.

    only_existing_home: see `ensure_engine`.
    """
    settings = load_settings(flags)

    def connected(console: Console) -> ExitCode | None:
        with closing(
            connect(settings, flags, console, sessionless=True, only_existing_home=only_existing_home)
        ) as engine:
            return work(engine, console)

    return run_and_report(connected)


def run_and_report(work: Callable[[Console], ExitCode | None]) -> ExitCode:
    """Do the work, print its errors, and return the exit code."""
    from jetsql.errors import EngineError, ReportedError
    from jetsql.output.console import process_console
    from jetsql.output.result_sink import OutputClosed

    console = process_console()
    try:
        code = work(console)
        console.flush()
        return code or ExitCode.SUCCESS
    except ReportedError as error:
        console.show_error(error_text(error.report))
        return ExitCode.STATEMENT_FAILED
    except EngineError as error:
        console.print_message(str(error))
        return ExitCode.NO_ENGINE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OutputClosed:
        console.discard_output()
        return ExitCode.OUTPUT_CLOSED


def run_query(flags: Flags, text: str, shape: Shape | None = None) -> ExitCode:
    """Run a query and show its rows. shape: changes the rows before they are shown."""

    def work(engine: EngineClient, console: Console) -> None:
        rows = engine.run(text)
        print_rows(console, rows if shape is None else shape(rows, output_format(flags)), flags)

    return run_with_engine(flags, work)


def run_command(flags: Flags, command: JobCommand) -> ExitCode:
    """Run a statement about a job, wait until the job has reached its state, and show its row."""

    def work(engine: EngineClient, console: Console) -> None:
        print_rows(console, run_job_command(engine, console, command), flags)

    return run_with_engine(flags, work)


def run_job_command(engine: EngineClient, console: Console, command: JobCommand) -> FetchedRows:
    """Run a statement about a job, and return its result when the job has reached its state.

    Raises ReportedError, EngineError, and KeyboardInterrupt after a message that the engine continues.
    """
    from jetsql.output.terminal_text import printable

    description = printable(command.description)
    try:
        with console.show_waiting(description):
            fetched = _fetch(engine.run(command.text))
            while command.wait_statement is not None and (job := _job_in_transition(fetched)) is not None:
                fetched = _fetch(engine.run(command.wait_statement(job)))
            return fetched
    except KeyboardInterrupt:
        console.print_message(_STOPPED_WAITING.format(description))
        raise


def _fetch(rows: Rows) -> FetchedRows:
    return FetchedRows(rows.columns, tuple(rows.rows))


def _job_in_transition(fetched: FetchedRows) -> str | None:
    """Return the id of the job if it is in transition, otherwise None."""
    from jetsql.jobs.model.job import Status

    in_transition = (Status.STARTING, Status.COMPLETING)  # NOT_RUNNING may last long, and the row has its reason
    names = [column.name for column in fetched.columns]
    rows = [dict(zip(names, row, strict=True)) for row in fetched.table]
    return next((str(row["id"]) for row in rows if row.get("status") in in_transition), None)


def select_columns(rows: Rows, names: Iterable[str]) -> FetchedRows:
    """Return rows with the named columns that exist, in the order of the names."""
    available = [column.name for column in rows.columns]
    indexes = [available.index(name) for name in names if name in available]
    table = tuple(tuple(row[index] for index in indexes) for row in rows.rows)
    return FetchedRows(tuple(rows.columns[index] for index in indexes), table)


def print_rows(console: Console, rows: Rows, flags: Flags) -> None:
    """Print the rows in the format of the flags."""
    from jetsql.output.render import render_lines

    for line in render_lines(rows, output_format(flags)):
        console.write_line(line)


def output_format(flags: Flags) -> Format:
    """Return the format of the flags; the default is a table."""
    from jetsql.output.render import Format

    return Format(flags.form or "table")


def error_text(report: ErrorReport) -> str:
    """Return the text of an error in a generated statement, without its position in that statement."""
    condition = f"[{report.condition}] " if report.condition else ""
    text = f"{condition}{report.message} {report.hint}".strip()
    return f"{text}\n{report.trace}".strip()
