"""Compare the table or view that a file declares with the one that exists.

Only what the file writes is compared. `LOCATION` is not, because JetSQL moves a table that a job overwrites; nor are
`NOT NULL` and `DEFAULT`, which file formats do not keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.model.redaction import REDACTED, redact_urls
from jetsql.jobs.model.table_names import quoted_table
from jetsql.jobs.planning.sink_traits import EXTERNAL_PROVIDERS
from jetsql.language.tokens import Token, quoted_name
from jetsql.sqlfiles.apply.table_definitions import ColumnDefinition, TableDefinition

_SPARK_REDACTED: Final = "redacted)"
_EXTERNAL: Final = (*EXTERNAL_PROVIDERS, "rate", "rate-micro-batch", "socket")
_ADDED_BY_JETSQL: Final = ("protobuf.descriptor",)
# Providers whose tables Spark can change otherwise than by adding columns.
_CHANGEABLE: Final = ("delta", "iceberg")
_VIEW_TEXT: Final = "another query"


@dataclass(frozen=True)
class TableDifference:
    """A difference between a declared table and the one that exists."""

    message: str  # a phrase
    hint: str  # a sentence
    token: Token | None = None  # in the statement; None for the name of the table


@dataclass(frozen=True)
class TableComparison:
    """The result of a comparison."""

    differences: tuple[TableDifference, ...] = ()
    notes: tuple[str, ...] = ()  # phrases about what was not compared


def compare_table(name: str, declared: TableDefinition, existing: TableDefinition) -> TableComparison:
    """Return the differences of a table. name: the qualified name, for hints."""
    comparer = _TableComparer(quoted_table(name), declared, existing)
    return TableComparison(tuple(comparer.differences()), tuple(comparer.notes()))


def compare_view(declared: TableDefinition, existing: TableDefinition) -> tuple[str, ...]:
    """Return how a view differs, as phrases."""
    found = []
    if declared.query != existing.query:
        found.append(_VIEW_TEXT)
    if declared.columns is not None and existing.columns is not None:
        names = [[column.name.lower() for column in each.columns or ()] for each in (declared, existing)]
        if names[0] != names[1]:
            found.append("other columns")
        elif any(
            each.comment is not None and each.comment != old.comment
            for each, old in zip(declared.columns, existing.columns, strict=True)
        ):
            found.append("other comments of columns")
    if declared.comment is not None and declared.comment != existing.comment:
        found.append("another comment")
    if _changed(declared.properties, existing.properties):
        found.append("other properties")
    return tuple(found)


class _TableComparer:
    def __init__(self, name: str, declared: TableDefinition, existing: TableDefinition) -> None:
        self._name = name
        self._declared = declared
        self._existing = existing
        self._provider = existing.provider or declared.provider or ""

    def differences(self) -> Iterator[TableDifference]:
        """Yield the differences."""
        declared, existing = self._declared, self._existing
        if declared.provider and existing.provider and declared.provider != existing.provider:
            message = f"its format is {existing.provider}, not {declared.provider}"
            yield TableDifference(message, self._copy_hint(), declared.places.get("USING"))
            return
        yield from self._columns()
        if existing.provider and declared.partitions != existing.partitions:
            before = f"partitioned by {', '.join(existing.partitions)}" if existing.partitions else "not partitioned"
            yield TableDifference(f"it is {before}", self._copy_hint(), declared.places.get("PARTITIONED"))
        if declared.buckets and declared.buckets != existing.buckets:
            yield TableDifference("its buckets differ", self._copy_hint())
        yield from self._options()
        yield from self._properties()
        if declared.comment is not None and declared.comment != existing.comment:
            hint = f"Run COMMENT ON TABLE {self._name} IS {quoted_text(declared.comment)}, or change the file."
            yield TableDifference("its comment differs", hint, declared.places.get("COMMENT"))

    def notes(self) -> Iterator[str]:
        """Yield what was not compared."""
        if self._declared.provider and not self._existing.provider:
            yield "the catalogue does not show its format and options, which were not compared"
            return
        secret = [key for key in self._declared.options if _is_redacted(self._existing.options.get(key, ""))]
        if secret:
            yield f"the catalogue hides the values of {', '.join(secret)}, which were not compared"
        more = [key for key in self._existing.options if key not in self._declared.options]
        more = [key for key in more if key not in _ADDED_BY_JETSQL]
        if more:
            yield f"it also has the options {', '.join(more)}, which the file does not declare"

    def _columns(self) -> Iterator[TableDifference]:
        declared, existing = self._declared.columns, self._existing.columns
        if declared is None or existing is None:
            return
        old = {column.name.lower(): column for column in existing}
        new = {column.name.lower(): column for column in declared}
        added = [column for key, column in new.items() if key not in old]
        if added:
            yield self._missing(added)
        for key, column in old.items():
            if key not in new:
                message = f"it has the column {column.name}, which the file does not declare"
                yield TableDifference(message, self._extra_hint(column))
        for key, column in new.items():
            if key in old:
                yield from self._column(column, old[key])
        kept = [key for key in new if key in old]
        if self._declared.partitions == self._existing.partitions and kept != [key for key in old if key in new]:
            order = ", ".join(column.name for column in existing)
            yield TableDifference(f"its columns have the order {order}", "Write the columns in this order in the file.")

    def _missing(self, added: list[ColumnDefinition]) -> TableDifference:
        names = ", ".join(column.name for column in added)
        texts = []
        for column in added:
            comment = f" COMMENT {quoted_text(column.comment)}" if column.comment is not None else ""
            texts.append(f"{quoted_name(column.name)} {column.written}{comment}")
        hint = f"Run ALTER TABLE {self._name} ADD COLUMNS ({', '.join(texts)}), or change the file."
        if self._provider in _EXTERNAL:
            hint = self._recreate_hint()
        message = f"it lacks the column{'s' if len(added) > 1 else ''} {names}"
        return TableDifference(message, hint, added[0].token)

    def _extra_hint(self, column: ColumnDefinition) -> str:
        declare = f"Add {column.name} {column.written} to the file"
        if self._provider in _CHANGEABLE:
            return f"{declare}, or run ALTER TABLE {self._name} DROP COLUMN {quoted_name(column.name)}."
        return f"{declare}."

    def _column(self, column: ColumnDefinition, old: ColumnDefinition) -> Iterator[TableDifference]:
        if column.type and old.type and column.type != old.type:
            message = f"its column {old.name} has the type {old.written}, not {column.written}"
            yield TableDifference(message, self._type_hint(column), column.token)
        elif column.comment is not None and column.comment != old.comment:
            change = f"ALTER TABLE {self._name} ALTER COLUMN {quoted_name(old.name)}"
            hint = f"Run {change} COMMENT {quoted_text(column.comment)}, or change the file."
            yield TableDifference(f"its column {old.name} has another comment", hint, column.token)

    def _type_hint(self, column: ColumnDefinition) -> str:
        if self._provider in _CHANGEABLE:
            change = f"ALTER TABLE {self._name} ALTER COLUMN {quoted_name(column.name)} TYPE {column.written}"
            return f"Run {change}, which widens types only, or change the file."
        return self._copy_hint()

    def _options(self) -> Iterator[TableDifference]:
        if not self._existing.provider:
            return
        for key in _changed(self._declared.options, self._existing.options):
            token = self._declared.places.get(f"option {key}")
            yield TableDifference(self._pair_message("option", key, self._existing.options), self._copy_hint(), token)

    def _properties(self) -> Iterator[TableDifference]:
        for key in _changed(self._declared.properties, self._existing.properties):
            pair = f"{quoted_text(key)} = {quoted_text(redact_urls(self._declared.properties[key]))}"
            hint = f"Run ALTER TABLE {self._name} SET TBLPROPERTIES ({pair}), or change the file."
            token = self._declared.places.get(f"property {key}")
            yield TableDifference(self._pair_message("property", key, self._existing.properties), hint, token)

    def _pair_message(self, kind: str, key: str, existing: Mapping[str, str]) -> str:
        if key not in existing:
            return f"it lacks the {kind} '{key}'"
        return f"its {kind} '{key}' is '{redact_urls(existing[key])}'"

    def _copy_hint(self) -> str:
        if self._provider in _EXTERNAL:
            return self._recreate_hint()
        return (
            "Spark cannot change this. Change the file, or copy the rows: create a table with another name, and"
            f" INSERT INTO it from {self._name}."
        )

    def _recreate_hint(self) -> str:
        return (
            f"The rows are outside of the catalogue: SUSPEND the jobs that use the table, run DROP TABLE {self._name},"
            " and apply the folder again; or change the file."
        )


def _changed(declared: Mapping[str, str], existing: Mapping[str, str]) -> list[str]:
    """Return the declared keys with another value."""
    return [
        key
        for key, value in declared.items()
        if key not in existing or (existing[key] != value and not _is_redacted(existing[key]))
    ]


def _is_redacted(value: str) -> bool:
    return value.endswith(_SPARK_REDACTED) or REDACTED in value
