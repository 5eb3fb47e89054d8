"""How `.top` looks: a state and a size give lines of styled text. Every line is as wide as the screen or narrower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.output.terminal_text import pad, printable, truncate, width, wrap
from jetsql.shell.output.screen import Size
from jetsql.shell.top.top_jobs import TopJob, short, short_bytes, short_seconds, sparkline
from jetsql.shell.top.top_state import Mode, TopState, visible

Line = list[tuple[str, str]]
"""Stretches of a line: a style's class and the text."""

STYLE: Final = {
    "title": "bold",
    "head": "ansibrightblack bold",
    "good": "ansigreen",
    "moving": "ansiyellow",
    "bad": "ansired bold",
    "quiet": "ansibrightblack",
    "spark": "ansicyan",
    "selected": "reverse",
    "question": "ansiyellow bold",
}

_STATUS_STYLE: Final = {"RUNNING": "good", "FAILED": "bad", "SUSPENDED": "bad", "COMPLETED": "quiet"}
_STATUS_WORDS: Final = {"SUSPENDED_EXPORTING_SNAPSHOT": "EXPORTING"}
_SPARK: Final = 15
_NAME_MOST: Final = 40
_ERROR_LEAST: Final = 16
_FACT_MOST: Final = 28
_VALUE_LEAST: Final = 20
_AROUND: Final = 4
"""Lines that are no job: title, heads, message, keys."""

HELP: Final = (
    "up, down, k, j, page up, page down, home, end   select a job",
    "s  suspend it        r  resume it        R  restart it",
    "d  drop it; its state is lost, its table stays; it asks before",
    "Enter  all about it, with its history",
    "/  show only jobs with these letters in name, status or error; Esc shows all",
    "o  sort by status, name, rows/s, lag, batch time, state",
    "a  show or hide jobs that have ended",
    "q, Ctrl-C  leave; jobs go on",
    "",
    "rows/s and the bars of the last minute are rows as they came in. lag is what lies behind the newest batch, in the",
    "source's units, and how long it has waited, else how old its newest event was. batch is how long the newest took.",
)


@dataclass(frozen=True)
class _Column:
    """size: cells. need: columns are left out by it where the screen is narrow, the highest first."""

    title: str
    size: int
    need: int
    text: Callable[[TopJob], str]
    style: Callable[[TopJob], str] = lambda job: ""
    right: bool = True


def _status_style(job: TopJob) -> str:
    if job.status == "SUSPENDED" and not job.error:
        return "moving"
    return _STATUS_STYLE.get(job.status, "moving")


def _lag(job: TopJob) -> str:
    if job.lag is None:
        return short_seconds(job.event_lag)
    return f"{short(job.lag)} {short_seconds(job.lag_seconds)}" if job.lag and job.lag_seconds else short(job.lag)


def _columns(jobs: Sequence[TopJob]) -> list[_Column]:
    name = min(max((width(printable(job.name)) for job in jobs), default=4), _NAME_MOST)
    return [
        _Column("STATUS", 11, 0, lambda job: _STATUS_WORDS.get(job.status, job.status), _status_style, right=False),
        _Column("NAME", max(name, 4), 0, lambda job: printable(job.name), right=False),
        _Column("ROWS/S", 6, 1, lambda job: short(job.rate)),
        _Column("LAST MINUTE", _SPARK, 4, lambda job: sparkline(job.rates, _SPARK), lambda job: "spark", right=False),
        _Column("LAG", 11, 2, _lag),
        _Column("BATCH", 6, 3, lambda job: short_seconds(job.batch_seconds)),
        _Column("STATE", 6, 5, lambda job: short(job.state_rows)),
        _Column("MEMORY", 8, 6, lambda job: short_bytes(job.state_bytes)),
    ]


def draw(state: TopState, size: Size) -> list[Line]:
    """The whole screen."""
    middle = max(size.lines - _AROUND, 1)
    if state.mode is Mode.DETAIL:
        body = [[("", line)] for line in state.detail[state.first : state.first + middle + 1]]
    elif state.mode is Mode.HELP:
        body = [[("", line)] for line in HELP[: middle + 1]]
    else:
        body = _table(state, size.columns, middle)
    body = [*body, *([[]] * (middle + 1 - len(body)))]
    lines = [_title(state, size.columns), *body, _message(state), _keys(state)]
    return [_cut_line(line, size.columns) for line in lines[: size.lines]]


