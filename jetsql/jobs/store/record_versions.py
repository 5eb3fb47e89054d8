"""Upgrade the records of jobs and snapshots from older versions of the store.

A record is the JSON of a `Job` or `Snapshot`, by the names of its fields. New fields need no upgrade: they get their
default. A renamed field needs a step here, and a new version of the store. The steps work on plain JSON values, so they
name fields as they were then. The migration of a store uses them, and so do readers that must not change the store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Record = dict[str, Any]

RENAMED_EVENTS: Final = {
    "suspend asked for": "suspend requested",
    "restart asked for": "restart requested",
    "drop asked for": "drop requested",
    "drop with snapshot asked for": "drop with snapshot requested",
    "update asked for": "update requested",
    "update given up": "update abandoned",
    "update undone": "update rolled back",
    "updated for good": "update committed",
    "state spread": "state rescaled",
    "sink noticed": "sink notice",
    "clean-up failed": "cleanup failed",
    "waiting": "blocked",
}
"""Events of the history by their names up to version 3 of the store."""

_JOB: Final = {
    "submitted": "submission_time",
    "ended": "end_time",
    "files": "has_files",
    "newest_checkpoint": "highest_checkpoint",
    "origin": "source_snapshot_id",
    "proposed": "pending_version",
    "previous": "rollback_version",
    "export": "snapshot_request",
    "over": "run_ended",
    "waiting": "waiting_for_members",
}
_VERSION: Final = {
    "text": "statement",
    "established": "first_trigger_done",
    "suspended": "was_suspended",
    "versions": "software_versions",
    "defaults": "session_defaults",
}
_OF_VERSION: Final = ("text", "body", "plan", "comment", "checkpoint", "established", "versions", "defaults")
_SNAPSHOT: Final = {"job": "job_id", **_VERSION}
_CAUSE: Final = {"heals": "retryable", "away": "external_outage"}
_ANALYSIS: Final = {
    "aggregates": "has_aggregates",
    "dated_output": "waits_for_watermark",
    "varying": "unstable_partitioning",
}
_SOURCE: Final = {"letters": "has_dead_letters"}
_OPTIONS: Final = (
    "auto_scaling",
    "split_brain_protection",
    "initial_snapshot",
    "restart_attempts",
    "metrics_enabled",
    "store_metrics_after_completion",
    "trigger",
    "idle_timeout_millis",
    "state_ttl_millis",
    "spark_confs",
    "accepted_topics",
)
"""Fields of a plan that were copies of options, up to version 6 of the store."""
_SINK: Final = {"whole_table": "replaces_whole_table", "numbered": "has_batch_numbers"}


def upgrade_text(text: str, version: int, target: int | None = None) -> str:
    """Return the JSON text of a record in the form of a later version; a malformed one stays as it is.

    target: that version of the store, by default the newest.
    """
    if version > len(STEPS):
        return text
    try:
        record = json.loads(text)
        for step in STEPS[version - 1 : None if target is None else target - 1]:
            record = step(record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return text  # decoding it reports what is wrong
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _unchanged(record: Record) -> Record:
    return record


def _with_operators(record: Record) -> Record:
    """Version 3: the stateful operators of a query as data; version 2 had sentences."""
    for version in (record, record.get("proposed"), record.get("previous")):
        if version is not None:
            analysis = version["plan"]["analysis"]
            states = (re.fullmatch(r"state \d+: (.*)", fact, re.DOTALL) for fact in analysis.pop("fingerprint", ()))
            operators = (state[1].partition("; ") for state in states if state)
            analysis["operators"] = [{"kind": kind, "meaning": meaning} for kind, _, meaning in operators]
    return record


def _with_new_names(record: Record) -> Record:
    """Version 4: the fields by their names of today, and a job's version as a record of its own."""
    if "job_name" in record:
        return _version(record, _SNAPSHOT)
    job = {name: value for name, value in record.items() if name not in _OF_VERSION}
    job["version"] = _version({name: record[name] for name in _OF_VERSION if name in record})
    for name in ("proposed", "previous"):
        if job.get(name) is not None:
            job[name] = _version(job[name])
    for name in ("cause", "stop_cause"):
        if job.get(name) is not None:
            job[name] = _renamed(job[name], _CAUSE)
    return _renamed(job, _JOB)


def _version(record: Record, names: Mapping[str, str] = _VERSION) -> Record:
    analysis = _renamed(record["plan"]["analysis"], _ANALYSIS)
    analysis["sources"] = [_renamed(source, _SOURCE) for source in analysis["sources"]]
    analysis["sink"] = _renamed(analysis["sink"], _SINK)
    return {**_renamed(record, names), "plan": {**record["plan"], "analysis": analysis}}


def _with_options(record: Record) -> Record:
    """Version 7: the options of a job as one record of its plan."""
    for plan in _plans(record):
        plan["options"] = _options(plan)
        plan["late_rows_table"] = plan.pop("late_rows", "")
        for name in _OPTIONS:
            plan.pop(name, None)
    return record


def _with_sinks(record: Record) -> Record:
    """Version 8: all sinks of a job as one list, and whether it updates their rows as another."""
    for plan in _plans(record):
        analysis = plan["analysis"]
        analysis["sinks"] = [analysis.pop("sink"), *analysis.pop("more_sinks", ())]
        plan["upserts"] = [plan.pop("upsert"), *plan.pop("more_upserts", ())]
    return record


def _plans(record: Record) -> Iterator[Record]:
    """Return the plans in a record since version 4: of a snapshot, or of the versions of a job."""
    versions = (record, *(record.get(name) for name in ("version", "pending_version", "rollback_version")))
    return (version["plan"] for version in versions if version is not None and "plan" in version)


def _options(plan: Record) -> Record:
    """Return the typed options of a plan, also those that it had only as the texts that the user gave."""
    given = plan["options"]
    options: Record = {name: plan[name] for name in _OPTIONS if name in plan}
    texts = {
        "processing_guarantee": given.get("processingGuarantee"),
        "output_mode": given.get("outputMode"),
        "late_rows": given.get("lateRows", "drop"),
        "apply_group": given.get("applyGroup"),
    }
    interval, suspends = given.get("snapshotIntervalMillis"), given.get("suspendOnFailure")
    return {
        **options,
        **texts,
        "snapshot_interval_millis": None if interval is None else int(interval),
        "suspend_on_failure": None if suspends is None else suspends == "true",
        "given": given,
    }


def _renamed(record: Record, names: Mapping[str, str]) -> Record:
    return {names.get(name, name): value for name, value in record.items()}


# STEPS[0] makes a record of version 2 of one of version 1, and so on.
STEPS: Final[tuple[Callable[[Record], Record], ...]] = (
    _unchanged,
    _with_operators,
    _with_new_names,
    _unchanged,
    _unchanged,
    _with_options,
    _with_sinks,
    _unchanged,
    _unchanged,
)
