"""`.top`: its keys as a table, its screen as lines, and the program on a simulated terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from prompt_toolkit.data_structures import Size as ToolkitSize
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from jetsql.client.engine_client import EngineClient
from jetsql.errors import EngineError, ErrorReport, ReportedError
from jetsql.jobs.model.job import Status
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.jobs.store.job_lag import lag_of_batch
from jetsql.jobs.store.metrics import BatchMetrics, Totals
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds
from jetsql.output.terminal_text import width
from jetsql.server.statement_result import StatementResult
from jetsql.shell.output.screen import ScreenSize
from jetsql.shell.top.top_jobs import TopJob, sparkline
from jetsql.shell.top.top_screen import EngineJobSource, TopScreen
from jetsql.shell.top.top_state import (
    Action,
    ActionKind,
    ScreenMode,
    SortOrder,
    TopState,
    handle_key,
    visible_jobs,
    with_connection_error,
    with_detail,
    with_jobs,
    with_message,
)
from jetsql.shell.top.top_view import field_lines, render
from tests.support.engines.server_engine import ServedEngine, ServedSession
from tests.support.screens.terminal import columns
from tests.support.servers.http_server import TOKEN, run_server

ORDERS = TopJob(
    "0001-0000-0000-0001", "orders", "RUNNING", 12345.6, (0, 5, 10), 7, 0.25, 1200, 5, 3 * 2**20, "it was slow"
)
DELAYS = TopJob("0001-0000-0000-0002", "delays", "SUSPENDED", error="[JETSQL.SINK_CHANGED] The table is another now.")
OLD = TopJob("0001-0000-0000-0003", "old", "FAILED", error="no such table")
DROPPED = TopJob("0001-0000-0000-0004", "gone", "DROPPED", error="cancelled by user")
JOBS = (ORDERS, DELAYS, OLD)
SEEN = with_jobs(TopState(), JOBS, "12:00:00")
SIZE = ScreenSize(140, 24)


def press_keys(*keys: str, state: TopState = SEEN) -> tuple[TopState, Action | None]:
    act = None
    for key in keys:
        state, act = handle_key(state, key, 10)
    return state, act


def select_job(job: TopJob, state: TopState = SEEN) -> TopState:
    return replace(state, selected=job.id)


def names(state: TopState) -> list[str]:
    return [job.name for job in visible_jobs(state)]


def lines(state: TopState, size: ScreenSize = SIZE) -> list[str]:
    return ["".join(text for _, text in line).rstrip() for line in render(state, size)]


# --- keys -------------------------------------------------------------------------------------------------------------


def test_jobs_that_need_attention_come_first() -> None:
    assert names(SEEN) == ["old", "delays", "orders"]
    assert SEEN.job == OLD


def test_jobs_are_sorted_by_the_chosen_column() -> None:
    state, orders = SEEN, []
    for _ in SortOrder:
        orders.append(state.sort_order)
        state, _act = press_keys("o", state=state)
    assert (orders, state.sort_order) == (list(SortOrder), SortOrder.STATUS)
    assert names(replace(SEEN, sort_order=SortOrder.NAME)) == ["delays", "old", "orders"]
    for order in (SortOrder.RATE, SortOrder.LAG, SortOrder.BATCH, SortOrder.STATE):
        assert names(replace(SEEN, sort_order=order))[0] == "orders"


@pytest.mark.parametrize(
    ("keys", "job"),
    [
        ("down", DELAYS),
        ("down down", ORDERS),
        ("down down down", ORDERS),
        ("j j k", DELAYS),
        ("end", ORDERS),
        ("end home", OLD),
        ("pagedown", ORDERS),
        ("end pageup up", OLD),
    ],
)
def test_keys_move_the_selection(keys: str, job: TopJob) -> None:
    assert press_keys(*keys.split())[0].job == job


def test_selection_follows_the_job() -> None:
    state = select_job(ORDERS)
    assert with_jobs(state, (replace(ORDERS, status="FAILED", name="a"), DELAYS), "").job == replace(
        ORDERS, status="FAILED", name="a"
    )
    assert with_jobs(state, (DELAYS,), "").job == DELAYS
    assert with_jobs(state, (), "").job is None


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("s", "SUSPEND JOB '0001-0000-0000-0001'", "suspending orders"),
        ("r", "RESUME JOB '0001-0000-0000-0001'", "resuming orders"),
        ("R", "RESTART JOB '0001-0000-0000-0001'", "restarting orders"),
    ],
)
def test_keys_act_on_the_selected_job(key: str, text: str, words: str) -> None:
    state, act = press_keys(key, state=select_job(ORDERS))
    assert act == Action(ActionKind.STATEMENT, text, words, ORDERS.id)
    assert state.message == f"{words} ..."


def test_drop_needs_a_confirmation() -> None:
    asked, act = press_keys("d", state=select_job(ORDERS))
    assert act is None
    assert "Drop the job orders? Its state is lost, its table stays. [y/N]" in lines(asked)
    dropped, act = press_keys("y", state=asked)
    assert act == Action(ActionKind.STATEMENT, f"DROP JOB '{ORDERS.id}'", "dropping orders", ORDERS.id)
    assert dropped.mode is ScreenMode.LIST


@pytest.mark.parametrize("key", ["n", "enter", "escape", "d", "q", "down", " "])
def test_only_y_confirms(key: str) -> None:
    state, act = press_keys("d", key, state=select_job(ORDERS))
    assert act is None
    assert (state.mode, state.message) == (ScreenMode.LIST, "Not dropped.")


def test_confirmation_keeps_the_job_selected_at_its_beginning() -> None:
    asked, _ = press_keys("d", state=select_job(ORDERS))
    moved = with_jobs(asked, (DELAYS, OLD), "")
    assert press_keys("y", state=moved)[1] == Action(
        ActionKind.STATEMENT, f"DROP JOB '{ORDERS.id}'", "dropping orders", ORDERS.id
    )


@pytest.mark.parametrize("key", ["s", "r", "R", "d", "enter"])
def test_without_a_job_keys_do_nothing(key: str) -> None:
    state, act = press_keys(key, state=TopState())
    assert (act, state.message, state.is_error) == (None, "No job is selected.", True)


def test_q_and_ctrl_c_leave() -> None:
    assert press_keys("q")[1] == press_keys("/", "c-c")[1] == press_keys("?", "c-c")[1] == Action(ActionKind.QUIT)
    assert press_keys("escape")[1] is None


def test_letters_filter_by_name_status_and_error() -> None:
    state, act = press_keys("/", *"del")
    assert act is None
    assert names(state) == ["delays"]
    assert state.job == DELAYS
    assert names(press_keys("/", *"SUSPENDED")[0]) == ["delays"]
    assert names(press_keys("/", *"such table")[0]) == ["old"]
    assert names(press_keys("/", *"delx", "backspace", "enter")[0]) == ["delays"]
    assert names(press_keys("/", *"del", "escape")[0]) == ["old", "delays", "orders"]
    assert names(press_keys("/", *"del", "enter", "escape")[0]) == ["old", "delays", "orders"]
    assert press_keys("/", *"qsrd")[0].filter == "qsrd"
    assert "no job matches the filter; Esc shows all" in lines(press_keys("/", *"qsrd")[0])


def test_dropped_jobs_are_hidden_and_ended_ones_can_be() -> None:
    state = with_jobs(TopState(), (*JOBS, DROPPED), "12:00:00")
    assert names(state) == ["old", "delays", "orders"]
    state, _ = press_keys("a", state=state)
    assert names(state) == ["old", "delays", "orders", "gone"]
    assert lines(state)[0].startswith(
        "1 running, 1 suspended (1 by an error), 1 failed, 1 dropped; by status, all jobs"
    )
    state, _ = press_keys("a", state=state)
    assert names(state) == ["delays", "orders"]
    assert state.job == DELAYS
    assert names(press_keys("a", state=state)[0]) == ["old", "delays", "orders"]


@pytest.mark.parametrize(
    ("job", "lag"),
    [
        (replace(ORDERS, lag_seconds=2.0), "1.2k 2.0 s"),
        (replace(ORDERS, lag=0, lag_seconds=2.0), "0"),
        (replace(ORDERS, status="SUSPENDED", lag_seconds=130.0, unread_seconds=120.0), ">1.2k 2 min"),
        (replace(ORDERS, status="SUSPENDED", lag=0, unread_seconds=180.0), ">0 3 min"),
        (replace(ORDERS, lag=None), ""),
    ],
)
def test_the_lag_of_a_stopped_job_is_a_least(job: TopJob, lag: str) -> None:
    shown = lines(with_jobs(TopState(), (job,), ""))
    assert shown[2][44:57].strip() == lag


def test_job_details_can_be_scrolled() -> None:
    state, act = press_keys("enter", state=select_job(ORDERS))
    assert act == Action(ActionKind.DETAIL, job=ORDERS.id, description="orders")
    state = with_detail(state, "orders", tuple(f"line {number}" for number in range(40)))
    assert lines(state)[:2] == ["orders", "line 0"]
    state, _ = press_keys("pagedown", "down", state=state)
    assert lines(state)[1] == "line 11"
    assert press_keys("end", state=state)[0].first_line == 30
    assert press_keys("end", "home", state=state)[0].first_line == 0
    back, act = press_keys("q", state=state)
    assert (back.mode, act) == (ScreenMode.LIST, None)


def test_help_lists_the_keys() -> None:
    state, _ = press_keys("?")
    assert any("suspend it" in line for line in lines(state))
    assert press_keys("q", state=state)[0].mode is ScreenMode.LIST


# --- the screen -------------------------------------------------------------------------------------------------------


def test_a_job_is_a_line() -> None:
    shown = lines(replace(select_job(ORDERS), sort_order=SortOrder.NAME))
    assert shown[0] == "1 running, 1 suspended (1 by an error), 1 failed; by name" + " " * 75 + "12:00:00"
    assert shown[1:5] == [
        "STATUS       NAME    ROWS/S  LAST MINUTE              LAG   BATCH   STATE    MEMORY  LAST ERROR",
        "SUSPENDED    delays          " + " " * 56 + "[JETSQL.SINK_CHANGED] The table is another now.",
        "FAILED       old             " + " " * 56 + "no such table",
        "RUNNING      orders     12k  ▁▅█                     1.2k  250 ms       5   3.0 MiB  it was slow",
    ]
    assert shown[-1].startswith("s suspend  r resume")


@pytest.mark.parametrize("columns", [1, 5, 10, 20, 30, 40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("high", [1, 2, 5, 10, 24])
def test_screen_is_filled_exactly(columns: int, high: int) -> None:
    wide = replace(ORDERS, name="東京 " * 30, id="x", error="e" * 300)
    states = [
        with_jobs(TopState(), (*JOBS, wide), "12:00:00"),
        press_keys("d")[0],
        press_keys("/", "x")[0],
        press_keys("?")[0],
        with_detail(SEEN, "orders", ("x" * 300,) * 100),
        with_connection_error(SEEN, "[JETSQL.ENGINE_NOT_REACHABLE] " + "x" * 200),
        TopState(),
    ]
    for state in states:
        drawn = render(state, ScreenSize(columns, high))
        assert len(drawn) <= max(high, 1)
        assert max(width("".join(text for _, text in line)) for line in drawn) <= columns


def test_narrow_screen_keeps_the_important_columns() -> None:
    assert lines(SEEN, ScreenSize(60, 24))[1].split("  ")[0] == "STATUS"
    assert "ROWS/S" in lines(SEEN, ScreenSize(60, 24))[1]
    assert "MEMORY" not in lines(SEEN, ScreenSize(60, 24))[1]
    assert lines(SEEN, ScreenSize(22, 24))[1].split() == ["STATUS", "NAME"]


def test_more_jobs_than_lines_scroll_with_the_selection() -> None:
    many = tuple(replace(ORDERS, id=str(number), name=f"job{number:03}") for number in range(100))
    state = replace(with_jobs(TopState(), many, ""), selected="57")
    shown = lines(state, ScreenSize(140, 12))
    assert any("job057" in line for line in shown)
    assert len(shown) == 12
    assert "job099" in lines(replace(state, selected="99"), ScreenSize(140, 12))[-3]


def test_the_selected_job_is_marked_whole() -> None:
    [line] = [line for line in render(select_job(DELAYS), SIZE) if "delays" in "".join(text for _, text in line)]
    assert [style for style, _ in line] == ["selected"]


def test_outcome_of_a_key_and_lost_engine_are_shown() -> None:
    assert lines(with_message(SEEN, "suspending orders: suspended."))[-2] == "suspending orders: suspended."
    gone = with_connection_error(SEEN, "No engine answers.")
    assert lines(gone)[-2] == "No engine answers."
    assert "orders" in "\n".join(lines(gone))
    assert lines(with_jobs(gone, JOBS, ""))[-2] == ""


def test_names_and_errors_cannot_drive_the_terminal() -> None:
    evil = replace(ORDERS, name="a\x1b[31m", error="b\x1b]0;x\x07")
    assert "\x1b" not in "\n".join(lines(with_jobs(TopState(), (evil,), "")))


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (3.14, "3.1"), (42, "42"), (999, "999"), (1000, "1k"), (1234, "1.2k"), (56_789, "57k"), (3.2e6, "3.2M")],
)
def test_numbers_are_short(number: float, shown: str) -> None:
    assert format_count(number) == shown.replace("1k", "1.0k") if number == 1000 else format_count(number) == shown


def test_units() -> None:
    assert [format_bytes(size) for size in (512, 2048, 5 * 2**20)] == ["512 B", "2.0 KiB", "5.0 MiB"]
    assert [format_seconds(seconds) for seconds in (0.25, 1.26, 90, 9000)] == ["250 ms", "1.3 s", "2 min", "2 h"]
    assert (format_count(None), format_bytes(None), format_seconds(None)) == ("", "", "")


def test_a_sparkline_is_as_high_as_its_highest_rate() -> None:
    assert sparkline([0, 1, 2, 4], 10) == "▁▃▅█"
    assert sparkline([0, 0], 10) == "▁▁"
    assert sparkline([], 10) == ""
    assert len(sparkline(list(range(30)), 20)) == 15
    assert len(sparkline(list(range(60)), 20)) == 20


# --- the program ------------------------------------------------------------------------------------------------------


class ScriptedJobSource:
    """A job source that a test controls. ran: the statements it received."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.gone = False

    def jobs(self) -> tuple[TopJob, ...]:
        if self.gone:
            raise EngineError("ENGINE_NOT_REACHABLE", "No engine answers.")
        status = "SUSPENDED" if any("SUSPEND" in text for text in self.ran) else "RUNNING"
        return (replace(ORDERS, status=status),)

    def run(self, text: str) -> str:
        self.ran.append(text)
        if text.startswith("RESUME"):
            raise ReportedError(ErrorReport("JETSQL.WRONG_STATUS", "55000", "The job is being stopped."))
        return "the job was suspended"

    def detail(self, job: str, columns: int) -> tuple[str, ...]:
        return ("id  1", "name  orders")


