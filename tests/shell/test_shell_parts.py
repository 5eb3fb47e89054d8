"""The parts of the shell without a prompt: colours, secrets, questions, history, settings, the status bar, commands."""

import os
import re
import stat
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from jetsql.client.background_connection import ConnectionPhase, ConnectionState
from jetsql.errors import EngineError
from jetsql.jobs.model.job_counts import JobCounts
from jetsql.language.grammar import grammar_text
from jetsql.language.keywords import KEYWORDS
from jetsql.language.statement_effects import changes_session, drop_question, is_read_only, may_change_schema
from jetsql.language.tokens import Kind, scan
from jetsql.settings.engine_settings import load
from jetsql.shell.input import input_history
from jetsql.shell.input.command_table import COMMANDS, find_command, suggest_command
from jetsql.shell.input.input_history import FileHistory, redact_statements
from jetsql.shell.output import colours
from jetsql.shell.output.highlighting import SqlLexer
from jetsql.shell.output.status_bar import count_listed_jobs, render_bar
from jetsql.shell.repl.dot_commands import ACTIONS
from jetsql.shell.repl.keys import KeyPace, create_key_bindings
from jetsql.shell.repl.prompt import suggestion
from jetsql.shell.settings import settings_file
from jetsql.shell.settings.shell_settings import SHELL_SPECS, ShellSettings, load_shell_settings


def coloured(text: str, lexer: SqlLexer) -> list[list[tuple[str, str]]]:
    """Return the lines in pieces with their classes."""
    line = lexer.lex_document(Document(text))
    return [
        [(style.removeprefix("class:"), piece) for style, piece, *_ in line(number)]
        for number in range(text.count("\n") + 1)
    ]


def classes(text: str) -> list[tuple[str, str]]:
    return [piece for line in coloured(text, SqlLexer()) for piece in line if piece[0]]


def classes_of_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield each character that is no line's end, with its class according to the whole text."""
    kinds = {Kind.STRING: "string", Kind.QUOTED: "name", Kind.COMMENT: "comment", Kind.OPEN: "string.open"}
    of = [""] * len(text)
    for token in scan(text):
        begins = token.kind in (Kind.OPEN, Kind.COMMENT) and token.text.startswith("/*")
        kind = "comment" if begins else kinds.get(token.kind, "")
        of[token.start : token.stop] = [kind] * len(token.text)
    return ((kind, char) for kind, char in zip(of, text, strict=True) if char != "\n")


# Colours


def test_words_are_coloured_by_kind() -> None:
    assert classes("SELECT count(a), 'x', 1.5 FROM `t` -- why") == [
        ("keyword", "SELECT"),
        ("function", "count"),
        ("symbol", "("),
        ("symbol", ")"),
        ("symbol", ","),
        ("string", "'x'"),
        ("symbol", ","),
        ("number", "1.5"),
        ("keyword", "FROM"),
        ("name", "`t`"),
        ("comment", "-- why"),
    ]
    assert [piece for style, piece in classes("create job j as sink into t") if style == "keyword"] == [
        *("create", "job", "as", "sink", "into")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 'ab", ("string.open", "'ab")),
        ("SELECT /* ab", ("comment", "/* ab")),
        (".mode csv", ("command", ".mode")),
    ],
)
def test_unclosed_texts_are_highlighted(text: str, expected: tuple[str, str]) -> None:
    assert expected in classes(text)


@pytest.mark.parametrize(
    ("line_end", "expected"),
    [
        ("\n", [("comment", "-- a\\"), ("comment", "FROM t")]),
        ("\r\n", [("comment", "-- a\\"), ("keyword", "FROM")]),
    ],
)
def test_only_backslash_before_line_feed_continues_a_comment(line_end: str, expected: list[tuple[str, str]]) -> None:
    assert classes(f"-- a\\{line_end}FROM t") == expected


_TRICKY = st.lists(
    st.sampled_from([*"ar '\"`\n\r\\${世", "--", "/*", "*/", "/*+", "$t$", "1e"]),
    max_size=40,
).map("".join)


@example(["--\\\r\na"])
@given(st.lists(_TRICKY, min_size=1, max_size=4))
def test_lines_have_the_colours_of_the_whole_text(texts: list[str]) -> None:
    lexer = SqlLexer()
    quiet = {"keyword", "function", "symbol", "number"}
    for text in (f"a {text}" for text in texts):  # which no command begins with
        lines = coloured(text, lexer)
        assert ["".join(piece for _, piece in line) for line in lines] == text.split("\n")
        found = [("" if kind in quiet else kind, char) for line in lines for kind, piece in line for char in piece]
        assert found == list(classes_of_kinds(text))


