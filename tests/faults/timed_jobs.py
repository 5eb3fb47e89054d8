"""The jobs of the crash matrix whose rows leave when the watermark has passed them, and the rows that each must write.

The expected rows are those of the same text as a batch query, as far as the watermark has passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.faults.jobs import MINUTE, SOURCE, Facts, Kind, Row, exactly, job_text
from tests.faults.source import ROWS_A_FILE, ids_in_minute

_WATERMARK: Final = "WATERMARK at DELAY OF INTERVAL 0 SECONDS"
_SHIFT_MINUTES: Final = 10
_LATE: Final = -1
_LATE_LEFT: Final = -2
_LATE_RIGHT: Final = -3


def _seconds(i: int, divisor: int = 1) -> int:
    """Return the time of an id in seconds after the first minute. divisor: that of `_shifted`"""
    return i // ROWS_A_FILE * 60 + i % 60 - i % divisor * _SHIFT_MINUTES * 60


def _is_late(i: int, divisor: int) -> bool:
    """Return whether an id is late: shifted, and not in the first two batches.

    A batch drops what the watermark of the batch before has passed, that of the rows up to the second last file.
    """
    return i % divisor > 0 and i >= 2 * ROWS_A_FILE


def _unmatched(facts: Facts) -> Iterable[Row]:
    """Return the ids without a later one that differs by a multiple of seven and comes within 20.5 seconds."""
    ids = facts.source.ids()
    watermark = _seconds(ids[-1])
    for i in ids:
        delays = [_seconds(later) - _seconds(i) for later in range(i + 7, i + 21, 7)]
        if _seconds(i) + 20.5 < watermark and min(delays) > 20.5:
            yield (i,)


def _with_idle(facts: Facts) -> Iterable[Row]:
    """Return the closed minutes of all ids and, once more, of those of the source that is idle in between."""
    for minute, n, total in facts.source.closed():
        more = [i for i in ids_in_minute(minute) if i % 100 < 30]
        yield minute, n + len(more), total + sum(more)


def _totals(facts: Facts) -> Iterable[Row]:
    """Return each id that is not late with the sum up to it of the ids with its remainder, in the order of time."""
    totals = [0, 0]
    for i in sorted(facts.source.ids(), key=lambda each: _seconds(each, 3)):
        if _is_late(i, 3):
            yield i, _LATE
        else:
            totals[i % 2] += i
            yield i, totals[i % 2]


def _pairs(facts: Facts) -> Iterable[Row]:
    """Return each id that is not late with the newest one before it that is not late and has its digit, or -1."""
    ids = facts.source.ids()
    left, right = ({i: _seconds(i, by) for i in ids if not _is_late(i, by)} for by in (3, 2))
    watermark = min(max(left.values()), max(right.values()))
    for i, at in left.items():
        earlier = [(time, other) for other, time in right.items() if time < at and other % 10 == i % 10]
        if at <= watermark:
            yield i, max(earlier, default=(0, -1))[1]
    yield from ((i, _LATE_LEFT) for i in ids if _is_late(i, 3))
    yield from ((i, _LATE_RIGHT) for i in ids if _is_late(i, 2))


def _shifted(divisor: int) -> str:
    """Return the stream of numbers, of which those that the divisor does not divide are minutes earlier."""
    shift = f"make_dt_interval(0, 0, id % {divisor} * {_SHIFT_MINUTES})"
    return f"(SELECT id, at - {shift} AS at FROM {SOURCE}) {_WATERMARK}"


TIMED_KINDS: Final = (
    Kind(
        "unmatched",
        "NOT EXISTS of two streams, with a bound",
        "unmatched",
        "id",
        job_text(
            "unmatched",
            f"INSERT INTO unmatched SELECT l.id FROM {SOURCE} {_WATERMARK} AS l"
            f" WHERE NOT EXISTS (SELECT * FROM {SOURCE} {_WATERMARK} AS r WHERE r.id % 7 = l.id % 7"
            " AND r.at BETWEEN l.at + INTERVAL '0.5' SECOND AND l.at + INTERVAL '20.5' SECOND)",
        ),
        exactly(_unmatched),
    ),
    Kind(
        "idle",
        "windowed aggregate over two streams, one idle at times",
        "idle",
        MINUTE,
        job_text(
            "idle",
            "INSERT INTO idle SELECT window.start, count(*), sum(id) FROM"
            f" (SELECT id, at FROM {SOURCE} {_WATERMARK} UNION ALL"
            f" SELECT id, at FROM (SELECT id, at FROM {SOURCE} WHERE id % 100 < 30) {_WATERMARK})"
            " GROUP BY window(at, '1 minute')",
            "'idleTimeoutMillis' = '300'",
        ),
        exactly(_with_idle),
        by_clock=True,
    ),
    Kind(
        "late_totals",
        "OVER by event time, with late rows",
        "(SELECT id, total FROM late_totals UNION ALL"
        f" SELECT CAST(get_json_object(row, '$.id') AS BIGINT), {_LATE} FROM late_of_totals)",
        "id, total",
        job_text(
            "late_totals",
            f"INSERT INTO late_totals SELECT id, sum(id) OVER (PARTITION BY id % 2 ORDER BY at) FROM {_shifted(3)}",
            "'lateRows' = 'table:late_of_totals'",
        ),
        exactly(_totals),
    ),
    Kind(
        "late_pairs",
        "ASOF JOIN of two streams, with late rows of both",
        "(SELECT id, earlier FROM late_pairs UNION ALL SELECT CAST(get_json_object(row, '$.id') AS BIGINT),"
        f" CASE source WHEN 'l' THEN {_LATE_LEFT} WHEN 'r' THEN {_LATE_RIGHT} ELSE 0 END FROM late_of_pairs)",
        "id, earlier",
        job_text(
            "late_pairs",
            f"INSERT INTO late_pairs SELECT l.id, coalesce(r.id, -1) FROM {_shifted(3)} AS l"
            f" LEFT ASOF JOIN {_shifted(2)} AS r MATCH_CONDITION (l.at > r.at) ON l.id % 10 = r.id % 10",
            "'lateRows' = 'table:late_of_pairs'",
        ),
        exactly(_pairs),
    ),
)

TIMED_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS unmatched (id BIGINT) USING parquet",
    "CREATE TABLE IF NOT EXISTS idle (start TIMESTAMP, n BIGINT, total BIGINT) USING parquet",
    "CREATE TABLE IF NOT EXISTS late_totals (id BIGINT, total BIGINT) USING parquet",
    "CREATE TABLE IF NOT EXISTS late_pairs (id BIGINT, earlier BIGINT) USING parquet",
)
