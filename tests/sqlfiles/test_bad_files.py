"""Broken files: cut off anywhere, with wrong quotes, of other systems, binary, huge. Each is a message with a place."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlglot
from click.testing import CliRunner, Result
from sqlglot.dialects.spark import Spark

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.language.tokens import Kind, scan
from jetsql.sqlfiles.apply.declarations import read_declarations
from jetsql.sqlfiles.apply.dependencies import order_declarations
from jetsql.sqlfiles.apply.statement_edits import creating
from jetsql.sqlfiles.apply.table_definitions import read_definition
from jetsql.sqlfiles.convert_script import convert_script
from jetsql.sqlfiles.formatting.format_files import FileFormatter
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_problems import LintProblem
from jetsql.sqlfiles.read_sql_files import LARGEST_FILE, SqlFile
from tests.support.paths import ROOT

JetSql = Callable[..., Result]
PLACE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): \[[A-Z_.]+\] .", re.MULTILINE)

SCRIPT = """-- a script
CREATE TABLE IF NOT EXISTS t (id INT, `a b` STRING COMMENT 'it''s') USING json OPTIONS ('k' = "v");
CREATE OR REPLACE JOB `a job` COMMENT 'c' OPTIONS ('trigger' = 'availableNow', 'snapshotIntervalMillis' = '100') AS
WITH x AS (SELECT 1 AS a, r'\\d' AS b /* a comment */)
SINK INTO a.t SELECT a, count(*) FROM STREAM s WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS s WHERE b LIKE '%x''y%' AND c
GROUP BY window(ts, '1 minute'), a;
CREATE JOB c AS AUTO CDC INTO t FROM STREAM s KEYS (id, `k 2`) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY (n, m);
CREATE JOB m AS FROM STREAM s INSERT INTO t SELECT a WHERE b SINK INTO ${u:-u} SELECT c;
CREATE FUNCTION f(x DECIMAL(10, 2) DEFAULT 1) RETURNS TABLE (n INT) LANGUAGE PYTHON HANDLER 'F' AS $b$ F = "x" $b$;
CREATE OR REFRESH STREAMING TABLE z JOB OPTIONS ('autoScaling' = 'true') PARTITIONED BY (d) AS SELECT * FROM STREAM s;
BEGIN DECLARE a INT; IF a > 1 THEN SELECT 'x'; END IF; END;
WAIT FOR JOB j UNTIL BATCH 3 TIMEOUT 10 SECONDS; DROP JOB IF EXISTS '0401-9f77-b9c0-0001' WITH SNAPSHOT z;
"""

OTHERS = {
    "psql": "\\d orders\n\\copy t FROM 'x.csv'\nSELECT 1 \\gexec\n",
    "PL/pgSQL": "DO $$ BEGIN RAISE NOTICE 'x'; END $$;\nCREATE FUNCTION f() RETURNS int AS $f$ BEGIN END $f$;",
    "T-SQL": "USE [db]\nGO\nSELECT TOP 10 [a b] FROM dbo.[t] WITH (NOLOCK)\nGO\nDECLARE @x INT = 1;",
    "MySQL": "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; END //\nDELIMITER ;\n# a comment\n",
    "PL/SQL": "CREATE OR REPLACE TRIGGER t BEFORE INSERT ON x BEGIN :new.id := seq.nextval; END;\n/\n",
    "BigQuery": "SELECT * EXCEPT (a) FROM `project-1.data.t` WHERE _PARTITIONTIME > @x;",
    "Snowflake": "CREATE STREAM s ON TABLE t; SELECT $1:a::string FROM @stage (FILE_FORMAT => f);",
    "Flink": "CREATE TABLE t (a INT, ts TIME, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('a' = '');"
    "\nEXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;",
    "ksqlDB": "CREATE STREAM s (id VARCHAR KEY) WITH (KAFKA_TOPIC='t');\nSELECT * FROM s EMIT CHANGES;\nTERMINATE q;",
    "Hazelcast": "CREATE JOB j OPTIONS ('processingGuarantee' 'exactlyOnce') AS SINK INTO m SELECT __key, this FROM t;",
    "Jinja": "{% for x in y %}\nSELECT {{ x }} FROM {{ ref('t') }};\n{% endfor %}",
    "JSON": '{"a": [1, 2, {"b": null}]}',
    "HTML": "<!doctype html><html><body onload='x()'>&amp;</body></html>",
    "CSV": 'id,name\n1,"a, b"\n2,\'c\n',
    "Python": 'def f(x):\n    """A text."""\n    return [y for y in x if y != "\'"]\n',
    "shell": "#!/bin/sh\nset -e\nfor x in *.sql; do jetsql run \"$x\" | grep 'a b' && echo ${x%.sql}; done\n",
    "prose": "Dear all, please don't run this; it isn't SQL.\n\nRegards",
    "a conflict": "<<<<<<< HEAD\nSHOW JOBS;\n=======\nSHOW ALL JOBS;\n>>>>>>> other\n",
    "smart quotes": "CREATE JOB j OPTIONS (\u2018trigger\u2019 = \u201cinterval\u201d) AS INSERT INTO t SELECT 1;",
    "wide spaces": "SHOW\u00a0JOBS;\u2028CREATE\u3000JOB j AS INSERT INTO t SELECT 1;\u200b",
    "control characters": "SHOW JOBS\x00;\x1b[31m SELECT '\x07';\x7f",
    "a surrogate": "SELECT '\udcff';",
    "only signs": "((((;;;)))) [[ {{ }} ]] :: := => -> .. `` '' \"\" $$ $$ /**/ -- ",
    "an emoji": "CREATE JOB 🚀 AS INSERT INTO t SELECT '🚀' AS 🚀;",
    "carriage returns": "SHOW JOBS;\rSUSPEND JOB j\r;\r\nSELECT 'a\rb';",
    "deep nesting": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + ";",
    "deep CASE": "SELECT " + "CASE WHEN a THEN " * 2_000 + "1" + " END" * 2_000,
    "a long chain": "SELECT " + " + ".join(["a"] * 3_000) + ", " + "NOT " * 3_000 + "b;",
    "deep types": "CREATE TABLE t (a " + "STRUCT<a: " * 100 + "INT" + ">" * 100 + ") USING json;",
    "calls that may be types": "SELECT " + "STRUCT(DATE(" * 40 + "a" + "))" * 40 + ";",
    "joins without a condition": "SELECT * FROM a" + " LEFT JOIN a" * 60 + ";",
    "joins in parentheses": "SELECT * FROM a" + " JOIN (SELECT * FROM a JOIN b JOIN c JOIN d" * 10 + ")" * 10 + ";",
    "nested comments": "/*" * 2_000 + "*/" * 1_999,
    "defaults without end": "SELECT " + "${a:-" * 20_000,
    "many unset variables": "SELECT " + ", ".join(f"${{v{number}}}" for number in range(500)) + ";",
    "many wrong statements": "SHOW JOBZ;\n" * 2_000,
    "many semicolons": ";" * 10_000,
}


# Calls for which sqlglot's parser or generator ends with an error of Python.
CALLS_THAT_SQLGLOT_FAILS_FOR = ("map('a')", "date_trunc()")


def problems(text: str, name: str = "a.sql") -> list[LintProblem]:
    """Lint, format, convert and declare a text; return all problems."""
    file = SqlFile(name, text)
    run = LintRun({}, [SqlFile("s.sql", text)])
    found = [
        *run.check([file]),
        *FileFormatter(only_check=True).format(file).problems,
    ]
    return [*found, *convert_script(file.script, "postgres").problems, *declaration_problems(run)]


def declaration_problems(run: LintRun) -> list[LintProblem]:
    """Read the declarations for `jetsql apply`, and edit each; return the problems."""
    declared = read_declarations(run.statements)
    ordered = order_declarations(declared.items)
    for item in declared.items:
        read_definition(item.text)
        assert creating(item, "g").text.strip()
        assert item.location.startswith("a.sql:")
    return [*declared.problems, *ordered.problems]


def check(text: str) -> list[LintProblem]:
    """Check that each problem has a place in the text, a condition and a message, and can be shown."""
    found = problems(text)
    for problem in found:
        assert 0 <= problem.offset <= problem.stop <= len(text) + 1
        assert problem.condition and problem.message.endswith((".", "?", "!")), problem.message
        assert PLACE.match(str(problem.diagnostic())), problem.diagnostic()
    return found


@pytest.mark.parametrize("part", range(8))
def test_files_that_are_cut_off_anywhere(part: int) -> None:
    for stop in range(part * 6, len(SCRIPT), 48):
        check(SCRIPT[:stop])


@pytest.mark.parametrize("part", range(4))
def test_files_whose_beginning_is_missing(part: int) -> None:
    for start in range(part * 15, len(SCRIPT), 60):
        check(SCRIPT[start:])


@pytest.mark.parametrize("quote", ["'", '"', "`", "", "''", "$$", "\u2019"])
def test_wrong_quotes(quote: str) -> None:
    found = [token for token in scan(SCRIPT) if token.kind in (Kind.STRING, Kind.QUOTED) and token.text[0] in "'\"`"]
    for token in found[::3]:
        check(SCRIPT[: token.start] + quote + SCRIPT[token.start + 1 :])
        check(SCRIPT[: token.stop - 1] + quote + SCRIPT[token.stop :])


def test_words_that_are_missing_or_doubled() -> None:
    found = list(scan(SCRIPT))
    for token in found[::12]:
        check(SCRIPT[: token.start] + SCRIPT[token.stop :])
        check(f"{SCRIPT[: token.stop]} {SCRIPT[token.start :]}")


@pytest.mark.parametrize("call", CALLS_THAT_SQLGLOT_FAILS_FOR)
@pytest.mark.parametrize("head", ["", "CREATE JOB j AS INSERT INTO t ", "CREATE MATERIALIZED VIEW v AS "])
def test_statements_that_sqlglot_rejects_stay_unformatted(call: str, head: str) -> None:
    statement = f"{head}SELECT  {call} AS a FROM s"
    text = f"{statement};\nshow   jobs;\n"
    formatted = FileFormatter(only_check=True).format(SqlFile("a.sql", text))
    assert formatted.text.endswith(f"SELECT  {call} AS a FROM s;\nSHOW JOBS;\n")
    [note] = formatted.problems
    assert "stays as it is: sqlglot" in note.message
    check(text)
    [tree, _] = sqlglot.parse(text, read="jetsql")
    assert tree is not None
    converted = convert_script(SqlFile("a.sql", text).script, "spark")
    assert f"{call} AS a FROM s" in " ".join(converted.text.split())


@pytest.mark.slow
def test_calls_of_all_functions_of_sqlglot() -> None:
    """Call every function that sqlglot reads in a way of its own, with arguments that it may not expect."""
    arguments = ("", "a", "'x'", "a, b", "'x', a", "a, b, c", "a, 'x', 1", "a, b, c, d", "*", "DISTINCT a", "a => 1")
    for name in sorted({*Spark.Parser.FUNCTIONS, *Spark.Parser.FUNCTION_PARSERS}):
        for each in arguments:
            check(f"SELECT {name.lower()}({each}) FROM s;")
            job = f"CREATE JOB j AS INSERT INTO t SELECT {name}({each}) FROM s"
            sqlglot.parse_one(job, read="jetsql").sql("jetsql")


@pytest.mark.parametrize("name", OTHERS)
def test_other_languages(name: str) -> None:
    check(OTHERS[name])


@pytest.mark.parametrize("seed", range(20))
def test_random_characters(seed: int) -> None:
    chance = random.Random(seed)
    signs = "'\"`$;()[]{},.:=<>-/*\\ \n\t\ra1é\x00\u2028" + "".join(chance.sample("SELECTCREATEJOBASINTO", 8))
    check("".join(chance.choice(signs) for _ in range(300)))


# --- the command -----------------------------------------------------------------------------------------------------

BINARY = {
    "random": random.Random(1).randbytes(5_000),
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03KN\xd2Q\x00",
    "utf-16": "SHOW JOBS;\n".encode("utf-16"),
    "latin-1": "SHOW JOBS;\nSELECT 'größe';".encode("latin-1"),
    "cut off": "SHOW JOBS;\nSELECT 'größ".encode()[:-1],
    "zeros": bytes(1_000),
    "utf-16 without a mark": "SHOW JOBS;\n".encode("utf-16-le"),
    "huge": b"\x00\xff" * 5_000_000,
    "huge text": b"SELECT 1;\n" * 1_000_000,
    "huge line": b"SELECT '" + b"x" * 10_000_000,
}


@pytest.fixture
def jetsql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JetSql:
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli.cli, arguments, catch_exceptions=False, prog_name="jetsql")

    return run


@pytest.mark.parametrize(
    "command", [("lint",), ("format",), ("convert", "--from", "mysql"), ("apply",)], ids=lambda value: value[0]
)
def test_binary_and_huge_files(jetsql: JetSql, command: tuple[str, ...]) -> None:
    for name, content in BINARY.items():
        Path(f"{name}.sql").write_bytes(content)
    ended = jetsql(*command, ".")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    shown = ended.stdout + ended.stderr
    places = {match["file"]: (int(match["line"]), int(match["column"])) for match in PLACE.finditer(shown)}
    assert set(places) == {f"{name}.sql" for name in BINARY}
    assert places["latin-1.sql"] == (2, 11) and places["utf-16.sql"] == (1, 1)
    assert all(len(line) < 1_200 for line in shown.splitlines())
    for name, content in BINARY.items():
        assert Path(f"{name}.sql").read_bytes().rstrip(b"\n") == content.rstrip(b"\n")
    assert len(BINARY["huge text"]) > LARGEST_FILE


def test_schemas_that_cannot_be_read(jetsql: JetSql) -> None:
    Path("a.sql").write_text("SELECT * FROM t;")
    Path("s.sql").write_bytes(BINARY["latin-1"])
    ended = jetsql("lint", "a.sql", "--schema", "s.sql")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert "s.sql:2:11: [JETSQL.FILE_NOT_READABLE]" in ended.stdout


def test_a_folder_that_cannot_be_read(jetsql: JetSql) -> None:
    Path("a.sql").symlink_to("nowhere.sql")
    Path("b.sql").mkdir()
    for command in (["lint"], ["format"], ["convert", "--from", "duckdb"]):
        ended = jetsql(*command, "a.sql")
        assert ended.exit_code == ExitCode.USAGE and "a.sql: No such file or directory." in ended.stderr
        assert jetsql(*command, ".").exit_code == ExitCode.SUCCESS


def test_files_without_end_or_right_and_links_in_a_circle(jetsql: JetSql) -> None:
    Path("circle.sql").symlink_to("circle.sql")
    Path("folder").mkdir()
    Path("folder", "itself").symlink_to(".")
    os.mkfifo("folder/pipe.sql")
    long = "a" * 5_000
    for command in (["lint"], ["format", "--check"], ["convert", "--from", "duckdb"]):
        assert "circle.sql: Too many levels of symbolic links." in jetsql(*command, "circle.sql").stderr
        assert f"{long}: File name too long." in jetsql(*command, long).stderr
        assert jetsql(*command, "folder").exit_code == ExitCode.SUCCESS
        ended = jetsql(*command, "/dev/zero")
        assert ended.exit_code == ExitCode.PROBLEMS_FOUND
        assert "/dev/zero:1:1: [JETSQL.FILE_NOT_READABLE]" in ended.stdout + ended.stderr


@contextmanager
def without_rights_of_root() -> Iterator[None]:
    """Run the block as another user if this is root, who may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_files_and_folders_that_the_user_may_not_read(jetsql: JetSql) -> None:
    commands = (["lint"], ["format"], ["convert", "--from", "mysql"], ["apply"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, closed, blind = folder / "a.sql", folder / "closed", folder / "blind"
        closed.mkdir()
        blind.mkdir()
        (blind / "b.sql").touch()
        file.write_text("SHOW JOBS;")
        for command in commands:
            jetsql(*command, name)  # loads what the command needs
        folder.chmod(0o755)
        file.chmod(0)
        closed.chmod(0)
        blind.chmod(0o444)
        with without_rights_of_root():
            for command in commands:
                for path in [closed, *([file] if command != ["apply"] else [])]:
                    ended = jetsql(*command, str(path))
                    failed = ExitCode.STATEMENT_FAILED if command == ["apply"] else ExitCode.USAGE
                    assert ended.exit_code == failed
                    assert f"{path}: Permission denied." in ended.stderr
                assert "blind/b.sql: Permission denied." in jetsql(*command, str(blind)).stderr


@pytest.mark.parametrize("command", ["lint", "format", "convert --from mysql"])
def test_a_closed_standard_input(command: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" -m jetsql {command} - <&-', sys.executable],
        env={**os.environ, "PYTHONPATH": str(ROOT), "JETSQL_CONFIG": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.USAGE
    assert ended.stderr.splitlines()[-1] == "Error: -: Standard input is closed."


def test_the_broken_statements_of_the_grammar(jetsql: JetSql) -> None:
    ended = jetsql("lint", "--format", "github", str(ROOT / "grammar" / "rejected"))
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert ended.stdout.count("::error") > 40
