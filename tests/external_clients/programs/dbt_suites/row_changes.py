"""Merges and snapshots, which need tables whose rows can be changed: the test classes for a format."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.hooks.test_model_hooks import (
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.incremental import test_incremental_unique_id as unique_id
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import BaseMergeExcludeColumns
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch, _microbatch_model_sql
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.util import relation_from_name
from plain_classes import plain


def unique_key_seeds(self):
    """Return the rows, and the statements that add some: Spark does not write a string into a column of dates."""
    statements = {
        "add_new_rows": unique_id.seeds__add_new_rows_sql,
        "duplicate_insert": unique_id.seeds__duplicate_insert_sql,
    }
    files = {f"{name}.sql": re.sub(r"('\d{4}-\d\d-\d\d')", r"date \1", text) for name, text in statements.items()}
    return {"seed.csv": unique_id.seeds__seed_csv, **files}


def row_change_classes(table_format: str) -> Mapping[str, type]:
    """Return the test classes with tables of a format."""

    def configuration(
        models: Mapping[str, Any] | None = None,
        seeds: Mapping[str, Any] | None = None,
        snapshots: Mapping[str, Any] | None = None,
        **project: Any,
    ) -> Any:
        """Return a fixture with the configuration of a project."""
        kinds = {"models": models, "seeds": seeds, "snapshots": snapshots}
        found = {kind: {"+file_format": table_format, **(more or {})} for kind, more in kinds.items()}
        return pytest.fixture(scope="class")(lambda self: {**project, **found})

    merging = {"project_config_update": configuration({"+incremental_strategy": "merge"})}
    predicates = {"+incremental_strategy": "merge", "+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"]}

    hooks = ["alter table {{ this }} add column new_col int", "update {{ this }} set new_col = 1"]
    # Delta drops columns of such tables only.
    droppable = {"+tblproperties": {"delta.columnMapping.mode": "name"}} if table_format == "delta" else {}

    def snapshot_hooks(folder: str) -> Any:
        return configuration(snapshots={"post-hook": hooks}, **{"snapshot-paths": [folder]})

    class OwnSource:
        """The tables that snapshots are made of."""

        project_config_update = configuration()

        def create_fact_from_seed(self, where=None):
            fact, seed = (relation_from_name(self.project.adapter, name) for name in ("fact", "seed"))
            self.project.run_sql(f"drop table if exists {fact}")
            self.project.run_sql(f"create table {fact} using {table_format} as select * from {seed} where {where}")

        def add_fact_column(self, column=None, definition=None):
            fact = relation_from_name(self.project.adapter, "fact")
            self.project.run_sql(f"alter table {fact} add column {column} string")  # without a default

    class TestSimpleSnapshot(OwnSource, BaseSimpleSnapshot):
        pass

    class TestSnapshotCheck(OwnSource, BaseSnapshotCheck):
        pass

    class TestMicrobatch(BaseMicrobatch):
        project_config_update = configuration()

        @pytest.fixture(scope="class")
        def microbatch_model_sql(self):
            """Overwrite the partition of each batch, as dbt-spark does."""
            text = _microbatch_model_sql.replace("unique_key='id'", "partition_by='day'")
            return text.replace("select *", "select *, cast(event_time as date) as day")

    return {
        **plain(BaseSnapshotCheckCols, BaseSnapshotTimestamp, project_config_update=configuration()),
        **plain(BaseIncremental, BaseMergeExcludeColumns, **merging),
        **plain(unique_id.BaseIncrementalUniqueKey, seeds=pytest.fixture(scope="class")(unique_key_seeds), **merging),
        **plain(
            BaseIncrementalOnSchemaChange,
            project_config_update=configuration({"+incremental_strategy": "merge", **droppable}),
        ),
        **plain(
            BasePrePostModelHooksOnSeeds,
            project_config_update=configuration(seeds={"post-hook": [*hooks, "select null::int as id"]}),
        ),
        **plain(
            BasePrePostModelHooksOnSeedsPlusPrefixed,
            BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
            project_config_update=configuration(seeds={"+post-hook": hooks}),
        ),
        **plain(BasePrePostModelHooksOnSnapshots, project_config_update=snapshot_hooks("test-snapshots")),
        **plain(
            BasePrePostSnapshotHooksInConfigKwargs,
            project_config_update=snapshot_hooks("test-kwargs-snapshots"),
        ),
        **plain(BaseIncrementalPredicates, project_config_update=configuration(predicates)),
        **{each.__name__: each for each in (TestSimpleSnapshot, TestSnapshotCheck, TestMicrobatch)},
    }
