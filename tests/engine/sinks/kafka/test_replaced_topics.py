"""Topics that are deleted and created again under a job."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from jetsql.embedded.engine_instance import StatementSession
from tests.conftest import Sql, until
from tests.support.servers.kafka import Kafka
from tools.broker import REQUEST_SECONDS

pytestmark = pytest.mark.spark

FAST = "'snapshotIntervalMillis' = '100'"
_numbers = itertools.count(1)


class Topic:
    """A topic of messages with the column id, and its table."""

    def __init__(self, kafka: Kafka, sql: Sql, name: str, table: str, **options: str) -> None:
        self.kafka, self.name = kafka, name
        kafka.topic(name, 1)
        sql(f"CREATE TABLE {table} (id INT) {kafka.options(name, value_format='json', **options)}")

    def send(self, ids: Iterable[int]) -> None:
        self.kafka.send_json(self.name, ({"id": number} for number in ids))

    def replace(self, ids: Iterable[int]) -> None:
        """Delete the topic, create it again, and send these messages."""
        self.kafka.delete_topic(self.name)
        until(self._is_created)
        self.send(ids)

    def _is_created(self) -> bool:
        with suppress(KafkaException):  # the broker still deletes the old topic
            self.kafka.admin.create_topics([NewTopic(self.name, 1)])[self.name].result(REQUEST_SECONDS)
            return True
        return False

    def read(self) -> list[int]:
        return [json.loads(message.value or b"")["id"] for message in self.kafka.read(self.name)]


@pytest.fixture
def topic(kafka: Kafka, sql: Sql) -> Iterator[Topic]:
    yield Topic(kafka, sql, f"replaced{next(_numbers)}", "s")
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")


def read(sql: Sql, table: str = "o") -> list[int]:
    return sorted(row[0] for row in sql(f"SELECT id FROM {table}"))


def idle(sql: Sql, job: str = "j") -> None:
    sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60 SECONDS")


def suspended(sql: Sql, job: str = "j") -> str:
    """Return the error of a job that is suspended because of a replaced topic."""
    error = _last_error(sql, job)
    if "its id was" not in error:  # the run has failed before the new topic was there, and only the next start finds it
        sql.error(f"RESUME JOB {job}")
        error = _last_error(sql, job)
    assert "its id was" in error, error
    return error


def _last_error(sql: Sql, job: str) -> str:
    until(lambda: sql.status(job) == "SUSPENDED")
    return str(dict(sql(f"DESCRIBE JOB {job}"))["last error"])


def accept(sql: Sql, job: str = "j") -> None:
    """Run the statement that the job's error names."""
    [statement] = re.findall(r"ALTER JOB .* RESUME", suspended(sql, job))
    sql(statement)


def test_accepted_replacement_topic_is_read_from_its_beginning(sql: Sql, topic: Topic) -> None:
    sql("CREATE TABLE o (id INT) USING parquet")
    topic.send([1, 2, 3])
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO o SELECT id FROM STREAM s")
    expected = [1, 2, 3]
    for first, count in ((10, 6), (20, 3), (30, 2)):  # more messages than before, as many, fewer
        idle(sql)
        sql("SUSPEND JOB j")
        topic.replace(range(first, first + count))
        rejection = sql.error("RESUME JOB j")
        assert rejection.condition == "JETSQL.JOB_FAILED"
        error = f"{rejection.message} {rejection.hint}"
        found = re.search(r"The topic (\S+) of .* its id was ([\w-]{22}), and is ([\w-]{22})", error)
        assert found is not None
        name, before, now = found.groups()
        assert name == topic.name and before != now and f"'acceptedTopics' = '{now}'" in error
        assert read(sql) == expected
        accept(sql)
        idle(sql)
        expected += range(first, first + count)
        assert read(sql) == expected
    assert "sink notice" in str(sql("SHOW JOB HISTORY j"))
    topic.send([40])
    idle(sql)
    sql("SUSPEND JOB j")
    topic.replace([50, 51])
    assert sql.error("RESUME JOB j").condition == "JETSQL.JOB_FAILED"  # only the named topic was accepted
    sql("DROP JOB j")
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO o SELECT id FROM STREAM s")
    idle(sql)
    assert read(sql) == [*expected, 40, 50, 51]


