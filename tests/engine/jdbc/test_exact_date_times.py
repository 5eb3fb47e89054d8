"""Dates and timestamps in PostgreSQL, on machines and in sessions with different time zones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

_schemas = itertools.count(1)
_DAY = 86_400_000_000  # microseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The time zones of the machine and of the session.
_ZONES = (
    ("Europe/Vilnius", "UTC"),
    ("America/New_York", "Europe/Vilnius"),
    ("Asia/Kathmandu", "Asia/Kathmandu"),
    ("Pacific/Apia", "America/New_York"),
    ("UTC", "Pacific/Apia"),
)
_NASTY = (
    "2018-03-25 03:17:17",  # in no clock of Vilnius
    "2018-03-25 04:17:17",
    "2018-10-28 03:30:00",  # twice in Vilnius
    "2018-10-28 02:30:00.000001",
    "2024-03-10 02:30:00",  # in no clock of New York
    "2024-11-03 01:30:00",  # twice in New York
    "2011-12-30 12:00:00",  # in no calendar of Apia
    "1986-01-01 00:07:00",  # in no clock of Kathmandu
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "1900-01-01 00:00:00",
    "1879-12-31 22:30:00",  # local mean time
    "1582-10-04 12:00:00",
    "1582-10-05 00:00:00",  # to 1582-10-14: not in the Julian calendar
    "1582-10-10 10:10:10.101010",
    "1582-10-14 23:59:59.999999",
    "1582-10-15 00:00:00",
    "1500-01-01 00:00:00",
    "1000-02-28 00:00:00",
    "0001-01-01 00:00:00",
    "0001-12-31 23:59:59",
    "9999-12-31 23:59:59.999999",
)
_MICROS = (
    *((datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for text in _NASTY),
    -63_549_522_000_000_000,  # 45 BC
    253_402_300_800_000_000,  # the year 10000
)
_COLUMNS = "id int PRIMARY KEY, n timestamp, d date, z timestamptz, ns timestamp[], ds date[], zs timestamptz[]"
_ROW = "id, n, d, z, array(n, NULL) ns, array(d) ds, array(z) zs"


@dataclass(frozen=True)
class Moments:
    """Tables of PostgreSQL that have a moment in every type, and a view with the same moments in Spark."""

    server: Postgres
    sql: Sql
    schema: str

    def register(self, name: str, table: str, **options: str) -> None:
        self.sql(f"CREATE TABLE {name} {self.server.options(f'{self.schema}.{table}', **options)}")

    def select(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query in PostgreSQL, in UTC."""
        with self.server.connect() as connection:
            connection.execute(f"SET TimeZone = 'UTC'; SET search_path = {self.schema}")
            return connection.execute(query).fetchall()

    def stored(self, table: str) -> list[tuple[Any, ...]]:
        """Return the microseconds, days and microseconds since 1970 that PostgreSQL has."""
        day = "date '1970-01-01'"
        micros = "(extract(epoch FROM {}) * 1000000)::bigint"
        columns = [micros.format("n"), f"d - {day}", micros.format("z")]
        arrays = [micros.format("ns[1]"), f"ds[1] - {day}", micros.format("zs[1]")]
        return self.select(f"SELECT {', '.join(columns + arrays)} FROM {table} ORDER BY id")

    def create_view(self, micros: tuple[int, ...]) -> None:
        rows = ", ".join(f"({id_}, {each})" for id_, each in enumerate(micros))
        self.sql(
            "CREATE OR REPLACE TEMPORARY VIEW moments AS SELECT id,"
            " TIMESTAMP_NTZ'1970-01-01 00:00:00' + micros * INTERVAL '0.000001' SECOND AS n,"
            f" date_from_unix_date(CAST((micros - pmod(micros, {_DAY})) div {_DAY} AS INT)) AS d,"
            " timestamp_micros(micros) AS z"
            f" FROM VALUES {rows} AS t(id, micros)"
        )


@pytest.fixture
def moments(postgres: Postgres, sql: Sql) -> Iterator[Moments]:
    schema = f"moments_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.w ({_COLUMNS}); CREATE TABLE {schema}.copy ({_COLUMNS})")
    yield Moments(postgres, sql, schema)
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {schema} CASCADE")


@contextmanager
def zones(sql: Sql, machine: str, session: str) -> Iterator[None]:
    """Let Java believe that the machine is in another time zone, and set the session's."""
    zone = sql.engine.spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before = zone.getDefault()
    zone.setDefault(zone.getTimeZone(machine))
    sql(f"SET spark.sql.session.timeZone = {session}")
    try:
        yield
    finally:
        zone.setDefault(before)
        sql("RESET spark.sql.session.timeZone")


