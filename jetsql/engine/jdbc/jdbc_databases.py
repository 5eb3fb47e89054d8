"""The databases of JDBC tables: short transactions, and the errors to raise for those of the database.

Spark's writers write the rows. Everything else that a job does in a database is a list of steps in one transaction on
one connection. An error keeps its SQLSTATE, which has the same meaning in every database: it determines JetSQL's
condition and whether a retry can help. Passwords are removed from every message of a driver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.jdbc.jdbc_dialects import KNOWN_DRIVERS, POSTGRESQL, Driver, find_driver
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.engine.jvm.launch import restart_hint
from jetsql.engine.jvm.throwables import causes, class_name, throwable_of
from jetsql.errors import RetryableError, StatementError
from jetsql.jobs.model.redaction import redact, redact_urls

_SOME_PACKAGE: Final = "GROUP:ARTIFACT:VERSION"  # the form of a driver's Maven coordinates
NO_DRIVER: Final = "DRIVER"  # used instead of a SQLSTATE

# Prefixes of SQLSTATEs and their conditions; the first match applies. Other errors are retryable.
_CONDITIONS: Final = (
    (NO_DRIVER, "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("08", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("57P", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("53", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("58000", "EXTERNAL_SYSTEM_UNAVAILABLE"),  # an error of the server's system
    ("58030", "EXTERNAL_SYSTEM_UNAVAILABLE"),  # an error of its disk
    ("25006", "EXTERNAL_SYSTEM_UNAVAILABLE"),  # it only reads, as after a failover, or when its disk is almost full
    ("XJ0", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("23505", "DUPLICATE_KEY"),
    ("22", "SINK_REFUSED_ROWS"),
    ("23", "SINK_REFUSED_ROWS"),
    ("44", "SINK_REFUSED_ROWS"),  # the check option of a view
    ("P0001", "SINK_REFUSED_ROWS"),  # an exception that a function or a trigger raises
    ("28", "SINK_NOT_READY"),
    ("3", "SINK_NOT_READY"),
    ("42", "SINK_NOT_READY"),
)
_ROW_STATES: Final = ("22", "23", "44", "P0001")  # the prefixes of SQLSTATEs of a single row
# The classes of JDBC for lost connections, and drivers' own ones. Not all drivers give them an SQLSTATE.
_LOST_CONNECTIONS: Final = ("TransientConnectionException", "SQLRecoverableException")
_MESSAGES: Final = {
    "EXTERNAL_SYSTEM_UNAVAILABLE": "{server} cannot be reached: {message}",
    "DUPLICATE_KEY": "{server} already has a row with the same key, so nothing of the batch was written: {message}",
    "SINK_REFUSED_ROWS": "{server} rejects a row of the batch, so nothing of the batch was written: {message}",
    "SINK_NOT_READY": "{server} refuses the request: {message}",
    "EXTERNAL_SYSTEM_ERROR": "{server} reports an error: {message}",
}
_HINTS: Final = {"DUPLICATE_KEY": "To update existing rows, use SINK INTO a table with the option 'key.columns'."}

# PostgreSQL adds to a message the severity, and a position in a statement that the user has not written.
_NOISE: Final = re.compile(r"^(ERROR|FATAL): | Position: \d+$")
_ALIKE: Final = 0.85  # of names of classes, whose beginnings and ends are often the same
_FAILED_DATABASE: Final = "dev.jetsql.jdbc.FailedDatabase"
_NOT_FOR_CONNECTIONS: Final = frozenset({"key.columns", "path", "serialization.format"})


@dataclass(frozen=True)
class TransactionStep:
    """One SQL statement of a transaction."""

    name: str
    """The name of the step in errors and results."""
    sql: str
    """The text of the statement."""
    expect: int | None = None
    """The value that the statement must return; None for any."""


class JdbcError(Exception):
    """The failure of a step, a connection or a commit; the transaction was rolled back."""

    sqlstate: str
    """The driver's SQLSTATE or NO_DRIVER; empty when the driver gave none."""
    message: str
    """The driver's message."""
    step: str | None
    """The name of the step; None for connecting and committing."""
    unexpected_value: int | None
    """The value that a step returned instead of the expected one; None for other failures."""
    error_class: str
    """The class of the driver's exception; empty when there was none."""
    server: str = ""
    """The kind and address of the database; empty when they are not known."""
    position: tuple[int, int] | None = None
    """The line and column, counted from 1, of the table in the statement that needed the database."""

    def __init__(
        self,
        sqlstate: str,
        message: str,
        step: str | None = None,
        unexpected_value: int | None = None,
        error_class: str = "",
    ) -> None:
        self.error_class = error_class
        self.sqlstate = sqlstate
        self.message = message
        self.step = step
        self.unexpected_value = unexpected_value
        super().__init__(message)

    @property
    def condition(self) -> str:
        """Return JetSQL's condition for the error, without the prefix."""
        if self.error_class.endswith(_LOST_CONNECTIONS):
            return "EXTERNAL_SYSTEM_UNAVAILABLE"
        return find_condition(self.sqlstate)


