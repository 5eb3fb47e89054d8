"""The DB-API with a real engine: the public compliance test, parameters and values of every type, Arrow."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import dbapi20
import pytest
from pyspark.errors import AnalysisException

import jetsql
from jetsql.client import dbapi
from jetsql.client.decoding import Struct
from jetsql.client.parameter_encoding import Typed
from jetsql.embedded.engine_instance import EngineInstance
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server(engine: EngineInstance) -> Iterator[RunningServer]:
    with run_server(engine) as server:
        yield server


@pytest.fixture
def connection(server: RunningServer) -> Iterator[dbapi.Connection]:
    with jetsql.connect(server.url, token=TOKEN) as connection:
        connection.cursor().execute("CREATE SCHEMA IF NOT EXISTS dbapi")
        connection.cursor().execute("USE dbapi")
        yield connection
        connection.cursor().execute("DROP SCHEMA dbapi CASCADE")


@pytest.mark.slow
class TestCompliance(dbapi20.DatabaseAPI20Test):
    """The DB-API's public test (PyPI: dbapi-compliance), with the methods that each driver has to override."""

    driver = dbapi

    @pytest.fixture(autouse=True)
    def _engine(self, server: RunningServer) -> None:
        self.connect_args = (server.url,)
        self.connect_kw_args = {"token": TOKEN}

    def test_nextset(self) -> None:
        """Optional, and a statement here has one result."""
        assert not hasattr(self._connect().cursor(), "nextset")

    def test_setoutputsize(self) -> None:
        self.test_setoutputsize_basic()

    def test_non_idempotent_close(self) -> None:
        """Close twice without an error: PEP 249 asks for none, and the test says that reasonable persons differ."""
        connection = self._connect()
        connection.close()
        connection.close()


BERLIN_TWICE = [datetime(2024, 10, 27, 2, 30, tzinfo=timezone(timedelta(hours=hours))) for hours in (2, 1)]
VALUES: list[Any] = [
    True,
    0,
    -(2**31),
    2**63 - 1,
    10**37,
    1.5,
    1e-320,
    float("inf"),
    float("-inf"),
    Decimal("1.10"),
    Decimal("-0.00001"),
    Decimal("99999999999999999999.999999999999999999"),
    "",
    "it's \\ ? :x ${spark.app.name} \n \u20ac \U0001f600 --",
    b"",
    b"\0\xff",
    date(1, 1, 1),
    date(9999, 12, 31),
    *BERLIN_TWICE,
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1883, 11, 18, 12, 0, 0, 1, tzinfo=timezone(timedelta(hours=-4, minutes=-56, seconds=-2))),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 3, 31, 2, 30),  # which Berlin's clocks leave out
    time(0, 0),
    time(23, 59, 59, 999999),
    timedelta(0),
    timedelta(days=-1, microseconds=1),
    timedelta(days=106751990),
    [],
    [1, None, 3],
    [["a"], [], None],
    {},
    {"a": [1], "b": None},
    {1: BERLIN_TWICE[1]},
    (1, "x", None),
    Struct(["same", "same"], [1, BERLIN_TWICE[0]]),
    [(1, {"k": b"\0"})],
]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "+05:30"])
def test_parameters_are_exact(connection: dbapi.Connection, zone: str) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET TIME ZONE '{zone}'")
    markers = ", ".join(f"? AS c{n}" for n in range(len(VALUES)))
    [found] = cursor.execute(f"SELECT {markers}", VALUES).fetchall()
    assert [parsed(value) for value in found] == [parsed(value) for value in VALUES]


def parsed(value: Any) -> Any:
    """Return values in a comparable form: points in time as such, and with a mark whether they have an offset."""
    match value:
        case datetime():
            return ("moment", (value - datetime(1970, 1, 1, tzinfo=UTC))) if value.tzinfo else ("clock", value)
        case dict():
            return {key: parsed(member) for key, member in value.items()}
        case list() | tuple():
            return [parsed(member) for member in value]
        case int() if abs(value) >= 2**63:
            return Decimal(value)
        case bool() | int() | float():
            return type(value), value
    return value


