"""Whole sessions of the shell over the HTTP endpoint of an engine without Spark."""

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.shell.settings.shell_settings import ShellSettings
from tests.support.screens.shell_session import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    ENTER,
    ESC,
    UP,
    ShellEngine,
    ShellSession,
    bracketed_paste,
    open_shell_session,
)
from tests.support.servers.http_server import RunningServer, run_server

TABLE = "c0\n--\n{}\n"


@pytest.fixture
def engine() -> ShellEngine:
    return ShellEngine()


@pytest.fixture
def shell(server: RunningServer, tmp_path: Path) -> Iterator[ShellSession]:
    with open_shell_session(lambda: server.url, tmp_path) as shell:
        yield shell


def another(server: RunningServer, folder: Path, *entered: str, settings: ShellSettings | None = None) -> str:
    with open_shell_session(lambda: server.url, folder, settings) as shell:
        return shell(*entered)


def test_a_statement_is_run_at_its_semicolon(shell: ShellSession) -> None:
    assert shell("SELECT a;\r") == TABLE.format("a")


def test_enter_goes_on_until_the_statement_is_complete(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell("SELECT\r  a\r;\r") == TABLE.format("a")
    assert engine.entered_statements == ["SELECT\n  a"]


def test_a_key_runs_what_stands_there_without_its_semicolon(shell: ShellSession) -> None:
    assert shell("SELECT a" + ALT_ENTER) == TABLE.format("a")


def test_a_pasted_script_is_kept_whole_and_run_statement_by_statement(shell: ShellSession) -> None:
    script = "SELECT a;\r\n.mode csv\r\nSELECT b; -- c\r\nFAIL here;\r\nSELECT d;\r\nSELECT e;"
    assert shell(bracketed_paste(script) + ENTER) == (
        TABLE.format("a")
        + "c0\nb\n"
        + "[JETSQL.JOB_NOT_FOUND] There is no such job.\n    4 | FAIL here;\n      |      ^\nSee SHOW JOBS.\n"
        + "2 more were not run.\n"
    )


def test_a_command_below_an_open_statement_is_told(shell: ShellSession) -> None:
    shown = shell(bracketed_paste("SELECT a;\nFAIL here\n  .mode csv") + ALT_ENTER)
    assert shown.endswith("Line 3 looks like the command .mode: end the statement before it with a semicolon.\n")


def test_an_open_quote_is_told_where_it_opens(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("SELECT a;\r", "SELECT\r 'b" + ALT_ENTER)
    assert "    2 |  'b\n      |  ^\n" in shown
    assert len(engine.entered_statements) == 1


def test_ctrl_c_clears_the_line_and_keeps_it_in_reach(shell: ShellSession) -> None:
    assert shell("SELECT a" + CTRL_C, UP + ";\r") == TABLE.format("a")


def test_what_was_searched_for_is_run_by_the_second_enter(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell("SELECT ab;\r", "\x12" + "ECT a" + ENTER + ENTER) == TABLE.format("ab") * 2


def test_leaving_says_once_that_jobs_go_on(shell: ShellSession) -> None:
    shell("SELECT a;\r")
    assert shell.out.getvalue().count("The engine and its jobs continue") == 1
    assert shell.fine


def test_words_without_a_dot_do_what_they_mean(shell: ShellSession) -> None:
    assert ".read FILE" in shell("help\r", "quit\r")


def test_words_of_other_shells_are_told_what_they_are_here(shell: ShellSession) -> None:
    assert shell("\\d orders\r", ".hlp\r", ".nonsense\r") == (
        "There is no command \\d. Enter SHOW TABLES; or DESCRIBE name;\n"
        "There is no command .hlp. Did you mean .help?\n"
        "There is no command .nonsense. .help lists the commands.\n"
    )


def test_commands_may_be_shortened_when_it_is_clear_which_is_meant(shell: ShellSession) -> None:
    assert shell(".ti\r") == "Timing is on.\n"


def test_the_prompt_shows_the_schema(shell: ShellSession, server: RunningServer) -> None:
    assert shell("USE sales;\r") == ""
    assert shell.shell._connection.state.schema == "sales"


def test_the_last_error_in_full(shell: ShellSession) -> None:
    shown = shell(".errors\r", "SELECT a; FAIL\rhere;\r", ".errors\r")
    assert shown.startswith("No error has occurred.\n")
    details = shown[shown.index("time: ") :].splitlines()[1:]
    assert details[:5] == ["condition: JETSQL.JOB_NOT_FOUND", "SQLSTATE:  42704", "statement:", "  FAIL", "  here"]
    assert "Start the shell with -v" in details[-1]


def test_where_an_error_came_from_can_be_shown_only_of_the_engines(server: RunningServer, tmp_path: Path) -> None:
    refusals = [EngineError("HOME_NOT_USABLE", "It is read-only.")] * 9

    def url() -> str:
        raise refusals.pop()

    with open_shell_session(url, tmp_path) as shell:
        shown = shell("SELECT a;\r", "SELECT a;\r", ".errors\r")
    assert "condition: JETSQL.HOME_NOT_USABLE" in shown and "Start the shell with -v" not in shown


def test_variables_are_filled_in(server: RunningServer, tmp_path: Path) -> None:
    with open_shell_session(lambda: server.url, tmp_path, variables={"day": "mo"}) as shell:
        shown = shell("SELECT ${day};\r", "SELECT ${month};\r")
    assert shown.startswith(TABLE.format("mo") + "[JETSQL.VARIABLE_NOT_SET]")


# What is dropped


def test_it_asks_before_a_drop(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("DROP TABLE t; SELECT a;\rn\r", "DROP TABLE t;\ry\r")
    assert shown.startswith("Not run.\n1 more was not run.\n")
    assert engine.entered_statements == ["DROP TABLE t"]


def test_a_question_may_be_left_by_ctrl_c_or_ctrl_d(shell: ShellSession, engine: ShellEngine) -> None:
    shell("DROP TABLE t;\r" + CTRL_C, "DROP TABLE t;\r" + CTRL_D, "SELECT a;\r")
    assert engine.entered_statements == ["SELECT a"]


def test_the_question_can_be_turned_off(shell: ShellSession, engine: ShellEngine) -> None:
    shell(".set ask_before_drop off\r", "DROP TABLE t;\r")
    assert engine.entered_statements == ["DROP TABLE t"]


BATCH_JOB = "CREATE JOB j AS INSERT INTO t SELECT * FROM orders"


def test_it_asks_before_a_job_whose_query_may_lack_stream(shell: ShellSession, engine: ShellEngine) -> None:
    engine.statements.plan = "Job:         batch: runs once\nRead once:   orders; write STREAM orders to read new rows"
    prompts: list[str] = []
    shell.shell._prompt.confirm = lambda question: bool(prompts.append(question))  # type: ignore[method-assign]
    assert shell(f"{BATCH_JOB};\r", f"{BATCH_JOB.replace('orders', 'STREAM orders')};\r") == "Not run.\n"
    assert prompts == ["Create a job that reads orders once and then ends? Write STREAM orders to read new rows."]
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]


def test_a_job_over_a_view_of_a_stream_is_created_without_a_question(shell: ShellSession, engine: ShellEngine) -> None:
    engine.statements.plan = "Job:         streaming"
    shell(f"{BATCH_JOB};\r")
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]  # the server's session runs CREATE


def test_an_error_of_the_job_is_reported_by_the_statement_itself(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell(f"{BATCH_JOB};\r") == ""
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]


# Files


def test_a_file_is_run_and_its_mistakes_name_it(shell: ShellSession, engine: ShellEngine, tmp_path: Path) -> None:
    file = tmp_path / "some script.sql"
    file.write_text("SELECT a;\nDROP TABLE t; FAIL here;\nSELECT b;")
    shown = shell(f".read {file}\r")
    assert shown.startswith(TABLE.format("a"))
    assert engine.entered_statements[1].strip() == "DROP TABLE t"  # nothing asked


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (".read", ".read: it needs a file: .read FILE.\n"),
        (".read nowhere.sql", ".read: nowhere.sql: No such file or directory.\n"),
        (".read ~nosuchuser/x.sql", ".read: ~nosuchuser/x.sql: No such file or directory.\n"),
        (".mode xml", ".set mode is 'xml'. It must be one of table, vertical, csv, json, markdown.\n"),
        (".set mod csv", ".set mod: the shell has no setting 'mod'. Did you mean mode?\n"),
        (".set mod", ".set: the shell has no setting 'mod'. Did you mean mode?\n"),
        (".set mode", 'mode = "table"  the format of results: table, vertical, csv, json or markdown\n'),
        (".help nothing", "There is no command .nothing. Did you mean .timing?\n"),
    ],
)
def test_commands_say_what_is_wrong_with_them(shell: ShellSession, command: str, told: str) -> None:
    assert shell(command + ENTER) == told


