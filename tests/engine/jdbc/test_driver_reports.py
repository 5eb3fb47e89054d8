"""A missing JDBC driver in a program's own Spark session."""

from __future__ import annotations

from typing import Any

from pyspark.errors.exceptions.captured import UnknownException

from jetsql.engine.jdbc.missing_driver import DriverMissing, _with_drivers


class Throwable:
    """A Java throwable."""

    def __init__(self, name: str, message: str) -> None:
        self._name = name
        self._message = message

    def getClass(self) -> Throwable:
        return self

    def getName(self) -> str:
        return self._name

    def getMessage(self) -> str:
        return self._message

    def getSQLState(self) -> str:
        return "42601"

    def getCause(self) -> None:
        return None

    def getSuppressed(self) -> list[Any]:
        return []


def test_a_missing_driver_has_the_message_of_the_engine() -> None:
    unknown = UnknownException.__new__(UnknownException)
    convert = _with_drivers(lambda throwable: unknown)
    error = convert(Throwable("java.lang.ClassNotFoundException", "org.postgresql.Driver"))
    assert isinstance(error, DriverMissing)
    assert (error.getCondition(), error.getSqlState()) == ("JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE", "08001")
    assert "The engine has no JDBC driver for a database that the statement needs: the class org." in str(error)
    assert str(error) == error.getMessage()
    assert convert(Throwable("java.sql.SQLException", "syntax error")) is unknown
