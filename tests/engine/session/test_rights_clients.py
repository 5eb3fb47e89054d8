"""Clients show a user what it has a right on: SQLAlchemy's reflection, completion, and the DB-API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from jetsql.client import dbapi
from jetsql.client.engine_client import EngineClient
from jetsql.completion.known_names import Names
from jetsql.completion.load_names import load_names
from jetsql.completion.needed_names import NameNeed, NameTopic
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import ReportedError
from tests.support.rights.restricted_session import HIDDEN, Restricted
from tests.support.servers.http_server import RunningServer, run_server

pytestmark = pytest.mark.spark
registry.register("jetsql", "jetsql.client.sqlalchemy", "JetSQLDialect")


@pytest.fixture(scope="module")
def server(engine: EngineInstance, ann: Restricted) -> Iterator[RunningServer]:
    with run_server(engine) as server:
        yield server


@pytest.fixture(scope="module")
def inspector(server: RunningServer, ann: Restricted) -> Iterator[sa.Inspector]:
    engine = sa.create_engine(server.url.replace("http://", f"jetsql://ann:{ann.tokens['ann']}@"))
    yield sa.inspect(engine)
    engine.dispose()


class Reader:
    """The statements by which completion reads names."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client

    def records(self, statement: str) -> Iterable[Mapping[str, Any]]:
        return list(self._client.run(statement).records)

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        return self.records("SHOW ALL JOBS")


@pytest.fixture(scope="module")
def reader(server: RunningServer, ann: Restricted) -> Iterator[Reader]:
    with closing(EngineClient(server.url, ann.tokens["ann"])) as client:
        yield Reader(client)


def test_reflection_shows_what_the_user_sees(inspector: sa.Inspector) -> None:
    assert set(inspector.get_schema_names()) == {"default", "jetsql", "own", "s"}
    assert set(inspector.get_table_names("s")) == {"orders", "items", "inbox"}
    assert set(inspector.get_view_names("s")) == {"names", "broken"}
    assert inspector.get_table_names("hr") == inspector.get_table_names("gap") == []
    assert not inspector.has_table("pay", "hr") and not inspector.has_table("hidden", "s")
    assert not inspector.has_schema("hr")
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("pay", "hr")


def test_reflection_shows_the_columns_of_tables_and_views(inspector: sa.Inspector) -> None:
    assert [column["name"] for column in inspector.get_columns("orders", "s")] == ["id", "amount"]
    assert [column["name"] for column in inspector.get_columns("names", "s")] == ["n", "who"]
    assert inspector.get_table_options("orders", "s")["jetsql_using"] == "parquet"


def test_reflection_hides_what_the_view_of_another_user_reads(inspector: sa.Inspector) -> None:
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_view_definition("names", "s")


def test_completion_offers_what_the_user_sees(reader: Reader) -> None:
    names = Names()
    needs = [
        NameNeed(NameTopic.JOBS),
        NameNeed(NameTopic.SNAPSHOTS),
        NameNeed(NameTopic.SCHEMAS),
        NameNeed(NameTopic.TABLES, "s"),
        NameNeed(NameTopic.COLUMNS, "s", "orders"),
        NameNeed(NameTopic.COLUMNS, "s", "names"),
        NameNeed(NameTopic.FUNCTIONS),
    ]
    for need in needs:
        names = load_names(reader, need, names)
    assert set(names.schemas) == {"default", "jetsql", "own", "s"}
    assert {table.name for table in names.tables["s"]} == {"orders", "items", "inbox", "names", "broken"}
    assert "upper" in {function.name for function in names.functions}
    assert not [word for word in (*HIDDEN, "hidden_function", "'pay'") if word in repr(names)]
    for need in (NameNeed(NameTopic.TABLES, "hr"), NameNeed(NameTopic.COLUMNS, "hr", "pay")):
        with pytest.raises(ReportedError, match="NOT_FOUND"):
            load_names(reader, need, names)


def test_cursor_of_the_db_api_shows_what_the_user_sees(server: RunningServer, ann: Restricted) -> None:
    with closing(dbapi.connect(server.url, token=ann.tokens["ann"])) as connection:
        cursor = connection.cursor()
        cursor.execute("SHOW SCHEMAS")
        assert {row[0] for row in cursor.fetchall()} == {"default", "jetsql", "own", "s"}
        with pytest.raises(dbapi.Error, match="TABLE_OR_VIEW_NOT_FOUND"):
            cursor.execute("SELECT * FROM hr.pay")
