"""Options of tables: each place where they can be written, with names that it has and names that it lacks.

Spark ignores an option that it does not know, so a misspelled 'key.columns' would turn updates into additional rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

DERBY = "url 'jdbc:derby:memory:options;create=true', dbtable 'SYS.SYSTABLES'"
FILE = "CREATE TABLE {name} (id INT) USING"


@dataclass(frozen=True)
class Place:
    """A place where a user writes options."""

    statement: str
    """The statement, with {option} for the option, and {name} for a new table."""
    accepted: tuple[str, ...]
    """Names of options that the place has."""
    refusals: dict[str, str]
    """Names of options that it lacks, with a part of the message."""


NOT_FILES = "USING jdbc, kafka, delta and iceberg have it"
PLACES = (
    Place(
        "CREATE TABLE {name} {postgres}, {option})",
        ("KEY.COLUMNS", "lookup.cache.ttl", "fetchsize", "numPartitions", "sslmode", "ApplicationName"),
        {
            "key.column": "Did you mean 'key.columns'?",
            "key_columns": "Did you mean 'key.columns'?",
            "lookup.cache.tll": "Did you mean 'lookup.cache.ttl'?",
            "fetchsze": "Did you mean 'fetchsize'?",
            "sslmod": "Did you mean 'sslmode'?",
            "on.error": "A table USING jdbc has no option 'on.error'. Tables USING json, csv and kafka have it.",
            "restartAttempts": "It is an option of jobs",
            "their.own": "Neither Spark nor the driver knows it.",
        },
    ),
    Place(  # Derby's driver lists no properties
        f"CREATE TABLE {{name}} USING jdbc OPTIONS ({DERBY}, {{option}})",
        ("key.columns", "fetchsize", "their.own"),
        {"key.column": "'key.columns'?", "fetchsze": "'fetchsize'?", "trigger": "It is an option of jobs"},
    ),
    Place(
        f"{FILE} parquet OPTIONS ({{option}})",
        ("mergeSchema", "parquet.block.size", "maxFilesPerTrigger", "fs.s3a.endpoint"),
        {
            "key.columns": NOT_FILES,
            "key.colums": NOT_FILES,
            "compresion": "Did you mean 'compression'?",
            "header": "Remove it.",
            "on.error": "Tables USING json, csv and kafka have it.",
            "snapshotIntervalMilis": "Did you mean 'snapshotIntervalMillis', an option of jobs?",
        },
    ),
    Place(
        f"{FILE} csv OPTIONS ({{option}})",
        ("header", "delimiter", "columnNameOfCorruptRecord", "latestFirst"),
        {"headr": "'header'?", "on.eror": "'on.error'?", "value.format": "Tables USING kafka have it.", "foo": "Remov"},
    ),
    Place(f"{FILE} json OPTIONS ({{option}})", ("multiLine", "dateFormat"), {"multiline_": "'multiLine'?"}),
    Place(f"{FILE} orc OPTIONS ({{option}})", ("orc.compress",), {"mergeschemas": "'mergeSchema'?"}),
    Place("CREATE TABLE {name} (v STRING) USING text OPTIONS ({option})", ("wholetext",), {"wholetxt": "'wholetext'?"}),
    Place(f"{FILE} xml OPTIONS ('rowTag' = 'r', {{option}})", ("rootTag",), {"rootTags": "'rootTag'?"}),
    Place(  # a format without a list of options
        "CREATE TABLE {name} USING socket OPTIONS ('host' = 'localhost', 'port' = '1', {option})",
        ("includeTimestamp", "their.own"),
        {"key.column": NOT_FILES, "lookup": "Tables USING jdbc have it.", "snapshotIntervalMillis": "option of jobs"},
    ),
    Place(
        "CREATE TABLE {name} USING rate OPTIONS ({option})",
        ("rowsPerSecond", "rampUpTime", "numPartitions"),
        {"rowPerSecond": "Did you mean 'rowsPerSecond'?", "rowsPerBatch": "Remove it."},
    ),
    Place(
        "CREATE TABLE {name} USING `rate-micro-batch` OPTIONS ({option})",
        ("rowsPerBatch", "startTimestamp", "advanceMillisPerBatch"),
        {"rowPerBatch": "Did you mean 'rowsPerBatch'?", "rampUpTime": "Remove it."},
    ),
    Place(
        f"{FILE} json TBLPROPERTIES ({{option}})",
        ("team", "their.own"),
        {
            "delete.wen": "Did you mean 'delete.when'?",
            "delete.when": "Tables USING delta and iceberg have it.",
            "on.error": "write it in OPTIONS (...)",
        },
    ),
    Place("CREATE TABLE {name} LIKE src TBLPROPERTIES ({option})", ("team",), {"key.colums": "'key.columns'?"}),
    Place(
        "ALTER TABLE src SET TBLPROPERTIES ({option})",
        ("team",),
        {"key.colums": "Did you mean 'key.columns'?", "key.columns": NOT_FILES},
    ),
    Place(
        "ALTER TABLE src SET SERDEPROPERTIES ({option})",
        ("mergeSchema",),
        {"key.columns": NOT_FILES, "mergeShema": "Did you mean 'mergeSchema'?", "foo": "Remove it."},
    ),
    Place(
        "CREATE OR REPLACE TEMPORARY VIEW {name} (id INT) USING json OPTIONS (path '{folder}', {option})",
        ("multiLine",),
        {"multiLin": "Did you mean 'multiLine'?", "lookup": "Tables USING jdbc have it."},
    ),
    Place(
        "SELECT * FROM src WITH ({option})",
        ("pathGlobFilter",),
        {"pathGlobFiltr": "Did you mean 'pathGlobFilter'?", "key.columns": "Cannot set 'key.columns' in a query"},
    ),
    Place("SELECT * FROM text.`{folder}` WITH ({option})", ("wholetext",), {"wholetxt": "'wholetext'?"}),
    Place(
        "SELECT * FROM database WITH ({option})",
        ("lookup", "fetchsize"),
        {"fetchsze": "Did you mean 'fetchsize'?", "their.own": "Neither Spark nor the driver knows it."},
    ),
    Place(
        "INSERT INTO target WITH ({option}) VALUES (1)",
        ("compression",),
        {"compresion": "Did you mean 'compression'?", "key.columns": "Cannot set 'key.columns'"},
    ),
    Place(
        "EXPLAIN CREATE JOB j AS INSERT INTO target SELECT id FROM STREAM src WITH ({option})",
        ("maxFilesPerTrigger",),
        {"maxFilesPerTriger": "Did you mean 'maxFilesPerTrigger'?", "trigger": "It is an option of jobs"},
    ),
    Place(
        "CREATE STREAMING TABLE {name} OPTIONS ({option}) AS SELECT id FROM STREAM src",
        ("compression",),
        {
            "trigger": "It is an option of jobs: Write it in CREATE JOB ... OPTIONS (...), or in JOB OPTIONS (...).",
            "snapshotIntervalMilis": "Did you mean 'snapshotIntervalMillis', an option of jobs?",
        },
    ),
)
VALUES = {
    "numPartitions": "1",
    "fetchsize": "10",
    "lookup": "true",
    "lookup.cache.ttl": "1 second",
    "maxFilesPerTrigger": "1",
    "compression": "gzip",
    "rowsPerSecond": "1",
    "rowsPerBatch": "1",
    "startTimestamp": "1",
    "advanceMillisPerBatch": "1",
    "rampUpTime": "1s",
    "sslmode": "disable",
    "dateFormat": "yyyy",
    "header": "true",
    "delimiter": ";",
    "key.columns": "id",
    "KEY.COLUMNS": "id",
    "mode": "FAILFAST",
    "wholetext": "true",
    "pathGlobFilter": "*",
}


@pytest.fixture
def places(sql: Sql, postgres: Postgres, tmp_path: Path) -> Iterator[dict[str, str]]:
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS known_options (id INT)")
    options = postgres.options("known_options")
    sql(f"CREATE TABLE database {options}")
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("CREATE TABLE target (id INT) USING parquet")
    (tmp_path / "a.json").write_text("{}")
    yield {"postgres": options.removesuffix(")"), "folder": str(tmp_path)}


def test_each_place_refuses_the_options_that_it_lacks(sql: Sql, places: dict[str, str]) -> None:
    for number, place in enumerate(PLACES):
        for name, message in place.refusals.items():
            text = place.statement.format(name="t", option=f"'{name}' = 'true'", **places)
            error = sql.error(text)
            assert error.condition in ("JETSQL.UNKNOWN_OPTION", "JETSQL.OPTION_NOT_CHANGEABLE"), (text, error)
            assert message in error.message, (text, error)
            assert error.column == text.index(f"'{name}'") + 1, (text, error)
        for index, name in enumerate(place.accepted):
            value = VALUES.get(name, "true")
            sql(place.statement.format(name=f"a_{number}_{index}", option=f"'{name}' = '{value}'", **places))
            if place.statement.startswith("CREATE STREAMING TABLE"):
                sql(f"DROP STREAMING TABLE a_{number}_{index}")  # another test lists those of the engine


def test_writers_of_frames_refuse_them_too(sql: Sql, places: dict[str, str]) -> None:
    rows = sql.engine.spark.range(1)
    derby = {"url": "jdbc:derby:memory:options;create=true", "dbtable": "written"}
    sql("CREATE TABLE existing (id BIGINT) USING parquet")
    for write, meant in (
        (lambda: rows.write.option("compresion", "gzip").saveAsTable("t"), "compression"),
        (lambda: rows.write.format("json").option("on.eror", "skip").saveAsTable("t"), "on.error"),
        (lambda: rows.write.option("compresion", "gzip").mode("append").saveAsTable("existing"), "compression"),
        (lambda: rows.writeTo("t").using("parquet").option("compresion", "gzip").create(), "compression"),
        (lambda: rows.writeTo("t").option("compresion", "gzip").create(), "compression"),
        (lambda: rows.writeTo("t").using("csv").option("headr", "true").createOrReplace(), "header"),
        (lambda: rows.writeTo("t").using("jdbc").options(**derby, **{"key.column": "id"}).create(), "key.columns"),
        (lambda: rows.writeTo("t").using("parquet").tableProperty("delete.wen", "x").create(), "delete.when"),
        (lambda: rows.writeTo("existing").option("compresion", "gzip").append(), "compression"),
    ):
        with pytest.raises(AnalysisException, match=f"UNKNOWN_OPTION.*Did you mean '{meant}'"):
            write()
    rows.writeTo("made").using("jdbc").options(**derby, **{"key.columns": "id"}).create()
    assert "key.columns" in sql.value("SHOW CREATE TABLE made")


def test_a_login_in_the_url_of_postgresql_is_refused(sql: Sql, places: dict[str, str]) -> None:
    """Refuse a login in the URL, which the driver would take for a part of the host, and log."""
    log = sql.engine.home / "engine.log"
    for login in ("ann:hush-hush@", "ann@", ":hush-hush@"):
        text = f"CREATE TABLE t (id INT) {places['postgres'].replace('//', f'//{login}')})"
        error = sql.error(text)
        assert error.condition == "JETSQL.INVALID_OPTION_VALUE" and "the options 'user' and 'password'" in error.message
        assert "hush" not in str(error) and error.column == text.index("'jdbc:") + 1
    assert not log.exists() or b"hush-hush" not in log.read_bytes()


def test_a_url_of_a_misspelled_database_is_refused(sql: Sql, places: dict[str, str]) -> None:
    earlier = sql.engine.spark.newSession()
    earlier.conf.set("spark.jetsql.job", "this session checks no options")
    schema = sql.value("SELECT current_schema()")
    right = places["postgres"].replace("/postgres'", "/postgres?ApplicationName=hush'") + ")"
    sql(f"CREATE TABLE correct {right}")
    for number, begin in enumerate(("jdbc:postgres:", "jdbc:postgressql:", "postgresql:", "jdbc:PostgreSQL:")):
        for options in (right, right.replace("'driver' 'org.postgresql.Driver', ", "")):
            wrong = options.replace("jdbc:postgresql:", begin)
            text = f"CREATE TABLE t (id INT) {wrong}"
            error = sql.error(text)
            assert error.condition == "JETSQL.INVALID_OPTION_VALUE", (text, error)
            assert error.message.startswith(f"No JDBC driver accepts a 'url' that begins with '{begin}'."), error
            assert "Did you mean 'jdbc:postgresql:'?" in error.message and "hush" not in str(error)
            assert error.column == text.index(f"'{begin}") + 1
        sql(f"CREATE TABLE earlier_{number} {right}")
        table, url = f"earlier_{number}", right.split("'url' ")[1].split(", ")[0]
        wrong_url = url.replace("jdbc:postgresql:", begin)
        earlier.sql(f"ALTER TABLE {schema}.{table} SET SERDEPROPERTIES ('url' = {wrong_url})")
        for use in ("SELECT * FROM {}", "INSERT INTO {} VALUES (1)"):
            text = use.format(table)
            error = sql.error(text)
            assert "Did you mean 'jdbc:postgresql:'?" in error.message, (text, error)
            assert error.column == text.index(table) + 1
        assert "Did you mean" in sql.error(f"ALTER TABLE {table} SET SERDEPROPERTIES ('url' = {wrong_url})").message
        sql(f"ALTER TABLE {table} SET SERDEPROPERTIES ('url' = {url})")
        sql(f"SELECT * FROM {table}")


def test_table_of_an_earlier_release_is_read_only(sql: Sql, places: dict[str, str]) -> None:
    earlier = sql.engine.spark.newSession()
    earlier.conf.set("spark.jetsql.job", "this session checks no options")
    schema = sql.value("SELECT current_schema()")
    earlier.sql(f"CREATE TABLE {schema}.earlier {places['postgres']}, 'key.column' = 'id', 'fetchsze' = '10')")
    sql("INSERT INTO earlier VALUES (1)")
    assert sql("SELECT * FROM earlier") == [(1,)]
    error = sql.error("CREATE JOB j AS SINK INTO earlier SELECT id FROM STREAM src")
    assert error.condition == "JETSQL.UNKNOWN_OPTION"
    assert "has the option 'key.column', which does nothing." in error.message
    assert error.column == len("CREATE JOB j AS SINK INTO ") + 1
    assert error.hint is not None
    sql(error.hint.split(" Write ")[1].removesuffix(".").replace("...", "id"))
    assert "updates none" not in str(sql("EXPLAIN CREATE JOB j AS SINK INTO earlier SELECT id FROM STREAM src"))
