"""An engine with Delta or Iceberg whose users have rights on some of its tables, with canaries in the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError
from jetsql.home.discovery import read_note
from tests.support.rights.restricted_session import CANARY
from tests.support.tables.lake_tables import CATALOG, ENGINES
from tests.support.tables.lakehouse import Lakehouse, lakehouse

_USERS = ("reader", "writer", "keeper")
_HOME = f"""
CREATE SCHEMA {{catalog}}s;
CREATE SCHEMA {{catalog}}hr;
CREATE TABLE {{catalog}}hr.pay (id INT, salary_column STRING) USING {{format}};
INSERT INTO {{catalog}}hr.pay VALUES (1, '{CANARY}');
CREATE TABLE {{catalog}}s.orders (id INT, name STRING) USING {{format}};
INSERT INTO {{catalog}}s.orders VALUES (1, 'a'), (2, 'b');
INSERT INTO {{catalog}}s.orders VALUES (3, 'c');
MERGE INTO {{catalog}}s.orders o USING {{catalog}}hr.pay p ON o.id = p.id + 90 AND p.salary_column = 'x'
 WHEN MATCHED THEN DELETE;
CREATE TABLE {{catalog}}s.kept (id INT, name STRING) USING {{format}};
INSERT INTO {{catalog}}s.kept VALUES (1, 'a'), (2, 'b');
CREATE SCHEMA views;
CREATE VIEW views.counted AS SELECT count(salary_column) AS n, current_user() AS who FROM {{catalog}}hr.pay;
CREATE USER reader;
CREATE USER writer;
CREATE USER keeper;
GRANT SELECT ON TABLE {{catalog}}s.orders TO reader;
GRANT SELECT ON VIEW views.counted TO reader;
GRANT SELECT, INSERT, MODIFY ON TABLE {{catalog}}s.orders TO writer;
GRANT SELECT ON TABLE {{catalog}}s.orders TO keeper;
GRANT SELECT ON SCHEMA {{catalog}}s TO keeper;
ALTER TABLE {{catalog}}s.kept OWNER TO keeper
"""


@dataclass(frozen=True)
class LakeUsers:
    """The engine: `reader` has SELECT on orders, `writer` MODIFY as well, `keeper` owns kept and reads the schema."""

    sql: Lakehouse
    """A session of the engine's owner."""
    clients: dict[str, EngineClient]
    """The sessions of the users."""
    format: str
    """`delta` or `iceberg`."""
    folder: Path
    """The folder of the tables."""

    @property
    def is_delta(self) -> bool:
        return self.format == "delta"

    def name(self, table: str) -> str:
        """Return the name of a table of a schema, which begins with its catalogue."""
        return f"spark_catalog.{table}" if self.is_delta else f"{CATALOG}.{table}"

    def filled(self, text: str) -> str:
        """Return a statement with the catalogue and the places of the tables."""
        places = {"c": self.name("").removesuffix("."), "folder": str(self.folder), "format": self.format}
        for name, place in places.items():
            text = text.replace("{" + name + "}", place)
        return text

    def run(self, user: str, text: str) -> tuple[str, str]:
        """Run a statement, and return the condition of its error and its whole text, or "" and the text of the rows."""
        try:
            return "", repr(list(self.clients[user].run(self.filled(text)).rows))
        except ReportedError as error:
            return error.report.condition or "failed", str(error)


@contextmanager
def lake_users(table_format: str, folder: Path) -> Iterator[LakeUsers]:
    """Start an engine with a format, create tables and users, and stop it at the end."""
    spark, settings = ENGINES[table_format]
    with lakehouse(spark, folder, settings.format(folder=folder)) as sql, ExitStack() as stack:
        catalog = "" if table_format == "delta" else f"{CATALOG}."
        sql(*_HOME.format(catalog=catalog, format=table_format).strip().split(";\n"))
        note = read_note(folder / "home")
        assert note is not None
        tokens = {user: str(sql(f"CREATE TOKEN FOR {user}")[0][1]) for user in _USERS}
        clients = {user: stack.enter_context(closing(EngineClient(note.url, token))) for user, token in tokens.items()}
        tables = folder / "home" / "warehouse" if table_format == "delta" else folder / "lake"
        yield LakeUsers(sql, clients, table_format, tables)
