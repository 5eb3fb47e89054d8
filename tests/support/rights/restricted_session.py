"""A session of the user ann, who has rights on some objects of a home that has canaries in the others."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
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
_RIGHTS: Final = (
    ("SELECT", "TABLE", "s.orders"),
    ("SELECT", "TABLE", "s.items"),
    ("INSERT", "TABLE", "s.inbox"),
    ("SELECT", "TABLE", "s.names"),
    ("SELECT", "TABLE", "s.broken"),
    ("CREATE", "SCHEMA", "own"),
    ("SELECT", "SCHEMA", "own"),
    ("USAGE", "FUNCTION", "s.twice"),
    ("USAGE", "FUNCTION", "s.leak"),
    ("USAGE", "FUNCTION", "s.leaked_rows"),
)
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
CREATE FUNCTION s.hidden_function(x INT) RETURNS INT RETURN x * 3
"""


def published(rights: tuple[tuple[str, str, str], ...] = _RIGHTS, admin: bool = False) -> str:
    """Return the rights of ann, and of bob, who owns the view s.broken and has no rights."""
    grants = [
        {"right": right, "kind": kind, "name": ["spark_catalog", *name.split(".")]} for right, kind, name in rights
    ]
    views = {"spark_catalog.s.names": "engine", "spark_catalog.s.broken": "bob", "spark_catalog.hr.v": "engine"}
    return json.dumps(
        {"users": {"ann": {"admin": admin, "rights": grants}, "bob": {"admin": False, "rights": []}}, "views": views}
    )


class Restricted:
    """The session of ann, and what shows whether a statement had an effect outside of it."""

    def __init__(self, engine: EngineInstance, folder: Path) -> None:
        self.engine = engine
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
            java(session).rights.Principals.set(session._jsparkSession, user)
        return session

    def publish(self, rights: str | None) -> None:
        java(self.engine.spark).rights.Rights.publish(rights)

    def run(self, text: str, session: SparkSession | None = None) -> list[tuple[Any, ...]]:
        """Run a statement as ann and return its rows."""
        for name, place in self.places.items():
            text = text.replace("{" + name + "}", place)
        return [tuple(row) for row in (session or self.spark).sql(text).collect()]

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
    """Create the tables, publish the rights, and yield a session of ann. At the end, the home has no users."""
    setup = engine.spark.newSession()
    for statement in _HOME.strip().split(";\n"):
        setup.sql(statement)
    session = Restricted(engine, folder)
    session.publish(published())
    try:
        yield session
    finally:
        session.publish(None)
        session.close()
        for schema in ("hr", "s", "own"):
            setup.sql(f"DROP SCHEMA {schema} CASCADE")
