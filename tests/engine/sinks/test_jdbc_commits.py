"""Batches in JDBC tables whose transaction has an unknown end, or a late one: each is in its table once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import pytest

from tests.conftest import Sql, until
from tests.support.servers.postgres import Postgres
from tests.support.servers.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCHEMA: Final = "commits"
QUICK: Final = "OPTIONS ('snapshotIntervalMillis' = '100')"
HELD: Final = 7
"""The advisory lock for which COMMIT waits in a batch with a row that is named `new`."""
COMMITTING: Final = "SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'advisory'"


class Shop:
    """A table `t` of PostgreSQL behind a proxy, and a source `events` with the ids 1 and 2."""

    def __init__(self, server: Postgres, proxy: TcpProxy, sql: Sql) -> None:
        self.server, self.proxy, self.sql = server, proxy, sql
        server(
            f"""
            CREATE SCHEMA {SCHEMA};
            CREATE TABLE {SCHEMA}.t (id int, name text);
            CREATE FUNCTION {SCHEMA}.hold() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_advisory_xact_lock_shared({HELD}); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON {SCHEMA}.t DEFERRABLE INITIALLY DEFERRED
              FOR EACH ROW WHEN (NEW.name = 'new') EXECUTE FUNCTION {SCHEMA}.hold()
            """
        )
        options = server.options(f"{SCHEMA}.t").replace(f":{server.port}/", f":{proxy.port}/")
        sql(f"CREATE TABLE t {options}")
        sql("CREATE TABLE events (id INT) USING json")
        sql("INSERT INTO events VALUES (1), (2)")

    def create_job(self, name: str = "old", verb: str = "CREATE") -> str:
        """Create or replace the job `j`, which writes rows of this name, and return its status."""
        statement = f"{verb} JOB j {QUICK} AS INSERT INTO t SELECT id, '{name}' FROM STREAM events"
        return str(self.sql(statement)[0][2])

    def rows(self) -> list[tuple[Any, ...]]:
        return self.server(f"SELECT * FROM {SCHEMA}.t ORDER BY 1, 2")

    def is_blocked_by(self, pid: int) -> bool:
        """Return whether a session waits for a lock of another one."""
        return bool(self.server(f"SELECT 1 FROM pg_stat_activity WHERE {pid} = ANY (pg_blocking_pids(pid))"))


@pytest.fixture
def shop(postgres: Postgres, sql: Sql) -> Iterator[Shop]:
    with closing(TcpProxy(postgres.port)) as proxy:
        yield Shop(postgres, proxy, sql)
        for row in sql("SHOW JOBS"):
            sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {SCHEMA} CASCADE")


def test_an_update_whose_first_batch_is_being_committed(shop: Shop) -> None:
    """Break the connection in COMMIT; JetSQL queries the ledger before PostgreSQL has committed the batch."""
    shop.create_job()
    shop.sql("SUSPEND JOB j")
    shop.sql("INSERT INTO events VALUES (3)")
    with shop.server.connect() as holder, ThreadPoolExecutor(1) as threads:
        holder.execute(f"SELECT pg_advisory_lock({HELD})")
        update: Future[str] = threads.submit(shop.create_job, "new", "CREATE OR REPLACE")
        until(lambda: bool(shop.server(COMMITTING)))
        [(pid,)] = shop.server(COMMITTING)
        shop.proxy.cut_clients()
        until(lambda: update.done() or shop.is_blocked_by(pid))
        assert shop.rows() == [(1, "old"), (2, "old")]
        holder.execute(f"SELECT pg_advisory_unlock({HELD})")
        update.exception()
    shop.sql("INSERT INTO events VALUES (4)")
    shop.sql("RESUME JOB j")
    shop.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert shop.rows() == [(1, "old"), (2, "old"), (3, "new"), (4, "new")]


def test_derby_lets_a_run_wait_for_a_commit(sql: Sql) -> None:
    """Write batch 1 in another transaction, whose COMMIT is in progress."""
    url = f"jdbc:derby:memory:{SCHEMA}"
    spark = sql.engine.spark
    spark.sql("SELECT 1 AS ID WHERE false").write.jdbc(f"{url};create=true", "T")
    sql(f"CREATE TABLE t USING jdbc OPTIONS (url '{url}', dbtable 'T')")
    sql("CREATE TABLE events (id INT) USING json")
    sql("INSERT INTO events VALUES (1)")
    job = str(sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")[0][0])
    sql("SUSPEND JOB j")
    sql("INSERT INTO events VALUES (2)")
    jvm = spark._jvm
    assert jvm is not None
    with closing(jvm.java.sql.DriverManager.getConnection(url)) as connection:
        statement = connection.createStatement()
        statement.execute(f'CREATE TABLE "jetsql_{job.replace("-", "")}_0_1" (ID INT)')
        connection.setAutoCommit(False)
        statement.execute(f"INSERT INTO \"jetsql_ledger\" VALUES ('{job}', 1, 1, CURRENT_TIMESTAMP)")
        statement.execute("INSERT INTO T VALUES (2)")
        statement.execute(f'DROP TABLE "jetsql_{job.replace("-", "")}_0_1"')
        sql("RESUME JOB j")
        until(lambda: is_waited_for(url, sql))
        connection.commit()
        connection.setAutoCommit(True)
    sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert sorted(sql("SELECT * FROM t")) == [(1,), (2,)]


def is_waited_for(url: str, sql: Sql) -> bool:
    """Return whether a transaction of a database of Derby waits for a lock."""
    locks = "(SELECT STATE FROM SYSCS_DIAG.LOCK_TABLE WHERE STATE = 'WAIT') waiting"
    return bool(sql.engine.spark.read.jdbc(url, locks).count())