def test_every_word_of_the_grammar_is_a_keyword() -> None:
    declared = re.findall(r"^%declare (.*)$", grammar_text(), re.MULTILINE)
    words = {word for line in declared for word in line.split() if "_" not in word}
    assert words - {"BODY", "SEMICOLON", "LPAR", "RPAR", "COMMA", "EQUAL", "DOT", "GREATER"} <= KEYWORDS


def test_styles_of_pygments_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    colours.load_style("monokai")
    with pytest.raises(ValueError, match="'nothing' is unknown"):
        colours.load_style("nothing")
    monkeypatch.setenv("NO_COLOR", "1")
    assert [colours.use_colours(setting) for setting in ("auto", "off", "monokai")] == [False, False, True]


# Secrets


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("SELECT 'a' = 'b';", "SELECT 'a' = 'b';"),
        ("OPTIONS (user 'ann', password 'hush')", "OPTIONS (user 'ann', password '***')"),
        ("OPTIONS ('password' = 'hush', 'a' = 'b')", "OPTIONS ('password' = '***', 'a' = 'b')"),
        ('OPTIONS (kafka.sasl.jaas.config "hush")', "OPTIONS (kafka.sasl.jaas.config '***')"),
        ("OPTIONS (`access.key` = 'hush')", "OPTIONS (`access.key` = '***')"),
        ("OPTIONS ('key.columns' 'a', token 'secret:env:A')", "OPTIONS ('key.columns' 'a', token 'secret:env:A')"),
        ("OPTIONS (url 'jdbc:postgresql://ann:hush@h/db')", "OPTIONS (url 'jdbc:postgresql://***@h/db')"),
        ("OPTIONS (url 'jdbc:x://h/db?password=hush&a=b')", "OPTIONS (url 'jdbc:x://h/db?password=***&a=b')"),
        ("SET some.token = hush hush;", "SET some.token = ***;"),
        ("SET spark.sql.ansi.enabled=true;", "SET spark.sql.ansi.enabled=true;"),
        ("OPTIONS ('password' = 'hush", "OPTIONS ('password' = '***'"),
        ("SELECT password, 'x' FROM t", "SELECT password, 'x' FROM t"),
        ("USE db; SET fs.s3a.secret.key=AKIA;", "USE db; SET fs.s3a.secret.key=***;"),
        ("SET a.password=x; SELECT 1;", "SET a.password=***; SELECT 1;"),
        ("-- c\nSET a.password=x;", "-- c\nSET a.password=***;"),
        ("/* */ SET `a.password`='x' y", "/* */ SET `a.password`=***"),
        ("SET a.password=x--y;\n", "SET a.password=***"),
        ("SET a.token = secret:env:A;", "SET a.token = secret:env:A;"),
        ("f(password => 'x')", "f(password => '***')"),
        ("'password' = 'a' 'b', 'c' = 'd'", "'password' = '***' '***', 'c' = 'd'"),
        ("DECLARE password STRING DEFAULT 'x'; SELECT 'a';", "DECLARE password STRING DEFAULT '***'; SELECT 'a';"),
        ("BEGIN SET a.password = x; SELECT 1; END;", "BEGIN SET a.password = ***; SELECT 1; END;"),
        ("UPDATE t SET token = 'x', a = 1;", "UPDATE t SET token = '***', a = 1;"),
        ("OPTIONS ('api_key' 'x', pwd 'y', compass 'n')", "OPTIONS ('api_key' '***', pwd '***', compass 'n')"),
        (
            "SET fs.azure.account.key.shop.dfs.core.windows.net=x;",
            "SET fs.azure.account.key.shop.dfs.core.windows.net=***;",
        ),
        (".watch SET a.password=x\nSELECT 1;", ".watch SET a.password=***\nSELECT 1;"),
        (".read it's\nSET a.password=x;\n.timing", ".read it's\nSET a.password=***;\n.timing"),
    ],
)
def test_secrets_are_hidden(text: str, hidden: str) -> None:
    assert redact_statements(text) == hidden


@given(st.text(max_size=80) | _TRICKY)
@example("SET a.password=x; SELECT 'b'")
@example("'password' = 'hush")
def test_hidden_secrets_stay_hidden(text: str) -> None:
    assert redact_statements(redact_statements(text)) == redact_statements(text)


