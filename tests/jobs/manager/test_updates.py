"""CREATE OR REPLACE JOB on a live job, with the in-memory engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

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
from tests.support.engines.in_memory_engine import InMemoryEngine, analysis, sink, source
from tests.support.engines.jobs_world import World, body, option, world
from tests.support.golden_reports import raises

UPDATE = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src"
COUNT = Operator("Aggregate", "source0.a: int; count(1): bigint")
SUM = Operator("Aggregate", "source0.a: int; sum(source0.b): bigint")


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_the_new_version_goes_on_where_the_old_one_stopped(w: World) -> None:
    job_id = w.make()
    status, message = w.said(UPDATE)
    assert status == "RUNNING"
    assert message == (
        "Updated. The job continues after the rows already read. The new version has committed its first batch."
    )
    job = w.job(job_id)
    assert (job.run, job.version.checkpoint, job.batch, job.rollback_version) == (2, 1, 1, None)
    assert "SELECT a" in str(w.sql("SHOW CREATE JOB j").rows[0][0])
    until(lambda: w.engine.discarded == [0])  # the statement does not wait for it
    calls = w.engine.calls
    assert calls.index("stop 1") < calls.index("prepare_update 1") < calls.index("start 2")


def test_the_same_statement_again_changes_nothing(w: World) -> None:
    job_id = w.make()
    w.sql(UPDATE)
    assert w.said(UPDATE) == ("RUNNING", "The job already has this statement; it continues.")
    assert w.job(job_id).run == 2


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
def test_only_a_job_of_an_earlier_release_with_windows_keeps_those_of_utc(
    w: World, before: str, now: str, local: bool
) -> None:
    job_id = str(w.row(f"CREATE JOB j AS INSERT INTO out SELECT a FROM STREAM {before}")["id"])
    w.engine.makes_local_windows = True
    w.sql(f"CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM {now}")
    assert w.job(job_id).plan.analysis.local_windows is local


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE JOB j AS\n  INSERT INTO out -- all rows\n  SELECT  a /* one */ FROM STREAM src",
        "create or replace job j as insert into out select a from stream src",
    ],
)
def test_white_space_comments_and_the_case_of_keywords_change_nothing(w: World, text: str) -> None:
    job_id = w.make()
    w.sql(UPDATE)
    assert verdict(w, text).kind is UpdateKind.UNCHANGED
    assert w.said(text) == ("RUNNING", "The job already has this statement; it continues.")
    assert w.job(job_id).run == 2


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT A FROM STREAM src",
        "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT /*+ REPARTITION(3) */ a FROM STREAM src",
        "CREATE OR REPLACE JOB j COMMENT 'c' AS INSERT INTO out SELECT a FROM STREAM src",
        "CREATE OR REPLACE JOB j OPTIONS ('restartAttempts' = '4') AS INSERT INTO out SELECT a FROM STREAM src",
    ],
)
def test_other_names_hints_comments_of_the_job_and_options_are_changes(w: World, text: str) -> None:
    w.make()
    w.sql(UPDATE)
    assert verdict(w, text).kind is UpdateKind.POSSIBLE


def test_the_order_of_options_is_no_change(w: World) -> None:
    options = ["'restartAttempts' = '4'", "'metricsEnabled' = 'false'"]
    texts = [UPDATE.replace(" AS ", f" OPTIONS ({', '.join(each)}) AS ") for each in (options, options[::-1])]
    w.sql(texts[0])
    assert verdict(w, texts[1]) == UpdateVerdict(UpdateKind.UNCHANGED, "the job has this statement, and is RUNNING")


def test_an_update_lists_the_options_that_it_changes(w: World) -> None:
    given = (
        "'snapshotIntervalMillis' = '300', 'processingGuarantee' = 'atLeastOnce', 'restartAttempts' = '3',"
        " 'spark.sql.x' = '5', 'spark.sql.key.password' = 'before'"
    )
    w.sql(UPDATE.replace(" AS ", f" OPTIONS ({given}) AS "))
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
    assert verdict(w, text).details.endswith("; t" + "; t".join(changes))
    assert ". T" + ". T".join(changes) + "." in w.said(text)[1]
    assert "option" not in w.said(text.replace("SELECT b", "SELECT c"))[1]


def test_an_update_lists_the_settings_of_the_session_that_it_changes(w: World) -> None:
    zone = "spark.sql.session.timeZone"
    w.engine.analysis = analysis(session=CapturedSession("spark_catalog", "default", {zone: "Europe/Berlin"}))
    w.sql(UPDATE)
    w.engine.analysis = analysis(session=CapturedSession("spark_catalog", "default", {zone: "UTC"}))
    change = f"session's setting '{zone}' changes from 'Europe/Berlin' to 'UTC'"
    assert change in verdict(w, UPDATE).details
    assert change in w.said(UPDATE)[1]


def test_a_completed_job_with_the_same_statement_has_nothing_to_do(w: World) -> None:
    w.engine.analysis = analysis(streaming=False)
    text = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM src"
    created, job = w.begin(text)
    w.engine.complete(job.id)
    assert created.result(10).rows[0][2] == Status.COMPLETED.value
    assert verdict(w, text).details == "the job had this statement, and has completed"
    assert "Update:" not in str(w.sql(f"EXPLAIN {text} WHERE a > 1").rows[0][0])


def test_a_job_that_exists_is_explained_with_its_initial_snapshot(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    text = UPDATE.replace(" AS ", " OPTIONS ('initialSnapshotName' = 's') AS ")
    assert verdict(w, text) == UpdateVerdict(
        UpdateKind.REFUSED, "the job continues with its own state, so it cannot start from a snapshot"
    )
    new = text.replace("JOB j", "JOB k").replace("INTO out", "INTO out2")
    w.sql(new)
    assert w.said(new) == ("RUNNING", "The job already has this statement; it continues.")


def verdict(w: World, text: str) -> UpdateVerdict:
    found = read_verdict(str(w.sql(f"EXPLAIN {text}").rows[0][0]))
    assert found is not None
    return found


def test_the_same_statement_of_a_release_with_another_wording_changes_nothing(w: World) -> None:
    job_id = w.make()
    w.sql(UPDATE)
    older = replace(w.job(job_id).plan, guarantee_reason="as an older release said it")
    w.manager.registry.put(JobView(w.job(job_id).with_plan(older)))
    assert w.said(UPDATE) == ("RUNNING", "The job already has this statement; it continues.")
    assert w.job(job_id).run == 2


def test_what_can_not_be_carried_over_is_refused_with_the_job_untouched(w: World) -> None:
    job_id = w.make()
    w.engine.analysis = analysis(sources=(source(), source("other")))
    error = w.refused(UPDATE)
    assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE" and "the source other (parquet) is new" in error.message
    assert error.place is not None and "stop 1" not in w.engine.calls
    assert w.job(job_id).status is Status.RUNNING and w.job(job_id).version.checkpoint == 0


def test_a_table_that_each_batch_replaces_may_have_moved(w: World) -> None:
    modes = {OutputMode.COMPLETE: None}
    counts = analysis(operators=(COUNT,), stateful=True, has_aggregates=True, modes=modes)
    w.engine.analysis = counts
    job_id = str(w.sql("CREATE JOB j AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src").rows[0][0])
    w.engine.analysis = replace(counts, sink=sink(location="file:/tables/out-7"))
    assert "Updated" in str(
        w.said("CREATE OR REPLACE JOB j AS INSERT OVERWRITE out SELECT count(1) FROM STREAM src")[1]
    )
    assert w.job(job_id).plan.analysis.sink.location == sink().location
    w.engine.analysis = replace(counts, sink=sink(location="file:/tables/out-8", created=2))
    w.sql("CREATE OR REPLACE JOB j AS INSERT OVERWRITE out SELECT count(2) FROM STREAM src")
    assert w.job(job_id).plan.analysis.sink.location == "file:/tables/out-8"
    w.engine.analysis = replace(counts, sink=sink("other", location="file:/tables/other-2", created=2))
    w.sql("CREATE OR REPLACE JOB j AS INSERT OVERWRITE other SELECT count(2) FROM STREAM src")
    assert w.job(job_id).plan.analysis.sink.location == "file:/tables/other-2"


def test_explain_names_no_batch_of_a_job_that_has_committed_none(w: World) -> None:
    w.engine.quiet = True
    w.begin(UPDATE.replace("SELECT a ", "SELECT a, b "))
    assert "(committed so far: no batch)" in str(w.sql(f"EXPLAIN {UPDATE}").rows[0][0])


def test_explain_gives_the_verdict_and_does_nothing(w: World) -> None:
    w.make()
    assert "Update:      possible: the job continues after" in str(w.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    w.engine.analysis = analysis(sources=(source("other"),))
    assert "Update:      refused: the source" in str(w.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    assert "stop 1" not in w.engine.calls


def test_explain_says_that_a_job_has_the_statement_already(w: World) -> None:
    job_id = w.make()
    w.sql(UPDATE)
    unchanged = "Update:      unchanged: the job has this statement, and is {}\n"
    assert unchanged.format("RUNNING") in str(w.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    w.sql("SUSPEND JOB j")
    assert unchanged.format("SUSPENDED") in str(w.sql(f"EXPLAIN {UPDATE}").rows[0][0])
    assert w.job(job_id).run == 2


def test_when_the_copy_fails_the_old_version_goes_on(w: World) -> None:
    job_id = w.make()
    w.engine.prepare_errors = [OSError("disk full")]
    error = w.refused(UPDATE)
    assert error.condition == "JETSQL.UPDATE_FAILED" and "disk full" in error.message
    job = w.wait_run(job_id, 2)
    assert (job.version.checkpoint, job.body.text) == (0, body().text)


@pytest.mark.parametrize("heals", [True, False])
def test_when_the_new_version_does_not_start_the_old_one_comes_back(w: World, heals: bool) -> None:
    job_id = w.make()
    w.engine.start_errors = [OSError("no such column") if heals else ValueError("no such column")]
    error = w.refused(UPDATE)
    assert error.condition == "JETSQL.UPDATE_FAILED" and "no such column" in error.message
    job = w.wait_run(job_id, 3)
    assert (job.version.checkpoint, job.body.text, job.rollback_version) == (0, body().text, None)
    assert 1 in w.engine.discarded


def failed_on_trial(w: World, held: bool | None) -> tuple[str, Future[Table]]:
    """A new version has failed in its first batch. held: what the sink says of it. The job and the statement."""
    job_id = w.make()
    w.engine.held, w.engine.quiet = held, True
    updating = w.in_background(UPDATE)
    w.wait_run(job_id, 2)
    w.engine.fail(job_id, Cause("the server is gone", "08001"))
    return job_id, updating


def test_when_its_batch_is_in_the_sink_the_new_version_stays(w: World) -> None:
    job_id, updating = failed_on_trial(w, held=True)
    job = w.wait_run(job_id, 3)
    assert (job.version.checkpoint, job.rollback_version) == (1, None)
    w.engine.commit(job_id)
    assert updating.result(20).rows[0][2] == "RUNNING"


def test_when_the_sink_can_not_be_asked_a_person_decides(w: World) -> None:
    job_id, updating = failed_on_trial(w, held=None)
    job = w.wait_status(job_id, Status.SUSPENDED)
    assert job.rollback_version is not None
    with raises(StatementError, match="SUSPENDED"):
        updating.result(20)
    w.engine.quiet = False
    assert w.said("RESUME JOB j")[0] == "RUNNING"
    assert w.job(job_id).version.checkpoint == 1


@pytest.mark.parametrize(("statement", "status"), [("SUSPEND JOB j", "SUSPENDED"), ("DROP JOB j", "FAILED")])
def test_a_statement_that_comes_between_ends_what_an_update_waits_for(w: World, statement: str, status: str) -> None:
    w.make()
    w.engine.hangs = True
    with w.engine.gate("prepare_update") as opened:
        updating = w.in_background(UPDATE)
        w.engine.wait_entered("prepare_update")
        opened.set()
        assert w.said(statement)[0] == status
    with raises(StatementError, match=status):
        updating.result(20)


def test_a_suspended_job_is_updated_and_starts(w: World) -> None:
    job_id = w.make()
    w.sql("SUSPEND JOB j")
    assert w.said(UPDATE)[0] == "RUNNING"
    assert w.job(job_id).version.checkpoint == 1
    w.sql("SUSPEND JOB j")
    w.engine.prepare_errors = [OSError("disk full")]
    w.refused(UPDATE.replace("SELECT a", "SELECT b"))
    assert w.job(job_id).status is Status.SUSPENDED


def test_nothing_to_read_leaves_the_way_back_open(w: World) -> None:
    job_id = w.make()
    w.engine.quiet = True
    updating = w.in_background(UPDATE)
    w.wait_run(job_id, 2)
    w.engine.idle(job_id)
    assert "the old version is kept" in str(updating.result(20).rows[0][3])
    w.engine.fail(job_id, Cause("1/0", "DIVIDE_BY_ZERO", retryable=False))
    assert w.wait_run(job_id, 3).version.checkpoint == 0


def test_an_engine_that_ends_in_an_update_leaves_no_copy_of_the_state(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        job_id = w.make()
        w.sql("SUSPEND JOB j")
        with w.engine.gate("prepare_update"):
            w.in_background(UPDATE)
            w.engine.wait_entered("prepare_update")
            closing = Thread(target=w.manager.close)
            closing.start()
            assert w.wait_status(job_id, Status.SUSPENDED).pending_version is None
        closing.join(20.0)
        assert w.engine.discarded == [1]


def test_an_engine_that_dies_in_an_update_leaves_one_version_or_the_other(tmp_path: Path) -> None:
    engine = InMemoryEngine()
    with world(tmp_path, engine) as w:
        job_id = w.make()
        engine.quiet = True
        updating = w.in_background(UPDATE)
        w.wait_run(job_id, 2)
        on_trial = w.job(job_id)
    assert on_trial.rollback_version is not None
    with pytest.raises(Exception, match="closed"):
        updating.result(20)
    with world(tmp_path, engine) as w:
        assert w.wait_run(job_id, 3).rollback_version is not None
        w.engine.commit(job_id)
        assert w.wait_run(job_id, 3).version.checkpoint == 1


def test_a_live_job_does_not_take_a_snapshot_for_its_state(w: World) -> None:
    w.make()
    w.sql("CREATE SNAPSHOT s FOR JOB j")
    text = "CREATE OR REPLACE JOB j OPTIONS ('initialSnapshotName'='s') AS INSERT INTO out SELECT a FROM STREAM src"
    error = w.refused(text)
    assert error.condition == "JETSQL.OPTION_NOT_CHANGEABLE"
    assert error.place is not None and error.place.start == text.index("'s'")
    assert error.explanation == (
        "Job j already exists and continues with its own state, so it cannot start from a snapshot."
        " Remove the option, use DROP JOB first, or use another name."
    )


def plan(of: Analysis | None = None, **options: str) -> Plan:
    made = body()
    texts = tuple(option(key, value) for key, value in options.items())
    return make_plan(of or analysis(), parse_options(texts), made.verb, None)


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
def test_why_state_can_not_go_on(old: Plan, new: Plan, reason: str) -> None:
    reasons = compare_plans(old, new).reasons
    assert reason in "; ".join(reasons)


def test_what_changes_though_the_state_goes_on() -> None:
    anew = compare_plans(plan(analysis(sources=(source(created=1),))), plan(analysis(sources=(source(created=2),))))
    assert "was recreated" in anew.changes[0]
    table = compare_plans(plan(), plan(analysis(sink=sink("other"))))
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
    assert compare_plans(plan(), plan(**FOUR), "this Spark cannot").reasons == ()


def test_a_setting_of_the_job_counts_before_that_of_its_session() -> None:
    moved = plan(counting(COUNT, session=in_zone("Europe/Berlin")), **TOKYO)
    assert compare_plans(plan(counting(COUNT), **TOKYO), moved) == StateCompatibility()


def test_a_column_named_after_a_limit_is_no_limit() -> None:
    counts = Operator("Aggregate", "source0.GlobalLimit: int; count(1): bigint")
    verdict = compare_plans(plan(counting(counts)), plan(counting(counts), **FOUR))
    assert verdict == StateCompatibility(changes=("the state is repartitioned into 4 partitions",))


def test_a_limit_of_a_result_that_is_given_out_whole_can_be_spread() -> None:
    old, new = (replace(plan(counting(LIMIT), **given), output_mode=OutputMode.COMPLETE) for given in ({}, FOUR))
    assert compare_plans(old, new) == StateCompatibility(changes=("the state is repartitioned into 4 partitions",))


def test_a_version_is_stored_whole(w: World) -> None:
    """Read from the store, and not from memory, everything that a way back needs."""
    job_id = w.make()
    w.engine.quiet = True
    w.in_background(UPDATE)
    w.wait_run(job_id, 2)
    stored = w.store.job(job_id)
    assert isinstance(stored, Job) and stored.rollback_version is not None
    assert stored.rollback_version.body == body() and stored.rollback_version.plan.analysis == w.engine.analysis


def test_what_to_do_is_said_wherever_a_new_version_fails(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = w.make()
    monkeypatch.setattr(w.engine, "cause_of", lambda error: Cause("The disk is full.", "DISK", hint="Make room."))
    w.engine.prepare_errors = [OSError("28")]
    assert w.refused(UPDATE).message.endswith("The disk is full. Make room.")
    w.wait_status(job_id, Status.RUNNING)  # the old version starts again, which the next error is not for
    w.engine.start_errors = [OSError("28")]
    assert w.refused(UPDATE).message.endswith("The disk is full. Make room.")
    w.wait_status(job_id, Status.RUNNING)
    told = {str(row[1]): str(row[-1]) for row in w.sql("SHOW JOB HISTORY j").rows}
    for title in ("update abandoned", "new version failed", "update rolled back"):
        assert told[title].endswith("The disk is full. Make room."), told
    w.engine.held, w.engine.start_errors = None, [OSError("28")]
    w.refused(UPDATE)
    assert "out: The disk is full. Make room. RESUME JOB" in w.store.history(job_id)[-1].message
