"""The causes of runs that failed over their checkpoint, without Spark: the reader of checkpoints finds the file."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.remedies import RunPaths, Trace, explain_cause
from jetsql.jobs.checkpoint_files.checkpoint_damages import Damage
from jetsql.jobs.model.job import Cause

DAMAGE = Damage("file:/home/commits/4", "is not readable: it is not UTF-8")
READING = "org.apache.spark.sql.execution.streaming.checkpointing.CommitLog.deserialize(CommitLog.scala:62)"


def paths(damage: Damage | None) -> RunPaths:
    return RunPaths("sink", "", "file:/home", "/tmp", lambda: damage)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Input length = 1", "java.nio.charset.MalformedInputException"),
        ("malformed input around byte 60", "java.io.UTFDataFormatException"),
        ("Stream is corrupted", "java.io.IOException"),
        ("Checksum error: file:/home/commits/4 at 0", "org.apache.hadoop.fs.ChecksumException"),
    ],
)
def test_damaged_file_is_named_and_not_retried(message: str, kind: str) -> None:
    cause = explain_cause(Cause(message, batch=5), Trace((message,), READING, (kind,)), paths(DAMAGE))
    assert cause.condition == "JETSQL.CHECKPOINT_DAMAGED" and not cause.retryable
    assert cause.message == f"The job's checkpoint is damaged: {DAMAGE.path} {DAMAGE.problem}."
    assert cause.where == DAMAGE.path and "from a backup" in cause.hint


def test_error_with_an_intact_checkpoint_may_be_temporary() -> None:
    given = Cause("connection reset", batch=5)
    trace = Trace((given.message,), READING, ("java.io.IOException",))
    assert explain_cause(given, trace, paths(None)) == given
    writing = Trace((given.message,), f"{READING}\norg.apache.spark.HDFSMetadataLog.write", ("java.io.IOException",))
    assert explain_cause(given, writing, paths(DAMAGE)) == given
