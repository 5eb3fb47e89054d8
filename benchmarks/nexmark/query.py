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


@dataclass(frozen=True)
class Query:
    """One query."""

    name: str
    """The name of the query, of its sink and of its job."""
    body: str
    """The INSERT statement."""

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


def _load(folder: Path, name: str) -> Query:
    text = (folder / f"{name}.sql").read_text(encoding="utf-8").strip()
    match = _SINK.search(text)
    if match is None or match[2] != name:
        raise ValueError(f"{name}.sql has no line `INSERT INTO {name}` or `INSERT OVERWRITE TABLE {name}`.")
    return Query(name, text[match.start() :])
