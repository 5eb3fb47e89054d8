"""Generate the events of Nexmark: persons, their auctions, and bids, as lines of JSON.

The proportions, the order and the hot keys are those of the public generator of Nexmark: of 50 events, the first is a
person, three are auctions, and 46 are bids. A seed gives the same files always. Two things differ, so that every query
has one correct result: no two events have the same time, and no two bids of an auction have the same price.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PERSON, AUCTION, BID = 0, 1, 2
_AUCTIONS_IN_GROUP = 3
_GROUP = 50
_FIRST_ID = 1000
_FIRST_CATEGORY = 10
_CATEGORIES = 5
_HOT = 100
"""The distance between hot auctions, sellers and bidders."""
_LEAD = 10
"""The number of persons and auctions that events refer to before they exist."""
_AUCTIONS_IN_FLIGHT = 100
_ACTIVE_PERSONS = 1000
_CHANNELS = 10_000
_JITTER_MICROS = 1_500_000
_MIDNIGHT = 1_700_006_400_000_000
"""A midnight in UTC, in microseconds. It divides the events, because some queries group by day."""
_CLOSING_TIME = "2100-01-01T00:00:00Z"
_MODIFIED = 1_700_000_000
"""The modification time of the first file, in seconds. Spark reads the oldest file first."""
_PRICE_BITS = 30
_STATES = (
    ("AZ", "Phoenix"),
    ("CA", "Los Angeles"),
    ("CA", "San Francisco"),
    ("ID", "Boise"),
    ("OR", "Portland"),
    ("OR", "Bend"),
    ("WA", "Redmond"),
    ("WA", "Seattle"),
    ("WY", "Kent"),
    ("WY", "Cheyenne"),
)
_FIRST_NAMES = ("Ada", "Ben", "Cora", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon", "Kim")
_LAST_NAMES = ("Abel", "Birch", "Cole", "Drew", "Ellis", "Frost", "Gray", "Hart", "Ives")
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Events:
    """A set of events."""

    count: int
    """The number of events, without the three closing events."""
    seed: int = 1
    """The seed of every random value."""
    rate: int = 1000
    """The number of events in one second of event time."""
    files: int = 10
    """The number of files, without the file of the closing events."""

    def write(self, folder: Path) -> None:
        """Write the files. The last one contains a person, an auction and a bid of the year 2100.

        These close every window. The views of the queries leave them out.
        """
        folder.mkdir(parents=True)
        lines = list(_Generator(self).lines())
        for number in range(self.files):
            part = lines[number * self.count // self.files : (number + 1) * self.count // self.files]
            _write(folder, number, part)
        _write(folder, self.files, list(_closing_events()))


def _write(folder: Path, number: int, lines: Sequence[str]) -> None:
    path = folder / f"{number:04d}.json"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    os.utime(path, (_MODIFIED + number, _MODIFIED + number))


class _Generator:
    """The values of one set of events."""

    def __init__(self, events: Events) -> None:
        self._random = np.random.default_rng(events.seed)
        self._events = events
        self._numbers = np.arange(events.count)
        self._epochs = self._numbers // _GROUP
        self._offsets = self._numbers % _GROUP
        self._last_auctions = np.maximum(
            self._epochs * _AUCTIONS_IN_GROUP + np.clip(self._offsets - 1, -1, _AUCTIONS_IN_GROUP - 1), 0
        )
        self._micros = self._unique_times()
        self._extras = self._words(997, 60)

    def lines(self) -> Iterator[str]:
        """Yield the events in their order."""
        times = self._text(self._micros)
        persons, auctions, bids = self._persons(times), self._auctions(times), self._bids(times)
        for offset in self._offsets.tolist():
            if offset == 0:
                yield next(persons)
            elif offset <= _AUCTIONS_IN_GROUP:
                yield next(auctions)
            else:
                yield next(bids)

    def _persons(self, times: list[str]) -> Iterator[str]:
        [chosen] = np.nonzero(self._offsets == 0)
        size = len(chosen)
        places = self._draw(len(_STATES), size).tolist()
        first, last = self._draw(len(_FIRST_NAMES), size).tolist(), self._draw(len(_LAST_NAMES), size).tolist()
        cards = self._draw(10**16, size).tolist()
        for index, number in enumerate(chosen.tolist()):
            state, city = _STATES[places[index]]
            name, surname = _FIRST_NAMES[first[index]], _LAST_NAMES[last[index]]
            yield (
                f'{{"event_type":{PERSON},"person":{{"id":{_FIRST_ID + index},"name":"{name} {surname}",'
                f'"emailAddress":"{name}.{surname}{index}@example.com","creditCard":"{cards[index]:016d}",'
                f'"city":"{city}","state":"{state}","dateTime":"{times[number]}","extra":"{self._extra(number)}"}}}}'
            )

    def _auctions(self, times: list[str]) -> Iterator[str]:
        [chosen] = np.nonzero((self._offsets >= 1) & (self._offsets <= _AUCTIONS_IN_GROUP))
        size = len(chosen)
        persons = self._epochs[chosen]
        hot = self._draw(4, size) > 0
        sellers = (np.where(hot, persons // _HOT * _HOT, self._active_persons(persons)) + _FIRST_ID).tolist()
        categories = (self._draw(_CATEGORIES, size) + _FIRST_CATEGORY).tolist()
        prices, reserves = self._prices(size), self._prices(size)
        flight = _AUCTIONS_IN_FLIGHT * _GROUP // _AUCTIONS_IN_GROUP * 1_000_000 // self._events.rate
        expires = self._text(self._micros[chosen] + 1 + self._draw(2 * flight, size))
        for index, number in enumerate(chosen.tolist()):
            yield (
                f'{{"event_type":{AUCTION},"auction":{{"id":{_FIRST_ID + index},"itemName":"item {index % 977}",'
                f'"description":"{self._extra(number + 1)}","initialBid":{prices[index]},'
                f'"reserve":{prices[index] + reserves[index]},"dateTime":"{times[number]}",'
                f'"expires":"{expires[index]}","seller":{sellers[index]},"category":{categories[index]},'
                f'"extra":"{self._extra(number)}"}}}}'
            )

    def _bids(self, times: list[str]) -> Iterator[str]:
        [chosen] = np.nonzero(self._offsets > _AUCTIONS_IN_GROUP)
        size = len(chosen)
        last, persons = self._last_auctions[chosen], self._epochs[chosen]
        lowest = np.maximum(last - _AUCTIONS_IN_FLIGHT, 0)
        any_auction = lowest + self._random.integers(0, last - lowest + 1 + _LEAD)
        auctions = np.where(self._draw(2, size) > 0, last // _HOT * _HOT, any_auction) + _FIRST_ID
        hot = self._draw(4, size) > 0
        bidders = np.where(hot, persons // _HOT * _HOT + 1, self._active_persons(persons)) + _FIRST_ID
        prices = _unique_prices(auctions, np.asarray(self._prices(size))).tolist()
        channels = self._channels()
        kinds = self._draw(2 * _CHANNELS, size).tolist()  # half of the bids come over a hot channel
        for index, (number, auction, bidder) in enumerate(
            zip(chosen.tolist(), auctions.tolist(), bidders.tolist(), strict=True)
        ):
            channel, url = channels[kinds[index]]
            yield (
                f'{{"event_type":{BID},"bid":{{"auction":{auction},"bidder":{bidder},"price":{prices[index]},'
                f'"channel":"{channel}","url":"{url}","dateTime":"{times[number]}",'
                f'"extra":"{self._extra(number)}"}}}}'
            )

    def _channels(self) -> list[tuple[str, str]]:
        """Return names and URLs. In the second half are the hot ones, which have no `channel_id`."""
        words = self._words(3 * _CHANNELS, 5)
        ids = self._random.permutation(_CHANNELS).tolist()
        with_id = (self._draw(10, _CHANNELS) > 0).tolist()

        def url(number: int) -> str:
            return "https://auctions.example/" + "/".join(words[3 * number : 3 * number + 3]) + "/item.htm?query=1"

        others = [
            (f"channel-{number}", url(number) + (f"&channel_id={ids[number]}" if with_id[number] else ""))
            for number in range(_CHANNELS)
        ]
        hot = [(name, url(number)) for number, name in enumerate(_HOT_CHANNELS)]
        return others + [hot[number % len(hot)] for number in range(_CHANNELS)]

    def _active_persons(self, last: Numbers) -> Numbers:
        """Return one of the newest persons for each event, or one that does not exist yet."""
        active = np.minimum(last + 1, _ACTIVE_PERSONS)
        return np.asarray(last + 1 - active + self._random.integers(0, active + _LEAD), dtype=np.int64)

    def _prices(self, size: int) -> list[int]:
        """Return prices between 100 and 100 million, as many of each order of magnitude."""
        prices: list[int] = np.round(10 ** (self._random.random(size) * 6) * 100).astype(np.int64).tolist()
        return prices

    def _unique_times(self) -> Numbers:
        """Return the times of the events in microseconds: at most 1.5 s out of order, and no time twice."""
        due = (self._numbers - self._events.count // 2) * 1_000_000 // self._events.rate
        times = _MIDNIGHT + due - self._draw(_JITTER_MICROS, self._events.count)
        return _unique(times)

    def _draw(self, end: int, size: int) -> Numbers:
        return self._random.integers(0, end, size)

    def _words(self, count: int, length: int) -> list[str]:
        letters = self._random.integers(ord("a"), ord("z") + 1, count * length).astype(np.uint8).tobytes().decode()
        return [letters[start : start + length] for start in range(0, count * length, length)]

    def _extra(self, number: int) -> str:
        return self._extras[number * 31 % len(self._extras)]

    def _text(self, micros: Numbers) -> list[str]:
        texts: list[str] = np.datetime_as_string(micros.astype("datetime64[us]"), timezone="UTC").tolist()
        return texts


def _unique(values: Numbers) -> Numbers:
    """Raise equal values until all are different, and as few others as possible."""
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values))
    unique = np.empty_like(values)
    unique[order] = np.maximum.accumulate(values[order] - steps) + steps
    return unique


def _unique_prices(auctions: Numbers, prices: Numbers) -> Numbers:
    """Return prices of which no auction has two equal ones."""
    return np.asarray(_unique((auctions << _PRICE_BITS) + prices) & ((1 << _PRICE_BITS) - 1), dtype=np.int64)


def _closing_events() -> Iterator[str]:
    # No value is NULL: Spark applies the conditions of a query on other columns before the watermark.
    values: tuple[dict[str, object], ...] = (
        {"id": 0, "name": "", "emailAddress": "", "creditCard": "", "city": "", "state": ""},
        {
            "id": 0,
            "itemName": "",
            "description": "",
            "initialBid": 1,
            "reserve": 1,
            "expires": _CLOSING_TIME,
            "seller": 0,
            "category": _FIRST_CATEGORY,
        },
        {"auction": 0, "bidder": 0, "price": 1, "channel": "", "url": ""},
    )
    for event_type, (name, fields) in enumerate(zip(("person", "auction", "bid"), values, strict=True)):
        yield json.dumps({"event_type": event_type, name: {**fields, "dateTime": _CLOSING_TIME, "extra": ""}})
