"""The conditions of errors, by the class of their SQLSTATE; and those that stop jobs, for the runbook."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.conditions.job_conditions import JOB_CONDITIONS

# The classes of the SQL standard, and of PostgreSQL where the standard leaves one to the implementation.
_CLASSES: Final = {
    "01": "Warnings",
    "07": "Parameters",
    "08": "Connections",
    "0A": "Features that are not supported",
    "22": "Values",
    "23": "Constraints",
    "26": "Statements",
    "28": "Authentication",
    "42": "Syntax, names and permissions",
    "53": "Resources",
    "54": "Limits",
    "55": "States of jobs and tables",
    "57": "Cancelled statements and timeouts",
    "58": "Systems and files",
    "XX": "Internal errors",
}


def errors() -> str:
    """Return a section for each class, with an entry for each condition."""
    by_class: dict[str, list[str]] = defaultdict(list)
    for name, condition in CONDITIONS.items():
        entry = f"### {name} {{ #{name.lower()} }}\n\nSQLSTATE `{condition.sqlstate}`\n\n{condition.meaning}\n"
        remedy = "" if condition.remedy == "Nothing." else f"\n**Remedy:** {condition.remedy}\n"
        by_class[condition.sqlstate[:2]].append(entry + remedy)
    return "\n".join(f"## {title}\n\n" + "\n".join(by_class[key]) for key, title in _CLASSES.items())


def runbook() -> str:
    """Return an entry for each condition that stops jobs, by its name: the meaning, what to check, and the remedy."""
    entries = (
        f"### {name} {{ #{name.lower()} }}\n\n{condition.meaning}\n\n"
        f"**Check:** {condition.check}\n\n**Remedy:** {condition.remedy}\n"
        for name, condition in sorted(JOB_CONDITIONS.items())
    )
    return "## Conditions of JetSQL\n\n" + "\n".join(entries)
