"""The DB-API with an engine without Spark, over a real socket."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

import jetsql
from jetsql.client import dbapi
from jetsql.client.dbapi.cursor import batch_statements
from jetsql.client.dbapi.exceptions import to_dbapi_error
from jetsql.client.dbapi.type_objects import description
from jetsql.client.decoding import Struct
from jetsql.client.engine_address import EngineAddress, parse_address
from jetsql.client.parameter_encoding import Typed, encode_parameters
from jetsql.errors import SQLSTATES, ErrorReport, StatementError
from jetsql.home.discovery import EngineNote, write_note
from jetsql.language.statement_effects import keeps_session
from jetsql.resultset import Column
from jetsql.server.parameter_values import bind_parameters
from jetsql.version import VERSION
from tests.support.engines.server_engine import ServedEngine
from tests.support.golden_reports import raises
from tests.support.servers.http_server import TOKEN, RunningServer, run_server
from tests.support.sql_corpus import accepted_statements


@pytest.fixture
def engine() -> ServedEngine:
    return ServedEngine()


@pytest.fixture
def connection(server: RunningServer) -> Iterator[dbapi.Connection]:
    with jetsql.connect(server.url, token=TOKEN) as connection:
        yield connection


def test_no_heavy_module_is_imported(server: RunningServer) -> None:
    program = f"""
import sys, jetsql
with jetsql.connect({server.url!r}, token={TOKEN!r}) as connection:
    print(connection.cursor().execute("COUNT 2").fetchall())