def different_rows(table: str) -> str:
    """Return a query for the ids of rows that have other values than the view."""
    columns = ("n", "d", "z", "ns", "ds", "zs")
    different = " OR ".join(f"NOT {table}.{column} <=> m.{column}" for column in columns)
    return f"SELECT id FROM {table} JOIN (SELECT {_ROW} FROM moments) m USING (id) WHERE {different}"


def counts(micros: list[int]) -> str:
    """Return subqueries that count the rows with these moments, days and local times."""
    literals = {
        "z": [f"timestamp_micros({each})" for each in micros],
        "d": [f"date_from_unix_date({each // _DAY})" for each in micros],
        "n": [f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + {each}L * INTERVAL '0.000001' SECOND" for each in micros],
    }
    return ", ".join(f"(SELECT count(*) FROM w WHERE {name} IN ({', '.join(of)}))" for name, of in literals.items())


def check_round_trip(moments: Moments, micros: tuple[int, ...]) -> None:
    """Write the moments with INSERT, compare them in PostgreSQL, read them, and write what was read."""
    sql = moments.sql
    moments.create_view(micros)
    expected = [(each, each // _DAY, each) * 2 for each in micros]
    moments.server(f"TRUNCATE {moments.schema}.w; TRUNCATE {moments.schema}.copy")
    sql(f"INSERT INTO w SELECT {_ROW} FROM moments")
    assert moments.stored("w") == expected
    assert sql(different_rows("w")) == []
    sql("INSERT INTO copy SELECT * FROM w")
    assert moments.stored("copy") == expected


@pytest.mark.parametrize(("machine", "session"), _ZONES)
def test_nasty_values_are_the_same_in_spark_and_postgresql(moments: Moments, machine: str, session: str) -> None:
    sql = moments.sql
    moments.register("w", "w", preferTimestampNTZ="true")
    moments.register("copy", "copy", preferTimestampNTZ="true")
    with zones(sql, machine, session):
        check_round_trip(moments, _MICROS)
        recent = [each for each in _MICROS if each > -2_208_800_000_000_000]
        for some in (recent, list(_MICROS)):  # PostgreSQL evaluates only the first ones
            days = {each // _DAY for each in some}
            on_days = sum(each // _DAY in days for each in _MICROS)
            assert sql(f"SELECT {counts(some)}") == [(len(some), on_days, len(some))]
        # Without preferTimestampNTZ, a local time is a moment in the session's time zone.
        moments.register("lw", "copy")
        local = "SELECT id FROM lw JOIN w USING (id) WHERE NOT lw.n <=> CAST(w.n AS TIMESTAMP)"
        assert sql(local) == []
        moments.server(f"TRUNCATE {moments.schema}.copy")
        sql("INSERT INTO lw SELECT id, z, d, z, NULL, NULL, NULL FROM moments")
        assert sql("SELECT id FROM copy WHERE NOT n <=> CAST(z AS TIMESTAMP_NTZ)") == []


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "session"), _ZONES)
def test_random_values_are_the_same_in_spark_and_postgresql(moments: Moments, machine: str, session: str) -> None:
    sql, dice = moments.sql, random.Random(f"{machine} {session}")
    moments.register("w", "w", preferTimestampNTZ="true")
    moments.register("copy", "copy", preferTimestampNTZ="true")
    borders = [each for each in _MICROS if abs(each) < 70_000_000_000_000_000]
    with zones(sql, machine, session):
        for _ in range(5):
            near = [dice.choice(borders) + dice.randrange(-2 * _DAY, 2 * _DAY) for _ in range(1000)]
            far = [dice.randrange(-62_135_596_800_000_000, 253_402_300_799_999_999) for _ in range(1000)]
            check_round_trip(moments, (*near, *far))


def test_keys_dates_of_lookups_and_deleted_keys_are_exact(moments: Moments) -> None:
    sql = moments.sql
    moments.server(
        f"CREATE TABLE {moments.schema}.d (n timestamp PRIMARY KEY, x text);"
        f" CREATE TABLE {moments.schema}.days (d date PRIMARY KEY, x text);"
        f" INSERT INTO {moments.schema}.days VALUES ('1582-10-10', 'skipped'), ('1582-10-20', 'other')"
    )
    with zones(sql, "Europe/Vilnius", "UTC"):
        moments.register("d", "d", preferTimestampNTZ="true", key_columns="n")
        moments.register("days", "days", lookup="true")
        sql("CREATE TABLE s (id INT, n TIMESTAMP_NTZ, x STRING, op STRING) USING parquet")
        sql("INSERT INTO s VALUES (1, TIMESTAMP_NTZ'2018-03-25 04:17:17', 'b', 'c')")
        sql(
            "CREATE JOB cdc OPTIONS ('snapshotIntervalMillis' = '100') AS AUTO CDC INTO d FROM STREAM s KEYS (n)"
            " APPLY AS DELETE WHEN op = 'd' SEQUENCE BY id COLUMNS (n, x)"
        )
        sql("INSERT INTO s VALUES (2, TIMESTAMP_NTZ'2018-03-25 03:17:17', 'a', 'c')")
        sql("WAIT FOR JOB cdc UNTIL IDLE")
        stored = moments.select("SELECT n::text, x FROM d ORDER BY 1")
        assert stored == [("2018-03-25 03:17:17", "a"), ("2018-03-25 04:17:17", "b")]
        sql("INSERT INTO s VALUES (3, TIMESTAMP_NTZ'2018-03-25 03:17:17', 'a', 'd')")
        sql("WAIT FOR JOB cdc UNTIL IDLE")
        assert moments.select("SELECT n::text, x FROM d") == [("2018-03-25 04:17:17", "b")]
        sql("DROP JOB cdc")
        sql("CREATE TABLE found (id INT, x STRING) USING parquet")
        sql("CREATE TABLE orders (id INT, d DATE) USING parquet")
        sql("INSERT INTO orders VALUES (1, DATE'1582-10-10'), (2, DATE'1582-10-20'), (3, DATE'1582-10-21')")
        sql(
            "CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO found"
            " SELECT o.id, days.x FROM STREAM orders o LEFT JOIN days ON o.d = days.d"
        )
        sql("WAIT FOR JOB j UNTIL COMPLETED")
        assert sorted(sql("SELECT * FROM found")) == [(1, "skipped"), (2, "other"), (3, None)]


@pytest.mark.slow
def test_upserts_by_a_local_time_update_its_row(moments: Moments) -> None:
    sql = moments.sql
    moments.server(f"CREATE TABLE {moments.schema}.d (n timestamp PRIMARY KEY, x text)")
    with zones(sql, "Europe/Vilnius", "UTC"):
        moments.register("d", "d", preferTimestampNTZ="true", key_columns="n")
        sql("CREATE TABLE s (n TIMESTAMP_NTZ, x STRING) USING parquet")
        sql("INSERT INTO s VALUES (TIMESTAMP_NTZ'2018-03-25 04:17:17', 'b')")
        sql(
            "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS"
            " SINK INTO d SELECT n, max(x) FROM STREAM s GROUP BY n"
        )
        sql("INSERT INTO s VALUES (TIMESTAMP_NTZ'2018-03-25 03:17:17', 'a')")
        sql("WAIT FOR JOB j UNTIL IDLE")
        stored = moments.select("SELECT n::text, x FROM d ORDER BY 1")
        assert stored == [("2018-03-25 03:17:17", "a"), ("2018-03-25 04:17:17", "b")]


def test_times_infinities_and_plain_spark_statements(moments: Moments) -> None:
    sql = moments.sql
    moments.server(
        f"CREATE TABLE {moments.schema}.i (id int, z timestamptz, n timestamp, d date, t time, o timetz);"
        f" INSERT INTO {moments.schema}.i VALUES (1, 'infinity', 'infinity', 'infinity',"
        " '03:17:17.123456', '01:00+05'),"
        " (2, '-infinity', '-infinity', '-infinity', '24:00', '24:00Z')"
    )
    with zones(sql, "Europe/Vilnius", "UTC"):
        moments.register("i", "i", preferTimestampNTZ="true")
        assert sql("SELECT string(z), string(n), string(d), string(t), string(o) FROM i ORDER BY id") == [
            ("9999-12-31 23:59:59.999999",) * 2 + ("9999-12-31", "1970-01-01 03:17:17.123456", "1969-12-31 20:00:00"),
            ("0001-01-01 00:00:00",) * 2 + ("0001-01-01", "1970-01-02 00:00:00", "1970-01-02 00:00:00"),
        ]
        moments.register("words", "i", customSchema="z STRING, n STRING")
        assert sql("SELECT z, n FROM words WHERE id = 2") == [("-infinity", "-infinity")]
        sql("INSERT INTO i SELECT 3, z, n, d, t, o FROM i WHERE id = 1")
        times = [(text,) for text in ("03:17:17.123456", "20:00:00+00")]
        assert moments.select("SELECT unnest(array[t::text, o::text]) FROM i WHERE id = 3") == times
        table = moments.server.options(f"{moments.schema}.new")
        sql(f"CREATE TABLE new {table} AS SELECT DATE'1500-01-01' AS d, TIMESTAMP_NTZ'2018-03-25 03:17:17' AS n")
        assert moments.select("SELECT d::text, n::text FROM new") == [("1500-01-01", "2018-03-25 03:17:17")]
        table = moments.server.options(f"{moments.schema}.skipped")
        error = sql.error(f"CREATE TABLE skipped {table} AS SELECT DATE'1582-10-10' AS d")
        assert "write the rows with INSERT INTO" in error.message
