"""Merges, snapshots and clones with tables of Delta."""

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneNotPossible, BaseClonePossible
from left_out import WITHOUT_MESSAGE_OF_DELTA
from plain_classes import plain
from row_changes import row_change_classes
from snapshots import snapshot_classes

ROW_CHANGES = row_change_classes("delta")
for _test in WITHOUT_MESSAGE_OF_DELTA:
    setattr(ROW_CHANGES["TestIncrementalUniqueKey"], _test, None)

globals().update(ROW_CHANGES)
globals().update(snapshot_classes("delta"))

FORMAT = {kind: {"+file_format": "delta"} for kind in ("models", "seeds", "snapshots")}

globals().update(
    plain(
        BaseCloneNotPossible,
        BaseClonePossible,
        project_config_update=pytest.fixture(scope="class")(lambda self: FORMAT),
    )
)
