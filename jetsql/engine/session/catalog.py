"""Tables as the catalogue knows them at this moment, beyond what any session keeps in its caches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.errors import StatementError
from jetsql.jobs.model.job import Sink


@dataclass(frozen=True)
class TableFacts:
    """One table. name: qualified. created: milliseconds. options: its OPTIONS."""

    name: str
    provider: str
    location: str
    created: int
    columns: tuple[str, ...]
    partition_columns: tuple[str, ...]
    options: dict[str, str]
    bucketed: bool
    managed: bool

    @classmethod
    def of(cls, facts: dict[str, Any]) -> TableFacts:
        return cls(
            name=facts["table"],
            provider=facts["provider"].lower(),
            location=facts["location"],
            created=facts["created"],
            columns=tuple(facts["columns"]),
            partition_columns=tuple(facts["partition_columns"]),
            options=facts["options"],
            bucketed=facts["bucketed"],
            managed=facts["type"] == "MANAGED",
        )

    def option(self, name: str, default: str = "") -> str:
        """One of its OPTIONS, however it is written there. name: in lower case."""
        return next((value for key, value in self.options.items() if key.lower() == name), default)


class Catalog:
    """The session catalogue through one session. Table names are qualified: `spark_catalog.schema.table`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java = java(spark)

    def table(self, name: str) -> TableFacts | None:
        """What a table is now; None when there is none."""
        _, schema, table = name.split(".", 2)
        facts = self._java.sql.Tables.facts(self._spark._jsparkSession, schema, table)
        return None if facts is None else TableFacts.of(json.loads(facts))

    def same(self, sink: Sink, locations: Iterable[str] = ()) -> TableFacts:
        """The sink's table, as long as it is the one the job was made for.

        locations: further places where it may be. Raises StatementError SINK_CHANGED when it is gone or another.
        """
        table = self.table(sink.table)
        if table is None:
            raise StatementError(
                "SINK_CHANGED",
                f"The table {sink.table}, which the job writes, is gone. Nothing was written.",
                hint="Drop the job; for a new table it is created anew.",
                where=sink.table,
            )
        if table.created != sink.created or table.location not in {sink.location, *locations}:
            raise StatementError(
                "SINK_CHANGED",
                f"The table {sink.table} is another one than the job was made for. Nothing was written.",
                hint="Drop the job and create it again for the new table.",
                where=sink.table,
            )
        return table

    def add_partitions(self, name: str, fragments: list[str]) -> None:
        """Make partitions known, given as paths (`d=2013-01-01/h=5`); known ones stay as they are."""
        _, schema, table = name.split(".", 2)
        self._java.sql.Tables.addPartitions(self._spark._jsparkSession, schema, table, json.dumps(fragments))

    def move(self, name: str, location: str) -> None:
        """Let a table's rows be those of another folder; one change, seen whole or not at all."""
        _, schema, table = name.split(".", 2)
        self._java.sql.Tables.move(self._spark._jsparkSession, schema, table, location)

    def changed(self, name: str, location: str) -> None:
        """Tell all sessions that a table's files changed: they look again when they read it next."""
        self._java.sql.Tables.changed(self._spark._jsparkSession, name.lower(), location)