def test_running_job_ends_before_writing_rows_of_replaced_topics(sql: Sql, topic: Topic) -> None:
    """Read two sources: an aggregate of the replaced topic, and a table of files."""
    sql("CREATE TABLE o (id INT) USING parquet")
    sql("CREATE TABLE files (id INT) USING parquet")
    sql("INSERT INTO files VALUES (100)")
    topic.send([1, 2, 3])
    union = "SELECT id FROM STREAM files UNION ALL SELECT id FROM STREAM s"
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO o {union}")
    sql(f"CREATE JOB quiet OPTIONS ({FAST}) AS INSERT INTO o SELECT id FROM STREAM s WHERE id > 1000")
    idle(sql)
    idle(sql, "quiet")
    topic.replace(range(10, 16))
    error = suspended(sql)
    assert "If it was replaced while" not in error
    assert read(sql) == [1, 2, 3, 100]
    sql("INSERT INTO files VALUES (101)")
    accept(sql)
    idle(sql)
    assert read(sql) == [1, 2, 3, *range(10, 16), 100, 101]
    accept(sql, "quiet")
    idle(sql, "quiet")
    topic.replace([20, 21, 22, 23, 24, 25])  # as many messages, so no trigger finds one
    suspended(sql)
    suspended(sql, "quiet")


@pytest.mark.slow
def test_replaced_topics_of_patterns_and_of_runs_that_end(sql: Sql, topic: Topic, kafka: Kafka) -> None:
    sql("CREATE TABLE o (id INT) USING parquet")
    options = kafka.options(f"{topic.name[:-1]}[{topic.name[-1]}x]", value_format="json")
    pattern = options.replace("'topic'", "'subscribePattern'")
    sql(f"CREATE TABLE p (id INT) {pattern}")
    topic.send([1, 2, 3])
    other = Topic(kafka, sql, f"{topic.name[:-1]}x", "unused")
    other.send([4])
    sql("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO o SELECT id FROM STREAM p")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 60 SECONDS")
    assert read(sql) == [1, 2, 3, 4]
    topic.replace([10, 11, 12])
    assert sql.error("RESUME JOB j").condition == "JETSQL.JOB_FAILED"
    accept(sql)
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 60 SECONDS")
    assert read(sql) == [1, 2, 3, 4, 10, 11, 12]


@pytest.mark.slow
def test_job_that_began_at_the_newest_offsets_without_messages(sql: Sql, topic: Topic, kafka: Kafka) -> None:
    sql("CREATE TABLE o (id INT) USING parquet")
    sql(f"CREATE TABLE newest (id INT) {kafka.options(topic.name, value_format='json', startingOffsets='latest')}")
    topic.send([1, 2, 3])
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO o SELECT id FROM STREAM newest")
    idle(sql)
    sql("SUSPEND JOB j")
    topic.replace(range(10, 16))
    sql.error("RESUME JOB j")
    accept(sql)
    idle(sql)
    assert read(sql) == list(range(10, 16))


