"""The expected contents of the tables, computed from the source with pandas alone."""

from __future__ import annotations

import pandas as pd

from examples.verdict import Facts, numbers


def aircraft(flights: pd.DataFrame) -> Facts:
    """Return by (tailnum, airport of the latest landing): scheduled time of the flight in seconds, flights, miles."""
    landed = flights[flights["arr_delay"].notna()].sort_values(["scheduled", "flight"])
    table = landed.groupby("tailnum").agg(
        airport=("dest", "last"), since=("scheduled", "last"), flights=("flight", "size"), miles=("distance", "sum")
    )
    return {
        (tailnum, row.airport): numbers((row.since.timestamp(), row.flights, row.miles))
        for tailnum, row in zip(table.index, table.itertuples(index=False), strict=True)
    }


def airports(at: Facts) -> Facts:
    """Return by (airport,): the number of aircraft. at: the facts of `aircraft`."""
    counts = pd.Series([airport for _, airport in at]).value_counts()
    return {(airport,): (int(count),) for airport, count in counts.items()}


def inserted_once(at: Facts) -> Facts:
    """Return by (tailnum,): one insert. at: the facts of `aircraft`."""
    return {(tailnum,): (1,) for tailnum, _ in at}
