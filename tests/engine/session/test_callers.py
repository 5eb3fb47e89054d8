"""The callers of statements that reach the engine through Spark: the history says who, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.notebook.notebook_engine import EmbeddedSession
from jetsql.notebook.run_cell import CellOptions, run_cell
from jetsql.request import Caller, Cancellation, Endpoint, acting_for, cancellable
from jetsql.settings.engine_settings import EndpointSettings
from tests.conftest import Sql
from tests.engine.session.test_connect_sessions import TOKEN as CONNECT_TOKEN
from tests.engine.session.test_connect_sessions import opened, value
from tests.faults.source import Source
from tests.support.servers.thrift_server import NEVER, thrift

pytestmark = pytest.mark.spark

RESTART = "RESTART JOB called"
IN_A_TEXT = f"EXECUTE IMMEDIATE '{RESTART}'"


@pytest.fixture
def job(numbers: Source, sql: Sql) -> Iterator[Sql]:
    """Run a job named `called`, and return a function that runs statements."""
    sql("CREATE JOB called AS INSERT INTO plain SELECT id FROM STREAM numbers")
    yield sql
    sql("DROP JOB called")


def authors(sql: Sql, event: str = "restart requested") -> list[tuple[object, ...]]:
    """Return who has caused an event of the job, and from where."""
    [job] = [row[0] for row in sql("SHOW JOBS LIKE 'called'")]
    relation = f"jetsql.job_history WHERE job_id = '{job}' AND event = '{event}'"
    return sql(f"SELECT by, endpoint, address FROM {relation} ORDER BY time")


@pytest.mark.parametrize("text", [RESTART, IN_A_TEXT])
def test_history_names_a_client_of_spark_connect(engine: EngineInstance, job: Sql, text: str) -> None:
    with engine.open_endpoints(EndpointSettings(), CONNECT_TOKEN) as addresses:
        with closing(opened(addresses.connect, user="eve")) as client:
            value(client, text)
    assert authors(job) == [("owner", "connect", "127.0.0.1")]


@pytest.mark.parametrize("text", [RESTART, IN_A_TEXT])
def test_history_names_a_client_of_the_thrift_endpoint(engine: EngineInstance, job: Sql, text: str) -> None:
    with thrift(engine, NEVER) as endpoint:
        client = endpoint.client()
        assert "SUCCESS" in str(client.execute(text).getStatus().getStatusCode())
        client.close()
    assert authors(job) == [("owner", "thrift", "127.0.0.1")]


@pytest.mark.parametrize("text", [RESTART, IN_A_TEXT])
def test_history_names_a_session_in_the_process(engine: EngineInstance, job: Sql, text: str) -> None:
    engine.spark.newSession().sql(text).collect()
    assert authors(job) == [("owner", "spark.sql", None)]


@pytest.mark.parametrize("text", [RESTART, IN_A_TEXT])
def test_caller_of_a_request_is_that_of_its_inner_statements(engine: EngineInstance, job: Sql, text: str) -> None:
    ann = Caller("ann", Endpoint.HTTP, "10.0.0.7")
    with acting_for(ann), cancellable(Cancellation()):
        list(engine.session().run(text).rows)
    assert authors(job) == [("ann", "http", "10.0.0.7")]


def test_history_names_a_program_with_the_engine(job: Sql) -> None:
    job(RESTART)
    assert authors(job) == [("owner", "embedded", None)]


def test_history_names_a_notebook_with_the_engine(engine: EngineInstance, job: Sql) -> None:
    list(run_cell(RESTART, EmbeddedSession(engine), {}, CellOptions()))
    assert authors(job) == [("owner", "notebook", None)]


def test_events_of_the_engine_have_no_endpoint(job: Sql) -> None:
    assert authors(job, "first trigger") == [("engine", None, None)]
