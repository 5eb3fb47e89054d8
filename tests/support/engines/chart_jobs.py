"""Ten jobs over Kafka, files in a bucket, and PostgreSQL, which SQL files of the chart declare. Each row is counted.

Nine read what a story sends and then have nothing to do. The tenth copies a tick many times a second while a story
measures how long jobs are silent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any, Final

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from tests.support.engines.chart_release import ChartRelease
from tests.support.servers.kafka import Kafka
from tests.support.servers.object_store import ObjectStore
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tools.topics import read

ROWS: Final = 40
"""The rows that `send` adds to each source."""
WORDS: Final = 4
TICK: Final = "ticked"
"""The job that copies ticks."""
_COPIES: Final = ("topic_files", "topic_files_again", "topic_named", "lines_files")
"""Tables of files with each row once."""
_TICK_SECONDS: Final = 0.1
_TABLES: Final = """
CREATE TABLE events (id BIGINT, word STRING) {events};
CREATE TABLE lines (id BIGINT, word STRING) USING json LOCATION 's3a://{bucket}/lines';
CREATE TABLE names (word STRING, name STRING) {names};

CREATE TABLE topic_topic (id BIGINT, word STRING) {topic_topic};
CREATE TABLE topic_files (id BIGINT, word STRING) USING parquet;
CREATE TABLE topic_files_again (id BIGINT, word STRING) USING parquet;
CREATE TABLE topic_named (id BIGINT, name STRING) USING parquet;
CREATE TABLE topic_counts (word STRING, n BIGINT) USING parquet;
CREATE TABLE topic_rows (id BIGINT, word STRING) {topic_rows};
CREATE TABLE lines_topic (id BIGINT, word STRING) {lines_topic};
CREATE TABLE lines_files (id BIGINT, word STRING) USING parquet;
CREATE TABLE lines_counts (word STRING, n BIGINT) {lines_counts};

