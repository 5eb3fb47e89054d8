"""The JDBC drivers that databases need, as Maven packages: JetSQL ships none, Spark fetches what is named.

The versions stand here and nowhere else; the tests run with the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Driver:
    """A database's JDBC driver. scheme: the word behind `jdbc:`. package: Maven coordinates, empty: part of Spark."""

    scheme: str
    name: str
    class_name: str
    package: str = ""


POSTGRESQL: Final = Driver("postgresql", "PostgreSQL", "org.postgresql.Driver", "org.postgresql:postgresql:42.7.7")
DERBY: Final = Driver("derby", "Derby", "org.apache.derby.iapi.jdbc.AutoloadedDriver")

_KNOWN: Final = (POSTGRESQL, DERBY)


def driver_of(url: str) -> Driver | None:
    """The driver for a JDBC URL; None for a database that JetSQL knows nothing of."""
    scheme = url.strip().lower().removeprefix("jdbc:").partition(":")[0]
    return next((driver for driver in _KNOWN if driver.scheme == scheme), None)
