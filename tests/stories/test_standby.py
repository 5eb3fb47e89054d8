"""Two engines on one store: one leads, the other takes over, and no row is lost or doubled."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.conftest import until
from tests.support.engines.service_engine import ServiceEngine, share_token
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import PASSWORD, USER, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Pair = tuple[ServiceEngine, ServiceEngine]
EXACTLY_ONCE = "OPTIONS ('processingGuarantee'='exactlyOnce', 'snapshotIntervalMillis'='500')"
RAW = {"value.format": "raw"}
PAUSED_AT = {
    "staged": "staged",
    "moved": "manifest-written",
    "replaced": "result-staged",
    "delivered": "jdbc-staged",
    "sent": "kafka-marked",
}
"""The point in its second batch at which the leader is paused, by the table of a sink."""
KILLED_AT = (
    {"staged": "manifest-written", "moved": "files-moved", "replaced": "table-moved", "delivered": "jdbc-committed"},
    {"staged": "staged", "replaced": "result-staged", "delivered": "jdbc-staged", "sent": "kafka-sent"},
    {"staged": "file-moved", "delivered": "jdbc-prepared", "sent": "kafka-committed"},
    {"staged": "sink-written", "sent": "kafka-opened"},
)
"""The points in the second batches of the sinks' jobs at which the leader is killed."""
STATEMENTS = {
    "snapped": ("state-half-copied", "CREATE SNAPSHOT s FOR JOB snapped"),
    "updated": (
        "update-prepared",
        "CREATE OR REPLACE JOB updated {} AS INSERT INTO updated SELECT id + 0 FROM STREAM src",
    ),
    "dropped": ("staging-discarded", "DROP JOB dropped"),
    "suspended": ("stored-suspend-requested", "SUSPEND JOB suspended"),
}
"""The point at which the leader is killed in a statement, by job. At the last one, no other event is stored."""


@contextmanager
def make_pair(postgres: Postgres, folder: Path, schema: str) -> Iterator[Pair]:
    """Yield two homes with one store, one catalogue, one storage and one token; stop their engines at the end."""
    settings = {
        "store": f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?schema={schema}",
        "store_password": "secret:env:STORE_PASSWORD",
        "catalog": "postgresql",
    }
    first = ServiceEngine(folder / "first", storage=str(folder / "shared"), **settings)
    second = ServiceEngine(folder / "second", **settings)
    share_token(first, second)
    yield first, second
    for engine in (first, second):
        engine.signal(signal.SIGCONT)
        if engine.processes():
            engine("stop")
    postgres(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def pair(postgres: Postgres, tmp_path: Path) -> Iterator[Pair]:
    """Return a leader and a standby."""
    with make_pair(postgres, tmp_path, "pair") as engines:
        for engine in engines:
            engine("start")
        yield engines


def copy_files(engine: ServiceEngine, source: Path) -> None:
    source.mkdir()
    engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}'")
    engine("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    engine(
        "-e",
        f"CREATE JOB copy {EXACTLY_ONCE} AS INSERT INTO copied SELECT * FROM STREAM src",
    )


def copy_first_file(engine: ServiceEngine, source: Path) -> None:
    """Create the job of `copy_files`, and wait until it has copied one file."""
    copy_files(engine, source)
    add(source, 1)
    until(lambda: ids(engine) == [1])


def add(source: Path, number: int) -> None:
    hidden = source / f".{number}"
    hidden.write_text(f'{{"id": {number}}}\n')
    hidden.rename(source / f"{number}.json")


def create_delivered(engine: ServiceEngine, postgres: Postgres) -> None:
    """Create a table in PostgreSQL, and the table of the same name that writes it."""
    postgres("DROP TABLE IF EXISTS delivered; CREATE TABLE delivered (id BIGINT)")
    options = f"url '{postgres.url}', dbtable 'delivered', user '{USER}', password '{PASSWORD}'"
    engine("-e", f"CREATE TABLE delivered USING jdbc OPTIONS ({options}, driver 'org.postgresql.Driver')")


def delivered(postgres: Postgres) -> list[int]:
    return [row[0] for row in postgres("SELECT id FROM delivered ORDER BY id")]


def ids(engine: ServiceEngine, table: str = "copied") -> list[int]:
    return sorted(int(str(row[0])) for row in engine.rows(f"SELECT id FROM {table}"))


