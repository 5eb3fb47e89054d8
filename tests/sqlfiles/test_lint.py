"""`jetsql lint`: each kind of problem with its place and hint, the formats of the report, and the exit codes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_problems import LintProblem
from jetsql.sqlfiles.lint_report import LintFormat, report_problems
from jetsql.sqlfiles.read_sql_files import SqlFile
from tests.support.golden_reports import compare
from tests.support.sql_corpus import document_statements

JetSql = Callable[..., Result]


@pytest.fixture
def jetsql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JetSql:
    monkeypatch.setenv("JETSQL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli.cli, arguments, input=input, catch_exceptions=False, prog_name="jetsql")

    return run


def lint(text: str, schema: str | None = None, **values: str) -> list[LintProblem]:
    return LintRun(values, None if schema is None else [SqlFile("schema.sql", schema)]).check([SqlFile("a.sql", text)])


def lines(problems: list[LintProblem]) -> list[str]:
    return [line for text in report_problems(problems, LintFormat.TEXT) for line in text.split("\n")]


BODY = "AS INSERT INTO t SELECT 1"
PROBLEMS = {
    "a misspelled verb": "SUSPND JOB x;",
    "a misspelled object": "CREATE TABEL t (a INT);\nDROP VEIW v;\nALTER VIEW v;\nCREATE CONNECTION c;",
    "no statement": "SELEC 1;\nfrobnicate;\n",
    "an unknown option": f"CREATE JOB j OPTIONS ('triger' = 'interval') {BODY};",
    "a wrong value": f"CREATE JOB j\nOPTIONS ('trigger' = 'sometimes') {BODY};",
    "an option of a table": "CREATE STREAMING TABLE t JOB OPTIONS ('autoScaling' = 'maybe') AS SELECT 1 AS a;",
    "a protected setting": f"CREATE JOB j OPTIONS ('spark.sql.extensions' = 'x') {BODY};",
    "misspelled settings": f"""SET spark.sql.shuffle.partition = 2;
SET `spark.sql.ansi.Enabled` = true;
SET spark.sql.shuffle.partitions = 2; SET my.partition = 2; SET VAR x = 2; SET spark.sql.shuffle.partition; SET -v;
CREATE JOB j OPTIONS ('spark.sql.shuffle.partition' = '2', 'spark.sql.shuffle.xyz' = '2', 'spark.my.key' = '2') {BODY};
ALTER JOB j OPTIONS ('spark.sql.ansi.enable' = 'true');""",
    "other spellings": f"""CREATE JOB j OPTIONS ('snapshot_interval_millis' = '100', 'trigger' = 'AVAILABLE_NOW')
{BODY};""",
    "a name": f"CREATE JOB my-job {BODY};",
    "a body without a table": "CREATE JOB j AS SELECT 1;",
    "a query": "CREATE JOB j AS INSERT INTO t\nSELECT a FROM (SELECT b;",
    "a query of Spark": "SELECT a b c FROM t;",
    "a missing semicolon": "CREATE JOB j AS INSERT INTO t SELECT a FROM s\nSELECT 2;",
    "syntax that sqlglot lacks": """CREATE JOB j AS
INSERT INTO t SELECT * FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.x >= b.x);""",
    "variables": "SELECT '${one}', ${two}, ${one}, ${three:-3};\nSELECT ${four};",
    "no variable": "SELECT ${};",
    "a job twice": f"CREATE JOB j {BODY};\nCREATE OR REPLACE JOB j {BODY};\nCREATE JOB J {BODY};",
    "a job again": f"CREATE JOB j {BODY};\nDROP JOB j;\nCREATE JOB j {BODY};",
    "a table twice": "CREATE STREAMING TABLE j AS SELECT 1 AS a;\nCREATE JOB j AS INSERT INTO t SELECT 1;",
    "its own rows": "CREATE JOB j AS INSERT INTO a.t SELECT * FROM STREAM s JOIN A.T AS x ON s.k = x.k;",
    "its own rows in one of several tables": """CREATE JOB j AS
