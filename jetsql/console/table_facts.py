"""The parts of Spark's description of a table: its columns, and facts such as its provider and type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from jetsql.console.statement_runs import RunOutcome

_DETAILS: Final = ("# Detailed Table Information", "# Detailed View Information")
_UNKNOWN: Final = ("", "UNKNOWN")


@dataclass(frozen=True)
class DescribedTable:
    """A table as DESCRIBE TABLE EXTENDED has it."""

    columns: RunOutcome  # also the error
    facts: Mapping[str, str]

    @property
    def provider(self) -> str:
        """Return its format; empty if unknown."""
        return self.facts.get("Provider", "")

    @property
    def is_view(self) -> bool:
        return self.facts.get("Type", "") == "VIEW"


def described_table(outcome: RunOutcome) -> DescribedTable:
    """Return the parts of the rows of DESCRIBE TABLE EXTENDED. Partition columns stay among the columns."""
    rows = list(outcome.rows)
    start = next((index for index, row in enumerate(rows) if row["col_name"] in _DETAILS), len(rows))
    columns = [row for row in rows[:start] if row["col_name"]]
    return DescribedTable(replace(outcome, rows=columns), _facts(rows[start + 1 :]))


def _facts(rows: list[dict[str, Any]]) -> dict[str, str]:
    facts: dict[str, str] = {}
    for row in rows:
        name, value = str(row["col_name"]), str(row["data_type"] or "")
        if not name or name.startswith("#"):  # another section, such as that of metadata columns
            break
        if value not in _UNKNOWN:
            facts[name] = value
    return facts
