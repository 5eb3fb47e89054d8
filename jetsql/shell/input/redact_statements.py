"""Redact statements for the history: values of secret options, and secrets in URLs."""

from __future__ import annotations

from itertools import pairwise

from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.shell.input.input_parsing import DotCommand, command_end, parse_entries


def redact_statements(text: str) -> str:
    """Return the text with `***` in place of secrets."""
    starts = [entry.start if isinstance(entry, DotCommand) else entry.fragment.start for entry in parse_entries(text)]
    return "".join(_redact_entry(text[start:stop]) for start, stop in pairwise([0, *starts, len(text)]))


def _redact_entry(part: str) -> str:
    """Redact one entry and the text up to the next one."""
    stop = command_end(part, 0)  # an open quote in a command ends with the command
    return redact_sql(part[:stop]) + part[stop:] if stop else redact_sql(part)