FROM STREAM u INSERT INTO t SELECT a INSERT INTO u SELECT b;""",
    "a table that two jobs replace": """CREATE JOB a AS INSERT OVERWRITE s.t SELECT 1;
CREATE JOB b AS INSERT INTO s.T SELECT 2;
CREATE OR REPLACE JOB a AS INSERT OVERWRITE s.t SELECT 3;
DROP JOB a;
CREATE JOB c AS INSERT OVERWRITE s.t SELECT 4;
DROP JOB b;
CREATE JOB d AS INSERT OVERWRITE s.t PARTITION (p = 1) SELECT 4;""",
    "the table of another job": """CREATE MATERIALIZED VIEW v AS SELECT 1 AS a;
CREATE JOB j AS INSERT INTO v SELECT 1;
CREATE OR REFRESH MATERIALIZED VIEW v AS SELECT 2 AS a;""",
    "a common table expression of its name": "CREATE JOB j AS WITH t AS (SELECT 1) INSERT INTO t SELECT * FROM t;",
    "functions of Flink": """CREATE JOB j AS
INSERT INTO t SELECT split_index(a, ',', 0), latest_by_offset(a) FROM STREAM s GROUP BY hop(ts);""",
    "a table function": "SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE));",
    "no stream": """CREATE JOB j AS INSERT INTO t SELECT a FROM s.`o r`;
CREATE STREAMING TABLE u AS SELECT a FROM s;
CREATE VIEW v AS SELECT * FROM w;
CREATE JOB k AS INSERT INTO t SELECT a FROM v;""",
    "misspelled words after SHOW": """SHOW JBOS; SHOW ENIGNES; SHOW TABELS; SHOW STREAMNG TABLES; SHOW al JOBS;
SHOW JOB; SHOW USER FUNCTIONS; SHOW TABLES;""",
    "options of the job in those of the table": """CREATE STREAMING TABLE a USING json
OPTIONS ('trigger' = 'interval', 'path' = 'x', snapshotIntervalMillis '100') AS SELECT * FROM STREAM s;
CREATE JOB j AS CREATE TABLE t OPTIONS ('trigger' = 'interval') AS SELECT * FROM STREAM s;
CREATE STREAMING TABLE b JOB OPTIONS ('trigger' = 'interval') OPTIONS ('path' = 'trigger')
AS SELECT * FROM STREAM s;""",
    "a name that is STREAM": "CREATE JOB j AS INSERT INTO t SELECT a FROM s STREAM;",
    "escaped variables": "SELECT '$${one}', $${ 'a', '$${two' /* $${b} */;\nSELECT /* jetsql lint: ignore */ '$${x}';",
    "an open quote": "SELECT 1;\nSELECT 'a;\nSELECT 2;",
    "a command": "SELECT 1;\n.read x;",
    "a block": f"BEGIN\n  CREATE JOB j {BODY};\nEND;",
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(name: str) -> None:
    compare(lines(lint(PROBLEMS[name])))


def reads_no_stream_by_itself(statement: str) -> bool:
    """Return whether a job shows a forgotten STREAM on purpose, or reads a view over a stream of another statement."""
    return re.search(r"FROM (landing WHERE|(bid|auction|person)(_without_watermark)?\b)", statement) is not None


@pytest.mark.parametrize("statement", [each for each in document_statements() if not reads_no_stream_by_itself(each)])
def test_documentation_has_no_lint_problems(statement: str) -> None:
    """Omit errors of the grammar, which the documentation has on purpose."""
    found = [problem for problem in lint(statement, data="x", servers="y") if problem.level.value == "warning"]
    assert lines(found) == []


def test_objects_replaced_by_two_files() -> None:
    first = """INSERT OVERWRITE t SELECT 1; INSERT OVERWRITE t SELECT 2;
