"""Determine the names that the text at the prompt needs, so only these are loaded from the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

from jetsql.completion.complete import is_only_jetsql, read_cursor
from jetsql.completion.complete_sql import position_at, qualifier_before
from jetsql.completion.known_names import Names, TableKey
from jetsql.completion.statement_at_cursor import AtCursor
from jetsql.completion.visible_columns import referenced_tables
from jetsql.language import Slot, expected_at

# Statements written by hand have fewer tables.
_MAX_TABLES: Final = 30
_JOB_SLOTS: Final = frozenset({Slot.JOB_NAME, Slot.JOB_ID, Slot.NEW_JOB})
_SNAPSHOT_SLOTS: Final = frozenset({Slot.SNAPSHOT_NAME, Slot.NEW_SNAPSHOT, Slot.OPTION_VALUE})
_ALERT_SLOTS: Final = frozenset({Slot.ALERT_NAME, Slot.NEW_ALERT})


class NameTopic(Enum):
    """The kinds of names that can be loaded."""

    JOBS = "jobs"
    SNAPSHOTS = "snapshots"
    ALERTS = "alerts"
    TABLES = "tables"
    COLUMNS = "columns"
    SCHEMAS = "schemas"
    FUNCTIONS = "functions"
    CONFS = "confs"


@dataclass(frozen=True)
class NameNeed:
    """Names to load. schema, table: for `TABLES` and `COLUMNS`."""

    topic: NameTopic
    schema: str = ""
    table: str = ""

    @property
    def table_key(self) -> TableKey:
        return TableKey(self.schema, self.table)


def needed_names(text: str, cursor: int, names: Names) -> tuple[NameNeed, ...]:
    """Return the names that completion at the cursor needs, the most urgent first."""
    return names_needed_at(read_cursor(text, cursor), cursor, names)


def names_needed_at(at: AtCursor, cursor: int, names: Names) -> tuple[NameNeed, ...]:
    """Return the names that completion needs at a cursor whose statement was read, see `needed_names`."""
    if at.silent or not (at.before or at.half):
        return ()
    expected = expected_at(at.before, at.half, cursor)
    if expected.body is not None:
        return _find_sql_needs(
            AtCursor(at.before[expected.body :], at.half, at.behind, at.closed, at.silent, at.start), names
        )
    if is_only_jetsql(at, expected):
        return _find_job_needs(at, frozenset(expected.slots))
    return _find_sql_needs(at, names)


def _find_job_needs(at: AtCursor, slots: frozenset[Slot]) -> tuple[NameNeed, ...]:
    needs: list[NameNeed] = []
    if slots & _JOB_SLOTS or at.before[0].word == "ALTER":
        needs.append(NameNeed(NameTopic.JOBS))
    if slots & _SNAPSHOT_SLOTS:
        needs.append(NameNeed(NameTopic.SNAPSHOTS))
    if slots & _ALERT_SLOTS:
        needs.append(NameNeed(NameTopic.ALERTS))
    if Slot.OPTION_KEY in slots and at.half is not None and at.half.text[1:].lower().startswith("sp"):
        needs.append(NameNeed(NameTopic.CONFS))
    return tuple(needs)


def _find_sql_needs(at: AtCursor, names: Names) -> tuple[NameNeed, ...]:
    first = at.before[0].word if at.before else ""
    if first in ("SET", "RESET"):
        return (NameNeed(NameTopic.CONFS),)
    position = position_at(at)
    nearest = islice(dict.fromkeys(referenced_tables(position.query)), _MAX_TABLES)
    keys = [key for parts in nearest if (key := names.table_key(parts)) is not None]
    schemas = [key.schema for key in keys] + [part.lower() for part in qualifier_before(at.before)]
    known = {schema.lower() for schema in names.schemas}
    needs = [NameNeed(NameTopic.TABLES, names.schema.lower()), NameNeed(NameTopic.SCHEMAS)]
    needs += [NameNeed(NameTopic.TABLES, schema) for schema in schemas if schema in known]
    # Load columns only of tables that exist, not for each half-written word.
    tables = {schema: {table.name.lower() for table in names.tables_in(schema)} for schema in {*schemas}}
    needs += [NameNeed(NameTopic.COLUMNS, key.schema, key.table) for key in keys if key.table in tables[key.schema]]
    needs.append(NameNeed(NameTopic.FUNCTIONS))
    return tuple(dict.fromkeys(needs))
