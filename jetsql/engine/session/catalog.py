"""Tables as the catalogue has them now, without the caches of sessions."""

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
    """One table of the catalogue."""

    name: str
    """The qualified name."""
    provider: str
    location: str
    created: int
    """When the table was created, milliseconds since the epoch."""
    columns: tuple[str, ...]
    partition_columns: tuple[str, ...]
    options: dict[str, str]
    """The table's OPTIONS, spelled as the user wrote them."""
    bucketed: bool
    managed: bool

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> TableFacts:
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
        """Return one of the table's OPTIONS. name: in lower case; the user may have written it otherwise."""
        return next((value for key, value in self.options.items() if key.lower() == name), default)


class Catalog:
    """The session catalogue through one session. Table names are qualified: `spark_catalog.schema.table`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java = java(spark)

    def table(self, name: str) -> TableFacts | None:
        """Return a table as it is now, or None when there is none."""
        _, schema, table = name.split(".", 2)
        facts = self._java.sql.Tables.facts(self._spark._jsparkSession, schema, table)
        return None if facts is None else TableFacts.from_json(json.loads(facts))

    def require_sink_table(self, sink: Sink, locations: Iterable[str] = ()) -> TableFacts:
        """Return the sink's table. Raises StatementError SINK_CHANGED when it is gone or another one.

        locations: further locations that the table may have.
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
        """Add partitions, given as paths (`d=2013-01-01/h=5`), to the catalogue; existing ones stay as they are."""
        _, schema, table = name.split(".", 2)
        self._java.sql.Tables.addPartitions(self._spark._jsparkSession, schema, table, json.dumps(fragments))

    def set_location(self, name: str, location: str) -> None:
        """Change the folder of a table's rows atomically."""
        _, schema, table = name.split(".", 2)
        self._java.sql.Tables.move(self._spark._jsparkSession, schema, table, location)

    def refresh(self, name: str, location: str) -> None:
        """Invalidate what sessions have cached of a table's files."""
        self._java.sql.Tables.changed(self._spark._jsparkSession, name.lower(), location)
