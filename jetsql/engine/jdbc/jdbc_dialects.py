"""The databases that JDBC sinks write: their drivers, and the SQL that differs between them.

A database has a dialect when its transactions include DDL and are tested: the staging table, the rows and the ledger's
row are committed or rolled back together. Names of JetSQL's own tables are always quoted, so that no database changes
their case.

JetSQL ships no drivers: Spark downloads the packages that a setting names. The tests use the versions given here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

LEDGER_FORMAT: Final = 1
LEDGER_TABLE: Final = "jetsql_ledger"
DELETED: Final = "__jetsql_deleted"
"""The column that `ChangeQuery.java` adds to the rows of AUTO CDC."""

_PART: Final = r'(?:"(?:[^"]|"")+"|[^\s"`().,;]+)'
_NAME: Final = re.compile(rf"\s*(?:(?P<schema>{_PART}(?:\s*\.\s*{_PART})*)\s*\.\s*)?{_PART}\s*")


@dataclass(frozen=True)
class Driver:
    """A database's JDBC driver."""

    scheme: str
    """The word after `jdbc:` in a URL."""
    name: str
    """The name of the database in messages."""
    class_name: str
    """The driver's Java class."""
    package: str = ""
    """The Maven coordinates; empty for a driver that is part of Spark."""


POSTGRESQL: Final = Driver("postgresql", "PostgreSQL", "org.postgresql.Driver", "org.postgresql:postgresql:42.7.7")
DERBY: Final = Driver("derby", "Derby", "org.apache.derby.iapi.jdbc.AutoloadedDriver")

KNOWN_DRIVERS: Final = (POSTGRESQL, DERBY)


def find_driver(url: str) -> Driver | None:
    """Return the driver for a JDBC URL, or None for a database that JetSQL does not know."""
    scheme = url.strip().lower().removeprefix("jdbc:").partition(":")[0]
    return next((driver for driver in KNOWN_DRIVERS if driver.scheme == scheme), None)


@dataclass(frozen=True)
class Dialect:
    """The SQL and the SQLSTATEs of one kind of database."""

    driver: Driver
    """The driver of the database."""
    session_setup: Sequence[str] = ()
    """Statements that begin each transaction."""
    staging: str = "TABLE"
    """The keywords after CREATE for a staging table."""
    no_table_states: tuple[str, ...] = ()
    """The SQLSTATEs for a table that does not exist."""
    table_exists_states: tuple[str, ...] = ()
    """The SQLSTATEs for a table that exists already."""
    unnamed_index: bool = False
    """True if an index needs no name."""
    immediate_constraints: Sequence[str] = ()
    """Statements after which the database checks with each statement what it would otherwise check in COMMIT."""
    lock_timeout_states: tuple[str, ...] = ()
    """The SQLSTATEs for a statement that has waited too long for the lock of another transaction."""
    can_upsert: bool = False
    """True if the database has INSERT ... ON CONFLICT."""
    repeated_key_state: str = "-"
    """The SQLSTATE for an upsert that has a key twice."""
    no_unique_index_state: str = "-"
    """The SQLSTATE for an upsert by columns without a unique index."""
    writer_options: dict[str, str] = field(default_factory=dict)
    """Options for Spark's JDBC writer."""


_DIALECTS: Final = (
    Dialect(
        driver=POSTGRESQL,
        # A job that waits for a lock without a limit cannot be stopped. The locks of an engine that is paused in its
        # transaction are released before the lock timeout of the engine that waits.
        session_setup=("SET lock_timeout = '30s'", "SET idle_in_transaction_session_timeout = '20s'"),
        unnamed_index=True,
        immediate_constraints=("SET CONSTRAINTS ALL IMMEDIATE",),
        staging="UNLOGGED TABLE",
        no_table_states=("42P01",),
        table_exists_states=("42P07", "23505"),
        lock_timeout_states=("55P03",),
        can_upsert=True,
        repeated_key_state="21000",
        no_unique_index_state="42P10",
        # Spark sends text for types that it lacks (uuid, json, enum, ...); the server converts it to the column's type.
        writer_options={"stringtype": "unspecified"},
    ),
    Dialect(
        driver=DERBY,
        no_table_states=("42X05", "42Y07", "42Y55"),
        table_exists_states=("X0Y32",),
        lock_timeout_states=("40XL1", "40XL2"),
    ),
)


def find_dialect(driver: Driver | None) -> Dialect | None:
    """Return the dialect of a driver's database, or None when JetSQL cannot write it in transactions."""
    return next((dialect for dialect in _DIALECTS if dialect.driver is driver), None)


def is_table_name(dbtable: str) -> bool:
    """Return whether the option `dbtable` is a table's name and not, for example, a query in parentheses."""
    return _NAME.fullmatch(dbtable) is not None


def quote(name: str) -> str:
    """Return a name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def find_schema(dbtable: str) -> str:
    """Return the schema in a table's name as written; empty without one."""
    match = _NAME.fullmatch(dbtable)
    return (match["schema"] or "") if match is not None else ""


def name_in_schema(dbtable: str, name: str) -> str:
    """Return the qualified name of a table in the schema that `dbtable` names."""
    schema = find_schema(dbtable)
    return f"{schema}.{quote(name)}" if schema else quote(name)


