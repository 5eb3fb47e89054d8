"""Render `.top`: turn a state and a size into lines of styled text, none wider than the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.jobs.model.job import DROPPED, Status
from jetsql.jobs.model.job_counts import JobGroup, count_jobs, describe_counts
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds
from jetsql.output.terminal_text import pad, printable, truncate, width, wrap
from jetsql.shell.output.screen import ScreenSize
from jetsql.shell.top.top_jobs import TopJob, sparkline
from jetsql.shell.top.top_state import JobsShown, ScreenMode, TopState, visible_jobs

StyledLine = list[tuple[str, str]]
"""The parts of a line: a style's class and the text."""

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

_GROUP_STYLE: Final[Mapping[JobGroup, str]] = {
    JobGroup.FAILED: "bad",
    JobGroup.SUSPENDED_BY_ERROR: "bad",
    JobGroup.SUSPENDED: "moving",
    JobGroup.IN_TRANSITION: "moving",
    JobGroup.RUNNING: "good",
    JobGroup.COMPLETED: "quiet",
    JobGroup.DROPPED: "quiet",
}
_STATUS_LABELS: Final[Mapping[str, str]] = {Status.SUSPENDED_EXPORTING_SNAPSHOT: "EXPORTING"}
_SPARKLINE_SIZE: Final = 15
_MAX_NAME: Final = 40
_MIN_ERROR: Final = 16
_MAX_FIELD_NAME: Final = 28
_MIN_VALUE: Final = 20
_FRAME_LINES: Final = 4
"""Lines without jobs: title, header, message, keys."""

HELP: Final = (
    "up, down, k, j, page up, page down, home, end   select a job",
    "s  suspend it        r  resume it        R  restart it",
    "d  drop it, after confirmation; its state is lost, its table stays",
    "Enter  show its details and history",
    "/  filter jobs by a text in name, status or error; Esc shows all",
    "o  sort by status, name, rows/s, lag, batch time, state",
    "a  show dropped jobs as well, only jobs that have not ended, or all but dropped ones",
    "q, Ctrl-C  leave; jobs continue",
    "",
    "ROWS/S, LAST MINUTE: input rows per second. LAG: unread rows of the sources, and how long the oldest has waited;",
    "with > of a job that does not run: at least so many. Sources that do not report their newest offset, such as",
    "files, have none. BATCH: duration of the newest batch. STATE, MEMORY: rows and memory of the state.",
)


@dataclass(frozen=True)
class _Column:
    """A column of the table."""

    title: str
    size: int  # in cells
    priority: int  # on a narrow screen, columns with the highest value are omitted first
    text: Callable[[TopJob], str]
    style: Callable[[TopJob], str] = lambda job: ""
    right_aligned: bool = True


def _status_style(job: TopJob) -> str:
    return _GROUP_STYLE[job.group]


def _format_lag(job: TopJob) -> str:
    if job.lag is None:
        return ""
    if job.unread_seconds is None:
        waits = job.lag_seconds if job.lag else None
        return f"{format_count(job.lag)} {format_seconds(waits)}".rstrip()
    waits = job.unread_seconds if job.lag_seconds is None else job.lag_seconds
    return f">{format_count(job.lag)} {format_seconds(waits)}"


def _create_columns(jobs: Sequence[TopJob]) -> list[_Column]:
    name = min(max((width(printable(job.name)) for job in jobs), default=4), _MAX_NAME)
    return [
        _Column(
            "STATUS",
            11,
            0,
            lambda job: _STATUS_LABELS.get(job.status, job.status),
            _status_style,
            right_aligned=False,
        ),
        _Column("NAME", max(name, 4), 0, lambda job: printable(job.name), right_aligned=False),
        _Column("ROWS/S", 6, 1, lambda job: format_count(job.rate)),
        _Column(
            "LAST MINUTE",
            _SPARKLINE_SIZE,
            4,
            lambda job: sparkline(job.rates, _SPARKLINE_SIZE),
            lambda job: "spark",
            right_aligned=False,
        ),
        _Column("LAG", 11, 2, _format_lag),
        _Column("BATCH", 6, 3, lambda job: format_seconds(job.batch_seconds)),
        _Column("STATE", 6, 5, lambda job: format_count(job.state_rows)),
        _Column("MEMORY", 8, 6, lambda job: format_bytes(job.state_bytes)),
    ]


def render(state: TopState, size: ScreenSize) -> list[StyledLine]:
    """Return the lines of the whole screen."""
    middle = max(size.lines - _FRAME_LINES, 1)
    if state.mode is ScreenMode.DETAIL:
        body = [[("", line)] for line in state.detail[state.first_line : state.first_line + middle + 1]]
    elif state.mode is ScreenMode.HELP:
        body = [[("", line)] for line in HELP[: middle + 1]]
    else:
        body = _render_table(state, size.columns, middle)
    body = [*body, *([[]] * (middle + 1 - len(body)))]
    lines = [_render_title(state, size.columns), *body, _render_message(state), _render_keys(state)]
    return [_cut_line(line, size.columns) for line in lines[: size.lines]]


