"""Values of all types of Spark, nested in each other, through all clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell
from py4j.protocol import Py4JJavaError
from pyspark.sql.connect.session import SparkSession as ConnectSession
from traitlets.config import Config

import jetsql
from jetsql import cli
from jetsql.client import dbapi
from jetsql.notebook.run_cell import CellFailed
from jetsql.settings.engine_settings import EndpointSettings
from tests.support.golden_reports import compare
from tests.support.servers.http_server import TOKEN, run_server

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance

pytestmark = pytest.mark.spark

VALUES = (
    *("true", "1Y", "1S", "1", "1L", "float(0.5)", "0.1D", "1.10BD", "'text'", "X'00ff'", "date '2020-01-02'"),
    *(
        "timestamp '2020-01-02 03:04:05.000006'",
        "timestamp_ntz '2020-01-02 03:04:05'",
    ),
    *("interval '1-2' year to month", "interval -14 month", "interval 3 year", "interval '1 02:03:04' day to second"),
    *("make_interval(1, 2, 3)", "parse_json('{\"a\": 1}')", "NULL", "array(1)", "map('a', 1)", "struct(1 AS a)"),
    *("cast('a' AS CHAR(3))", "array(interval 1 month)", "map(array(1), 2)", "named_struct('a', array(1))"),
)
TIME = "time '10:00:00.000001'"
NO_CONNECT = ("interval", "make_interval", "array(interval")  # PySpark's Connect client has no class for these
NO_KEYS = ("make_interval", "parse_json", "NULL", "map(")  # values that Spark does not take as keys


@dataclass(frozen=True)
class Hive:
    """A connection of Hive's JDBC driver over Thrift."""

    connection: Any

    def row(self, text: str) -> list[str | None]:
        """Return the only row, as the driver's texts. Raises Py4JJavaError with a SQLException."""
        statement = self.connection.createStatement()
        rows = statement.executeQuery(text)
        rows.next()
        found = [rows.getString(number + 1) for number in range(rows.getMetaData().getColumnCount())]
        statement.close()
        return found

    def prepared(self, text: str, *values: str | int) -> list[str | None]:
        """Return the rows' first columns of a statement into which the driver writes values."""
        statement = self.connection.prepareStatement(text)
        for number, value in enumerate(values, start=1):
            (statement.setInt if isinstance(value, int) else statement.setString)(number, value)
        rows, found = statement.executeQuery(), []
        while rows.next():
            found.append(rows.getString(1))
        statement.close()
        return found


@pytest.fixture(scope="module")
def url(engine: EngineInstance) -> Iterator[str]:
    with run_server(engine) as server:
        yield server.url


@pytest.fixture(scope="module")
def connection(url: str) -> Iterator[dbapi.Connection]:
    with closing(jetsql.connect(url, token=TOKEN)) as opened:
        yield opened


@pytest.fixture(scope="module")
def endpoints(engine: EngineInstance) -> Iterator[tuple[ConnectSession, Hive]]:
    with engine.open_endpoints(EndpointSettings(connect=True, thrift=True), TOKEN) as addresses:
        session = ConnectSession.builder.remote(f"{addresses.connect}/;token={TOKEN}").create()
        jvm: Any = engine.spark.sparkContext._jvm
        login = jvm.java.util.Properties()
        login.setProperty("user", "me")
        login.setProperty("password", TOKEN)
        hive = jvm.org.apache.hive.jdbc.HiveDriver().connect(f"{addresses.thrift}/default", login)
        yield session, Hive(hive)
        hive.close()
        session.stop()


@pytest.fixture(scope="module")
def connect(endpoints: tuple[ConnectSession, Hive]) -> ConnectSession:
    return endpoints[0]


@pytest.fixture(scope="module")
def hive(endpoints: tuple[ConnectSession, Hive]) -> Hive:
    return endpoints[1]


@pytest.fixture
def shell(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "jetsql")
    shell.run_line_magic("jetsql", url)
    yield shell
    shell.run_line_magic("jetsql", "--close")
    shell.run_line_magic("unload_ext", "jetsql")
    InteractiveShell.clear_instance()


def nested(value: str) -> str:
    """Return the columns of a SELECT: a value, and the value in others, two deep."""
    columns = [value, f"array({value})", f"map('k', {value})", f"named_struct('f', {value})"]
    return ", ".join([*columns, f"array(array({value}))", f"map('k', named_struct('f', {value}))"])


