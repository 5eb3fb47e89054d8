"""Fair use in an engine with Spark: the pool of each user, and the limits over Thrift and for Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pyarrow
import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.session.engine_sessions import open_user_session
from jetsql.errors import ReportedError
from tests.conftest import until
from tests.support.servers import thrift_server
from tests.support.servers.http_server import run_server

pytestmark = pytest.mark.spark

POOL = "spark.scheduler.pool"
LONG = "SELECT count(*) FROM range(1000000000000000) WHERE id % 7 = 8"  # whose tasks Spark ends soon


@dataclass(frozen=True)
class Users:
    """The engine with the users ann, who has limits, and boss, an admin."""

    engine: EngineInstance
    http: dict[str, EngineClient]
    thrift: dict[str, thrift_server.Client]


@pytest.fixture(scope="module")
def users(engine: EngineInstance) -> Iterator[Users]:
    with ExitStack() as stack:
        server = stack.enter_context(run_server(engine, idle_seconds=3600.0))
        for text in (
            "CREATE SCHEMA streamed",
            "CREATE TABLE streamed.numbers (id BIGINT) USING parquet",
            "INSERT INTO streamed.numbers SELECT id FROM range(200)",
            "CREATE USER ann",
            "CREATE USER boss",
            "GRANT ADMIN TO boss",
            "GRANT SELECT ON TABLE streamed.numbers TO ann",
        ):
            list(engine.run(text).rows)
        tokens = {user: str(next(iter(engine.run(f"CREATE TOKEN FOR {user}").rows))[1]) for user in ("ann", "boss")}
        endpoint = stack.enter_context(thrift_server.thrift(engine, thrift_server.NEVER))
        limits = "statements_most = 1, rows_most = 100, statement_seconds = 10"
        list(engine.run(f"ALTER USER ann SET ({limits})").rows)
        list(engine.run(f"ALTER USER boss SET ({limits})").rows)
        http = {user: stack.enter_context(closing(EngineClient(server.url, tokens[user]))) for user in tokens}
        thrift = {user: stack.enter_context(closing(endpoint.client(user, tokens[user]))) for user in tokens}
        yield Users(engine, http, thrift)
        for text in ("DROP SCHEMA streamed CASCADE", *(f"DROP USER {user}" for user in tokens)):
            list(engine.run(text).rows)


def test_statements_run_in_the_pool_of_their_user(users: Users) -> None:
    context: Any = users.engine.spark.sparkContext
    pools = []
    for user in ("ann", "boss", "owner", "ann"):
        open_user_session(users.engine.spark, user).sql("SELECT 1").collect()
        pools.append(context.getLocalProperty(POOL))
    open_user_session(users.engine.spark, "owner").sql("SELECT 1").collect()
    assert pools == ["user ann", "user boss", None, "user ann"]
    assert context.getLocalProperty(POOL) is None


def test_pool_of_a_job_is_kept(users: Users) -> None:
    context: Any = users.engine.spark.sparkContext
    context.setLocalProperty(POOL, "0001-a-job")
    try:
        open_user_session(users.engine.spark, "ann").sql("SELECT 1").collect()
        assert context.getLocalProperty(POOL) == "0001-a-job"
    finally:
        context.setLocalProperty(POOL, None)


def test_rows_over_thrift(users: Users) -> None:
    assert not users.thrift["ann"].outcome("SELECT id FROM range(100)")[0]
    response = users.thrift["ann"].execute("SELECT id FROM range(101)")
    assert "LIMIT_EXCEEDED" in users.thrift["ann"].rows(response.getOperationHandle())
    response = users.thrift["boss"].execute("SELECT id FROM range(101)")
    assert "LIMIT_EXCEEDED" not in users.thrift["boss"].rows(response.getOperationHandle())


def test_statements_and_time_over_thrift(users: Users) -> None:
    client = users.thrift["ann"]
    operation = client.execute(LONG, background=True).getOperationHandle()
    failed, text = client.outcome("SELECT 1")
    assert failed and "LIMIT_EXCEEDED" in text and "1 statements" in text
    assert not users.thrift["boss"].outcome("SELECT 1")[0]
    until(lambda: client.state(operation) == "TIMEDOUT_STATE")
    assert not client.outcome("SELECT 1")[0]


def test_stream_over_thrift(users: Users) -> None:
    client = users.thrift["ann"]
    assert not client.outcome("SELECT id FROM STREAM streamed.numbers LIMIT 100")[0]
    response = client.execute("SELECT id FROM STREAM streamed.numbers LIMIT 101")
    assert "LIMIT_EXCEEDED" in client.rows(response.getOperationHandle())
    list(users.engine.run("ALTER USER ann SET (statement_seconds = 3)").rows)  # less than a stream with a limit takes
    try:
        operation = client.execute("SELECT id FROM STREAM streamed.numbers LIMIT 1000", background=True)
        until(lambda: _streams(users.engine) == 1)
        failed, text = client.outcome("SELECT 1")
        assert failed and "LIMIT_EXCEEDED" in text
        until(lambda: client.state(operation.getOperationHandle()) == "TIMEDOUT_STATE")
    finally:
        list(users.engine.run("ALTER USER ann SET (statement_seconds = 10)").rows)
    until(lambda: _streams(users.engine) == 0)
    assert not client.outcome("SELECT 1")[0]


def test_stream_over_thrift_runs_in_the_pool_of_its_user(users: Users) -> None:
    context: Any = users.engine.spark.sparkContext
    store = context._jsc.sc().statusStore()
    known = {job.jobId() for job in _spark_jobs(store)}
    assert not users.thrift["ann"].outcome("SELECT id FROM STREAM streamed.numbers LIMIT 100")[0]
    found: list[Any] = []

    def has_succeeded() -> bool:
        new = (job for job in _spark_jobs(store) if job.jobId() not in known)
        found[:] = [job for job in new if str(job.status()) == "SUCCEEDED"]
        return bool(found)

    until(has_succeeded)
    numbers = found[0].stageIds()
    stages = [store.lastStageAttempt(numbers.apply(at)) for at in range(numbers.size())]
    pools = {(str(stage.status()), stage.schedulingPool()) for stage in stages}
    assert pools - {("SKIPPED", "default")} == {("COMPLETE", "user ann")}


def _spark_jobs(store: Any) -> list[Any]:
    """Return the newest jobs that Spark remembers."""
    jobs = store.jobsList(None)
    return [jobs.apply(at) for at in range(jobs.size())]


def _streams(engine: EngineInstance) -> int:
    """Return the number of streaming queries that run."""
    gateway: Any = engine.spark.sparkContext._gateway
    threads = gateway.jvm.Thread.getAllStackTraces().keySet()
    return sum(str(thread.getName()).startswith("stream execution thread for") for thread in threads)


def test_rows_and_time_over_http(users: Users) -> None:
    ann = users.http["ann"]
    assert len(list(ann.run("SELECT id FROM range(100)").rows)) == 100
    for text in ("SELECT id FROM range(101)", LONG):
        with pytest.raises(ReportedError) as caught:
            list(ann.run(text).rows)
        assert caught.value.report.condition == "JETSQL.LIMIT_EXCEEDED"
    assert len(list(users.http["boss"].run("SELECT id FROM range(101)").rows)) == 101


def test_rows_of_arrow(users: Users) -> None:
    with users.http["ann"].run_arrow("SELECT id FROM range(100)") as stream:
        assert pyarrow.ipc.open_stream(stream).read_all().num_rows == 100
    with pytest.raises((ReportedError, pyarrow.ArrowInvalid)):
        with users.http["ann"].run_arrow("SELECT id FROM range(100000)") as stream:
            pyarrow.ipc.open_stream(stream).read_all()
