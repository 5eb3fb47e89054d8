"""SINK INTO a topic with 'outputMode' = 'complete': changes are sent, and deletions of rows that leave the result."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka, Message

pytestmark = pytest.mark.spark

COMPLETE = "OPTIONS ('snapshotIntervalMillis' = '100', 'outputMode' = 'complete')"
LARGE = "SINK INTO totals SELECT page, sum(n) AS n FROM STREAM visits GROUP BY page HAVING sum(n) > 10"
_numbers = itertools.count(1)


class Totals:
    """A topic with totals by page, and the stream that it sums."""

    def __init__(self, kafka: Kafka, sql: Sql) -> None:
        self.kafka, self.sql = kafka, sql
        self.topic = f"totals{next(_numbers)}"
        self._read = 0
        kafka.topic(self.topic, 1)
        options = kafka.options(self.topic, key_columns="page", key_format="json", value_format="json")
        sql(f"CREATE TABLE totals (page STRING, n BIGINT) {options}")
        sql("CREATE TABLE visits (page STRING, n BIGINT) USING json")

    def changes(self) -> dict[str, Any]:
        """Return the new messages, the value by page; None for a deletion. No page has two."""
        messages = self.kafka.read(self.topic)[self._read :]
        self._read += len(messages)
        pages = [json.loads(message.key or b"")["page"] for message in messages]
        assert len(pages) == len(set(pages))
        return {page: _number(message) for page, message in zip(pages, messages, strict=True)}

    def changes_after(self, *visits: tuple[str, int]) -> dict[str, Any]:
        """Return the messages that the job `j` sends for these visits."""
        # One file, and so one batch.
        self.sql(f"INSERT INTO visits SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(map(str, visits))}")
        self.sql("WAIT FOR JOB j UNTIL IDLE")
        return self.changes()

    def result(self) -> dict[str, Any]:
        """Return the newest value of each page, as a compacted topic keeps it."""
        newest = {json.loads(message.key or b"")["page"]: _number(message) for message in self.kafka.read(self.topic)}
        return {page: n for page, n in newest.items() if n is not None}


def _number(message: Message) -> int | None:
    return None if message.value is None else int(json.loads(message.value)["n"])


@pytest.fixture
def totals(kafka: Kafka, sql: Sql) -> Iterator[Totals]:
    yield Totals(kafka, sql)
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


@pytest.mark.slow
def test_changes_and_deletions_are_sent(totals: Totals) -> None:
    totals.sql(f"CREATE JOB j {COMPLETE} AS {LARGE}")
    assert totals.changes_after(("a", 20), ("b", 20), ("c", 5)) == {"a": 20, "b": 20}
    assert totals.changes_after(("a", -15), ("c", 6)) == {"a": None, "c": 11}
    assert totals.changes_after(("d", 1)) == {}
    totals.sql("SUSPEND JOB j")
    totals.sql("RESUME JOB j")
    assert totals.changes_after(("b", -20), ("a", 20)) == {"b": None, "a": 25}
    totals.sql(
        f"CREATE OR REPLACE JOB j {COMPLETE} AS {LARGE.replace('> 10', '> 20')}",
    )
    assert totals.changes_after(("e", 30)) == {"c": None, "e": 30}


@pytest.mark.parametrize("guarantee", [pytest.param("atLeastOnce", marks=pytest.mark.slow), "none"])
@pytest.mark.slow
def test_weaker_guarantees_delete_as_well(totals: Totals, guarantee: str) -> None:
    options = COMPLETE.replace(")", f", 'processingGuarantee' = '{guarantee}')")
    totals.sql("INSERT INTO visits VALUES ('a', 20)")
    totals.sql(f"CREATE JOB j {options} AS {LARGE}")
    assert totals.changes_after(("b", 20)).keys() >= {"b"}
    totals.sql("SUSPEND JOB j")
    totals.sql("RESUME JOB j")
    assert totals.changes_after(("a", -20)) == {"a": None}
    assert totals.result() == {"b": 20}


@pytest.mark.slow
def test_the_part_above_the_first_aggregate_may_lose_rows(totals: Totals) -> None:
    sums = "SELECT page, sum(n) AS n FROM STREAM visits GROUP BY page"
    top = f"SELECT page, n, rank() OVER (ORDER BY n DESC) AS r FROM ({sums})"
    totals.sql(f"CREATE JOB j {COMPLETE} AS SINK INTO totals SELECT page, n FROM ({top}) WHERE r <= 2")
    assert totals.changes_after(("a", 1), ("b", 2)) == {"a": 1, "b": 2}
    assert totals.changes_after(("c", 3)) == {"a": None, "c": 3}
    assert totals.changes_after(("a", 3)) == {"a": 4, "b": None}


@pytest.mark.slow
def test_debezium_deletions_have_the_row_before(kafka: Kafka, sql: Sql, totals: Totals) -> None:
    topic = f"{totals.topic}.changes"
    kafka.topic(topic, 1)
    options = kafka.options(topic, key_columns="page", key_format="json", value_format="debezium-json")
    sql(f"CREATE TABLE changes (page STRING, n BIGINT) {options}")
    sql("INSERT INTO visits VALUES ('a', 20)")
    sql(f"CREATE JOB j {COMPLETE} AS {LARGE.replace('totals', 'changes')}")
    totals.changes_after(("a", -20))
    values = [json.loads(message.value) for message in kafka.read(topic) if message.value]
    payloads = [value.get("payload", value) for value in values]
    assert [payload["op"] for payload in payloads] == ["u", "d"]
    assert payloads[1]["before"] == {"page": "a", "n": 20}


@pytest.mark.slow
def test_a_key_with_several_rows_fails_the_job(totals: Totals) -> None:
    totals.sql("INSERT INTO visits VALUES ('a', 1), ('a', 2)")
    error = totals.sql.error(
        f"CREATE JOB j {COMPLETE} AS SINK INTO totals SELECT page, n FROM STREAM visits GROUP BY page, n"
    )
    assert "several rows with the same page, the 'key.columns'" in error.message
    assert totals.changes() == {}


def test_explain_and_refusals(totals: Totals) -> None:
    lines = "\n".join(str(row[0]) for row in totals.sql(f"EXPLAIN CREATE JOB j {COMPLETE} AS {LARGE}"))
    assert "rows that leave the result are deleted; each batch compares the result with the previous one" in lines
    totals.sql(f"CREATE TABLE plain (page STRING, n BIGINT) {totals.kafka.options(totals.topic, value_format='json')}")
    error = totals.sql.error(f"CREATE JOB j {COMPLETE} AS {LARGE.replace('totals', 'plain')}")
    assert "it has no 'key.columns'" in error.message


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_topic_is_the_result_of_a_batch_query(totals: Totals, seed: int) -> None:
    random = Random(seed)
    totals.sql(f"CREATE JOB j {COMPLETE} AS {LARGE}")
    for batch in range(6):
        if batch == 3:
            totals.sql("RESTART JOB j")
        totals.changes_after(*((f"p{random.randrange(40)}", random.randrange(-20, 20)) for _ in range(60)))
        query = LARGE.partition("totals ")[2].replace("STREAM ", "")
        assert totals.result() == dict(totals.sql(query))


@pytest.mark.slow
def test_the_changes_of_an_aggregate_over_an_aggregate(totals: Totals) -> None:
    counts = "SELECT page, count(*) AS n FROM STREAM visits GROUP BY page"
    totals.sql(
        "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS"
        f" SINK INTO totals SELECT CAST(n AS STRING), count(*) FROM ({counts}) GROUP BY CAST(n AS STRING)"
    )
    assert totals.changes_after(("a", 1), ("b", 1)) == {"1": 2}
    assert totals.changes_after(("a", 1), ("c", 1)) == {"1": 2, "2": 1}
    assert totals.changes_after(("a", 1)) == {"2": None, "3": 1}
    assert totals.result() == {"1": 2, "3": 1}


@pytest.mark.slow
def test_unsent_result_is_not_compared_with_a_new_version(totals: Totals) -> None:
    """Let the old version fail after it has stored its result: a page has two rows."""
    text = "JOB j OPTIONS ('snapshotIntervalMillis' = '100', 'outputMode' = 'complete', 'restartAttempts' = '0') AS"
    query = "SINK INTO totals SELECT page, n FROM STREAM visits GROUP BY page, n HAVING n < {}"
    totals.sql(f"CREATE {text} {query.format(100)}")
    assert totals.changes_after(("a", 1)) == {"a": 1}
    totals.sql("INSERT INTO visits SELECT /*+ COALESCE(1) */ * FROM VALUES ('a', 20), ('b', 2)")
    until(lambda: totals.sql.status("j") == "SUSPENDED")
    totals.sql(f"CREATE OR REPLACE {text} {query.format(10)}")
    totals.sql("WAIT FOR JOB j UNTIL IDLE")
    assert totals.result() == {"a": 1, "b": 2}
