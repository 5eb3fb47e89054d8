"""Explain errors of streams that read Delta and Iceberg tables: what changed in the table, and the option that helps.

A stream reads the rows that are added to a table. Any other change ends it, at every restart again. Delta's errors have
conditions; Iceberg's are known by their messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.model.job import Cause

_ADVICE: Final = " This is currently not supported. If "  # Delta advises to set an option of Spark's API, and to reset
_CONDITION: Final = "SOURCE_CHANGED"


@dataclass(frozen=True)
class _Change:
    error: str
    """A regular expression: the beginning of Delta's condition, or a part of Iceberg's message."""
    meaning: str
    """The event in the table, a sentence."""
    remedy: str
    """The remedy for the user, a sentence."""


def _skip(option: str, effect: str) -> str:
    return f"To continue {effect}, run CREATE OR REPLACE JOB with FROM STREAM table WITH ('{option}' = 'true')."


_NEW_JOB: Final = "To read the table from its current rows on, DROP JOB, empty its sink, and create the job again."
_DELTA: Final = (
    _Change(
        "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
        "Rows of the source were updated, merged or overwritten, and a stream reads added rows only.",
        _skip("skipChangeCommits", "without such changes")
        + " To read the changes themselves, set the table property delta.enableChangeDataFeed and create a job WITH"
        " ('readChangeFeed' = 'true').",
    ),
    _Change(
        "DELTA_SOURCE_IGNORE_DELETE",
        "Rows of the source were deleted, and a stream reads added rows only.",
        _skip("skipChangeCommits", "without such changes"),
    ),
    _Change(
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "The source was replaced by another table.",
        _NEW_JOB,
    ),
    _Change(
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION|DELTA_TRUNCATED_TRANSACTION_LOG|DELTA_LOG_FILE_NOT_FOUND"
        "|DELTA_VERSION_NOT_CONTIGUOUS|DELTA_VERSION_NOT_FOUND",
        "Versions of the source that the job has not read were removed from its log (delta.logRetentionDuration).",
        _skip("failOnDataLoss", "without them").replace("'true'", "'false'"),
    ),
    _Change(
        "DELTA_CHANGE_DATA_FILE_NOT_FOUND|DELTA_FILE_NOT_FOUND",
        "Files of the source that the job has not read were removed by VACUUM.",
        "To continue without their rows, run ALTER JOB ... OPTIONS ('spark.sql.files.ignoreMissingFiles' = 'true')"
        " RESUME.",
    ),
    _Change(
        "DELTA_MISSING_CHANGE_DATA",
        "The source has no change data of the versions that the job reads next.",
        "Set the table property delta.enableChangeDataFeed before rows change, and create the job again WITH"
        " ('startingVersion' = 'N'), the first version after it.",
    ),
    _Change(
        "DELTA_SCHEMA_CHANGED|DELTA_STREAMING_|DELTA_CHANGE_DATA_FEED_INCOMPATIBLE|DELTA_BLOCK_COLUMN_MAPPING_AND_CDC",
        "The columns of the source were changed.",
        "Run RESUME JOB if the job's query still fits them. Otherwise run CREATE OR REPLACE JOB with a query for the"
        " new columns.",
    ),
)
_ICEBERG: Final = (
    _Change(
        "Cannot process overwrite snapshot",
        "Rows of the source were updated, merged or overwritten, and a stream reads added rows only.",
        _skip("streaming-skip-overwrite-snapshots", "without such changes, also without the rows that they added"),
    ),
    _Change(
        "Cannot process delete snapshot",
        "Rows of the source were deleted, and a stream reads added rows only.",
        _skip("streaming-skip-delete-snapshots", "without such changes"),
    ),
    _Change(
        "Cannot load current offset at snapshot|Cannot find snapshot|snapshot was expired or removed"
        "|is not an ancestor of|not a descendant",
        "The snapshot of the source that the job has read last was removed by expire_snapshots.",
        _NEW_JOB,
    ),
)


def explain_source_change(cause: Cause, messages: Sequence[str]) -> Cause | None:
    """Return the cause for a changed source, or None for any other error. messages: the outermost first."""
    change = next((each for each in _DELTA if re.match(each.error, cause.condition)), None)
    if change is None:
        text = "\n".join(messages)
        change = next((each for each in _ICEBERG if re.search(each.error, text)), None)
    if change is None:
        return None
    return replace(
        cause,
        condition=f"JETSQL.{_CONDITION}",
        sqlstate=SQLSTATES[_CONDITION],
        retryable=False,
        message=f"{change.meaning} {cause.message.partition(_ADVICE)[0]}",
        hint=change.remedy,
    )