def test_parameters_of_other_types_and_by_name(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    values = {"small": Typed(1, "smallint"), "money": Typed("1.1", "decimal(10,2)"), "none": Typed(None, "date")}
    cursor.execute("SELECT :small, :money AS m, :none AS n, typeof(:none), float('nan') IS NOT NULL", values)
    assert cursor.description is not None
    assert [column[1] for column in cursor.description] == ["smallint", "decimal(10,2)", "date", "string", "boolean"]
    assert cursor.description[1][4:6] == (10, 2)
    assert cursor.fetchall() == [(1, Decimal("1.10"), None, "date", True)]


def test_statements_about_jobs_have_parameters(connection: dbapi.Connection, engine: EngineInstance) -> None:
    """Store the values as literals of the statement, in the DB-API and in `spark.sql`."""
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE bound_in (id BIGINT) USING parquet")
    cursor.execute("CREATE TABLE bound_out (id BIGINT, word STRING, at TIMESTAMP) USING parquet")
    moment = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)  # in the repeated hour of Berlin
    text = "CREATE JOB bound AS INSERT INTO bound_out SELECT id, :word, :at FROM STREAM bound_in WHERE id > :least"
    cursor.execute(text, {"word": "it's", "at": moment, "least": 1})
    cursor.execute("SHOW CREATE JOB bound")
    [[created]] = cursor.fetchall()
    assert "timestamp_micros(1729989000000000)" in created and "WHERE id > 1" in created
    cursor.execute("INSERT INTO bound_in VALUES (?), (?)", [1, 2])
    cursor.execute("WAIT FOR JOB bound UNTIL IDLE TIMEOUT ? SECONDS", [60])
    cursor.execute("SELECT * FROM bound_out")
    assert cursor.fetchall() == [(2, "it's", moment)]
    for pattern, names in (("bou*", ["bound"]), ("z", [])):
        assert [row.name for row in engine.spark.sql("SHOW JOBS LIKE :p", args={"p": pattern}).collect()] == names
        assert [row.name for row in engine.spark.sql("SHOW JOBS LIKE ?", args=[pattern]).collect()] == names
    with pytest.raises(AnalysisException, match="The request has 2 parameters, but the statement has 1 marker"):
        engine.spark.sql("SHOW JOBS LIKE ?", args=["a", "b"])
    cursor.execute("DROP JOB bound")


def test_parsers_bind_parameters_as_for_spark_connect(engine: EngineInstance) -> None:
    """Spark Connect leaves it to the parser; Spark's own sessions bind once more, without an effect."""
    session = engine.spark._jsparkSession
    jvm: Any = engine.spark._jvm
    columns = jvm.org.apache.spark.sql.catalyst.expressions.Literal
    values = jvm.PythonUtils.toSeq([columns.create(5, _int_type(engine))])
    context = jvm.org.apache.spark.sql.catalyst.parser.PositionalParameterContext(values)
    plan = session.sessionState().sqlParser().parsePlanWithParameters("SELECT ? AS x", context)
    execution = session.sessionState().executePlan(plan, getattr(session.sessionState(), "executePlan$default$2")())
    assert "Project [5 AS x" in execution.analyzed().toString()
    for text in ("SELECT ? AS x", "EXPLAIN SELECT ? AS x", "VALUES (?)", "WITH c AS (SELECT ? AS x) SELECT * FROM c"):
        assert "5" in str(engine.spark.sql(text, args=[5]).collect()[0][0])


def test_spark_sql_errors_of_parameters_have_their_line(engine: EngineInstance) -> None:
    with pytest.raises(AnalysisException, match="line 2 pos 5"):
        engine.spark.sql("SHOW JOBS\nLIKE :a", args={"b": 1})


def test_statements_in_texts_have_parameters(engine: EngineInstance) -> None:
    assert engine.spark.sql("EXECUTE IMMEDIATE 'SELECT ? AS q' USING 4").collect() == [(4,)]
    assert engine.spark.sql("EXECUTE IMMEDIATE 'SELECT :q AS q' USING 4 AS q").collect() == [(4,)]


def _int_type(engine: EngineInstance) -> Any:
    jvm: Any = engine.spark._jvm
    return jvm.org.apache.spark.sql.types.DataType.fromDDL("int")


