"""The queries: one file of SQL each, with the body of a job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "queries"
_SINK = re.compile(r"^INSERT (INTO|OVERWRITE TABLE) (q\d+)$", re.MULTILINE)
NAMES = tuple(f"q{number}" for number in range(24))
IN_FLINK_SQL = ("q5", "q7", "q8", "q11", "q13")
"""The queries that Flink writes with table functions of windows, or with FOR SYSTEM_TIME AS OF."""
KEYS = {
    "q4": "category",
    "q9": "id",
    "q15": "day",
    "q16": "channel, day",
    "q17": "auction, day",
    "q18": "auction, bidder",
    "q19": "auction, rank_number",
}
"""The columns that identify a row of a result whose rows change."""


@dataclass(frozen=True)
class Query:
    """One query."""

    name: str
    """The name of the query, of its sink and of its job."""
    body: str
    """The INSERT or SINK INTO statement."""
    keys: str = ""
    """The columns by which the rows of the sink are updated; empty for none."""

    @property
    def select(self) -> str:
        """Return the query of the INSERT statement, which starts on the line after the sink."""
        _, _, select = self.body.partition("\n")
        return select

    @property
    def overwrites(self) -> bool:
        """Return whether each batch replaces the rows of the sink."""
        return self.body.startswith("INSERT OVERWRITE")

    @property
    def partitions(self) -> str:
        """Return the partition columns of the sink; empty for none."""
        return "dt, hm" if self.name == "q10" else ""

    def into(self, sink: str) -> str:
        """Return the statement with another name of the sink."""
        verb, _, _ = self.body.partition(self.name)
        return f"{verb}{sink}\n{self.select}"

    def compared(self, relation: str) -> str:
        """Return a query for the part of a result that depends on the events alone."""
        if self.name == "q12":  # its windows are those of the clock
            return f"SELECT bidder, sum(bid_count) AS bid_count FROM {relation} GROUP BY bidder"
        return f"SELECT * FROM {relation}"


@cache
def load(name: str) -> Query:
    """Return a query. Raises ValueError when its file contains no INSERT statement for its sink."""
    return _load(_FOLDER, name)


@cache
def load_in_flink_sql(name: str) -> Query:
    """Return a query as it is written for Flink. Its sink and its job have a name of their own.

    Raises ValueError when its file contains no INSERT statement for its sink.
    """
    query = _load(_FOLDER / "flink", name)
    sink = f"{name}_in_flink_sql"
    return Query(sink, query.body.replace(name, sink, 1))


def load_with_keys(name: str) -> Query:
    """Return a query of `KEYS` that updates the rows of its sink. Its sink and its job have a name of their own."""
    sink = f"{name}_by_key"
    return Query(sink, f"SINK INTO {sink}\n{load(name).select}", KEYS[name])


def _load(folder: Path, name: str) -> Query:
    text = (folder / f"{name}.sql").read_text(encoding="utf-8").strip()
    match = _SINK.search(text)
    if match is None or match[2] != name:
        raise ValueError(f"{name}.sql has no line `INSERT INTO {name}` or `INSERT OVERWRITE TABLE {name}`.")
    return Query(name, text[match.start() :])
