"""The rows of a statement that were sent to its client: counted for the audit log, and limited for its user."""

from __future__ import annotations

import struct
from typing import Final

from jetsql.jobs.access.user_limits import check_rows
from jetsql.jobs.audit.audit_log import StatementRecord

_RECORD_BATCH: Final = 3  # the kind of an Arrow message with rows


class StatementRows:
    """The rows of one statement."""

    def __init__(self, record: StatementRecord, most: int) -> None:
        """Create it. most: the limit; 0 for none"""
        self._record = record
        self._most = most

    def add_rows(self, count: int) -> None:
        """Count rows before they are sent. Raises StatementError LIMIT_EXCEEDED."""
        check_rows((self._record.rows or 0) + count, self._most)
        self._record.add_rows(count)

    def end(self) -> None:
        """Record that all rows were sent."""
        self._record.end()


def count_rows(part: bytes) -> int:
    """Return the number of the rows in whole messages of an Arrow stream.

    A message is a mark, the size of its metadata, these as a FlatBuffer (`Message.fbs` of Arrow), and its body.
    """
    count = at = 0
    while at + 8 <= len(part):
        (size,) = struct.unpack_from("<i", part, at + 4)
        if size == 0:  # the end of the stream
            break
        start = at + 8
        message = start + struct.unpack_from("<I", part, start)[0]
        body = _field(part, message, 3, "<q")
        if _field(part, message, 1, "<B") == _RECORD_BATCH:
            header = message + _offset(part, message, 2)
            header += struct.unpack_from("<I", part, header)[0]
            count += _field(part, header, 0, "<q")
        at = start + size + body
    return count


def _field(part: bytes, table: int, number: int, form: str) -> int:
    """Return a number in a table of a FlatBuffer, which has no entry for 0."""
    offset = _offset(part, table, number)
    return int(struct.unpack_from(form, part, table + offset)[0]) if offset else 0


def _offset(part: bytes, table: int, number: int) -> int:
    """Return where a field of a table is, from the begin of the table; 0 without the field."""
    entries = table - struct.unpack_from("<i", part, table)[0]
    (size,) = struct.unpack_from("<H", part, entries)
    entry = 4 + 2 * number
    return int(struct.unpack_from("<H", part, entries + entry)[0]) if entry < size else 0