@pytest.mark.slow
def test_snapshots_and_updates_know_the_topic(sql: Sql, topic: Topic) -> None:
    sql("CREATE TABLE o (id INT) USING parquet")
    sql("CREATE TABLE p (id INT) USING parquet")
    topic.send([1, 2, 3])
    body = "INSERT INTO o SELECT id FROM STREAM s"
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS {body}")
    idle(sql)
    sql("CREATE SNAPSHOT before FOR JOB j")
    sql("SUSPEND JOB j")
    topic.replace(range(10, 16))
    replaced = f"{body} WHERE id <> 12"
    error = sql.error(f"CREATE OR REPLACE JOB j OPTIONS ({FAST}) AS {replaced}")
    [now] = re.findall(r"and is ([\w-]{22})", error.message)
    assert error.condition == "JETSQL.UPDATE_FAILED" and read(sql) == [1, 2, 3]
    sql(f"CREATE OR REPLACE JOB j OPTIONS ({FAST}, 'acceptedTopics' = '{now}') AS {replaced}")
    idle(sql)
    assert read(sql) == [1, 2, 3, 10, 11, 13, 14, 15]
    start = (
        f"CREATE JOB k OPTIONS ({FAST}, 'initialSnapshotName' = 'before'%s) AS INSERT INTO p SELECT id FROM STREAM s"
    )
    assert f"with OPTIONS ('acceptedTopics' = '{now}')" in sql.error(start % "").hint
    sql(start % f", 'acceptedTopics' = '{now}'")
    idle(sql, "k")
    assert read(sql, "p") == list(range(10, 16))


def test_a_replaced_topic_that_a_job_writes(sql: Sql, topic: Topic, kafka: Kafka) -> None:
    out = Topic(kafka, sql, f"{topic.name}.out", "out", key_columns="id", key_format="json")
    topic.send([1, 2, 3])
    sql(f"CREATE JOB j OPTIONS ({FAST}) AS INSERT INTO out SELECT id FROM STREAM s")
    idle(sql)
    sql("SUSPEND JOB j")
    out.replace([])
    error = sql.error("RESUME JOB j").message
    assert "[JETSQL.SINK_CHANGED]" in error and f"The topic {out.name} of" in error
    accept(sql)
    topic.send([4])
    idle(sql)
    assert out.read() == [4]
    out.replace([])
    assert "SINK_CHANGED" in suspended(sql)  # while the job runs
    sql("DROP JOB j")
    sql(f"CREATE JOB j OPTIONS ({FAST}, 'outputMode' = 'complete') AS SINK INTO out SELECT DISTINCT id FROM STREAM s")
    idle(sql)
    assert sorted(out.read()) == [1, 2, 3, 4]
    sql("SUSPEND JOB j")
    out.replace([])
    sql.error("RESUME JOB j")
    accept(sql)
    topic.send([5])
    idle(sql)
    assert sorted(out.read()) == [1, 2, 3, 4, 5]  # the whole result


@pytest.mark.slow
def test_select_ends_when_its_topic_is_replaced(sql: Sql, topic: Topic) -> None:
    topic.send([1, 2, 3])
    live = StatementSession(sql.engine, sql.engine.spark).run("SELECT id FROM STREAM s", live=True).live
    assert live is not None
    with closing(live.batches) as batches:
        assert sorted(next(batches).rows) == [(1,), (2,), (3,)]
        topic.replace(range(10, 16))
        with pytest.raises(Exception, match="was deleted and created again while it was read"):
            next(batches)


@pytest.mark.slow
@pytest.mark.parametrize("options", [FAST, "'trigger' = 'realTime', 'snapshotIntervalMillis' = '5000'"])
def test_a_job_whose_batches_spark_writes(sql: Sql, topic: Topic, kafka: Kafka, options: str) -> None:
    out = Topic(kafka, sql, f"{topic.name}.out", "out")
    topic.send([1, 2, 3])
    statement = f"OPTIONS ({options}, 'processingGuarantee' = 'atLeastOnce') AS INSERT INTO out SELECT id FROM STREAM s"
    sql(f"CREATE JOB j {statement}")
    until(lambda: sorted(out.read()) == [1, 2, 3])
    idle(sql)  # in real-time mode, the first batch has ended
    topic.replace([10, 11, 12])
    accept(sql)
    until(lambda: sorted(out.read()) == [1, 2, 3, 10, 11, 12])
