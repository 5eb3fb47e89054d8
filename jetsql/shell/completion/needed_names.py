"""Determine the names that the text at the prompt needs, so only these are loaded from the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

from jetsql.language import AtCursor, Slot, expected_at
from jetsql.language.intent import LEAD, is_ours
from jetsql.shell.completion.complete import entry_at
from jetsql.shell.completion.complete_dot_commands import argument_at
from jetsql.shell.completion.complete_sql import position_at, qualifier_before
from jetsql.shell.completion.known_names import Names, TableKey
from jetsql.shell.completion.visible_columns import referenced_tables
from jetsql.shell.session.command_table import ArgumentKind

# Statements written by hand have fewer tables.
_MAX_TABLES: Final = 30
_JOB_SLOTS: Final = frozenset({Slot.JOB_NAME, Slot.JOB_ID, Slot.NEW_JOB})
_SNAPSHOT_SLOTS: Final = frozenset({Slot.SNAPSHOT_NAME, Slot.NEW_SNAPSHOT, Slot.OPTION_VALUE})


class NameTopic(Enum):
    """The kinds of names that can be loaded."""

    JOBS = "jobs"
    SNAPSHOTS = "snapshots"
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
    line, at = entry_at(text, cursor)
    if line is not None:
        command, within = text[line], cursor - line.start
        argument = argument_at(command, within)
        statement = argument is not None and argument[0] is ArgumentKind.STATEMENT
        return needed_names(command[argument[1] :], within - argument[1], names) if argument and statement else ()
    if at.silent or not (at.before or at.half):
        return ()
    expected = expected_at(at.before, at.half, cursor)
    if expected.body is not None:
        return _find_sql_needs(
            AtCursor(at.before[expected.body :], at.half, at.behind, at.closed, at.silent, at.start), names
        )
    if expected.slots or is_ours(at.before[:LEAD]):
        return _find_job_needs(at, frozenset(expected.slots))
    return _find_sql_needs(at, names)


def _find_job_needs(at: AtCursor, slots: frozenset[Slot]) -> tuple[NameNeed, ...]:
    needs: list[NameNeed] = []
    if slots & _JOB_SLOTS or at.before[0].word == "ALTER":
        needs.append(NameNeed(NameTopic.JOBS))
    if slots & _SNAPSHOT_SLOTS:
        needs.append(NameNeed(NameTopic.SNAPSHOTS))
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
