"""The jobs of the crash matrix: every kind of query into every kind of sink, and the rows that each must write.

Lost and duplicated rows are counted by comparing multisets, so a row with a wrong value counts as both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Final

from tests.faults.source import ROWS_A_FILE, Source, sum_by_digit
from tests.support.servers.postgres import PASSWORD, USER

Row = tuple[int, ...]
Rows = Counter[Row]
TOO = 1_000_000  # what the second job into the same table adds to its ids


@dataclass(frozen=True)
class Facts:
    """The facts from which the expected rows follow."""

    source: Source
    inserted: tuple[int, ...]  # ids that others put into the table `copy`
    last_lives: Mapping[str, int]  # by name, the newest life of each job that is made again and again


@dataclass(frozen=True)
class Loss:
    """lost: rows that should be there. twice: rows too many. examples: some of both, in words."""

    lost: int
    twice: int
    examples: str = field(default="", compare=False)

    @classmethod
    def of(cls, lost: Rows, twice: Rows) -> Loss:
        found = [f"{words} {sorted(rows)[:3]}" for words, rows in (("lost", lost), ("twice", twice)) if rows]
        return cls(lost.total(), twice.total(), ", ".join(found))

    @property
    def words(self) -> str:
        """Empty when nothing is lost and nothing there twice."""
        return f"{self.lost} lost, {self.twice} twice: {self.examples}" if self.examples else ""


Check = Callable[[Rows, Facts], Loss]


@dataclass(frozen=True)
class Kind:
    """One job of the matrix.

    table: what it writes. read: its rows as whole numbers. job: the statement that makes it, for some with a `{life}`.
    ends: by itself. topic: it writes a topic, whose messages another client reads; `read` says what their values are.
    keyed: of the messages with one key the last one counts. fed: by another job of the matrix. by_clock: it writes rows
    some time after it has read all that is there.
    """

    name: str
    words: str
    table: str
    read: str
    job: str
    check: Check
    ends: bool = False
    topic: bool = False
    keyed: bool = False
    fed: bool = False
    by_clock: bool = False


def exactly(expected: Callable[[Facts], Iterable[Row]]) -> Check:
    def check(found: Rows, facts: Facts) -> Loss:
        wanted = Counter(expected(facts))
        return Loss.of(wanted - found, found - wanted)

    return check


def at_least(expected: Callable[[Facts], Iterable[Row]]) -> Check:
    """Accept repeated rows; a row that should not be there at all counts as too many."""

    def check(found: Rows, facts: Facts) -> Loss:
        wanted = set(expected(facts))
        return Loss.of(Counter(wanted - set(found)), Counter(set(found) - wanted))

    return check


def _ids(facts: Facts) -> Iterable[Row]:
    return ((i,) for i in facts.source.ids())


def _copied(facts: Facts) -> Iterable[Row]:
    yield from ((i + more,) for i in facts.source.ids() for more in (0, TOO))
    yield from ((i,) for i in facts.inserted)


def _both(facts: Facts) -> Iterable[Row]:
    return ((i + more,) for i in facts.source.ids() for more in (0, TOO))


def _by_digit(facts: Facts) -> Iterable[Row]:
    return ((i, i % 10) for i in facts.source.ids())


def _closed(facts: Facts) -> Iterable[Row]:
    return facts.source.closed()


def _digits(facts: Facts) -> Iterable[Row]:
    return sum_by_digit(facts.source.ids())


def _not_by_three(facts: Facts) -> Iterable[Row]:
    """Return the digits whose total cannot be divided by three; each batch adds some and takes others back."""
    return (row for row in sum_by_digit(facts.source.ids()) if row[2] % 3)


def _whole(facts: Facts) -> Iterable[Row]:
    return [(len(facts.source.ids()), sum(facts.source.ids()))]


def _newest(facts: Facts) -> Iterable[Row]:
    """Return the newest change of each digit by `_SEQUENCE`, unless it deletes."""
    newest: dict[int, int] = {}
    for i in facts.source.ids():
        newest[i % 10] = max(i, newest.get(i % 10, i), key=lambda each: each * 7919 % 10007)
    return ((digit, i) for digit, i in newest.items() if i % 3)


def _history(facts: Facts) -> Iterable[Row]:
    """Return the changes of each digit, from their `_SEQUENCE` to the next one, without deletions."""
    by_digit: dict[int, list[tuple[int, int]]] = {}
    for i in facts.source.ids():
        by_digit.setdefault(i % 10, []).append((i * 7919 % 10007, i))
    for digit, changes in by_digit.items():
        ordered = sorted(changes)
        for (start, i), end in zip_longest(ordered, [start for start, _ in ordered[1:]]):
            if i % 3:
                yield digit, i, start, end


def _newest_two(facts: Facts) -> Iterable[Row]:
    """Return the two ids of each digit with the highest `_SEQUENCE`."""
    by_sequence = sorted(facts.source.ids(), key=lambda each: each * 7919 % 10007, reverse=True)
    for digit in range(10):
        yield from islice(((digit, i) for i in by_sequence if i % 10 == digit), 2)


def _remainders(facts: Facts) -> Iterable[Row]:
    """Count the remainders by 7 of the ids of each digit."""
    found: dict[int, set[int]] = {}
    for i in facts.source.ids():
        found.setdefault(i % 10, set()).add(i % 7)
    return ((digit, len(remainders)) for digit, remainders in found.items())


def _by_maximum(facts: Facts) -> Iterable[Row]:
    """Group the numbers modulo 97 by the last digit of their maximum, without totals that three divides."""
    maxima: dict[int, int] = {}
    for i in facts.source.ids():
        maxima[i % 97] = max(maxima.get(i % 97, 0), i * 7919 % 10007)
    groups: dict[int, list[int]] = {}
    for maximum in maxima.values():
        groups.setdefault(maximum % 10, []).append(maximum)
    return ((digit, len(all), sum(all), min(all)) for digit, all in groups.items() if sum(all) % 3)


def _pairs(facts: Facts) -> Iterable[Row]:
    """Return the ids without one 70 above, with the id 30 above or -1, and the number of ids equal modulo 7."""
    ids = facts.source.ids()
    return ((i, i + 30 if i + 30 in ids else -1, len(ids[i % 7 :: 7])) for i in ids if i + 70 not in ids)


def _matched(facts: Facts) -> Iterable[Row]:
    """Return each id with the one before it that has the same last digit, or -1."""
    return ((i, i - 10 if i >= 10 else -1) for i in facts.source.ids())


def _recognized(facts: Facts) -> Iterable[Row]:
    """Return each id that three divides with the next one of the same last digit."""
    ids = facts.source.ids()
    return ((i, i + 10, 2) for i in ids if i % 3 == 0 and i + 10 in ids)


def _check_lives(found: Rows, facts: Facts) -> Loss:
    """Expect all rows from the newest life of a job that is created repeatedly, and whole files from older ones."""
    newest = facts.last_lives["renewed"]
    wanted: Rows = Counter((i, newest) for i in facts.source.ids())
    files = {(i // ROWS_A_FILE, life) for i, life in found if life != newest}
    wanted.update((minute * ROWS_A_FILE + n, life) for minute, life in files for n in range(ROWS_A_FILE))
    return Loss.of(wanted - found, found - wanted)


def _check_once(found: Rows, facts: Facts) -> Loss:
    """Expect the same ten rows from each life of a batch job, which is created several times."""
    lives = {life for _, life in found} | {facts.last_lives["once"]}
    wanted: Rows = Counter((i, life) for life in lives for i in range(10))
    return Loss.of(wanted - found, found - wanted)


SOURCE = "STREAM numbers WITH ('maxFilesPerTrigger' = '1')"
_WINDOWS = f"""SELECT window.start, count(*), sum(id) FROM {SOURCE} WATERMARK at DELAY OF INTERVAL 0 SECONDS
  GROUP BY window(at, '1 minute')"""
_SEQUENCE = "id * 7919 % 10007"  # of ids below 10007, each has another
_DIGITS = f"SELECT id % 10, count(*), sum(id) FROM {SOURCE} GROUP BY 1"
MINUTE = "CAST(unix_timestamp(start) / 60 AS BIGINT) - 28401120, n, total"  # from 2024-01-01 on


def job_text(name: str, insert: str, *options: str) -> str:
    own = "".join(f", {option}" for option in options)
    return f"CREATE JOB IF NOT EXISTS {name} OPTIONS ('snapshotIntervalMillis' = '100'{own}) AS {insert}"


# A row is written without the id 30 above, replaced when that comes and with each batch, and deleted at last.
_PAIRS = f"""SELECT l.id, coalesce(r.id, -1), c.n FROM {SOURCE} AS l
  LEFT JOIN {SOURCE} AS r ON r.id = l.id + 30
  LEFT JOIN (SELECT id % 7 AS k, count(*) AS n FROM {SOURCE} GROUP BY 1) AS c ON c.k = l.id % 7
  WHERE NOT EXISTS (SELECT * FROM {SOURCE} AS x WHERE x.id = l.id + 70)"""

_AT_LEAST = "'processingGuarantee' = 'atLeastOnce'"

FILE_KINDS: Final = (
    Kind(
        "copy",
        "file table",
        "copy",
        "id",
        job_text("copy", f"INSERT INTO copy SELECT id FROM {SOURCE}"),
        exactly(_copied),
    ),
    Kind(
        "copy_too",
        "second job into the table",
        "copy",
        "id",
        job_text("copy_too", f"INSERT INTO copy SELECT id + {TOO} FROM {SOURCE}"),
        exactly(_copied),
    ),
    Kind(
        "parts",
        "partitioned file table",
        "parts",
        "id, digit",
        job_text("parts", f"INSERT INTO parts SELECT id, id % 10 FROM {SOURCE}"),
        exactly(_by_digit),
    ),
    Kind(
        "minutes",
        "windowed aggregate, file table",
        "minutes",
        MINUTE,
        job_text("minutes", f"INSERT INTO minutes {_WINDOWS}"),
        exactly(_closed),
    ),
    Kind(
        "digits",
        "INSERT OVERWRITE of an aggregate",
        "digits",
        "digit, n, total",
        job_text("digits", f"INSERT OVERWRITE digits {_DIGITS}"),
        exactly(_digits),
    ),
    Kind(
        "paired",
        "stream-stream join",
        "paired",
        "id",
        job_text("paired", f"INSERT INTO paired SELECT l.id FROM {SOURCE} AS l JOIN {SOURCE} AS r ON l.id = r.id"),
        exactly(_ids),
    ),
    Kind(
        "timely",
        "late rows beside file table",
        "(SELECT id FROM timely UNION ALL SELECT CAST(get_json_object(row, '$.id') AS BIGINT) FROM late_ids)",
        "id",
        job_text(
            "timely",
            "INSERT INTO timely SELECT id FROM"
            f" (SELECT id, at - make_dt_interval(0, 0, id % 3 * 10) AS at FROM {SOURCE})"
            " WATERMARK at DELAY OF INTERVAL 0 SECONDS QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1",
            "'lateRows' = 'table:late_ids'",
        ),
        exactly(_ids),
    ),
    Kind(
        "chained",
        "chain of two jobs",
        "chained",
        "id",
        job_text("chained", "INSERT INTO chained SELECT id FROM STREAM copy"),
        exactly(_copied),
        fed=True,
    ),
    Kind(
        "least",
        "at least once, aggregate, file table",
        "least",
        MINUTE,
        job_text("least", f"INSERT INTO least {_WINDOWS}", _AT_LEAST),
        at_least(_closed),
    ),
    Kind(
        "now",
        "availableNow",
        "now",
        "id",
        job_text("now", f"INSERT INTO now SELECT id FROM {SOURCE}", "'trigger' = 'availableNow'"),
        exactly(_ids),
        ends=True,
    ),
    Kind(
        "joined",
        "join of two aggregates, INSERT OVERWRITE",
        "joined",
        "digit, n, total",
        job_text(
            "joined",
            "INSERT OVERWRITE joined SELECT digit, n, total"
            f" FROM (SELECT id % 10 AS digit, count(*) AS n FROM {SOURCE} GROUP BY 1)"
            f" JOIN (SELECT id % 10 AS digit, sum(id) AS total FROM {SOURCE} GROUP BY 1) USING (digit)",
        ),
        exactly(_digits),
    ),
)
# Queries that JetSQL rewrites: their state is that of other operators than those of the statement.
REWRITTEN_KINDS: Final = (
    Kind(
        "newest_two",
        "top rows, INSERT OVERWRITE",
        "newest_two",
        "digit, id",
        job_text(
            "newest_two",
            f"INSERT OVERWRITE newest_two SELECT digit, id FROM (SELECT id % 10 AS digit, id FROM {SOURCE})"
            f" QUALIFY row_number() OVER (PARTITION BY digit ORDER BY {_SEQUENCE} DESC) <= 2",
        ),
        exactly(_newest_two),
    ),
    Kind(
        "remainders",
        "count(DISTINCT), INSERT OVERWRITE",
        "remainders",
        "digit, n",
        job_text(
            "remainders",
            "INSERT OVERWRITE remainders"
            f" SELECT id % 10 AS digit, count(DISTINCT id % 7) AS n FROM {SOURCE} GROUP BY 1",
        ),
        exactly(_remainders),
    ),
    Kind(
        "matched",
        "ASOF JOIN of two streams",
        "matched",
        "id, earlier",
        job_text(
            "matched",
            "INSERT INTO matched SELECT l.id, coalesce(r.id, -1)"
            f" FROM {SOURCE} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS l"
            f" LEFT ASOF JOIN {SOURCE} WATERMARK at DELAY OF INTERVAL 0 SECONDS AS r"
            " MATCH_CONDITION (l.at > r.at) ON l.id % 10 = r.id % 10",
        ),
        exactly(_matched),
    ),
    Kind(
        "recognized",
        "MATCH_RECOGNIZE",
        "recognized",
        "id, next, n",
        job_text(
            "recognized",
            "INSERT INTO recognized SELECT id, next, n"
            f" FROM (SELECT id, id % 10 AS digit, at FROM {SOURCE} WATERMARK at DELAY OF INTERVAL 0 SECONDS)"
            " MATCH_RECOGNIZE (PARTITION BY digit ORDER BY at"
            " MEASURES A.id AS id, B.id AS next, count(*) AS n ONE ROW PER MATCH PATTERN (A B) DEFINE A AS id % 3 = 0)",
        ),
        exactly(_recognized),
    ),
    Kind(
        "j_maxima",
        "aggregate over aggregates, changes to JDBC",
        "j_maxima",
        "digit, n, total, least",
        job_text(
            "j_maxima",
            "SINK INTO j_maxima SELECT m % 10, count(*), sum(m), min(m)"
            f" FROM (SELECT id % 97, max({_SEQUENCE}) AS m FROM {SOURCE} GROUP BY 1)"
            " GROUP BY m % 10 HAVING sum(m) % 3 <> 0",
        ),
        exactly(_by_maximum),
    ),
    Kind(
        "j_pairs",
        "joins and NOT EXISTS without a bound, changes to JDBC",
        "j_pairs",
        "id, partner, n",
        job_text("j_pairs", f"SINK INTO j_pairs {_PAIRS}"),
        exactly(_pairs),
    ),
)
# By chance a row goes into one table or the other, so a repeated batch must not decide again.
_SPLIT = f"FROM (SELECT id, rand() AS chance FROM {SOURCE})"
JDBC_KINDS: Final = (
    Kind(
        "split",
        "two tables: files, JDBC",
        "(SELECT id FROM split UNION ALL SELECT id FROM j_split)",
        "id",
        job_text(
            "split",
            f"{_SPLIT} INSERT INTO split SELECT id WHERE chance < 0.5"
            " INSERT INTO j_split SELECT id WHERE chance >= 0.5",
        ),
        exactly(_ids),
    ),
    Kind(
        "j_copy",
        "JDBC insert",
        "j_copy",
        "id",
        job_text("j_copy", f"INSERT INTO j_copy SELECT id FROM {SOURCE}"),
        exactly(_ids),
    ),
    Kind(
        "j_minutes",
        "JDBC insert of a windowed aggregate",
        "j_minutes",
        MINUTE,
        job_text("j_minutes", f"INSERT INTO j_minutes {_WINDOWS}"),
        exactly(_closed),
    ),
    Kind(
        "j_digits",
        "JDBC upsert of an aggregate",
        "j_digits",
        "digit, n, total",
        job_text("j_digits", f"SINK INTO j_digits {_DIGITS}"),
        exactly(_digits),
    ),
    Kind(
        "j_changes",
        "AUTO CDC with deletions, out of order",
        "j_changes",
        "digit, id",
        job_text(
            "j_changes",
            f"AUTO CDC INTO j_changes FROM (SELECT id, id % 10 AS digit FROM {SOURCE}) KEYS (digit)"
            f" APPLY AS DELETE WHEN id % 3 = 0 SEQUENCE BY {_SEQUENCE}",
        ),
        exactly(_newest),
    ),
    Kind(
        "j_history",
        "AUTO CDC with a history",
        "j_history",
        "digit, id, __start_at, __end_at",
        job_text(
            "j_history",
            f"AUTO CDC INTO j_history FROM (SELECT id, id % 10 AS digit FROM {SOURCE}) KEYS (digit)"
            f" APPLY AS DELETE WHEN id % 3 = 0 SEQUENCE BY {_SEQUENCE} STORED AS SCD TYPE 2",
        ),
        exactly(_history),
    ),
    Kind(
        "j_whole",
        "JDBC overwrite",
        "j_whole",
        "n, total",
        job_text("j_whole", f"INSERT OVERWRITE j_whole SELECT count(*), sum(id) FROM {SOURCE}"),
        exactly(_whole),
    ),
    Kind(
        "j_retracted",
        "JDBC upsert of an aggregate whose rows leave the result",
        "j_retracted",
        "digit, n, total",
        job_text(
            "j_retracted", f"SINK INTO j_retracted {_DIGITS} HAVING sum(id) % 3 <> 0", "'outputMode' = 'complete'"
        ),
        exactly(_not_by_three),
    ),
    Kind(
        "j_least",
        "at least once, aggregate, JDBC",
        "j_least",
        MINUTE,
        job_text("j_least", f"INSERT INTO j_least {_WINDOWS}", _AT_LEAST),
        at_least(_closed),
    ),
)


def _message(*values: str) -> str:
    """Return a message of whole numbers, with the first as its key."""
    texts = [f"CAST({value} AS STRING)" for value in values]
    return f"CAST({texts[0]} AS BINARY), CAST(concat_ws(',', {', '.join(texts)}) AS BINARY)"


def _topic_job(name: str, query: str, *options: str) -> str:
    return job_text(name, f"INSERT INTO {name} (key, value) {query}", *options)


_IDS = "STREAM k_numbers"
KAFKA_KINDS: Final = (
    Kind(
        "k_numbers",
        "file table to topic",
        "k_numbers",
        "id",
        _topic_job("k_numbers", f"SELECT {_message('id')} FROM {SOURCE}"),
        exactly(_ids),
        topic=True,
    ),
    Kind(
        "k_copy",
        "topic to topic",
        "k_copy",
        "id",
        _topic_job("k_copy", f"SELECT key, value FROM {_IDS}"),
        exactly(_ids),
        topic=True,
        fed=True,
    ),
    Kind(
        "k_both",
        "two reads of one topic to a topic",
        "k_both",
        "id",
        _topic_job(
            "k_both",
            f"SELECT key, value FROM {_IDS} UNION ALL"
            f" SELECT key, CAST(CAST(CAST(CAST(key AS STRING) AS BIGINT) + {TOO} AS STRING) AS BINARY) FROM {_IDS}",
        ),
        exactly(_both),
        topic=True,
        fed=True,
    ),
    Kind(
        "k_minutes",
        "windowed aggregate to topic",
        "k_minutes",
        MINUTE,
        _topic_job(
            "k_minutes",
            f"SELECT {_message('CAST(unix_timestamp(start) / 60 AS BIGINT) - 28401120', 'n', 'total')} FROM"
            f" (SELECT window.start AS start, count(*) AS n, sum(id) AS total FROM {SOURCE}"
            " WATERMARK at DELAY OF INTERVAL 0 SECONDS GROUP BY window(at, '1 minute'))",
        ),
        exactly(_closed),
        topic=True,
    ),
    Kind(
        "k_digits",
        "SINK INTO a keyed topic",
        "k_digits",
        "digit, n, total",
        job_text("k_digits", f"SINK INTO k_digits {_DIGITS}"),
        exactly(_digits),
        topic=True,
        keyed=True,
    ),
    Kind(
        "k_retracted",
        "SINK INTO a keyed topic an aggregate whose rows leave the result",
        "k_retracted",
        "digit, n, total",
        job_text(
            "k_retracted", f"SINK INTO k_retracted {_DIGITS} HAVING sum(id) % 3 <> 0", "'outputMode' = 'complete'"
        ),
        exactly(_not_by_three),
        topic=True,
        keyed=True,
    ),
    Kind(
        "k_pairs",
        "joins and NOT EXISTS without a bound, changes to a keyed topic",
        "k_pairs",
        "digit, n, total",
        job_text("k_pairs", f"SINK INTO k_pairs {_PAIRS}"),
        exactly(_pairs),
        topic=True,
        keyed=True,
    ),
    Kind(
        "k_least",
        "at least once, topic to topic",
        "k_least",
        "id",
        _topic_job("k_least", f"SELECT key, value FROM {_IDS}", _AT_LEAST),
        at_least(_ids),
        topic=True,
        fed=True,
    ),
    Kind(
        "k_split",
        "three tables: files, topic, JDBC",
        "(SELECT id FROM split UNION ALL SELECT id FROM j_split"
        " UNION ALL SELECT CAST(CAST(value AS STRING) AS BIGINT) FROM k_split)",
        "id",
        job_text(
            "k_split",
            f"{_SPLIT} INSERT INTO split SELECT id WHERE chance < 0.3"
            f" INSERT INTO k_split (key, value) SELECT {_message('id')} WHERE chance BETWEEN 0.3 AND 0.6"
            " INSERT INTO j_split SELECT id WHERE chance > 0.6",
        ),
        exactly(_ids),
    ),
    # Numbers of more than one digit don't fit the table that it reads.
    Kind(
        "k_fitting",
        "topic with dead letters to topic",
        "(SELECT CAST(CAST(value AS STRING) AS BIGINT) AS id FROM"
        " (SELECT value FROM k_fitting UNION ALL SELECT value FROM letters))",
        "id",
        _topic_job(
            "k_fitting",
            "SELECT CAST(CAST(n AS STRING) AS BINARY), CAST(CAST(n AS STRING) AS BINARY) FROM STREAM k_short",
        ),
        exactly(_ids),
        fed=True,
    ),
)
# Made, dropped and made again by the rounds themselves.
RENEWED: Final = Kind(
    "renewed",
    "dropped and created again",
    "renewed",
    "id, life",
    job_text("renewed", f"INSERT INTO renewed SELECT id, {{life}}, id % 10 FROM {SOURCE}"),
    _check_lives,
)
ONCE: Final = Kind(
    "once",
    "batch job",
    "once",
    "id, life",
    "CREATE JOB IF NOT EXISTS once AS INSERT INTO once SELECT id, {life}, id % 10 FROM ten",
    _check_once,
    ends=True,
)
PASSING: Final = (RENEWED, ONCE)

_JDBC = "USING jdbc OPTIONS (driver 'org.postgresql.Driver', url '{url}', user '{user}', password '{password}'"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{{numbers}}';
CREATE TABLE IF NOT EXISTS ten USING parquet AS SELECT id FROM range(10);
CREATE TABLE IF NOT EXISTS copy (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS parts (id BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit);
CREATE TABLE IF NOT EXISTS minutes (start TIMESTAMP, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS newest_two (digit BIGINT, id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS remainders (digit BIGINT, n BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS matched (id BIGINT, earlier BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS recognized (id BIGINT, next BIGINT, n BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS joined (digit BIGINT, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS paired (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS ruled (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS r_left (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS r_right (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS chained (id BIGINT) USING orc;
CREATE TABLE IF NOT EXISTS timely (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS least (start TIMESTAMP, n BIGINT, total BIGINT) USING json;
CREATE TABLE IF NOT EXISTS now (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS renewed (id BIGINT, life BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit);
CREATE TABLE IF NOT EXISTS once (id BIGINT, life BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit);
CREATE TABLE IF NOT EXISTS split (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS j_split {_JDBC}, dbtable 'crash.split');
CREATE TABLE IF NOT EXISTS fitted (id BIGINT, fits TINYINT) USING parquet;
CREATE TABLE IF NOT EXISTS halved (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS j_halves {_JDBC}, dbtable 'crash.halves');
CREATE TABLE IF NOT EXISTS j_checked {_JDBC}, dbtable 'crash.checked');
CREATE TABLE IF NOT EXISTS j_copy {_JDBC}, dbtable 'crash.copy');
CREATE TABLE IF NOT EXISTS j_minutes {_JDBC}, dbtable 'crash.minutes');
CREATE TABLE IF NOT EXISTS j_digits {_JDBC}, dbtable 'crash.digits', 'key.columns' 'digit');
CREATE TABLE IF NOT EXISTS j_changes {_JDBC}, dbtable 'crash.changes', 'key.columns' 'digit');
CREATE TABLE IF NOT EXISTS j_history {_JDBC}, dbtable 'crash.history', 'key.columns' 'digit, __start_at');
CREATE TABLE IF NOT EXISTS j_whole {_JDBC}, dbtable 'crash.whole');
CREATE TABLE IF NOT EXISTS j_retracted {_JDBC}, dbtable 'crash.retracted', 'key.columns' 'digit');
CREATE TABLE IF NOT EXISTS j_maxima {_JDBC}, dbtable 'crash.maxima', 'key.columns' 'digit');
CREATE TABLE IF NOT EXISTS j_pairs {_JDBC}, dbtable 'crash.pairs', 'key.columns' 'id');
CREATE TABLE IF NOT EXISTS j_least {_JDBC}, dbtable 'crash.least')
"""
SERVER_TABLES: Final = """
CREATE SCHEMA crash;
CREATE TABLE crash.copy (id bigint);
CREATE TABLE crash.split (id bigint);
CREATE TABLE crash.checked (id bigint CHECK (id % 7 <> 0));
CREATE TABLE crash.halves (id bigint CHECK (id % 5 <> 0));
CREATE TABLE crash.minutes (start timestamptz, n bigint, total bigint);
CREATE TABLE crash.digits (digit bigint PRIMARY KEY, n bigint, total bigint);
CREATE TABLE crash.changes (digit bigint PRIMARY KEY, id bigint);
CREATE TABLE crash.history
  (digit bigint, id bigint, __start_at bigint, __end_at bigint, PRIMARY KEY (digit, __start_at));
CREATE TABLE crash.whole (n bigint, total bigint);
CREATE TABLE crash.retracted (digit bigint PRIMARY KEY, n bigint, total bigint);
CREATE TABLE crash.maxima (digit bigint PRIMARY KEY, n bigint, total bigint, least bigint);
CREATE TABLE crash.pairs (id bigint PRIMARY KEY, partner bigint, n bigint);
CREATE TABLE crash.least (start timestamptz, n bigint, total bigint);
"""


