"""`jetsql format`: the layout, what stays, idempotence, and files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as some

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.errors import StatementError
from jetsql.language import parse, split
from jetsql.language.tokens import Kind, scan
from jetsql.output.diagnostics import Script
from jetsql.sqlfiles.formatting import format_script as format_script_module
from jetsql.sqlfiles.formatting.format_script import format_script
from jetsql.sqlfiles.formatting.same_script import is_same_script
from tests.support.golden_reports import compare
from tests.support.hypothesis_profiles import examples
from tests.support.sql_corpus import accepted_scripts, document_scripts, parts

JetSql = Callable[..., Result]


@pytest.fixture
def jetsql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> JetSql:
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli.cli, arguments, input=input, catch_exceptions=False, prog_name="jetsql")

    return run


def formatted(text: str) -> str:
    return format_script(Script("a.sql", text)).text


def words(text: str) -> list[str]:
    """Return the tokens of a text, plain words in capitals."""
    return [token.text.upper() if token.kind is Kind.WORD else token.text for token in scan(text)]


def check(text: str) -> None:
    """Check that formatting a script keeps its meaning, and that formatting again changes nothing."""
    once = formatted(text)
    assert words(once) == words(text)
    assert formatted(once) == once
    before, after = split(text), split(once)
    assert len(before) == len(after)
    for first, second in zip(before, after, strict=True):
        try:
            statement = parse(first.text)
        except StatementError:
            continue
        assert parts(parse(second.text)) == parts(statement)


LAYOUTS = {
    "a job": """create or replace job j comment 'c' options ('trigger'='availableNow','snapshotIntervalMillis'= '1') as
insert into t select a,b as c, count(*) from stream s watermark ts delay of interval 1 minute as x
join r on x.a=r.a where a > 1 and b in (1, 2) group by a,b;""",
    "casts and literals": """select a::int, 1L, date '2020-01-01', x != 2, cast(y as string), -1, r'\\d',
interval 1 day;""",
    "names in other case": """select Date, Count(*), my_Func(A), `Select`, left(a, 1) from MyTable as T
where Date is not null;""",
    "comments": """-- a file
create job j -- the name
as /* a body */ insert into t
-- the columns
select a, -- first
  b /* second */, c
  -- the source
from s -- end
; -- after

/* two
   lines */
show jobs;""",
    "empty lines": "\n\nshow jobs;\n\n\n\n-- a\n\n\n-- b\nshow all jobs; show members;;\n\n",
    "no semicolon": "suspend   job j",
    "variables": """create job ${name} as insert into ${sink} select '${a:-it}' , t_${day} from ${source:-s}
where x='${y}';""",
    "an error": "suspend jobs x;\nSELECT   1;",
    "syntax that sqlglot lacks": """create job j as insert into t
  select * from a   asof join b match_condition (a.x > b.x);""",
    "a function": """create or replace function f(a int,b string default 'x') returns table (n int) language python
not deterministic handler 'F' as $$
class F:
  pass
$$;""",
    "a streaming table": """create or refresh streaming table a.t job options ('trigger'='interval') using json
as select 1 as n;""",
    "short statements": """drop job if exists j with snapshot s; wait for job j until batch 3 timeout 10 seconds;
alter job j options('a'='b') resume;""",
    "several tables": "create job j as from stream s insert into t select a sink into u select b;",
    "changes": """create job j as auto cdc into t from stream s keys (id) apply as delete when op='D'
sequence by n stored as scd type 2;""",
    "a block": "begin\n  select 1;\n end;",
    "tables of Spark": "create table t (a int, b string comment 'x') using delta partitioned by (b);",
    "what Spark reads as text": """set  spark.sql.session.timeZone=Europe/Berlin;
set a.b = -Da=b  true; add jar  /tmp/a  b-c.jar; reset a.b; refresh /a/b c; explain extended set a=b/c;
use catalog.Date; create table t (a int) using json tblproperties (Location 'x', a.B = 1);""",
    "hints": "select /*+ INDEX(b\nc),  broadcast(x) */ * from t;",
    "keywords as names": """select Date, user, current_User, t.Year, x.Time as Interval, f(Date => 1), a -> a.Date, t.*
