"""Databases behind JDBC tables: short conversations with them, and what their errors mean for a job.

Everything a job asks of a database itself (rows go through Spark's writers) is a list of steps in one transaction on
one connection. An error keeps its SQLSTATE, which says the same for every database: what it is called here, and whether
trying again can help. No message holds a password, whatever a driver put into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jetsql.engine.jdbc.jdbc_drivers import POSTGRESQL, Driver, driver_of
from jetsql.engine.jvm.java_classes import java, revealed
from jetsql.errors import StatementError
from jetsql.jobs.model.redaction import hide, hide_in_text

NO_DRIVER: Final = "DRIVER"  # stands in place of a SQLSTATE

# Prefixes of SQLSTATEs -> conditions; the first that fits holds. What is not here may heal.
_CONDITIONS: Final = (
    (NO_DRIVER, "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("08", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("57P", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("53", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("XJ0", "EXTERNAL_SYSTEM_UNAVAILABLE"),
    ("23505", "DUPLICATE_KEY"),
    ("22", "SINK_REFUSED_ROWS"),
    ("23", "SINK_REFUSED_ROWS"),
    ("28", "SINK_NOT_READY"),
    ("3", "SINK_NOT_READY"),
    ("42", "SINK_NOT_READY"),
)
_WORDS: Final = {
    "EXTERNAL_SYSTEM_UNAVAILABLE": "{server} can't be reached: {message}",
    "DUPLICATE_KEY": "{server} has a row with such a key already, so nothing of the batch was written: {message}",
    "SINK_REFUSED_ROWS": "{server} does not take a row of the batch, so nothing of it was written: {message}",
    "SINK_NOT_READY": "{server} refuses: {message}",
    "EXTERNAL_SYSTEM_ERROR": "{server} reports an error: {message}",
}
_HINTS: Final = {"DUPLICATE_KEY": "SINK INTO a table with 'key.columns' updates such rows."}

_DRIVER_HINT: Final = (
    f"Name its JDBC driver in the table's OPTIONS ('driver' = '{POSTGRESQL.class_name}'), and start the engine with "
    f"--conf spark.jars.packages={POSTGRESQL.package} or the package of that database."
)

# Given to a driver unless the table's OPTIONS say otherwise: who can't connect in 5 s is told so.
_CONNECTION: Final = {
    POSTGRESQL.scheme: {
        "driver": POSTGRESQL.class_name,
        "connectTimeout": "5",
        "loginTimeout": "5",
        "tcpKeepAlive": "true",
        "ApplicationName": "JetSQL",
    },
}
# PostgreSQL's words around a message: how bad it is, and where in a text that the user has not written.
_NOISE: Final = re.compile(r"^(ERROR|FATAL): | Position: \d+$")
_NOT_FOR_CONNECTIONS: Final = frozenset({"key.columns", "path", "serialization.format"})


@dataclass(frozen=True)
class Step:
    """One SQL statement. name: for the one who handles its failure. expect: what its value must be to go on."""

    name: str
    sql: str
    expect: int | None = None


class JdbcError(Exception):
    """A step failed and nothing was kept. state: SQLSTATE, empty when the driver gave none. step: None for connecting
    and committing. unexpected: the value that was not as expected, when it is that. error_class: of the driver's
    exception, empty when there was none."""

    def __init__(
        self,
        state: str,
        message: str,
        step: str | None = None,
        unexpected: int | None = None,
        error_class: str = "",
    ) -> None:
        self.error_class = error_class
        self.state = state
        self.message = message
        self.step = step
        self.unexpected = unexpected
        super().__init__(message)

    @property
    def condition(self) -> str:
        """Our condition for it, without the prefix."""
        return condition_of(self.state)


def condition_of(state: str) -> str:
    """Our condition, without the prefix, for a SQLSTATE."""
    return next((found for prefix, found in _CONDITIONS if state.startswith(prefix)), "EXTERNAL_SYSTEM_ERROR")


class Database:
    """The database that a JDBC table is in, reached as the table's OPTIONS say."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._java = java(spark)
        named = {key: value for key, value in options.items() if key.lower() not in _NOT_FOR_CONNECTIONS}
        given = revealed(spark, named)
        self._lower = {key.lower(): value for key, value in given.items()}
        more = _CONNECTION.get(self.driver.scheme, {}) if self.driver is not None else {}
        self._options = given | {key: value for key, value in more.items() if key.lower() not in self._lower}

    @cached_property
    def driver(self) -> Driver | None:
        return driver_of(self._lower.get("url", ""))

    @property
    def table(self) -> str:
        """The table's name as the OPTIONS give it; empty for a query."""
        return self._lower.get("dbtable", "")

    @property
    def user(self) -> str:
        return self._lower.get("user", "")

    @property
    def server(self) -> str:
        """The database in words, without anything secret: `PostgreSQL 127.0.0.1:5432/shop`."""
        return server_words(self._lower.get("url", ""))

    def transact(self, steps: Sequence[Step], keep: bool = True) -> list[str | None]:
        """Carry out all steps or none, and give their values. keep=False only tries. Raises DatabaseError."""
        plain = [{"name": step.name, "sql": step.sql, "expect": step.expect} for step in steps]
        answer = self._java.sql.Databases.transact(json.dumps(self._options), json.dumps(plain), keep)
        values: list[str | None] = self._values(answer)
        return values

    def tables(self, prefix: str) -> list[tuple[str, str]]:
        """Schema and name of all tables whose names begin so. Raises DatabaseError."""
        found = self._values(self._java.sql.Databases.tables(json.dumps(self._options), prefix))
        return [(table["schema"] or "", table["name"]) for table in found]

    def spark_options(self, table: str) -> dict[str, str]:
        """Options with which Spark's JDBC writer appends to a table of this database."""
        return {key: value for key, value in self._options.items() if key.lower() != "dbtable"} | {"dbtable": table}

    def refusal(self, error: JdbcError) -> StatementError:
        """The error in words for people."""
        if error.state == NO_DRIVER:
            return self._no_driver()
        words = _WORDS[error.condition].format(server=self.server, message=one_line(error.message))
        hint = _HINTS.get(error.condition, "")
        return StatementError(error.condition, self.clean(words), hint=hint, where=self.server)

    def refusal_of_rows(self, error: BaseException) -> StatementError | None:
        """An error that Spark's JDBC writer met here, in words; None when the error is of something else."""
        failure = sql_failure(error)
        return None if failure is None or "JDBCRDD" in str(error) else self.refusal(failure)

    def clean(self, text: str) -> str:
        """Words about this database without its secrets."""
        return hide(text, self._options)

    def _no_driver(self) -> StatementError:
        known = self.driver
        package = known.package if known is not None and known.package else "GROUP:ARTIFACT:VERSION"
        name = self._options.get("driver", "no 'driver' is named in the table's OPTIONS")
        return StatementError(
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            f"{self.server} can't be reached: its JDBC driver is not on the class path ({name}).",
            hint=f"Start the engine with --conf spark.jars.packages={package}",
            where=self.server,
        )

    def _values(self, text: str) -> Any:
        answer = json.loads(text)
        if "state" in answer:
            raise JdbcError(answer["state"], answer["message"], answer.get("step"), error_class=answer["class"])
        if "unexpected" in answer:
            raise JdbcError("", "", answer["step"], int(answer["unexpected"]))
        return answer["values"]


