"""All kinds of events with all facets, compared with OpenLineage's own JSON schemas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.model.body_analysis import CapturedSession
from jetsql.jobs.model.job import Cause, Job, RuleCount
from jetsql.jobs.openlineage.event_documents import EventType, RunFacts, event_document
from jetsql.jobs.openlineage.job_lineage import ColumnUse, Dataset, JobLineage, Transformation, WrittenDataset
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import run_manager
from tests.support.openlineage import validate_event

RUN = "0199f4a1-0000-7000-8000-000000000001"
SOURCE = Dataset("kafka://broker:9092", "orders", (("id", "bigint"),), "spark_catalog.default.orders", "kafka")
SINK = Dataset("s3://bucket", "out", (("id", "bigint"),), "lake.default.out", "iceberg")
USES = (
    ColumnUse(SOURCE, "id", (Transformation("DIRECT", "AGGREGATION", True), Transformation("INDIRECT", "CONDITIONAL"))),
)
LINEAGE = JobLineage((SOURCE,), (WrittenDataset(SINK, {"id": USES}, USES),), {"positive": USES})

pytestmark = pytest.mark.slow  # the schemas are fetched


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    with run_manager(tmp_path_factory.mktemp("store")) as jobs:
        created = jobs.job(jobs.make("j", comment="all orders"))
    session = CapturedSession("spark_catalog", "default", {}, f"airflow/dag.task/{RUN},airflow/dag/{RUN}")
    counts = (RuleCount("positive", "id > 0", "FAIL").add(0, 10, 3), RuleCount("new", "id > 1", "WARN"))
    plan = replace(created.plan, analysis=analysis(session=session))
    return replace(created.with_plan(plan), rule_counts=counts, owner="ann")


@pytest.mark.parametrize("kind", EventType)
def test_an_event_with_all_facets_is_valid(kind: EventType, job: Job) -> None:
    facts = RunFacts(job, 1, 1_800_000_000.0, LINEAGE, Cause("no disk") if kind is EventType.FAIL else None)
    event = event_document(kind, facts, "jetsql")
    assert {"parent", "processing_engine"} <= event["run"]["facets"].keys()
    assert event["job"]["facets"].keys() == {"jobType", "sql", "documentation", "ownership"}
    assert event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0]["name"] == "positive"
    assert event["outputs"][0]["facets"].keys() == {"schema", "symlinks", "storage", "columnLineage"}
    validate_event(event)


def test_an_event_without_optional_facets_is_valid(job: Job) -> None:
    validate_event(event_document(EventType.ABORT, RunFacts(job, 1, 1_800_000_000.25), "jetsql"))


def test_a_wrong_event_is_not_valid(job: Job) -> None:
    event = event_document(EventType.START, RunFacts(job, 1, 1_800_000_000.25, LINEAGE), "jetsql")
    event["run"]["runId"] = "1"
    with pytest.raises(AssertionError):
        validate_event(event)
    event["run"]["runId"] = RUN
    del event["outputs"][0]["facets"]["columnLineage"]["fields"]["id"]["inputFields"][0]["field"]
    with pytest.raises(AssertionError):
        validate_event(event)