def facts(told: Iterable[tuple[Any, ...]], columns: int) -> Iterator[str]:
    """Rows of a name and a value as lines of so many cells, the values beside the names; NULL is left out."""
    shown = [(printable(str(name)), str(value)) for name, value in told if value is not None]
    size = min(max((width(name) for name, _ in shown), default=0), _FACT_MOST)
    room = max(columns - size - 2, _VALUE_LEAST)
    for name, value in shown:
        lines = [line for part in value.split("\n") for line in wrap(printable(part), room)]
        if width(name) > size:
            yield name
        for index, line in enumerate(lines):
            yield f"{pad(name if index == 0 and width(name) <= size else '', size)}  {line}".rstrip()


def page_lines(size: Size) -> int:
    """How many jobs are shown at once."""
    return max(size.lines - _AROUND, 1)


def _title(state: TopState, columns: int) -> Line:
    if state.mode is Mode.DETAIL:
        return [("title", printable(state.title))]
    counts = Counter(_STATUS_WORDS.get(job.status, job.status).lower().replace("_", " ") for job in state.jobs)
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no jobs"
    shown = f", with {state.filter!r}" if state.filter and state.mode is not Mode.FILTER else ""
    left = f"{told}; by {state.order.value}{shown}"
    room = columns - len(state.seen) - 1
    return [("title", pad(truncate(left, room), max(room, 0))), ("quiet", f" {state.seen}")]


def _table(state: TopState, columns: int, lines: int) -> list[Line]:
    jobs = visible(state)
    shown = _fitting(_columns(jobs), columns)
    rest = columns - sum(column.size + 2 for column in shown)
    titles = [pad(column.title, column.size, column.right) for column in shown]
    head = "  ".join([*titles, *(["LAST ERROR"] if rest >= _ERROR_LEAST else [])])
    ids = [job.id for job in jobs]
    at = ids.index(state.selected) if state.selected in ids else 0
    first = max(min(at - lines // 2, len(jobs) - lines), 0)
    rows = [_job(job, shown, rest, columns, job.id == state.selected) for job in jobs[first : first + lines]]
    if not jobs:
        rows = [[("quiet", "no job has these letters; Esc shows all" if state.filter else "there are no jobs")]]
    return [[("head", head)], *rows]


def _fitting(columns: list[_Column], room: int) -> list[_Column]:
    """Those that the screen has room for, the most needed first."""
    while len(columns) > 1 and sum(column.size + 2 for column in columns) - 2 > room:
        least = max(columns, key=lambda column: column.need)
        if least.need == 0:
            break
        columns = [column for column in columns if column is not least]
    return columns


def _job(job: TopJob, columns: list[_Column], rest: int, room: int, selected: bool) -> Line:
    parts: Line = []
    for column in columns:
        text = pad(truncate(column.text(job), column.size), column.size, column.right)
        parts += [(column.style(job), text), ("", "  ")]
    if rest >= _ERROR_LEAST:
        parts.append(("bad" if job.status != "RUNNING" else "quiet", truncate(printable(job.error), rest)))
    used = sum(width(text) for _, text in parts)
    if selected:
        return [("selected", "".join(text for _, text in parts) + " " * (room - used))]
    return parts


def _cut_line(line: Line, room: int) -> Line:
    shown: Line = []
    for style, text in line:
        shown.append((style, truncate(text, max(room, 0))))
        room -= width(shown[-1][1])
    return shown


def _message(state: TopState) -> Line:
    if state.mode is Mode.FILTER:
        return [("question", f"show jobs with: {state.filter}_")]
    if state.mode is Mode.QUESTION and state.question is not None:
        name = next((job.name for job in state.jobs if job.id == state.question.job), "")
        return [("question", f"Drop the job {printable(name)}? Its state is lost, its table stays. [y/N]")]
    if state.gone:
        return [("bad", printable(state.gone))]
    return [("bad" if state.bad else "", printable(state.message))]


def _keys(state: TopState) -> Line:
    words = {
        Mode.LIST: "s suspend  r resume  R restart  d drop  Enter more  / filter  o sort  a ended  ? help  q quit",
        Mode.FILTER: "Enter keeps it, Esc shows all",
        Mode.QUESTION: "y drops it, any other key does not",
        Mode.DETAIL: "up, down, page up, page down; q back",
        Mode.HELP: "q back",
    }
    return [("quiet", words[state.mode])]
