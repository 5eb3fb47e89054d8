"""The page of a job: graph, measures, statement, options, history, snapshots, and its changes while it is open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jetsql.console.jobs.job_graph import explained_graph, job_graph
from jetsql.console.jobs.job_plots import plot_columns
from jetsql.console.jobs.shown_snapshots import shown_snapshots
from jetsql.console.web.sql_markup import sql_markup
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RowsChecked
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.job import Cause, RuleCount
from jetsql.jobs.statements.describe import fork_text
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language import parse
from jetsql.language.objects.expectation import Expectation, ViolationAction
from jetsql.language.statement import CreateStreamingTable
from tests.support.engines.in_memory_runtime import sink, source
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, events, joining_engine
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = joining_engine(tmp_path / "home", "default")
    yield engine
    engine.close()


def create(engine: Managed, name: str = "orders", before: str = "", body: str = "SELECT * FROM STREAM src") -> str:
    return str(next(engine.run(f"CREATE JOB `{name}` {before} AS INSERT INTO out {body}").rows)[0])


def commit(engine: Managed, job: str, time: float, **values: Any) -> None:
    """Commit a batch with these measures."""
    run = engine.runtime.runs[job]
    run.batch += 1
    run_id = engine.runtime.run_id(job)
    measure = BatchMetrics(run_id.run, run.batch, time, **{"input_rows": 10, **values})
    engine.runtime.report(job, BatchCommitted(run_id, run.batch, time, 10, 10.0, metrics=measure))


def test_page_shows_the_facts_of_the_job_statements(engine: Managed, browser: Browser) -> None:
    job = create(engine, before="COMMENT 'By region' OPTIONS ('restartAttempts' = '7')")
    page = browser.get(f"/console/jobs/{job}")
    assert page.status == 200
    for text in (
        "By region",
        "Running",
        "CREATE JOB `orders` COMMENT 'By region' OPTIONS ( 'restartAttempts' = '7' ) AS INSERT INTO out",
        "Delivery: exactly once , because all sources can be replayed",
        "restartAttempts 7 set",
        "autoScaling true default",
        "first trigger",
        "newest batch 0",
        "There is no snapshot of this job",
        "members driver",
    ):
        assert text in page.visible, text


def test_rules_are_shown_with_their_counts(engine: Managed, browser: Browser) -> None:
    rules = (Expectation("valid", "id > 0"), Expectation("known", "name IS NOT NULL", action=ViolationAction.DROP_ROW))
    engine.runtime.analysis = replace(engine.runtime.analysis, expectations=rules)
    job = create(engine)
    assert "valid id > 0 WARN 0 0 known name IS NOT NULL DROP ROW 0 0" in browser.get(f"/console/jobs/{job}").visible
    counts = (RuleCount("valid", "id > 0", "WARN", 30, 4, 2, 1), RuleCount("known", "name IS NOT NULL", "DROP ROW", 30))
    engine.runtime.report(job, RowsChecked(engine.runtime.run_id(job), counts))
    page = browser.get(f"/console/jobs/{job}")
    assert "valid id > 0 WARN 30 4 1 of batch 2 known name IS NOT NULL DROP ROW 30 0" in page.visible
    engine.runtime.analysis = replace(engine.runtime.analysis, expectations=())
    assert "On violation" not in browser.get(f"/console/jobs/{create(engine, 'plain')}").visible


def test_a_live_job_is_changed_in_the_editor(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    link = "/console/sql?text=" + quote("CREATE OR REPLACE JOB `orders`\nAS INSERT INTO out SELECT * FROM STREAM src")
    assert f'href="{link}"' in browser.get(f"/console/jobs/{job}").text
    assert "CREATE OR REPLACE JOB `orders`" in browser.get(link).text
    list(engine.run("DROP JOB orders").rows)
    assert "Change it in the editor" not in browser.get(f"/console/jobs/{job}").visible


def test_the_graph_is_that_of_explain(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    commit(engine, job, 5000.0, lag={"spark_catalog.default.orders": 1234}, state_rows=77, state_bytes=2048)
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.batch == 1, 20)
    text = browser.get(f"/console/jobs/{job}").text
    assert (
        'aria-label="From spark_catalog.default.orders, spark_catalog.default.payments through Join, Aggregate' in text
    )
    assert "lag 1.2k rows" in text
    assert "state 77 rows, 2.0 KiB" in text
    explained = str(next(engine.run("EXPLAIN CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)[0])
    graph = explained_graph(explained)
    assert graph is not None
    assert graph == job_graph(engine.manager.registry.live()[0].job.plan)


def test_measures_are_columns(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    commit(
        engine,
        job,
        5000.0,
        trigger_ms=2000,
        output_rows=4,
        watermark=4990.0,
        lag={"a": 1, "b": 2},
        lag_seconds={"a": 1.0, "b": 3.0},
    )
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.batch == 1, 20)
    columns = json.loads(browser.get(f"/console/jobs/{job}/measures").text)
    assert len({len(column) for column in columns.values()}) == 1
    newest = {name: column[-1] for name, column in columns.items()}
    expected = {"batch": 1, "trigger": 2.0, "output_rate": 2.0, "watermark_delay": 10.0, "lag_seconds": 3.0}
    assert expected.items() <= newest.items()


def test_measures_of_several_batches_are_means() -> None:
    measure = BatchMetrics(1, 9, 600.0, span=60, batches=10, trigger_ms=5000, output_rows=120, watermark=650.0)
    columns = plot_columns([measure])
    assert (columns["trigger"], columns["output_rate"], columns["time"]) == ([0.5], [2.0], [630.0])
    assert columns["watermark_delay"] == [10.0]
    assert (columns["lag_rows"], columns["state_bytes"]) == ([None], [None])


def test_an_open_page_gets_new_measures(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine)
    commit(engine, job, 5000.0)
    with events(server, browser, f"/console/events/jobs/{job}?{state(browser, job)}&after=5000.0") as messages:
        commit(engine, job, 6000.0, lag={"spark_catalog.default.orders": 4321})
        numbers = next(content for name, content in messages if name == "numbers" and content["measures"]["time"])
        assert numbers["measures"]["batch"] == [2]
        assert "lag 4.3k rows" in numbers["graph"]


def test_graph_has_batches_committed_before_its_stream_opened(
    engine: Managed, server: RunningServer, browser: Browser
) -> None:
    job = create(engine)
    commit(engine, job, 5000.0, lag={"spark_catalog.default.orders": 4321})
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.batch == 1, 20)
    with events(server, browser, f"/console/events/jobs/{job}?{state(browser, job)}&after=5000.0") as messages:
        name, numbers = next(messages)
        assert (name, numbers["measures"]["time"]) == ("numbers", [])
        assert "lag 4.3k rows" in numbers["graph"]


def state(browser: Browser, job: str) -> str:
    text = browser.get(f"/console/jobs/{job}").text
    return "state=" + text.partition('data-state="')[2].partition('"')[0]


def test_open_page_gets_changes(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine)
    shown = state(browser, job)
    with events(server, browser, f"/console/events/jobs/{job}?{shown}&after=1") as messages:
        list(engine.run("SUSPEND JOB orders").rows)
        assert "changed" in (name for name, _ in messages)
    with events(server, browser, f"/console/events/jobs/{job}?{shown}&after=1") as messages:
        assert next(messages)[0] == "changed", "it changed while no connection was open"
    assert state(browser, job) != shown
    list(engine.run("DROP JOB orders").rows)
    with events(server, browser, f"/console/events/jobs/{job}?{state(browser, job)}&after=1") as messages:
        assert next(messages)[0] == "ping"


def test_the_error_is_whole(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    cause = Cause("x" * 3000, "JETSQL.JOB_CHANGED", "42K05", hint="Create the table again.", retryable=False)
    engine.runtime.fail(job, cause)
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.cause is not None, 20)
    page = browser.get(f"/console/jobs/{job}").visible
    assert "x" * 3000 in page
    assert "What to do: Create the table again." in page
    assert "JETSQL.JOB_CHANGED · SQLSTATE 42K05" in page


def test_actions_depend_on_the_status(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    assert buttons(browser, job) == ["suspend", "restart", "drop"]
    list(engine.run("SUSPEND JOB orders").rows)
    assert buttons(browser, job) == ["resume", "drop"]
    list(engine.run("DROP JOB orders").rows)
    assert buttons(browser, job) == []


def buttons(browser: Browser, job: str) -> list[str]:
    head = browser.get(f"/console/jobs/{job}").text.partition('<h2 id="graph-title">')[0]
    return [part.partition('"')[0] for part in head.split('<button name="action" value="')[1:]]


def test_snapshots_are_taken_forked_and_dropped(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    question = browser.act("/console/snapshots/confirm", {"action": "take", "job": job, "name": "before it's changed"})
    assert "CREATE SNAPSHOT `before it's changed` FOR JOB `orders`" in question.visible
    assert "Nothing is lost" in question.visible
    statement = "CREATE SNAPSHOT `before it's changed` FOR JOB `orders`"
    assert "JETSQL" not in browser.act("/console/run", {"title": "Take", "statement": statement}).visible
    page = browser.get(f"/console/jobs/{job}")
    assert "before it's changed" in page.visible
    assert quote("'initialSnapshotName' = 'before it\\'s changed'") in page.text
    question = browser.act("/console/snapshots/confirm", {"action": "drop", "name": "before it's changed"})
    assert "DROP SNAPSHOT `before it's changed`" in question.visible
    browser.act("/console/run", {"title": "Drop", "statement": "DROP SNAPSHOT `before it's changed`"})
    assert "There is no snapshot" in browser.get(f"/console/jobs/{job}").visible


def fork(engine: Managed) -> str:
    """Return the statement that forks a job from the newest snapshot."""
    return shown_snapshots(engine.queries)[0].fork


def test_fork_has_options_and_statement_of_the_snapshot(engine: Managed) -> None:
    create(engine, "it's", "OPTIONS ('restartAttempts' = '7', 'spark.my.password' = 'hunter2')")
    list(engine.run("CREATE SNAPSHOT s FOR JOB `it's`").rows)
    list(engine.run("CREATE OR REPLACE JOB `it's` AS INSERT INTO out SELECT a FROM STREAM src").rows)
    expected = """-- Secrets are shown as ***: insert them before you run this statement.