CREATE TABLE ticks (id BIGINT) {ticks};
CREATE TABLE ticked (id BIGINT) {ticked};
"""
_SETTINGS: Final = "OPTIONS ('snapshotIntervalMillis' = '{millis}', 'processingGuarantee' = 'exactlyOnce')"
_JOBS: Final = {
    "topic_topic": "INSERT INTO topic_topic SELECT id, word FROM STREAM events",
    "topic_files": "INSERT INTO topic_files SELECT id, word FROM STREAM events",
    "topic_files_again": "INSERT INTO topic_files_again SELECT id, word FROM STREAM topic_files",
    "topic_named": "INSERT INTO topic_named SELECT e.id, n.name FROM STREAM events e JOIN names n ON e.word = n.word",
    "topic_counts": "INSERT OVERWRITE topic_counts SELECT word, count(*) FROM STREAM events GROUP BY word",
    "topic_rows": "INSERT INTO topic_rows SELECT id, word FROM STREAM events",
    "lines_topic": "INSERT INTO lines_topic SELECT id, word FROM STREAM lines",
    "lines_files": "INSERT INTO lines_files SELECT id, word FROM STREAM lines",
    "lines_counts": "SINK INTO lines_counts SELECT word, count(*) FROM STREAM lines GROUP BY word",
    TICK: "INSERT INTO ticked SELECT id FROM STREAM ticks",
}
JOBS: Final = tuple(_JOBS)


@dataclass(frozen=True)
class Servers:
    """The servers on the machine that pods use."""

    host: str
    kafka: Kafka
    postgres: Postgres
    objects: ObjectStore

    @property
    def store_url(self) -> str:
        """Return the URL of the store of engines."""
        return f"postgresql://{USER}@{self.host}:{self.postgres.port}/postgres?schema=jetsql"

    def lease_number(self) -> int:
        """Return how often the lead has changed."""
        [[number]] = self.postgres("SELECT number FROM jetsql.lease")
        return int(number)

    @property
    def password(self) -> str:
        """Return the password of the store."""
        return PASSWORD


class ChartJobs:
    """The jobs in a release."""

    def __init__(self, servers: Servers, release: ChartRelease) -> None:
        self._servers = servers
        self._release = release
        self._files = itertools.count()
        self._ticks = itertools.count()

    def prepare(self) -> None:
        """Create the topics, the tables of PostgreSQL, and a first file."""
        for topic in ("events", "topic_topic", "lines_topic", "ticks", "ticked"):
            self._servers.kafka.topic(topic)
        words = ", ".join(f"('word {number}', 'name {number}')" for number in range(WORDS))
        self._servers.postgres(
            "CREATE TABLE names (word TEXT, name TEXT); CREATE TABLE topic_rows (id BIGINT, word TEXT);"
            " CREATE TABLE lines_counts (word TEXT PRIMARY KEY, n BIGINT);"
            f" INSERT INTO names VALUES {words}"
        )
        self._put_lines([])

    def files(self) -> dict[str, str]:
        """Return the SQL files by their names."""
        kafka = {
            name: self._servers.kafka.options(name, value_format="json")
            for name in ("events", "topic_topic", "lines_topic", "ticks", "ticked")
        }
        rows = {
            "names": self._jdbc("names"),
            "topic_rows": self._jdbc("topic_rows"),
            "lines_counts": self._jdbc("lines_counts", key_columns="word"),
        }
        tables = _TABLES.format(bucket=self._servers.objects.bucket, **kafka, **rows)
        jobs = [
            f"CREATE JOB {name} {_SETTINGS.format(millis=500 if name == TICK else 3000)}\nAS {body};\n"
            for name, body in _JOBS.items()
        ]
        return {"tables.sql": tables, "jobs.sql": "\n".join(jobs)}

    def send(self) -> int:
        """Send rows to the topic and to the files, and return the number of all rows of each until now."""
        number = next(self._files)
        ids = range(number * ROWS, (number + 1) * ROWS)
        rows = [{"id": id_, "word": f"word {id_ % WORDS}"} for id_ in ids]
        self._servers.kafka.send_json("events", rows)
        self._put_lines(rows)
        return ids.stop

    def check(self, total: int) -> None:
        """Wait until the jobs have written all rows, and check that each was written once."""
        expected = {name: {"n": total, "ids": total, "first": 0, "last": total - 1} for name in _COPIES}
        expected |= {"topic_counts": {"n": total}}
        self._release.wait_until(lambda: self._tables() == expected, f"not exactly {total} rows have arrived", 300)
        ids = list(range(total))
        counts = [(f"word {number}", total // WORDS) for number in range(WORDS)]
        postgres = self._servers.postgres
        for topic in ("topic_topic", "lines_topic"):
            self._wait_equal(lambda topic=topic: sorted(self._ids(topic)), ids, f"ids in the topic {topic}")
        self._wait_equal(
            lambda: [row[0] for row in postgres("SELECT id FROM topic_rows ORDER BY id")], ids, "ids in PostgreSQL"
        )
        self._wait_equal(lambda: postgres("SELECT * FROM lines_counts ORDER BY word"), counts, "counts in PostgreSQL")

    @contextmanager
    def ticking(self) -> Iterator[list[float]]:
        """Send ticks inside the context. The list gets the time at which each arrives; after the context, all have.

        The times are those of `time.monotonic`. No other ticks are sent at the same time.
        """
        arrivals: list[float] = []
        consumer = Consumer({**self._servers.kafka.client(), "group.id": "ticks", "isolation.level": "read_committed"})
        consumer.assign([TopicPartition("ticked", number, OFFSET_END) for number in range(2)])
        consumer.poll(5)
        ended = Event()
        last = [0]

        def send() -> None:
            while not ended.wait(_TICK_SECONDS):
                last[0] = next(self._ticks)
                self._servers.kafka.send_json("ticks", [{"id": last[0]}])

        def receive() -> None:
            while not ended.is_set():
                if (message := consumer.poll(0.2)) is not None and message.error() is None:
                    arrivals.append(monotonic())

        threads = [Thread(target=send), Thread(target=receive)]
        for thread in threads:
            thread.start()
        try:
            yield arrivals
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            consumer.close()
        everything = list(range(last[0] + 1))
        self._wait_equal(lambda: sorted(self._ids("ticked")), everything, "ticks")

    def _tables(self) -> dict[str, dict[str, Any]]:
        numbers = "count(*) AS n, count(DISTINCT id) AS ids, min(id) AS first, max(id) AS last"
        parts = [f"SELECT '{name}' AS name, {numbers} FROM {name}" for name in _COPIES]
        rows = {row.pop("name"): row for row in self._release.sql(" UNION ALL ".join(parts))}
        counts = self._release.sql("SELECT coalesce(sum(n), 0) AS n FROM topic_counts")
        return {**rows, "topic_counts": counts[0]}

    def _ids(self, topic: str) -> list[int]:
        messages = read(self._servers.kafka.servers, topic)
        return [json.loads(message.value)["id"] for message in messages if message.value is not None]

    def _wait_equal(self, found: Any, expected: Any, what: str) -> None:
        """Wait for equal values, and show the difference if they stay different."""
        self._release.wait_until(lambda: len(found()) >= len(expected), f"there are fewer {what} than expected")
        assert found() == expected, what

    def _put_lines(self, rows: list[dict[str, Any]]) -> None:
        content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        self._servers.objects.put(f"lines/{rows[0]['id'] if rows else 'first'}.json", content)

    def _jdbc(self, table: str, **options: str) -> str:
        url = f"jdbc:postgresql://{self._servers.host}:{self._servers.postgres.port}/postgres"
        return self._servers.postgres.options(table, url=url, **options)


def longest_gap(arrivals: list[float]) -> tuple[float, float]:
    """Return the times of the two arrivals with the longest time between them."""
    return max(itertools.pairwise(arrivals), key=lambda pair: pair[1] - pair[0])


def silence(arrivals: list[float]) -> float:
    """Return the longest time in seconds between two arrivals."""
    earlier, later = longest_gap(arrivals)
    return later - earlier
