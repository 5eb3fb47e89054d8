"""OpenLineage events as JSON values, valid by OpenLineage's JSON schemas. They have no secrets."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from jetsql.jobs.model.job import Cause, Job, RuleCount
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.jobs.model.redaction import redact, redact_urls
from jetsql.jobs.openlineage.job_lineage import NO_LINEAGE, ColumnUse, Dataset, JobLineage, WrittenDataset
from jetsql.jobs.openlineage.parent_runs import ParentRun, parse_parent
from jetsql.request import OWNER
from jetsql.version import VERSION

PRODUCER: Final = f"https://pypi.org/project/jetsql/{VERSION}"
_SPEC: Final = "https://openlineage.io/spec"
_EVENT_SCHEMA: Final = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final[Mapping[str, str]] = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DataQualityAssertionsDatasetFacet": "1-1-0",
    "DocumentationJobFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "JobTypeJobFacet": "2-0-4",
    "OwnershipJobFacet": "1-0-1",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
}
"""The versions of the facets."""
_LAKES: Final = ("delta", "iceberg")
_WARNING_ACTIONS: Final = ("WARN", "DROP ROW", "INTO TABLE")


class EventType(StrEnum):
    """The types of events that JetSQL sends."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"


@dataclass(frozen=True)
class RunFacts:
    """The facts about a run for an event."""

    job: Job
    run: int  # the number of the run
    time: float  # of the event, seconds since the epoch
    lineage: JobLineage = NO_LINEAGE
    cause: Cause | None = None  # of a FAIL


def run_uuid(job: Job, run: int) -> str:
    """Return the id of a run. It follows from the job, so that the engine after a crash can end the run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"jetsql:{job.id}:{job.submission_time!r}:{run}"))


def event_document(kind: EventType, facts: RunFacts, namespace: str) -> dict[str, Any]:
    """Return an event. namespace: of the job"""
    job, lineage = facts.job, facts.lineage
    rules = _assertions(job.rule_counts, lineage)
    return {
        "eventType": kind.value,
        "eventTime": datetime.fromtimestamp(facts.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run_uuid(job, facts.run), "facets": dict(_run_facets(facts))},
        "job": {"namespace": namespace, "name": job.name, "facets": dict(_job_facets(job))},
        "inputs": [_input(each, rules.get(each.key, ()), namespace) for each in lineage.inputs],
        "outputs": [_output(each, namespace) for each in lineage.outputs],
        "producer": PRODUCER,
        "schemaURL": _EVENT_SCHEMA,
    }


def _facet(schema: str, **values: Any) -> dict[str, Any]:
    url = f"{_SPEC}/facets/{_FACETS[schema]}/{schema}.json#/$defs/{schema}"
    return {"_producer": PRODUCER, "_schemaURL": url, **values}


# --- runs and jobs ---------------------------------------------------------------------------------------------------


def _run_facets(facts: RunFacts) -> Iterator[tuple[str, dict[str, Any]]]:
    versions = facts.job.version.software_versions
    yield (
        "processing_engine",
        _facet(
            "ProcessingEngineRunFacet",
            name="spark",
            version=versions.get("spark", "unknown"),
            openlineageAdapterVersion=VERSION,
        ),
    )
    parent = parse_parent(facts.job.plan.analysis.session.parent_run)
    if parent is not None:
        yield "parent", _facet("ParentRunFacet", **_parent(parent))
    if facts.cause is not None:
        message = redact(facts.cause.message, facts.job.plan.options.given)
        yield "errorMessage", _facet("ErrorMessageRunFacet", message=message, programmingLanguage="SQL")


def _parent(parent: ParentRun) -> dict[str, Any]:
    reference = {"run": {"runId": parent.run}, "job": {"namespace": parent.namespace, "name": parent.name}}
    return reference if parent.root is None else {**reference, "root": _parent(parent.root)}


def _job_facets(job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = "JOB" if job.version.table_kind is None else job.version.table_kind.value.replace(" ", "_")
    processing = "STREAMING" if job.plan.analysis.streaming else "BATCH"
    yield "jobType", _facet("JobTypeJobFacet", processingType=processing, integration="JETSQL", jobType=kind)
    text = redact(redact_sql(job.version.statement or job.body.text), job.plan.options.given)
    yield "sql", _facet("SQLJobFacet", query=text, dialect="spark")
    if job.version.comment:
        yield "documentation", _facet("DocumentationJobFacet", description=redact_urls(job.version.comment))
    if job.owner != OWNER:
        yield "ownership", _facet("OwnershipJobFacet", owners=[{"name": job.owner, "type": "OWNER"}])


# --- datasets --------------------------------------------------------------------------------------------------------


def _input(dataset: Dataset, assertions: Sequence[dict[str, Any]], namespace: str) -> dict[str, Any]:
    document = {**_names(dataset), "facets": dict(_dataset_facets(dataset, namespace))}
    if assertions:
        facet = _facet("DataQualityAssertionsDatasetFacet", assertions=list(assertions))
        document["inputFacets"] = {"dataQualityAssertions": facet}
    return document


def _output(output: WrittenDataset, namespace: str) -> dict[str, Any]:
    facets = dict(_dataset_facets(output.dataset, namespace))
    if output.columns or output.rows:
        fields = {column: {"inputFields": _uses(uses)} for column, uses in output.columns.items()}
        facets["columnLineage"] = _facet("ColumnLineageDatasetFacet", fields=fields, dataset=_uses(output.rows))
    return {**_names(output.dataset), "facets": facets}


def _names(dataset: Dataset) -> dict[str, str]:
    return {"namespace": dataset.namespace, "name": dataset.name}


def _dataset_facets(dataset: Dataset, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if dataset.columns:
        columns = [{"name": name, "type": type_} for name, type_ in dataset.columns]
        yield "schema", _facet("SchemaDatasetFacet", fields=columns)
    if dataset.table and dataset.table != dataset.name:
        names = [{"namespace": namespace, "name": dataset.table, "type": "TABLE"}]
        yield "symlinks", _facet("SymlinksDatasetFacet", identifiers=names)
    if dataset.format in _LAKES:
        yield "storage", _facet("StorageDatasetFacet", storageLayer=dataset.format)


def _uses(uses: Iterable[ColumnUse]) -> list[dict[str, Any]]:
    return [
        {
            **_names(use.dataset),
            "field": use.column,
            "transformations": [
                {"type": each.type, "subtype": each.subtype, "masking": each.masking} for each in use.transformations
            ],
        }
        for use in uses
    ]


# --- rules -----------------------------------------------------------------------------------------------------------


def _assertions(counts: Iterable[RuleCount], lineage: JobLineage) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the results of rules by the datasets whose columns they check: all inputs if the columns are unknown."""
    by_dataset: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for count in counts:
        if count.batch is None:
            continue
        uses = lineage.rules.get(count.rule, ())
        keys = dict.fromkeys(use.dataset.key for use in uses) or [each.key for each in lineage.inputs]
        for key in keys:
            columns = {use.column for use in uses if use.dataset.key == key}
            by_dataset.setdefault(key, []).append(_assertion(count, columns))
    return by_dataset


def _assertion(count: RuleCount, columns: set[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "assertion": "expectation",
        "name": count.rule,
        "success": count.violations == 0,
        "severity": "error" if count.action not in _WARNING_ACTIONS else "warn",
        "content": redact_urls(count.condition),
        "contentType": "sql",
        "expected": "0",
        "actual": str(count.violations),
        "params": {"action": count.action, "rows": count.rows, "violations": count.violations},
    }
    return {**document, "column": next(iter(columns))} if len(columns) == 1 else document
