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


def test_enter_continues_an_incomplete_statement(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell("SELECT\r  a\r;\r") == TABLE.format("a")
    assert engine.entered_statements == ["SELECT\n  a"]


@pytest.mark.parametrize("keys", ["emacs", "vi"])
def test_pasted_keys_keep_their_white_space(
    server: RunningServer, engine: ShellEngine, tmp_path: Path, keys: str
) -> None:
    text = "SELECT\ta,\r\t b,\n\t\t c,\r\r    d\r;\r"
    another(server, tmp_path, text, settings=ShellSettings(timing=False, keys=keys))
    assert engine.entered_statements == ["SELECT\ta,\n\t b,\n\t\t c,\n\n    d"]


def test_key_runs_a_statement_without_semicolon(shell: ShellSession) -> None:
    assert shell("SELECT a" + ALT_ENTER) == TABLE.format("a")


def test_pasted_script_runs_statement_by_statement(shell: ShellSession) -> None:
    script = "SELECT a;\r\n.mode csv\r\nSELECT b; -- c\r\nFAIL here;\r\nSELECT d;\r\nSELECT e;"
    assert shell(bracketed_paste(script) + ENTER) == (
        TABLE.format("a")
        + "c0\nb\n"
        + "[JETSQL.JOB_NOT_FOUND] There is no such job.\n    4 | FAIL here;\n      |      ^\nSee SHOW JOBS.\n"
        + "2 more were not run.\n"
    )


def test_command_after_an_open_statement_is_reported(shell: ShellSession) -> None:
    shown = shell(bracketed_paste("SELECT a;\nFAIL here\n  .mode csv") + ALT_ENTER)
    assert shown.endswith("Line 3 looks like the command .mode: end the statement before it with a semicolon.\n")


def test_open_quote_is_reported_at_its_beginning(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("SELECT a;\r", "SELECT\r 'b" + ALT_ENTER)
    assert "    2 |  'b\n      |  ^\n" in shown
    assert len(engine.entered_statements) == 1


def test_ctrl_c_clears_the_line_and_keeps_it_in_history(shell: ShellSession) -> None:
    assert shell("SELECT a" + CTRL_C, UP + ";\r") == TABLE.format("a")


def test_second_enter_runs_the_found_history_entry(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell("SELECT ab;\r", "\x12" + "ECT a" + ENTER + ENTER) == TABLE.format("ab") * 2


def test_exit_reports_once_that_jobs_continue(shell: ShellSession) -> None:
    shell("SELECT a;\r")
    assert shell.out.getvalue().count("The engine and its jobs continue") == 1
    assert shell.fine


def test_commands_without_a_dot_are_understood(shell: ShellSession) -> None:
    assert ".read FILE" in shell("help\r", "quit\r")


def test_commands_of_other_shells_have_hints(shell: ShellSession) -> None:
    assert shell("\\d orders\r", ".hlp\r", ".nonsense\r") == (
        "There is no command \\d. Enter SHOW TABLES; or DESCRIBE name;\n"
        "There is no command .hlp. Did you mean .help?\n"
        "There is no command .nonsense. .help lists the commands.\n"
    )


def test_unique_prefixes_of_commands_are_accepted(shell: ShellSession) -> None:
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


def test_only_engine_errors_have_a_trace(server: RunningServer, tmp_path: Path) -> None:
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


def test_drop_needs_a_confirmation(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("DROP TABLE t; SELECT a;\rn\r", "DROP TABLE t;\ry\r")
    assert shown.startswith("Not run.\n1 more was not run.\n")
    assert engine.entered_statements == ["DROP TABLE t"]


def test_ctrl_c_and_ctrl_d_decline_a_confirmation(shell: ShellSession, engine: ShellEngine) -> None:
    shell("DROP TABLE t;\r" + CTRL_C, "DROP TABLE t;\r" + CTRL_D, "SELECT a;\r")
    assert engine.entered_statements == ["SELECT a"]


def test_confirmation_can_be_disabled(shell: ShellSession, engine: ShellEngine) -> None:
    shell(".set ask_before_drop off\r", "DROP TABLE t;\r")
    assert engine.entered_statements == ["DROP TABLE t"]


BATCH_JOB = "CREATE JOB j AS INSERT INTO t SELECT * FROM orders"


def test_query_without_stream_needs_a_confirmation(shell: ShellSession, engine: ShellEngine) -> None:
    engine.statements.plan = "Job:         batch: runs once\nRead once:   orders; write STREAM orders to read new rows"
    prompts: list[str] = []
    shell.shell._prompt.confirm = lambda question: bool(prompts.append(question))  # type: ignore[method-assign]
    assert shell(f"{BATCH_JOB};\r", f"{BATCH_JOB.replace('orders', 'STREAM orders')};\r") == "Not run.\n"
    assert prompts == ["Create a job that reads orders once and then ends? Write STREAM orders to read new rows."]
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]


def test_view_of_a_stream_needs_no_confirmation(shell: ShellSession, engine: ShellEngine) -> None:
    engine.statements.plan = "Job:         streaming"
    shell(f"{BATCH_JOB};\r")
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]  # the server's session runs CREATE


def test_error_of_the_job_is_reported_by_the_statement(shell: ShellSession, engine: ShellEngine) -> None:
    assert shell(f"{BATCH_JOB};\r") == ""
    assert engine.statements.texts == [f"EXPLAIN {BATCH_JOB}"]


# Files


def test_errors_of_a_file_name_the_file(shell: ShellSession, engine: ShellEngine, tmp_path: Path) -> None:
    file = tmp_path / "some script.sql"
    file.write_text("SELECT a;\nDROP TABLE t; FAIL here;\nSELECT b;")
    shown = shell(f".read {file}\r")
    assert shown.startswith(TABLE.format("a"))
    assert engine.entered_statements[1].strip() == "DROP TABLE t"  # nothing asked


@pytest.mark.parametrize(
    ("command", "message"),
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
def test_wrong_commands_have_clear_errors(shell: ShellSession, command: str, message: str) -> None:
    assert shell(command + ENTER) == message


def test_editor_opens_the_last_statement(shell: ShellSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_edited_text_runs_only_after_enter(
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


def test_failing_editor_is_reported(shell: ShellSession, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_history_can_be_disabled(server: RunningServer, tmp_path: Path) -> None:
    another(server, tmp_path, "SELECT a;\r", settings=ShellSettings(history=False))
    assert not (tmp_path / "state").exists()


def test_history_is_written_while_enabled(shell: ShellSession, tmp_path: Path) -> None:
    shell("SELECT a;\r", ".set history off\r", "SELECT b;\r", ".set history on\r", "SELECT c;\r")
    written = (tmp_path / "state" / "history").read_text()
    assert [f"SELECT {name};" in written for name in "abc"] == [True, False, True]


def test_unwritable_history_is_reported_once(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    shown = another(server, tmp_path, "SELECT a;\r", "SELECT b;\r")
    assert shown.count("Cannot use the history file") == 1


# The engine


@contextmanager
def signalled(engine: ShellEngine, number: signal.Signals) -> Iterator[None]:
    """Send a signal while a statement waits, and again if it was lost.

    Python does not notice a signal that comes just before the system call that waits.
    """
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


def test_closed_terminal_ends_the_shell(shell: ShellSession, engine: ShellEngine) -> None:
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


def test_wait_for_the_engine_can_be_cancelled(server: RunningServer, tmp_path: Path) -> None:
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


def test_failed_engine_start_is_reported_and_retried(server: RunningServer, tmp_path: Path) -> None:
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
    """Call a function between two entries."""
    do = shell.shell._run_input

    def turn(text: str) -> None:
        if text == second:
            between()
        do(text)

    shell.shell._run_input = turn  # type: ignore[method-assign]
    return shell(first + ENTER, second + ENTER)


def test_statement_that_was_not_sent_runs_on_the_next_engine(restarts: RestartingEngine, tmp_path: Path) -> None:
    with open_shell_session(restarts.url, tmp_path) as shell:
        shown = entered_then(shell, "USE sales;", restarts.restart, "SELECT a;")
    assert shown == (
        "The engine has ended or has closed the session; this is a new session. Settings (SET), temporary views and "
        "variables of the old session are lost; jobs and tables are not.\n" + TABLE.format("a")
    )
    assert shell.shell._connection.state.schema == "`sales`"  # the new session uses this schema again


def test_unsent_statement_is_not_rerun_if_it_needs_lost_state(restarts: RestartingEngine, tmp_path: Path) -> None:
    with open_shell_session(restarts.url, tmp_path) as shell:
        shown = entered_then(shell, "SET a.b=c;", restarts.restart, "SELECT b;")
    assert shown.endswith(
        "The statement was not run, because it may depend on them. Restore them and enter it again.\n"
    )
    assert restarts.engine.entered_statements == []


def test_closed_session_is_opened_again(shell: ShellSession, server: RunningServer) -> None:
    def forget() -> None:
        for each in list(server.http_server.sessions._sessions):
            server.http_server.sessions.close(each)

    shown = entered_then(shell, "SELECT a;", forget, "SELECT b;")
    assert "The engine has ended or has closed the session; this is a new session." in shown
    assert shown.endswith(TABLE.format("b"))


def test_sent_statement_is_not_repeated(shell: ShellSession, engine: ShellEngine) -> None:
    shown = shell("DIE here;\r", "SELECT a;\r")
    assert "Its outcome is unknown: check it before you repeat the statement." in shown
    assert shown.endswith(TABLE.format("a"))
    assert engine.entered_statements == ["DIE here", "SELECT a"]


def test_unexpected_error_keeps_the_prompt(shell: ShellSession) -> None:
    def fault() -> None:
        raise LookupError("two\nlines")

    shown = entered_then(shell, "SELECT a;", fault, "SELECT b;")
    assert shown == TABLE.format("a") + "Unexpected error; the shell continues. LookupError: two lines\n"


def test_every_connection_error_is_reported(tmp_path: Path) -> None:
    def url() -> str:
        raise LookupError("no such thing")

    with open_shell_session(url, tmp_path) as shell:
        shown = shell("SELECT a;\r")
    assert shown.endswith("[JETSQL.ENGINE_NOT_REACHABLE] Cannot reach the engine: LookupError: no such thing\n")
