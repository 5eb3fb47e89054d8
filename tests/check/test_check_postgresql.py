"""`jetsql check` and `jetsql logs` on a home whose store is on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from jetsql.check.check_home import check
from jetsql.check.findings import Severity
from jetsql.cli import cli
from jetsql.cli.connect import check_home
from jetsql.jobs.store.store_copy import copy_store
from jetsql.settings.engine_settings import load
from jetsql.settings.store_settings import StoreSettings
from tests.support.engines.check_homes import Home
from tests.support.engines.store_places import SchemaPlace
from tests.support.servers.postgres import PASSWORD, Postgres

pytestmark = pytest.mark.spark  # needs a server, as tests with Spark do


@pytest.fixture
def schema(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[SchemaPlace]:
    monkeypatch.setenv("PW", PASSWORD)
    place = SchemaPlace(postgres)
    yield place
    place.drop()


@pytest.fixture
def home(tmp_path: Path, schema: SchemaPlace) -> Home:
    """Return a home with one job, whose store was moved to PostgreSQL."""
    home = Home(tmp_path / "home")
    home.path.mkdir()
    home.checkpoint(home.spark(home.job()))
    copy_store(home.path, None, None, schema.url)
    (home.path / "jetsql.db").unlink()
    return home


def test_a_home_is_checked(home: Home, schema: SchemaPlace) -> None:
    store = StoreSettings(str(schema.url), "secret:env:PW")
    report = check(home.path, store)
    assert (report.is_well, report.jobs) == (True, 1)
    schema.execute("UPDATE jobs SET record = '[]'")
    [finding] = check(home.path, store).findings
    assert (finding.where, finding.remedy) == (str(schema.url), "Restore the schema of the store from a backup.")
    schema.drop()
    [finding] = check(home.path, store).findings
    assert finding.severity is Severity.ERROR and "it does not exist" in finding.message


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (StoreSettings(), "the setting store is missing"),
        (StoreSettings("postgresql://127.0.0.1:1/x"), "Connection refused"),
        (StoreSettings("postgresql://127.0.0.1:1/x", "secret:env:NONE"), "the variable NONE is not set"),
    ],
)
def test_a_store_that_cannot_be_read_is_one_finding(home: Home, store: StoreSettings, message: str) -> None:
    [finding] = check(home.path, store).findings
    assert finding.severity is Severity.ERROR and message in finding.message


def test_the_commands(home: Home, schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_HOME", str(home.path))
    monkeypatch.setenv("JETSQL_STORE", str(schema.url))
    monkeypatch.setenv("JETSQL_STORE_PASSWORD", "secret:env:PW")
    assert CliRunner().invoke(cli, ["check"]).exit_code == 0
    assert "JOB orders: submitted (SUSPENDED) words" in CliRunner().invoke(cli, ["logs", "orders"]).stdout
    messages: list[str] = []
    printer = type("Printer", (), {"print_message": messages.append})
    check_home(load(), printer, only_existing=True)  # type: ignore[arg-type]
    assert messages == []