def test_the_editor_is_given_the_last_statement(
    shell: ShellSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/a/edited/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert shell("SELECT a;\r", ".edit\r", ENTER) == TABLE.format("a") + "c0\n------\nedited\n"


@pytest.mark.parametrize(
    ("keys", "run", "shown"),
    [
        ((".format\r",), [], ".format: there is no last statement yet.\n"),
        (("SELECT  a;\r", ".format\r", ENTER), ["SELECT  a", "SELECT\n  a"], "c0\n--\na\n"),
        ((".format suspend jobs x\r", CTRL_C), [], "This part stays as it is: Expected JOB, found 'jobs'.\n"),
    ],
)
def test_format_puts_the_formatted_statement_at_the_prompt(
    shell: ShellSession, engine: ShellEngine, keys: tuple[str, ...], run: list[str], shown: str
) -> None:
    assert shell(*keys).endswith(shown)
    assert engine.entered_statements == run


@pytest.mark.parametrize(("setting", "keys"), [("emacs", "\x18\x05"), ("vi", ESC + "v")])
def test_what_an_editor_leaves_is_not_run_before_enter(
    server: RunningServer, engine: ShellEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, keys: str
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/a/edited/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    with open_shell_session(lambda: server.url, tmp_path, ShellSettings(timing=False, keys=setting)) as shell:
        buffer = shell.shell._prompt._session.default_buffer
        buffer.on_text_changed += lambda changed: shell.keys.send_text(CTRL_C) if "edited" in changed.text else None
        shell("SELECT a;" + keys)
    assert engine.entered_statements == []
    assert "SELECT edited;" in (tmp_path / "state" / "history").read_text()  # it was there to be cleared


def test_an_editor_that_fails_is_told(shell: ShellSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "false")
    assert (
        shell(".edit\r")
        == ".edit: the editor (false) failed with exit code 1. Set $VISUAL or $EDITOR to use another.\n"
    )


def test_the_settings_file_is_written_on_request(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config" / "config.toml"
    monkeypatch.setenv("JETSQL_CONFIG", str(file))
    assert another(server, tmp_path, ".config\r").startswith(f"Added the table [shell] to {file},")
    assert '\n#keys = "emacs"\n' in file.read_text()
    assert another(server, tmp_path, ".config\r") == f"The settings are in {file}.\n"


# History


def test_shells_share_the_history(server: RunningServer, tmp_path: Path) -> None:
    another(server, tmp_path, "SELECT\ra;\r")
    assert another(server, tmp_path, UP + ENTER) == TABLE.format("a")
    assert stat.S_IMODE((tmp_path / "state" / "history").stat().st_mode) == 0o600


def test_secrets_are_not_written_to_the_history(shell: ShellSession, engine: ShellEngine, tmp_path: Path) -> None:
    shell("SELECT 'password' = 'hush', a;\r", UP + ENTER)
    assert engine.entered_statements == ["SELECT 'password' = 'hush', a"] * 2  # this shell still knows
    assert "hush" not in (tmp_path / "state" / "history").read_text()


def test_the_history_need_not_be_written(server: RunningServer, tmp_path: Path) -> None:
    another(server, tmp_path, "SELECT a;\r", settings=ShellSettings(history=False))
    assert not (tmp_path / "state").exists()


def test_the_history_is_written_as_long_as_it_is_wanted(shell: ShellSession, tmp_path: Path) -> None:
    shell("SELECT a;\r", ".set history off\r", "SELECT b;\r", ".set history on\r", "SELECT c;\r")
    written = (tmp_path / "state" / "history").read_text()
    assert [f"SELECT {name};" in written for name in "abc"] == [True, False, True]


def test_a_history_that_cannot_be_written_is_told_once(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    shown = another(server, tmp_path, "SELECT a;\r", "SELECT b;\r")
    assert shown.count("Cannot use the history file") == 1


# The engine


@contextmanager
def signalled(engine: ShellEngine, number: signal.Signals) -> Iterator[None]:
    """A signal comes while a statement waits; again when it was lost: Python does not notice one that comes just before
    the system call that waits."""
    over = threading.Event()

    def press() -> None:
        assert engine.waiting.wait(30)
        os.kill(os.getpid(), number)
        while not (over.wait(5) or engine.woken.is_set()):
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_ctrl_c_cancels_the_statement_and_not_the_session(shell: ShellSession, engine: ShellEngine) -> None:
    with signalled(engine, signal.SIGINT):
        shown = shell("WAIT; SELECT a;\r", "SELECT b;\r")
    assert shown == (
        "Cancelled. A change to a job that it began continues; see SHOW JOBS.\n1 more was not run.\n"
        + TABLE.format("b")
    )
    assert engine.woken.wait(30)


def test_a_terminal_that_is_gone_ends_the_shell(shell: ShellSession, engine: ShellEngine) -> None:
    with signalled(engine, signal.SIGHUP):
        shell("WAIT;\r", "SELECT b;\r")
    assert not shell.fine
    assert engine.entered_statements == []


def test_a_statement_waits_for_the_engine(server: RunningServer, tmp_path: Path) -> None:
    started = threading.Event()

    def url() -> str:
        assert started.wait(30)
        return server.url

    threading.Timer(0.1, started.set).start()
    with open_shell_session(url, tmp_path) as shell:
        assert shell("SELECT a;\r") == TABLE.format("a")


def test_waiting_for_the_engine_can_be_given_up(server: RunningServer, tmp_path: Path) -> None:
    started, asked = threading.Event(), threading.Event()

    def url() -> str:
        asked.set()
        assert started.wait(30)
        return server.url

    with open_shell_session(url, tmp_path) as shell:
        wait = shell.shell._connection._settled.wait

        def interrupted(timeout: float | None = None) -> bool:
            shell.shell._connection._settled.wait = wait  # type: ignore[method-assign]
            started.set()
            raise KeyboardInterrupt

        shell.shell._connection._settled.wait = interrupted  # type: ignore[method-assign]
        shown = shell("SELECT a;\r", "SELECT b;\r")
    assert shown == "Cancelled: the engine was not available yet, so the statement was not run.\n" + TABLE.format("b")


def test_an_engine_that_does_not_start_is_told_and_tried_again(server: RunningServer, tmp_path: Path) -> None:
    refusals = [EngineError("ENGINE_NOT_STARTED", "No Java.", hint="Install it.")]

    def url() -> str:
        if refusals:
            raise refusals.pop()
        return server.url

    with open_shell_session(url, tmp_path) as shell:
        shown = shell("SELECT a;\r", "SELECT b;\r")
    assert shown.count("[JETSQL.ENGINE_NOT_STARTED] No Java.") == 1
    assert shown.endswith(TABLE.format("b"))


class RestartingEngine:
    """An engine that stops and starts again at another address."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.engine = ShellEngine()
        self.server = self.stack.enter_context(run_server(self.engine))

    def url(self) -> str:
        return self.server.url

    def restart(self) -> None:
        self.stack.close()
        self.engine = ShellEngine()
        self.server = self.stack.enter_context(run_server(self.engine))


@pytest.fixture
def restarts() -> Iterator[RestartingEngine]:
    restarts = RestartingEngine()
    yield restarts
    restarts.stack.close()


def entered_then(shell: ShellSession, first: str, between: Callable[[], None], second: str) -> str:
    """Something happens between two entries."""
    do = shell.shell._run_input

    def turn(text: str) -> None:
        if text == second:
            between()
        do(text)

    shell.shell._run_input = turn  # type: ignore[method-assign]
    return shell(first + ENTER, second + ENTER)


def test_a_statement_that_an_engine_never_got_is_run_on_the_next(restarts: RestartingEngine, tmp_path: Path) -> None:
    with open_shell_session(restarts.url, tmp_path) as shell:
        shown = entered_then(shell, "USE sales;", restarts.restart, "SELECT a;")
    assert shown == (
        "The engine has ended or has closed the session; this is a new session. Settings (SET), temporary views and "
        "variables of the old session are lost; jobs and tables are not.\n" + TABLE.format("a")
    )
    assert shell.shell._connection.state.schema == "`sales`"  # the new session uses this schema again


def test_it_is_not_run_when_it_may_rest_on_what_is_gone(restarts: RestartingEngine, tmp_path: Path) -> None:
    with open_shell_session(restarts.url, tmp_path) as shell:
        shown = entered_then(shell, "SET a.b=c;", restarts.restart, "SELECT b;")
    assert shown.endswith(
        "The statement was not run, because it may depend on them. Restore them and enter it again.\n"
    )
    assert restarts.engine.entered_statements == []


def test_a_session_that_the_engine_has_closed_is_opened_anew(shell: ShellSession, server: RunningServer) -> None:
    def forget() -> None:
        for each in list(server.http_server.sessions._sessions):
            server.http_server.sessions.close(each)

    shown = entered_then(shell, "SELECT a;", forget, "SELECT b;")
    assert "The engine has ended or has closed the session; this is a new session." in shown
    assert shown.endswith(TABLE.format("b"))


def test_a_statement_that_an_engine_got_is_not_sent_again(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("DIE here;\r", "SELECT a;\r")
    assert "Its outcome is unknown: check it before you repeat the statement." in shown
    assert shown.endswith(TABLE.format("a"))
    assert engine.entered_statements == ["DIE here", "SELECT a"]


def test_what_nobody_foresaw_is_told_and_the_prompt_comes_back(shell: ShellSession) -> None:
    def fault() -> None:
        raise LookupError("two\nlines")

    shown = entered_then(shell, "SELECT a;", fault, "SELECT b;")
    assert shown == TABLE.format("a") + "Unexpected error; the shell continues. LookupError: two lines\n"


def test_what_keeps_the_engine_from_being_reached_is_told_whatever_it_is(tmp_path: Path) -> None:
    def url() -> str:
        raise LookupError("no such thing")

    with open_shell_session(url, tmp_path) as shell:
        shown = shell("SELECT a;\r")
    assert shown.endswith("[JETSQL.ENGINE_NOT_REACHABLE] Cannot reach the engine: LookupError: no such thing\n")
