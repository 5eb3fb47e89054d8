"""The `spark.*` settings that a job cannot set, with the reasons.

Settings that delivery or recovery depend on are always refused. Settings that the state depends on are refused by
ALTER JOB of a stateful job that has run.
"""

from __future__ import annotations

from typing import Final

# A name that ends with a dot is a prefix.
_ALWAYS: Final[dict[str, str]] = {
    "spark.sql.streaming.statestore.": "it changes the format of the state, which JetSQL must be able to copy",
    "spark.sql.streaming.checkpointlocation": "JetSQL chooses the checkpoint's folder by the job's id",
    "spark.sql.streaming.checkpoint.": "recovery depends on how checkpoints are written",
    "spark.sql.streaming.checkpointfilemanagerclass": "recovery depends on how checkpoints are written",
    "spark.sql.streaming.forcedeletetempcheckpointlocation": "it would delete checkpoints",
    "spark.sql.streaming.commitprotocolclass": "delivery depends on how files are committed",
    "spark.sql.streaming.stopactiverunonrestart": "JetSQL alone starts and stops the runs of a job",
    "spark.sql.streaming.unsupportedoperationcheck": "without the check a query can return wrong results",
    "spark.sql.streaming.minbatchestoretain": "recovery needs the retained batches",
    "spark.sql.streaming.asyncprogresstracking": "delivery depends on the order of commits",
    "spark.sql.sources.commitprotocolclass": "delivery depends on how files are committed",
    "spark.sql.sources.outputcommitterclass": "delivery depends on how files are committed",
    "spark.sql.parquet.output.committer.class": "delivery depends on how files are committed",
    "spark.sql.sources.partitionoverwritemode": "the statement decides which partitions are replaced",
    "spark.sql.adaptive.": "a replayed batch must have the same partitions again",
    "spark.databricks.delta.write.txnappid": "JetSQL notes in the commits which batches they have",
    "spark.databricks.delta.write.txnversion": "JetSQL notes in the commits which batches they have",
    "spark.sql.warehouse.dir": "tables belong to the engine, not to a job",
    "spark.sql.extensions": "extensions belong to the engine, not to a job",
    "spark.sql.catalog.": "catalogs belong to the engine, not to a job",
    "spark.sql.catalogimplementation": "the catalog belongs to the engine, not to a job",
    "spark.master": "it belongs to the engine, not to a job",
}

WITH_STATE: Final[dict[str, str]] = {
    "spark.sql.shuffle.partitions": (
        "the job's state has this number of partitions, and only CREATE OR REPLACE JOB repartitions it"
    ),
    "spark.sql.session.timezone": "the job's state was grouped with it",
    "spark.sql.ansi.enabled": "the job's state was computed with it",
    "spark.sql.streaming.multiplewatermarkpolicy": "the job's watermark was computed with it",
    "spark.sql.streaming.aggregation.stateformatversion": "it is the format of the job's state",
    "spark.sql.streaming.join.stateformatversion": "it is the format of the job's state",
    "spark.sql.streaming.flatmapgroupswithstate.stateformatversion": "it is the format of the job's state",
}


def protection_reason(key: str, *, has_state: bool = False) -> str | None:
    """Return why a job cannot set this setting; None when it can. has_state: the job has run and keeps state."""
    reason = _find_reason(_ALWAYS, key)
    return _find_reason(WITH_STATE, key) if reason is None and has_state else reason


def _find_reason(table: dict[str, str], key: str) -> str | None:
    lowered = key.casefold()
    for name, reason in table.items():
        if lowered == name or (name.endswith(".") and lowered.startswith(name)):
            return reason
    return None
