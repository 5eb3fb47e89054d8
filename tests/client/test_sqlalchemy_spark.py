"""SQLAlchemy and pandas with a real engine: tables are created, filled, read and reflected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from jetsql.client.sqlalchemy import ARRAY, DOUBLE, MAP, STRUCT, TIMESTAMP, TIMESTAMP_NTZ, TINYINT, VARIANT
from jetsql.embedded.engine_instance import EngineInstance
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

pytestmark = pytest.mark.spark
registry.register("jetsql", "jetsql.client.sqlalchemy", "JetSQLDialect")


@pytest.fixture(scope="module")
def server(engine: EngineInstance) -> Iterator[RunningServer]:
    with run_server(engine) as server:
        yield server


@pytest.fixture
def database(server: RunningServer) -> Iterator[sa.Engine]:
    """Yield an engine of SQLAlchemy with a schema for the test."""
    url = server.url.replace("http://", f"jetsql://:{TOKEN}@")
    root = sa.create_engine(url)
    with root.connect() as connection:
        connection.exec_driver_sql("CREATE SCHEMA alchemy COMMENT 'of the tests'")
    engine = sa.create_engine(f"{url}/alchemy")
    yield engine
    engine.dispose()
    with root.connect() as connection:
        connection.exec_driver_sql("DROP SCHEMA alchemy CASCADE")
    root.dispose()


COLUMNS: list[tuple[str, Any, Any]] = [
    ("tiny", TINYINT(), 1),
    ("small", sa.SmallInteger(), -5),
    ("number", sa.Integer(), 2**31 - 1),
    ("big", sa.BigInteger(), 2**63 - 1),
    ("money", sa.Numeric(10, 2), Decimal("1.10")),
    ("half", DOUBLE(), 0.1),
    ("yes", sa.Boolean(), True),
    ("text", sa.String(), "it's \\ ? :x"),
    ("short", sa.String(5), "abc"),
    ("raw", sa.LargeBinary(), b"\0\xff"),
    ("day", sa.Date(), date(2024, 2, 29)),
    ("moment", TIMESTAMP(), datetime(2024, 1, 1, 12, 0, 0, 1, tzinfo=UTC)),
    ("clock", TIMESTAMP_NTZ(), datetime(2024, 3, 31, 2, 30)),
    ("Group", sa.Integer(), 1),
    ("list", ARRAY(sa.String()), ["a", None]),
    ("counts", MAP(sa.String(), sa.Integer()), {"a": 1}),
    ("place", STRUCT(("x", sa.Integer()), ("at", ARRAY(STRUCT(("y", DOUBLE()))))), {"x": 1, "at": [{"y": 0.5}]}),
    ("json", sa.JSON(), {"a": [1, None]}),
]


@pytest.mark.parametrize("kinds", [(), (sa.Integer(), sa.String())], ids=["untyped", "typed"])
def test_tuples_in_lists(database: sa.Engine, kinds: tuple[Any, ...]) -> None:
    a, b = (sa.column(name, *kinds[index : index + 1]) for index, name in enumerate("ab"))
    pairs = sa.text("VALUES (1, 'x'), (2, 'y') AS t(a, b)")
    query = sa.select(a).select_from(pairs)
    with database.connect() as connection:

        def found(condition: Any) -> list[int]:
            return list(connection.execute(query.where(condition)).scalars())

        assert found(sa.tuple_(a, b).in_([])) == []
        assert found(sa.tuple_(a, b).not_in([])) == [1, 2]
        assert found(sa.tuple_(a, b).in_([(2, "y"), (1, "y")])) == [2]


@pytest.mark.slow
def test_values_of_every_type_go_in_and_come_back(database: sa.Engine) -> None:
    table = sa.Table("every", sa.MetaData(), *(sa.Column(name, kind) for name, kind, _ in COLUMNS))
    table.create(database)
    row = {name: value for name, _, value in COLUMNS}
    with database.connect() as connection:
        connection.execute(table.insert(), [row, dict.fromkeys(row)])
        found = connection.execute(sa.select(table).where(table.c.number == 2**31 - 1)).one()
        nothing = connection.execute(sa.select(table).where(table.c.number.is_(None))).one()
    expected = {**row, "place": (1, [(0.5,)])}
    assert dict(found._mapping) == expected
    assert set(nothing) == {None}


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("it's \\ back", "it's \\ back"),
        (datetime(2024, 1, 1, 1, 2, 3, 4), datetime(2024, 1, 1, 1, 2, 3, 4)),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
        (time(1, 2, 3), time(1, 2, 3)),
        (date(1, 1, 1), date(1, 1, 1)),
    ],
)
def test_literals_in_the_text(database: sa.Engine, literal: Any, value: Any) -> None:
    with database.connect() as connection:
        text = sa.select(sa.literal(literal)).compile(database, compile_kwargs={"literal_binds": True})
        assert connection.exec_driver_sql(str(text)).scalar() == value
        assert connection.execute(sa.select(sa.literal(literal))).scalar() == value


def test_intervals(database: sa.Engine) -> None:
    with database.connect() as connection:
        assert connection.execute(sa.select(sa.literal(timedelta(days=-1, seconds=1)))).scalar() == timedelta(-1, 1)


def test_reflection(database: sa.Engine) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE orders (id BIGINT NOT NULL COMMENT 'of the order', price DECIMAL(10,2) DEFAULT 1.5,"
            " tags ARRAY<STRUCT<a: INT, `b c`: MAP<STRING, TIMESTAMP_NTZ>>>, v VARIANT, n CHAR(3), w VARCHAR(9),"
            " day DATE) USING parquet PARTITIONED BY (day) COMMENT 'all of them'"
        )
        connection.exec_driver_sql("CREATE VIEW cheap AS SELECT id FROM orders WHERE price < 1")
        connection.exec_driver_sql("CREATE TEMPORARY VIEW passing AS SELECT 1 AS one")
        inspector = sa.inspect(connection)
        assert inspector.default_schema_name == "alchemy"
        assert {"alchemy", "default"} <= set(inspector.get_schema_names())
        assert (inspector.get_table_names(), inspector.get_view_names()) == (["orders"], ["cheap"])
        assert inspector.get_temp_view_names() == ["passing"]
        assert inspector.get_table_names(schema="alchemy") == ["orders"]
        assert [inspector.has_table(name) for name in ("orders", "cheap", "passing", "nothing")] == [
            True,
            True,
            True,
            False,
        ]
        assert inspector.has_table("orders", schema="alchemy") and not inspector.has_table("orders", schema="nowhere")
        assert inspector.get_view_definition("cheap") == "SELECT id FROM orders WHERE price < 1"
        assert inspector.get_table_comment("orders") == {"text": "all of them"}
        assert inspector.get_table_options("orders") == {"jetsql_using": "parquet", "jetsql_partitioned_by": ["day"]}
        columns = {column["name"]: column for column in inspector.get_columns("orders")}
        nothing = [
            inspector.get_indexes,
            inspector.get_foreign_keys,
            inspector.get_unique_constraints,
            inspector.get_check_constraints,
        ]
        assert [ask("orders") for ask in nothing] == [[], [], [], []]
        assert inspector.get_pk_constraint("orders")["constrained_columns"] == []
        assert inspector.get_columns("passing")[0]["name"] == "one"
        with pytest.raises(sa.exc.NoSuchTableError):
            inspector.get_columns("nothing")
    assert columns["id"]["comment"] == "of the order"
    assert columns["price"]["default"] == "1.5"
    assert (columns["day"]["nullable"], columns["v"]["comment"]) == (True, None)
    compiled = database.dialect.type_compiler.process
    assert [compiled(column["type"]) for column in columns.values()] == [
        "BIGINT", "DECIMAL(10, 2)", "ARRAY<STRUCT<`a`: INT, `b c`: MAP<STRING, TIMESTAMP_NTZ>>>", "VARIANT",
        "CHAR(3)", "VARCHAR(9)", "DATE",
    ]  # fmt: skip
    assert isinstance(columns["v"]["type"], VARIANT)


@pytest.mark.slow
def test_a_reflected_table_makes_the_same_again(database: sa.Engine) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE a (id INT COMMENT 'c', s STRUCT<x: INT>) USING orc COMMENT 'of a'")
        read = sa.Table("a", sa.MetaData(), autoload_with=connection)
        read.to_metadata(sa.MetaData(), name="b").create(connection)
        inspector = sa.inspect(connection)
        assert inspector.get_table_comment("b") == {"text": "of a"}
        assert inspector.get_columns("b")[0]["comment"] == "c"
        assert inspector.get_table_options("b") == {"jetsql_using": "orc"}


def test_job_statements_run_like_others(database: sa.Engine) -> None:
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE source (id INT) USING json")
        connection.exec_driver_sql("CREATE TABLE copies (id INT) USING parquet")
        connection.exec_driver_sql("INSERT INTO source VALUES (1)")
        created = connection.exec_driver_sql(
            "CREATE JOB copying OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO copies"
            " SELECT * FROM STREAM source"
        ).one()
        assert (created.name, created.status) == ("copying", "RUNNING")
        connection.exec_driver_sql("WAIT FOR JOB copying UNTIL IDLE")
        assert connection.exec_driver_sql("SELECT * FROM copies").all() == [(1,)]
        connection.exec_driver_sql("DROP JOB copying")
        with pytest.raises(sa.exc.ProgrammingError, match="JOB_NOT_FOUND"):
            connection.exec_driver_sql("SUSPEND JOB nothing")


@pytest.mark.slow
def test_pandas(database: sa.Engine) -> None:
    days = pandas.to_datetime(["2024-01-01", "2024-01-02", None])
    frame = pandas.DataFrame({"id": [1, 2, 3], "name": ["a", None, "c"], "at": days, "price": [0.5, None, 1.5]})
    frame.to_sql("frames", database, index=False)
    frame.to_sql("frames", database, index=False, if_exists="append")
    assert pandas.read_sql("SELECT count(*) AS n FROM frames", database)["n"].tolist() == [6]
    back = pandas.read_sql("SELECT DISTINCT * FROM frames ORDER BY id", database)
    pandas.testing.assert_frame_equal(back, frame, check_dtype=False)
    frame.to_sql("indexed", database)
    assert len(pandas.read_sql_table("indexed", database)) == 3
    frame[:1].to_sql("indexed", database, if_exists="replace")
    found = pandas.read_sql(sa.text("SELECT id FROM indexed WHERE id = :id"), database, params={"id": 1})
    assert found["id"].tolist() == [1]


def test_the_relations_of_jobs_are_tables_like_others(database: sa.Engine) -> None:
    with database.connect() as connection:
        inspector = sa.inspect(connection)
        assert "jobs" in {*inspector.get_table_names(schema="jetsql"), *inspector.get_view_names(schema="jetsql")}
        jobs = sa.Table("jobs", sa.MetaData(), schema="jetsql", autoload_with=connection)
        assert isinstance(jobs.c.submission_time.type, TIMESTAMP)
        counted = sa.select(jobs.c.status, sa.func.count()).group_by(jobs.c.status)
        shown = connection.exec_driver_sql("SHOW ALL JOBS").all()
        assert sum(count for _, count in connection.execute(counted)) == len(shown)