def find_condition(sqlstate: str) -> str:
    """Return JetSQL's condition for a SQLSTATE, without the prefix."""
    matches = (condition for prefix, condition in _CONDITIONS if sqlstate.startswith(prefix))
    return next(matches, "EXTERNAL_SYSTEM_ERROR")


class Database:
    """The database of a JDBC table, connected with the table's OPTIONS."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._java = java(spark)
        connection_options = {key: value for key, value in options.items() if key.lower() not in _NOT_FOR_CONNECTIONS}
        revealed_options = revealed(spark, connection_options)
        self._lower_case_options = {key.lower(): value for key, value in revealed_options.items()}
        has_driver = "driver" in self._lower_case_options or self.driver is not POSTGRESQL
        self._options = revealed_options if has_driver else revealed_options | {"driver": POSTGRESQL.class_name}

    @cached_property
    def driver(self) -> Driver | None:
        """Return the database's driver, or None for a database that JetSQL does not know."""
        return find_driver(self._lower_case_options.get("url", ""))

    @property
    def table(self) -> str:
        """Return the option `dbtable`, a table's name or a query in parentheses; empty without the option."""
        return self._lower_case_options.get("dbtable", "")

    @property
    def user(self) -> str:
        """Return the user that connects; empty when the OPTIONS name none."""
        return self._lower_case_options.get("user", "")

    @property
    def server(self) -> str:
        """Return the database's kind and address without secrets: `PostgreSQL 127.0.0.1:5432/shop`."""
        return describe_server(self._lower_case_options.get("url", ""))

    def transact(self, steps: Sequence[TransactionStep], keep: bool = True) -> list[str | None]:
        """Run all steps in one transaction and return their values. Raises JdbcError.

        keep: whether to commit the transaction; False rolls it back.
        """
        records = [{"name": step.name, "sql": step.sql, "expect": step.expect} for step in steps]
        result = self._java.jdbc.Databases.transact(json.dumps(self._options), json.dumps(records), keep)
        values: list[str | None] = self._read_values(result)
        return values

    def list_tables(self, prefix: str) -> list[tuple[str, str]]:
        """Return the schemas and names of all tables whose names have a prefix. Raises JdbcError."""
        tables = self._read_values(self._java.jdbc.Databases.tables(json.dumps(self._options), prefix))
        return [(table["schema"] or "", table["name"]) for table in tables]

    def stage_rows(
        self, rows: DataFrame, table: str, defaults: Mapping[str, str], most: int
    ) -> list[tuple[int, str, str]]:
        """Write rows to a staging table, but not those that its types refuse. Raises JdbcError for other errors.

        Return the number, the SQLSTATE and the error of each of these rows. defaults: as for `append_rows`.
        rows: their last column is their number. most: the number of refused rows after which to end.
        """
        options = json.dumps({**defaults, **self.writer_options(table)})
        result = self._java.jdbc.RefusedRows.stage(rows._jdf, options, json.dumps(_ROW_STATES), most)
        return self._read_refused(result)

    def try_insert(self, setup: Sequence[str], numbers: str, insert: str, most: int) -> list[tuple[int, str, str]]:
        """Insert rows of a staging table in a transaction that is rolled back. Raises JdbcError for other errors.

        Return the refused rows as `stage_rows` does. setup: statements that begin the transaction. numbers: a query of
        the numbers of all rows. insert: a statement that inserts the rows between two numbers.
        """
        texts = (json.dumps(self._options), json.dumps(list(setup)), numbers, insert, json.dumps(_ROW_STATES))
        return self._read_refused(self._java.jdbc.RefusedRows.insert(*texts, most))

    def writer_options(self, table: str) -> dict[str, str]:
        """Return the options with which Spark's JDBC writer appends to a table of this database."""
        return {key: value for key, value in self._options.items() if key.lower() != "dbtable"} | {"dbtable": table}

    def connect(self) -> None:
        """Connect to the database, and change nothing. Raises StatementError."""
        try:
            self.transact([], keep=False)
        except JdbcError as error:
            raise self.explain_error(error) from error

    def explain_error(self, error: JdbcError) -> StatementError:
        """Return the error to raise for a failed transaction."""
        if error.sqlstate == NO_DRIVER:
            return driver_missing(error, self.server, self.driver)
        message = _MESSAGES[error.condition].format(server=self.server, message=to_sentence(error.message))
        hint = _HINTS.get(error.condition, "")
        kind = _error_type(error)
        return kind(error.condition, self.redact(message), hint=hint, where=self.server)

    def explain_write_error(self, error: BaseException) -> StatementError | None:
        """Return the error to raise for a failure of Spark's JDBC writer, or None for another failure."""
        failure = find_jdbc_error(error)
        return None if failure is None or "JDBCRDD" in str(error) else self.explain_error(failure)

    def redact(self, text: str) -> str:
        """Return a text without the secrets in the database's OPTIONS."""
        return redact(text, self._options)

    def _read_refused(self, text: str) -> list[tuple[int, str, str]]:
        refused = self._read_values(text)
        return [(each["row"], each["state"], self.redact(to_sentence(each["message"]))) for each in refused]

    def _read_values(self, text: str) -> Any:
        result = json.loads(text)
        if "state" in result:
            raise JdbcError(result["state"], result["message"], result.get("step"), error_class=result["class"])
        if "unexpected" in result:
            raise JdbcError("", "", result["step"], int(result["unexpected"]))
        return result["values"]


