"""The console: its streams, and its messages about slow operations."""

import io
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from jetsql.output.console import Console
from jetsql.output.result_sink import OutputClosed


class ManualTimer:
    """A timer that fires when the test calls `act`."""

    started: list["ManualTimer"]

    def __init__(self, after: float, act: Callable[[], None]) -> None:
        self.after, self.act = after, act
        self.daemon = False
        self.cancelled = False

    def start(self) -> None:
        self.started.append(self)

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[ManualTimer]:
    started: list[ManualTimer] = []
    monkeypatch.setattr(ManualTimer, "started", started, raising=False)
    return started


def console(out: io.StringIO, talk: io.StringIO) -> Console:
    return Console(out, talk, is_terminal=False, timer=ManualTimer)


def at_terminal(out: io.StringIO, talk: io.StringIO) -> Console:
    return Console(out, talk, is_terminal=True, timer=ManualTimer)


class TerminalStream(io.StringIO):
    """A text stream that is a terminal."""

    def isatty(self) -> bool:
        return True


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\r\u202eb\tc\nd"
HARMLESS = "a\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\r\\u202eb\tc\nd"


def test_results_have_no_control_characters() -> None:
    out = TerminalStream()
    Console(out, io.StringIO(), is_terminal=True).write_line(HOSTILE)
    assert out.getvalue() == HARMLESS + "\n"


def test_results_in_a_file_are_data() -> None:
    out = io.StringIO()
    Console(out, io.StringIO(), is_terminal=True).write_line(HOSTILE)
    assert out.getvalue() == HOSTILE + "\n"


def test_messages_have_no_control_characters() -> None:
    talk = TerminalStream()
    console = Console(TerminalStream(), talk, is_terminal=True)
    console.print_message(HOSTILE)
    console.show_error(HOSTILE)
    assert talk.getvalue() == 2 * (HARMLESS + "\n")


def test_wait_messages_have_no_control_characters(timers: list[ManualTimer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    talk = TerminalStream()
    with Console(TerminalStream(), talk, is_terminal=True, timer=ManualTimer).show_waiting("job \x1b[2J"):
        timers[0].act()
    assert "\x1b[2J" not in talk.getvalue()
    assert "job \\x1b[2J" in talk.getvalue()


def test_quick_work_is_not_reported(timers: list[ManualTimer]) -> None:
    talk = io.StringIO()
    with at_terminal(io.StringIO(), talk).report_if_slow("starting"):
        pass
    assert talk.getvalue() == ""
    assert timers[0].cancelled


def test_progress_is_not_written_to_a_file(timers: list[ManualTimer]) -> None:
    talk = io.StringIO()
    with console(io.StringIO(), talk).report_if_slow("starting"):
        assert not timers
    assert talk.getvalue() == ""


def test_long_work_is_reported_with_its_end(timers: list[ManualTimer]) -> None:
    out, talk = io.StringIO(), io.StringIO()
    with at_terminal(out, talk).report_if_slow("starting"):
        timers[0].act()
        assert talk.getvalue() == "starting ...\n"
    assert talk.getvalue().split("\n")[1].startswith("starting: done after ")
    assert out.getvalue() == ""


def test_failed_long_work_ends_with_its_error(timers: list[ManualTimer]) -> None:
    talk = io.StringIO()
    with pytest.raises(ValueError, match="no"), at_terminal(io.StringIO(), talk).report_if_slow("starting"):
        timers[0].act()
        raise ValueError("no")
    assert talk.getvalue() == "starting ...\n"
    assert timers[0].cancelled


def test_wait_line_never_wraps_and_shows_the_current_step(
    timers: list[ManualTimer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("TERM", "xterm")
    talk, doing = io.StringIO(), iter(["", "starting the engine"])
    with Console(io.StringIO(), talk, is_terminal=True, timer=ManualTimer).show_waiting("Waiting", lambda: next(doing)):
        timers[0].act()
        timers[1].act()
    assert talk.getvalue().split("\r\x1b[K") == ["", "Waiting ... 0 s", "Waiting: start… ... 0 s", ""]


def test_simple_terminal_gets_no_special_characters(timers: list[ManualTimer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "dumb")
    talk = io.StringIO()
    with Console(io.StringIO(), talk, is_terminal=True, timer=ManualTimer).show_waiting("Waiting"):
        timers[0].act()
    assert talk.getvalue() == f"\r{' ' * 19}\rWaiting ... 0 s\r{' ' * 19}\r"


def test_wait_at_a_terminal_is_shown_until_its_end(timers: list[ManualTimer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out, talk = io.StringIO(), io.StringIO()
    with Console(out, talk, is_terminal=True, timer=ManualTimer).show_waiting("suspending orders"):
        assert talk.getvalue() == ""
        timers[0].act()
        assert talk.getvalue() == "\r\x1b[Ksuspending orders ... 0 s"
        timers[1].act()
    assert talk.getvalue().endswith("... 0 s\r\x1b[K")
    timers[2].act()  # too late
    assert talk.getvalue().endswith("\r\x1b[K")
    assert (out.getvalue(), timers[2].cancelled) == ("", True)


def test_quick_waits_and_closed_streams_show_nothing(timers: list[ManualTimer]) -> None:
    talk = io.StringIO()
    with Console(io.StringIO(), talk, is_terminal=True, timer=ManualTimer).show_waiting("suspending"):
        pass
    with console(io.StringIO(), talk).show_waiting("suspending"):
        pass
    assert (talk.getvalue(), len(timers)) == ("", 1)


class InterruptedTimer(ManualTimer):
    """A timer that is interrupted by Ctrl-C when it has just begun."""

    def start(self) -> None:
        super().start()
        raise KeyboardInterrupt


def test_early_ctrl_c_leaves_no_wait_message(timers: list[ManualTimer]) -> None:
    talk = io.StringIO()
    interrupted = Console(io.StringIO(), talk, is_terminal=True, timer=InterruptedTimer)
    for waited in (interrupted.show_waiting("suspending"), interrupted.report_if_slow("starting")):
        with pytest.raises(KeyboardInterrupt), waited:
            pass
    timers[0].act()  # too late
    assert talk.getvalue() == ""
    assert timers[1].cancelled


def test_a_closed_reader_raises_output_closed() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as out:
        lost = Console(out, out, is_terminal=False)
        lost.write_line("line")
        with pytest.raises(OutputClosed):
            lost.flush()
        lost.discard_output()
        lost.flush()


PROGRAM = "from jetsql.output.console import process_console\nc = process_console()\n"


def test_closed_streams_are_no_streams() -> None:
    code = PROGRAM + "c.write_line('x'); c.print_message('x'); c.flush()"
    closed = ["sh", "-c", 'exec "$0" -c "$1" >&- 2>&-', sys.executable, code]
    assert subprocess.run(closed, timeout=60, check=False).returncode == 0


def test_no_character_is_too_much_for_the_output() -> None:
    code = PROGRAM + "c.write_line('a\\rb \\u6771 \\ud800'); c.flush()"
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True, env=environ)
    assert ended.stdout == "a\rb 東 \\ud800\n".encode()