CREATE OR REPLACE JOB a AS INSERT INTO u SELECT 1;
INSERT OVERWRITE p PARTITION (d = 1) SELECT 1; CREATE OR REPLACE TABLE r AS SELECT 1; INSERT INTO s SELECT 1;"""
    second = """INSERT OVERWRITE TABLE T SELECT 3; CREATE OR REPLACE JOB A AS INSERT INTO v SELECT 1;
INSERT OVERWRITE p PARTITION (d = 2) SELECT 1; CREATE OR REPLACE TABLE r AS SELECT 1; INSERT OVERWRITE s SELECT 1;
INSERT OVERWRITE u SELECT 1;"""
    found = LintRun({}).check([SqlFile("1.sql", first), SqlFile("2.sql", second)])
    compare(lines([problem for problem in found if "STREAM_MISSING" not in problem.condition]))


def test_a_comment_turns_off_warnings_of_its_statement() -> None:
    text = (
        "SELECT a b c -- jetsql lint: ignore\nFROM t;\nSELECT a b c FROM t;\nSUSPEND /* jetsql lint: ignore */ JOBS j;"
    )
    assert [(problem.line, problem.level.value) for problem in lint(text)] == [(3, "warning"), (4, "error")]
    assert len(lint("SELECT a b 'jetsql lint: ignore' c FROM t;")) == 1


def test_job_without_need_of_a_stream_gives_no_warning() -> None:
    text = """CREATE VIEW v AS SELECT * FROM STREAM s; CREATE VIEW w AS SELECT * FROM db.v JOIN t;