@dataclass(frozen=True)
class TargetSql:
    """SQL statements for a sink's table."""

    dialect: Dialect
    """The dialect of the sink's database."""
    table: str
    """The table's name as in the option `dbtable`."""
    columns: tuple[str, ...]
    """All columns that are written."""
    keys: tuple[str, ...] = ()
    """The key columns of an upsert; empty for an insert."""
    deletes: bool = False
    """True if the column `DELETED` of the staging table marks rows whose keys are deleted."""
    written: str = ""
    """The qualified name of the table with the keys that the job has written; empty if it retracts no rows."""

    def create_staging(self, staging: str) -> str:
        """Return the statement for a staging table with the same columns and types, without constraints."""
        columns = f"{self._columns}, FALSE AS {quote(DELETED)}" if self.deletes else self._columns
        return f"CREATE {self.dialect.staging} {staging} AS SELECT {columns} FROM {self.table} WITH NO DATA"

    def create_numbered(self, staging: str, number: str) -> str:
        """Return the statement for a staging table with a column for the number of each row."""
        columns = f"{self._columns}, CAST(0 AS BIGINT) AS {quote(number)}"
        return f"CREATE {self.dialect.staging} {staging} AS SELECT {columns} FROM {self.table} WITH NO DATA"

    def delete_rows(self) -> str:
        """Return a DELETE of all rows. Readers see the old rows until the commit; TRUNCATE would show them none."""
        return f"DELETE FROM {self.table}"

    def delete_from(self, staging: str) -> str:
        """Return a DELETE of the rows whose keys the staging table marks as deleted."""
        same = self._same_key("target", "change")
        return f"DELETE FROM {self.table} AS target USING {staging} AS change WHERE change.{quote(DELETED)} AND {same}"

    def create_written(self) -> str:
        """Return the statement for the table with the keys that the job has written, if it is missing."""
        columns = _join_quoted(self.keys)
        return f"CREATE TABLE IF NOT EXISTS {self.written} AS SELECT {columns} FROM {self.table} WITH NO DATA"

    def retract(self, staging: str) -> str:
        """Return a DELETE of the rows that the job has written and that the staging table lacks."""
        stays = f"EXISTS (SELECT 1 FROM {staging} AS change WHERE {self._same_key('written', 'change')})"
        same = self._same_key("target", "written")
        return f"DELETE FROM {self.table} AS target USING {self.written} AS written WHERE {same} AND NOT {stays}"

    def remember_keys(self, staging: str) -> str:
        """Return an INSERT of the staging table's keys into the table of written keys."""
        columns = _join_quoted(self.keys)
        return f"INSERT INTO {self.written} ({columns}) SELECT {columns} FROM {staging}"

    def insert_range(self, staging: str, number: str) -> str:
        """Return an INSERT of the rows between two numbers, which are parameters."""
        return self.insert_from(f"{staging} WHERE {quote(number)} BETWEEN ? AND ?")

    def insert_from(self, staging: str) -> str:
        insert = f"INSERT INTO {self.table} ({self._columns}) SELECT {self._columns} FROM {staging}"
        if self.deletes:
            insert += f" WHERE NOT {quote(DELETED)}"
        return f"{insert} ON CONFLICT ({_join_quoted(self.keys)}) {self._on_conflict()}" if self.keys else insert

    def count_rows(self, staging: str) -> str:
        return f"SELECT count(*) FROM {staging}"

    def count_null_keys(self, staging: str) -> str:
        return f"SELECT count(*) FROM {staging} WHERE {' OR '.join(f'{quote(key)} IS NULL' for key in self.keys)}"

    def count_repeated_keys(self, staging: str) -> str:
        """Return a query of the keys that several rows have. The database compares them: `Ada` is `ada` in citext."""
        keys = _join_quoted(self.keys)
        return f"SELECT count(*) FROM (SELECT 1 FROM {staging} GROUP BY {keys} HAVING count(*) > 1) AS repeated"

    @property
    def _columns(self) -> str:
        return _join_quoted(self.columns)

    def _same_key(self, left: str, right: str) -> str:
        return " AND ".join(f"{left}.{quote(key)} = {right}.{quote(key)}" for key in self.keys)

    def _on_conflict(self) -> str:
        others = [quote(column) for column in self.columns if column not in self.keys]
        return f"DO UPDATE SET {', '.join(f'{c} = EXCLUDED.{c}' for c in others)}" if others else "DO NOTHING"


@dataclass(frozen=True)
class LedgerSql:
    """SQL statements for the ledger, the table of the newest committed batch of each job."""

    table: str
    """The ledger's qualified name."""
    job: str
    """The job's id."""

    def create_ledger(self) -> str:
        return (
            f"CREATE TABLE {self.table} (job VARCHAR(64) NOT NULL, batch BIGINT NOT NULL, row_count BIGINT NOT NULL,"
            " committed TIMESTAMP NOT NULL, PRIMARY KEY (job, batch))"
        )

    def select_newest(self) -> str:
        return f"SELECT max(batch) FROM {self.table} WHERE job = '{self.job}'"

    def insert_batch(self, batch: int, rows: int) -> str:
        return f"INSERT INTO {self.table} VALUES ('{self.job}', {batch}, {rows}, CURRENT_TIMESTAMP)"

    def delete_older(self, batch: int) -> str:
        return f"DELETE FROM {self.table} WHERE job = '{self.job}' AND batch < {batch}"

    def delete_job(self) -> str:
        return f"DELETE FROM {self.table} WHERE job = '{self.job}'"


def _join_quoted(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))
