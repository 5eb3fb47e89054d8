"""The current tables of the catalogue, read without the caches of sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Sink
from jetsql.jobs.model.table_names import SESSION_CATALOG, split_table


@dataclass(frozen=True)
class TableFacts:
    """One table of the catalogue."""

    name: str
    """The qualified name."""
    provider: str
    """The format after USING, in lower case."""
    location: str
    """The folder of the rows, a URI."""
    created: int
    """The creation time, milliseconds since the epoch."""
    columns: tuple[str, ...]
    """The names of all columns."""
    partition_columns: tuple[str, ...]
    """The names of the partition columns."""
    options: dict[str, str]
    """The table's OPTIONS, spelled as the user wrote them."""
    bucketed: bool
    """True if the table is CLUSTERED BY columns."""
    managed: bool
    """True if DROP TABLE deletes the rows."""
    is_view: bool = False
    """True if it is a view."""
    job: str = ""
    """The id of the job that created the table, or empty."""
    kind: str = ""
    """STREAMING TABLE or MATERIALIZED VIEW if the table belongs to a job, otherwise empty."""
    identity: str = ""
    """Delta's id of the table, or Iceberg's UUID: another one after the table was replaced; empty for other formats."""
    transforms: tuple[str, ...] = ()
    """The partitioning of a Delta or Iceberg table, such as `days(at)` and `bucket(4, id)`, as Spark writes it."""
    types: tuple[str, ...] = ()
    """The types of all columns."""
    identifier_fields: tuple[str, ...] = ()
    """The columns that identify a row of an Iceberg table."""
    stands_in: bool = False
    """True for a table of files in a unit test that represents a table of this format: there is no database to ask."""

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
            is_view=facts["type"] == "VIEW",
            job=facts["job"],
            kind=facts["kind"],
            identity=facts.get("identity", ""),
            transforms=tuple(facts.get("transforms", ())),
            types=tuple(facts.get("types", ())),
            identifier_fields=tuple(facts.get("identifier_fields", ())),
            stands_in=bool(facts.get("stands_in")),
        )

    def option(self, name: str, default: str = "") -> str:
        """Return the value of an option, ignoring the case that the user wrote. name: in lower case."""
        return next((value for key, value in self.options.items() if key.lower() == name), default)


class Catalog:
    """The catalogues, accessed through one session. Table names are qualified, see `table_names`.

    Of tables outside of Spark's own catalogue, `spark_catalog.schema.table`, only `drop` changes anything.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java = java(spark)

    @contextmanager
    def reading_once(self) -> Iterator[None]:
        """Read each table at most once inside the block, on this thread, unless this engine changes it."""
        self._java.catalog.Tables.beginReads(self._spark._jsparkSession)
        try:
            yield
        finally:
            self._java.catalog.Tables.endReads(self._spark._jsparkSession)

    def table(self, name: str) -> TableFacts | None:
        """Return the current state of a table, or None when it does not exist."""
        parts = split_table(name)
        if parts[0] == SESSION_CATALOG:
            facts = self._java.catalog.Tables.facts(self._spark._jsparkSession, *parts[1:])
        else:
            facts = self._java.catalog.CatalogTables.facts(self._spark._jsparkSession, json.dumps(parts))
        return None if facts is None else TableFacts.from_json(json.loads(facts))

    def require_sink_table(self, sink: Sink, folders: str = "") -> TableFacts:
        """Return the sink's table. Raises StatementError SINK_CHANGED when it was dropped or replaced.

        folders: the beginning of other locations that the table may have; empty for none.
        """
        table = self.table(sink.table)
        if table is None:
            raise _missing(sink)
        if not _is_same(table, sink, folders):
            raise StatementError(
                "SINK_CHANGED",
                f"The table {sink.table} was replaced after the job was created. Nothing was written.",
                hint="If it has the same columns and the same place, RESUME JOB continues with it; rows of earlier"
                " batches are not written again. Otherwise create the table as it was, and RESUME JOB.",
                where=sink.table,
            )
        return table

    def check_connection(self, table: TableFacts) -> None:
        """Raise StatementError if the options of a table with a connection cannot be used, also NOT_ALLOWED."""
        catalog, *name = split_table(table.name)
        if catalog != SESSION_CATALOG:
            return
        problem = self._java.catalog.ConnectionChecks.problemOfTable(self._spark._jsparkSession, *name)
        if problem is not None:
            found = json.loads(problem)
            raise StatementError(found["condition"], found["message"])

    def check_sink_exists(self, sink: Sink) -> None:
        """Raise StatementError SINK_CHANGED for a sink that was dropped.

        Spark's error about its name would suggest to create it again, and the job does not write another table.
        """
        if self.table(sink.table) is None:
            raise _missing(sink)

    def drop(self, name: str) -> None:
        """Drop a table, if it exists, and not its job."""
        parts = split_table(name)
        if parts[0] == SESSION_CATALOG:
            self._java.catalog.Tables.drop(self._spark._jsparkSession, *parts[1:])
        else:
            self._java.catalog.CatalogTables.drop(self._spark._jsparkSession, json.dumps(parts))

    def add_partitions(self, name: str, fragments: list[str]) -> None:
        """Add partitions, given as paths (`d=2013-01-01/h=5`), to the catalogue. Existing partitions are unchanged."""
        _, schema, table = split_table(name)
        self._java.catalog.Tables.addPartitions(self._spark._jsparkSession, schema, table, json.dumps(fragments))

    def set_location(self, name: str, location: str) -> None:
        """Change the location of a table atomically."""
        _, schema, table = split_table(name)
        self._java.catalog.Tables.move(self._spark._jsparkSession, schema, table, location)

    def refresh(self, name: str, location: str) -> None:
        """Invalidate the file listings of a table that sessions have cached."""
        self._java.catalog.Tables.changed(self._spark._jsparkSession, name.lower(), location)


def _is_same(table: TableFacts, sink: Sink, folders: str) -> bool:
    if sink.identity or table.identity:
        return table.identity == sink.identity
    is_at_folder = table.location == sink.location or (folders != "" and table.location.startswith(folders))
    return table.created == sink.created and is_at_folder


def _missing(sink: Sink) -> StatementError:
    return StatementError(
        "SINK_CHANGED",
        f"The job's table {sink.table} does not exist any more. Nothing was written.",
        hint="Create the table as it was, and RESUME JOB, which does not write the rows of earlier batches again. Or"
        " drop the job.",
        where=sink.table,
    )