@pytest.mark.parametrize(
    ("text", "parameters", "condition"),
    [
        ("SELECT ?, ?", [1], "JETSQL.PARAMETER_NOT_READABLE"),
        ("SELECT :a", {"b": 1}, "UNBOUND_SQL_PARAMETER"),
        ("SELECT ?", [1, 2], "JETSQL.PARAMETER_NOT_READABLE"),
        ("SHOW JOBS LIKE ?", ["a", 1], "JETSQL.PARAMETER_NOT_READABLE"),
        ("SHOW JOBS LIKE :a", {"b": 1}, "JETSQL.PARAMETER_NOT_READABLE"),
        ("SHOW JOBS LIKE ?", [1], "JETSQL.PARSE_SYNTAX_ERROR"),
        ("SELECT nope", None, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("SELECT ?", [Typed("1", "nonsense")], "UNSUPPORTED_DATATYPE"),
    ],
)
def test_wrong_statements(connection: dbapi.Connection, text: str, parameters: Any, condition: str) -> None:
    with pytest.raises(dbapi.DatabaseError) as caught:
        connection.cursor().execute(text, parameters)
    assert caught.value.condition == condition


def test_a_value_that_its_type_does_not_take(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.DataError, match="CAST_INVALID_INPUT"):
        connection.cursor().execute("SELECT ?", [Typed("abc", "int")])
    with pytest.raises(dbapi.DataError, match="DIVIDE_BY_ZERO"):
        connection.cursor().execute("SELECT id / 0 FROM range(?)", [2]).fetchall()


def test_the_place_of_an_error_is_that_of_the_statement(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        connection.cursor().execute("SELECT\n  ? AS a, nope", ["x" * 100])
    assert (caught.value.line, caught.value.column) == (2, 11)


# Of every type that Python can hold: the expression, and what it is.
RESULTS: list[tuple[str, Any]] = [
    ("CAST(NULL AS VOID)", None),
    ("1Y", 1),
    ("9223372036854775807L", 2**63 - 1),
    ("CAST('0.1' AS FLOAT)", 0.1),
    ("array(CAST('0.1' AS FLOAT))[0] = CAST('0.1' AS FLOAT)", True),
    ("-0.0D", -0.0),
    ("DATE'0001-01-01'", date(1, 1, 1)),
    ("TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'", datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMP_NTZ'0001-01-01 00:00:00'", datetime(1, 1, 1)),
    ("INTERVAL '-1 02:03:04.5' DAY TO SECOND", -timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500)),
    ("INTERVAL '-5' MINUTE", timedelta(minutes=-5)),
    ("TIME'01:02:03.000004'", time(1, 2, 3, 4)),
    ("CAST(array() AS ARRAY<INT>)", []),
    ("map(named_struct('a', 1, 'b', 'x'), array(1.0BD))", {(1, "x"): [Decimal("1.0")]}),
    ("map(X'00FF', 1)", {b"\0\xff": 1}),
    ("map(TIMESTAMP'2024-01-01 00:00:00Z', 1)", {datetime(2024, 1, 1, tzinfo=UTC): 1}),
    ("map(true, 1, false, 2)", {True: 1, False: 2}),
    ("named_struct('a', 1, 'a', array(named_struct('a', NULL)))", (1, [(None,)])),
    ("named_struct()", ()),
    ('parse_json(\'{"a": [1, null, "x"]}\')', '{"a":[1,null,"x"]}'),
    ("X'00FF'", b"\0\xff"),
    ("CAST(1.5 AS DECIMAL(38,18))", Decimal("1.5")),
]


def test_values_of_every_type(connection: dbapi.Connection) -> None:
    columns = ", ".join(f"{expression} AS c{n}" for n, (expression, _) in enumerate(RESULTS))
    [row] = connection.cursor().execute(f"SELECT {columns}").fetchall()
    assert list(row) == [value for _, value in RESULTS]
    assert struct.pack("d", row[5]) == struct.pack("d", -0.0)


def test_values_go_through_a_table_and_back(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    columns = "id INT, name STRING, price DECIMAL(10,2), at TIMESTAMP, clock TIMESTAMP_NTZ, tags ARRAY<STRING>"
    cursor.execute(f"CREATE TABLE things ({columns}) USING parquet")
    rows = [
        (1, "a", Decimal("1.10"), BERLIN_TWICE[0], datetime(2024, 3, 31, 2, 30), ["x", None]),
        (2, None, Decimal("20.00"), BERLIN_TWICE[1], None, []),
        (3, "c", None, None, None, None),
    ]
    cursor.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?, ?)", rows)
    assert cursor.execute("SELECT * FROM things ORDER BY id").fetchall() == rows
    assert cursor.rowcount == 3


@pytest.mark.slow
def test_many_rows_in_one_call(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE many (id INT, name STRING) USING parquet")
    cursor.executemany("INSERT INTO many VALUES (?, ?)", [(n, f"name {n}") for n in range(7000)])
    assert cursor.execute("SELECT count(*), count(DISTINCT name), sum(id) FROM many").fetchone() == (
        7000, 7000, 7000 * 6999 // 2,
    )  # fmt: skip


@pytest.mark.slow
def test_arrow(connection: dbapi.Connection) -> None:
    cursor = connection.arrow_cursor()
    table = cursor.execute(
        "SELECT id, CAST(id AS DECIMAL(10,2)) AS d, array(id) AS a, TIMESTAMP'2024-01-01 00:00:00Z' AS t"
        " FROM range(0, 30000, 1, 3) WHERE id >= ?",
        [10],
    ).fetch_arrow_table()
    assert (table.num_rows, table.column("id").to_pylist()[::29989]) == (29990, [10, 29999])
    assert str(table.schema.field("d").type) == "decimal128(10, 2)"
    assert table.column("t")[0].as_py() == datetime(2024, 1, 1, tzinfo=UTC)
    frame = cursor.execute("SELECT 1 AS a, 'x' AS b WHERE false").fetch_df()
    assert (list(frame.columns), len(frame)) == (["a", "b"], 0)
    assert cursor.execute("SHOW JOBS").fetch_arrow_table().column_names[:2] == ["id", "name"]
    cursor.execute("CREATE TABLE arrowed (id INT) USING parquet")
    assert cursor.description is None


def test_errors_of_arrow(connection: dbapi.Connection) -> None:
    cursor = connection.arrow_cursor()
    with pytest.raises(dbapi.ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND"):
        cursor.execute("SELECT * FROM nowhere")
    with pytest.raises(dbapi.DataError, match="DIVIDE_BY_ZERO"):
        cursor.execute("SELECT 1 / id FROM range(1)")
    reader = cursor.execute("SELECT 1 / (id - 25000) FROM range(0, 30000, 1, 3)").fetch_record_batch()
    with pytest.raises(dbapi.DataError, match="DIVIDE_BY_ZERO"):
        reader.read_all()


def test_connections_see_changes_of_others(connection: dbapi.Connection, server: RunningServer) -> None:
    with jetsql.connect(server.url, token=TOKEN, schema="dbapi") as other:
        mine, theirs = connection.cursor(), other.cursor()
        mine.execute("CREATE TABLE shared (id DOUBLE) USING parquet")
        for cursor, expected in ((mine, [(0,)]), (theirs, [(0,)])):
            assert cursor.execute("SELECT count(*) FROM shared").fetchall() == expected
        theirs.execute("INSERT INTO shared VALUES (?)", [0.5])
        assert mine.execute("SELECT * FROM shared").fetchall() == [(0.5,)]
        theirs.execute("INSERT OVERWRITE shared VALUES (1.5)")
        assert mine.execute("SELECT * FROM shared").fetchall() == [(1.5,)]
        theirs.execute("TRUNCATE TABLE shared")
        assert mine.execute("SELECT * FROM shared").fetchall() == []
        theirs.execute("DROP TABLE shared")
        theirs.execute("CREATE TABLE shared (id DECIMAL(8,4)) USING parquet")
        mine.execute("INSERT INTO shared VALUES (?)", [Decimal("1.5")])
        assert theirs.execute("SELECT * FROM shared").fetchall() == [(Decimal("1.5000"),)]
        assert mine.execute("SELECT * FROM shared").fetchall() == [(Decimal("1.5000"),)]
