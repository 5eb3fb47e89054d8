"""Unknown options of tables, which Spark would ignore."""

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark

DERBY = "url 'jdbc:derby:memory:options;create=true', dbtable 'SYS.SYSTABLES'"

# (statement, the words at the place, a part of the message)
REFUSED = (
    (f"CREATE TABLE t USING jdbc OPTIONS ({DERBY}, 'key.column' 'TABLEID')", "'key.column'", "'key.columns'?"),
    (f"CREATE TABLE t USING jdbc OPTIONS ({DERBY}, key_columns 'TABLEID')", "key_columns", "'key.columns'?"),
    (f"CREATE TABLE t USING jdbc OPTIONS ({DERBY}, 'fetchsze' '10')", "'fetchsze'", "'fetchsize'?"),
    (f"CREATE TABLE t USING jdbc OPTIONS ({DERBY}, 'foo' 'bar')", "'foo'", "Neither Spark nor the driver knows it."),
    ("CREATE TABLE t (id INT) USING parquet OPTIONS ('key.column' 'id')", "'key.column'", "'key.columns'?"),
    ("CREATE TABLE t (id INT) USING parquet OPTIONS ('compresion' 'zstd')", "'compresion'", "'compression'?"),
    ("CREATE TABLE t (id INT) OPTIONS ('lookup' 'true')", "'lookup'", "no option 'lookup'"),
    ("CREATE TABLE t (id INT) USING csv OPTIONS ('headr' 'true')", "'headr'", "'header'?"),
    ("CREATE TABLE t (id INT) USING csv TBLPROPERTIES ('key.columns' = 'id')", "'key.columns'", "write it in OPTIONS"),
    ("CREATE TABLE t (id INT) USING json TBLPROPERTIES ('delete.wen' = 'id')", "'delete.wen'", "'delete.when'?"),
    ("ALTER TABLE src SET TBLPROPERTIES ('key.colums' = 'id')", "'key.colums'", "'key.columns'?"),
    ("SELECT * FROM src WITH ('pathGlobFiltr' = '*')", "'pathGlobFiltr'", "'pathGlobFilter'?"),
    ("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src WITH ('maxFilesPerTriger' = '1')", "", "Trigger'?"),
    ("CREATE STREAMING TABLE t OPTIONS ('trigger' 'interval') AS SELECT id FROM STREAM src", "", "JOB OPTIONS (...)"),
    ("CREATE STREAMING TABLE t OPTIONS ('snapshotIntervalMilis' '9') AS SELECT id FROM STREAM src", "", "Millis'?"),
)
ACCEPTED = (
    f"CREATE TABLE a USING jdbc OPTIONS ({DERBY}, 'KEY.COLUMNS' 'TABLEID', fetchsize '10', user 'x', password 'y')",
    "CREATE TABLE b (id INT) USING csv OPTIONS (header 'true', sep ';', 'maxFilesPerTrigger' '1', 'mode' 'FAILFAST')",
    "CREATE TABLE c (id INT) USING json OPTIONS ('primitivesAsString' 'true') TBLPROPERTIES ('team' = 'ada')",
    "CREATE TABLE d (id INT) USING parquet OPTIONS ('parquet.block.size' '1000', 'mergeSchema' 'true')",
    "CREATE TABLE e (id INT) USING orc OPTIONS ('orc.compress' 'SNAPPY', compression 'zstd')",
    "CREATE TABLE f USING rate OPTIONS (rowsPerSecond '1', 'their.own' 'x')",
)


def test_an_unknown_option_is_refused(sql: Sql) -> None:
    sql("CREATE TABLE src (id INT) USING parquet")
    sql("CREATE TABLE out (id INT) USING parquet")
    for text, word, message in REFUSED:
        error = sql.error(text)
        assert error.condition == "JETSQL.UNKNOWN_OPTION", (text, error)
        assert message in str(error), error
        if word:
            assert error.column == text.index(word) + 1, (text, error)
    assert {row[1] for row in sql("SHOW TABLES")} == {"src", "out"}
    for text in ACCEPTED:
        sql(text)
