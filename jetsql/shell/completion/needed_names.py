"""Which names a text that is being typed needs, so that nothing else is asked of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

from jetsql.language import AtCursor, Slot, expected_at
from jetsql.language.intent import LEAD, is_ours
from jetsql.shell.completion.complete import entry_at
from jetsql.shell.completion.complete_dot_commands import argument_at
from jetsql.shell.completion.complete_sql import position_at, qualifier_of
from jetsql.shell.completion.known_names import Names, TableKey
from jetsql.shell.completion.visible_columns import tables_in
from jetsql.shell.session.command_table import Argument

# A statement with more tables than that is not being typed.
_TABLES_MOST: Final = 30
_JOBS: Final = frozenset({Slot.JOB_NAME, Slot.JOB_ID, Slot.NEW_JOB})
_SNAPSHOTS: Final = frozenset({Slot.SNAPSHOT_NAME, Slot.NEW_SNAPSHOT, Slot.OPTION_VALUE})


class Topic(Enum):
    """What can be asked of the engine."""

    JOBS = "jobs"
    SNAPSHOTS = "snapshots"
    TABLES = "tables"
    COLUMNS = "columns"
    SCHEMAS = "schemas"
    FUNCTIONS = "functions"
    CONFS = "confs"


@dataclass(frozen=True)
class Fact:
    """Something to know. schema, table: which one, for `TABLES` and `COLUMNS`."""

    topic: Topic
    schema: str = ""
    table: str = ""

    @property
    def key(self) -> TableKey:
        return TableKey(self.schema, self.table)


def needs_of(text: str, cursor: int, names: Names) -> tuple[Fact, ...]:
    """What completion at the cursor can use, the most urgent first."""
    line, at = entry_at(text, cursor)
    if line is not None:
        command, within = text[line], cursor - line.start
        found = argument_at(command, within)
        statement = found is not None and found[0] is Argument.STATEMENT
        return needs_of(command[found[1] :], within - found[1], names) if found and statement else ()
    if at.silent or not (at.before or at.half):
        return ()
    expected = expected_at(at.before, at.half, cursor)
    if expected.body is not None:
        return _of_sql(AtCursor(at.before[expected.body :], at.half, at.behind, at.closed, at.silent, at.start), names)
    if expected.slots or is_ours(at.before[:LEAD]):
        return _of_jobs(at, frozenset(expected.slots))
    return _of_sql(at, names)


def _of_jobs(at: AtCursor, slots: frozenset[Slot]) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    if slots & _JOBS or at.before[0].word == "ALTER":
        facts.append(Fact(Topic.JOBS))
    if slots & _SNAPSHOTS:
        facts.append(Fact(Topic.SNAPSHOTS))
    if Slot.OPTION_KEY in slots and at.half is not None and at.half.text[1:].lower().startswith("sp"):
        facts.append(Fact(Topic.CONFS))
    return tuple(facts)


def _of_sql(at: AtCursor, names: Names) -> tuple[Fact, ...]:
    first = at.before[0].word if at.before else ""
    if first in ("SET", "RESET"):
        return (Fact(Topic.CONFS),)
    position = position_at(at)
    near = islice(dict.fromkeys(tables_in(position.query)), _TABLES_MOST)
    keys = [key for parts in near if (key := names.key_of(parts)) is not None]
    schemas = [key.schema for key in keys] + [part.lower() for part in qualifier_of(at.before)]
    known = {schema.lower() for schema in names.schemas}
    facts = [Fact(Topic.TABLES, names.schema.lower()), Fact(Topic.SCHEMAS)]
    facts += [Fact(Topic.TABLES, schema) for schema in schemas if schema in known]
    # Not every word that is being typed is asked for. Names of our own are in every list.
    tables = {schema: {table.name.lower() for table in names.tables_of(schema)} for schema in {*schemas}}
    facts += [Fact(Topic.COLUMNS, key.schema, key.table) for key in keys if key.table in tables[key.schema]]
    facts.append(Fact(Topic.FUNCTIONS))
    return tuple(dict.fromkeys(facts))
