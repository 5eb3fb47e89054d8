"""Jobs that read tables once, although they could read them as streams: the user may have forgotten STREAM.

Without STREAM, a job is a batch job: it reads the rows that the tables have now, and ends. The plan has a line about
it, which the shell and `jetsql apply` read again, so its beginning is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.table_names import split_table
from jetsql.language import find_name
from jetsql.language.statement import Body

_LABEL: Final = "Read once:"
_INDENT: Final = 13  # of the facts in a plan
_SEPARATOR: Final = "; "


@dataclass(frozen=True)
class SingleRead:
    """The tables that a job reads once."""

    tables: str  # their names as in the query, a phrase
    remedy: str  # how the job reads new rows too, a clause in the imperative

    def line(self) -> str:
        """Return the line of a plan."""
        return f"{_LABEL:<{_INDENT}}{self.tables}{_SEPARATOR}{self.remedy}"

    def sentence(self, *, has_ended: bool) -> str:
        """Return the beginning of the message of CREATE JOB."""
        read = f"it has read {self.tables} once and ended" if has_ended else f"it reads {self.tables} once and ends"
        return f"Created: {read}; {self.remedy}."


def find_single_read(body: Body, analysis: Analysis) -> SingleRead | None:
    """Return the tables that a job reads once, or None if it reads a stream, or no table that could be one."""
    names = [_name_in(body, table) for table in analysis.tables_read_once]
    if not names:
        return None
    table = names[0] if len(names) == 1 else "before the name of a table"
    return SingleRead(" and ".join(names), f"write STREAM {table} to read new rows as they arrive")


def read_single_read(plan: str) -> SingleRead | None:
    """Return the tables that the job of a plan reads once, or None."""
    line = next((each for each in plan.splitlines() if each.startswith(_LABEL)), None)
    if line is None:
        return None
    tables, _, remedy = line.removeprefix(_LABEL).strip().rpartition(_SEPARATOR)
    return SingleRead(tables, remedy)


def _name_in(body: Body, table: str) -> str:
    """Return the name of a table as the body has it; the qualified name if it is not found, as for a view's table."""
    span = find_name(body.text, split_table(table))
    return table if span is None else body.text[span.start : span.stop]
