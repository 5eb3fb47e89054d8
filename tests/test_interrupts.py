"""Ctrl-C and SIGTERM: the effect of the first signal and of the second."""

import signal
from collections.abc import Iterator

import pytest

from jetsql.interrupts import SAME_INSTANT_SECONDS, Interrupts

STATUS = 130


class Life:
    """A process with a clock that the test turns: its messages and exit codes."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.left: list[int] = []
        self.now = 0.0
        self.interrupts = Interrupts(self.messages.append, STATUS, self.left.append, lambda: self.now)
        self.interrupts.install()


@pytest.fixture
def life() -> Iterator[Life]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    yield Life()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_first_signal_cancels_statements_and_stops_jobs_gracefully(life: Life, number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert life.interrupts.is_requested
    life.interrupts.begin_shutdown()
    assert life.messages == ["stopping the jobs ... (Ctrl-C again ends immediately)"]
    assert life.left == []


def test_a_second_signal_ends_the_process(life: Life) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    life.interrupts.begin_shutdown()
    life.now += 2 * SAME_INSTANT_SECONDS
    signal.raise_signal(signal.SIGINT)
    assert life.left == [STATUS]


def test_signals_in_the_same_instant_count_as_one(life: Life) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    assert life.left == []


def test_a_signal_while_stopping_breaks_nothing_off(life: Life) -> None:
    life.interrupts.begin_shutdown()
    assert life.messages == []
    signal.raise_signal(signal.SIGTERM)
    assert life.interrupts.is_requested
    assert len(life.messages) == 1
    life.now += 2 * SAME_INSTANT_SECONDS
    signal.raise_signal(signal.SIGTERM)
    assert life.left == [STATUS]


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    others = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        Life()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for number, handler in {signal.SIGHUP: before, **others}.items():
            signal.signal(number, handler)
