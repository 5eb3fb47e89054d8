"""The state of `.top` and its transitions: pure functions `(state, key) -> (state, action)`.

They use no terminal, no engine and no clock. The caller runs an `Action` on a thread and stores its result in the next
state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar

from jetsql.jobs.model.job_counts import JobGroup
from jetsql.shell.top.top_jobs import TopJob

E = TypeVar("E", bound=Enum)


class SortOrder(Enum):
    """The columns by which jobs can be sorted."""

    STATUS = "status"
    NAME = "name"
    RATE = "rows/s"
    LAG = "lag"
    BATCH = "batch time"
    STATE = "state"


class JobsShown(Enum):
    """The jobs in the list."""

    NOT_DROPPED = "without dropped jobs"
    ALL = "all jobs"
    LIVE = "live jobs"


_HIDDEN: Final[Mapping[JobsShown, Sequence[JobGroup]]] = {
    JobsShown.NOT_DROPPED: (JobGroup.DROPPED,),
    JobsShown.ALL: (),
    JobsShown.LIVE: (JobGroup.FAILED, JobGroup.COMPLETED, JobGroup.DROPPED),
}


class ScreenMode(Enum):
    """The modes of the screen, which differ in their keys."""

    LIST = "list"
    FILTER = "filter"
    QUESTION = "question"
    DETAIL = "detail"
    HELP = "help"


class ActionKind(Enum):
    """The kinds of actions."""

    STATEMENT = "statement"
    DETAIL = "detail"
    QUIT = "quit"


@dataclass(frozen=True)
class Action:
    """An action requested by a key, to be run by the caller."""

    kind: ActionKind
    text: str = ""  # the statement to run
    description: str = ""  # for the user: `dropping orders`
    job: str = ""  # the id of the job


@dataclass(frozen=True)
class TopState:
    """The data that the screen shows."""

    jobs: tuple[TopJob, ...] = ()
    updated_at: str = ""  # the time of the last poll
    connection_error: str = ""  # empty while the engine answers
    selected: str = ""  # the id of a job
    sort_order: SortOrder = SortOrder.STATUS
    jobs_shown: JobsShown = JobsShown.NOT_DROPPED
    filter: str = ""  # a text that name, status or error must contain
    mode: ScreenMode = ScreenMode.LIST
    question: Action | None = None  # to be confirmed
    message: str = ""  # the result of the last key
    is_error: bool = False  # the message is an error
    detail: tuple[str, ...] = ()  # the lines of the details
    title: str = ""  # of the details
    first_line: int = 0  # the first visible line of the details

    @property
    def job(self) -> TopJob | None:
        """Return the selected job if it is shown, otherwise None."""
        return next((job for job in visible_jobs(self) if job.id == self.selected), None)


_KEYS: Final[Mapping[SortOrder, Callable[[TopJob], tuple[Any, ...]]]] = {
    SortOrder.STATUS: lambda job: (job.group.rank, job.name.lower()),
    SortOrder.NAME: lambda job: (0, job.name.lower()),
    SortOrder.RATE: lambda job: (-(job.rate or 0), job.name.lower()),
    SortOrder.LAG: lambda job: (-(job.lag or 0), -(job.unread_seconds or 0), job.name.lower()),
    SortOrder.BATCH: lambda job: (-(job.batch_seconds or 0), job.name.lower()),
    SortOrder.STATE: lambda job: (-(job.state_bytes or 0), job.name.lower()),
}


def visible_jobs(state: TopState) -> tuple[TopJob, ...]:
    """Return the jobs in their order; by status, those that need attention come first."""
    filter_text = state.filter.lower()
    hidden = _HIDDEN[state.jobs_shown]
    shown = (job for job in state.jobs if job.group not in hidden and _matches(job, filter_text))
    return tuple(sorted(shown, key=_KEYS[state.sort_order]))


def _matches(job: TopJob, filter_text: str) -> bool:
    return not filter_text or any(filter_text in text.lower() for text in (job.name, job.status, job.id, job.error))


def with_jobs(state: TopState, jobs: tuple[TopJob, ...], time: str) -> TopState:
    """Return the state with new jobs; the selected job stays selected."""
    return _ensure_selection(replace(state, jobs=jobs, updated_at=time, connection_error=""))


def with_connection_error(state: TopState, error: str) -> TopState:
    """Return the state with a connection error; it keeps the last jobs."""
    return replace(state, connection_error=error)


def with_message(state: TopState, message: str, is_error: bool = False) -> TopState:
    """Return the state with the result of a statement."""
    return replace(state, message=message, is_error=is_error)


def with_detail(state: TopState, title: str, lines: tuple[str, ...]) -> TopState:
    """Return the state that shows the details of a job."""
    return replace(state, mode=ScreenMode.DETAIL, title=title, detail=lines, first_line=0, message="", is_error=False)


def handle_key(state: TopState, key: str, page: int) -> tuple[TopState, Action | None]:
    """Return the state after a key, and the action that it requests.

    key: a character, or the name of a key in prompt_toolkit. page: the number of lines shown at a time.
    """
    if key == "c-c":
        return state, Action(ActionKind.QUIT)
    return _MODES[state.mode](state, key, max(page, 1))


def _press_list(state: TopState, key: str, page: int) -> tuple[TopState, Action | None]:
    state = replace(state, message="", is_error=False)
    if key in _MOVES:
        return _move_selection(state, _MOVES[key](page)), None
    if key == "q":
        return state, Action(ActionKind.QUIT)
    if key in _TOGGLES:
        return _TOGGLES[key](state), None
    job = state.job
    if key not in (*_VERBS, "d", "enter"):
        return state, None
    if job is None:
        return with_message(state, "No job is selected.", is_error=True), None
    if key == "enter":
        return with_message(state, f"reading {job.name} ..."), Action(
            ActionKind.DETAIL, job=job.id, description=job.name
        )
    if key == "d":
        action = Action(ActionKind.STATEMENT, f"DROP JOB '{job.id}'", f"dropping {job.name}", job.id)
        return replace(state, mode=ScreenMode.QUESTION, question=action), None
    verb, participle = _VERBS[key]
    action = Action(ActionKind.STATEMENT, f"{verb} JOB '{job.id}'", f"{participle} {job.name}", job.id)
    return with_message(state, f"{action.description} ..."), action


def _press_filter(state: TopState, key: str, page: int) -> tuple[TopState, Action | None]:
    if key == "enter":
        return replace(state, mode=ScreenMode.LIST), None
    if key == "escape":
        return _ensure_selection(replace(state, mode=ScreenMode.LIST, filter="")), None
    if key in ("backspace", "c-h"):
        return _ensure_selection(replace(state, filter=state.filter[:-1])), None
    if len(key) == 1 and key.isprintable():
        return _ensure_selection(replace(state, filter=state.filter + key)), None
    if key in ("up", "down"):
        return _move_selection(state, _MOVES[key](page)), None
    return state, None


def _press_question(state: TopState, key: str, page: int) -> tuple[TopState, Action | None]:
    """Handle a key at the question: only y drops the job."""
    action = state.question
    state = replace(state, mode=ScreenMode.LIST, question=None)
    if key in ("y", "Y") and action is not None:
        return with_message(state, f"{action.description} ..."), action
    return with_message(state, "Not dropped."), None


def _press_text(state: TopState, key: str, page: int) -> tuple[TopState, Action | None]:
    """Handle a key in the details or the help."""
    if key in _MOVES and state.mode is ScreenMode.DETAIL:
        last = max(len(state.detail) - page, 0)
        return replace(state, first_line=min(max(state.first_line + _MOVES[key](page), 0), last)), None
    if key in ("q", "escape", "enter", "?"):
        return replace(state, mode=ScreenMode.LIST, detail=(), first_line=0), None
    return state, None


def _move_selection(state: TopState, by: int) -> TopState:
    jobs = visible_jobs(state)
    ids = [job.id for job in jobs]
    at = ids.index(state.selected) if state.selected in ids else 0
    return replace(state, selected=ids[min(max(at + by, 0), len(ids) - 1)]) if ids else state


def _ensure_selection(state: TopState) -> TopState:
    """Return the state with a job selected, if there is one."""
    jobs = visible_jobs(state)
    if any(job.id == state.selected for job in jobs) or not jobs:
        return state
    return replace(state, selected=jobs[0].id)


def _next_order(state: TopState) -> TopState:
    return replace(state, sort_order=_next(state.sort_order))


def _next(member: E) -> E:
    """Return the next member of an enumeration, after the last the first."""
    members = list(type(member))
    return members[(members.index(member) + 1) % len(members)]


_MOVES: Final[Mapping[str, Callable[[int], int]]] = {
    "up": lambda page: -1,
    "k": lambda page: -1,
    "down": lambda page: 1,
    "j": lambda page: 1,
    "pageup": lambda page: -page,
    "pagedown": lambda page: page,
    " ": lambda page: page,
    "home": lambda page: -1_000_000,
    "end": lambda page: 1_000_000,
}
_VERBS: Final = {"s": ("SUSPEND", "suspending"), "r": ("RESUME", "resuming"), "R": ("RESTART", "restarting")}
_TOGGLES: Final[Mapping[str, Callable[[TopState], TopState]]] = {
    "?": lambda state: replace(state, mode=ScreenMode.HELP),
    "/": lambda state: replace(state, mode=ScreenMode.FILTER),
    "escape": lambda state: _ensure_selection(replace(state, filter="")),
    "o": _next_order,
    "a": lambda state: _ensure_selection(replace(state, jobs_shown=_next(state.jobs_shown))),
}
_MODES: Final[Mapping[ScreenMode, Callable[[TopState, str, int], tuple[TopState, Action | None]]]] = {
    ScreenMode.LIST: _press_list,
    ScreenMode.FILTER: _press_filter,
    ScreenMode.QUESTION: _press_question,
    ScreenMode.DETAIL: _press_text,
    ScreenMode.HELP: _press_text,
}