from t.key, `select` order by Date;""",
    "operators and types": """select a>>b, a > > b, cast(x as map<string,array<int> >), 1 .x, a * b
from t;""",
    "variables without spaces": "select ${a}.5, ${a} .5, x${a}, '${a}'  'b', 10.00${a}, ${a}/${b} from ${t}${u};",
    "nothing": " \n ",
    "a comment alone": "  -- a comment",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    result = format_script(Script("a.sql", LAYOUTS[name]))
    compare([*result.text.split("\n"), *(note.message for note in result.notes)])
    check(LAYOUTS[name])


@pytest.mark.parametrize("text", list(accepted_scripts()))
def test_the_corpus_of_the_grammar(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", list(document_scripts()))
def test_the_documentation(text: str) -> None:
    try:
        split(text, strict=True)
    except StatementError:
        return  # a part of a statement
    check(text)


LINE_ENDS = {
    "a backslash before CR LF": ("SELECT 1;\n-- C:\\data\\\r\nUSE a;\n", "SELECT\n  1;\n-- C:\\data\\\r\nUSE a;\n"),
    "a backslash at the end": ("SHOW JOBS;\n-- C:\\data\\", "SHOW JOBS;\n-- C:\\data\\\r\n"),
    "a backslash within": ("SELECT 1 -- \\\r\n, 2;", "SELECT\n  1 -- \\\r\n    ,\n  2;\n"),
    "a comment that goes on": ("SELECT 1; -- a\\\n b\nUSE a;", "SELECT\n  1; -- a\\\n b\nUSE a;\n"),
    "CR after a comment": ("-- a\r/* b\nc */\nSHOW JOBS;", "-- a\n/* b\nc */\nSHOW JOBS;\n"),
    "CR within": ("SELECT 1 -- a\r, 2;\rUSE a", "SELECT\n  1 -- a\n    ,\n  2;\nUSE a\n"),
}


@pytest.mark.parametrize("name", LINE_ENDS)
def test_mixed_line_ends(name: str) -> None:
    before, after = LINE_ENDS[name]
    assert formatted(before) == after
    check(before)


@pytest.mark.parametrize(
    ("before", "wrong"),
    [
        ("select 'a  b';", "select 'a b';"),
        ("select Date from t;", "select DATE from t;"),
        ("select 1;", "select 1, 1;"),
        ("select 1; -- a", "select 1;"),
        ("select 1 /* a */, 2", "select 1, /* a */ 2"),
        ("set a=b/c", "set a=b / c"),
        ("select 1; select 2", "select 1 select 2"),
        ("select 1;\nselect 2", "select 1;;\nselect 2"),
        ("select a >> b", "select a > > b"),
        ("select `a`", "select `A`"),
        ("select 1L", "select 1l"),
        ("select ${a} from t", "select ${b} from t"),
        ("select ${a} .5", "select ${a}.5"),
        ("select /*+ h(a) */ 1", "select /*+  h(a) */ 1"),
        ("select 1 -- c\\\r\n;select 2", "select 1 -- c\\\n;select 2"),
        ("create table t (a int) tblproperties (a 1)", "create table t (a int) tblproperties (A 1)"),
        ("create job j as insert into t select 1", "create job J as insert into t select 1"),
    ],
)
def test_a_layout_that_changes_the_meaning_is_left_out(
    before: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_same_script(before, wrong) and not is_same_script(wrong, before)
    script = Script("a.sql", before)
    monkeypatch.setattr(format_script_module, "write_tokens", lambda *_: wrong)
    monkeypatch.setattr(format_script_module._ScriptWriter, "text", lambda _: wrong)
    result = format_script(script)
    assert result.text == before
    assert [note for note in result.notes if note.message.endswith("its layout would change its meaning.")]


def test_a_statement_with_white_space_of_sqlglot_alone_stays() -> None:
    text = "select a\x1c, b from t MATCH_RECOGNIZE\x1c(PATTERN (A\n\n B))\n"
    result = format_script(Script("a.sql", text))
    assert result.text == text
    assert [note.message for note in result.notes if "only sqlglot takes for white space" in note.message]


# --- random statements -----------------------------------------------------------------------------------------------

NAMES = some.sampled_from(["a", "b", "`a b`", "Date", "JOB", "stream", "größe", "x.y", "`select`"])
VALUES = some.sampled_from(
    ["1", "-2", "1L", "'it''s'", '"x"', "r'\\d'", "NULL", "true", "DATE '2020-01-01'", "${v:-1}"]
)
GAPS = some.sampled_from(
    [" ", "  ", "\n", "\n\n  ", " /* c */ ", " -- c\n", "\n-- own line\n", "\n/* a\n b */\n", "\t"]
)


@some.composite
def expressions(draw: some.DrawFn, depth: int = 0) -> str:
    if depth > 2 or draw(some.booleans()):
        return draw(some.one_of(NAMES, VALUES))
    first, second = draw(expressions(depth + 1)), draw(expressions(depth + 1))
    forms = ["{} + {}", "coalesce({}, {})", "({} = {})", "{}::string || {}", "if({} > 1, {}, 0)", "struct({}, {})"]
    forms += ["CASE WHEN {} THEN {} END", "{} IN ({})"]
    form = draw(some.sampled_from(forms))
    return form.format(first, second)


@some.composite
def queries(draw: some.DrawFn) -> str:
    columns = ", ".join(draw(some.lists(expressions(), min_size=1, max_size=3)))
    sources = ["s", "STREAM s", "STREAM s WATERMARK ts DELAY OF INTERVAL 1 MINUTE AS s", "(SELECT 1) AS q", "s, r"]
    sources += ["a.b WITH ('k' = 'v') AS t", "s JOIN r USING (a)"]
    source = draw(some.sampled_from(sources))
    rest = draw(some.sampled_from(["", "WHERE a > 1", "GROUP BY a", "GROUP BY window(ts, '1 minute')", "LIMIT 3"]))
    return f"SELECT {columns} FROM {source} {rest}"


@some.composite
def statements(draw: some.DrawFn) -> str:
    query, name = draw(queries()), draw(some.sampled_from(["j", "`a job`", "if", "as"]))
    return draw(
        some.sampled_from(
            [
                f"CREATE JOB {name} AS INSERT INTO t {query}",
                f"CREATE OR REPLACE JOB {name} OPTIONS ('a' = 'b', 'c' = 'd') AS SINK INTO a.t {query}",
                f"CREATE JOB IF NOT EXISTS {name} COMMENT 'c' AS WITH x AS ({query}) INSERT OVERWRITE t {query}",
                f"CREATE STREAMING TABLE t USING json AS {query}",
                f"EXPLAIN CREATE JOB {name} AS CREATE TABLE t AS {query}",
                f"SUSPEND JOB {name}",
                query,
            ]
        )
    )


@some.composite
def scripts(draw: some.DrawFn) -> str:
    """Return a script whose white space is replaced by other white space and comments, in any case."""
    pieces = []
    for statement in draw(some.lists(statements(), min_size=1, max_size=2)):
        for token in scan(statement):
            text = token.text.swapcase() if token.kind is Kind.WORD and draw(some.booleans()) else token.text
            glued = token.start and not statement[token.start - 1].isspace()
            pieces += ["" if glued else draw(GAPS), text]
        pieces.append(draw(some.sampled_from([";", " ;", ";;", "\n;\n", "; -- end\n"])))
    return "".join(pieces)


@given(scripts())
@settings(max_examples=examples(60))
def test_random_scripts(text: str) -> None:
    check(text)


@given(scripts(), some.data())
@settings(max_examples=examples(30))
def test_truncated_scripts(text: str, data: some.DataObject) -> None:
    cut = text[: data.draw(some.integers(0, len(text)))]
    try:
        split(cut, strict=True)
    except StatementError:
        with pytest.raises(StatementError):
            formatted(cut)
        return
    check(cut)


# --- files -----------------------------------------------------------------------------------------------------------


def test_files_are_written_in_place(jetsql: JetSql) -> None:
    Path("a.sql").write_bytes(b"\xef\xbb\xbfshow jobs;\r\nshow   members;\r\n")
    Path("b.sql").write_bytes(b"SHOW JOBS;\n")
    os.chmod("a.sql", 0o640)
    ended = jetsql("format", ".")
    assert (ended.exit_code, ended.stdout) == (ExitCode.SUCCESS, "")
    assert ended.stderr == "1 file formatted, 1 file left unchanged.\n"
    assert Path("a.sql").read_bytes() == b"\xef\xbb\xbfSHOW JOBS;\r\nSHOW MEMBERS;\r\n"
    assert stat.S_IMODE(Path("a.sql").stat().st_mode) == 0o640
    assert sorted(os.listdir(".")) == ["a.sql", "b.sql"]
    assert jetsql("format", "--check", ".").exit_code == ExitCode.SUCCESS


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_nothing_is_written(jetsql: JetSql, flag: str) -> None:
    Path("a.sql").write_text("show jobs;", encoding="utf-8")
    ended = jetsql("format", flag, "a.sql")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert ended.stderr == "1 file would be formatted.\n"
    assert ended.stdout == (
        "" if flag == "--check" else "--- a.sql\n+++ a.sql (formatted)\n@@ -1 +1 @@\n-show jobs;\n+SHOW JOBS;\n"
    )
    assert Path("a.sql").read_text(encoding="utf-8") == "show jobs;"


def test_standard_input(jetsql: JetSql) -> None:
    ended = jetsql("format", "-", input="show   jobs")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (ExitCode.SUCCESS, "SHOW JOBS\n", "1 file formatted.\n")
    assert jetsql("format", "--check", "-", input="SHOW JOBS\n").exit_code == ExitCode.SUCCESS


def test_a_file_with_an_open_quote_stays(jetsql: JetSql) -> None:
    Path("a.sql").write_text("show jobs;\nselect 'a", encoding="utf-8")
    ended = jetsql("format", "a.sql")
    assert ended.exit_code == ExitCode.PROBLEMS_FOUND
    assert "a.sql:2:8: [JETSQL.PARSE_SYNTAX_ERROR] The string that begins here is not closed." in ended.stderr
    assert Path("a.sql").read_text(encoding="utf-8") == "show jobs;\nselect 'a"


def test_links_stay_links(jetsql: JetSql) -> None:
    Path("real").mkdir()
    Path("real/a.sql").write_text("show jobs;", encoding="utf-8")
    os.symlink("real/a.sql", "link.sql")
    assert jetsql("format", "link.sql").exit_code == ExitCode.SUCCESS
    assert Path("link.sql").is_symlink() and Path("real/a.sql").read_text(encoding="utf-8") == "SHOW JOBS;\n"


def test_links_out_of_the_folder_are_not_followed(jetsql: JetSql) -> None:
    Path("sql/real").mkdir(parents=True)
    Path("sql/real/a.txt").write_text("show jobs;", encoding="utf-8")
    Path("outside.sql").write_text("show   jobs;", encoding="utf-8")
    os.symlink("real/a.txt", "sql/inside.sql")
    os.symlink("../outside.sql", "sql/link.sql")
    Path("other").mkdir()
    Path("other/b.sql").write_text("show   jobs;", encoding="utf-8")
    os.symlink("../other", "sql/other")
    os.symlink("real", "sql/same")
    for command, summary in (("lint", "No problems in 1 file."), ("format", "1 file formatted.")):
        ended = jetsql(command, "sql")
        assert ended.stderr == f"Links out of the folder are not followed: sql/link.sql, sql/other\n{summary}\n"
    for untouched in ("outside.sql", "other/b.sql"):
        assert Path(untouched).read_text(encoding="utf-8") == "show   jobs;"
    assert Path("sql/real/a.txt").read_text(encoding="utf-8") == "SHOW JOBS;\n"


def test_a_file_that_cannot_be_written(jetsql: JetSql, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.sql").write_text("show jobs;", encoding="utf-8")

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied", "a.sql")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    ended = jetsql("format", "a.sql")
    assert ended.exit_code == ExitCode.USAGE and "a.sql: Permission denied." in ended.stderr
