"""A job with several tables, as statements show it and the store keeps it."""

from __future__ import annotations

from pathlib import Path

from jetsql.jobs.manager.table_users import refuse_change
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.serialization import decode, encode
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink
from tests.support.engines.jobs_harness import JobsHarness, run_manager

KEPT = sink("spark_catalog.default.kept", kind=SinkKind.JDBC, provider="jdbc", key_columns=("id",))
BODY = "FROM STREAM src INSERT INTO out SELECT a SINK INTO kept SELECT b INSERT INTO out SELECT c"
OUT = analysis().sink
BOTH = analysis(sinks=(OUT, KEPT, OUT))


def named(jobs: JobsHarness) -> Job:
    job = jobs.store.newest_named("j")
    assert job is not None
    return job


def test_statements_name_all_tables(tmp_path: Path) -> None:
    with run_manager(tmp_path, InMemoryRuntime(analysis=BOTH)) as jobs:
        jobs.sql(f"CREATE JOB j AS {BODY}")
        facts = [value for key, value in jobs.sql("DESCRIBE JOB j").rows if key == "sink"]
        assert [str(fact).rpartition("; ")[2] for fact in facts] == [
            "rows are added", "rows are updated by id", "rows are added",
        ]  # fmt: skip
        [(explained,)] = jobs.sql(f"EXPLAIN CREATE JOB k AS {BODY}").rows
        assert str(explained).count("Sink:  ") == 3
        assert jobs.sql("SHOW CREATE JOB j").rows[0][0] == f"CREATE JOB `j`\nAS {BODY}"
        job = named(jobs)
        assert job.plan.analysis.sink_names == f"{OUT.table}, {KEPT.table}"
        assert "the job j writes it" in refuse_change(
            jobs.manager.registry, jobs.manager.access.sees_job, "drop", ("spark_catalog", "default"), "kept"
        )


def test_the_store_keeps_all_tables_and_alter_keeps_their_verbs(tmp_path: Path) -> None:
    with run_manager(tmp_path, InMemoryRuntime(analysis=BOTH)) as jobs:
        jobs.sql(f"CREATE JOB j AS {BODY}")
        jobs.sql("SUSPEND JOB j")
        before = named(jobs)
        jobs.sql("ALTER JOB j OPTIONS ('restartAttempts' = '5')")
        job = named(jobs)
        assert job.plan.options.restart_attempts == 5
        assert [each.upsert for each in job.plan.sinks] == [each.upsert for each in before.plan.sinks]
        assert [each.upsert for each in job.plan.sinks] == [False, True, False]
        assert decode(Job, encode(job)) == job


def test_record_with_one_table_needs_no_upgrade(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        jobs.sql("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
        text = encode(named(jobs))
        older = text.replace(',"branches":[]', "")
        assert older != text
        assert decode(Job, older) == named(jobs)