def hashable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(hashable, value))
    return tuple(map(hashable, value)) if isinstance(value, list) else value


def row(connection: dbapi.Connection, text: str) -> tuple[Any, ...]:
    cursor = connection.cursor()
    cursor.execute(text)
    [found] = cursor.fetchall()
    return tuple(found)


@pytest.mark.parametrize("value", VALUES)
def test_values_are_the_same_at_any_depth(connection: dbapi.Connection, value: str) -> None:
    [alone] = row(connection, f"SELECT {value}")
    nested = row(
        connection,
        f"SELECT array({value}), map('k', {value}), named_struct('f', {value}), array(array({value}, NULL)),"
        f" named_struct('f', map(1, named_struct('g', array({value}))))",
    )
    assert nested == ([alone], {"k": alone}, (alone,), [[alone, None]], ({1: ([alone],)},))
    with connection.arrow_cursor() as cursor:
        cursor.execute(f"SELECT {value} AS a, array({value}) AS b, named_struct('f', array({value})) AS c")
        [found] = cursor.fetch_arrow_table().to_pylist()
        assert found["b"] == [found["a"]] and found["c"] == {"f": [found["a"]]}
    if not value.startswith(NO_KEYS):
        keys = row(connection, f"SELECT map({value}, 1), array(map(array({value}), {value}))")
        key = hashable(alone)
        assert keys == ({key: 1}, [{(key,): alone}])
        with connection.arrow_cursor() as cursor:
            [pairs] = cursor.execute(f"SELECT map({value}, 1) AS m").fetch_arrow_table().to_pylist()
            assert pairs["m"] == [(found["a"], 1)]


def test_a_time_that_spark_has_to_convert_has_one_error(connection: dbapi.Connection) -> None:
    assert row(connection, f"SELECT {TIME}, map('k', {TIME})") == (time(10, 0, 0, 1), {"k": time(10, 0, 0, 1)})
    text = f"SELECT array({TIME}, NULL)"
    with pytest.raises(dbapi.NotSupportedError, match=r"UNSUPPORTED_TIME_TYPE.* SET spark.sql.timeType.enabled = true"):
        row(connection, text)
    row_of_setting = row(connection, "SET spark.sql.timeType.enabled = true")
    assert row_of_setting and row(connection, text) == ([time(10, 0, 0, 1), None],)
    row(connection, "SET spark.sql.timeType.enabled = false")


def test_month_intervals_and_maps_with_list_keys_are_values(connection: dbapi.Connection) -> None:
    assert row(connection, "SELECT interval '1-2' year to month, interval -14 month, interval 3 year") == (
        *("1-2", "-1-2", "3-0"),
    )
    assert row(connection, "SELECT map(array(1, 2), 'x'), map(struct(array(1)), 2)") == ({(1, 2): "x"}, {((1,),): 2})


@pytest.mark.parametrize("value", [value for value in VALUES if not value.startswith(NO_CONNECT)])
def test_spark_connect_has_the_values_of_spark(engine: EngineInstance, connect: ConnectSession, value: str) -> None:
    text = f"SELECT {nested(value)}"
    if value == "map(array(1), 2)":  # PySpark makes a dictionary of it, in both sessions
        with pytest.raises(TypeError, match="unhashable"):
            connect.sql(text).collect()
        assert connect.sql(f"SELECT {value} AS m").toArrow().to_pylist() == [{"m": [([1], 2)]}]
    elif value.startswith("parse_json"):
        assert connect.sql(text).collect()[0][1][0].toPython() == {"a": 1}
    else:
        assert repr(connect.sql(text).collect()) == repr(engine.spark.sql(text).collect())


@pytest.mark.parametrize("value", [value for value in VALUES if value.startswith(NO_CONNECT)])
def test_spark_connect_has_an_error_for_other_intervals(connect: ConnectSession, value: str) -> None:
    is_of_days = "day to second" in value
    if is_of_days:
        assert connect.sql(f"SELECT {value}").collect()
        return
    with pytest.raises((NotImplementedError, TypeError), match=r"year-month interval|interval is not supported"):
        connect.sql(f"SELECT {value}").collect()
    assert connect.sql(f"SELECT CAST({value} AS STRING)").collect()[0][0]


def test_spark_connect_has_times_after_a_setting(connect: ConnectSession) -> None:
    with pytest.raises(Exception, match="UNSUPPORTED_TIME_TYPE"):
        connect.sql(f"SELECT {TIME}").collect()
    connect.conf.set("spark.sql.timeType.enabled", "true")
    assert connect.sql(f"SELECT {TIME}, array({TIME}, NULL)").collect() == [
        (time(10, 0, 0, 1), [time(10, 0, 0, 1), None])
    ]
    connect.conf.unset("spark.sql.timeType.enabled")


