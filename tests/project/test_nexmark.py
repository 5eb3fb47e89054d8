"""The events of Nexmark, and the files of its queries."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nexmark.by_hand import REWRITES
from benchmarks.nexmark.events import AUCTION, BID, PERSON, Events
from benchmarks.nexmark.query import NAMES, load
from benchmarks.nexmark.throughput import MEASURED

KINDS = ("person", "auction", "bid")


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the events in the order of Spark's batches."""
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("nexmark") / "events"
    Events(5000, files=4).write(folder)
    return read(folder)


def test_seed_decides_the_files(tmp_path: Path) -> None:
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        Events(500, seed=seed).write(tmp_path / name)
    assert read(tmp_path / "first") == read(tmp_path / "again")
    assert read(tmp_path / "first") != read(tmp_path / "other")


def test_the_kinds_have_their_shares_and_their_order(events: list[dict[str, Any]]) -> None:
    kinds = [event["event_type"] for event in events]
    assert kinds[:50] == kinds[4950:5000] == [PERSON] + [AUCTION] * 3 + [BID] * 46
    assert Counter(kinds[:5000]) == {PERSON: 100, AUCTION: 300, BID: 4600}
    assert all(set(event) == {"event_type", KINDS[event["event_type"]]} for event in events)


def test_the_last_file_closes_the_windows_of_every_kind(events: list[dict[str, Any]]) -> None:
    assert [event["event_type"] for event in events[-3:]] == [PERSON, AUCTION, BID]
    for closing, usual in zip(events[-3:], (events[0], events[1], events[4]), strict=True):
        [(name, values)] = ((name, values) for name, values in closing.items() if name != "event_type")
        assert values["dateTime"] == "2100-01-01T00:00:00Z"
        assert values.keys() == usual[name].keys()
        assert None not in values.values()  # a join would remove the event before it advances the watermark


def test_no_order_is_ambiguous(events: list[dict[str, Any]]) -> None:
    times = [event[KINDS[event["event_type"]]]["dateTime"] for event in events[:-3]]
    assert len(set(times)) == len(times)
    assert times != sorted(times)
    assert min(times)[:10] < max(times)[:10], "the events are of two days"
    prices = [(event["bid"]["auction"], event["bid"]["price"]) for event in events[:-3] if event["event_type"] == BID]
    assert len(set(prices)) == len(prices)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_writes_to_its_own_sink(name: str) -> None:
    query = load(name)
    assert query.body.splitlines()[0].split()[-1] == name
    assert query.select.startswith("SELECT ")
    assert query.overwrites == (name in {"q4", "q6", "q9", "q12", "q15", "q16", "q17", "q18", "q19"})


def test_every_measured_query_that_overwrites_is_rewritten_by_hand() -> None:
    assert {name for name in MEASURED if load(name).overwrites} <= set(REWRITES)
