"""The fence of a JDBC sink, on PostgreSQL without Spark: the sink is asked for a batch whose transaction ends late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from pyspark.sql import DataFrame

from jetsql.engine.jdbc.jdbc_dialects import find_dialect
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import SinkContext, jdbc, preflight
from jetsql.engine.sinks.jdbc import JdbcTransactions
from jetsql.errors import StatementError
from tests.conftest import until
from tests.jobs.store.test_store import JOB
from tests.support.golden_reports import raises
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tests.support.servers.psycopg_database import PsycopgDatabase
from tests.support.servers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.spark  # needs a server, as tests with Spark do

ROWS: Final = cast(DataFrame, None)  # the test writes the rows of a batch, not Spark
HELD: Final = 9
"""The advisory lock for which COMMIT waits in a batch that has written rows."""
_schemas = count(1)


class Sink:
    """A table of PostgreSQL behind a proxy, and writers of it, each as that of a run."""

    def __init__(self, server: Postgres, proxy: TcpProxy) -> None:
        self.server, self.proxy = server, proxy
        self.schema = f"fence_{next(_schemas)}"
        self.is_staged = Event()
        self.may_stage = Event()
        self.may_stage.set()
        server(
            f"""
            CREATE SCHEMA {self.schema};
            CREATE TABLE {self.schema}.t (id int);
            CREATE FUNCTION {self.schema}.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              PERFORM pg_advisory_xact_lock_shared({HELD});
              IF NEW.id < 0 THEN RAISE 'a negative id'; END IF;
              RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON {self.schema}.t DEFERRABLE INITIALLY DEFERRED
              FOR EACH ROW EXECUTE FUNCTION {self.schema}.hold()
            """
        )
        url = f"jdbc:postgresql://127.0.0.1:{proxy.port}/postgres"
        options = {"url": url, "user": USER, "password": PASSWORD, "dbtable": f"{self.schema}.t"}
        self.table = TableFacts("t", "jdbc", "", 0, ("id",), (), options, False, False)

    def writer(self, run: int) -> JdbcTransactions:
        catalog = SimpleNamespace(require_sink_table=lambda sink: self.table)
        checkpoints = SimpleNamespace(leadership=SimpleNamespace(check=lambda: None))
        context = SinkContext(
            replace(JOB, run=run),
            JOB.plan.sinks[0],
            cast(Any, None),
            cast(Any, catalog),
            cast(Any, checkpoints),
            0,
            0.0,
            lambda text: None,
        )
        return JdbcTransactions(context)

    def stage(self, rows: DataFrame, database: PsycopgDatabase, table: str, defaults: object, row: int = 1) -> int:
        """Write one row to a staging table, as Spark does with those of a batch."""
        self.server(f"INSERT INTO {table} VALUES ({row})")
        self.is_staged.set()
        assert self.may_stage.wait(60)
        return 1

    def rows(self) -> list[Any]:
        return [row[0] for row in self.server(f"SELECT id FROM {self.schema}.t ORDER BY 1")]

    @contextmanager
    def committing(self, threads: ThreadPoolExecutor) -> Iterator[int]:
        """Write batch 0, and cut its connection in COMMIT. Yield the process of its session, which waits meanwhile."""
        with self.server.connect() as holder:
            holder.execute(f"SELECT pg_advisory_lock({HELD})")
            writing = threads.submit(self.writer(1).write, ROWS, 0)
            waiting = "SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'advisory'"
            until(lambda: bool(self.server(waiting)))
            self.proxy.cut_clients()
            with pytest.raises(StatementError, match="cannot be reached"):  # with words of the driver
                writing.result(20)
            [(pid,)] = self.server(waiting)
            yield pid

    def is_asked(self, answer: Future[Any], pid: int) -> bool:
        """Return whether an answer is there, or waits for the transaction of a session."""
        blocked = f"SELECT 1 FROM pg_stat_activity WHERE {pid} = ANY (pg_blocking_pids(pid))"
        return answer.done() or bool(self.server(blocked))


@pytest.fixture
def sink(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sink]:
    with closing(TcpProxy(postgres.port)) as proxy:
        sink = Sink(postgres, proxy)
        monkeypatch.setattr(jdbc, "Database", PsycopgDatabase)
        monkeypatch.setattr(jdbc, "append_rows", sink.stage)
        monkeypatch.setattr(jdbc, "consume_rows", lambda rows: None)
        yield sink
    postgres(f"DROP SCHEMA {sink.schema} CASCADE")


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def test_a_batch_is_written_once(sink: Sink) -> None:
    writer = sink.writer(1)
    assert not writer.has_batch(0)
    assert (writer.write(ROWS, 0), writer.write(ROWS, 0)) == (1, None)
    assert (writer.has_batch(0), writer.has_batch(1)) == (True, False)
    assert sink.rows() == [1]


@pytest.mark.parametrize(
    "ask", [lambda writer: writer.has_batch(0), lambda writer: writer.write(ROWS, 0) is None], ids=["question", "run"]
)
def test_ledger_query_waits_for_a_commit(
    sink: Sink, threads: ThreadPoolExecutor, ask: Callable[[JdbcTransactions], bool]
) -> None:
    with sink.committing(threads) as pid:
        answer = threads.submit(ask, sink.writer(2))
        until(lambda: sink.is_asked(answer, pid))
    assert answer.result(20) is True
    assert sink.rows() == [1]


def test_a_commit_that_fails_has_not_written_the_batch(
    sink: Sink, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jdbc, "append_rows", partial(sink.stage, row=-1))
    with sink.committing(threads) as pid:
        answer = threads.submit(sink.writer(2).has_batch, 0)
        until(lambda: sink.is_asked(answer, pid))
    assert answer.result(20) is False
    assert sink.rows() == []


def test_transaction_that_begins_after_the_reply_fails(sink: Sink, threads: ThreadPoolExecutor) -> None:
    """Refuse the transaction of an engine that was paused before it, for example."""
    sink.may_stage.clear()
    writing = threads.submit(sink.writer(1).write, ROWS, 0)
    assert sink.is_staged.wait(60)
    assert not sink.writer(2).has_batch(0)
    sink.may_stage.set()
    with raises(StatementError, match="another run of the job has dropped the staging table"):
        writing.result(20)
    assert sink.rows() == []


def test_a_batch_that_comes_after_later_ones_fails(sink: Sink, threads: ThreadPoolExecutor) -> None:
    """Remove its row of the ledger, which that of a later batch has replaced."""
    late = sink.writer(1)
    late.write(ROWS, 0)
    sink.may_stage.clear()
    writing = threads.submit(late.write, ROWS, 1)
    until(
        lambda: bool(sink.server(f"SELECT 1 FROM pg_tables WHERE schemaname = '{sink.schema}' AND tablename ~ '_1_1$'"))
    )
    sink.server(
        f"""DELETE FROM {sink.schema}.jetsql_ledger;
        INSERT INTO {sink.schema}.jetsql_ledger VALUES ('{JOB.id}', 2, 1, now())"""
    )
    sink.may_stage.set()
    with raises(StatementError, match="another run of the job has written batch 2 already"):
        writing.result(20)
    assert sink.rows() == [1]


def test_a_transaction_that_does_not_end(
    sink: Sink, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Query the ledger again while the transaction is open."""

    def find_impatient(driver: Any) -> Any:
        dialect = find_dialect(driver)
        assert dialect is not None
        return replace(dialect, session_setup=("SET lock_timeout = '50ms'",))

    with sink.committing(threads):
        monkeypatch.setattr(jdbc, "find_dialect", find_impatient)
        with raises(StatementError, match="has locked a table that the job needs") as caught:
            sink.writer(2).has_batch(0)
        assert caught.value.condition == "JETSQL.EXTERNAL_SYSTEM_ERROR"
        assert caught.value.hint == "Wait until that transaction has ended, or end its session in the database."
    until(lambda: sink.writer(2).has_batch(0))
    assert sink.rows() == [1]


def test_another_job_creates_the_ledger_during_a_trial(sink: Sink, threads: ThreadPoolExecutor) -> None:
    target = jdbc.open_target(cast(Any, None), sink.table, JOB.plan.sinks[0], "preflight")
    with sink.server.connect() as other:
        with other.transaction():
            other.execute(target.ledger.create_ledger().encode())
            trial = threads.submit(preflight._try_batch, target, JOB.plan.sinks[0])
            until(lambda: sink.is_asked(trial, other.info.backend_pid))
        trial.result(20)
    assert sink.server(f"SELECT count(*) FROM {sink.schema}.jetsql_ledger") == [(0,)]
