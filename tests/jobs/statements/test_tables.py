"""Statements that create a table and its job, with the in-memory engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import Span, StatementError
from jetsql.jobs.lifecycle.runtime import JobTable
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, SinkKind
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.table_verb import choose_verb
from jetsql.jobs.planning.update_verdict import EXISTING_TABLE, UpdateKind, UpdateVerdict, read_verdict
from jetsql.jobs.statements.lookup import find_live_job
from jetsql.language import parse
from jetsql.language.statement import Verb
from tests.support.engines.in_memory_runtime import analysis, sink, source
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import raises

OUT = "spark_catalog.default.out"
CREATE = "CREATE JOB j AS CREATE TABLE out AS SELECT * FROM STREAM src"
TABLE = "CREATE STREAMING TABLE out AS SELECT * FROM STREAM src"
VIEW = "CREATE MATERIALIZED VIEW out AS SELECT * FROM src"
FATAL_ERROR = Cause("division by zero", "DIVIDE_BY_ZERO", retryable=False)
NOT_APPEND = {OutputMode.APPEND: "no watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def is_running(jobs: JobsHarness) -> bool:
    live = find_live_job(jobs.manager, "default.out")
    return live is not None and live.job.status is Status.RUNNING


def computed(jobs: JobsHarness, text: str) -> dict[str, object]:
    """Return the row of a statement that runs a batch job, whose run ends immediately."""
    known = None if (live := jobs.runtime.newest) is None else live.id
    future = jobs.in_background(text)
    deadline = time.monotonic() + 20
    while jobs.runtime.newest is None or jobs.runtime.newest.id == known or not is_running(jobs):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    jobs.runtime.complete(jobs.runtime.newest.id)
    [row] = future.result(20).rows
    return dict(zip(("id", "name", "status", "message"), row, strict=True))


def test_a_job_creates_its_table_and_runs_an_insert(jobs: JobsHarness) -> None:
    row = jobs.row(CREATE)
    assert row["status"] == "RUNNING"
    live = find_live_job(jobs.manager, "j")
    assert live is not None
    assert jobs.runtime.tables[OUT] == JobTable(OUT, "", live.job.id)
    assert live.job.body.spark_text.split() == "INSERT INTO out SELECT * FROM STREAM src".split()
    [(text,)] = jobs.sql("SHOW CREATE JOB j").rows
    assert text == "CREATE JOB `j`\nAS CREATE TABLE out AS SELECT * FROM STREAM src"


def test_the_query_decides_how_rows_are_written(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(has_aggregates=True, modes=NOT_APPEND)
    assert "each result replaces the previous rows" in str(jobs.sql(f"EXPLAIN {CREATE}").rows)
    jobs.runtime.analysis = analysis(sinks=(sink(kind=SinkKind.JDBC, key_columns=("id",), columns=("id",)),))
    assert "rows are updated by id" in str(jobs.sql(f"EXPLAIN {CREATE}").rows)
    assert "is created with the columns id string" in str(jobs.sql(f"EXPLAIN {CREATE}").rows)
    jobs.runtime.analysis = analysis(sinks=(sink(kind=SinkKind.KAFKA),), modes=NOT_APPEND)
    with raises(StatementError, match="NO_OUTPUT_MODE"):
        jobs.sql(CREATE)
    modes = dict.fromkeys(OutputMode, "never")
    jobs.runtime.analysis = analysis(modes=modes)
    with raises(StatementError, match="NO_OUTPUT_MODE"):
        jobs.sql(CREATE)
    assert jobs.runtime.tables == {}


def test_each_verb_has_its_own_analysis() -> None:
    rewritten = analysis(modes={**dict.fromkeys(OutputMode, "no"), OutputMode.COMPLETE: None}, has_aggregates=True)
    asked: list[Verb] = []

    def analyse(verb: Verb) -> Analysis:
        asked.append(verb)
        return rewritten if verb is Verb.INSERT_OVERWRITE else analysis(modes=dict.fromkeys(OutputMode, "no"))

    assert choose_verb(analyse, parse_options(()), None, Span(0, 1)) is Verb.INSERT_OVERWRITE
    assert asked == [Verb.INSERT_INTO, Verb.INSERT_INTO, Verb.INSERT_OVERWRITE]


def test_the_result_of_a_materialized_view_replaces_the_table(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(has_aggregates=True, modes=dict.fromkeys(OutputMode))
    assert "rows are added" in str(jobs.sql(f"EXPLAIN {TABLE}").rows)
    text = "EXPLAIN CREATE MATERIALIZED VIEW out AS SELECT * FROM STREAM src"
    assert "each result replaces" in str(jobs.sql(text).rows)


def test_failure_before_the_first_commit_leaves_nothing(jobs: JobsHarness) -> None:
    jobs.runtime.start_errors = [ValueError("no start")]
    jobs.runtime.quiet = True
    with raises(StatementError, match="JOB_FAILED"):
        jobs.sql(CREATE)
    assert jobs.runtime.tables == {}
    assert find_live_job(jobs.manager, "j") is None


def test_a_table_that_exists_is_refused_or_used(jobs: JobsHarness) -> None:
    jobs.runtime.tables[OUT] = JobTable(OUT, columns=("a",))
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(CREATE)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(CREATE.replace("TABLE", "TABLE IF NOT EXISTS"))
    jobs.runtime.tables[OUT] = JobTable(OUT, is_view=True)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(CREATE.replace("TABLE", "TABLE IF NOT EXISTS"))
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(TABLE)
    jobs.runtime.tables[OUT] = JobTable(OUT)
    jobs.sql(CREATE.replace("TABLE", "TABLE IF NOT EXISTS"))
    jobs.sql("DROP JOB j")
    assert OUT in jobs.runtime.tables


def test_the_table_of_an_interrupted_statement_is_created_again(jobs: JobsHarness) -> None:
    jobs.runtime.tables[OUT] = JobTable(OUT, "", "0000-0000-0000-0001")
    jobs.sql(CREATE)
    assert jobs.runtime.tables[OUT].job != "0000-0000-0000-0001"
    jobs.sql("DROP JOB j")
    jobs.runtime.tables[OUT] = JobTable(OUT, "", "0000-0000-0000-0001")
    jobs.runtime.filled.add(OUT)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(CREATE)


def test_a_streaming_table_and_its_job_have_one_life(jobs: JobsHarness) -> None:
    assert jobs.row(TABLE)["name"] == "default.out"
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        jobs.sql(TABLE)
    assert "It is the same" in str(jobs.row(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))["message"])
    assert jobs.row("ALTER STREAMING TABLE out SUSPEND")["status"] == "SUSPENDED"
    jobs.sql("ALTER STREAMING TABLE out JOB OPTIONS ('restartAttempts' = '7')")
    assert jobs.row("ALTER STREAMING TABLE default.out RESUME")["status"] == "RUNNING"
    assert jobs.row("ALTER STREAMING TABLE out RESTART")["status"] == "RUNNING"
    [(text,)] = jobs.sql("SHOW CREATE STREAMING TABLE out").rows
    assert text == (
        "CREATE STREAMING TABLE `default`.`out`\nJOB OPTIONS (\n  'restartAttempts' = '7'\n)\n"
        "AS SELECT * FROM STREAM src"
    )
    [(schema, table, _, status)] = jobs.sql("SHOW STREAMING TABLES LIKE 'o*'").rows
    assert (schema, table, status) == ("default", "out", "RUNNING")
    assert jobs.sql("SHOW STREAMING TABLES LIKE 'x*'").rows == ()
    assert jobs.sql("SHOW MATERIALIZED VIEWS").rows == ()
    assert jobs.row("DROP STREAMING TABLE out")["status"] == "DROPPED"
    assert jobs.runtime.tables == {}
    assert jobs.sql("SHOW STREAMING TABLES").rows == ()


def test_table_of_another_catalogue_gives_the_job_its_full_name(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(sinks=(sink("lake.shop.out", kind=SinkKind.ICEBERG, identity="a"),))
    text = TABLE.replace("out", "lake.shop.out")
    assert jobs.row(text)["name"] == "lake.shop.out"
    [(schema, table, _, _)] = jobs.sql("SHOW STREAMING TABLES LIKE 'out'").rows
    assert (schema, table) == ("lake.shop", "out")
    [(shown,)] = jobs.sql("SHOW CREATE STREAMING TABLE lake.shop.out").rows
    assert shown == "CREATE STREAMING TABLE `lake`.`shop`.`out`\nAS SELECT * FROM STREAM src"
    jobs.sql("DROP STREAMING TABLE lake.shop.out")
    assert jobs.runtime.tables == {}


def test_a_drop_is_finished_by_the_same_statement(jobs: JobsHarness) -> None:
    jobs.sql(TABLE)
    jobs.sql("DROP JOB `default.out`")
    assert OUT in jobs.runtime.tables
    with raises(StatementError, match="WRONG_STATUS"):
        jobs.sql("REFRESH STREAMING TABLE out")
    jobs.sql("DROP STREAMING TABLE out")
    assert jobs.runtime.tables == {}
    jobs.sql(TABLE)
    jobs.runtime.tables.clear()
    jobs.sql("DROP STREAMING TABLE out")
    assert find_live_job(jobs.manager, "default.out") is None
    with raises(StatementError, match="TABLE_NOT_FOUND"):
        jobs.sql("DROP STREAMING TABLE out")
    assert jobs.row("DROP STREAMING TABLE IF EXISTS out")["id"] is None


def test_a_table_that_another_job_reads_is_not_dropped(jobs: JobsHarness) -> None:
    jobs.sql(TABLE)
    analyze = jobs.runtime.analysis
    jobs.runtime.analysis = analysis(sources=(source(OUT),), sinks=(sink("spark_catalog.default.more"),))
    jobs.sql("CREATE JOB reader AS INSERT INTO more SELECT * FROM STREAM out")
    jobs.runtime.analysis = analyze
    with raises(StatementError, match="TABLE_IN_USE"):
        jobs.sql("DROP STREAMING TABLE out")
    assert find_live_job(jobs.manager, "default.out") is not None
    jobs.sql("SUSPEND JOB reader")
    jobs.sql("DROP STREAMING TABLE out")
    assert jobs.runtime.tables == {}


def test_only_changes_of_a_replaced_table_are_read(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(has_aggregates=True, modes=NOT_APPEND)
    jobs.sql("CREATE JOB writer AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src")
    reader, more = "CREATE JOB reader AS INSERT INTO more SELECT * FROM STREAM out", sink("spark_catalog.default.more")
    jobs.runtime.analysis = analysis(sources=(source(OUT),), sinks=(more,))
    with raises(StatementError, match="UNSUPPORTED_QUERY"):
        jobs.sql(reader)
    jobs.runtime.analysis = analysis(sources=(source(OUT, reads_changes=True),), sinks=(more,))
    assert jobs.row(reader)["status"] == "RUNNING"


def test_job_is_created_again_for_an_existing_table(jobs: JobsHarness) -> None:
    jobs.sql(TABLE)
    jobs.sql("DROP JOB `default.out`")
    jobs.row(TABLE.replace("CREATE", "CREATE OR REFRESH"))
    assert find_live_job(jobs.manager, "default.out") is not None


def test_wrong_kind_of_table_is_refused_with_a_hint(jobs: JobsHarness) -> None:
    jobs.sql(TABLE)
    for text in ("DROP MATERIALIZED VIEW out", "REFRESH MATERIALIZED VIEW out", VIEW, CREATE.replace(" j ", " k ")):
        with raises(StatementError):
            jobs.sql(text)
    jobs.runtime.tables["spark_catalog.default.plain"] = JobTable("spark_catalog.default.plain")
    with raises(StatementError, match="TABLE_NOT_FOUND"):
        jobs.sql("DROP STREAMING TABLE plain")
    assert "spark_catalog.default.plain" in jobs.runtime.tables


def test_a_refresh_runs_a_batch_job_again(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(streaming=False, sources=())
    jobs.runtime.analysis = replace(jobs.runtime.analysis, tables_read_once=("spark_catalog.default.src",))
    first = computed(jobs, VIEW)
    assert "write STREAM" not in str(first["message"])
    second = computed(jobs, "REFRESH MATERIALIZED VIEW out")
    assert first["id"] != second["id"]
    assert second["name"] == "default.out"
    third = computed(jobs, VIEW.replace("CREATE", "CREATE OR REFRESH"))
    assert third["id"] not in (first["id"], second["id"])
    assert "It is the same." in str(jobs.row(VIEW.replace("VIEW", "VIEW IF NOT EXISTS"))["message"])
    other = VIEW.replace("*", "id")
    assert "differs" in str(jobs.row(other.replace("VIEW", "VIEW IF NOT EXISTS"))["message"])
    computed(jobs, other.replace("CREATE", "CREATE OR REFRESH"))
    [(text,)] = jobs.sql("SHOW CREATE MATERIALIZED VIEW out").rows
    assert text == "CREATE MATERIALIZED VIEW `default`.`out`\nAS SELECT id FROM src"
    assert len(jobs.sql("SHOW MATERIALIZED VIEWS").rows) == 1
    jobs.sql("DROP MATERIALIZED VIEW out")
    assert jobs.sql("SHOW MATERIALIZED VIEWS").rows == ()


@pytest.mark.parametrize("text", ["CREATE STREAMING TABLE out", "EXPLAIN CREATE OR REFRESH STREAMING TABLE out"])
def test_a_streaming_table_needs_a_stream(jobs: JobsHarness, text: str) -> None:
    jobs.runtime.analysis = analysis(streaming=False, sources=(), tables_read_once=("spark_catalog.db.orders",))
    error = jobs.error_of(f"{text} AS SELECT * FROM db.orders")
    assert (error.condition, error.place) == ("JETSQL.UNSUPPORTED_QUERY", Span(len(text) + 18, len(text) + 27))
    assert not jobs.runtime.tables and not jobs.manager.registry.live()


def test_a_view_whose_job_has_ended_is_explained(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(streaming=False, sources=())
    computed(jobs, VIEW)
    refresh = VIEW.replace("CREATE", "CREATE OR REFRESH")
    [(same,)] = jobs.sql(f"EXPLAIN {refresh}").rows
    assert read_verdict(str(same)) == UpdateVerdict(
        UpdateKind.UNCHANGED, "the job had this statement, and has completed"
    )
    [(other,)] = jobs.sql(f"EXPLAIN {refresh.replace('*', 'id')}").rows
    assert read_verdict(str(other)) is None and EXISTING_TABLE in str(other)


def test_a_refreshed_text_updates_the_job(jobs: JobsHarness) -> None:
    first = jobs.row(TABLE)
    changed = TABLE.replace("CREATE", "CREATE OR REFRESH").replace("*", "id")
    assert "Updated." in str(jobs.row(changed)["message"])
    live = find_live_job(jobs.manager, "default.out")
    assert live is not None
    assert live.job.id == first["id"]
    assert live.job.version.table_kind is not None
    assert replace(live.job).status is Status.RUNNING


@pytest.mark.parametrize("create", ["CREATE JOB{} `default.out` AS CREATE TABLE", "CREATE STREAMING TABLE{}"])
def test_the_job_has_no_secrets_of_its_table(jobs: JobsHarness, tmp_path: Path, create: str) -> None:
    options = "OPTIONS ('dbtable' 'out', 'password' = 'hidden1', url 'jdbc:x://h/d?password=hidden2')"
    clauses = f"out USING jdbc {options} AS SELECT * FROM STREAM src"
    jobs.sql(f"{create.format('')} {clauses}")
    live = find_live_job(jobs.manager, "default.out")
    assert live is not None
    [(shown,)] = jobs.sql("SHOW CREATE JOB `default.out`").rows
    assert parse(str(shown).partition("\n")[2])
    assert str(shown).startswith("-- Secrets are shown as ***")
    assert "'dbtable' 'out', 'password' = '***', url 'jdbc:x://h/d?password=***'" in str(shown)
    assert "hidden" not in str(live.job) + str(jobs.sql("DESCRIBE JOB EXTENDED `default.out`").rows)
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [text for text in files if b"hidden" in text]
    assert "It is the same." in str(jobs.row(f"{create.format(' IF NOT EXISTS')} {clauses}")["message"])


def test_a_job_does_not_write_the_table_of_another_job(jobs: JobsHarness) -> None:
    jobs.sql(TABLE)
    with raises(StatementError, match="RELATION_READ_ONLY"):
        jobs.sql("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    with raises(StatementError, match="RELATION_READ_ONLY"):
        jobs.sql("CREATE OR REPLACE JOB `default.out` AS INSERT INTO out SELECT * FROM STREAM src")
    with raises(StatementError, match="RELATION_READ_ONLY"):
        jobs.sql("EXPLAIN CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    assert is_running(jobs)
