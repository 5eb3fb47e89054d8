"""Values of all types of Spark, nested in each other, through the DB-API: as rows and as Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import time
from typing import TYPE_CHECKING, Any

import pytest

import jetsql
from jetsql.client import dbapi
from tests.support.servers.http_server import TOKEN, run_server

if TYPE_CHECKING:
    from jetsql.embedded.embedded_engine import EmbeddedEngine

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
NO_KEYS = ("make_interval", "parse_json", "NULL", "map(")  # values that Spark does not take as keys


@pytest.fixture(scope="module")
def connection(engine: EmbeddedEngine) -> Iterator[dbapi.Connection]:
    with run_server(engine) as server, closing(jetsql.connect(server.url, token=TOKEN)) as opened:
        yield opened


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


def test_times_inside_of_other_values_have_one_error(connection: dbapi.Connection) -> None:
    assert row(connection, "SELECT time '10:00:00.000001'") == (time(10, 0, 0, 1),)
    with pytest.raises(dbapi.NotSupportedError, match="UNSUPPORTED_TIME_TYPE"):
        row(connection, "SELECT map('k', time '10:00:00'), array(array(time '10:00:00', NULL))")


def test_intervals_of_months_and_maps_with_lists_as_keys_are_values(connection: dbapi.Connection) -> None:
    assert row(connection, "SELECT interval '1-2' year to month, interval -14 month, interval 3 year") == (
        *("1-2", "-1-2", "3-0"),
    )
    assert row(connection, "SELECT map(array(1, 2), 'x'), map(struct(array(1)), 2)") == ({(1, 2): "x"}, {((1,),): 2})