class FixedSizeOutput(DummyOutput):
    def get_size(self) -> ToolkitSize:
        return ToolkitSize(rows=24, columns=140)


@contextmanager
def run_top(jobs: ScriptedJobSource) -> Iterator[tuple[TopScreen, PipeInput]]:
    with create_pipe_input() as keys:
        yield TopScreen(jobs, 0.01, keys=keys, screen=FixedSizeOutput()), keys


def play_steps(top: TopScreen, keys: PipeInput, *steps: tuple[str, Callable[[TopState], bool]]) -> None:
    """Press the keys of a step when what the step before led to has come; q at the end."""
    rest = list(steps)
    wanted: Callable[[TopState], bool] = lambda state: bool(state.jobs)  # noqa: E731

    def rendered(_: object) -> None:
        nonlocal wanted
        if not wanted(top.state):
            return
        key, wanted = rest.pop(0) if rest else ("q", lambda state: False)
        keys.send_text(key)

    top._app.after_render += rendered
    top.run()
    assert rest == []


def test_keys_act_on_the_engine_and_show_the_outcome() -> None:
    jobs = ScriptedJobSource()
    with run_top(jobs) as (top, keys):
        play_steps(
            top,
            keys,
            ("s", lambda state: state.jobs[0].status == "SUSPENDED" and "was suspended" in state.message),
            ("r", lambda state: state.is_error and "is being stopped" in state.message),
            ("d", lambda state: state.mode is ScreenMode.QUESTION),
            ("n", lambda state: state.message == "Not dropped."),
            ("\r", lambda state: state.mode is ScreenMode.DETAIL and "name  orders" in state.detail),
            ("q", lambda state: state.mode is ScreenMode.LIST),
            ("\x1b", lambda state: True),
        )
    assert [text.split()[0] for text in jobs.ran] == ["SUSPEND", "RESUME"]


