"""Merges and snapshots with tables of Delta."""

from row_changes import row_change_classes

globals().update(row_change_classes("delta"))