@given(st.text("bc '\"`;,.=()\n-/*$SETUPDE", max_size=80))
def test_text_without_secrets_and_urls_is_unchanged(text: str) -> None:
    assert redact_statements(text) == text


# What is lost


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("DROP JOB j", "Stop and drop job j for good? Its state is lost."),
        ("drop job if exists `a b` with snapshot s", "Stop and drop job a b for good? Snapshot s keeps its state."),
        ("DROP TABLE IF EXISTS sales.`o r` PURGE", "Drop table sales.`o r`?"),
        ("/* x */ DROP VIEW v", "Drop view v?"),
        ("DROP DATABASE d CASCADE", "Drop schema d with everything in it?"),
        ("DROP SCHEMA d", "Drop schema d?"),
        ("DROP NAMESPACE IF EXISTS a.b CASCADE", "Drop schema a.b with everything in it?"),
        ("DROP SNAPSHOT IF EXISTS `a b`", "Drop snapshot a b? Its copy of the state is lost."),
        ("DROP STREAMING TABLE st.t", "Drop streaming table st.t? Its rows, its job and the job's state are lost."),
        ("DROP MATERIALIZED VIEW v", "Drop materialized view v? Its rows, its job and the job's state are lost."),
        ("DROP STREAMING TABLE", None),
        ("DROP FUNCTION f", None),
        ("DROP JOB", None),
        ("DROP TABLE", None),
        ("DROP", None),
        ("SELECT 'DROP TABLE t'", None),
        ("", None),
    ],
)
def test_objects_removed_by_a_drop(text: str, question: str | None) -> None:
    assert drop_question(text) == question


def test_objects_that_statements_create_and_need() -> None:
    assert [changes_session(text) for text in ("SET a=b", "CREATE OR REPLACE TEMP VIEW v AS", "CREATE TABLE t")] == [
        *(True, True, False)
    ]
    assert [is_read_only(text) for text in ("/* */ select 1", "SHOW JOBS", "INSERT", "")] == [True, True, False, False]
    read = ("(SELECT 1) UNION SELECT 2", "WITH a AS (SELECT 1) SELECT * FROM a", "FROM t SELECT *")
    assert all(is_read_only(text) for text in read)
    written = ("FROM t INSERT INTO u SELECT *", "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a")
    assert not any(is_read_only(text) for text in written)
    assert [may_change_schema(text) for text in ("USE a", "SELECT 1")] == [True, False]


# History


def store_entries(file: Path, *entries: str) -> None:
    for entry in entries:
        FileHistory(file).store_string(entry)


def history_entries(file: Path) -> list[str]:
    return list(FileHistory(file).load_history_strings())


