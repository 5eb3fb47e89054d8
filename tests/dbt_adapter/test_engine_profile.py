"""The fields of a profile that name the engine. It needs no dbt."""

import pytest

from jetsql.client import dbapi
from jetsql.dbt_adapter.engine_profile import (
    check_profile,
    open_connection,
    parent_settings,
    set_statements,
    shown_address,
)
from jetsql.jobs.model.spark_settings import PARENT_SETTING
from jetsql.jobs.openlineage.parent_runs import parse_parent
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer


@pytest.fixture
def engine() -> ServedEngine:
    return ServedEngine()


@pytest.mark.parametrize(
    ("url", "home", "schema", "message"),
    [
        ("http://h:1", None, None, "The profile has no schema."),
        ("http://h:1", "home", "s", "A home and a URL were given."),
        ("ftp://h:1", None, "s", "Unknown scheme"),
        ("http://h:port", None, "s", "Its port is not a number"),
    ],
)
def test_a_profile_that_cannot_work_is_refused(
    url: str | None, home: str | None, schema: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_profile(url, home, schema)


@pytest.mark.parametrize(
    ("url", "home"),
    [("http://h:1", None), ("https://a:1,b:2", None), ("jetsql://h:1", None), (None, "d"), (None, None)],
)
def test_a_profile_names_an_engine(url: str | None, home: str | None) -> None:
    check_profile(url, home, "s")


def test_the_address_is_shown_without_its_token() -> None:
    assert "secret" not in shown_address("http://:secret@h:1", None)
    assert shown_address(None, "my-home") == "my-home"
    assert shown_address(None, None) == "the home of the settings"


def test_settings_of_the_profile_are_written_as_spark_reads_them() -> None:
    assert set_statements({"spark.sql.ansi.enabled": False, "spark.sql.shuffle.partitions": 4}) == [
        "SET spark.sql.ansi.enabled=false",
        "SET spark.sql.shuffle.partitions=4",
    ]


def test_the_session_of_a_profile(server: RunningServer) -> None:
    with open_connection(server.url, None, TOKEN, False, {"spark.sql.ansi.enabled": True}) as connection:
        assert connection.cursor().execute("COUNT 1").fetchall() == [(0,)]


def test_a_wrong_token_is_reported(server: RunningServer) -> None:
    with pytest.raises(dbapi.OperationalError) as caught:
        open_connection(server.url, None, "wrong", False, {})
    assert caught.value.condition == "JETSQL.NOT_AUTHORIZED"


def test_run_of_dbt_is_the_parent_of_its_jobs() -> None:
    run, scheduler = "0199f4a1-0000-7000-8000-000000000001", "0199f4a1-0000-7000-8000-000000000002"
    environ = {"OPENLINEAGE_PARENT_ID": f"airflow/dag.task/{scheduler}"}
    assert parent_settings("shop", run, {}) == {PARENT_SETTING: f"dbt/dbt-run-shop/{run}"}
    found = parse_parent(parent_settings("shop", run, environ)[PARENT_SETTING])
    assert found is not None and found.root is not None
    assert (found.run, found.root.run) == (run, scheduler)
