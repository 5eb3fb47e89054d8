"""The statements' results and waiting, with the in-memory engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.events import Step, UserEvent
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.body_analysis import Operator, OutputMode, Replay, SinkKind
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.statements.lookup import like_pattern
from jetsql.jobs.statements.statement_table import columns
from jetsql.language import parse
from jetsql.resultset import Column, Table
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import QUICK, JobsHarness, create, run_manager

BODY = "INSERT INTO out SELECT * FROM STREAM src"
CREATE = f"CREATE JOB j AS {BODY}"
SQLITE = sqlite3.connect(":memory:")
FATAL_ERROR = Cause("division by zero", "DIVIDE_BY_ZERO", retryable=False)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def column(table: Table, name: str) -> list[object]:
    at = [column.name for column in table.columns].index(name)
    return [row[at] for row in table.rows]


def facts(table: Table) -> dict[str, object]:
    return {str(row[0]): row[1] for row in table.rows}


# --- SHOW JOBS -------------------------------------------------------------------------------------------------------


def test_show_jobs_lists_live_ones_newest_first(jobs: JobsHarness) -> None:
    for job in ("a1", "b1", "a2"):
        jobs.sql(f"CREATE JOB {job} AS {BODY}")
    jobs.sql("DROP JOB b1")
    jobs.sql("SUSPEND JOB a1")
    assert column(jobs.sql("SHOW JOBS"), "name") == ["a2", "a1"]
    every = jobs.sql("SHOW ALL JOBS")
    assert column(every, "name") == ["a2", "b1", "a1"]
    assert column(every, "status") == ["RUNNING", "DROPPED", "SUSPENDED"]
    assert column(every, "last_error") == [None, "cancelled by user", None]
    assert column(every, "delivery") == ["exactly once"] * 3
    assert column(every, "rows_per_second") == [10.0, None, None]
    assert column(jobs.sql("SHOW ALL JOBS LIKE 'A%'"), "name") == ["a2", "a1"]
    assert [column.name for column in every.columns] == [
        "id", "name", "status", "submission_time", "delivery", "rows_per_second", "lag", "last_error",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("a%", "ABC", True), ("a_c", "abc", True), ("a_c", "abbc", False), ("*b*", "abc", True),
        ("a|abc", "abc", True), ("a%b_%c|x", "aabbbcc", True), ("a%%b%b", "ab", False),
        ("%a%b", "xab" * 9, True), ("a.c", "abc", False), ("abc", "abcd", False), ("(", "(", True), ("%", "", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, name: str, matches: bool) -> None:
    assert bool(like_pattern(pattern).fullmatch(name)) is matches


def test_many_wildcards_do_not_search_in_every_way() -> None:
    assert not like_pattern("%a" * 50 + "%b").fullmatch("a" * 5_000)  # for ever if each `%` tried each place


@given(st.text("ab_%", max_size=8), st.text("ab", max_size=9))
def test_wildcards_match_as_those_of_sqlite(pattern: str, name: str) -> None:
    [(expected,)] = SQLITE.execute("SELECT ? LIKE ?", (name, pattern))
    assert bool(like_pattern(pattern).fullmatch(name)) is bool(expected)


def test_snapshots_are_listed_newest_first(jobs: JobsHarness) -> None:
    first, second = jobs.make("first"), jobs.make("second")
    jobs.sql("CREATE SNAPSHOT a FOR JOB first")
    jobs.sql("CREATE SNAPSHOT b FOR JOB second")
    assert [column.name for column in columns_of("SHOW SNAPSHOTS")] == [
        "name", "job", "job_id", "batch", "size_bytes", "owner", "created", "age_seconds", "statement",
    ]  # fmt: skip
    shown = jobs.sql("SHOW SNAPSHOTS")
    assert column(shown, "name") == ["b", "a"] and column(shown, "job_id") == [second, first]
    assert column(shown, "batch") == [0, 0] and column(shown, "size_bytes") == [1000, 1000]
    assert column(shown, "statement") == ["INSERT INTO out SELECT * FROM STREAM src"] * 2
    assert column(jobs.sql("SHOW SNAPSHOTS FOR JOB first"), "name") == ["a"]
    jobs.error_of("SHOW SNAPSHOTS FOR JOB third")


def columns_of(text: str) -> tuple[Column, ...]:
    statement = parse(text)
    assert statement is not None
    return columns(statement)


# --- lookup of jobs --------------------------------------------------------------------------------------------------


def test_name_finds_the_live_or_newest_ended_job(jobs: JobsHarness) -> None:
    first = jobs.make("Flüge")
    assert facts(jobs.sql("DESCRIBE JOB `FLÜGE`"))["id"] == first
    jobs.sql("DROP JOB `flüge`")
    second = jobs.make("flüge")
    assert facts(jobs.sql("DESCRIBE JOB `Flüge`"))["id"] == second
    jobs.sql("DROP JOB `flüge`")
    assert facts(jobs.sql("DESCRIBE JOB `Flüge`"))["id"] == second
    assert facts(jobs.sql(f"DESCRIBE JOB '{first.upper()}'"))["name"] == "Flüge"


@pytest.mark.parametrize(
    "statement",
    ["SUSPEND JOB {}", "RESUME JOB {}", "RESTART JOB {}", "DROP JOB {}", "WAIT FOR JOB {}", "DESCRIBE JOB {}",
     "SHOW CREATE JOB {}", "SHOW JOB HISTORY {}", "SHOW SNAPSHOTS FOR JOB {}",
     "ALTER JOB {} OPTIONS ('trigger'='interval')"],
)  # fmt: skip
def test_a_missing_job_is_an_error_at_its_name(jobs: JobsHarness, statement: str) -> None:
    jobs.make("delays")
    text = statement.format("`deleys`")
    error = jobs.error_of(text)
    assert error.condition == "JETSQL.JOB_NOT_FOUND"
    assert error.hint == "Did you mean delays?"
    assert error.place is not None and text[error.place.start : error.place.stop] == "`deleys`"
    other = jobs.error_of(statement.format("'0000-0000-0000-0001'"))
    assert other.condition == "JETSQL.JOB_NOT_FOUND" and other.place is not None


# --- CREATE JOB ------------------------------------------------------------------------------------------------------


def test_a_name_that_is_taken_is_refused_at_the_name(jobs: JobsHarness) -> None:
    jobs.sql(CREATE)
    text = f"CREATE JOB `J` AS {BODY}"
    error = jobs.error_of(text)
    assert error.condition == "JETSQL.JOB_ALREADY_EXISTS"
    assert error.place is not None and text[error.place.start : error.place.stop] == "`J`"
    assert "CREATE OR REPLACE JOB" in error.hint
    assert column(jobs.sql("SHOW ALL JOBS"), "status") == ["RUNNING"]
    assert jobs.reply(f"CREATE OR REPLACE JOB k AS {BODY}")[0] == "RUNNING"


def test_if_not_exists_says_what_differs(jobs: JobsHarness) -> None:
    jobs.sql(f"CREATE JOB j COMMENT 'c' OPTIONS ('restartAttempts'='4', 'spark.x.password'='a1b2') AS {BODY}")
    same = "OPTIONS ('spark.x.password'='a1b2', 'RESTART_ATTEMPTS'='04')"
    reply = jobs.reply(f"CREATE JOB IF NOT EXISTS J COMMENT 'c' {same} AS\n {BODY}")
    assert reply == ("RUNNING", "A job with this name already exists. It is the same.")
    other = "OPTIONS ('trigger'='interval', 'spark.x.password'='zzz')"
    assert jobs.reply(f"CREATE JOB IF NOT EXISTS j {other} AS INSERT INTO out SELECT 1")[1] == (
        "A job with this name already exists. Its statement after AS differs: see SHOW CREATE JOB. "
        "Its comment differs. Its option 'restartAttempts' is '4'; in this statement it is not set. "
        "Its option 'spark.x.password' has another value. "
        "Its option 'trigger' is not set; in this statement it is 'interval'."
    )
    assert len(jobs.sql("SHOW ALL JOBS").rows) == 1


@pytest.mark.parametrize(
    ("options", "condition", "at"),
    [
        ("'restartAtempts'='1'", "UNKNOWN_OPTION", "'restartAtempts'"),
        ("'trigger'='once'", "INVALID_OPTION_VALUE", "'once'"),
        ("'autoScaling'='true', 'auto_scaling'='true'", "DUPLICATE_OPTION", "'auto_scaling'"),
        ("'outputMode'='complete'", "NO_OUTPUT_MODE", "'complete'"),
        ("'trigger'='realTime'", "TRIGGER_NOT_POSSIBLE", "'realTime'"),
        ("'initialSnapshotName'='s'", "SNAPSHOT_NOT_FOUND", "'s'"),
        ("'spark.sql.adaptive.enabled'='true'", "OPTION_NOT_CHANGEABLE", "'spark.sql.adaptive.enabled'"),
    ],
)
def test_bad_options_are_refused_at_their_literal(jobs: JobsHarness, options: str, condition: str, at: str) -> None:
    text = f"CREATE JOB j OPTIONS ({options}) AS {BODY}"
    error = jobs.error_of(text)
    assert error.condition == f"JETSQL.{condition}"
    assert error.place is not None and text[error.place.start : error.place.stop] == at
    assert jobs.sql("SHOW ALL JOBS").rows == ()


# --- ALTER JOB OPTIONS -----------------------------------------------------------------------------------------------


def test_options_change_while_suspended(jobs: JobsHarness) -> None:
    jobs.sql(f"CREATE JOB j OPTIONS ('restartAttempts'='1', 'trigger'='interval') AS {BODY}")
    jobs.sql("SUSPEND JOB j")
    changed = jobs.reply("ALTER JOB j OPTIONS ('RESTART_ATTEMPTS'='7', 'spark.sql.caseSensitive'='true')")
    assert changed == ("SUSPENDED", "Options changed. They apply from the next RESUME JOB.")
    shown = facts(jobs.sql("DESCRIBE JOB j"))
    assert shown["option restartAttempts"] == "7" and shown["option trigger"] == "interval"
    assert jobs.reply("ALTER JOB j OPTIONS ('snapshotIntervalMillis'='50') RESUME") == (
        "RUNNING", "Options changed; resumed.",
    )  # fmt: skip
    plan = jobs.manager.registry.live()[0].job.plan
    assert (plan.interval_millis, plan.options.restart_attempts) == (50, 7)
    assert plan.options.spark_confs == {"spark.sql.caseSensitive": "true"}


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ("'processingGuarantee'='none'", "'processingGuarantee'"),
        ("'initial_snapshot_name'='s'", "'initial_snapshot_name'"),
        ("'spark.sql.shuffle.partitions'='9'", "'spark.sql.shuffle.partitions'"),
    ],
)
def test_options_that_never_change(tmp_path: Path, options: str, at: str) -> None:
    with run_manager(tmp_path, InMemoryRuntime(analysis(stateful=True))) as jobs:
        jobs.sql(f"CREATE JOB j OPTIONS ('spark.sql.shuffle.partitions'='2') AS {BODY}")
        jobs.sql("SUSPEND JOB j")
        text = f"ALTER JOB j OPTIONS ({options})"
        error = jobs.error_of(text)
        assert error.condition == "JETSQL.OPTION_NOT_CHANGEABLE"
        assert error.place is not None and text[error.place.start : error.place.stop] == at


def test_a_change_to_real_time_is_tried_first(tmp_path: Path) -> None:
    kafka = sink("db.topic", kind=SinkKind.KAFKA, provider="kafka")
    engine = InMemoryRuntime(analysis(sources=(source(format="kafka"),), sinks=(kafka,)))
    with run_manager(tmp_path, engine) as jobs:
        jobs.sql(f"CREATE JOB j AS {BODY}")
        jobs.sql("SUSPEND JOB j")
        engine.no_real_time = StatementError("TRIGGER_NOT_POSSIBLE", "It needs 8 cores.")
        text = "ALTER JOB j OPTIONS ('trigger'='realTime')"
        error = jobs.error_of(text)
        assert error.place is not None and text[error.place.start : error.place.stop] == "'realTime'"
        engine.no_real_time = None
        jobs.sql(text)
        assert jobs.manager.registry.live()[0].job.plan.options.trigger is Trigger.REAL_TIME
        engine.calls.clear()
        jobs.sql(f"CREATE OR REPLACE JOB j OPTIONS ('trigger'='realTime') AS {BODY}, dim")
        assert "check_real_time 1" in engine.calls


@pytest.mark.parametrize(
    ("options", "cores", "note"),
    [
        (
            "'processingGuarantee' = 'atLeastOnce'",
            2,
            "With 'trigger' = 'realTime', the job would write each row when it arrives, also at least once. It would"
            " permanently occupy 2 cores of the engine.",
        ),
        (
            "'processingGuarantee' = 'atLeastOnce', 'snapshotIntervalMillis' = '1'",
            1,
            "With 'trigger' = 'realTime' and without 'snapshotIntervalMillis', the job would write each row when it"
            " arrives, also at least once. It would permanently occupy 1 core of the engine.",
        ),
        ("'processingGuarantee' = 'atLeastOnce'", None, ""),
        ("'processingGuarantee' = 'exactlyOnce'", 2, ""),
        ("'processingGuarantee' = 'atLeastOnce', 'trigger' = 'interval'", 2, ""),
    ],
)
def test_statements_name_real_time_where_it_is_possible(
    tmp_path: Path, options: str, cores: int | None, note: str
) -> None:
    kafka = sink("db.topic", kind=SinkKind.KAFKA, provider="kafka")
    engine = InMemoryRuntime(analysis(sources=(source(format="kafka"),), sinks=(kafka,)), real_time_cores=cores)
    with run_manager(tmp_path, engine) as jobs:
        create = f"CREATE JOB j OPTIONS ({options}) AS {BODY}"
        plan, message = str(jobs.sql(f"EXPLAIN {create}").rows[0][0]), jobs.reply(create)[1]
        assert f"Note:        {note}\n" in plan if note else "realTime" not in plan
        assert note in message if note else "realTime" not in message


def test_change_with_incompatible_state_is_refused(tmp_path: Path) -> None:
    of = analysis(stateful=True, has_aggregates=True, modes=dict.fromkeys(OutputMode))
    with run_manager(tmp_path, InMemoryRuntime(of)) as jobs:
        jobs.sql(f"CREATE JOB j OPTIONS ('outputMode'='append') AS {BODY.replace('INSERT', 'SINK')}")
        jobs.sql("SUSPEND JOB j")
        text = "ALTER JOB j OPTIONS ('outputMode'='update')"
        error = jobs.error_of(text)
        assert error.condition == "JETSQL.OPTION_NOT_CHANGEABLE" and "from append to update" in error.message
        assert error.place is not None and text[error.place.start : error.place.stop] == "'update'"


# --- DESCRIBE, SHOW CREATE, HISTORY, EXPLAIN -------------------------------------------------------------------------


def test_describe_shows_everything(jobs: JobsHarness) -> None:
    job_id = jobs.make("j", {"trigger": "interval"}, comment="delays by carrier")
    shown = facts(jobs.sql("DESCRIBE JOB j"))
    assert (shown["id"], shown["status"], shown["comment"]) == (job_id, "RUNNING", "delays by carrier")
    assert shown["delivery"] == (
        "exactly once: all sources can be replayed; each batch is staged and moved into the table exactly once"
    )
    assert shown["trigger"] == "interval: every 10000 ms"
    assert shown["statement"] == BODY
    more = facts(jobs.sql("DESCRIBE JOB EXTENDED j"))
    assert more.items() >= shown.items()
    assert more["session spark.sql.session.timeZone"] == "UTC"
    assert more["fingerprint 1"] == "source 0: parquet spark_catalog.default.src file:/tables/spark_catalog.default.src"
    assert (more["run"], more["newest batch"], more["version of spark"]) == ("1", "0", "0")


def test_describe_has_no_newest_batch_before_the_first(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    creating, job = jobs.begin(f"CREATE JOB j AS {BODY}")
    jobs.runtime.idle(job.id)
    creating.result(20)
    assert facts(jobs.sql("DESCRIBE JOB EXTENDED j"))["newest batch"] is None


def test_show_create_job_makes_the_same_job_again(jobs: JobsHarness) -> None:
    jobs.sql(
        "CREATE /* x */ JOB `my ``job``` COMMENT 'it''s\\n\\\\ \\'q\\'' "
        "OPTIONS ('RESTART_ATTEMPTS' = '2', 'spark.a' = 'b\\\\c') "
        f"AS -- now\n {BODY} WHERE a = 'x\\'y' /* end */;"
    )
    jobs.sql("SUSPEND JOB `my ``job```")
    jobs.sql("ALTER JOB `my ``job``` OPTIONS ('restartAttempts'='5')")
    before = jobs.manager.registry.live()[0].job
    (text,) = jobs.sql("SHOW CREATE JOB `my ``job```").rows[0]
    assert "'restartAttempts' = '5'" in str(text)
    jobs.sql("DROP JOB `my ``job```")
    jobs.sql(str(text))
    again = jobs.manager.registry.live()[0].job
    assert (again.name, again.version.comment, again.plan) == (before.name, before.version.comment, before.plan)
    assert again.body.text == before.body.text


def test_show_create_job_hides_secrets_and_says_so(jobs: JobsHarness) -> None:
    jobs.make("j", {"spark.x.password": "geheim", "spark.x.token": "secret:env:TOKEN"})
    text = str(jobs.sql("SHOW CREATE JOB j").rows[0][0])
    assert text.startswith("-- Secrets are shown as ***: insert them before you run this statement.\nCREATE JOB `j`")
    assert "'spark.x.password' = '***'" in text and "'secret:env:TOKEN'" in text


def test_history_is_shown_in_words(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    jobs.sql("SUSPEND JOB j")
    jobs.sql("RESUME JOB j")
    jobs.runtime.fail(job_id, FATAL_ERROR)
    jobs.wait_status(job_id, Status.SUSPENDED)
    jobs.sql("DROP JOB j")
    table = jobs.sql("SHOW JOB HISTORY j")
    wanted = ["submitted", "suspend requested", "suspended", "resumed", "suspended by an error", "dropped"]
    assert [event for event in column(table, "event") if event in wanted] == wanted
    assert column(table, "from_status")[0] is None
    for before, after in zip(column(table, "to_status"), column(table, "from_status")[1:], strict=False):
        assert before == after
    assert any(
        "The run failed: division by zero. A restart cannot fix this error." in str(m) for m in column(table, "message")
    )
    times = [float(str(value)) for value in column(table, "time")]
    assert times == sorted(times)


def test_explain_shows_the_plan_and_creates_nothing(jobs: JobsHarness) -> None:
    counts = analysis(
        has_aggregates=True, stateful=True, waits_for_watermark=False, operators=(Operator("Aggregate", "by carrier"),),
        sinks=(sink("db.t", kind=SinkKind.JDBC, provider="jdbc", key_columns=("carrier",)),),
        modes={OutputMode.APPEND: "not without a watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None},
    )  # fmt: skip
    jobs.runtime.analysis = counts
    counting = "SINK INTO t SELECT carrier, count(*) FROM STREAM f GROUP BY 1"
    (row,) = jobs.sql(f"EXPLAIN FORMATTED CREATE JOB j AS {counting}").rows
    text = str(row[0])
    for part in (
        "Job:         streaming", "Source:      spark_catalog.default.src (parquet", "rows are updated by carrier",
        "Delivery:    exactly once: ", "Trigger:     interval: every 1000 ms", "Output mode: update",
        "State:       state 0: Aggregate; by carrier", "== Formatted Physical Plan ==",
    ):  # fmt: skip
        assert part in text
    assert jobs.sql("SHOW ALL JOBS").rows == ()
    assert "NO_OUTPUT_MODE" in jobs.error_of(f"EXPLAIN CREATE JOB j AS {BODY}").condition


# --- WAIT FOR JOB ----------------------------------------------------------------------------------------------------


def waiting(jobs: JobsHarness, text: str) -> object:
    """Begin a statement that waits, and return it when it watches its job."""
    with jobs.runtime.gate("watch"):
        result = jobs.in_background(text)
        jobs.runtime.wait_entered("watch")
    return result


def test_wait_for_a_batch(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    assert jobs.reply("WAIT FOR JOB j") == ("RUNNING", "Batch 0 is committed.")
    result = jobs.in_background("WAIT FOR JOB j UNTIL BATCH 2")
    jobs.runtime.commit(job_id)
    jobs.runtime.commit(job_id)
    assert result.result(20).rows[0][2:] == ("RUNNING", "Batch 2 is committed.")


def test_wait_until_idle_ends_with_a_batch_that_began_later(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    result = waiting(jobs, "WAIT FOR JOB j UNTIL IDLE")
    jobs.runtime.commit(job_id)
    assert result.result(20).rows[0][3] == "Batch 1 is committed."  # type: ignore[attr-defined]


@pytest.mark.parametrize("restarted", [False, True])
def test_wait_until_idle_uses_no_clock(tmp_path: Path, restarted: bool) -> None:
    """Set the clock back: the newest trigger is in the future, and has not seen the newest rows."""
    now = [10_000.0]
    with run_manager(tmp_path, clock=lambda: now[0]) as jobs:
        job_id = jobs.make()
        jobs.runtime.commit(job_id, trigger_time=10_000.0)
        jobs.runtime.idle(job_id, trigger_time=10_000.0)
        jobs.manager.view_after_pending_events(jobs.job(job_id))
        now[0] = 500.0
        if restarted:
            jobs.runtime.quiet = True
            jobs.sql("RESTART JOB j")
        error = jobs.error_of("WAIT FOR JOB j UNTIL IDLE TIMEOUT 0 SECONDS")
        assert (error.condition, "RESTART JOB" in error.hint) == ("JETSQL.WAIT_TIMEOUT", True)
        assert jobs.manager.workers.wait_for_job(job_id, 20)
        result = waiting(jobs, "WAIT FOR JOB j UNTIL IDLE")
        jobs.runtime.idle(job_id, trigger_time=499.0)
        assert result.result(20).rows[0][3].startswith("Batch")  # type: ignore[attr-defined]


def test_run_started_during_a_wait_needs_one_trigger(jobs: JobsHarness) -> None:
    jobs.make()
    result = waiting(jobs, "WAIT FOR JOB j UNTIL IDLE")
    jobs.sql("RESTART JOB j")  # the run commits a batch when it starts
    assert result.result(20).rows[0][2] == "RUNNING"  # type: ignore[attr-defined]


def test_wait_until_idle_of_a_source_that_never_is(tmp_path: Path) -> None:
    rate = source("rate", replay=Replay.BY_CLOCK, endless=True)
    with run_manager(tmp_path, InMemoryRuntime(analysis(sources=(rate, source()), waits_for_watermark=True))) as jobs:
        job_id = jobs.make()
        result = waiting(jobs, "WAIT FOR JOB j UNTIL IDLE")
        jobs.runtime.commit(job_id)
        assert result.result(20).rows[0][2] == "RUNNING"  # type: ignore[attr-defined]


def test_wait_until_idle_outlives_a_restart(jobs: JobsHarness) -> None:
    job_id = jobs.make()
    result = waiting(jobs, "WAIT FOR JOB j UNTIL IDLE")
    jobs.runtime.quiet = True  # otherwise the first batch of the new run can end the wait before it watches the run
    del jobs.runtime.gates["watch"]
    with jobs.runtime.gate("watch"):
        jobs.sql("RESTART JOB j")
        jobs.runtime.wait_entered("watch")
    jobs.runtime.idle(job_id)
    assert result.result(20).rows[0][2] == "RUNNING"  # type: ignore[attr-defined]


def test_wait_until_completed(jobs: JobsHarness) -> None:
    job_id = jobs.make("j", {"trigger": "availableNow"})
    results = [jobs.in_background(f"WAIT FOR JOB j{until}") for until in ("", " UNTIL COMPLETED", " UNTIL IDLE")]
    jobs.runtime.complete(job_id, "3 rows wait for the watermark.")
    for result in results:
        assert result.result(20).rows[0][2] == "COMPLETED"
    assert jobs.reply("WAIT FOR JOB j")[0] == "COMPLETED"
    assert "completed before batch 9" in jobs.error_of("WAIT FOR JOB j UNTIL BATCH 9").message


def test_impossible_waits_are_refused(jobs: JobsHarness) -> None:
    jobs.sql(CREATE)
    error = jobs.error_of("WAIT FOR JOB j UNTIL COMPLETED")
    assert (error.condition, error.hint) == ("JETSQL.WRONG_STATUS", "Use UNTIL IDLE or UNTIL BATCH n.")


def test_waiting_ends_early_when_the_job_does(jobs: JobsHarness) -> None:
    job_id = jobs.make("j", {"suspendOnFailure": "false"})
    result = jobs.in_background("WAIT FOR JOB j UNTIL BATCH 5")
    jobs.runtime.fail(job_id, FATAL_ERROR)
    error = result.exception(20)
    assert isinstance(error, StatementError)
    assert (error.condition, error.message) == ("JETSQL.JOB_FAILED", "Job j failed: [DIVIDE_BY_ZERO] division by zero")
    jobs.make("k")
    suspended = jobs.in_background("WAIT FOR JOB k UNTIL BATCH 5")
    jobs.sql("SUSPEND JOB k")
    error = suspended.exception(20)
    assert isinstance(error, StatementError)
    assert (error.condition, error.message) == ("JETSQL.WRONG_STATUS", "Job k is SUSPENDED.")
    assert jobs.error_of("WAIT FOR JOB k UNTIL IDLE").condition == "JETSQL.WRONG_STATUS"


def test_wait_timeout_reports_status_and_lag(tmp_path: Path) -> None:
    with run_manager(tmp_path, settings=replace(QUICK, wait_timeout_seconds=0.0)) as jobs:
        jobs.sql(CREATE)
        error = jobs.error_of("WAIT FOR JOB j UNTIL BATCH 5")
        assert error.condition == "JETSQL.WAIT_TIMEOUT"
        lag = "It is RUNNING; the newest committed batch is 0"
        assert error.message.startswith(f"Job j did not reach batch 5 within 0 s. {lag}")
        assert "within 0 s" in jobs.error_of("WAIT FOR JOB j UNTIL IDLE TIMEOUT 0 SECONDS").message


# --- all statements --------------------------------------------------------------------------------------------------


def test_fifty_jobs_are_listed_without_the_store(jobs: JobsHarness) -> None:
    for number in range(50):
        jobs.run(create(f"j{number}"))
    jobs.store.close()
    jobs.store.live_jobs = jobs.store.all_jobs = lambda: pytest.fail("SHOW JOBS read the store")  # type: ignore[method-assign]
    assert len(jobs.sql("SHOW JOBS").rows) == 50


def test_drop_reports_a_job_that_ended_meanwhile(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.make()
    apply = jobs.manager.apply

    def apply_and_end(job: Job, event: UserEvent) -> Step:
        step = apply(job, event)
        ended = jobs.manager.registry.wait(JobView(step.job), lambda view: not view.job.is_live, 20.0)
        assert ended.job.status is Status.FAILED
        return step

    monkeypatch.setattr(jobs.manager, "apply", apply_and_end)
    assert "The running batch was finished first." in str(jobs.reply("DROP JOB j")[1])
