"""Unexpected errors in the shell's background work."""

from __future__ import annotations

import threading

from jetsql.client.background_threads import BackgroundErrors, run_until_stopped


def test_failure_is_reported_once_and_work_continues() -> None:
    messages: list[str] = []
    troubles, over = BackgroundErrors(messages.append), threading.Event()
    turns = iter([ValueError("no\nnumber"), ValueError("again"), None, None])

    def turn() -> None:
        error = next(turns, over)
        if error is over:
            over.set()
        elif isinstance(error, Exception):
            raise error

    run_until_stopped(turn, over, lambda error: troubles.record("Reading", error), pause=0)
    assert messages == ["Reading failed and is retried: ValueError: no number. Enter .errors for details."]
    assert next(turns, None) is None
    empty, head, *trace = troubles.details()
    assert empty == ""
    assert head.startswith("Reading failed in the background at ")
    assert head.endswith(", 2 times so far: ValueError: again")
    assert trace[-1] == "  ValueError: again"


def test_success_is_not_reported() -> None:
    assert BackgroundErrors(lambda words: None).details() == []
