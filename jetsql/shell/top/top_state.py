"""What `.top` shows and what its keys do: a pure table, `(state, key) -> (state, what is to be done)`.

No terminal, no engine, no clock. What a key wants done is an `Act`, which somebody else does on a thread of its own and
then tells by another state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from jetsql.shell.top.top_jobs import TopJob


class Order(Enum):
    """What the jobs are sorted by."""

    STATUS = "status"
    NAME = "name"
    RATE = "rows/s"
    LAG = "lag"
    BATCH = "batch time"
    STATE = "state"


class Mode(Enum):
    """What takes the keys."""

    LIST = "list"
    FILTER = "filter"
    QUESTION = "question"
    DETAIL = "detail"
    HELP = "help"


class Doing(Enum):
    """What is to be done."""

    STATEMENT = "statement"
    DETAIL = "detail"
    QUIT = "quit"


@dataclass(frozen=True)
class Act:
    """text: the statement. words: what it does, for people. job: whose detail is wanted."""

    doing: Doing
    text: str = ""
    words: str = ""
    job: str = ""


@dataclass(frozen=True)
class TopState:
    """selected: the id of a job. gone: why there is nothing new, empty while the engine answers. message: what came of
    the last key; bad: an error. seen: what was last told of the jobs, and when. first: of the lines that are shown."""

    jobs: tuple[TopJob, ...] = ()
    seen: str = ""
    gone: str = ""
    selected: str = ""
    order: Order = Order.STATUS
    ended: bool = True
    filter: str = ""
    mode: Mode = Mode.LIST
    question: Act | None = None
    message: str = ""
    bad: bool = False
    detail: tuple[str, ...] = ()
    title: str = ""
    first: int = 0

    @property
    def job(self) -> TopJob | None:
        """The one that is selected, if it is shown."""
        return next((job for job in visible(self) if job.id == self.selected), None)


_RANK: Final = {
    status: rank
    for rank, status in enumerate(
        ("FAILED", "SUSPENDED", "SUSPENDED_EXPORTING_SNAPSHOT", "NOT_RUNNING", "COMPLETING", "STARTING", "RUNNING")
    )
}
_KEYS: Final[Mapping[Order, Callable[[TopJob], tuple[float, str]]]] = {
    Order.STATUS: lambda job: (_RANK.get(job.status, len(_RANK)), job.name.lower()),
    Order.NAME: lambda job: (0, job.name.lower()),
    Order.RATE: lambda job: (-(job.rate or 0), job.name.lower()),
    Order.LAG: lambda job: (-(job.lag or job.event_lag or 0), job.name.lower()),
    Order.BATCH: lambda job: (-(job.batch_seconds or 0), job.name.lower()),
    Order.STATE: lambda job: (-(job.state_bytes or 0), job.name.lower()),
}


def visible(state: TopState) -> tuple[TopJob, ...]:
    """The jobs in their order: by status, what needs somebody comes first."""
    wanted = state.filter.lower()
    shown = (job for job in state.jobs if (state.ended or not job.ended) and _matches(job, wanted))
    return tuple(sorted(shown, key=_KEYS[state.order]))


def _matches(job: TopJob, wanted: str) -> bool:
    return not wanted or any(wanted in text.lower() for text in (job.name, job.status, job.id, job.error))


def told(state: TopState, jobs: tuple[TopJob, ...], time: str) -> TopState:
    """News of the jobs. The selected one stays so wherever it moves."""
    return _selecting(replace(state, jobs=jobs, seen=time, gone=""))


def lost(state: TopState, why: str) -> TopState:
    """The engine does not answer; what was seen last stays."""
    return replace(state, gone=why)


def answered(state: TopState, message: str, bad: bool = False) -> TopState:
    """What came of a statement."""
    return replace(state, message=message, bad=bad)


def detailed(state: TopState, title: str, lines: tuple[str, ...]) -> TopState:
    """All about a job, to be read."""
    return replace(state, mode=Mode.DETAIL, title=title, detail=lines, first=0, message="", bad=False)


def press(state: TopState, key: str, page: int) -> tuple[TopState, Act | None]:
    """key: a character, or a key's name as prompt_toolkit has it. page: how many lines are shown at once."""
    if key == "c-c":
        return state, Act(Doing.QUIT)
    return _MODES[state.mode](state, key, max(page, 1))