def field_lines(rows: Iterable[tuple[Any, ...]], columns: int) -> Iterator[str]:
    """Render rows of name and value as lines of at most `columns` cells; omit NULL."""
    fields = [(printable(str(name)), str(value)) for name, value in rows if value is not None]
    size = min(max((width(name) for name, _ in fields), default=0), _MAX_FIELD_NAME)
    room = max(columns - size - 2, _MIN_VALUE)
    for name, value in fields:
        lines = [line for part in value.split("\n") for line in wrap(printable(part), room)]
        if width(name) > size:
            yield name
        for index, line in enumerate(lines):
            yield f"{pad(name if index == 0 and width(name) <= size else '', size)}  {line}".rstrip()


def page_lines(size: ScreenSize) -> int:
    """Return the number of jobs that fit on the screen."""
    return max(size.lines - _FRAME_LINES, 1)


def _render_title(state: TopState, columns: int) -> StyledLine:
    if state.mode is ScreenMode.DETAIL:
        return [("title", printable(state.title))]
    counts = count_jobs((job.status, bool(job.error)) for job in state.jobs)
    counts_text = ", ".join(text for _, text in describe_counts(counts)) if state.jobs else "no jobs"
    filter_text = f", with {state.filter!r}" if state.filter and state.mode is not ScreenMode.FILTER else ""
    shown_text = "" if state.jobs_shown is JobsShown.NOT_DROPPED else f", {state.jobs_shown.value}"
    left = f"{counts_text}; by {state.sort_order.value}{shown_text}{filter_text}"
    room = columns - len(state.updated_at) - 1
    return [("title", pad(truncate(left, room), max(room, 0))), ("quiet", f" {state.updated_at}")]


def _render_table(state: TopState, columns: int, lines: int) -> list[StyledLine]:
    jobs = visible_jobs(state)
    columns_shown = _fit_columns(_create_columns(jobs), columns)
    rest = columns - sum(column.size + 2 for column in columns_shown)
    titles = [pad(column.title, column.size, column.right_aligned) for column in columns_shown]
    head = "  ".join([*titles, *(["LAST ERROR"] if rest >= _MIN_ERROR else [])])
    ids = [job.id for job in jobs]
    selected_index = ids.index(state.selected) if state.selected in ids else 0
    first = max(min(selected_index - lines // 2, len(jobs) - lines), 0)
    rows = [
        _render_job(job, columns_shown, rest, columns, job.id == state.selected) for job in jobs[first : first + lines]
    ]
    if not jobs:
        rows = [[("quiet", "no job matches the filter; Esc shows all" if state.filter else "there are no jobs")]]
    return [[("head", head)], *rows]


def _fit_columns(columns: list[_Column], room: int) -> list[_Column]:
    """Return the columns that fit into `room` cells; omit the least important."""
    while len(columns) > 1 and sum(column.size + 2 for column in columns) - 2 > room:
        least_important = max(columns, key=lambda column: column.priority)
        if least_important.priority == 0:
            break
        columns = [column for column in columns if column is not least_important]
    return columns


def _render_job(job: TopJob, columns: list[_Column], rest: int, room: int, selected: bool) -> StyledLine:
    parts: StyledLine = []
    for column in columns:
        text = pad(truncate(column.text(job), column.size), column.size, column.right_aligned)
        parts += [(column.style(job), text), ("", "  ")]
    if rest >= _MIN_ERROR:
        parts.append(
            ("quiet" if job.status in (Status.RUNNING, DROPPED) else "bad", truncate(printable(job.error), rest))
        )
    used = sum(width(text) for _, text in parts)
    if selected:
        return [("selected", "".join(text for _, text in parts) + " " * (room - used))]
    return parts


def _cut_line(line: StyledLine, room: int) -> StyledLine:
    parts: StyledLine = []
    for style, text in line:
        parts.append((style, truncate(text, max(room, 0))))
        room -= width(parts[-1][1])
    return parts


def _render_message(state: TopState) -> StyledLine:
    if state.mode is ScreenMode.FILTER:
        return [("question", f"show jobs with: {state.filter}_")]
    if state.mode is ScreenMode.QUESTION and state.question is not None:
        name = next((job.name for job in state.jobs if job.id == state.question.job), "")
        return [("question", f"Drop the job {printable(name)}? Its state is lost, its table stays. [y/N]")]
    if state.connection_error:
        return [("bad", printable(state.connection_error))]
    return [("bad" if state.is_error else "", printable(state.message))]


def _render_keys(state: TopState) -> StyledLine:
    hints = {
        ScreenMode.LIST: "s suspend  r resume  R restart  d drop  Enter more  / filter  o sort  a ended"
        "  ? help  q quit",
        ScreenMode.FILTER: "Enter keeps the filter, Esc shows all",
        ScreenMode.QUESTION: "y drops it, any other key does not",
        ScreenMode.DETAIL: "up, down, page up, page down; q back",
        ScreenMode.HELP: "q back",
    }
    return [("quiet", hints[state.mode])]
