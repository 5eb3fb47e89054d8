"""Which `spark.*` settings a job may not set itself, and why: one table.

Two kinds: those that delivery or recovery rest on are refused always; those that state was made under are refused once
there is state, that is by ALTER JOB of a stateful job that has run.
"""

from __future__ import annotations

from typing import Final

# A name that ends with a dot stands for all names that begin so.
_ALWAYS: Final[dict[str, str]] = {
    "spark.sql.streaming.statestore.": "the form of the job's state, which JetSQL must be able to read and copy",
    "spark.sql.streaming.checkpointlocation": "the checkpoint's place follows from the job's id",
    "spark.sql.streaming.checkpoint.": "recovery rests on how checkpoints are written",
    "spark.sql.streaming.checkpointfilemanagerclass": "recovery rests on how checkpoints are written",
    "spark.sql.streaming.forcedeletetempcheckpointlocation": "it would delete checkpoints",
    "spark.sql.streaming.commitprotocolclass": "delivery rests on how files are committed",
    "spark.sql.streaming.stopactiverunonrestart": "JetSQL alone decides which run of a job goes on",
    "spark.sql.streaming.unsupportedoperationcheck": "without the check a query may give wrong results",
    "spark.sql.streaming.minbatchestoretain": "recovery needs the batches that it keeps",
    "spark.sql.streaming.asyncprogresstracking": "delivery rests on commits in their order",
    "spark.sql.sources.commitprotocolclass": "delivery rests on how files are committed",
    "spark.sql.sources.outputcommitterclass": "delivery rests on how files are committed",
    "spark.sql.parquet.output.committer.class": "delivery rests on how files are committed",
    "spark.sql.sources.partitionoverwritemode": "which partitions are replaced is decided by the statement",
    "spark.sql.adaptive.": "a replayed batch must be cut into the same parts again",
    "spark.sql.warehouse.dir": "tables belong to the engine, not to a job",
    "spark.sql.extensions": "extensions belong to the engine, not to a job",
    "spark.sql.catalog.": "catalogs belong to the engine, not to a job",
    "spark.sql.catalogimplementation": "the catalog belongs to the engine, not to a job",
    "spark.master": "it belongs to the engine, not to a job",
}

WITH_STATE: Final[dict[str, str]] = {
    "spark.sql.shuffle.partitions": (
        "the job's state is spread over that many partitions, and CREATE OR REPLACE JOB alone spreads it anew"
    ),
    "spark.sql.session.timezone": "the job's state was grouped under it",
    "spark.sql.ansi.enabled": "the job's state was computed under it",
    "spark.sql.streaming.multiplewatermarkpolicy": "the job's watermark was computed under it",
    "spark.sql.streaming.aggregation.stateformatversion": "it is the form of the job's state",
    "spark.sql.streaming.join.stateformatversion": "it is the form of the job's state",
    "spark.sql.streaming.flatmapgroupswithstate.stateformatversion": "it is the form of the job's state",
}


def protection_reason(key: str, *, has_state: bool = False) -> str | None:
    """Why a job may not set this setting; None when it may. has_state: the job has run and keeps state."""
    reason = _look_up(_ALWAYS, key)
    return _look_up(WITH_STATE, key) if reason is None and has_state else reason


def _look_up(table: dict[str, str], key: str) -> str | None:
    lowered = key.casefold()
    for name, reason in table.items():
        if lowered == name or (name.endswith(".") and lowered.startswith(name)):
            return reason
    return None