-- Choose another table, unless both jobs are to write into the same one.
CREATE JOB `it's_fork`
OPTIONS (
  'initialSnapshotName' = 's',
  'restartAttempts' = '7',
  'spark.my.password' = '***'
)
AS INSERT INTO out SELECT * FROM STREAM src"""
    assert fork(engine) == expected
    # A fork of the fork starts from its own snapshot.
    list(engine.run(fork(engine)).rows)
    list(engine.run("CREATE SNAPSHOT later FOR JOB `it's_fork`").rows)
    assert fork(engine).count("initialSnapshotName") == 1 and "'initialSnapshotName' = 'later'" in fork(engine)


def test_fork_of_a_table_job_has_its_own_table(engine: Managed) -> None:
    options = "JOB OPTIONS ('restartAttempts' = '7')"
    list(engine.run(f"CREATE STREAMING TABLE totals {options} AS SELECT * FROM STREAM src").rows)
    [view] = engine.manager.registry.live()
    list(engine.run(f"CREATE SNAPSHOT s FOR JOB '{view.job.id}'").rows)
    text = fork(engine)
    assert text.startswith("-- Another table is created, and continues from the snapshot.\nCREATE STREAMING TABLE")
    assert "`default`.`totals_fork`" in text
    assert "JOB OPTIONS (\n  'initialSnapshotName' = 's',\n  'restartAttempts' = '7'\n)" in text
    assert text.endswith("AS SELECT * FROM STREAM src")
    assert isinstance(parse(text), CreateStreamingTable)


@pytest.mark.parametrize("statement", ["CREATE JOB j AS INSERT INTO out SELECT 1", "INSERT INTO out SELECT 1"])
def test_a_fork_of_an_earlier_release_has_the_body_only(engine: Managed, statement: str) -> None:
    create(engine)
    list(engine.run("CREATE SNAPSHOT s FOR JOB orders").rows)
    snapshot = replace(engine.manager.store.snapshots()[0], statement=statement)
    assert fork_text(snapshot).endswith("\nAS INSERT INTO out SELECT 1")


def test_times_among_the_details_are_times(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    commit(engine, job, 5000.0)
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.batch == 1, 20)
    text = browser.get(f"/console/jobs/{job}").text
    assert '<td><time datetime="1970-01-01T01:23:20.000+00:00">' in text


def test_the_statements_of_a_page_can_be_copied(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    text = browser.get(f"/console/jobs/{job}").text + browser.get().text
    for statement in (
        "CREATE JOB `orders`\nAS INSERT INTO out SELECT * FROM STREAM src",
        "SHOW SNAPSHOTS FOR JOB `orders`",
        "SHOW JOB HISTORY `orders`",
        "DESCRIBE JOB EXTENDED `orders`",
        "SHOW ALL JOBS",
    ):
        assert f'data-copy="{statement}"' in text, statement
        list(engine.run(statement.replace("CREATE JOB", "EXPLAIN CREATE JOB")).rows)


def test_the_history_is_shortened(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    for _ in range(20):
        list(engine.run("SUSPEND JOB orders").rows)
        list(engine.run("RESUME JOB orders").rows)
    short, whole = browser.get(f"/console/jobs/{job}"), browser.get(f"/console/jobs/{job}?history=all")
    assert short.text.count('class="when"') == 50
    assert whole.text.count('class="when"') > 50
    assert "Show all" in short.visible and "Show all" not in whole.visible


@pytest.mark.parametrize("job", ["none", "0000-0000-0000-0000", "%3Cscript%3E"])
def test_a_job_that_does_not_exist(browser: Browser, job: str) -> None:
    page = browser.get(f"/console/jobs/{job}")
    assert page.status == 404
    assert "There is no job with the id" in page.visible
    assert "<script>" not in page.text.replace("<script src", "")


def test_no_secret_is_shown(engine: Managed, browser: Browser) -> None:
    options = "OPTIONS ('spark.my.password' = 'hunter2secret')"
    job = create(engine, before=options, body="SELECT * FROM STREAM src WHERE url = 'https://ann:pa55word@host/'")
    page = browser.get(f"/console/jobs/{job}")
    assert page.status == 200
    assert "hunter2secret" not in page.text and "pa55word" not in page.text
    assert page.text.count("***") >= 3


def test_hostile_texts_are_escaped(engine: Managed, browser: Browser) -> None:
    engine.runtime.analysis = replace(
        engine.runtime.analysis,
        sources=(source(HOSTILE), source(f"b{HOSTILE}")),
        operators=(Operator(HOSTILE, HOSTILE),),
        sinks=(sink(HOSTILE),),
    )
    quoted = HOSTILE.replace("'", "\\'")
    name = HOSTILE.replace("`", "``")
    job = create(engine, name, f"COMMENT '{quoted}'", f"SELECT '{quoted}' FROM STREAM src")
    engine.runtime.fail(job, Cause(HOSTILE, HOSTILE, hint=HOSTILE, retryable=False, where=HOSTILE, error_class=HOSTILE))
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.cause is not None, 20)
    page = browser.get(f"/console/jobs/{job}")
    assert page.status == 200
    assert page.text.count("&lt;script&gt;alert(1)") > 10
    assert "<script>alert" not in page.text


def test_sql_has_colours_and_keeps_its_text() -> None:
    assert sql_markup("select 'a<b>' -- c") == (
        '<span class="tok-keyword">select</span> <span class="tok-string">&#39;a&lt;b&gt;&#39;</span>'
        ' <span class="tok-comment">-- c</span>'
    )


@pytest.mark.parametrize("text", ["", " \n", "'open", "`a``b` $$x$$ 1e5 /* ä */ ;", HOSTILE])
def test_colours_change_no_text(text: str) -> None:
    from html import unescape
    from re import sub

    assert unescape(sub("<[^>]*>", "", str(sql_markup(text)))) == text


def test_names_of_measures() -> None:
    columns: Mapping[str, object] = plot_columns([])
    assert {"time", "input_rate", "lag_rows", "late_rows", "state_bytes"} <= set(columns)
