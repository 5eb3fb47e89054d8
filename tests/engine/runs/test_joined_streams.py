"""Joins of streams that Spark runs: a job returns what batch returns in any order of arrival, or it is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import Sql
from tests.support.hypothesis_profiles import examples
from tests.support.tables.json_files import create_stream

pytestmark = pytest.mark.spark

BEGIN: Final = datetime(2026, 1, 1)
MARK: Final = " WATERMARK ts DELAY OF INTERVAL 60 SECONDS"
NAMES: Final = ("a", "b", "c")
BOUND: Final = "{1}.ts BETWEEN {0}.ts - INTERVAL 30 SECONDS AND {0}.ts + INTERVAL 60 SECONDS"
CONDITIONS: Final = {
    "equal times": "a.ts = b.ts",
    "bound": BOUND.format("a", "b"),
    "after": "b.ts >= a.ts",
    "before": "b.ts <= a.ts + INTERVAL 10 SECONDS",
    "equal to another": "a.ts = b.o",
    "another equal": "a.o = b.ts",
    "both equal to others": "a.ts = b.o AND a.o = b.ts",
    "bound to another": "b.ts BETWEEN a.o - INTERVAL 30 SECONDS AND a.o + INTERVAL 60 SECONDS",
    "another bound": "b.o BETWEEN a.ts - INTERVAL 30 SECONDS AND a.ts + INTERVAL 60 SECONDS",
    "no time": "a.k = b.k",
}
"""Conditions between two streams with the times `ts`, which can have a WATERMARK, and `o`, which has none."""

KINDS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "NOT EXISTS")
MARKED: Final = ({"a", "b", "c"}, {"a", "c"}, {"b", "c"})


def joined(kind: str, condition: str) -> str:
    on = f"a.k = b.k AND {CONDITIONS[condition]}"
    if kind == "NOT EXISTS":
        return f"SELECT a.id AS x, -1 AS y FROM {{a}} AS a WHERE NOT EXISTS (SELECT * FROM {{b}} AS b WHERE {on})"
    y = "-1" if kind == "LEFT SEMI JOIN" else "b.id"
    return f"SELECT a.id AS x, {y} AS y FROM {{a}} AS a {kind} {{b}} AS b ON {on}"


def counted(kind: str, condition: str, side: str = "a") -> str:
    """Return a count of the rows of a join by their times."""
    rows = f"SELECT {side}.ts FROM {{a}} AS a {kind} {{b}} AS b ON a.k = b.k AND {CONDITIONS[condition]}"
    return f"SELECT CAST(window.start AS STRING) AS x, count(*) AS y FROM ({rows}) GROUP BY window(ts, '1 minute')"


def joined_again(kind: str, condition: str) -> str:
    """Return a join of a join with a third stream."""
    first = f"SELECT a.*, b.id AS other FROM {{a}} AS a {kind} {{b}} AS b ON a.k = b.k AND {CONDITIONS[condition]}"
    bound = BOUND.format("a", "c")
    y = "coalesce(other, -1) * 1000 + coalesce(c.id, -1)"
    return f"SELECT a.id AS x, {y} AS y FROM ({first}) AS a {kind} {{c}} AS c ON a.k = c.k AND {bound}"


def with_nulls(kind: str) -> str:
    side = "(SELECT *, nullif(k, 1) AS n FROM {})"
    a, b = (side.format(f"{{{name}}}") for name in "ab")
    return f"SELECT a.id AS x, b.id AS y FROM {a} AS a {kind} {b} AS b ON a.n = b.n AND {CONDITIONS['bound']}"


class Streams:
    """Three streams with rows in random order: not later than the watermark where there is one, otherwise at any time.

    marked: the streams with a WATERMARK
    """

    def __init__(self, sql: Sql, folder: Path, seed: object, marked: set[str]) -> None:
        self.sql, self.marked = sql, marked
        chosen = random.Random(f"{seed}{sorted(marked)}")
        folder.mkdir()
        for number, name in enumerate(NAMES):
            rows = list(_rows(chosen, 100 * number, name in marked))
            cuts = sorted(chosen.randrange(len(rows) + 1) for _ in range(4))
            parts = [rows[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
            last = [{"id": None, "k": 99, "ts": f"2100-01-0{day}", "o": f"{BEGIN}"} for day in (1, 2)]
            columns = "id INT, k INT, ts TIMESTAMP, o TIMESTAMP"
            create_stream(sql, folder / name, columns, [*parts, *([row] for row in last)])

    def streamed(self, query: str) -> str:
        return query.format(**{name: f"STREAM {name}{MARK * (name in self.marked)}" for name in NAMES})

    def compare(self, queries: Sequence[str]) -> int:
        """Run queries as jobs, compare them with batch, and return how many were not refused."""
        jobs = [number for number, query in enumerate(queries) if self._start(number, query)]
        for number in jobs:
            self.sql(f"WAIT FOR JOB j{number} UNTIL COMPLETED TIMEOUT 300")
            query = queries[number]
            written, whole = (self._rows(text) for text in (f"SELECT * FROM r{number}", _batch(query)))
            found = f"missing: {whole - written}, extra: {written - whole}, of {self.streamed(query)}"
            assert written == whole, found
        for number in range(len(queries)):
            self.sql(f"DROP JOB IF EXISTS j{number}")
            self.sql(f"DROP TABLE r{number}")
        return len(jobs)

    def _start(self, number: int, query: str) -> bool:
        self.sql(f"CREATE TABLE r{number} USING parquet AS {_batch(query)} LIMIT 0")
        text = f"CREATE JOB j{number} OPTIONS ('trigger' = 'availableNow') AS INSERT INTO r{number} "
        try:
            self.sql(text + self.streamed(query))
        except Exception as error:
            assert self.sql.engine.error(error, text).condition == "JETSQL.NO_OUTPUT_MODE", error
            return False
        return True

    def _rows(self, text: str) -> Counter[Any]:
        """Return rows without those that close the others."""
        return Counter(
            (x, y) for x, y in self.sql(text) if not str(x).startswith("2100") and (x is not None or (y or -1) > 0)
        )


def _rows(chosen: random.Random, first: int, in_order: bool) -> Iterator[dict[str, object]]:
    """Yield rows in their order of arrival. in_order: whether each comes within the delay of the watermark"""
    times = [chosen.randrange(60) * 10 for _ in range(40)]
    arrivals = {n: at + chosen.randrange(50) if in_order else chosen.random() for n, at in enumerate(times)}
    for n in sorted(arrivals, key=lambda n: arrivals[n]):
        at, other = (f"{BEGIN + timedelta(seconds=seconds)}" for seconds in (times[n], chosen.randrange(60) * 10))
        yield {"id": first + n, "k": chosen.randrange(3), "ts": at, "o": other}


def _batch(query: str) -> str:
    return query.format(a="a", b="b", c="c")


LOSING: Final = {
    "the partner is there, and the row is returned without it": ({"b"}, joined("LEFT JOIN", "equal times")),
    "the row is returned although a row matches": ({"b"}, joined("NOT EXISTS", "equal times")),
    "the partner has left the state": ({"a"}, joined("JOIN", "equal times")),
    "rows without a partner wait for ever": ({"a"}, joined("RIGHT JOIN", "bound")),
    "its state grows for ever": ({"b"}, joined("LEFT SEMI JOIN", "bound")),
    "an equal column has no WATERMARK": ({"a", "b"}, joined("JOIN", "equal to another")),
    "a bound column has no WATERMARK": ({"a", "b"}, joined("LEFT JOIN", "bound to another")),
    "the rows of one side wait for ever": ({"a", "b"}, joined("FULL JOIN", "before")),
    "a row waits for its partner until its window is closed": ({"a", "b"}, counted("JOIN", "no time")),
    "a row waits for its first partner until no second one matches": ({"a", "b", "c"}, joined_again("JOIN", "no time")),
}
"""Queries that lose rows, with the streams that have a WATERMARK."""


def test_a_join_that_would_lose_rows_is_refused(sql: Sql, tmp_path: Path) -> None:
    streams = Streams(sql, tmp_path / "streams", 1, {"a", "b", "c"})
    sql("CREATE TABLE found (x STRING, y INT) USING parquet")
    for reason, (marked, query) in LOSING.items():
        streams.marked = marked
        error = sql.error(f"EXPLAIN CREATE JOB j AS INSERT INTO found {streams.streamed(query)}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE", reason
        assert "needs a WATERMARK on both sides" in error.message, reason
    shown = sql.error(f"{streams.streamed(joined('LEFT JOIN', 'another equal'))} LIMIT 1")
    assert shown.condition == "JETSQL.UNSUPPORTED_QUERY"


def test_hint_of_a_refused_join_adds_watermarks(sql: Sql, tmp_path: Path) -> None:
    streams = Streams(sql, tmp_path / "streams", 1, {"a"})
    sql("CREATE TABLE found (x STRING, y INT) USING parquet")
    error = sql.error(f"CREATE JOB j AS INSERT INTO found {streams.streamed(joined('LEFT JOIN', 'bound'))}")
    _, _, followed = error.hint.partition("for b: ")
    assert "STREAM b WATERMARK ts" in followed
    assert "append" in sql.value(f"EXPLAIN CREATE JOB j AS {followed}")


def test_joins_return_what_batch_returns(sql: Sql, tmp_path: Path) -> None:
    """Compare joins; the first is of a stream without a WATERMARK, whose rows come at any time."""
    queries = [joined("JOIN", "bound"), counted("LEFT JOIN", "bound"), joined_again("LEFT JOIN", "bound")]
    assert Streams(sql, tmp_path / "one", 1, {"a", "c"}).compare(queries[:1]) == 1
    for name in NAMES:
        sql(f"DROP TABLE {name}")
    assert Streams(sql, tmp_path / "both", 1, {"a", "b", "c"}).compare([*queries[1:], with_nulls("FULL JOIN")]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("marked", MARKED, ids=lambda marked: " ".join(sorted(marked)))
def test_random_joins_return_what_batch_returns_or_are_refused(sql: Sql, tmp_path: Path, marked: set[str]) -> None:
    queries = [joined(kind, condition) for kind, condition in product(KINDS, CONDITIONS)]
    queries += [counted(kind, name, side) for kind, name, side in product(KINDS[:2], CONDITIONS, "ab")]
    queries += [joined_again(kind, name) for kind, name in product(KINDS[:2], CONDITIONS)]
    queries += [with_nulls(kind) for kind in KINDS[:4]]
    chosen = random.Random(1)
    accepted = 0
    for seed in range(examples(1)):
        streams = Streams(sql, tmp_path / f"{seed}", seed, marked)
        some = chosen.sample(queries, 20)
        accepted += sum(streams.compare(some[begin : begin + 4]) for begin in range(0, len(some), 4))
        for name in NAMES:
            sql(f"DROP TABLE {name}")
    assert accepted
