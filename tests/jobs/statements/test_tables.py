"""Statements that create a table and its job, with the in-memory engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import Span, StatementError
from jetsql.jobs.lifecycle.engine_api import JobTable
from jetsql.jobs.model.body_analysis import Analysis, OutputMode, SinkKind
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.table_verb import choose_verb
from jetsql.jobs.planning.update_verdict import EXISTING_TABLE, UpdateKind, UpdateVerdict, read_verdict
from jetsql.jobs.statements.lookup import find_live_job
from jetsql.language import parse
from jetsql.language.statement import Verb
from tests.support.engines.in_memory_engine import analysis, sink, source
from tests.support.engines.jobs_world import World, world
from tests.support.golden_reports import raises

OUT = "spark_catalog.default.out"
MAKE = "CREATE JOB j AS CREATE TABLE out AS SELECT * FROM STREAM src"
TABLE = "CREATE STREAMING TABLE out AS SELECT * FROM STREAM src"
VIEW = "CREATE MATERIALIZED VIEW out AS SELECT * FROM src"
HOPELESS = Cause("division by zero", "DIVIDE_BY_ZERO", retryable=False)
NOT_APPEND = {OutputMode.APPEND: "no watermark", OutputMode.UPDATE: None, OutputMode.COMPLETE: None}


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def is_running(w: World) -> bool:
    live = find_live_job(w.manager, "default.out")
    return live is not None and live.job.status is Status.RUNNING


def computed(w: World, text: str) -> dict[str, object]:
    """Return the row of a statement that runs a batch job, whose run ends at once."""
    known = None if (live := w.engine.newest) is None else live.id
    future = w.in_background(text)
    deadline = time.monotonic() + 20
    while w.engine.newest is None or w.engine.newest.id == known or not is_running(w):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    w.engine.complete(w.engine.newest.id)
    [row] = future.result(20).rows
    return dict(zip(("id", "name", "status", "message"), row, strict=True))


def test_a_job_creates_its_table_and_runs_an_insert(w: World) -> None:
    row = w.row(MAKE)
    assert row["status"] == "RUNNING"
    live = find_live_job(w.manager, "j")
    assert live is not None
    assert w.engine.tables[OUT] == JobTable(OUT, "", live.job.id)
    assert live.job.body.spark_text.split() == "INSERT INTO out SELECT * FROM STREAM src".split()
    [(text,)] = w.sql("SHOW CREATE JOB j").rows
    assert text == "CREATE JOB `j`\nAS CREATE TABLE out AS SELECT * FROM STREAM src"


def test_the_query_decides_how_rows_are_written(w: World) -> None:
    w.engine.analysis = analysis(has_aggregates=True, modes=NOT_APPEND)
    assert "each result replaces the previous rows" in str(w.sql(f"EXPLAIN {MAKE}").rows)
    w.engine.analysis = analysis(sink=sink(kind=SinkKind.JDBC, key_columns=("id",), columns=("id",)))
    assert "rows are updated by id" in str(w.sql(f"EXPLAIN {MAKE}").rows)
    assert "is created with the columns id string" in str(w.sql(f"EXPLAIN {MAKE}").rows)
    w.engine.analysis = analysis(sink=sink(kind=SinkKind.KAFKA), modes=NOT_APPEND)
    with raises(StatementError, match="NO_OUTPUT_MODE"):
        w.sql(MAKE)
    modes = dict.fromkeys(OutputMode, "never")
    w.engine.analysis = analysis(modes=modes)
    with raises(StatementError, match="NO_OUTPUT_MODE"):
        w.sql(MAKE)
    assert w.engine.tables == {}


def test_each_verb_has_its_own_analysis() -> None:
    rewritten = analysis(modes={**dict.fromkeys(OutputMode, "no"), OutputMode.COMPLETE: None}, has_aggregates=True)
    asked: list[Verb] = []

    def analyse(verb: Verb) -> Analysis:
        asked.append(verb)
        return rewritten if verb is Verb.INSERT_OVERWRITE else analysis(modes=dict.fromkeys(OutputMode, "no"))

    assert choose_verb(analyse, parse_options(()), None, Span(0, 1)) is Verb.INSERT_OVERWRITE
    assert asked == [Verb.INSERT_INTO, Verb.INSERT_INTO, Verb.INSERT_OVERWRITE]


def test_the_result_of_a_materialized_view_replaces_the_table(w: World) -> None:
    w.engine.analysis = analysis(has_aggregates=True, modes=dict.fromkeys(OutputMode))
    assert "rows are added" in str(w.sql(f"EXPLAIN {TABLE}").rows)
    text = "EXPLAIN CREATE MATERIALIZED VIEW out AS SELECT * FROM STREAM src"
    assert "each result replaces" in str(w.sql(text).rows)


def test_nothing_is_left_of_a_job_that_fails_before_its_first_commit(w: World) -> None:
    w.engine.start_errors = [ValueError("no start")]
    w.engine.quiet = True
    with raises(StatementError, match="JOB_FAILED"):
        w.sql(MAKE)
    assert w.engine.tables == {}
    assert find_live_job(w.manager, "j") is None


def test_a_table_that_exists_is_refused_or_used(w: World) -> None:
    w.engine.tables[OUT] = JobTable(OUT, columns=("a",))
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(MAKE)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(MAKE.replace("TABLE", "TABLE IF NOT EXISTS"))
    w.engine.tables[OUT] = JobTable(OUT, is_view=True)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(MAKE.replace("TABLE", "TABLE IF NOT EXISTS"))
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(TABLE)
    w.engine.tables[OUT] = JobTable(OUT)
    w.sql(MAKE.replace("TABLE", "TABLE IF NOT EXISTS"))
    w.sql("DROP JOB j")
    assert OUT in w.engine.tables


def test_the_table_of_an_interrupted_statement_is_created_again(w: World) -> None:
    w.engine.tables[OUT] = JobTable(OUT, "", "0000-0000-0000-0001")
    w.sql(MAKE)
    assert w.engine.tables[OUT].job != "0000-0000-0000-0001"
    w.sql("DROP JOB j")
    w.engine.tables[OUT] = JobTable(OUT, "", "0000-0000-0000-0001")
    w.engine.filled.add(OUT)
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(MAKE)


def test_a_streaming_table_and_its_job_have_one_life(w: World) -> None:
    assert w.row(TABLE)["name"] == "default.out"
    with raises(StatementError, match="TABLE_ALREADY_EXISTS"):
        w.sql(TABLE)
    assert "It is the same" in str(w.row(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))["message"])
    assert w.row("ALTER STREAMING TABLE out SUSPEND")["status"] == "SUSPENDED"
    w.sql("ALTER STREAMING TABLE out JOB OPTIONS ('restartAttempts' = '7')")
    assert w.row("ALTER STREAMING TABLE default.out RESUME")["status"] == "RUNNING"
    assert w.row("ALTER STREAMING TABLE out RESTART")["status"] == "RUNNING"
    [(text,)] = w.sql("SHOW CREATE STREAMING TABLE out").rows
    assert text == (
        "CREATE STREAMING TABLE `default`.`out`\nJOB OPTIONS (\n  'restartAttempts' = '7'\n)\n"
        "AS SELECT * FROM STREAM src"
    )
    [(schema, table, _, status)] = w.sql("SHOW STREAMING TABLES LIKE 'o*'").rows
    assert (schema, table, status) == ("default", "out", "RUNNING")
    assert w.sql("SHOW STREAMING TABLES LIKE 'x*'").rows == ()
    assert w.sql("SHOW MATERIALIZED VIEWS").rows == ()
    assert w.row("DROP STREAMING TABLE out")["status"] == "FAILED"
    assert w.engine.tables == {}
    assert w.sql("SHOW STREAMING TABLES").rows == ()


def test_the_job_of_a_table_of_another_catalogue_has_its_full_name(w: World) -> None:
    w.engine.analysis = analysis(sink=sink("lake.shop.out", kind=SinkKind.ICEBERG, identity="a"))
    text = TABLE.replace("out", "lake.shop.out")
    assert w.row(text)["name"] == "lake.shop.out"
    [(schema, table, _, _)] = w.sql("SHOW STREAMING TABLES LIKE 'out'").rows
    assert (schema, table) == ("lake.shop", "out")
    [(shown,)] = w.sql("SHOW CREATE STREAMING TABLE lake.shop.out").rows
    assert shown == "CREATE STREAMING TABLE `lake`.`shop`.`out`\nAS SELECT * FROM STREAM src"
    w.sql("DROP STREAMING TABLE lake.shop.out")
    assert w.engine.tables == {}


def test_a_drop_is_finished_by_the_same_statement(w: World) -> None:
    w.sql(TABLE)
    w.sql("DROP JOB `default.out`")
    assert OUT in w.engine.tables
    with raises(StatementError, match="WRONG_STATUS"):
        w.sql("REFRESH STREAMING TABLE out")
    w.sql("DROP STREAMING TABLE out")
    assert w.engine.tables == {}
    w.sql(TABLE)
    w.engine.tables.clear()
    w.sql("DROP STREAMING TABLE out")
    assert find_live_job(w.manager, "default.out") is None
    with raises(StatementError, match="TABLE_NOT_FOUND"):
        w.sql("DROP STREAMING TABLE out")
    assert w.row("DROP STREAMING TABLE IF EXISTS out")["id"] is None


def test_a_table_that_another_job_reads_is_not_dropped(w: World) -> None:
    w.sql(TABLE)
    made = w.engine.analysis
    w.engine.analysis = analysis(sources=(source(OUT),), sink=sink("spark_catalog.default.more"))
    w.sql("CREATE JOB reader AS INSERT INTO more SELECT * FROM STREAM out")
    w.engine.analysis = made
    with raises(StatementError, match="TABLE_IN_USE"):
        w.sql("DROP STREAMING TABLE out")
    assert find_live_job(w.manager, "default.out") is not None
    w.sql("SUSPEND JOB reader")
    w.sql("DROP STREAMING TABLE out")
    assert w.engine.tables == {}


def test_of_a_table_that_is_replaced_only_the_changes_are_read(w: World) -> None:
    w.engine.analysis = analysis(has_aggregates=True, modes=NOT_APPEND)
    w.sql("CREATE JOB writer AS INSERT OVERWRITE out SELECT count(*) FROM STREAM src")
    reader, more = "CREATE JOB reader AS INSERT INTO more SELECT * FROM STREAM out", sink("spark_catalog.default.more")
    w.engine.analysis = analysis(sources=(source(OUT),), sink=more)
    with raises(StatementError, match="UNSUPPORTED_QUERY"):
        w.sql(reader)
    w.engine.analysis = analysis(sources=(source(OUT, reads_changes=True),), sink=more)
    assert w.row(reader)["status"] == "RUNNING"


def test_a_job_is_created_again_for_the_table_that_is_there(w: World) -> None:
    w.sql(TABLE)
    w.sql("DROP JOB `default.out`")
    w.row(TABLE.replace("CREATE", "CREATE OR REFRESH"))
    assert find_live_job(w.manager, "default.out") is not None


def test_another_kind_of_table_is_refused_with_the_word_to_write(w: World) -> None:
    w.sql(TABLE)
    for text in ("DROP MATERIALIZED VIEW out", "REFRESH MATERIALIZED VIEW out", VIEW, MAKE.replace(" j ", " k ")):
        with raises(StatementError):
            w.sql(text)
    w.engine.tables["spark_catalog.default.plain"] = JobTable("spark_catalog.default.plain")
    with raises(StatementError, match="TABLE_NOT_FOUND"):
        w.sql("DROP STREAMING TABLE plain")
    assert "spark_catalog.default.plain" in w.engine.tables


def test_a_refresh_runs_a_batch_job_again(w: World) -> None:
    w.engine.analysis = analysis(streaming=False, sources=())
    w.engine.analysis = replace(w.engine.analysis, tables_read_once=("spark_catalog.default.src",))
    first = computed(w, VIEW)
    assert "write STREAM" not in str(first["message"])
    second = computed(w, "REFRESH MATERIALIZED VIEW out")
    assert first["id"] != second["id"]
    assert second["name"] == "default.out"
    third = computed(w, VIEW.replace("CREATE", "CREATE OR REFRESH"))
    assert third["id"] not in (first["id"], second["id"])
    assert "It is the same." in str(w.row(VIEW.replace("VIEW", "VIEW IF NOT EXISTS"))["message"])
    other = VIEW.replace("*", "id")
    assert "differs" in str(w.row(other.replace("VIEW", "VIEW IF NOT EXISTS"))["message"])
    computed(w, other.replace("CREATE", "CREATE OR REFRESH"))
    [(text,)] = w.sql("SHOW CREATE MATERIALIZED VIEW out").rows
    assert text == "CREATE MATERIALIZED VIEW `default`.`out`\nAS SELECT id FROM src"
    assert len(w.sql("SHOW MATERIALIZED VIEWS").rows) == 1
    w.sql("DROP MATERIALIZED VIEW out")
    assert w.sql("SHOW MATERIALIZED VIEWS").rows == ()


@pytest.mark.parametrize("text", ["CREATE STREAMING TABLE out", "EXPLAIN CREATE OR REFRESH STREAMING TABLE out"])
def test_a_streaming_table_needs_a_stream(w: World, text: str) -> None:
    w.engine.analysis = analysis(streaming=False, sources=(), tables_read_once=("spark_catalog.db.orders",))
    error = w.refused(f"{text} AS SELECT * FROM db.orders")
    assert (error.condition, error.place) == ("JETSQL.UNSUPPORTED_QUERY", Span(len(text) + 18, len(text) + 27))
    assert not w.engine.tables and not w.manager.registry.live()


def test_a_view_whose_job_has_ended_is_explained(w: World) -> None:
    w.engine.analysis = analysis(streaming=False, sources=())
    computed(w, VIEW)
    refresh = VIEW.replace("CREATE", "CREATE OR REFRESH")
    [(same,)] = w.sql(f"EXPLAIN {refresh}").rows
    assert read_verdict(str(same)) == UpdateVerdict(
        UpdateKind.UNCHANGED, "the job had this statement, and has completed"
    )
    [(other,)] = w.sql(f"EXPLAIN {refresh.replace('*', 'id')}").rows
    assert read_verdict(str(other)) is None and EXISTING_TABLE in str(other)


def test_a_refreshed_text_updates_the_job(w: World) -> None:
    first = w.row(TABLE)
    changed = TABLE.replace("CREATE", "CREATE OR REFRESH").replace("*", "id")
    assert "Updated." in str(w.row(changed)["message"])
    live = find_live_job(w.manager, "default.out")
    assert live is not None
    assert live.job.id == first["id"]
    assert live.job.version.table_kind is not None
    assert replace(live.job).status is Status.RUNNING


@pytest.mark.parametrize("create", ["CREATE JOB{} `default.out` AS CREATE TABLE", "CREATE STREAMING TABLE{}"])
def test_the_job_has_no_secrets_of_its_table(w: World, tmp_path: Path, create: str) -> None:
    options = "OPTIONS ('dbtable' 'out', 'password' = 'hidden1', url 'jdbc:x://h/d?password=hidden2')"
    clauses = f"out USING jdbc {options} AS SELECT * FROM STREAM src"
    w.sql(f"{create.format('')} {clauses}")
    live = find_live_job(w.manager, "default.out")
    assert live is not None
    [(shown,)] = w.sql("SHOW CREATE JOB `default.out`").rows
    assert parse(str(shown).partition("\n")[2])
    assert str(shown).startswith("-- Secrets are shown as ***")
    assert "'dbtable' 'out', 'password' = '***', url 'jdbc:x://h/d?password=***'" in str(shown)
    assert "hidden" not in str(live.job) + str(w.sql("DESCRIBE JOB EXTENDED `default.out`").rows)
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [text for text in files if b"hidden" in text]
    assert "It is the same." in str(w.row(f"{create.format(' IF NOT EXISTS')} {clauses}")["message"])


def test_a_job_does_not_write_the_table_of_another_job(w: World) -> None:
    w.sql(TABLE)
    with raises(StatementError, match="RELATION_READ_ONLY"):
        w.sql("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    with raises(StatementError, match="RELATION_READ_ONLY"):
        w.sql("CREATE OR REPLACE JOB `default.out` AS INSERT INTO out SELECT * FROM STREAM src")
    with raises(StatementError, match="RELATION_READ_ONLY"):
        w.sql("EXPLAIN CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src")
    assert is_running(w)