def test_a_standby_takes_over_when_the_leader_is_killed(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    assert (first.role, second.role) == ("leader", "standby")
    assert '"standby"' in second("status", "--format", "json")
    source = tmp_path / "src"
    copy_files(second, source)  # its client follows the leader
    assert [row[2] for row in second.rows("SHOW ENGINES")] == ["leader", "standby"]
    add(source, 1)
    until(lambda: ids(second) == [1])
    until(lambda: "Rehearsed job copy: " in second.log)
    until(lambda: second.is_warm)
    assert ids(second) == [1], "a warm-up writes nothing"
    first.kill()
    add(source, 2)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [1, 2])
    first("start")
    assert first.role == "standby"
    add(source, 3)
    until(lambda: ids(first) == [1, 2, 3])
    second("stop")  # hands over
    until(lambda: first.role == "leader")
    add(source, 4)
    until(lambda: ids(first) == [1, 2, 3, 4])


def test_a_leader_that_was_paused_becomes_a_standby(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    first.signal(signal.SIGSTOP)
    add(source, 2)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [1, 2])
    first.signal(signal.SIGCONT)
    until(lambda: "waits as a standby" in first.log)
    add(source, 3)
    until(lambda: ids(first) == [1, 2, 3])
    assert [row[2] for row in first.rows("SHOW ENGINES")] == ["leader", "standby"]


@pytest.mark.timeout(900)
def test_leader_paused_in_transactions_does_not_block_its_successor(
    pair: Pair, postgres: Postgres, tmp_path: Path
) -> None:
    """Pause it in changes of store and catalogue and in a batch, which lock rows that the next leader needs."""
    first, second = pair
    source = tmp_path / "src"
    copy_files(first, source)
    create_delivered(first, postgres)
    first("-e", f"CREATE JOB deliver {EXACTLY_ONCE} AS INSERT INTO delivered SELECT id FROM STREAM src")
    add(source, 1)
    until(lambda: ids(first) == delivered(postgres) == [1])
    of_leader = "SELECT count(*) FROM pg_stat_activity WHERE application_name ILIKE 'jetsql%' AND "
    with postgres.connect() as blocker, ExitStack() as commands:
        blocker.autocommit = False
        blocker.execute('LOCK TABLE pair."TABLE_PARAMS", pair.history, delivered IN SHARE MODE')
        add(source, 2)
        for statement in ("CREATE TABLE late (id BIGINT) USING parquet", "SUSPEND JOB copy"):
            command = commands.enter_context(first.begin("-e", statement))
            commands.callback(command.kill)
        waiting = f"{of_leader} {blocker.info.backend_pid} = ANY (pg_blocking_pids(pid))"
        until(lambda: postgres(waiting) == [(3,)])
        first.signal(signal.SIGSTOP)
        blocker.commit()
        until(lambda: postgres(f"{of_leader} state = 'idle in transaction'") == [(3,)])
        until(lambda: second.role == "leader")
        second("-e", "CREATE TABLE late (id BIGINT) USING parquet")
        add(source, 3)
        until(lambda: ids(second) == delivered(postgres) == [1, 2, 3])
        first.signal(signal.SIGCONT)
        until(lambda: first.role == "standby")
    assert {str(row[1]): row[2] for row in second.rows("SHOW JOBS")} == {"copy": "RUNNING", "deliver": "RUNNING"}
    assert ids(second) == delivered(postgres) == [1, 2, 3]


def test_a_leader_that_was_paused_in_a_commit_changes_nothing(
    pair: Pair, postgres: Postgres, kafka: Kafka, tmp_path: Path
) -> None:
    first, second = pair
    first.set("JETSQL_FAILPOINT_ACTION", "pause")
    arm_leader(pair, second_batches(PAUSED_AT))
    source = tmp_path / "src"
    sinks = create_sinks(first, postgres, kafka, source, PAUSED_AT)
    add(source, 1)
    until(lambda: all(sinks.contents(first, table) == [1] for table in PAUSED_AT))
    add(source, 2)
    until(lambda: first.processes()[0].status() == psutil.STATUS_STOPPED)
    until(lambda: second.role == "leader")
    until(lambda: all(sinks.contents(second, table) == expected(table, 1, 2) for table in PAUSED_AT))
    first.signal(signal.SIGCONT)
    until(lambda: first.role == "standby")
    assert all(sinks.contents(second, table) == expected(table, 1, 2) for table in PAUSED_AT)
    add(source, 3)
    until(lambda: all(sinks.contents(second, table) == expected(table, 1, 2, 3) for table in PAUSED_AT))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("points", KILLED_AT, ids=lambda points: "-".join(points.values()))
