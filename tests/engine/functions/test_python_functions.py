"""Functions in Python on Spark: called, shown, dropped, and used by jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.connect.session import SparkSession as RemoteSession

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.settings.engine_settings import EndpointSettings
from tests.conftest import Sql
from tests.faults.source import Source

pytestmark = pytest.mark.spark

TIMES = "CREATE OR REPLACE FUNCTION times(x BIGINT, by BIGINT DEFAULT 10) RETURNS BIGINT LANGUAGE PYTHON AS $$ {} $$"


@pytest.fixture
def schema(sql: Sql) -> str:
    return str(sql.value("SELECT current_schema()"))


@pytest.mark.slow
def test_arguments_are_cast_named_and_optional(sql: Sql, schema: str) -> None:
    sql(TIMES.format("return x * by"))
    assert sql("SELECT times(2), times('3', by => 2), times(by => 4, x => 1.5)") == [(20, 6, 4)]
    assert sql(f"SELECT {schema}.TIMES(id), spark_catalog.{schema}.times(id, 1) FROM range(2)") == [(0, 0), (10, 1)]
    assert sql("SELECT times(id), count(*) FROM range(2) GROUP BY times(id) ORDER BY 1") == [(0, 1), (10, 1)]
    for call, condition in {
        "times()": "REQUIRED_PARAMETER_NOT_FOUND",
        "times(1, 2, 3)": "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        "times(DISTINCT 1)": "JETSQL.WRONG_FUNCTION_CALL",
    }.items():
        assert sql.error(f"SELECT {call}").condition == condition


def test_all_sessions_have_it_and_its_replacement(sql: Sql, schema: str, engine: EngineInstance) -> None:
    sql(TIMES.format("return x * by"))
    other = engine.session()
    assert list(other.run(f"SELECT {schema}.times(1)").rows) == [(10,)]
    sql(TIMES.format("return -x"))
    assert list(other.run(f"SELECT {schema}.times(1)").rows) == [(-1,)]
    assert [tuple(row) for row in engine.spark.newSession().sql(f"SELECT {schema}.times(2)").collect()] == [(-2,)]
    sql("DROP FUNCTION times")
    assert engine.error(_raised(other, f"SELECT {schema}.times(1)"), "").condition == "UNRESOLVED_ROUTINE"


@pytest.mark.slow
def test_clients_of_spark_connect_have_it(sql: Sql, schema: str, engine: EngineInstance) -> None:
    text = TIMES.format("return x * by").replace("times(", f"{schema}.times(")
    with engine.open_endpoints(EndpointSettings(), "sesame") as addresses:
        remote = RemoteSession(f"{addresses.connect}/;token=sesame")
        assert remote.sql(text).collect()[0].message == "Created."
        assert [tuple(row) for row in remote.sql(f"SELECT {schema}.times(2)").collect()] == [(20,)]
        remote.sql(f"DROP FUNCTION {schema}.times")
        remote.stop()
    assert sql("SHOW USER FUNCTIONS") == []


def _raised(session: object, text: str) -> BaseException:
    with pytest.raises(Exception) as caught:  # Spark's classes differ
        list(session.run(text).rows)  # type: ignore[attr-defined]
    return caught.value


@pytest.mark.needs_spark("4.2")
def test_python_function_is_shown_and_dropped_like_others(sql: Sql, schema: str) -> None:
    sql(TIMES.format("return x * by").replace(" AS $$", " COMMENT 'multiplies' AS $$"))
    assert (f"spark_catalog.{schema}.times",) in sql("SHOW USER FUNCTIONS")
    assert sql("SHOW USER FUNCTIONS LIKE 'tim*'") == [(f"spark_catalog.{schema}.times",)]
    shown = [line for (line,) in sql("DESCRIBE FUNCTION EXTENDED times")]
    assert shown[:5] == [
        f"Function:      spark_catalog.{schema}.times",
        "Type:          SCALAR",
        "Input:         x BIGINT",
        "               by BIGINT DEFAULT 10",
        "Returns:       BIGINT",
    ]
    assert "Comment:       multiplies" in shown
    assert shown[-1] == "Body:          return x * by "
    assert sql(f"SELECT name, parameters FROM jetsql.functions WHERE schema = '{schema}'") == [
        ("times", "x BIGINT, by BIGINT DEFAULT 10")
    ]
    assert sql.error("CREATE FUNCTION times(x INT) RETURNS INT RETURN x").condition == "JETSQL.FUNCTION_ALREADY_EXISTS"
    assert sql.error("CREATE FUNCTION twice(x INT) RETURNS INT RETURN times(x)").condition == "JETSQL.NOT_SUPPORTED"
    sql("DROP FUNCTION times")
    sql("DROP FUNCTION IF EXISTS times")
    assert sql.error("DROP FUNCTION times").condition == "ROUTINE_NOT_FOUND"


def test_a_function_of_spark_keeps_its_name(sql: Sql) -> None:
    sql("CREATE FUNCTION times(x INT) RETURNS INT RETURN x")
    assert sql.error(TIMES.format("return x")).condition == "JETSQL.FUNCTION_ALREADY_EXISTS"
    assert sql("SELECT times(3)") == [(3,)]


@pytest.mark.slow
def test_batches_and_tables(sql: Sql) -> None:
    for style, addition in {"PANDAS": "a + b", "ARROW": "pyarrow.compute.add(a, b)"}.items():
        sql(
            f"CREATE FUNCTION plus_{style}(a BIGINT, b BIGINT) RETURNS BIGINT LANGUAGE PYTHON PARAMETER STYLE {style}"
            " HANDLER 'h' AS $$\nimport pyarrow.compute\n"
            f"def h(batches):\n  for a, b in batches:\n    yield {addition}$$"
        )
    assert sql("SELECT plus_PANDAS(id, 1), plus_ARROW(id, 2) FROM range(2)") == [(1, 2), (2, 3)]
    sql(
        "CREATE FUNCTION upto(n INT) RETURNS TABLE (i INT, square DOUBLE) LANGUAGE PYTHON HANDLER 'Upto' AS $$\n"
        "class Upto:\n  def eval(self, n):\n    for i in range(n):\n      yield i, i * i\n$$"
    )
    assert sql("SELECT id, i, square FROM range(3), LATERAL upto(id) ORDER BY 1, 2") == [
        (1, 0, 0.0),
        (2, 0, 0.0),
        (2, 1, 1.0),
    ]
    assert sql.error("SELECT upto(1)").condition == "JETSQL.WRONG_FUNCTION_CALL"


def test_a_view_calls_the_function_of_its_own_schema(sql: Sql, schema: str) -> None:
    sql(TIMES.format("return x * by"))
    sql("CREATE VIEW tens AS SELECT times(id) AS ten FROM range(2)")
    sql(f"CREATE SCHEMA {schema}_b")
    sql(f"USE {schema}_b")
    sql(TIMES.format("return 0"))
    assert sql(f"SELECT ten FROM {schema}.tens ORDER BY ten") == [(0,), (10,)]
    assert sql.error(f"DROP SCHEMA {schema}_b").condition == "JETSQL.SCHEMA_NOT_EMPTY"
    sql(f"USE {schema}")
    sql(f"DROP SCHEMA {schema}_b CASCADE")
    assert sql(f"SELECT name FROM jetsql.functions WHERE schema = '{schema}_b'") == []


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("CREATE FUNCTION f(x INTT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$", 1, 21, "INTT is not a data type"),
        ("CREATE FUNCTION f(x INT, X INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$", 1, 26, "exists twice"),
        (
            "CREATE FUNCTION f(x INT DEFAULT y) RETURNS INT LANGUAGE PYTHON AS $$ return x $$",
            1,
            33,
            "cannot be resolved",
        ),
        ("CREATE FUNCTION no.f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$", 1, 17, "does not exist"),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$\n  return x +\n$$", 2, 13, "invalid syntax"),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$\n  import no_such\n  return x\n$$",
            2,
            3,
            "no_such",
        ),
    ],
)
def test_errors_at_create_have_a_place(sql: Sql, text: str, line: int, column: int, message: str) -> None:
    error = sql.error(text)
    assert error.condition == "JETSQL.INVALID_FUNCTION"
    assert message in error.message
    assert (error.line, error.column) == (line, column)


def test_errors_in_a_call_name_function_and_line(sql: Sql, schema: str) -> None:
    sql(TIMES.format("\nif x == 1:\n  raise ValueError('one')\nreturn 'a'"))
    error = sql.error("SELECT times(1)")
    assert error.condition == "PYTHON_EXCEPTION"
    assert (
        error.message
        == f"The function {schema}.times raised ValueError: one (line 3 of its source: raise ValueError('one'))."
    )
    assert (
        sql.error("SELECT times(2)").message == f"The function {schema}.times returned 'a' (str), which is not BIGINT."
    )


def test_replaced_function_of_a_job_is_detected(sql: Sql, numbers: Source) -> None:
    sql(TIMES.format("return x * by"))
    job = (
        "JOB tens OPTIONS ('snapshotIntervalMillis' = '100') AS INSERT INTO plain SELECT times(id) FROM STREAM numbers"
    )
    sql(f"CREATE {job}")
    before = sql("SELECT sum(id) FROM plain")
    assert "The job tens was created with the previous" in sql(TIMES.format("return -x"))[0][1]
    numbers.add(1)
    sql("WAIT FOR JOB tens UNTIL IDLE")
    assert sql("SELECT count(*) FROM plain WHERE id < 0") == [(0,)]  # the run continues with its source
    assert sql("SELECT sum(id) FROM plain") != before
    error = sql.error("RESTART JOB tens")
    assert "JETSQL.JOB_CHANGED" in error.message
    assert "times was replaced" in error.message
    sql(TIMES.format("return x * by"))
    sql("RESUME JOB tens")  # the change is undone
    sql(TIMES.format("return -x"))
    sql(f"CREATE OR REPLACE {job}")
    numbers.add(1)
    sql("WAIT FOR JOB tens UNTIL IDLE")
    assert sql("SELECT count(*) > 0 FROM plain WHERE id < 0") == [(True,)]


@pytest.mark.slow
def test_replaced_function_completes_a_failed_batch(sql: Sql, numbers: Source) -> None:
    newest = sql.value("SELECT max(id) FROM numbers")
    sql(TIMES.format(f"\nif x > {newest}: raise ValueError(x)\nreturn x * by"))
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '0')"
    job = f"JOB tens {options} AS INSERT INTO plain SELECT times(id) FROM STREAM numbers WHERE times(id) >= 0"
    sql(f"CREATE {job}")
    numbers.add(1)
    error = sql.error("WAIT FOR JOB tens UNTIL IDLE")
    assert "times raised ValueError" in error.message
    sql(TIMES.format("return x * by"))
    sql(f"CREATE OR REPLACE {job}")
    sql("WAIT FOR JOB tens UNTIL IDLE")
    sql("REFRESH TABLE numbers")
    assert sql("SELECT sum(id) FROM plain") == sql("SELECT sum(id) * 10 FROM numbers")


@pytest.mark.slow
def test_state_is_not_continued_with_another_function(sql: Sql, numbers: Source) -> None:
    sql(TIMES.format("return x % by"))
    job = "JOB d AS INSERT OVERWRITE digits SELECT times(id), count(*), sum(id) FROM STREAM numbers GROUP BY times(id)"
    sql(f"CREATE {job}")
    sql("RESTART JOB d")  # the same function has the same fingerprint in each analysis
    sql(TIMES.format("return x % (by - 1)"))
    assert sql.error(f"CREATE OR REPLACE {job}").condition == "JETSQL.STATE_NOT_COMPATIBLE"


@pytest.mark.slow
def test_a_function_of_a_jar_works_in_a_job(sql: Sql, numbers: Source, tmp_path: Path) -> None:
    sql("CREATE FUNCTION digest AS 'org.apache.hadoop.hive.ql.udf.UDFMd5'")
    sql("CREATE TABLE digests (d STRING) USING parquet")
    sql("CREATE JOB digests AS INSERT INTO digests SELECT digest(CAST(id AS STRING)) FROM STREAM numbers")
    sql("RESTART JOB digests")
    assert sql("SELECT max(length(d)) FROM digests") == [(32,)]