def server_words(url: str) -> str:
    """A JDBC URL as people may see it: the database's kind and its address."""
    kind, _, address = url.strip().partition(":")[2].partition(":")
    known = driver_of(url)
    name = known.name if known is not None else kind
    return hide_in_text(f"{name} {address.partition('?')[0].partition(';')[0].lstrip('/').rpartition('@')[2]}").strip()


def read_refusal(failure: JdbcError) -> StatementError:
    """The error of a database that a query reads, in words. Sinks know their own databases and say more."""
    lost = failure.condition == "EXTERNAL_SYSTEM_UNAVAILABLE"
    how = "can't be reached" if lost else "reports an error"
    return StatementError(
        failure.condition if lost else "EXTERNAL_SYSTEM_ERROR",
        f"A database that the statement needs {how}: {hide_in_text(one_line(failure.message))}",
        hint=_DRIVER_HINT if failure.state == NO_DRIVER else "",
    )


def sql_failure(error: BaseException) -> JdbcError | None:
    """The error of a database within an exception of Spark's; None when there is none."""
    each: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    return None if each is None else sql_failure_in(each)


def sql_failure_in(throwable: Any) -> JdbcError | None:
    """The error of a database within a Java throwable: the innermost, which says what is wrong without the rows."""
    found, each = None, throwable
    while each is not None:
        state = _state(each)
        if state is not None:
            kind = str(each.getClass().getName())
            found = JdbcError(state, str(each.getMessage() or each), error_class=kind)
        each = each.getCause()
    return found


def _state(throwable: Any) -> str | None:
    """The SQLSTATE of a java.sql.SQLException or NO_DRIVER; None for every other throwable."""
    kind, message = str(throwable.getClass().getName()), str(throwable.getMessage())
    if message == "No suitable driver" or (kind == "java.lang.ClassNotFoundException" and "Driver" in message):
        return NO_DRIVER
    try:
        return str(throwable.getSQLState() or "")
    except Py4JError:  # it has no such method
        return None


def one_line(message: str) -> str:
    """A database's message as a sentence."""
    text = _NOISE.sub("", " ".join(message.split()))
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."
