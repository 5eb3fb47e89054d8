"""The SQLAlchemy dialect without Spark: the SQL for constructs and types, and URLs."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateTable

from jetsql.client import sqlalchemy as dialect
from jetsql.client.decoding import Struct
from jetsql.client.engine_address import EngineAddress, parse_address
from jetsql.client.sqlalchemy.column_types import type_from_json
from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, run_server

registry.register("jetsql", "jetsql.client.sqlalchemy", "JetSQLDialect")
DIALECT = dialect.JetSQLDialect()
THINGS = sa.table("things", sa.column("id", sa.Integer), sa.column("name", sa.String), sa.column("Order", sa.Integer))
C = THINGS.c


def compiled(construct: Any, **kw: Any) -> str:
    return " ".join(str(construct.compile(dialect=DIALECT, compile_kwargs=kw)).split())


@pytest.mark.parametrize(
    ("construct", "text"),
    [
        (sa.select(C.id).limit(5).offset(2), "SELECT things.id FROM things LIMIT ? OFFSET ?"),
        (sa.select(C.id).offset(2), "SELECT things.id FROM things OFFSET ?"),
        (sa.select(C.Order), "SELECT things.`Order` FROM things"),
        (sa.select(C.name + "x"), "SELECT things.name || ? AS anon_1 FROM things"),
        (sa.select(sa.cast(C.id, sa.String)), "SELECT CAST(things.id AS STRING) AS id FROM things"),
        (sa.select(C.id).where(C.name.regexp_match("a")), "SELECT things.id FROM things WHERE things.name RLIKE ?"),
        (sa.select(C.id).where(C.id.is_distinct_from(1)), "SELECT things.id FROM things WHERE NOT (things.id <=> ?)"),
        (sa.insert(THINGS).values([{"id": 1}, {"id": 2}]), "INSERT INTO things (id) VALUES (?), (?)"),
        (sa.select(sa.true()), "SELECT true AS anon_1"),
    ],
)
def test_constructs(construct: Any, text: str) -> None:
    assert compiled(construct) == text


@pytest.mark.parametrize(
    ("construct", "text"),
    [
        (sa.select(C.id).limit(5).offset(2), "SELECT things.id FROM things LIMIT 5 OFFSET 2"),
        (sa.select(C.id).where(C.name.regexp_match("a")), "SELECT things.id FROM things WHERE things.name RLIKE 'a'"),
        (
            sa.select(C.id).where(~C.name.regexp_match("a")),
            "SELECT things.id FROM things WHERE NOT (things.name RLIKE 'a')",
        ),
        (sa.select(C.id).where(C.id.is_distinct_from(1)), "SELECT things.id FROM things WHERE NOT (things.id <=> 1)"),
        (
            sa.select(C.id).where(sa.tuple_(C.id, C.name).in_([])),
            "SELECT things.id FROM things WHERE (things.id, things.name) IN (NULL) AND (1 != 1)",
        ),
        (
            sa.select(C.id).where(sa.tuple_(C.id, C.name).not_in([])),
            "SELECT things.id FROM things WHERE ((things.id, things.name) NOT IN (NULL) OR (1 = 1))",
        ),
        (sa.select(C.id).where(C.id.is_not_distinct_from(1)), "SELECT things.id FROM things WHERE things.id <=> 1"),
        (
            sa.select(sa.literal("a").regexp_replace("b", "c").label("x")),
            "SELECT regexp_replace('a', 'b', 'c') AS x",
        ),
    ],
)
def test_literals_in_constructs(construct: Any, text: str) -> None:
    assert compiled(construct, literal_binds=True) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's \\", "'it''s \\\\'"),
        (date(2024, 1, 2), "DATE'2024-01-02'"),
        (time(1, 2), "TIME'01:02:00'"),
        (datetime(2024, 1, 2), "TIMESTAMP_NTZ'2024-01-02 00:00:00'"),
        (datetime(2024, 1, 2, tzinfo=UTC), "TIMESTAMP'2024-01-02 00:00:00+00:00'"),
        (timedelta(days=-1, seconds=1), "INTERVAL '-0 23:59:59' DAY TO SECOND"),
        (True, "true"),
        (Decimal("1.10"), "1.10"),
        (b"\0\xff", "X'00ff'"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert compiled(sa.select(sa.literal(value)), literal_binds=True) == f"SELECT {text} AS anon_1"


NESTED = dialect.STRUCT(("id", sa.BigInteger()), ("a b", dialect.ARRAY(dialect.MAP(sa.String(), sa.Numeric(10, 2)))))
TYPES = [
    (sa.Integer(), "INT"),
    (sa.BigInteger(), "BIGINT"),
    (sa.SmallInteger(), "SMALLINT"),
    (dialect.TINYINT(), "TINYINT"),
    (sa.Float(), "DOUBLE"),
    (sa.Float(24), "FLOAT"),
    (sa.Float(53), "DOUBLE"),
    (sa.FLOAT(), "FLOAT"),
    (sa.FLOAT(24), "FLOAT"),
    (sa.FLOAT(25), "DOUBLE"),
    (sa.Numeric(10, 2), "DECIMAL(10, 2)"),
    (sa.Numeric(), "DECIMAL(38, 18)"),
    (sa.String(), "STRING"),
    (sa.String(5), "VARCHAR(5)"),
    (sa.CHAR(3), "CHAR(3)"),
    (sa.CHAR(), "STRING"),
    (sa.Text(), "STRING"),
    (sa.Unicode(), "STRING"),
    (sa.JSON(), "STRING"),
    (sa.Boolean(), "BOOLEAN"),
    (sa.LargeBinary(), "BINARY"),
    (sa.Date(), "DATE"),
    (sa.Time(), "TIME"),
    (sa.DateTime(), "TIMESTAMP_NTZ"),
    (sa.DateTime(timezone=True), "TIMESTAMP"),
    (sa.TIMESTAMP(timezone=True), "TIMESTAMP"),
    (dialect.TIMESTAMP(), "TIMESTAMP"),
    (sa.Interval(), "INTERVAL DAY TO SECOND"),
    (sa.ARRAY(sa.Integer, dimensions=2), "ARRAY<ARRAY<INT>>"),
    (NESTED, "STRUCT<`id`: BIGINT, `a b`: ARRAY<MAP<STRING, DECIMAL(10, 2)>>>"),
]


@pytest.mark.parametrize(("kind", "text"), TYPES, ids=[text for _, text in TYPES])
def test_types(kind: Any, text: str) -> None:
    assert compiled(CreateTable(sa.Table("t", sa.MetaData(), sa.Column("c", kind)))) == (
        f"CREATE TABLE t ( c {text} ) USING parquet"
    )


def test_tables() -> None:
    table = sa.Table(
        "t",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True, comment="it's"),
        sa.Column("day", sa.Date, server_default=sa.text("current_date()")),
        sa.UniqueConstraint("id"),
        comment="all of them",
        jetsql_using="orc",
        jetsql_partitioned_by=["day"],
        jetsql_location="/a",
        jetsql_properties={"k": 1},
    )
    assert compiled(CreateTable(table)) == (
        "CREATE TABLE t ( id INT NOT NULL COMMENT 'it\\'s', day DATE DEFAULT current_date() ) USING orc "
        "PARTITIONED BY (day) LOCATION '/a' COMMENT 'all of them' TBLPROPERTIES ('k' = '1')"
    )


SPARK_TYPES = [
    ({"name": "decimal", "precision": 10, "scale": 2}, "DECIMAL(10, 2)"),
    ({"name": "string", "collation": "UTF8_BINARY"}, "STRING"),
    ({"name": "time(6)"}, "TIME"),
    ({"name": "timestamp_ltz"}, "TIMESTAMP"),
    ({"name": "varchar", "length": 3}, "VARCHAR(3)"),
    ({"name": "interval", "start_unit": "day", "end_unit": "second"}, "INTERVAL DAY TO SECOND"),
    ({"name": "interval", "start_unit": "year", "end_unit": "year"}, "INTERVAL YEAR"),
    ({"name": "interval"}, "INTERVAL DAY TO SECOND"),
    ({"name": "array", "element_type": {"name": "map", "key_type": {"name": "int"}, "value_type": {"name": "double"}}},
     "ARRAY<MAP<INT, DOUBLE>>"),
    ({"name": "struct", "fields": [{"name": "a", "type": {"name": "variant"}}]}, "STRUCT<`a`: VARIANT>"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "text"), SPARK_TYPES, ids=[text for _, text in SPARK_TYPES])
def test_types_from_spark(column: dict[str, Any], text: str) -> None:
    assert DIALECT.type_compiler_instance.process(type_from_json(column)) == text


def test_nested_dictionaries_are_structs() -> None:
    kind = dialect.ARRAY(dialect.STRUCT(("a", sa.Integer()), ("b", dialect.STRUCT(("c", sa.Integer())))))
    convert = kind.bind_processor(DIALECT)
    assert convert is not None
    [found] = convert([{"b": {"c": 1}, "a": 2}])
    assert (found, found.__fields__, found[1].__fields__) == ((2, (1,)), ("a", "b"), ("c",))
    assert isinstance(found, Struct)
    assert dialect.ARRAY(sa.Integer()).bind_processor(DIALECT) is None
    struct = dialect.STRUCT(("a", sa.Integer())).dialect_impl(DIALECT)
    assert isinstance(struct, dialect.STRUCT) and struct.fields[0][0] == "a"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jetsql:///?home=/a/b", EngineAddress(None, "", home="/a/b")),
        ("jetsql+http://:s%40@host:80/sales", EngineAddress("http://host:80", "s@", schema="sales")),
        ("jetsql://", EngineAddress(None, "")),
    ],
)
def test_urls(url: str, expected: EngineAddress) -> None:
    [[given], options] = DIALECT.create_connect_args(sa.engine.make_url(url))
    assert (parse_address(None, given, None, None, True), options) == (expected, {})


def test_a_lost_session_is_a_lost_connection() -> None:
    with run_server(ServedEngine()) as server:
        url = server.url.replace("http://", f"jetsql://:{TOKEN}@")
        connection = DIALECT.import_dbapi().connect(url)
        cursor = connection.cursor()
        cursor.execute("USE sales")
        for session in list(server.http_server.sessions._sessions):
            server.http_server.sessions.close(session)
        with pytest.raises(connection.OperationalError) as caught:
            cursor.execute("SELECT 1")
        assert DIALECT.is_disconnect(caught.value, connection, cursor)
        connection.close()