def describe_server(url: str) -> str:
    """Return the kind and address of a JDBC URL, without secrets."""
    kind, _, address = url.strip().partition(":")[2].partition(":")
    driver = find_driver(url)
    name = driver.name if driver is not None else kind
    return redact_urls(f"{name} {address.partition('?')[0].partition(';')[0].lstrip('/').rpartition('@')[2]}").strip()


def driver_missing(failure: JdbcError, server: str = "", driver: Driver | None = None) -> StatementError:
    """Return the error to raise when the JVM has no JDBC driver for a database.

    failure: an error with the state NO_DRIVER. server, driver: the database's, if they are known.
    """
    subject = server or "a database that the statement needs"
    class_name = "" if " " in failure.message else failure.message  # the message of a ClassNotFoundException
    driver = driver or next((each for each in KNOWN_DRIVERS if each.class_name == class_name), None)
    # Java finds a driver that Spark downloaded only by its class.
    option = "" if class_name else "Set the option 'driver' of the table to the class of its JDBC driver. "
    problem = (
        f"the class {class_name} is not on its class path"
        if class_name
        else "the table has no option 'driver', and no driver on the class path accepts its URL"
    )
    meant = _find_meant_class(class_name, driver)
    return StatementError(
        "EXTERNAL_SYSTEM_UNAVAILABLE",
        f"The engine has no JDBC driver for {subject}: {problem}.",
        hint=f"Did you mean {meant}? Set the option 'driver' of the table to it."
        if meant
        else option + restart_hint(driver.package if driver is not None and driver.package else _SOME_PACKAGE),
        where=server,
    )


def _find_meant_class(class_name: str, driver: Driver | None) -> str:
    """Return the class that the option `driver` should name, or an empty text if the option's class may be right."""
    if driver is not None and class_name:
        return "" if class_name == driver.class_name else driver.class_name
    known = [each.class_name for each in KNOWN_DRIVERS]
    return "" if class_name in known else next(iter(get_close_matches(class_name, known, 1, _ALIKE)), "")


def explain_read_error(failure: JdbcError) -> StatementError:
    """Return the error to raise when a database that a query reads fails. Sinks raise more specific errors."""
    if failure.sqlstate == NO_DRIVER:
        return driver_missing(failure, failure.server)
    unavailable = failure.condition == "EXTERNAL_SYSTEM_UNAVAILABLE"
    problem = "cannot be reached" if unavailable else "reports an error"
    return _error_type(failure)(
        failure.condition if unavailable else "EXTERNAL_SYSTEM_ERROR",
        f"{failure.server or 'A database that the statement needs'} {problem}:"
        f" {redact_urls(to_sentence(failure.message))}",
        where=failure.server,
    )


def _error_type(failure: JdbcError) -> type[StatementError]:
    """Return the class of the error to raise: jobs wait for a database that is away, without a limit."""
    return RetryableError if failure.condition == "EXTERNAL_SYSTEM_UNAVAILABLE" else StatementError


def find_jdbc_error(error: BaseException) -> JdbcError | None:
    """Return the database error within an exception of Spark, or None."""
    return find_jdbc_error_in(throwable_of(error))


def find_jdbc_error_in(throwable: Any) -> JdbcError | None:
    """Return the innermost database error within a Java throwable, or None. Outer messages may have rows."""
    innermost = None
    for each in causes(throwable):
        sqlstate = _find_sqlstate(each)
        if sqlstate is not None:
            innermost = JdbcError(sqlstate, str(each.getMessage() or each), error_class=class_name(each))
    if innermost is not None:
        _add_database(innermost, throwable)
    return innermost


def _add_database(failure: JdbcError, throwable: Any) -> None:
    """Add the database and the place of its table, which `FailedDatabase.java` has attached to the error."""
    for each in causes(throwable):
        for attached in each.getSuppressed():
            if class_name(attached) == _FAILED_DATABASE:
                failure.server = describe_server(attached.url())
                failure.position = (attached.line(), attached.column()) if attached.line() else None


def _find_sqlstate(throwable: Any) -> str | None:
    """Return the SQLSTATE of a java.sql.SQLException, NO_DRIVER, or None for every other throwable."""
    kind, message = class_name(throwable), str(throwable.getMessage())
    if message == "No suitable driver" or (kind == "java.lang.ClassNotFoundException" and "Driver" in message):
        return NO_DRIVER
    try:
        return str(throwable.getSQLState() or "")
    except Py4JError:  # the throwable is no SQLException
        return None


def to_sentence(message: str) -> str:
    """Return a database's message as one line that ends with a punctuation mark."""
    text = _NOISE.sub("", " ".join(message.split()))
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."