def test_the_history_keeps_whole_entries(tmp_path: Path) -> None:
    file = tmp_path / "state" / "history"
    assert history_entries(file) == []
    store_entries(file, "SELECT\n  1;\n", "a", "a", "+ odd\n# 世界\n\u2028\nend", "b")
    assert history_entries(file) == ["b", "+ odd\n# 世界\n\u2028\nend", "a", "a", "SELECT\n  1;"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_several_shells_write_at_the_same_time(tmp_path: Path) -> None:
    file = tmp_path / "history"
    names = [f"shell {number}\nline" for number in range(4)]
    threads = [
        threading.Thread(target=store_entries, args=(file, *(f"{name} {n}" for n in range(50)))) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(history_entries(file)) == sorted(f"{name} {n}" for name in names for n in range(50))


def test_each_statement_of_a_script_is_an_entry(tmp_path: Path) -> None:
    file = tmp_path / "history"
    entered = FileHistory(file)
    entered.append_string("-- one\nSELECT\n  1;\n.mode csv\nSELECT 2; SELECT 2; -- two")
    assert history_entries(file) == ["SELECT 2; -- two", "SELECT 2;", ".mode csv", "-- one\nSELECT\n  1;"]
    assert entered.get_strings() == history_entries(file)[::-1]
    entered.append_string("SELECT 6 /* ; */; SELECT 7;")
    assert history_entries(file)[:2] == ["SELECT 7;", "SELECT 6 /* ; */;"]
    entered.append_string("SELECT 3; -- three")
    entered.add_entry("SELECT 4; SELECT")
    entered.append_string("SELECT 5;\n" * 101)
    assert history_entries(file)[:3] == [("SELECT 5;\n" * 101).rstrip(), "SELECT 4; SELECT", "SELECT 3; -- three"]


def test_long_history_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_history, "MAX_ENTRIES", 3)
    monkeypatch.setattr(input_history, "_SHORTEN_ABOVE", 6)
    file = tmp_path / "history"
    store_entries(file, *map(str, range(7)))
    assert history_entries(file) == ["6", "5", "4"]
    assert file.read_text().count("\n+") == 3


def test_concurrent_shells_cut_the_history_without_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_history, "_SHORTEN_ABOVE", 0)  # each start cuts, to more than is written here
    file = tmp_path / "history"
    store_entries(file, "first")
    names = [f"shell {number}" for number in range(4)]
    threads = [
        threading.Thread(target=store_entries, args=(file, *(f"{name} {n}" for n in range(50)))) for name in names
    ]
    threads += [threading.Thread(target=lambda: [history_entries(file) for _ in range(25)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(history_entries(file)) == sorted(["first", *(f"{name} {n}" for name in names for n in range(50))])
    assert [each.name for each in tmp_path.iterdir()] == ["history"]


def test_failed_cut_leaves_the_history_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "history"
    store_entries(file, "a", "b")
    before = file.read_bytes()
    monkeypatch.setattr(input_history, "_SHORTEN_ABOVE", 0)
    (tmp_path / "history.new").mkdir()  # in the way
    started = FileHistory(file)
    assert list(started.load_history_strings()) == []
    assert started.error is not None
    assert file.read_bytes() == before


def test_readable_part_of_a_damaged_history_is_used(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_bytes(b"\xff\xfe\n+a\n+b\nnonsense\n+c")
    assert history_entries(file) == ["c", "a\nb"]


def test_suggestion_is_the_newest_entry_with_the_prefix() -> None:
    entries = ["SELECT 1;", "SELECT a\nFROM t;", "SHOW JOBS;"]
    assert [suggestion(text, entries) for text in ("SEL", "SELECT 1", "SELECT 1;", "FROM")] == [
        *("ECT a\nFROM t;", ";", None, None)
    ]


# Settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in SHELL_SPECS:
        monkeypatch.delenv(f"JETSQL_SHELL_{name.upper()}", raising=False)
    return tmp_path / "config.toml"


def write_settings(file: Path, text: str, **environ: str) -> ShellSettings:
    file.write_text(text)
    return load_shell_settings({"JETSQL_CONFIG": str(file), **environ})


def test_shell_settings_are_in_their_own_table(file: Path) -> None:
    found = write_settings(file, 'home = "x"\n[shell]\nkeys = "vi"\ntiming = false', JETSQL_SHELL_MODE="csv")
    assert found == ShellSettings(keys="vi", timing=False, mode="csv")
    assert load(environ={"JETSQL_CONFIG": str(file)}).home == file.parent / "x"


@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        ("[shell]\nkey = 1", {}, "key of [shell] in {file}: the shell has no setting 'key'. Did you mean keys?"),
        ('[shell]\nkeys = "nano"', {}, "keys of [shell] in {file} is 'nano'. It must be one of emacs, vi."),
        ("[shell]\ntiming = 3", {}, "timing of [shell] in {file} is 3. It must be true or false."),
        ('[shell]\ncolours = "a b"', {}, "colours of [shell] in {file} is 'a b'. It must be auto, off, or"),
        ("shell = 1", {}, "{file}: shell is 1. Write a table: [shell]."),
        ("", {"JETSQL_SHELL_KEYS": "nano"}, "JETSQL_SHELL_KEYS in the environment is 'nano'. It must be"),
    ],
)
def test_wrong_setting_is_reported_with_its_place(file: Path, text: str, environ: dict[str, str], message: str) -> None:
    with pytest.raises(EngineError) as caught:
        write_settings(file, text, **environ)
    assert caught.value.explanation.startswith(message.format(file=file))


def test_commented_file_has_the_defaults(file: Path) -> None:
    file.write_text('master = "local[2]"')
    assert settings_file.add_table(file)
    assert not settings_file.add_table(file)
    text = file.read_text()
    assert text.startswith('master = "local[2]"\n\n')
    uncommented = re.sub(r"^#(\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert write_settings(file, uncommented) == ShellSettings()


def test_a_link_to_the_settings_stays_one(file: Path) -> None:
    kept = file.with_name("kept.toml")
    kept.touch()
    file.symlink_to(kept)
    assert settings_file.add_table(file)
    assert file.is_symlink()
    assert "[shell]" in kept.read_text()


def test_every_setting_is_explained_and_read() -> None:
    names = [each.name for each in fields(ShellSettings)]
    assert names == list(SHELL_SPECS)
    assert len(settings_file.format_all(ShellSettings())) == len(names)


# The bar


def job(name: str, status: str, error: str | None = None) -> dict[str, str | None]:
    return {"name": name, "status": status, "last_error": error}


def test_jobs_are_counted_by_condition() -> None:
    jobs = [
        job("a", "RUNNING"),
        job("b", "RUNNING", "an old error"),
        job("c", "SUSPENDED"),
        job("d", "SUSPENDED", "disk full"),
        job("e", "SUSPENDED_EXPORTING_SNAPSHOT"),
        job("f", "STARTING"),
        job("g", "FAILED", "no such table"),
        job("h", "DROPPED", "cancelled by user"),
        job("i", "COMPLETED"),
        job("A", "FAILED", "an earlier a, before it was created again"),
    ]
    counts = JobCounts(running=2, suspended=2, suspended_by_error=1, failed=1, in_transition=1, completed=1, dropped=1)
    assert count_listed_jobs(jobs) == counts


@pytest.mark.parametrize(
    ("state", "jobs", "shown"),
    [
        (ConnectionState(ConnectionPhase.UP), None, " engine up"),
        (ConnectionState(ConnectionPhase.UP), JobCounts(), " engine up · 0 running"),
        (ConnectionState(ConnectionPhase.UP), JobCounts(2, 1), " engine up · 2 running · 1 suspended"),
        (
            ConnectionState(ConnectionPhase.UP),
            JobCounts(0, 1, 2),
            " engine up · 0 running · 3 suspended (2 by an error)",
        ),
        (
            ConnectionState(ConnectionPhase.UP),
            JobCounts(failed=3, in_transition=4),
            " engine up · 0 running · 4 in transition · 3 failed",
        ),
        (
            ConnectionState(ConnectionPhase.STARTING, "starting the engine"),
            JobCounts(1),
            " engine: starting the engine ...",
        ),
        (
            ConnectionState(ConnectionPhase.GONE, "engine gone"),
            JobCounts(1),
            " engine gone (the next statement connects)",
        ),
    ],
)
def test_status_bar_shows_problems_first(state: ConnectionState, jobs: JobCounts | None, shown: str) -> None:
    assert "".join(piece for _, piece, *_ in render_bar(state, jobs, "")) == shown


# Commands


def test_every_listed_command_runs() -> None:
    assert {command.word for command in COMMANDS} == set(ACTIONS)
    words = [word for command in COMMANDS for word in (command.word, *command.aliases)]
    assert len(words) == len(set(words))
    for command in COMMANDS:
        assert find_command(command.word.upper()) is command


@pytest.mark.parametrize(
    ("word", "hint"),
    [(r"\q", "Enter .quit"), (r"\dt", "Enter SHOW TABLES;"), (".jbos", "Did you mean .jobs?"), (".xyz", ".help lists")],
)
def test_unknown_commands_have_hints(word: str, hint: str) -> None:
    assert suggest_command(word).startswith(hint)


def test_commands_without_shell_do_not_import_it() -> None:
    program = (
        "import sys; from jetsql.cli import main; code = main(sys.argv[1:]);"
        "print(code, [name for name in sys.modules if name.startswith(('prompt_toolkit', 'pygments', 'jetsql.shell'))])"
    )
    for arguments in (["--help"], ["list-jobs", "--no-start", "--home", "nowhere"]):
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "JETSQL_CONFIG": os.devnull},
        )
        assert ended.stdout.splitlines()[-1].endswith(" []")


# Keys


def test_signal_at_the_end_of_the_prompt_is_ignored() -> None:
    keys = create_key_bindings(ShellSettings, lambda text: None, KeyPace())
    [binding] = [each for each in keys.bindings if each.keys == (Keys.SIGINT,)]
    session: PromptSession[str] = PromptSession(key_bindings=keys, output=DummyOutput())
    event = KeyPressEvent(weakref.ref(session.app.key_processor), None, [], [], False)
    binding.handler(event)
    assert not session.app.is_done


def test_keys_faster_than_typing_are_pasted() -> None:
    times = iter([5.0, 5.001, 5.08, 5.2, 5.25])
    pace, processor = KeyPace(lambda: next(times)), KeyProcessor(KeyBindings())
    pasting = []
    for waiting in ([], [], [], [Keys.CPRResponse, Keys.Tab], [Keys.Tab, "a"]):
        processor.empty_queue()
        processor.feed_multiple([KeyPress(key) for key in waiting])
        pace.note_key(processor)
        pasting.append(pace.is_pasting(processor))
    assert pasting == [False, True, False, False, True]
