"""Streams over Delta and Iceberg tables that changes of the table end, without Spark."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.remedies import Trace, explain_cause
from jetsql.engine.errors.table_source_errors import explain_removed_file
from jetsql.jobs.model.job import Cause


@pytest.mark.parametrize(
    ("condition", "message", "option"),
    [
        ("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "Detected a data update", "'skipChangeCommits' = 'true'"),
        ("DELTA_SOURCE_IGNORE_DELETE", "Detected deleted data", "'skipChangeCommits' = 'true'"),
        ("DELTA_MISSING_FILES_UNEXPECTED_VERSION", "expecting version 3", "'failOnDataLoss' = 'false'"),
        ("DELTA_SCHEMA_CHANGED_WITH_VERSION", "Detected schema change", "RESUME JOB"),
        ("", "Cannot process overwrite snapshot: 7", "'streaming-skip-overwrite-snapshots' = 'true'"),
        ("", "Cannot process delete snapshot: 7", "'streaming-skip-delete-snapshots' = 'true'"),
        ("", "Cannot load current offset at snapshot 7, the snapshot was expired or removed", "DROP JOB"),
    ],
)
def test_a_changed_table_names_the_option(condition: str, message: str, option: str) -> None:
    found = explain_cause(Cause(message, condition), Trace((message,), "", ("java.lang.IllegalStateException",)), None)
    assert found.condition == "JETSQL.SOURCE_CHANGED"
    assert not found.retryable
    assert found.message.endswith(message)
    assert option in found.hint


def test_a_removed_file_names_the_option() -> None:
    found = explain_removed_file(Cause("Error while reading.", "FAILED_READ_FILE.FILE_NOT_EXIST", where="file:/t/a"))
    assert (found.condition, found.retryable) == ("JETSQL.SOURCE_CHANGED", False)
    assert found.message.endswith("file:/t/a does not exist.")
    assert "'spark.sql.files.ignoreMissingFiles' = 'true'" in found.hint


def test_other_errors_of_a_table_stay() -> None:
    cause = Cause("It is a concurrent transaction.", "DELTA_CONCURRENT_APPEND")
    assert explain_cause(cause, Trace((cause.message,), "", ()), None).condition == "DELTA_CONCURRENT_APPEND"