def _press_list(state: TopState, key: str, page: int) -> tuple[TopState, Act | None]:
    state = replace(state, message="", bad=False)
    if key in _MOVES:
        return _moved(state, _MOVES[key](page)), None
    if key == "q":
        return state, Act(Doing.QUIT)
    if key in _SWITCHES:
        return _SWITCHES[key](state), None
    job = state.job
    if key not in (*_VERBS, "d", "enter"):
        return state, None
    if job is None:
        return answered(state, "No job is selected.", bad=True), None
    if key == "enter":
        return answered(state, f"reading {job.name} ..."), Act(Doing.DETAIL, job=job.id, words=job.name)
    if key == "d":
        act = Act(Doing.STATEMENT, f"DROP JOB '{job.id}'", f"dropping {job.name}", job.id)
        return replace(state, mode=Mode.QUESTION, question=act), None
    verb, words = _VERBS[key]
    act = Act(Doing.STATEMENT, f"{verb} JOB '{job.id}'", f"{words} {job.name}", job.id)
    return answered(state, f"{act.words} ..."), act


def _press_filter(state: TopState, key: str, page: int) -> tuple[TopState, Act | None]:
    if key == "enter":
        return replace(state, mode=Mode.LIST), None
    if key == "escape":
        return _selecting(replace(state, mode=Mode.LIST, filter="")), None
    if key in ("backspace", "c-h"):
        return _selecting(replace(state, filter=state.filter[:-1])), None
    if len(key) == 1 and key.isprintable():
        return _selecting(replace(state, filter=state.filter + key)), None
    if key in ("up", "down"):
        return _moved(state, _MOVES[key](page)), None
    return state, None


def _press_question(state: TopState, key: str, page: int) -> tuple[TopState, Act | None]:
    """Only y is yes; no other key must take a job away."""
    act = state.question
    state = replace(state, mode=Mode.LIST, question=None)
    if key in ("y", "Y") and act is not None:
        return answered(state, f"{act.words} ..."), act
    return answered(state, "Not dropped."), None


def _press_reading(state: TopState, key: str, page: int) -> tuple[TopState, Act | None]:
    """In a text that is read: details, help."""
    if key in _MOVES and state.mode is Mode.DETAIL:
        last = max(len(state.detail) - page, 0)
        return replace(state, first=min(max(state.first + _MOVES[key](page), 0), last)), None
    if key in ("q", "escape", "enter", "?"):
        return replace(state, mode=Mode.LIST, detail=(), first=0), None
    return state, None


def _moved(state: TopState, by: int) -> TopState:
    jobs = visible(state)
    ids = [job.id for job in jobs]
    at = ids.index(state.selected) if state.selected in ids else 0
    return replace(state, selected=ids[min(max(at + by, 0), len(ids) - 1)]) if ids else state


def _selecting(state: TopState) -> TopState:
    """With a job selected, if there is one to select."""
    jobs = visible(state)
    if any(job.id == state.selected for job in jobs) or not jobs:
        return state
    return replace(state, selected=jobs[0].id)


def _next_order(state: TopState) -> TopState:
    orders = list(Order)
    return replace(state, order=orders[(orders.index(state.order) + 1) % len(orders)])


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
_SWITCHES: Final[Mapping[str, Callable[[TopState], TopState]]] = {
    "?": lambda state: replace(state, mode=Mode.HELP),
    "/": lambda state: replace(state, mode=Mode.FILTER),
    "escape": lambda state: _selecting(replace(state, filter="")),
    "o": _next_order,
    "a": lambda state: _selecting(replace(state, ended=not state.ended)),
}
_MODES: Final[Mapping[Mode, Callable[[TopState, str, int], tuple[TopState, Act | None]]]] = {
    Mode.LIST: _press_list,
    Mode.FILTER: _press_filter,
    Mode.QUESTION: _press_question,
    Mode.DETAIL: _press_reading,
    Mode.HELP: _press_reading,
}