heavy = "pyspark pandas pyarrow numpy sqlalchemy lark platformdirs filelock".split()
print([name for name in heavy if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines() == ["[(0,), (1,)]", "[]"]


def test_rows_by_every_way_of_fetching(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("COUNT 7")
    assert (cursor.fetchone(), cursor.fetchmany(), cursor.fetchmany(2)) == ((0,), [(1,)], [(2,), (3,)])
    assert (next(iter(cursor)), cursor.rowcount) == ((4,), -1)
    assert (cursor.fetchall(), cursor.fetchone(), cursor.fetchall(), cursor.rowcount) == ([(5,), (6,)], None, [], 7)
    cursor.arraysize = 3
    assert cursor.execute("COUNT 4").fetchmany() == [(0,), (1,), (2,)]


def test_the_row_count_is_known_when_all_rows_are_fetched(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (len(cursor.execute("COUNT 3").fetchall()), cursor.rowcount) == (3, 3)
    assert (len(cursor.execute("COUNT 3").fetchmany(3)), cursor.rowcount) == (3, -1)
    assert (len(cursor.fetchmany(1)), cursor.rowcount) == (0, 3)
    assert (len(cursor.execute("COUNT 3").fetchmany(4)), cursor.rowcount) == (3, 3)
    assert (len(list(cursor.execute("COUNT 2"))), cursor.rowcount) == (2, 2)


def test_columns_are_described(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("COUNT 1")
    assert cursor.description == [("n", "int", None, None, None, None, None)]
    assert cursor.description[0][1] == dbapi.NUMBER != dbapi.STRING
    cursor.execute("NOTHING")
    assert cursor.description is None
    with raises(dbapi.InterfaceError, match="no rows"):
        cursor.fetchall()


def test_a_decimal_is_described_with_its_digits() -> None:
    columns = (Column("price", "decimal(10,2)"), Column("day", "date"))
    assert description(columns) == [
        ("price", "decimal(10,2)", None, None, 10, 2, None),
        ("day", "date", None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("decimal(10,2)", dbapi.NUMBER),
        ("bigint", dbapi.NUMBER),
        ("timestamp_ntz", dbapi.DATETIME),
        ("time(6)", dbapi.DATETIME),
        ("varchar(3)", dbapi.STRING),
        ("binary", dbapi.BINARY),
        ("array<string>", None),
        ("interval day to second", None),
    ],
)
def test_types_are_compared_by_what_they_are(kind: str, found: object) -> None:
    objects = (dbapi.NUMBER, dbapi.DATETIME, dbapi.STRING, dbapi.BINARY, dbapi.ROWID)
    assert [each for each in objects if each == kind] == ([found] if found else [])


def test_cursors_of_one_connection_are_independent(connection: dbapi.Connection) -> None:
    one, other = connection.cursor(), connection.cursor()
    one.execute("COUNT 50000")
    assert one.fetchmany(2) == [(0,), (1,)]
    other.execute("USE sales")
    assert other.execute("COUNT 2").fetchall() == [(0,), (1,)]
    assert len(one.fetchall()) == 49998
    assert connection.schema == "sales"


def test_executing_again_discards_the_rows(connection: dbapi.Connection, engine: ServedEngine) -> None:
    cursor = connection.cursor()
    cursor.execute("ENDLESS").fetchone()
    assert cursor.execute("COUNT 1").fetchall() == [(0,)]
    assert engine.ended.wait(30)


def test_closed_objects_raise_errors(connection: dbapi.Connection, engine: ServedEngine) -> None:
    closed, open_one = connection.cursor(), connection.cursor()
    closed.execute("COUNT 1")
    closed.close()
    closed.close()
    for use in (closed.fetchone, lambda: closed.execute("COUNT 1"), lambda: closed.fetchmany(1)):
        with raises(dbapi.InterfaceError, match="cursor is closed"):
            use()
    open_one.execute("ENDLESS").fetchone()
    connection.close()
    assert engine.ended.wait(30)
    for use in (open_one.fetchone, lambda: open_one.execute("COUNT 1"), connection.cursor, connection.commit):
        with raises(dbapi.InterfaceError, match="closed"):
            use()


def test_no_transactions(connection: dbapi.Connection) -> None:
    connection.commit()
    with raises(dbapi.NotSupportedError):
        connection.rollback()


def test_error_has_all_facts(connection: dbapi.Connection) -> None:
    with raises(dbapi.ProgrammingError) as caught:
        connection.cursor().execute("\n FAIL job")
    error = caught.value
    assert (error.condition, error.sqlstate, error.hint) == ("JETSQL.JOB_NOT_FOUND", "42704", "See SHOW JOBS.")
    assert (error.line, error.column) == (2, 7)
    assert "There is no such job. See SHOW JOBS. (line 2, column 7)" in str(error)


def test_error_after_the_first_rows(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("LATE")
    assert cursor.fetchone() == (1,)
    with raises(dbapi.DatabaseError, match="the second row is broken"):
        cursor.fetchall()
    assert cursor.execute("COUNT 1").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("PARSE_SYNTAX_ERROR", dbapi.ProgrammingError),
        ("JOB_NOT_FOUND", dbapi.ProgrammingError),
        ("REQUEST_NOT_READABLE", dbapi.ProgrammingError),
        ("PARAMETER_NOT_READABLE", dbapi.ProgrammingError),
        ("NOT_SUPPORTED", dbapi.NotSupportedError),
        ("SINK_REFUSED_ROWS", dbapi.DataError),
        ("DUPLICATE_KEY", dbapi.IntegrityError),
        ("STATEMENT_CANCELLED", dbapi.OperationalError),
        ("SESSION_NOT_FOUND", dbapi.OperationalError),
        ("WRONG_STATUS", dbapi.OperationalError),
        ("INTERNAL_ERROR", dbapi.InternalError),
    ],
)
def test_exception_class_of_an_error(condition: str, kind: type[Exception]) -> None:
    assert isinstance(dbapi_error(f"JETSQL.{condition}", SQLSTATES[condition]), kind)


def test_every_condition_is_a_kind_of_error() -> None:
    errors = {
        name: state for name, state in SQLSTATES.items() if not state.startswith("01")
    }  # those of lint are warnings
    plain = [name for name, state in errors.items() if type(dbapi_error(name, state)) is dbapi.DatabaseError]
    assert plain == []


def dbapi_error(condition: str, sqlstate: str) -> Exception:
    from jetsql.client.dbapi.exceptions import to_dbapi_error

    return to_dbapi_error(ErrorReport(condition, sqlstate, "words"))


def check_cancelled(cursor: dbapi.Cursor, cancel: Callable[[], object], engine: ServedEngine) -> None:
    """Check that a statement that waits on another thread ends as cancelled."""
    failed = []

    def wait() -> None:
        with raises(dbapi.OperationalError) as caught:
            cursor.execute("WAIT")
        failed.append(caught.value.condition)

    thread = threading.Thread(target=wait)
    thread.start()
    assert engine.waiting.wait(30)
    cancel()
    thread.join(30)
    assert failed == ["JETSQL.STATEMENT_CANCELLED"]


def test_a_statement_is_cancelled_from_another_thread(connection: dbapi.Connection, engine: ServedEngine) -> None:
    cursor = connection.cursor()
    check_cancelled(cursor, cursor.cancel, engine)
    cursor.cancel()  # nothing runs
    assert cursor.execute("COUNT 1").fetchall() == [(0,)]


def test_a_connection_cancels_the_statements_of_its_cursors(connection: dbapi.Connection, engine: ServedEngine) -> None:
    idle, running = connection.cursor(), connection.cursor()
    check_cancelled(running, connection.cancel, engine)
    assert idle.execute("COUNT 1").fetchall() == [(0,)]


def lose_sessions(server: RunningServer) -> None:
    for session in list(server.http_server.sessions._sessions):
        server.http_server.sessions.close(session)


def test_lost_session_without_state_is_opened_again(server: RunningServer) -> None:
    with jetsql.connect(server.url, token=TOKEN, schema="sales") as connection:
        cursor, other = connection.cursor(), connection.cursor()
        cursor.execute("SELECT 1")
        other.execute("SELECT 1")
        lose_sessions(server)
        assert cursor.execute("SELECT 2").fetchall() == [("2",)]
        assert other.execute("SELECT 2").fetchall() == [("2",)]
        assert connection.schema == "`sales`"
        assert [kind for kind, _ in connection.messages] == [dbapi.Warning]


def test_cursor_discards_rows_after_a_new_session(server: RunningServer, engine: ServedEngine) -> None:
    with jetsql.connect(server.url, token=TOKEN) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        lose_sessions(server)
        cursor.execute("ENDLESS").fetchone()
        cursor.close()
        assert engine.ended.wait(30)


@pytest.mark.parametrize(
    "statement",
    [
        "USE sales",
        "SET a = b",
        "DECLARE a INT",
        "CACHE TABLE a",
        "CREATE TEMPORARY VIEW a AS SELECT 1",
        "CREATE OR REPLACE TEMP VIEW a AS SELECT 1",
    ],
)
def test_lost_session_with_settings_is_reported(
    connection: dbapi.Connection, server: RunningServer, statement: str
) -> None:
    cursor = connection.cursor()
    cursor.execute(statement)
    lose_sessions(server)
    for _ in range(2):
        with raises(dbapi.OperationalError, match="was not executed") as caught:
            cursor.execute("SELECT 1")
        assert caught.value.hint == "Connect again."


def test_an_engine_that_ends_in_the_middle(engine: ServedEngine) -> None:
    with run_server(engine) as server:
        connection = jetsql.connect(server.url, token=TOKEN)
        cursor = connection.cursor()
        cursor.execute("ENDLESS").fetchone()
    with raises(dbapi.OperationalError):
        cursor.fetchall()
    with raises(dbapi.OperationalError, match="No engine answers"):
        cursor.execute("SELECT 1")
    connection.close()


def test_sent_statement_is_not_repeated(connection: dbapi.Connection, engine: ServedEngine) -> None:
    with raises(dbapi.OperationalError, match="Spark's process has ended"):
        connection.cursor().execute("DIE")
    assert engine.statements.texts == ["DIE"]


def test_no_engine_and_a_wrong_token(server: RunningServer) -> None:
    with raises(dbapi.OperationalError, match="does not know the token"):
        jetsql.connect(server.url, token="wrong")
    with raises(dbapi.OperationalError, match="No engine answers"):
        jetsql.connect("http://127.0.0.1:9")


def test_engine_is_found_through_a_symbolic_link(server: RunningServer, engine: ServedEngine, tmp_path: Path) -> None:
    home, link, other = tmp_path / "home", tmp_path / "link", tmp_path / "other"
    link.symlink_to(home)
    engine.home = str(home)
    for folder in (home, other):
        folder.mkdir()
        write_note(folder, EngineNote(os.getpid(), server.url, TOKEN, VERSION, 0.0))
    with jetsql.connect(home=link, start=False) as connection:
        assert connection.cursor().execute("COUNT 2").fetchall() == [(0,), (1,)]
    with raises(dbapi.OperationalError, match="No engine runs on"):
        jetsql.connect(home=other, start=False)


def test_engine_is_not_started_when_forbidden(tmp_path: Any) -> None:
    with raises(dbapi.OperationalError, match="No engine runs on"):
        jetsql.connect(home=tmp_path, start=False)


URLS = [
    ("jetsql://:secret@host:80/sales", EngineAddress("http://host:80", "secret", schema="sales")),
    ("jetsql://:s%40@[::1]:80/?schema=a.b&tls=true", EngineAddress("https://[::1]:80", "s@", schema="a.b")),
    ("jetsql://host?token=secret", EngineAddress("http://host", "secret")),
    ("http://:secret@host:80/prefix/", EngineAddress("http://host:80/prefix", "secret")),
    ("https://host", EngineAddress("https://host", "from the environment")),
    ("jetsql:///?home=/a/b", EngineAddress(None, "", home="/a/b")),
    ("jetsql:///sales?home=/a&start=false", EngineAddress(None, "", home="/a", schema="sales", start=False)),
]


@pytest.mark.parametrize(("url", "expected"), URLS)
def test_urls(url: str, expected: EngineAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", "from the environment")
    assert parse_address(None, url, None, None, True) == expected


@pytest.mark.parametrize(
    ("schema", "used"),
    [
        ("sales", "`sales`"),
        ("lake.sales", "`lake`.`sales`"),
        ("`a.b`.c", "`a.b`.`c`"),
        ("`a``b`", "`a``b`"),
    ],
)
def test_the_schema_of_a_connection_is_quoted(server: RunningServer, schema: str, used: str) -> None:
    with jetsql.connect(server.url, token=TOKEN, schema=schema) as connection:
        assert connection.schema == used


def test_the_address_of_the_home_of_the_settings() -> None:
    assert parse_address(None, None, None, "sales", False) == EngineAddress(None, "", None, "sales", False)


def test_errors_can_be_pickled() -> None:
    error = to_dbapi_error(ErrorReport("JETSQL.JOB_NOT_FOUND", "42704", "There is no job j.", "Make it.", 2, 3))
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host", "Unknown scheme: 'ftp://host'. Write jetsql://:TOKEN@HOST:PORT/SCHEMA or http://HOST:PORT."),
        ("host:80", "Unknown scheme: 'host:80'."),
        ("", "Unknown scheme: ''."),
        ("jetsql://host?hom=1", "Unknown option: 'hom'."),
        ("jetsql://host?token-in-the-wrong-place", "An unknown option has no value. Write jetsql://:TOKEN@HOST"),
        ("jetsql://host?home=/a", "The URL has a host and a home. Give only one."),
        ("jetsql:///?start=no", "The option start is 'no'. Write true or false."),
        ("jetsql://host:70000", "Its port is not a number from 0 to 65535"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with raises(dbapi.InterfaceError, match=re.escape(f"The engine's URL cannot be read. {message}")):
        jetsql.connect(url)


@pytest.mark.parametrize(
    "url",
    [
        ":s3cret@host:80",
        "s3cret@host:80",
        "//s3cret@host",
        "http://host:s3cret",
        "jetsql://host:80s3cret/",
        "ftp://:s3cret@host",
        "jetsql://host?s3cret",
        "jetsql://[s3cret",
        "jetsql://:s3cret@host?hom=1",
        "jetsql://:s3cret@host?start=no",
        "jetsql://:s3cret@host?tls=no",
        "jetsql://:s3cret@127.0.0.1:9",
        "http://:s3cret@127.0.0.1:9/?token=s3cret",
    ],
)
def test_no_error_shows_the_token_of_a_url(url: str) -> None:
    with pytest.raises(dbapi.Error) as caught:
        jetsql.connect(url)
    assert "s3cret" not in f"{caught.value} {caught.value.__cause__}"
    assert "s3cret" not in repr(EngineAddress("http://host", "s3cret"))


class Point(NamedTuple):
    x: int
    y: Any


ENCODED = [
    (None, None),
    (True, True),
    (7, 7),
    (0.1, {"type": "double", "value": "0.1"}),
    (float("nan"), {"type": "double", "value": "NaN"}),
    (float("-inf"), {"type": "double", "value": "-Infinity"}),
    (Decimal("1.10"), {"type": "decimal(3,2)", "value": "1.10"}),
    (Decimal("-0.05"), {"type": "decimal(2,2)", "value": "-0.05"}),
    (Decimal("0"), {"type": "decimal(1,0)", "value": "0"}),
    (Decimal("1E+3"), {"type": "decimal(4,0)", "value": "1000"}),
    (b"\0\xff", {"type": "binary", "value": "AP8="}),
    (date(1, 1, 1), {"type": "date", "value": "0001-01-01"}),
    (datetime(2024, 1, 1, tzinfo=UTC), {"type": "timestamp", "value": "2024-01-01T00:00:00+00:00"}),
    (datetime(2024, 1, 1, 2, 3, 4, 5), {"type": "timestamp_ntz", "value": "2024-01-01T02:03:04.000005"}),
    (time(1, 2, 3), {"type": "time(6)", "value": "01:02:03"}),
    (timedelta(days=-1), {"type": "interval day to second", "value": "-1 00:00:00"}),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ([1, None], [1, None]),
    ([1, Decimal("1.5")], [1, {"type": "decimal(2,1)", "value": "1.5"}]),
    ([1, 2.5, Decimal("1")], [1, {"type": "double", "value": "2.5"}, {"type": "decimal(1,0)", "value": "1"}]),
    ({"a": 1}, {"type": "map", "value": [["a", 1]]}),
    ((1, "x"), {"type": "struct", "value": [["col1", 1], ["col2", "x"]]}),
    (Point(1, 2), {"type": "struct", "value": [["x", 1], ["y", 2]]}),
    (Struct(["a", "a"], [1, 2]), {"type": "struct", "value": [["a", 1], ["a", 2]]}),
    (Typed(1, "smallint"), {"type": "smallint", "value": "1"}),
    (Typed(None, "date"), {"type": "date", "value": None}),
]


@pytest.mark.parametrize(("value", "encoded"), ENCODED, ids=[repr(value) for value, _ in ENCODED])
def test_parameters_on_the_wire(value: object, encoded: object) -> None:
    assert encode_parameters([value]) == [encoded]
    assert bind_parameters(encode_parameters([value]), "SELECT ?") is not None


@pytest.mark.parametrize(("names", "values"), [(("a", "b"), (1,)), (("a",), (1, 2))])
def test_a_struct_has_a_value_for_each_name(names: tuple[str, ...], values: tuple[int, ...]) -> None:
    """Refuse a Row with fewer values than names, which PySpark accepts."""
    kind = type("Row", (tuple,), {"__fields__": names})
    with raises(StatementError, match=f"a struct with {len(names)} names and {len(values)} values"):
        encode_parameters([kind(values)])


def test_values_of_numpy_and_pandas() -> None:
    import numpy
    import pandas

    moment = {"type": "timestamp_ntz", "value": "2024-01-01T00:00:00"}
    values = [numpy.int64(1), numpy.float32(0.5), numpy.array([1, 2]), pandas.NaT, pandas.Timestamp("2024-01-01")]
    assert encode_parameters(values) == [1, {"type": "double", "value": "0.5"}, [1, 2], None, moment]
    with raises(StatementError, match="has nanoseconds") as caught:
        encode_parameters([pandas.Timestamp("2024-01-01 00:00:00.000000001")])
    assert caught.value.hint == "Round it."


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**31 - 1, "int"),
        (2**31, "bigint"),
        (-(2**31), "int"),
        (-(2**31) - 1, "bigint"),
        (2**63 - 1, "bigint"),
        (2**63, "decimal(38,0)"),
        (-(2**63), "bigint"),
        (-(2**63) - 1, "decimal(38,0)"),
        (10**38 - 1, "decimal(38,0)"),
    ],
)
def test_a_whole_number_has_the_smallest_type_that_holds_it(value: int, kind: str) -> None:
    assert bind_parameters(encode_parameters([value]), "SELECT ?") == [{"type": kind, "value": str(value)}]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ([object()], "object, for which Spark has no type"),
        ([{1, 2}], "set, for which"),
        ([10**38], "more than 38 digits"),
        ([Decimal("NaN")], "cannot be NaN"),
        ([Decimal("1e40")], "more than 38 digits"),
        ([time(1, tzinfo=UTC)], "offset"),
        ([[1, "x"]], "several types: int, str"),
        (["\ud800"], "UTF-8"),
        ({"a b": 1}, "not a valid name of a parameter"),
        ([1, 2, 3], "3 parameters, but the statement has 2 markers"),
        ([1], "1 parameter, but the statement has 2 markers"),
        ([Typed([1], "array<int>")], "A list cannot be given another type"),
        ([Typed("1", "array<int>"), 1], "only array, map or struct"),
        ([Typed("1", "map<int,int>"), 1], "only array, map or struct"),
        ([Typed("1", "struct<a:int>"), 1], "only array, map or struct"),
        ([[1, None, True]], "several types: bool, int"),
        ([["x", Decimal(1)]], "several types"),
        ([["x", 1.5]], "several types"),
    ],
)
def test_invalid_parameters(connection: dbapi.Connection, parameters: Any, words: str) -> None:
    with raises(dbapi.ProgrammingError, match=words) as caught:
        connection.cursor().execute("ARGS ?, '?', ?", parameters)
    assert caught.value.condition == "JETSQL.PARAMETER_NOT_READABLE"


@pytest.mark.parametrize("parameters", ["text", 1, b"", {1, 2}])
def test_parameters_come_in_a_sequence_or_a_mapping(connection: dbapi.Connection, parameters: Any) -> None:
    with raises(dbapi.InterfaceError, match="a sequence or a mapping"):
        connection.cursor().execute("ARGS ?", parameters)


@pytest.mark.parametrize(
    "parameters",
    [{"type": "int"}, {"type": 1, "value": 1}, {}, {"type": "map", "value": [1]}, {"type": "int", "value": [1]},
     {"type": "array", "value": 1}, {"type": "struct", "value": [[1, 1]]}],
)  # fmt: skip
def test_invalid_parameters_on_the_wire(parameters: object) -> None:
    with raises(StatementError) as caught:
        bind_parameters([parameters], "SELECT ?")
    assert caught.value.condition == "JETSQL.PARAMETER_NOT_READABLE"


def test_parameters_by_name_and_statement_objects(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    [(args,)] = cursor.execute("ARGS :a", {"a": 1}).fetchall()
    assert args == "{'a': {'type': 'int', 'value': '1'}}"
    with raises(dbapi.InterfaceError, match="a str, not a bytes"):
        cursor.execute(b"SELECT 1")  # type: ignore[arg-type]


def test_many_rows_go_in_few_statements() -> None:
    rows = [encode_parameters(row) for row in [(1, "a"), (2, "b"), (None, "c"), (3, None)]]
    found = list(batch_statements("INSERT INTO t (a, b) VALUES (?, ?)", rows))
    assert found == [
        ("INSERT INTO t (a, b) VALUES (?, ?), (?, ?)", [1, "a", 2, "b"]),
        ("INSERT INTO t (a, b) VALUES (?, ?)", [None, "c"]),
        ("INSERT INTO t (a, b) VALUES (?, ?)", [3, None]),
    ]
    named = [encode_parameters(row) for row in [{"a": 1, "b": 2}, {"a": 3, "b": 4}]]
    assert list(batch_statements("insert into t values (:b, :a);", named)) == [
        ("insert into t values (?, ?), (?, ?)", [2, 1, 4, 3])
    ]


@pytest.mark.parametrize(
    "text",
    ["INSERT INTO t VALUES (?, 1)", "INSERT INTO t SELECT ?", "INSERT INTO t VALUES (?), (?)", "UPDATE t SET a = ?",
     "INSERT OVERWRITE t VALUES (?)", "INSERT INTO t VALUES (?, ?)"],
)  # fmt: skip
def test_other_statements_run_once_a_row(text: str) -> None:
    assert list(batch_statements(text, [[1], [2]])) == [(text, [1]), (text, [2])]


def test_executemany_is_for_statements_without_rows(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.executemany("NOTHING", [])
    with raises(dbapi.InterfaceError, match="without rows"):
        cursor.executemany("ARGS ?", [[1], [2]])


def test_arrow_over_http(connection: dbapi.Connection) -> None:
    cursor = connection.arrow_cursor()
    table = cursor.execute("COUNT 1000").fetch_arrow_table()
    assert cursor.description is not None
    assert (table.num_rows, table.column("n").to_pylist()[-1], cursor.description[0][1]) == (1000, 999, "int")
    assert list(cursor.execute("COUNT 2").fetch_df()["n"]) == [0, 1]
    assert sum(batch.num_rows for batch in cursor.execute("COUNT 3").fetch_record_batch()) == 3
    assert cursor.execute("ARGS ?", ["a"]).fetch_arrow_table().num_rows == 1
    with raises(dbapi.InterfaceError, match="fetched once"):
        cursor.fetch_arrow_table()
    with raises(dbapi.InterfaceError, match="arrow_cursor"):
        connection.cursor().execute("COUNT 1").fetch_df()


def test_missing_arrow_package_is_named(connection: dbapi.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    cursor = connection.arrow_cursor().execute("COUNT 2")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises(dbapi.NotSupportedError, match="pip install pandas"):
        cursor.fetch_df()
    assert cursor.fetch_arrow_table().num_rows == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises(dbapi.NotSupportedError, match="pip install pyarrow"):
        connection.arrow_cursor()


def test_errors_of_arrow(connection: dbapi.Connection, engine: ServedEngine) -> None:
    cursor = connection.arrow_cursor()
    with raises(dbapi.ProgrammingError, match="There is no such job"):
        cursor.execute("FAIL job")
    with raises(dbapi.DatabaseError, match="the second row is broken"):
        cursor.execute("LATE").fetch_arrow_table()
    cursor.execute("ENDLESS")
    cursor.close()
    assert engine.ended.wait(30)


def test_the_end_of_an_engine_in_the_middle_of_arrow(engine: ServedEngine) -> None:
    with run_server(engine) as server:
        connection = jetsql.connect(server.url, token=TOKEN)
        cursor = connection.arrow_cursor()
        cursor.execute("ENDLESS")
    with raises(dbapi.OperationalError):
        cursor.fetch_arrow_table()
    connection.close()


@pytest.mark.parametrize("text", accepted_statements())
def test_no_statement_of_jetsql_changes_its_session(text: str) -> None:
    for statement in (text, f"-- why\n{text}"):
        assert keeps_session(statement)


@pytest.mark.parametrize("text", ["SET a = 1", "USE s", "DECLARE x INT", "CREATE TEMPORARY VIEW job AS SELECT 1", ""])
def test_statements_that_may_change_the_session(text: str) -> None:
    assert not keeps_session(text)
