"""Unexpected errors in the shell's background work."""

from __future__ import annotations

import threading

from jetsql.client.background_threads import BackgroundErrors, run_until_stopped


def test_it_is_told_once_and_goes_on() -> None:
    told: list[str] = []
    troubles, over = BackgroundErrors(told.append), threading.Event()
    turns = iter([ValueError("no\nnumber"), ValueError("again"), None, None])

    def turn() -> None:
        error = next(turns, over)
        if error is over:
            over.set()
        elif isinstance(error, Exception):
            raise error

    run_until_stopped(turn, over, lambda error: troubles.record("Looking", error), pause=0)
    assert told == ["Looking failed and is retried: ValueError: no number. Enter .errors for details."]
    assert next(turns, None) is None
    empty, head, *trace = troubles.details()
    assert empty == ""
    assert head.startswith("Looking failed in the background at ")
    assert head.endswith(", 2 times so far: ValueError: again")
    assert trace[-1] == "  ValueError: again"


def test_nothing_is_told_of_what_goes_well() -> None:
    assert BackgroundErrors(lambda words: None).details() == []