def test_top_continues_when_the_engine_is_back() -> None:
    jobs = ScriptedJobSource()

    def goes(state: TopState) -> bool:
        jobs.gone = not state.connection_error
        return bool(state.connection_error)

    with run_top(jobs) as (top, keys):
        play_steps(top, keys, ("o", goes), ("o", lambda state: not state.connection_error))
    assert top.state.jobs


def pulse(name: str, **changes: object) -> JobSample:
    latest = BatchMetrics(1, 7, 0.0, trigger_ms=250, lag={"a": 1, "b": 2}, state_rows=3, state_bytes=99)
    reading = JobMetrics(
        "1", name, Status.RUNNING, 1, 0, Totals(), latest, None, "two\nlines", lag=lag_of_batch(latest)
    )
    return JobSample(replace(reading, **changes), 5.0, (0.0, 1.0))  # type: ignore[arg-type]


def test_jobs_come_over_http_and_a_lost_engine_is_reported() -> None:
    engine, lost_engines = (
        ServedEngine(jobs_now=[pulse("orders"), pulse("new", latest=None, lag=None)]),
        list[EngineClient](),
    )
    with run_server(engine) as server:
        remote = EngineClient(server.url, TOKEN)
        jobs = EngineJobSource(lambda: remote, lost_engines.append)
        orders, new = jobs.jobs()
        assert orders == TopJob("1", "orders", "RUNNING", 5.0, (0.0, 1.0), 7, 0.25, 3, 3, 99, "two lines")
        assert (new.batch, new.lag) == (None, None)
        assert jobs.run("SELECT a") == "done"
        with pytest.raises(ReportedError):
            jobs.run("FAIL x")
        assert lost_engines == []
    with pytest.raises(EngineError):
        jobs.jobs()
    assert lost_engines == [remote]
    remote.abandon_response()


