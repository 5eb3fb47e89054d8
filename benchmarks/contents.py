"""Compare the rows that the runs of a benchmark have written, and not only their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True)
class Contents:
    """The rows of one run, in any order."""

    rows: int
    """The row count."""
    digest: int
    """The sum of the 64-bit hashes of all rows, which a lost, repeated or changed row changes."""


def contents(frame: Any) -> Contents:
    """Return the contents of a Spark DataFrame. Every column of every row is read once."""
    parts = ", ".join(f"`{name}`, `{name}` IS NULL" for name in frame.columns)  # the hash alone ignores NULL
    hashes = frame.selectExpr(f"CAST(xxhash64({parts}) AS DECIMAL(38, 0)) AS hash")
    [(rows, digest)] = hashes.selectExpr("count(*)", "coalesce(sum(hash), 0)").collect()
    return Contents(int(rows), int(digest))


def require_equal(written: Mapping[str, Contents]) -> None:
    """Raise ClickException with the contents of each run unless all runs have written the same rows."""
    if len(set(written.values())) > 1:
        counts = {each.rows for each in written.values()}
        difference = "different numbers of rows" if len(counts) > 1 else "different rows"
        runs = ", ".join(f"{name}: {each.rows} rows, digest {each.digest:x}" for name, each in written.items())
        raise click.ClickException(f"The runs wrote {difference}: {runs}.")
