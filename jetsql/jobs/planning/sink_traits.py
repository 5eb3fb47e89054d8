"""The traits of each kind of sink, which planning and the engine ask for instead of the kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.body_analysis import Sink, SinkKind

FILE_FORMATS: Final = ("parquet", "orc", "json", "csv", "avro", "text")
_SHORT_MILLIS: Final = 1_000
_FILES_MILLIS: Final = 10_000  # each batch adds files


@dataclass(frozen=True)
class SinkTraits:
    """The traits of all tables of a kind."""

    providers: tuple[str, ...]  # the formats of these tables, as after USING
    exactly_once: str  # why each row is written once, a phrase
    interval_millis: int = _SHORT_MILLIS  # the default time between micro-batches
    can_update: bool = True  # rows can be updated and deleted by key
    needs_distinct_keys: bool = False  # an update needs a batch that has one row for each key
    can_overwrite: bool = True  # INSERT OVERWRITE can replace the rows
    has_commits: bool = False  # tables are changed by commits, of which readers see all or nothing
    has_identity: bool = False  # the catalogue knows an id that no other table has, also not one with the same name
    writes_by_name: bool = False  # rows are written by the names of their columns, so the table may get more columns
    has_change_feed: bool = False  # replaced rows can be read as changes
    has_rows_in_folder: bool = False  # all rows are in the folder of the table, and staged there
    is_external: bool = False  # the rows are in another system, and a table in the catalogue only names it
    is_topic: bool = False  # rows are messages of a Kafka topic


SINK_TRAITS: Final[Mapping[SinkKind, SinkTraits]] = {
    SinkKind.FILES: SinkTraits(
        FILE_FORMATS,
        "each batch is staged and moved into the table exactly once",
        _FILES_MILLIS,
        can_update=False,
        has_rows_in_folder=True,
    ),
    SinkKind.DELTA: SinkTraits(
        ("delta",),
        "each batch is one commit of the table, which also stores the batch number",
        _FILES_MILLIS,
        needs_distinct_keys=True,
        has_commits=True,
        has_identity=True,
        writes_by_name=True,
        has_change_feed=True,
    ),
    SinkKind.ICEBERG: SinkTraits(
        ("iceberg",),
        "each batch is one commit, which also stores the batch number in a property of the table",
        _FILES_MILLIS,
        needs_distinct_keys=True,
        has_commits=True,
        has_identity=True,
        writes_by_name=True,
    ),
    SinkKind.JDBC: SinkTraits(
        ("jdbc",),
        "each batch is one transaction, which also stores the batch number",
        is_external=True,
    ),
    SinkKind.KAFKA: SinkTraits(
        ("kafka",),
        "each partition of a batch is one transaction, which also stores the batch number; consumers need"
        " isolation.level=read_committed",
        can_overwrite=False,
        is_external=True,
        is_topic=True,
    ),
}

SINK_PROVIDERS: Final = tuple(provider for traits in SINK_TRAITS.values() for provider in traits.providers)
"""The formats of all tables that jobs can write."""
EXTERNAL_PROVIDERS: Final = tuple(
    provider for traits in SINK_TRAITS.values() if traits.is_external for provider in traits.providers
)
"""The formats of tables in other systems."""


def traits_of(sink: Sink) -> SinkTraits:
    """Return the traits of a sink."""
    return SINK_TRAITS[sink.kind]


def replaces_part(sink: Sink) -> bool:
    """Return whether the job's statement replaces some rows of a table, in one commit."""
    return traits_of(sink).has_commits and not sink.replaces_whole_table