def test_thrift_has_texts_of_all_values(hive: Hive) -> None:
    found = []
    for value in VALUES:
        if value.startswith("parse_json"):
            with pytest.raises(Py4JJavaError, match="Unrecognized type name: variant"):  # of the driver
                hive.row(f"SELECT {value}")
            assert hive.row(f"SELECT CAST({value} AS STRING)") == ['{"a":1}']
        else:
            found.append(f"{value}: {' | '.join(map(str, hive.row(f'SELECT {nested(value)}')))}")
    compare(found)
    with pytest.raises(Py4JJavaError, match="UNSUPPORTED_TIME_TYPE"):
        hive.row(f"SELECT {TIME}")
    hive.row("SET spark.sql.timeType.enabled = true")
    assert hive.row(f"SELECT {TIME}, array({TIME}, NULL)") == ["10:00:00.000001", "[10:00:00.000001,null]"]
    hive.row("SET spark.sql.timeType.enabled = false")


@pytest.mark.parametrize("form", ["table", "vertical", "csv", "json", "markdown"])
def test_the_command_line_has_texts_of_all_values(url: str, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    columns = [f"{value} AS v{n}, array(map('k', {value})) AS n{n}" for n, value in enumerate((*VALUES, TIME))]
    ended = CliRunner().invoke(cli.cli, ["--url", url, "--format", form, "-e", f"SELECT {', '.join(columns)}"])
    assert ended.exit_code == 0, ended.output
    compare(ended.output.splitlines())


def test_notebooks_show_all_values(shell: InteractiveShell) -> None:
    columns = [f"{value} AS v{n}, array(map('k', {value})) AS n{n}" for n, value in enumerate((*VALUES, TIME))]
    found: Any = shell.run_line_magic("jetsql", f"SELECT {', '.join(columns)}")
    assert found._repr_html_().count("<td") == len(found.columns) == 2 * len(columns)
    compare([repr(found), *map(str, found.to_pandas().iloc[0])])


def test_values_that_a_driver_writes_into_the_statement_over_thrift(hive: Hive) -> None:
    """Write the values into the text, as drivers do, because the protocol has no parameters."""
    for text in ("it's", "?", "'; --", "\u20ac", '"x" `y`'):
        assert hive.prepared("SELECT ? WHERE 5 = ?", text, 5) == [text]
    assert hive.prepared("SHOW JOBS LIKE ?", "no such job") == []
    for statement in ("SELECT ?", "SELECT :x"):
        with pytest.raises(Py4JJavaError, match="UNBOUND_SQL_PARAMETER"):
            hive.row(statement)
    with pytest.raises(Py4JJavaError, match="Clients such as the DB-API send the values of parameters"):
        hive.row("SHOW JOBS LIKE ?")


def test_spark_connect_takes_as_many_values_as_markers(engine: EngineInstance, connect: ConnectSession) -> None:
    for session in (connect, engine.spark):
        assert session.sql("SELECT ? + ?", args=[1, 2]).collect() == [(3,)]
        assert session.sql("SELECT :x", args={"x": 1, "y": 2}).collect() == [(1,)]
        assert session.sql("SHOW JOBS LIKE ?", args=["no such job"]).collect() == []
        assert session.sql("SELECT * FROM range(9) WHERE id = ?::BIGINT", args=[5]).collect() == [(5,)]
        for text, values in (
            ("SELECT ?", [1, 2]),
            ("SELECT 1", [1]),
            ("SELECT ?, ?", [1]),
            ("SHOW JOBS LIKE ?", ["a", "b"]),
        ):
            with pytest.raises(Exception, match=r"PARAMETER_NOT_READABLE.*The request has \d parameters?, but"):
                session.sql(text, args=values).collect()


def test_notebook_parameter_error_has_a_hint(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = 5
    result = shell.run_line_magic("jetsql", "SELECT ${x} AS x")
    assert list(result) == [(5,)]
    with pytest.raises(CellFailed, match=r"variables instead: \$\{name\}"):
        shell.run_line_magic("jetsql", "SELECT :x")
    with pytest.raises(CellFailed, match=r"write '\$\{name\}' for a variable"):
        shell.run_line_magic("jetsql", "SHOW JOBS LIKE :x")
