"""Statements of batch jobs that replace a part of a table: its partitions, or the rows that meet a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from jetsql.jobs.model.body_analysis import Sink

OVERWRITE_MODE: Final = "spark.sql.sources.partitionOverwriteMode"


def overwrite_confs(sink: Sink) -> dict[str, str]:
    """Return the settings in which Spark replaces the same partitions as in the session that created the job.

    A job does not capture the setting, but the analysis of its statement notes the effect.
    """
    return {OVERWRITE_MODE: "DYNAMIC" if sink.replaces_partitions else "STATIC"}


@contextmanager
def with_confs(session: SparkSession, confs: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session within the block."""
    for name, value in confs.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in confs:
            session.conf.unset(name)
