"""A session of the user ann, who has rights on some objects of a home that has canaries in the others."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

CANARY: Final = "canary-4711"
"""The value in every hidden table and file."""
HIDDEN: Final = ("salary_column", CANARY)
"""Texts that ann must never see: a column of a hidden table, and a value in it."""
_HOME: Final = f"""
CREATE SCHEMA hr;
CREATE SCHEMA s;
CREATE SCHEMA own;
CREATE TABLE hr.pay (id INT, salary_column STRING) USING parquet;
INSERT INTO hr.pay VALUES (1, '{CANARY}');
CREATE TABLE hr.parts (id INT, salary_column STRING, p INT) USING parquet PARTITIONED BY (p);
INSERT INTO hr.parts VALUES (1, '{CANARY}', 1);
CREATE VIEW hr.v AS SELECT * FROM hr.pay;
CREATE TABLE s.orders (id INT, amount INT) USING parquet;
INSERT INTO s.orders VALUES (1, 10), (2, 20);
CREATE TABLE s.items (id INT, name STRING) USING parquet;
INSERT INTO s.items VALUES (1, 'a'), (2, 'b');
CREATE TABLE s.inbox (id INT, text STRING) USING parquet;
CREATE TABLE s.hidden (id INT, salary_column STRING) USING parquet;
INSERT INTO s.hidden VALUES (1, '{CANARY}');
CREATE VIEW s.names AS SELECT count(salary_column) AS n, current_user() AS who FROM hr.pay;
CREATE VIEW s.broken AS SELECT id AS x, salary_column AS y FROM hr.pay;
CREATE FUNCTION s.twice(x INT) RETURNS INT RETURN x * 2;
CREATE FUNCTION s.leak() RETURNS STRING RETURN (SELECT max(salary_column) FROM hr.pay);
CREATE FUNCTION s.leaked_rows() RETURNS TABLE (x STRING) RETURN SELECT salary_column FROM hr.pay;
CREATE FUNCTION s.hidden_function(x INT) RETURNS INT RETURN x * 3;
CREATE USER ann;
CREATE USER bob;
ALTER VIEW s.broken OWNER TO bob;
GRANT SELECT ON TABLE s.orders TO ann;
GRANT SELECT ON TABLE s.items TO ann;
GRANT INSERT ON TABLE s.inbox TO ann;
GRANT SELECT ON VIEW s.names TO ann;
GRANT SELECT ON VIEW s.broken TO ann;
GRANT CREATE ON SCHEMA own TO ann;
GRANT SELECT ON SCHEMA own TO ann;
GRANT USAGE ON FUNCTION s.twice TO ann;
GRANT USAGE ON FUNCTION s.leak TO ann;
GRANT USAGE ON FUNCTION s.leaked_rows TO ann
"""


class Restricted:
    """The session of ann, and what shows whether a statement had an effect outside of it."""

    def __init__(self, engine: EngineInstance, folder: Path, tokens: Mapping[str, str]) -> None:
        self.engine = engine
        self.tokens = tokens  # of the users
        self.folder = folder  # for files that a statement could read or write
        self.spark = self.session("ann")
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        secret = folder / "secret.txt"
        secret.write_text(f"{CANARY}\n")
        self._before = self._files()
        self.places = {
            "folder": str(folder),
            "file": str(secret),
            "port": str(self._server.getsockname()[1]),
            "warehouse": str(engine.spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"),
        }

    def session(self, user: str | None) -> SparkSession:
        """Return a new session of a user, or of no user."""
        session = self.engine.spark.newSession()
        if user is not None:
            java(session).common.Principals.set(session._jsparkSession, user)
        return session

    def run_as_owner(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement of the engine's owner, and return its rows."""
        return [tuple(row) for row in self.engine.spark.sql(text).collect()]

    def drop_jobs(self) -> None:
        """Drop the jobs that have not ended."""
        for view in self.engine._manager.registry.live():
            self.run_as_owner(f"DROP JOB '{view.job.id}'")

    def run(self, text: str, session: SparkSession | None = None) -> list[tuple[Any, ...]]:
        """Run a statement as ann and return its rows."""
        return [tuple(row) for row in (session or self.spark).sql(self.filled(text)).collect()]

    def filled(self, text: str) -> str:
        """Return a statement with the places of files and of the server."""
        for name, place in self.places.items():
            text = text.replace("{" + name + "}", place)
        return text

    def effects(self) -> list[str]:
        """Return what statements have changed outside of Spark since the last call: files, calls, connections."""
        found = [f"file {path}" for path in self._files() ^ self._before]
        self._before = self._files()
        gateway: Any = self.engine.spark.sparkContext._gateway
        system = gateway.jvm.System
        if system.getProperty("jetsql.canary") is not None:
            found.append("a method of Java was called")
            system.clearProperty("jetsql.canary")
        with suppress(BlockingIOError):
            connection, _ = self._server.accept()
            connection.close()
            found.append("a connection was opened")
        return found

    def _files(self) -> set[Path]:
        return set(self.folder.rglob("*"))

    def close(self) -> None:
        self._server.close()


@contextmanager
def restricted(engine: EngineInstance, folder: Path) -> Iterator[Restricted]:
    """Create the tables and the users, and yield a session of ann. At the end, the home has no users."""
    for statement in _HOME.strip().split(";\n"):
        engine.spark.sql(statement)
    tokens = {user: str(engine.spark.sql(f"CREATE TOKEN FOR {user}").collect()[0]["token"]) for user in ("ann", "bob")}
    session = Restricted(engine, folder, tokens)
    try:
        yield session
    finally:
        session.close()
        session.drop_jobs()
        for schema in ("hr", "s", "own"):
            engine.spark.sql(f"DROP SCHEMA {schema} CASCADE")
        for user in ("ann", "bob"):
            engine.spark.sql(f"REASSIGN OWNED BY {user} TO owner")  # also the jobs that have ended
            engine.spark.sql(f"DROP USER {user}")
