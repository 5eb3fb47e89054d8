"""The session of a job: settings captured from the creating session, refused dependencies, and positions of errors."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest
from pyspark.errors import PySparkException

from jetsql.embedded import engine_instance
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.spark_runtime import SparkRuntime
from jetsql.engine.runs.streaming_runs import StreamingRun
from jetsql.jobs.model.spark_settings import find_meant, is_missing
from jetsql.language import parse
from jetsql.language.statement import Statement
from tests.conftest import Sql
from tests.support.paths import ROOT

pytestmark = pytest.mark.spark

PACKAGE = "org/apache/hadoop/hive/ql/udf/"
CLASSES = PACKAGE.replace("/", ".")
FAST = "OPTIONS ('snapshotIntervalMillis' = '100')"


@pytest.fixture
def source(sql: Sql) -> Sql:
    sql("CREATE TABLE src (id INT, name STRING, at TIMESTAMP) USING json")
    sql("INSERT INTO src VALUES (1, 'a', TIMESTAMP'2024-01-02 02:30:00Z')")
    sql("CREATE TABLE sink (id INT, name STRING) USING parquet")
    return sql


def test_a_job_keeps_time_zone_and_schema(source: Sql) -> None:
    source("CREATE TABLE days (day DATE) USING parquet")
    source("SET TIME ZONE 'America/New_York'")
    try:
        source(f"CREATE JOB j {FAST} AS INSERT INTO days SELECT CAST(at AS DATE) FROM STREAM src")
    finally:
        source("SET TIME ZONE 'UTC'")
    source("SUSPEND JOB j")
    schema = source.value("SELECT current_schema()")
    source("USE default")
    source("RESUME JOB j")
    source(f"INSERT INTO {schema}.src VALUES (2, 'b', TIMESTAMP'2024-01-02 02:30:00Z')")
    source("WAIT FOR JOB j UNTIL IDLE")
    source(f"USE {schema}")
    assert source("SELECT CAST(day AS STRING), count(*) FROM days GROUP BY 1") == [("2024-01-01", 2)]
    assert ("session spark.sql.session.timeZone", "America/New_York") in source("DESCRIBE JOB EXTENDED j")


def test_lists_of_read_files_are_seldom_compacted(source: Sql) -> None:
    source("INSERT INTO src SELECT id, '', NULL FROM range(0, 11, 1, 11)")
    options = "'trigger' = 'availableNow'"
    for name, more in (("j", ""), ("often", ", 'spark.sql.streaming.fileSource.log.compactInterval' = '5'")):
        query = "SELECT id, name FROM STREAM src WITH ('maxFilesPerTrigger' = '1')"
        [(job_id, *_)] = source(f"CREATE JOB {name} OPTIONS ({options}{more}) AS INSERT INTO sink {query}")
        source(f"WAIT FOR JOB {name} UNTIL COMPLETED")
        log = source.engine.home / "checkpoints" / str(job_id) / "spark/sources/0"
        compacted = {path.name for path in log.glob("*.compact")}
        assert compacted == (set() if name == "j" else {"4.compact", "9.compact"})
    assert source.value("SELECT count(*) FROM sink") == 2 * 12


def test_a_job_has_settings_of_its_own(source: Sql) -> None:
    body = "INSERT INTO sink SELECT CAST('x' AS INT), name FROM STREAM src"
    assert source.error(f"CREATE JOB strict {FAST} AS {body}").condition == "JETSQL.JOB_FAILED"
    options = "OPTIONS ('spark.sql.ansi.enabled' = 'false', 'snapshotIntervalMillis' = '100')"
    source(f"CREATE JOB lenient {options} AS {body}")
    assert source("SELECT * FROM sink") == [(None, "a")]


def test_settings_that_spark_lacks_are_refused(source: Sql) -> None:
    body = "AS INSERT INTO sink SELECT id, name FROM STREAM src"
    for name, hint in (
        ("spark.sql.shuffle.partition", "Did you mean 'spark.sql.shuffle.partitions'?"),
        ("spark.sql.ansi.Enabled", "Did you mean 'spark.sql.ansi.enabled'?"),
        ("spark.executor.memry", "Did you mean 'spark.executor.memory'?"),
        ("spark.sql.shuffle.xyz", "Remove it."),
    ):
        text = f"EXPLAIN CREATE JOB j OPTIONS ('{name}' = '2') {body}"
        error = source.error(text)
        assert (error.condition, error.hint) == ("JETSQL.UNKNOWN_OPTION", hint)
        assert error.column == text.index(f"'{name}'") + 1
        if hint == "Remove it.":
            continue
        error = source.error(f"SET {name} = 2")
        assert error.condition == "JETSQL.UNKNOWN_OPTION"
        assert error.message.endswith(hint)
    others = (
        "spark.sql.catalog.a.b",
        "spark.sql.iceberg.x",
        "spark.databricks.delta.x",
        "spark.my.own",
        "spark.hadoop.x",
    )
    options = ", ".join(f"'{name}' = 'x'" for name in others if "catalog" not in name)
    source(f"EXPLAIN CREATE JOB j OPTIONS ({options}) {body}")
    source.all(";\n".join(f"SET {name} = x" for name in (*others, "north")))
    source.all(";\n".join(f"RESET {name}" for name in (*others, "north")))


@pytest.mark.needs_spark("4.3")
def test_lint_knows_the_settings_of_the_newest_spark(engine: EngineInstance) -> None:
    settings = java(engine.spark).options.SparkSettings
    listed = "\n".join(json.loads(settings.list())) + "\n"
    path = ROOT / "jetsql/jobs/model/spark_settings.txt"
    if os.environ.get("JETSQL_GOLDEN") == "write":
        path.write_text(listed, encoding="utf-8")
        find_meant.__globals__["_known"].cache_clear()
    assert path.read_text("utf-8") == listed
    chance = random.Random(7)
    for name in chance.sample(listed.split(), 60):
        at = chance.randrange(len(name))
        for near in (name[:at] + name[at + 1 :], name[:at] + "xyz" + name[at:], name.upper(), "." + name):
            assert find_meant(near) == settings.meant(near), near
            assert is_missing(near) == settings.isMissing(near), near


@pytest.mark.parametrize(
    ("prepare", "body", "token", "clean"),
    [
        (
            "CREATE TEMPORARY VIEW t AS SELECT 1 AS id, 'x' AS name",
            "INSERT INTO sink SELECT * FROM t",
            "t",
            "DROP VIEW t",
        ),
        (
            "CREATE GLOBAL TEMPORARY VIEW g AS SELECT 1 AS id, 'x' AS name",
            "INSERT INTO sink SELECT * FROM global_temp.g",
            "global_temp.g",
            "DROP VIEW global_temp.g",
        ),
        (
            "CREATE TEMPORARY FUNCTION shout AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper'",
            "INSERT INTO sink SELECT id, shout(name) FROM STREAM src",
            "shout",
            "DROP TEMPORARY FUNCTION shout",
        ),
        (
            "DECLARE VARIABLE factor INT DEFAULT 3",
            "INSERT INTO sink SELECT id * factor, name FROM STREAM src",
            "factor",
            "DROP TEMPORARY VARIABLE factor",
        ),
    ],
)
def test_session_objects_are_refused_at_their_token(
    source: Sql, prepare: str, body: str, token: str, clean: str
) -> None:
    source(prepare)
    text = f"CREATE JOB refused\nAS\n  {body}"
    try:
        error = source.error(text)
    finally:
        source(clean)
    assert error.condition == "JETSQL.TEMPORARY_OBJECT_IN_BODY"
    assert (error.line, error.column) == (3, 3 + body.index(token))
    assert source("SHOW ALL JOBS LIKE 'refused'") == []


@pytest.mark.parametrize(
    ("body", "condition", "token"),
    [
        ("INSERT INTO sink SELECT id, nam FROM STREAM src", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nam "),
        ("INSERT INTO sink SELECT id, name FROM STREAM sorce", "TABLE_OR_VIEW_NOT_FOUND", "STREAM sorce"),
        ("INSERT INTO snik SELECT id, name FROM STREAM src", "TABLE_OR_VIEW_NOT_FOUND", "snik"),
        ("INSERT INTO sink SELECT id name name FROM src", "PARSE_SYNTAX_ERROR", "name FROM"),
        ("INSERT INTO sink SELECT id, name FROM STREAM sink", "JETSQL.UNSUPPORTED_QUERY", "sink"),
        ("INSERT INTO sink SELECT count(*), 'x' FROM STREAM src", "JETSQL.NO_OUTPUT_MODE", "sink"),
        ("INSERT OVERWRITE sink SELECT id, name FROM STREAM src", "JETSQL.NO_OUTPUT_MODE", "sink"),
    ],
)
def test_errors_point_into_the_whole_statement(source: Sql, body: str, condition: str, token: str) -> None:
    text = f"CREATE JOB refused -- a comment\n  {FAST} AS\n    {body}"
    error = source.error(text)
    assert error.condition == condition
    assert (error.line, error.column) == (3, 5 + body.index(token))
    assert source("SHOW ALL JOBS LIKE 'refused'") == []


def test_spark_sql_gives_the_same_error_with_position(source: Sql) -> None:
    with pytest.raises(PySparkException) as raised:
        source.engine.spark.sql("CREATE JOB j AS\nINSERT INTO sink SELECT id, nam FROM STREAM src")
    assert raised.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert "line 2 pos 28" in str(raised.value)


@pytest.mark.parametrize(
    ("ddl", "body", "condition"),
    [
        (
            "CREATE TABLE b (id INT) USING parquet CLUSTERED BY (id) INTO 2 BUCKETS",
            "INSERT INTO b SELECT id FROM STREAM src",
            "JETSQL.UNSUPPORTED_SINK",
        ),
        ("CREATE TABLE b USING rate", "INSERT INTO b SELECT at, id FROM STREAM src", "UNSUPPORTED"),
        (
            "CREATE TABLE b (id INT, p INT) USING parquet PARTITIONED BY (p)",
            "INSERT OVERWRITE b SELECT count(*), 1 FROM STREAM src",
            "JETSQL.NO_OUTPUT_MODE",
        ),
        (
            "CREATE TABLE b USING socket OPTIONS (host 'localhost', port '1')",
            "INSERT INTO sink SELECT 1, value FROM STREAM b",
            "JETSQL.SOURCE_NOT_REPLAYABLE",
        ),
    ],
)
def test_unsuitable_sinks_and_sources_are_refused(source: Sql, ddl: str, body: str, condition: str) -> None:
    source(ddl)
    error = source.error(f"CREATE JOB refused AS {body}")
    assert error.condition.startswith(condition), error
    assert source("SHOW ALL JOBS LIKE 'refused'") == []


def test_a_table_that_a_job_overwrites_is_no_stream(source: Sql) -> None:
    source("CREATE TABLE totals (k INT, n BIGINT) USING parquet")
    source(f"CREATE JOB totals {FAST} AS INSERT OVERWRITE totals SELECT id % 2, count(*) FROM STREAM src GROUP BY 1")
    error = source.error("CREATE JOB j AS INSERT INTO sink SELECT k, 'x' FROM STREAM totals")
    assert error.condition == "JETSQL.UNSUPPORTED_QUERY"


def test_stored_functions_and_other_sessions_hide_no_built_in_function(source: Sql, tmp_path: Path) -> None:
    """Keep the meaning of a job after each restart, whatever other users of the engine create."""
    file = jar(tmp_path, "upper", "UDFMd5", "UDFAny")
    source(f"CREATE FUNCTION upper AS '{CLASSES}UDFAny' USING JAR '{file}'")
    source("CREATE FUNCTION lower(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$ return 'other' $$")
    source("CREATE FUNCTION abs(x INT) RETURNS INT RETURN -1")
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT abs(id), upper(name) || lower('B') FROM STREAM src")
    other = source.engine.session()
    other.run("CREATE TEMPORARY FUNCTION twice AS 'org.apache.hadoop.hive.ql.udf.UDFMd5'")
    other.run("CREATE TEMPORARY VIEW src AS SELECT 7 id, 'x' name")
    source("RESTART JOB j")
    source("INSERT INTO src VALUES (-2, 'b', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert sorted(source("SELECT * FROM sink")) == [(1, "Ab"), (2, "Bb")]
    assert source.error("SELECT twice('a')").condition == "UNRESOLVED_ROUTINE"


def test_functions_run_only_classes_of_their_own_jar(source: Sql, tmp_path: Path) -> None:
    """Check the jars. All sessions share their class loader, in which the first jar with a class hides the others."""
    first, copy, second = (jar(tmp_path, *each) for each in (("a", "UDFBin"), ("c", "UDFBin"), ("b", "UDFHex")))
    name = f"{CLASSES}UDFOwn"
    for function, file in (("f1", first), ("f2", copy), ("g", second)):
        source(f"CREATE FUNCTION {function} AS '{name}' USING JAR '{file}'")
    assert source("SELECT f1(10L), f2(10L)") == [("1010", "1010")]
    for text in ("SELECT g(10L)", f"CREATE TEMPORARY FUNCTION h AS '{name}' USING JAR '{second}'"):
        error = source.error(text)
        assert (error.condition, str(second) in error.message) == ("JETSQL.CLASS_IN_OTHER_JAR", True), error
    error = source.error("CREATE JOB j AS INSERT INTO sink SELECT id, g(id) FROM STREAM src")
    assert error.condition == "JETSQL.CLASS_IN_OTHER_JAR"
    assert str(second) not in str(source("LIST JARS"))  # executors may search added jars in another order


@pytest.mark.needs_spark("4.2")
def test_job_is_refused_in_a_session_with_its_own_path(source: Sql) -> None:
    schema = source.value("SELECT current_schema()")
    session = source.engine.session()
    path = f"SET PATH = spark_catalog.{schema}, system.builtin"
    for text in (f"USE {schema}", "SET spark.sql.path.enabled = true", path):
        session.run(text)
    text = "CREATE JOB j AS INSERT INTO sink SELECT id, upper(name) FROM STREAM src"
    with pytest.raises(Exception) as caught:  # of Spark, whose class clients do not see
        session.run(text)
    error = source.engine.error(caught.value, text)
    assert (error.condition, "SET PATH has changed" in error.message) == ("JETSQL.UNSUPPORTED_QUERY", True), error


def jar(folder: Path, name: str, function: str, own: str = "UDFOwn") -> Path:
    """Write a jar with a class of Hive under another name of the same length, as in the constants of the class."""
    [hive] = (Path(pyspark.__file__).parent / "jars").glob("hive-exec-*.jar")
    file = folder / f"{name}.jar"
    with ZipFile(hive) as classes, ZipFile(file, "w") as written:
        content = classes.read(f"{PACKAGE}{function}.class").replace(function.encode(), own.encode())
        written.writestr(f"{PACKAGE}{own}.class", content)
    return file


def test_a_view_changed_under_a_job_stops_it(source: Sql) -> None:
    source("CREATE TABLE totals (k STRING, n BIGINT) USING parquet")
    source("CREATE VIEW v AS SELECT name AS k, upper(name) AS other FROM STREAM src")
    source(f"CREATE JOB j {FAST} AS INSERT OVERWRITE totals SELECT k, count(*) FROM v GROUP BY k")
    source("SUSPEND JOB j")
    source("CREATE OR REPLACE VIEW v AS SELECT upper(name) AS k, name AS other FROM STREAM src")
    error = source.error("RESUME JOB j")
    assert "changed" in error.message
    assert source.status("j") == "SUSPENDED"
    source("CREATE OR REPLACE VIEW v AS SELECT name AS k, upper(name) AS other FROM STREAM src")
    source("RESUME JOB j")
    assert source.status("j") == "RUNNING"


def test_an_error_after_the_first_batch_suspends_and_says_why(source: Sql) -> None:
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT CAST(name AS INT), name FROM STREAM src WHERE id > 1")
    source("INSERT INTO src VALUES (2, 'seven', NULL)")
    error = source.error("WAIT FOR JOB j UNTIL IDLE")
    assert "CAST_INVALID_INPUT" in error.message
    [last] = [row for row in source("SHOW JOB HISTORY j") if row[3] == "SUSPENDED"]
    assert "'seven'" in last[-1]


@pytest.mark.slow
def test_a_query_stopped_from_outside_is_started_again(source: Sql) -> None:
    source(f"CREATE JOB j {FAST} AS INSERT INTO sink SELECT id, name FROM STREAM src")
    jvm = source.engine.spark.sparkContext._jvm
    runtime = source.engine._manager.runtime
    assert isinstance(runtime, SparkRuntime)
    manager = runtime._runs._runs
    [run] = [run for known, run in manager.items() if known.job == source("SHOW JOBS LIKE 'j'")[0][0]]
    assert jvm is not None and isinstance(run, StreamingRun) and run._query is not None
    run._query.stop()
    source("INSERT INTO src VALUES (2, 'b', NULL)")
    source("WAIT FOR JOB j UNTIL IDLE")
    assert source("SELECT * FROM sink ORDER BY id") == [(1, "a"), (2, "b")]


def test_a_statement_of_jetsql_needs_no_session_of_spark(
    engine: EngineInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = engine.session().run("SHOW ALL JOBS").columns  # the engine asks for the default time zone once
    monkeypatch.setattr(engine.spark, "newSession", None)
    assert engine.session().run("SHOW ALL JOBS").columns == columns


def test_spark_has_each_statement_parsed_once(engine: EngineInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(text: str) -> Statement | None:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(engine_instance, "parse", counted)
    text = "SHOW JOBS LIKE 'parsed once'"
    assert engine.spark.sql(text).collect() == []
    assert parsed == [text]
