"""CREATE OR REPLACE JOB on a live job, with the in-memory engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from jetsql.engine.runs.start_checks import check_same_query
from jetsql.errors import StatementError
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.body_analysis import Analysis, CapturedSession, Operator, OutputMode
from jetsql.jobs.model.job import Cause, Job, Plan, Status
from jetsql.jobs.planning.compatibility import StateCompatibility, compare_plans
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.update_verdict import UpdateKind, UpdateVerdict, read_verdict
from jetsql.resultset import Table
from tests.conftest import until
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import JobsHarness, body, option, run_manager
from tests.support.golden_reports import raises

UPDATE = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src"
COUNT = Operator("Aggregate", "source0.a: int; count(1): bigint")
SUM = Operator("Aggregate", "source0.a: int; sum(source0.b): bigint")


CASTED = Operator("Aggregate", "CAST(source0.a AS INT): int; count(1): bigint")
"""COUNT over a view, in the words of an earlier release."""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def test_new_version_continues_where_the_old_one_stopped(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    status, message = jobs.reply(UPDATE)
    assert status == "RUNNING"
    assert message == (
        "Updated. The job continues after the rows already read. The new version has committed its first batch."
    )
    job = jobs.job(job_id)
    assert (job.run, job.version.checkpoint, job.batch, job.rollback_version) == (2, 1, 1, None)
    assert "SELECT a" in str(jobs.sql("SHOW CREATE JOB j").rows[0][0])
    until(lambda: jobs.runtime.discarded == [0])  # the statement does not wait for it
    calls = jobs.runtime.calls
    assert calls.index("stop 1") < calls.index("prepare_update 1") < calls.index("start 2")


def test_a_job_in_the_words_of_an_earlier_release(jobs: JobsHarness) -> None:
    """Earlier releases described casts that change no type, see `Operator.earlier_meaning`."""
    jobs.runtime.analysis = analysis(operators=(CASTED,), stateful=True)
    job_id = jobs.make()
    jobs.sql(UPDATE)
    now = jobs.runtime.analysis = analysis(operators=(replace(COUNT, earlier_meaning=CASTED.meaning),), stateful=True)
    check_same_query(jobs.job(job_id), now, False)
    with pytest.raises(StatementError, match="count"):
        check_same_query(jobs.job(job_id), analysis(operators=(SUM,), stateful=True), False)
    assert jobs.reply(UPDATE) == ("RUNNING", "The job already has this statement; it continues.")
    jobs.sql(UPDATE.replace("SELECT a", "SELECT a AS b"))
    assert jobs.job(job_id).plan.analysis.operators == (COUNT,)


def test_the_same_statement_again_changes_nothing(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql(UPDATE)
    assert jobs.reply(UPDATE) == ("RUNNING", "The job already has this statement; it continues.")
    assert jobs.job(job_id).run == 2


@pytest.mark.parametrize(
    ("before", "now", "local"),
    [
        (
            "TUMBLE(TABLE src, DESCRIPTOR(t), INTERVAL 1 DAY)",
            "TUMBLE(TABLE src, DESCRIPTOR(t), INTERVAL 2 DAYS)",
            False,
        ),
        ("src", "TUMBLE(TABLE src, DESCRIPTOR(t), INTERVAL 1 DAY)", True),
    ],
)
def test_only_jobs_of_earlier_releases_keep_utc_windows(jobs: JobsHarness, before: str, now: str, local: bool) -> None:
    job_id = str(jobs.row(f"CREATE JOB j AS INSERT INTO out SELECT a FROM STREAM {before}")["id"])
    jobs.runtime.makes_local_windows = True
    jobs.sql(f"CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM {now}")
    assert jobs.job(job_id).plan.analysis.local_windows is local


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE JOB j AS\n  INSERT INTO out -- all rows\n  SELECT  a /* one */ FROM STREAM src",
        "create or replace job j as insert into out select a from stream src",
    ],
)
def test_white_space_comments_and_keyword_case_are_ignored(jobs: JobsHarness, text: str) -> None:
    job_id = jobs.make()
    jobs.sql(UPDATE)
    assert verdict(jobs, text).kind is UpdateKind.UNCHANGED
    assert jobs.reply(text) == ("RUNNING", "The job already has this statement; it continues.")
    assert jobs.job(job_id).run == 2


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT A FROM STREAM src",
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT /*+ REPARTITION(3) */ a FROM STREAM src",
        "CREATE OR REPLACE JOB j COMMENT 'c' AS INSERT INTO out SELECT a FROM STREAM src",
        "CREATE OR REPLACE JOB j OPTIONS ('restartAttempts' = '4') AS INSERT INTO out SELECT a FROM STREAM src",
    ],
)
def test_names_hints_job_comments_and_options_are_changes(jobs: JobsHarness, text: str) -> None:
    jobs.make()
    jobs.sql(UPDATE)
    assert verdict(jobs, text).kind is UpdateKind.POSSIBLE


def test_the_order_of_options_is_no_change(jobs: JobsHarness) -> None:
    options = ["'restartAttempts' = '4'", "'metricsEnabled' = 'false'"]
    texts = [UPDATE.replace(" AS ", f" OPTIONS ({', '.join(each)}) AS ") for each in (options, options[::-1])]
    jobs.sql(texts[0])
    assert verdict(jobs, texts[1]) == UpdateVerdict(UpdateKind.UNCHANGED, "the job has this statement, and is RUNNING")


def test_an_update_lists_the_options_that_it_changes(jobs: JobsHarness) -> None:
    given = (
        "'snapshotIntervalMillis' = '300', 'processingGuarantee' = 'atLeastOnce', 'restartAttempts' = '3',"
        " 'spark.sql.x' = '5', 'spark.sql.key.password' = 'before'"
    )
    jobs.sql(UPDATE.replace(" AS ", f" OPTIONS ({given}) AS "))
    text = UPDATE.replace("SELECT a", "SELECT b").replace(
        " AS ", " OPTIONS ('autoScaling' = 'false', 'spark.sql.key.password' = 'after') AS "
    )
    changes = [
        "he option 'autoScaling' changes from 'true' (its default) to 'false'",
        "he option 'processingGuarantee' changes from 'atLeastOnce' to 'exactlyOnce' (its default)",
        "he option 'snapshotIntervalMillis' changes from '300' to '10000' (its default)",
        "he option 'spark.sql.key.password' changes",
        "he option 'spark.sql.x' changes from '5' to not set",
    ]
    assert verdict(jobs, text).details.endswith("; t" + "; t".join(changes))
    assert ". T" + ". T".join(changes) + "." in jobs.reply(text)[1]
    assert "option" not in jobs.reply(text.replace("SELECT b", "SELECT c"))[1]


def test_update_lists_the_session_settings_that_it_changes(jobs: JobsHarness) -> None:
    zone = "spark.sql.session.timeZone"
    jobs.runtime.analysis = analysis(session=CapturedSession("spark_catalog", "default", {zone: "Europe/Berlin"}))
    jobs.sql(UPDATE)
    jobs.runtime.analysis = analysis(session=CapturedSession("spark_catalog", "default", {zone: "UTC"}))
    change = f"session's setting '{zone}' changes from 'Europe/Berlin' to 'UTC'"
    assert change in verdict(jobs, UPDATE).details
    assert change in jobs.reply(UPDATE)[1]


def test_same_statement_for_a_completed_job_does_nothing(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(streaming=False)
    text = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM src"
    created, job = jobs.begin(text)
    jobs.runtime.complete(job.id)
    assert created.result(10).rows[0][2] == Status.COMPLETED.value
    assert verdict(jobs, text).details == "the job had this statement, and has completed"
    assert "Update:" not in str(jobs.sql(f"EXPLAIN {text} WHERE a > 1").rows[0][0])


def test_a_job_that_exists_is_explained_with_its_initial_snapshot(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    text = UPDATE.replace(" AS ", " OPTIONS ('initialSnapshotName' = 's') AS ")
    assert verdict(jobs, text) == UpdateVerdict(
        UpdateKind.REFUSED, "the job continues with its own state, so it cannot start from a snapshot"
    )
    new = text.replace("JOB j", "JOB k").replace("INTO out", "INTO out2")
    jobs.sql(new)
    assert jobs.reply(new) == ("RUNNING", "The job already has this statement; it continues.")


def verdict(jobs: JobsHarness, text: str) -> UpdateVerdict:
    found = read_verdict(str(jobs.sql(f"EXPLAIN {text}").rows[0][0]))
    assert found is not None
    return found


def test_same_statement_stored_by_another_release_changes_nothing(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql(UPDATE)
    older = replace(jobs.job(job_id).plan, guarantee_reason="as an older release said it")
    jobs.manager.registry.put(JobView(jobs.job(job_id).with_plan(older)))
    assert jobs.reply(UPDATE) == ("RUNNING", "The job already has this statement; it continues.")
    assert jobs.job(job_id).run == 2


def test_incompatible_update_is_refused_and_the_job_unchanged(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.analysis = analysis(sources=(source(), source("other")))
    error = jobs.error_of(UPDATE)
    assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE" and "the source other (parquet) is new" in error.message
    assert error.place is not None and "stop 1" not in jobs.runtime.calls
    assert jobs.job(job_id).status is Status.RUNNING and jobs.job(job_id).version.checkpoint == 0


def test_overwritten_table_may_have_moved(jobs: JobsHarness) -> None:
    modes = {OutputMode.COMPLETE: None}
    counts = analysis(operators=(COUNT,), stateful=True, has_aggregates=True, modes=modes)
    jobs.runtime.analysis = counts
    job_id = str(jobs.sql("CREATE JOB j AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src").rows[0][0])
    jobs.runtime.analysis = replace(counts, sinks=(sink(location="file:/tables/out-7"),))
    assert "Updated" in str(
        jobs.reply("CREATE OR REPLACE JOB j AS INSERT OVERWRITE out SELECT count(1) FROM STREAM src")[1]
    )
    assert jobs.job(job_id).plan.analysis.sink.location == sink().location
    jobs.runtime.analysis = replace(counts, sinks=(sink(location="file:/tables/out-8", created=2),))
    jobs.sql("CREATE OR REPLACE JOB j AS INSERT OVERWRITE out SELECT count(2) FROM STREAM src")
    assert jobs.job(job_id).plan.analysis.sink.location == "file:/tables/out-8"
    jobs.runtime.analysis = replace(counts, sinks=(sink("other", location="file:/tables/other-2", created=2),))
    jobs.sql("CREATE OR REPLACE JOB j AS INSERT OVERWRITE other SELECT count(2) FROM STREAM src")
    assert jobs.job(job_id).plan.analysis.sink.location == "file:/tables/other-2"


def test_explain_of_a_job_without_batches_names_none(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    jobs.begin(UPDATE.replace("SELECT a ", "SELECT a, b "))
    assert "(committed so far: no batch)" in str(jobs.sql(f"EXPLAIN {UPDATE}").rows[0][0])


def test_explain_gives_the_verdict_and_does_nothing(jobs: JobsHarness) -> None:
    jobs.make()
    assert "Update:      possible: the job continues after" in str(jobs.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    jobs.runtime.analysis = analysis(sources=(source("other"),))
    assert "Update:      refused: the source" in str(jobs.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    assert "stop 1" not in jobs.runtime.calls


def test_explain_says_that_a_job_has_the_statement_already(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql(UPDATE)
    unchanged = "Update:      unchanged: the job has this statement, and is {}\n"
    assert unchanged.format("RUNNING") in str(jobs.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    jobs.sql("SUSPEND JOB j")
    assert unchanged.format("SUSPENDED") in str(jobs.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    assert jobs.job(job_id).run == 2


def test_old_version_continues_after_a_failed_copy(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.prepare_errors = [OSError("disk full")]
    error = jobs.error_of(UPDATE)
    assert error.condition == "JETSQL.UPDATE_FAILED" and "disk full" in error.message
    job = jobs.wait_run(job_id, 2)
    assert (job.version.checkpoint, job.body.text) == (0, body().text)


@pytest.mark.parametrize("heals", [True, False])
def test_failed_start_of_the_new_version_is_rolled_back(jobs: JobsHarness, heals: bool) -> None:
    job_id = jobs.make()
    jobs.runtime.start_errors = [OSError("no such column") if heals else ValueError("no such column")]
    error = jobs.error_of(UPDATE)
    assert error.condition == "JETSQL.UPDATE_FAILED" and "no such column" in error.message
    job = jobs.wait_run(job_id, 3)
    assert (job.version.checkpoint, job.body.text, job.rollback_version) == (0, body().text, None)
    assert 1 in jobs.runtime.discarded


def failed_on_trial(jobs: JobsHarness, held: bool | None) -> tuple[str, Future[Table]]:
    """Let a new version fail in its first batch, and return the job and the statement. held: the reply of the sink."""
    job_id = jobs.make()
    jobs.runtime.held, jobs.runtime.quiet = held, True
    updating = jobs.in_background(UPDATE)
    jobs.wait_run(job_id, 2)
    jobs.runtime.fail(job_id, Cause("the server is gone", "08001"))
    return job_id, updating


def test_new_version_with_a_written_batch_stays(jobs: JobsHarness) -> None:
    job_id, updating = failed_on_trial(jobs, held=True)
    job = jobs.wait_run(job_id, 3)
    assert (job.version.checkpoint, job.rollback_version) == (1, None)
    jobs.runtime.commit(job_id)
    assert updating.result(20).rows[0][2] == "RUNNING"


def test_unreachable_sink_suspends_a_version_on_trial(jobs: JobsHarness) -> None:
    job_id, updating = failed_on_trial(jobs, held=None)
    job = jobs.wait_status(job_id, Status.SUSPENDED)
    assert job.rollback_version is not None
    with raises(StatementError, match="SUSPENDED"):
        updating.result(20)
    jobs.runtime.quiet = False
    assert jobs.reply("RESUME JOB j")[0] == "RUNNING"
    assert jobs.job(job_id).version.checkpoint == 1


@pytest.mark.parametrize(("statement", "status"), [("SUSPEND JOB j", "SUSPENDED"), ("DROP JOB j", "DROPPED")])
def test_another_statement_ends_the_wait_of_an_update(jobs: JobsHarness, statement: str, status: str) -> None:
    jobs.make()
    jobs.runtime.hangs = True
    with jobs.runtime.gate("prepare_update") as opened:
        updating = jobs.in_background(UPDATE)
        jobs.runtime.wait_entered("prepare_update")
        opened.set()
        assert jobs.reply(statement)[0] == status
    with raises(StatementError, match=status):
        updating.result(20)


def test_a_suspended_job_is_updated_and_starts(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql("SUSPEND JOB j")
    assert jobs.reply(UPDATE)[0] == "RUNNING"
    assert jobs.job(job_id).version.checkpoint == 1
    jobs.sql("SUSPEND JOB j")
    jobs.runtime.prepare_errors = [OSError("disk full")]
    jobs.error_of(UPDATE.replace("SELECT a", "SELECT b"))
    assert jobs.job(job_id).status is Status.SUSPENDED


def test_rollback_stays_possible_without_new_rows(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.runtime.quiet = True
    updating = jobs.in_background(UPDATE)
    jobs.wait_run(job_id, 2)
    jobs.runtime.idle(job_id)
    assert "the old version is kept" in str(updating.result(20).rows[0][3])
    jobs.runtime.fail(job_id, Cause("1/0", "DIVIDE_BY_ZERO", retryable=False))
    assert jobs.wait_run(job_id, 3).version.checkpoint == 0


def test_engine_stopped_during_update_leaves_no_state_copy(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make()
        jobs.sql("SUSPEND JOB j")
        with jobs.runtime.gate("prepare_update"):
            jobs.in_background(UPDATE)
            jobs.runtime.wait_entered("prepare_update")
            closing = Thread(target=jobs.manager.close)
            closing.start()
            assert jobs.wait_status(job_id, Status.SUSPENDED).pending_version is None
        closing.join(20.0)
        assert jobs.runtime.discarded == [1]


def test_engine_killed_during_update_leaves_exactly_one_version(tmp_path: Path) -> None:
    engine = InMemoryRuntime()
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make()
        engine.quiet = True
        updating = jobs.in_background(UPDATE)
        jobs.wait_run(job_id, 2)
        on_trial = jobs.job(job_id)
    assert on_trial.rollback_version is not None
    with pytest.raises(Exception, match="closed"):
        updating.result(20)
    with run_manager(tmp_path, engine) as jobs:
        assert jobs.wait_run(job_id, 3).rollback_version is not None
        jobs.runtime.commit(job_id)
        assert jobs.wait_run(job_id, 3).version.checkpoint == 1


def test_initial_snapshot_for_a_live_job_is_refused(jobs: JobsHarness) -> None:
    jobs.make()
    jobs.sql("CREATE SNAPSHOT s FOR JOB j")
    text = "CREATE OR REPLACE JOB j OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT a FROM STREAM src"
    error = jobs.error_of(text)
    assert error.condition == "JETSQL.OPTION_NOT_CHANGEABLE"
    assert error.place is not None and error.place.start == text.index("'s'")
    assert error.explanation == (
        "Job j already exists and continues with its own state, so it cannot start from a snapshot."
        " Remove the option, use DROP JOB first, or use another name."
    )


def plan(of: Analysis | None = None, **options: str) -> Plan:
    statement_body = body()
    texts = tuple(option(key, value) for key, value in options.items())
    return make_plan(of or analysis(), parse_options(texts), statement_body.verb, None)


def counting(*operators: Operator, **changes: object) -> Analysis:
    modes = {OutputMode.APPEND: None, OutputMode.UPDATE: None, OutputMode.COMPLETE: None}
    return analysis(operators=operators, stateful=bool(operators), modes=modes, **changes)


def in_zone(zone: str) -> CapturedSession:
    return CapturedSession("spark_catalog", "default", {"spark.sql.session.timeZone": zone})


BATCH = analysis(streaming=False, modes={})
A, B, LIMIT = source("a"), source("b"), Operator("GlobalLimit", "5: int")
FOUR = {"spark.sql.shuffle.partitions": "4"}
TOKYO = {"spark.sql.session.timeZone": "Asia/Tokyo"}
FORMAT = {"spark.sql.streaming.aggregation.stateFormatVersion": "1"}

REFUSALS = [
    (plan(), plan(BATCH), "reads no stream"),
    (plan(BATCH), plan(), "a batch job runs once and keeps no state"),
    (plan(analysis(sources=(A,))), plan(analysis(sources=(B,))), "the source a (parquet) is removed"),
    (plan(analysis(sources=(A, B))), plan(analysis(sources=(B, A))), "the order of the sources differs"),
    (plan(analysis(sources=(A,))), plan(analysis(sources=(A, A))), "the number of reads of a source differs"),
    (plan(analysis(sources=(A,))), plan(analysis(sources=(source("a", format="json"),))), "a (json) is new"),
    (plan(), plan(analysis(sources=(source(location="file:/elsewhere"),))), "src before, file:/elsewhere now"),
    (plan(counting(COUNT)), plan(counting(SUM)), "sum(source0.b) replaced count(*) in the aggregate"),
    (plan(counting(COUNT)), plan(counting()), "the new query keeps none"),
    (plan(counting()), plan(counting(COUNT)), "would lack the rows"),
    (plan(counting(COUNT)), plan(counting(COUNT, session=in_zone("Asia/Tokyo"))), "from UTC to Asia/Tokyo"),
    (plan(counting(COUNT)), replace(plan(counting(COUNT)), output_mode=OutputMode.UPDATE), "from append to update"),
    (plan(), plan(processingGuarantee="none"), "from exactlyOnce to none"),
    (plan(counting(LIMIT)), plan(counting(LIMIT), **FOUR), "LIMIT"),
    (plan(counting(COUNT)), plan(counting(COUNT), **TOKYO), "from UTC to Asia/Tokyo"),
    (plan(counting(COUNT)), plan(counting(COUNT), **FORMAT), "from its default to 1"),
    (plan(counting(COUNT), **FORMAT), plan(counting(COUNT)), "from 1 to its default"),
]


@pytest.mark.parametrize(("old", "new", "reason"), REFUSALS)
def test_reasons_for_incompatible_state(old: Plan, new: Plan, reason: str) -> None:
    reasons = compare_plans(old, new).reasons
    assert reason in "; ".join(reasons)


def test_changes_with_compatible_state() -> None:
    recreated = compare_plans(
        plan(analysis(sources=(source(created=1),))), plan(analysis(sources=(source(created=2),)))
    )
    assert "was recreated" in recreated.changes[0]
    table = compare_plans(plan(), plan(analysis(sinks=(sink("other"),))))
    assert "new rows are written to other" in table.changes[0]
    spread = compare_plans(plan(counting(COUNT)), plan(counting(COUNT), **FOUR))
    assert spread.reasons == () and spread.changes == ("the state is repartitioned into 4 partitions",)
    assert compare_plans(plan(), replace(plan(), interval_millis=5)).reasons == ()


def test_an_engine_that_cannot_repartition_state_keeps_its_partitions() -> None:
    old, new = plan(counting(COUNT)), plan(counting(COUNT), **FOUR)
    assert compare_plans(old, new, "this Spark cannot").reasons == (
        "spark.sql.shuffle.partitions would change, and this Spark cannot",
    )
    assert compare_plans(old, old, "this Spark cannot") == StateCompatibility()
    assert compare_plans(plan(), plan(None, **FOUR), "this Spark cannot").reasons == ()


def test_job_setting_overrides_the_session_setting() -> None:
    moved = plan(counting(COUNT, session=in_zone("Europe/Berlin")), **TOKYO)
    assert compare_plans(plan(counting(COUNT), **TOKYO), moved) == StateCompatibility()


def test_a_column_named_after_a_limit_is_no_limit() -> None:
    counts = Operator("Aggregate", "source0.GlobalLimit: int; count(1): bigint")
    verdict = compare_plans(plan(counting(counts)), plan(counting(counts), **FOUR))
    assert verdict == StateCompatibility(changes=("the state is repartitioned into 4 partitions",))


def test_limit_of_a_complete_result_can_be_repartitioned() -> None:
    old, new = (replace(plan(counting(LIMIT), **given), output_mode=OutputMode.COMPLETE) for given in ({}, FOUR))
    assert compare_plans(old, new) == StateCompatibility(changes=("the state is repartitioned into 4 partitions",))


def test_a_version_is_stored_whole(jobs: JobsHarness) -> None:
    """Read from the store, and not from memory, everything that a way back needs."""
    job_id = jobs.make()
    jobs.runtime.quiet = True
    jobs.in_background(UPDATE)
    jobs.wait_run(job_id, 2)
    stored = jobs.store.job(job_id)
    assert isinstance(stored, Job) and stored.rollback_version is not None
    assert stored.rollback_version.body == body() and stored.rollback_version.plan.analysis == jobs.runtime.analysis


def test_every_failure_of_a_new_version_has_a_hint(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = jobs.make()
    monkeypatch.setattr(jobs.runtime, "cause_of", lambda error: Cause("The disk is full.", "DISK", hint="Make room."))
    jobs.runtime.prepare_errors = [OSError("28")]
    assert jobs.error_of(UPDATE).message.endswith("The disk is full. Make room.")
    jobs.wait_status(job_id, Status.RUNNING)  # the old version starts again, which the next error is not for
    jobs.runtime.start_errors = [OSError("28")]
    assert jobs.error_of(UPDATE).message.endswith("The disk is full. Make room.")
    jobs.wait_status(job_id, Status.RUNNING)
    messages = {str(row[1]): str(row[-1]) for row in jobs.sql("SHOW JOB HISTORY j").rows}
    for title in ("update abandoned", "new version failed", "update rolled back"):
        assert messages[title].endswith("The disk is full. Make room."), messages
    jobs.runtime.held, jobs.runtime.start_errors = None, [OSError("28")]
    jobs.error_of(UPDATE)
    assert "out: The disk is full. Make room. RESUME JOB" in jobs.store.history(job_id)[-1].message