class DescribedEngine(ServedEngine):
    """An engine that answers DESCRIBE and SHOW JOB HISTORY."""

    def session(self) -> ServedSession:
        return DescribedSession(self)


class DescribedSession(ServedSession):
    def run(self, text: str, parameters: object = None, live: bool = False) -> StatementResult:
        if text.startswith("DESCRIBE"):
            return StatementResult(columns(key="string", value="string"), iter([("id", "1"), ("comment", None)]))
        kinds = columns(time="timestamp", event="string", to_status="string", message="string")
        at = datetime(2026, 11, 21, 21, 13, 1, tzinfo=UTC)
        return StatementResult(
            kinds, iter([(at, "suspended", "SUSPENDED", "by user"), (at, "resumed", "RUNNING", None)])
        )


def test_job_details_include_the_history() -> None:
    with run_server(DescribedEngine()) as server:
        remote = EngineClient(server.url, TOKEN)
        assert EngineJobSource(lambda: remote, lambda engine: None).detail("1", 80) == (
            "id  1",
            "",
            "2026-11-21 21:13:01  suspended, SUSPENDED. by user",
            "2026-11-21 21:13:01  resumed, RUNNING.",
        )
        remote.abandon_response()


def test_facts_are_next_to_their_names() -> None:
    facts = [
        ("id", "1"),
        ("comment", None),
        ("a name that is longer than the others are", "x"),
        ("sql", "a\nb\x1b c d"),
    ]
    assert list(field_lines(facts, 80)) == [
        f"{'id':28}  1",
        "a name that is longer than the others are",
        f"{'':28}  x",
        f"{'sql':28}  a",
        f"{'':28}  b\\x1b c d",
    ]
    assert max(map(len, field_lines([("key", "word " * 100)], 40))) <= 40
