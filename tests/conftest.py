"""Fixtures. All tests with Spark share one engine, because its start takes longer than most tests.

`engine` is the engine itself. `sql` runs statements in a schema for the test, and drops its jobs at the end.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import jetsql
from tests.faults.source import Source
from tests.support.engines.spark_conf import CONF
from tests.support.hypothesis_profiles import seed, use_profile
from tests.support.servers.kafka import Kafka, running_kafka
from tests.support.servers.postgres import Postgres, running_postgres
from tools import class_archive

if TYPE_CHECKING:
    from jetsql.client.engine_client import EngineClient
    from jetsql.embedded.engine_instance import EngineInstance
    from jetsql.errors import ErrorReport
    from jetsql.server.app import ServedEngine
    from tests.support.servers.http_server import RunningServer

collect_ignore = ["sqlalchemy_suite"]  # it needs other options: `make test-clients`
SHORT_INTERVAL: Final = "200 milliseconds"
_schemas = itertools.count(1)
os.environ |= class_archive.environment()  # also for the processes that tests start
use_profile()  # before a test module derives settings from the profile


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the seed of a search before Hypothesis chooses one, and give the tests a configuration folder.

    Otherwise a test could pass because of a file in the user's folder, such as the secret of a cluster.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # by a shell that runs pytest in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = tempfile.TemporaryDirectory(prefix="jetsql-tests-config-")
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_CONFIG_HOME"] = folder.name
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = seed()


# The modules with Spark that take longest, mostly because they start engines of their own, the longest first. They run
# before the others, so that no worker has one of them left when the other workers have finished.
LONG_MODULES: Final = (
    "stories/test_crashes.py",
    "engine/jvm/test_open_ports.py",
    "project/test_java_module.py",
    "engine/session/test_spark_endpoints.py",
    "sqltests/test_sql_tests_spark.py",
    "embedded/test_engine_process_spark.py",
    "sqltests/test_ctrl_c_spark.py",
    "stories/test_job_owner_story.py",
    "engine/sinks/test_jdbc_sink.py",
    "engine/sinks/kafka/test_kafka_jobs.py",
    "engine/sinks/test_file_tables.py",
    "engine/session/test_enable.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the long modules to the front, in their order; the other tests keep theirs. Skip `needs_spark`."""
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONG_MODULES)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))
    installed = [int(part) for part in version("pyspark").split(".")[:2]]
    for item in items:
        mark = item.get_closest_marker("needs_spark")
        if mark is not None and installed < [int(part) for part in mark.args[0].split(".")]:
            item.add_marker(pytest.mark.skip(reason=f"needs Spark {mark.args[0]}"))


def pytest_report_header() -> str:
    return "property tests: gate" if seed() is None else f"property tests: search, JETSQL_SEED={seed()}"


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineInstance]:
    with pytest.MonkeyPatch.context() as patched:
        _shorten_default_intervals(patched)
        with jetsql.open(home=tmp_path_factory.mktemp("a home"), master="local[2]", conf=CONF) as engine:
            yield engine


def _shorten_default_intervals(patched: pytest.MonkeyPatch) -> None:
    """Run the jobs of this process that have no interval of their own often: the default is up to ten seconds."""
    from jetsql.engine.runs.streaming_runs import StreamingRun

    trigger = StreamingRun._trigger

    def shortened(run: StreamingRun) -> dict[str, Any]:
        plan, found = run._context.job.plan, trigger(run)
        is_given = plan.options.snapshot_interval_millis is not None
        if is_given or found != {"processingTime": f"{plan.interval_millis} milliseconds"}:
            return found
        return {"processingTime": SHORT_INTERVAL}

    patched.setattr(StreamingRun, "_trigger", shortened)


@pytest.fixture
def server(engine: ServedEngine) -> Iterator[RunningServer]:
    """Yield the HTTP endpoint of the fixture `engine`, which a module may replace by one without Spark."""
    from tests.support.servers.http_server import run_server

    with run_server(engine) as server:
        yield server


@pytest.fixture
def remote(server: RunningServer) -> Iterator[EngineClient]:
    """Yield a session on `server`."""
    from jetsql.client.engine_client import EngineClient
    from tests.support.servers.http_server import TOKEN

    remote = EngineClient(server.url, TOKEN)
    yield remote
    remote.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    with running_kafka() as server:
        yield server


@pytest.fixture
def quiet_sqlglot() -> Iterator[None]:
    """Keep sqlglot from logging each statement of Spark that it takes for a Command."""
    logger = logging.getLogger("sqlglot")
    logger.disabled = True
    yield
    logger.disabled = False


class Sql:
    """A function that runs a statement and returns its rows."""

    def __init__(self, engine: EngineInstance) -> None:
        self.engine = engine

    def __call__(self, text: str) -> list[tuple[Any, ...]]:
        return list(self.engine.run(text).rows)

    def all(self, script: str) -> None:
        """Run statements, each of which ends with a semicolon at the end of a line."""
        for text in script.split(";\n"):
            if text.strip(" \n;"):
                self(text.strip(" \n;"))

    def value(self, text: str) -> Any:
        """Return the only value of the only row."""
        [(value,)] = self(text)
        return value

    def error(self, text: str) -> ErrorReport:
        """Return the error of a statement."""
        try:
            self(text)
        except Exception as error:
            return self.engine.error(error, text)
        raise AssertionError(f"no error: {text}")

    def status(self, job: str) -> str:
        return str(dict(self(f"DESCRIBE JOB {job}"))["status"])


@pytest.fixture
def sql(engine: EngineInstance) -> Iterator[Sql]:
    run = Sql(engine)
    schema = f"test_{next(_schemas)}"
    run(f"CREATE SCHEMA {schema}")
    run(f"USE {schema}")
    yield run
    for row in run("SHOW JOBS"):
        run(f"DROP JOB '{row[0]}'")
    for kind in ("STREAMING TABLE", "MATERIALIZED VIEW"):  # SHOW lists those of all schemas
        for schema, name, *_ in run(f"SHOW {kind}S"):
            run(f"DROP {kind} {schema}.{name}")
    engine.spark._jsparkSession.sessionState().catalog().clearTempTables()  # no schema has them, so the next test would
    run("USE default")  # the schema stays: dropping all of them would take a minute of `make test`


@pytest.fixture
def numbers(sql: Sql, tmp_path: Path) -> Source:
    """Create a table of four files with known rows, to which more can be added, and two tables to write to."""
    source = Source(tmp_path / "numbers")
    source.add(4)
    sql(f"CREATE TABLE numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{source.folder}'")
    sql("CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet")
    sql("CREATE TABLE plain (id BIGINT) USING parquet")
    return source


def until(reached: Callable[[], bool]) -> None:
    """Wait for a condition that no statement waits for, at most a minute."""
    deadline = time.monotonic() + 60.0
    while not reached():
        assert time.monotonic() < deadline, "the condition was not reached within a minute"
        time.sleep(0.01)
