"""The gate that a backup closes: no sink writes meanwhile, and it opens again whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from jetsql.engine.checkpoints.write_gate import WriteGate
from jetsql.errors import EngineError, StatementError
from jetsql.request import Cancellation, cancellable
from tests.support.golden_reports import raises


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def test_a_backup_waits_for_writes_and_writes_wait_for_it(threads: ThreadPoolExecutor) -> None:
    gate, events = WriteGate(), list[str]()
    writing, closing, may_end = threading.Event(), threading.Event(), threading.Event()

    def write() -> None:
        with gate.writing("first"):
            writing.set()
            may_end.wait(60)
            events.append("first written")

    def back_up() -> None:
        closing.set()
        with gate.closed(60):
            events.append("closed")
            threads.submit(write_next)
            events.append("open")

    def write_next() -> None:
        with gate.writing("second"):
            events.append("second written")

    first = threads.submit(write)
    assert writing.wait(60)
    backup = threads.submit(back_up)
    assert closing.wait(60)
    may_end.set()
    first.result()
    backup.result()
    threads.shutdown()
    assert events == ["first written", "closed", "open", "second written"]


def test_long_batches_are_named(threads: ThreadPoolExecutor) -> None:
    gate = WriteGate()
    with gate.writing("b"), gate.writing("a"), gate.writing("a"), raises(EngineError), gate.closed(0.01):
        raise AssertionError("it did not close")
    with gate.closed(0.01):
        pass
    with gate.writing("a"):
        pass


def test_a_cancelled_backup_does_not_wait(threads: ThreadPoolExecutor) -> None:
    gate, token, began = WriteGate(), Cancellation(), threading.Event()

    def back_up() -> None:
        with cancellable(token), gate.closed(60):
            raise AssertionError("it did not close")

    with gate.writing("a"):
        backup = threads.submit(lambda: (began.set(), back_up()))
        assert began.wait(60)
        token.cancel("The engine is stopping.")
        with pytest.raises(StatementError, match="stopping"):
            backup.result(60)
    with gate.writing("a"):
        pass


def test_error_opens_the_gate(threads: ThreadPoolExecutor) -> None:
    gate = WriteGate()
    with pytest.raises(OSError), gate.closed(1), gate.copying():
        assert gate.is_copying
        raise OSError
    assert not gate.is_copying
    with gate.writing("a"):
        pass