def tables(numbers: str, url: str, brokers: str) -> list[str]:
    """Return the statements that create all tables. url: of PostgreSQL. brokers: of Kafka, empty without it."""
    text = _TABLES.format(numbers=numbers, url=url, user=USER, password=PASSWORD)
    statements = [statement.strip() for statement in text.split(";\n")]
    return [*statements, *_topic_tables(brokers)] if brokers else statements


def _topic_tables(brokers: str) -> Iterable[str]:
    for kind in KAFKA_KINDS:
        keyed = ", 'value.format' = 'csv', 'key.columns' = 'digit'" if kind.keyed else ""
        columns = "(digit BIGINT, n BIGINT, total BIGINT) " if kind.keyed else ""
        yield _topic_table(brokers, f"{kind.name} {columns}", kind.name, keyed)
    short = ", 'value.format' = 'csv', 'on.error' = 'table:letters'"
    yield _topic_table(brokers, "k_short (n DECIMAL(1, 0)) ", "k_numbers", short)


def _topic_table(brokers: str, table: str, topic: str, more: str) -> str:
    options = f"'kafka.bootstrap.servers' = '{brokers}', 'topic' = '{topic}', 'startingOffsets' = 'earliest'"
    return f"CREATE TABLE IF NOT EXISTS {table}USING kafka OPTIONS ({options}{more})"
