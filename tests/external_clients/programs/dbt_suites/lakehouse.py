"""Merges and snapshots, which need a format that can change rows: JETSQL_TEST_TABLES is delta or iceberg."""

import os

import pytest
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)
from plain_classes import plain

FORMAT = os.environ.get("JETSQL_TEST_TABLES", "delta")


def in_format(**more):
    """Return the configuration of a project whose tables have the format."""
    kinds = ("models", "seeds", "snapshots")
    return {kind: {"+file_format": FORMAT, **more.get(kind, {})} for kind in kinds}


class InFormat:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return in_format()


class Merging:
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return in_format(models={"+incremental_strategy": "merge"})


globals().update(
    plain(BaseSnapshotCheckCols, BaseSnapshotTimestamp, project_config_update=InFormat.project_config_update)
)
globals().update(
    plain(BaseMergeExcludeColumns, BaseIncremental, project_config_update=Merging.project_config_update)
)
