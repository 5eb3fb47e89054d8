"""What the tables must hold, worked out from the source with pandas alone.

Each fact is a table of its own: a key, and the numbers that belong to it. Two tables are the same when every key has
the same numbers in both, so a difference can be told by the keys that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pandas as pd

WATERMARK = timedelta(hours=2)
HOUR = timedelta(hours=1)

Key = tuple[object, ...]
Facts = Mapping[Key, tuple[int, ...]]


@dataclass(frozen=True)
class Hours:
    """Delays by (hour in seconds since 1970, carrier): flights, landed, over 15 minutes late, minutes of delay.

    closed: those that must be in the table. open: those that must not be yet.
    """

    closed: Facts
    open: Facts


def hours(flights: pd.DataFrame) -> Hours:
    """An hour is closed when the watermark (the latest departure seen, less the delay) has reached its end."""
    hour = flights["scheduled"].dt.floor("h")
    late = flights["arr_delay"].gt(15).fillna(False)
    groups = flights.assign(hour=hour, late=late).groupby(["hour", "carrier"])
    table = groups.agg(
        flights=("carrier", "size"), landed=("arr_delay", "count"), late=("late", "sum"), minutes=("arr_delay", "sum")
    )
    ends = table.index.get_level_values("hour") + HOUR
    is_closed = ends <= flights["scheduled"].max() - WATERMARK
    return Hours(_by_hour(table[is_closed]), _by_hour(table[~is_closed]))


def _by_hour(table: pd.DataFrame) -> Facts:
    return {(int(hour.timestamp()), carrier): _numbers(row) for (hour, carrier), row in _rows(table)}


def landed_by_day(flights: pd.DataFrame) -> Facts:
    """(day,): flights that landed, the sum of their delays in minutes."""
    return _facts(_landed(flights).groupby("day").agg(rows=("carrier", "size"), minutes=("arr_delay", "sum")))


def landed_by_names(flights: pd.DataFrame, airlines: pd.DataFrame, airports: pd.DataFrame) -> Facts:
    """(airline, destination): flights that landed. A destination that is on no list is None."""
    named = _landed(flights).merge(airlines, on="carrier").merge(airports, left_on="dest", right_on="faa", how="left")
    counts = Counter(
        zip(named["name_x"], named["name_y"].astype(object).where(named["name_y"].notna(), None), strict=True)
    )
    return {key: (count,) for key, count in counts.items()}


def _landed(flights: pd.DataFrame) -> pd.DataFrame:
    return flights[flights["arr_delay"].notna()]


def rejected(flights: pd.DataFrame) -> Facts:
    """(reason,): flights."""
    missing = flights[flights["arr_delay"].isna()]
    reason = pd.Series("departure and arrival, but no air time and delay", index=missing.index)
    reason[missing["arr_time"].isna()] = "departure, but no arrival"
    reason[missing["dep_time"].isna()] = "no departure"
    return _facts(missing.groupby(reason).agg(rows=("carrier", "size")))


def top_routes(flights: pd.DataFrame, count: int = 10) -> Facts:
    """(origin, dest) of the busiest routes: flights, miles."""
    routes = flights.groupby(["origin", "dest"]).agg(rows=("carrier", "size"), miles=("distance", "sum")).reset_index()
    top = routes.sort_values(["rows", "origin", "dest"], ascending=[False, True, True]).head(count)
    return _facts(top.set_index(["origin", "dest"]))


def facts(rows: Iterable[tuple[object, ...]], key_columns: int) -> Facts:
    """The rows of a query. A key that comes twice has the sum of both, so that a row too many shows."""
    found: dict[Key, tuple[int, ...]] = {}
    for row in rows:
        key, numbers = row[:key_columns], _numbers(row[key_columns:])
        before = found.get(key, (0,) * len(numbers))
        found[key] = tuple(map(sum, zip(before, numbers, strict=True)))
    return found


def differences(expected: Facts, found: Facts) -> list[str]:
    """One line for each key whose numbers differ."""
    keys = sorted(expected.keys() | found.keys(), key=str)
    return [
        f"{_words(key)}: {_words(found.get(key))} in the table, {_words(expected.get(key))} in the source"
        for key in keys
        if expected.get(key) != found.get(key)
    ]


def _facts(table: pd.DataFrame) -> Facts:
    return {key if isinstance(key, tuple) else (key,): _numbers(row) for key, row in _rows(table)}


def _rows(table: pd.DataFrame) -> zip:
    return zip(table.index, table.itertuples(index=False, name=None), strict=True)


def _numbers(row: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(int(value) for value in row)


def _words(values: tuple[object, ...] | None) -> str:
    return "nothing" if values is None else ", ".join(str(value) for value in values)