CREATE JOB a AS INSERT INTO t SELECT * FROM w;
CREATE JOB b AS INSERT INTO t SELECT * FROM d JOIN STREAM s;
CREATE JOB c AS INSERT INTO t SELECT * FROM o; -- not in the statement
CREATE JOB d AS INSERT INTO t SELECT * FROM /* jetsql lint: ignore */ o;
CREATE JOB e AS INSERT INTO t SELECT id FROM jetsql.jobs JOIN range(3);
CREATE MATERIALIZED VIEW m AS SELECT * FROM o;
INSERT INTO t SELECT * FROM o;"""
    assert [(problem.line, problem.condition) for problem in lint(text)] == [(4, "JETSQL.STREAM_MISSING")]


def test_a_function_of_the_files_is_known() -> None:
    create = "CREATE FUNCTION json_value() RETURNS TIMESTAMP RETURN now();"
    assert lint(f"{create}\nSELECT json_value();") == []


def test_places_are_those_before_variables_were_filled_in() -> None:
    [problem] = lint(
        "SELECT '${a}';\nCREATE JOB j OPTIONS ('${key}' = 'x', 'nothing' = '${a}') AS INSERT INTO t SELECT 1;",
        a="a long value",
        key="spark.sql.shuffle.partitions",
    )
    assert (problem.line, problem.column) == (2, 39)
    assert problem.script.text[problem.offset : problem.stop] == "'nothing'"


SCHEMA = "CREATE TABLE IF NOT EXISTS orders (id INT) USING json; CREATE OR REPLACE VIEW a.v AS SELECT 1;"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("CREATE JOB j AS INSERT INTO big SELECT * FROM STREAM orders;", ["big"]),
        ("CREATE JOB j AS SINK INTO orders SELECT * FROM STREAM ordres JOIN a.v USING (id);", ["ordres"]),
        ("CREATE JOB j AS CREATE TABLE big AS SELECT * FROM STREAM orders; SELECT * FROM big;", []),
        ("CREATE STREAMING TABLE big AS SELECT * FROM STREAM spark_catalog.default.orders; SELECT * FROM s.big;", []),
        ("WITH x AS (SELECT 1) SELECT * FROM x, range(10), jetsql.jobs, parquet.`/data/a`;", []),
        ("SELECT * FROM b.v;", ["b.v"]),
        ("INSERT INTO orders SELECT (SELECT max(id) FROM `other table`);", ["other table"]),
    ],
)
def test_tables_that_no_file_creates(text: str, missing: list[str]) -> None:
    found = lint(text, SCHEMA)
    assert [problem.message for problem in found] == [f"No file creates the table or view {name}." for name in missing]
    assert {(problem.condition, problem.sqlstate) for problem in found} <= {("TABLE_OR_VIEW_NOT_FOUND", "42P01")}
    for problem, name in zip(found, missing, strict=True):
        assert text[problem.offset : problem.stop].strip("`") == name
    assert lint(text) == []


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_exit_code(jetsql: JetSql) -> None:
    Path("good.sql").write_text("SHOW JOBS;\n", encoding="utf-8")
    Path("note.sql").write_text("ALTER JOB j OPTIONS ('restart_attempts' = '1');", encoding="utf-8")
    Path("bad.sql").write_text("SUSPEND JOB;\n", encoding="utf-8")
    ended = jetsql("lint", "good.sql")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (ExitCode.SUCCESS, "", "No problems in 1 file.\n")
    ended = jetsql("lint", "note.sql")
    assert ended.exit_code == ExitCode.SUCCESS and "note: " in ended.stdout
    ended = jetsql("lint", "good.sql", "bad.sql", "note.sql")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert ended.stdout.startswith("bad.sql:1:12: [JETSQL.PARSE_SYNTAX_ERROR] Expected a job's name")
    assert ended.stderr == "1 error, 1 note in 3 files.\n"
    ended = jetsql("lint", "missing.sql")
    assert ended.exit_code == ExitCode.USAGE and "missing.sql: No such file or directory." in ended.stderr
    assert jetsql("lint").exit_code == ExitCode.USAGE
    assert not Path("home").exists()


def test_folders_and_standard_input(jetsql: JetSql) -> None:
    Path("sql/b").mkdir(parents=True)
    Path("sql/.git").mkdir()
    for name in ("sql/b/z.sql", "sql/a.sql", "sql/.git/c.sql", "sql/read.me"):
        Path(name).write_text("RESUME;\n", encoding="utf-8")
    ended = jetsql("lint", "sql", "-", input="WAIT;")
    assert [line.split(":")[0] for line in ended.stdout.split("\n") if "[JETSQL." in line] == [
        "sql/a.sql",
        "sql/b/z.sql",
        "<stdin>",
    ]


def test_variables_and_schema_of_the_command(jetsql: JetSql, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.sql").write_text("CREATE JOB j AS INSERT INTO ${a} SELECT * FROM STREAM ${b};", encoding="utf-8")
    Path("schema.sql").write_text("CREATE TABLE t (a INT) LOCATION '${b}';", encoding="utf-8")
    monkeypatch.setenv("JETSQL_VAR_b", "u")
    ended = jetsql("lint", "--set", "a=t", "--schema", "schema.sql", "a.sql")
    assert "a.sql:1:55: [TABLE_OR_VIEW_NOT_FOUND] No file creates the table or view u." in ended.stdout
    assert ended.stdout.count("[") == 1


def test_an_engine_that_does_not_run_is_not_started(jetsql: JetSql) -> None:
    ended = jetsql("lint", "--engine", "-", input="CREATE JOB j AS INSERT INTO t SELECT 1;")
    assert ended.exit_code == ExitCode.NO_ENGINE and "[JETSQL." in ended.stderr
    assert not Path("home").exists()


def test_flags_that_do_not_apply(jetsql: JetSql) -> None:
    ended = jetsql("--format", "csv", "lint", "-", input="")
    assert ended.exit_code == ExitCode.USAGE and "--format does not apply to lint." in ended.stderr


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_the_formats_of_the_report(jetsql: JetSql, form: str) -> None:
    Path("a, b.sql").write_text("SHOW JOBS;\n  SUSPEND JOBS x; -- 100%\nSELEC 1;\n", encoding="utf-8")
    ended = jetsql("lint", "--format", form, "a, b.sql")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert ended.stderr == ("2 errors in 1 file.\n" if form == "text" else "")
    compare(ended.stdout.splitlines())
    if form in ("json", "sarif"):
        json.loads(ended.stdout)


def test_empty_reports(jetsql: JetSql) -> None:
    assert json.loads(jetsql("lint", "--format", "json", "-", input="SHOW JOBS").stdout) == []
    assert json.loads(jetsql("lint", "--format", "sarif", "-", input="").stdout)["runs"][0]["results"] == []
    assert jetsql("lint", "--format", "github", "-", input="").stdout == ""


def test_a_hint_names_no_other_variable_without_a_value() -> None:
    found = lint("SELECT ${tables}, ${tabel}, ${tables}, ${day:-1};", day="1")
    assert [(problem.column, problem.hint.partition(",")[0]) for problem in found] == [(8, "Set it"), (19, "Set it")]


@pytest.mark.parametrize(
    ("option", "condition", "hint"),
    [
        ("'key.colums' = 'a'", "UNKNOWN_OPTION", "Did you mean 'key.columns'?"),
        ("startingOffset 'earliest'", "UNKNOWN_OPTION", "Did you mean 'startingOffsets'?"),
        ("'avro.schema.registry.urls' = 'x'", "UNKNOWN_OPTION", "Did you mean 'avro.schema.registry.url'?"),
        ("'batch.size' '5'", "UNKNOWN_OPTION", "Did you mean 'kafka.batch.size'?"),
        ("'retries' '5'", "UNKNOWN_OPTION", "Options of Kafka's clients begin with 'kafka.'"),
        ("'value.format' = 'jsn'", "INVALID_OPTION_VALUE", "It must be one of 'json', 'csv', 'avro'"),
        ("'kafka.transactional.id' = 'x'", "OPTION_NOT_CHANGEABLE", "Leave it out."),
        ("'kafka.commit.group' = 'x'", "OPTION_NOT_CHANGEABLE", "Leave it out."),
        ("'VALUE.FORMAT' = 'JSON', kafka.linger.ms '5', 'json.timestampFormat' = 'x'", "", ""),
        ("'avro.schema.registry.header.X-Key' = 'secret:env:X', 'startingOffsets' = '{}'", "", ""),
    ],
)
def test_options_of_a_kafka_table(option: str, condition: str, hint: str) -> None:
    found = lint(f"CREATE TABLE t (a INT) USING kafka OPTIONS ('topic' = 'a', {option});")
    assert [problem.condition for problem in found] == ([f"JETSQL.{condition}"] if condition else [])
    assert all(hint in (problem.hint or "") for problem in found)


@pytest.mark.parametrize(
    ("url", "login", "is_reported"),
    [
        ("http://registry:8081", "avro.schema.registry.basic.auth.user.info", True),
        ("HTTP://registry", "avro.schema.registry.header.X-Key", True),
        ("http://registry:8081", "avro.schema.registry.bearer.auth.token", True),
        ("https://registry:8081", "avro.schema.registry.basic.auth.user.info", False),
        ("http://localhost:8081", "avro.schema.registry.basic.auth.user.info", False),
        ("http://localhost.example.com", "avro.schema.registry.basic.auth.user.info", True),
        ("http://registry:8081", "avro.schema.registry.subject", False),
    ],
)
def test_credentials_of_a_registry_in_clear(url: str, login: str, is_reported: bool) -> None:
    table = f"CREATE TABLE t (a INT) USING kafka OPTIONS ('avro.schema.registry.url' = '{url}', '{login}' = 'me:x');"
    found = [problem for problem in lint(table) if problem.condition == "JETSQL.CREDENTIALS_IN_CLEAR"]
    assert [problem.column for problem in found] == ([table.index(url)] if is_reported else [])
