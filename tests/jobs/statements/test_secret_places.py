"""Secrets in everything that shows a job: each report masks every secret, and nothing more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import RunBlocked
from jetsql.jobs.model.body_analysis import CapturedSession, Operator
from jetsql.jobs.model.job import Cause
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.jobs.model.redaction import REDACTED, redact_urls
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES, rows
from jetsql.language.objects.expectation import Expectation
from jetsql.language.statement import ExplainCreateJob
from jetsql.server.prometheus import prometheus_response
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.jobs_harness import JobsHarness, body, create, in_thread, run_manager
from tests.support.golden_reports import raises

# Every secret begins so. Each one is another, so that a failure names the one that got out.
SECRET = "sesame-of-"


def url(secret: str) -> str:
    """Return a URL with one secret."""
    return f"jdbc:shop://ann:{SECRET}{secret}@host/shop"


OPTIONS = {
    "spark.example.password": f"{SECRET}option",
    "spark.example.url": url("option-url"),
    "spark.example.query": f"https://host/shop?user=ann&password={SECRET}parameter&a=b",
    "spark.example.reference": "secret:env:SHOP",
}
NEW_OPTIONS = {**OPTIONS, "spark.example.password": f"{SECRET}new-option"}
OLD_BODY = body(query=f"SELECT id FROM STREAM src -- {url('old-body')}")
NEW_BODY = body(query=f"SELECT id FROM STREAM src -- {url('new-body')}")
UPDATE = create("j", NEW_OPTIONS, body=NEW_BODY, or_replace=True)
CAUSE = Cause(
    f"The user ann with {SECRET}new-option was refused by {url('cause')}.",
    "REFUSED",
    where=f"the table of {url('where')}",
    hint=f"Try {SECRET}new-option at {url('hint')} again.",
)
FACTS = {
    "sources": (source(location=url("source")),),
    "sinks": (sink(location=url("sink")),),
    "session": CapturedSession(
        "spark_catalog",
        "default",
        {"fs.example.secret.key": f"{SECRET}conf", "fs.example.url": url("conf-url"), "fs.example.size": "7"},
    ),
    "operators": (Operator("Aggregate", f"of {url('operator')}"),),
    "stateful": True,
    "expectations": (Expectation("known", f"x <> '{url('rule')}'"),),
}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    """Make a job whose second version is on trial and waits for its database, after an update that failed, and a
    snapshot of its first version."""
    engine = InMemoryRuntime(analysis=analysis(**FACTS), scan=f"Scan {url('scan')} with {SECRET}new-option")
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make("j", OPTIONS, body=OLD_BODY)
        jobs.sql("CREATE SNAPSHOT s FOR JOB j")
        jobs.sql(f"CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ return len('{url('function')}') $$")
        engine.prepare_errors = [OSError(f"{SECRET}new-option is no password for {url('prepared')}")]
        with raises(StatementError, match="is no password for"):
            jobs.run(UPDATE)
        jobs.wait_run(job_id, 2)
        engine.quiet = True
        updating = in_thread(lambda: jobs.run(UPDATE))
        jobs.wait_run(job_id, 3)
        engine.idle(job_id)
        updating.result(20)
        engine.report(job_id, RunBlocked(engine.run_id(job_id), CAUSE))
        jobs.manager.view_after_pending_events(jobs.job(job_id))
        jobs.sql(f"CREATE ALERT a ON JOB j STATUS RUNNING CALL 'http://127.0.0.1:1/{SECRET}hook?x={SECRET}hook'")
        yield jobs


def shown(statement: str) -> Callable[[JobsHarness], str]:
    return lambda jobs: repr(jobs.sql(statement).rows)


def in_relation(name: str) -> Callable[[JobsHarness], str]:
    return lambda jobs: repr(list(rows(jobs.manager, name)))


def explained(jobs: JobsHarness) -> str:
    [(text,)] = jobs.run(ExplainCreateJob(UPDATE)).rows
    return str(text)


def scraped(jobs: JobsHarness) -> str:
    return prometheus_response(JobQueries(jobs.manager), sessions=0, statements=0).content.decode()


# By report: the statement, the number of masked secrets in it, and a value next to them.
PLACES: dict[str, tuple[Callable[[JobsHarness], str], int, str]] = {
    # The cause: its message and its hint hold two each.
    "SHOW JOBS": (shown("SHOW JOBS"), 4, "The user ann with"),
    # Besides: where the cause met its table, the source, the sink, the rule, three options and the body.
    "DESCRIBE JOB": (shown("DESCRIBE JOB j"), 12, "user=ann&password=***&a=b"),
    # Besides: the body of the way back, two captured settings and two facts of the fingerprint.
    "DESCRIBE JOB EXTENDED": (shown("DESCRIBE JOB EXTENDED j"), 17, "('session fs.example.size', '7')"),
    # Three options and the body, and a comment that explains the sign.
    "SHOW CREATE JOB": (shown("SHOW CREATE JOB j"), 5, "'spark.example.reference' = 'secret:env:SHOP'"),
    # The update that failed, and the cause.
    "SHOW JOB HISTORY": (shown("SHOW JOB HISTORY j"), 6, "is no password for jdbc:shop://"),
    "SHOW SNAPSHOTS": (shown("SHOW SNAPSHOTS"), 1, "SELECT id FROM STREAM src -- jdbc:shop://"),
    # Source, sink, the rule, the state's operator, and Spark's plan with two.
    "EXPLAIN CREATE JOB": (explained, 6, "Aggregate; of jdbc:shop://"),
    # As SHOW JOBS and SHOW CREATE JOB.
    "jetsql.jobs": (in_relation("jobs"), 9, "at jdbc:shop://***@host/shop again."),
    "jetsql.snapshots": (in_relation("snapshots"), 1, "SELECT id FROM STREAM src -- jdbc:shop://"),
    "jetsql.functions": (in_relation("functions"), 1, "'f'"),
    "jetsql.job_history": (in_relation("job_history"), 6, "is no password for jdbc:shop://"),
    "jetsql.metrics": (in_relation("metrics"), 0, "'j'"),
    "jetsql.members": (in_relation("members"), 0, "'driver'"),
    "jetsql.engines": (in_relation("engines"), 0, "'leader'"),
    "jetsql.expectations": (in_relation("expectations"), 1, "'known'"),
    "SHOW ALERTS": (shown("SHOW ALERTS"), 0, "'http://127.0.0.1:1'"),
    # The message of the cause.
    "jetsql.alerts": (in_relation("alerts"), 2, "'STATUS RUNNING'"),
    "jetsql.audit": (in_relation("audit"), 0, "'job start'"),
    "/metrics": (scraped, 0, 'job="j"'),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_hides_every_secret_and_nothing_else(jobs: JobsHarness, place: str) -> None:
    show, hidden, fact = PLACES[place]
    text = show(jobs)
    assert re.findall(f"{SECRET}[a-z-]+", text) == []
    assert text.count(REDACTED) == hidden
    assert fact in text


def test_every_relation_is_among_the_places() -> None:
    assert {f"jetsql.{relation.name}" for relation in SYSTEM_TABLES} <= set(PLACES)


@pytest.mark.parametrize(
    ("changed", "hidden", "words"),
    [
        ({"sources": (source(location=url("moved")),)}, 2, "the location of the source"),
        ({"operators": (Operator("Aggregate", f"of {url('other')}"),)}, 2, " in the aggregate"),
    ],
)
@pytest.mark.parametrize("explain", [False, True])
def test_a_refused_update_and_its_explanation_hide_secrets(
    jobs: JobsHarness, changed: dict[str, object], hidden: int, words: str, explain: bool
) -> None:
    jobs.runtime.analysis = analysis(**{**FACTS, **changed})
    if explain:
        [text] = [line for line in explained(jobs).splitlines() if line.startswith("Update:")]
    else:
        with raises(StatementError) as caught:
            jobs.run(UPDATE)
        text = caught.value.message
    assert words in text and text.count(REDACTED) == hidden and SECRET not in text


def test_a_snapshot_of_another_query_hides_the_secrets_of_both(jobs: JobsHarness) -> None:
    jobs.runtime.analysis = analysis(**{**FACTS, "sources": (source(location=url("moved")),)})
    with raises(StatementError) as caught:
        jobs.run(create("k", {"initialSnapshotName": "s"}))
    text = f"{caught.value.message} {caught.value.hint}"
    assert "Its statement: INSERT INTO out SELECT id" in text and text.count(REDACTED) == 3 and SECRET not in text


@pytest.mark.parametrize("status", ["RUNNING", "SUSPENDED"])
def test_a_snapshot_that_fails_reports_no_secret(jobs: JobsHarness, status: str) -> None:
    if status == "SUSPENDED":
        jobs.sql("SUSPEND JOB j")
    jobs.runtime.copy_errors = [OSError(f"{url('copied')} refuses {SECRET}new-option")]
    error = jobs.error_of("CREATE SNAPSHOT t FOR JOB j")
    assert f"job j is {status}." in error.message
    assert f"jdbc:shop://{REDACTED}@host/shop refuses {REDACTED}" in error.message


def test_old_snapshots_are_shown_without_secrets_of_options(jobs: JobsHarness) -> None:
    """Show a snapshot as older releases stored it."""
    [snapshot] = jobs.store.snapshots()
    text = create("j", OPTIONS, body=OLD_BODY).text
    jobs.store.add_snapshot(replace(snapshot, id="older", name="older", statement=text))
    found = shown("SHOW SNAPSHOTS")(jobs)
    assert "'spark.example.password' = '***'" in found and SECRET not in found


@pytest.mark.parametrize(
    "piece", ["a-", "a.", "?password", "?token-", "http://", "SET ", "DECLARE ", "password 'x' ", "SET a = b; "]
)
def test_long_texts_are_redacted_in_linear_time(piece: str) -> None:
    """Limit the time, because a search by a regular expression stops all threads: these texts took minutes."""
    text = piece * (200_000 // len(piece))
    assert redact_urls(f"{text}?password=x") == f"{text}?password={REDACTED}"
    assert redact_sql(f"{text}; SET my.password = x").endswith(REDACTED)


def test_url_of_an_alert_is_redacted() -> None:
    text = "CREATE ALERT a ON JOB j STATUS FAILED CALL {} OPTIONS ('every' = '1 day')"
    assert redact_sql(text.format("'https://hooks.slack.com/services/T/B/sesame'")) == text.format(f"'{REDACTED}'")
    assert redact_sql(text.format("'secret:slack'")) == text.format("'secret:slack'")
    assert redact_sql("CALL system.run('a')") == "CALL system.run('a')"