def test_standby_continues_a_batch_killed_in_its_commit(
    pair: Pair, postgres: Postgres, kafka: Kafka, tmp_path: Path, points: dict[str, str]
) -> None:
    first, second = pair
    arm_leader(pair, second_batches(points))
    source = tmp_path / "src"
    sinks = create_sinks(first, postgres, kafka, source, points)
    add(source, 1)
    until(lambda: all(sinks.contents(first, table) == [1] for table in points))
    add(source, 2)
    until(lambda: not first.processes())
    until(lambda: second.role == "leader")
    add(source, 3)
    until(lambda: all(sinks.contents(second, table) == expected(table, 1, 2, 3) for table in points))


def test_standby_continues_after_statements_killed_with_the_leader(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    arm_leader(pair, [f"{point}:{job}" for job, (point, _) in STATEMENTS.items()])
    source = tmp_path / "src"
    source.mkdir()
    first("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}'")
    for job in STATEMENTS:
        create = f"CREATE JOB {job} {EXACTLY_ONCE} AS INSERT INTO {job} SELECT id FROM STREAM src"
        first("-e", f"CREATE TABLE {job} (id BIGINT) USING parquet; {create}")
    add(source, 1)
    until(lambda: all(ids(first, job) == [1] for job in STATEMENTS))
    with ExitStack() as commands:
        for job, (point, statement) in STATEMENTS.items():
            commands.enter_context(first.begin("-e", statement.format(EXACTLY_ONCE)))
            until(partial(has_reached, first, f"failpoint {point}:{job}"))
        until(lambda: not first.processes())
        until(lambda: second.role == "leader")
    add(source, 2)
    running = {"snapped": "RUNNING", "updated": "RUNNING", "suspended": "SUSPENDED"}
    until(lambda: {row[1]: row[2] for row in second.rows("SHOW JOBS")} == running)
    until(lambda: ids(second, "snapped") == ids(second, "updated") == [1, 2])
    assert second.rows("SHOW SNAPSHOTS") == []
    second("-e", "RESUME JOB suspended")
    until(lambda: ids(second, "suspended") == [1, 2])
    assert ids(second, "dropped") == [1]


def has_reached(engine: ServiceEngine, point: str) -> bool:
    return point in engine.log


def second_batches(points: Mapping[str, str]) -> list[str]:
    """Return fail points in the second batches of jobs. points: by the table of a sink"""
    return [f"{point}:to_{table}@2" for table, point in points.items()]


def arm_leader(pair: Pair, points: Iterable[str]) -> None:
    """Make the first engine lead with fail points armed, which it is from its next start."""
    first, second = pair
    first("stop")
    until(lambda: second.role == "leader")
    first.set("JETSQL_FAILPOINT", ",".join(points))
    first("start")
    second("stop")
    until(lambda: first.role == "leader")
    second("start")


@dataclass(frozen=True)
class Sinks:
    """Tables of all kinds that jobs write."""

    kafka: Kafka
    topic: str

    def contents(self, engine: ServiceEngine, table: str) -> list[int]:
        """Return the ids in a table, as a reader of committed rows sees them."""
        if table == "sent":
            return sorted(int(message.value or b"") for message in self.kafka.read(self.topic))
        return sorted(int(str(row[0])) for row in engine.rows(f"SELECT id FROM {table}"))


def create_sinks(
    engine: ServiceEngine, postgres: Postgres, kafka: Kafka, source: Path, written: Iterable[str]
) -> Sinks:
    """Create the tables, and a job for each of the written ones that copies the ids of JSON files in a new folder."""
    source.mkdir()
    create_delivered(engine, postgres)
    topic = kafka.topic(f"sent-{uuid4()}", 1)
    tables = {
        "src": f"(id BIGINT) USING json LOCATION '{source}'",
        "staged": "(id BIGINT) USING parquet",
        "moved": "(id BIGINT) USING parquet",
        "replaced": "(id BIGINT) USING parquet",
        "sent": f"(value STRING) {kafka.options(topic, **RAW)}",
    }
    for table, definition in tables.items():
        engine("-e", f"CREATE TABLE {table} {definition}")
    for table in written:
        verb, column = ("OVERWRITE", "max(id)") if table == "replaced" else ("INTO", "id")
        column = "CAST(id AS STRING)" if table == "sent" else column
        engine("-e", f"CREATE JOB to_{table} {EXACTLY_ONCE} AS INSERT {verb} {table} SELECT {column} FROM STREAM src")
    return Sinks(kafka, topic)


def expected(table: str, *ids: int) -> list[int]:
    """Return the ids that a table has after its job has read these."""
    return [max(ids)] if table == "replaced" else list(ids)
