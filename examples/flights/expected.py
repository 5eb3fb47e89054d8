"""The expected contents of the tables, computed from the source with pandas alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pandas as pd

from examples.verdict import Facts, numbers

WATERMARK = timedelta(hours=2)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Hours:
    """Delays by (hour in seconds since 1970, carrier): flights, landed, over 15 minutes late, minutes of delay."""

    closed: Facts  # must be in the table
    open: Facts  # must not be in the table yet


def hours(flights: pd.DataFrame) -> Hours:
    """Return the delays by hour. The watermark (latest departure minus delay) closes an hour at its end."""
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
    return {(int(hour.timestamp()), carrier): numbers(row) for (hour, carrier), row in _rows(table)}


def landed_by_day(flights: pd.DataFrame) -> Facts:
    """Return by (day,): flights that landed, and the sum of their delays in minutes."""
    return _facts(_landed(flights).groupby("day").agg(rows=("carrier", "size"), minutes=("arr_delay", "sum")))


def landed_by_names(flights: pd.DataFrame, airlines: pd.DataFrame, airports: pd.DataFrame) -> Facts:
    """Return by (airline, destination): flights that landed. A destination without a name is None."""
    named = _landed(flights).merge(airlines, on="carrier").merge(airports, left_on="dest", right_on="faa", how="left")
    counts = Counter(
        zip(named["name_x"], named["name_y"].astype(object).where(named["name_y"].notna(), None), strict=True)
    )
    return {key: (count,) for key, count in counts.items()}


def _landed(flights: pd.DataFrame) -> pd.DataFrame:
    return flights[flights["arr_delay"].notna()]


def rejected(flights: pd.DataFrame) -> Facts:
    """Return by (reason,): flights without an arrival delay."""
    missing = flights[flights["arr_delay"].isna()]
    reason = pd.Series("departure and arrival, but no air time and delay", index=missing.index)
    reason[missing["arr_time"].isna()] = "departure, but no arrival"
    reason[missing["dep_time"].isna()] = "no departure"
    return _facts(missing.groupby(reason).agg(rows=("carrier", "size")))


def top_routes(flights: pd.DataFrame, count: int = 10) -> Facts:
    """Return by (origin, dest), for the busiest routes: flights and miles."""
    routes = flights.groupby(["origin", "dest"]).agg(rows=("carrier", "size"), miles=("distance", "sum")).reset_index()
    top = routes.sort_values(["rows", "origin", "dest"], ascending=[False, True, True]).head(count)
    return _facts(top.set_index(["origin", "dest"]))


def _facts(table: pd.DataFrame) -> Facts:
    return {key if isinstance(key, tuple) else (key,): numbers(row) for key, row in _rows(table)}


def _rows(table: pd.DataFrame) -> Iterable[tuple[Any, tuple[Any, ...]]]:
    return zip(table.index, table.itertuples(index=False, name=None), strict=True)
