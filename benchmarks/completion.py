"""Measure the work of the shell at a key press, without that of prompt_toolkit.

Statements are typed key by key into a buffer that already has a script of 300 lines, before the cursor or around it, or
a single statement of 300 lines or of 160 KB, with many known tables and functions. At each key the shell computes the
menu, the colours and the matching bracket, and at Enter whether the statement is complete. It also computes which names
the catalog cache needs; this runs on another thread, but shares the processor. The figures are processor time, so other
processes do not affect them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import quantiles
from time import thread_time
from typing import Final

import click
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text
from jetsql.completion.known_names import JobName, KnownName, Names, TableKey, TableName
from jetsql.completion.needed_names import needed_names
from jetsql.jobs.model.job import Status
from jetsql.shell.output.highlighting import SqlLexer
from jetsql.shell.repl.completer import ShellCompleter
from jetsql.shell.repl.keys import should_run

GOAL: Final = Goal(most=20)
_LONG: Final = 160_000
_BACKGROUND: Final = "needed names, on a thread"
_SCRIPT: Final = """CREATE JOB job_{0} OPTIONS ('trigger' = 'availableNow') AS
INSERT INTO table_1 (column_1, column_2)
WITH x AS (SELECT column_1, column_2 AS money FROM STREAM table_2 WHERE column_3 > 5)
SELECT x.column_1, count(*) AS n FROM x JOIN table_3 t ON t.column_1 = x.column_1 -- the customer's
GROUP BY x.column_1 /* one row each */
HAVING count(*) > 10;
"""
_TYPED: Final = (
    "SELECT t.column_1, function_1(u.column_2) FROM table_1 t JOIN table_2 u ON t.column_1 = u.column_1",
    "WITH w AS (SELECT * FROM table_1) SELECT * FROM w WHERE column_7 IN (SELECT column_1 FROM table_1999)",
    "ALTER JOB job_77 OPTIONS ('restartAttempts' = '5', 'trigger' = 'interval') RESUME",
    "CREATE JOB more AS SINK INTO table_5 SELECT column_1, sum(column_2) FROM STREAM table_4 GROUP BY column_1",
)


@dataclass(frozen=True)
class Buffer:
    """The text around the typed statement."""

    title: str
    """The name in the table."""
    before: str
    """The text before the typed statement."""
    after: str
    """The text after it."""


@dataclass(frozen=True)
class Work:
    """One computation of the shell at a key press."""

    title: str
    """The name in the table."""
    do: Callable[[str, int], object]
    """The computation, called with the text of the buffer and the cursor."""


@dataclass(frozen=True)
class Measured:
    """The measurements of one computation in one buffer."""

    work: Work
    """The computation."""
    buffer: Buffer
    """The text around the typed statements."""
    milliseconds: list[float]
    """The processor time of each key press."""

    @property
    def percentile_99(self) -> float:
        """Return the milliseconds within which 99 of 100 key presses stay."""
        return quantiles(self.milliseconds, n=100)[-1]


def keys(typed: str, buffer: Buffer) -> Iterator[tuple[str, int]]:
    """Yield the text and the cursor after each key press."""
    for count in range(1, len(typed) + 1):
        yield buffer.before + typed[:count] + buffer.after, len(buffer.before) + count


def milliseconds(do: Callable[[str, int], object], typed: str, buffer: Buffer) -> list[float]:
    """Return the milliseconds of each key press, after the computation has processed the buffer once."""
    do(buffer.before + buffer.after, len(buffer.before))
    times = []
    for shown, cursor in keys(typed, buffer):
        began = thread_time()
        do(shown, cursor)
        times.append((thread_time() - began) * 1000)
    return times


def known_names(tables: int, functions: int) -> Names:
    columns = tuple(KnownName(f"column_{number}", "string") for number in range(50))
    return Names(
        schemas=tuple(f"schema_{number}" for number in range(50)),
        tables={"default": tuple(TableName(f"table_{number}") for number in range(tables))},
        columns={TableKey("default", f"table_{number}"): columns for number in range(10)},
        functions=tuple(KnownName(f"function_{number}") for number in range(functions)),
        jobs=tuple(JobName(f"{number:04}", f"job_{number}", Status.SUSPENDED) for number in range(200)),
    )


def buffers() -> tuple[Buffer, ...]:
    script = "".join(_SCRIPT.format(number) for number in range(50))
    one = script.replace(";", ",").replace("CREATE", "SELECT")
    long = (one * (_LONG // len(one) + 1))[:_LONG]
    return (
        Buffer("after 300 lines", script, ""),
        Buffer("between 300 and 300 lines", script, ";\n" + script),
        Buffer("in a statement of 300 lines", one, ""),
        Buffer("after a statement of 160 KB", long, ""),
        Buffer("within a statement of 160 KB", long[: _LONG // 2], long[_LONG // 2 :]),
        Buffer("after 160 KB of values", "INSERT INTO table_1 VALUES " + "(1, 'two', 3.0),\n" * (_LONG // 17), ""),
    )


def menu(known: Names) -> Work:
    class LoadedNames:
        names = known

        def request(self, text: str, cursor: int) -> None: ...

    completer, event = ShellCompleter(LoadedNames()), CompleteEvent(text_inserted=True)
    return Work("menu", lambda shown, cursor: list(completer.get_completions(Document(shown, cursor), event)))


def colours() -> Work:
    lexer = SqlLexer()

    def do(shown: str, cursor: int) -> None:
        line = lexer.lex_document(Document(shown, cursor))
        for number in range(50):
            line(number)

    return Work("colours", do)


def brackets(shown: str, cursor: int) -> None:
    Document(shown, cursor).find_matching_bracket_position(cursor - 1000, cursor + 1000)


def works(known: Names) -> tuple[Work, ...]:
    return (
        menu(known),
        colours(),
        Work("brackets", brackets),
        Work("Enter: completeness", should_run),
        Work(_BACKGROUND, lambda shown, cursor: needed_names(shown, cursor, known)),
    )


def measure(work: Work, buffer: Buffer, rounds: int) -> Measured:
    times = [each for _ in range(rounds) for typed in _TYPED for each in milliseconds(work.do, typed, buffer)]
    return Measured(work, buffer, times)


def report(measured: list[Measured]) -> None:
    rows = [
        (
            m.work.title,
            m.buffer.title,
            figure(middle(m.milliseconds)),
            figure(m.percentile_99),
            figure(max(m.milliseconds)),
        )
        for m in measured
    ]
    table((text("computation"), text("position"), *figures("median", "99th percentile", "maximum")), rows)
    for title in dict.fromkeys(m.buffer.title for m in measured):
        slowest = max(m.percentile_99 for m in measured if m.buffer.title == title and m.work.title != _BACKGROUND)
        say(f"{title}: 99 of 100 keys within {figure(slowest)} ms, goal {GOAL.describe(slowest)}")


@click.command(help=__doc__)
@click.option("--tables", type=click.IntRange(10), default=2000, show_default=True, help="Known tables.")
@click.option("--functions", type=click.IntRange(10), default=500, show_default=True, help="Known functions.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of all statements.")
def main(tables: int, functions: int, rounds: int) -> None:
    introduce(
        "completion: processor time of a key press, milliseconds",
        f"{tables} tables, {functions} functions, 200 jobs; {len(_TYPED)} statements typed {rounds} times",
    )
    known = known_names(tables, functions)
    menu(known).do("SHOW ", 5)  # loads the grammar
    gc.freeze()  # the shell does the same after its start
    report([measure(work, buffer, rounds) for work in works(known) for buffer in buffers()])


if __name__ == "__main__":
    main()
