"""Snapshots whose sources the suite writes in PostgreSQL's SQL: the test classes for a format."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from dbt.tests.adapter.simple_snapshot import fixtures, new_record_dbt_valid_to_current, new_record_timestamp_mode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import BaseSnapshotNewRecordDbtValidToCurrent
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import BaseSnapshotNewRecordTimestampMode
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)
from plain_classes import plain

SPARK = {
    r"(\{database\}|None)\.": "",  # there are no databases above the schemas
    r"VARCHAR\(\d+\)|\bTEXT\b": "STRING",
    r"::text": "::string",
    r" WITHOUT TIME ZONE": "",
    r"('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d')": r"TIMESTAMP \1",
    r" default 'dummy_value'": "",
}


def spark_statements(text: str, table_format: str) -> Iterator[str]:
    """Yield the statements of a text of PostgreSQL as Spark reads them, with tables of a format."""
    for theirs, ours in SPARK.items():
        text = re.sub(theirs, ours, text)
    for statement in filter(str.strip, text.split(";")):
        yield f"{statement} using {table_format}" if statement.strip().startswith("create table") else statement


def snapshot_classes(table_format: str) -> Mapping[str, type]:
    """Return the test classes with tables of a format."""

    @pytest.fixture(scope="class")
    def project(self, project):
        """Return the project, whose statements are translated."""
        run_sql = project.run_sql

        def run_statements(text, fetch=None):
            return [run_sql(statement, fetch) for statement in spark_statements(text, table_format)][-1]

        project.run_sql = run_statements
        return project

    def files(text: str) -> Any:
        text = text.replace("{{target.database}}.", "").replace("config(", f"config(file_format='{table_format}',")
        return pytest.fixture(scope="class")(lambda self: {"snapshot.sql": text})

    configured = {"snapshots": {"+file_format": table_format}}
    formats = {"project_config_update": pytest.fixture(scope="class")(lambda self: configured)}
    return {
        **plain(
            BaseSnapshotColumnNames,
            BaseSnapshotColumnNamesFromDbtProject,
            BaseSnapshotInvalidColumnNames,
            project=project,
            snapshots=files(fixtures.snapshot_actual_sql),
        ),
        **plain(
            BaseSnapshotNewRecordTimestampMode,
            project=project,
            snapshots=files(new_record_timestamp_mode._snapshot_actual_sql),
        ),
        **plain(
            BaseSnapshotNewRecordDbtValidToCurrent,
            project=project,
            snapshots=files(new_record_dbt_valid_to_current._snapshot_actual_sql),
            **formats,
        ),
        **plain(
            BaseSnapshotEphemeralHardDeletes,
            BaseSnapshotMultiUniqueKey,
            BaseSnapshotNewColumnSpecificCheckCols,
            BaseSnapshotNewColumnTimestampStrategy,
            BaseSnapshotNewColumnWithDeletes,
            project=project,
            **formats,
        ),
    }
