"""The command line with an engine without Spark: in click's runner, and in processes of its own where needed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli import run_scripts
from jetsql.cli.flags import ExitCode, Flags
from jetsql.errors import EngineError
from jetsql.output.console import Console
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION
from tests.support.engines.stub_engine import StubEngine
from tests.support.paths import ROOT


class CommandLine:
    """A function that runs the command line in this process. engines: the opened engines, with their settings."""

    def __init__(self) -> None:
        self.engines: list[tuple[StubEngine, Settings]] = []
        self.refusal: Exception | None = None

    def open(
        self, settings: Settings, flags: Flags, console: Console, *, only_existing_home: bool = False
    ) -> StubEngine:
        if self.refusal:
            raise self.refusal
        self.engines.append((StubEngine(), settings))
        return self.engines[-1][0]

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli.cli, arguments, input=input, catch_exceptions=False, prog_name="jetsql")

    @property
    def engine(self) -> StubEngine:
        ((engine, _),) = self.engines
        return engine


@pytest.fixture
def jetsql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[CommandLine]:
    bench = CommandLine()
    monkeypatch.setattr(run_scripts, "open_engine", bench.open)
    monkeypatch.setenv("JETSQL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield bench
    for number, handler in before.items():
        signal.signal(number, handler)


def test_statements_from_the_command_line(jetsql: CommandLine) -> None:
    ended = jetsql("-e", "SELECT a; SELECT b", "-e", "SELECT c")
    assert (ended.exit_code, ended.stderr) == (ExitCode.SUCCESS, "")
    assert ended.stdout == "c0\n--\na\n\nc0\n--\nb\n\nc0\n--\nc\n"
    assert jetsql.engine.close_calls == 1


def test_files_run_one_after_the_other(jetsql: CommandLine) -> None:
    Path("a.sql").write_text("\ufeffSELECT a;", encoding="utf-8")
    Path("b.sql").write_text("SELECT ${what}", encoding="utf-8")
    ended = jetsql("run", "--format", "csv", "--set", "what=b=c", "a.sql", "b.sql", "-", input="SELECT d")
    assert (ended.exit_code, ended.stdout) == (ExitCode.SUCCESS, "c0\na\n\nc0\nb=c\n\nc0\nd\n")
    assert len(jetsql.engines) == 1


def test_flags_after_the_command_override_those_before_it(jetsql: CommandLine, tmp_path: Path) -> None:
    ended = jetsql(
        *("--home", "x", "--format", "csv", "--conf", "spark.a=1", "--set", "v=1", "run"),
        *("--home", "y", "--conf", "spark.b=2=3", "--master", "local[1]", "-e", "SELECT ${v}"),
    )
    assert (ended.exit_code, ended.stdout) == (ExitCode.SUCCESS, "c0\n1\n")
    settings = jetsql.engines[0][1]
    assert (settings.home, settings.master) == (tmp_path / "y", "local[1]")
    assert settings.spark_conf == {"spark.a": "1", "spark.b": "2=3"}


def test_variables_come_from_the_environment_too(jetsql: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_VAR_day", "monday")
    assert jetsql("--format", "json", "-e", "SELECT ${day}").stdout == '{"c0":"monday"}\n'


def test_a_failed_statement_ends_the_run(jetsql: CommandLine) -> None:
    ended = jetsql("-e", "SELECT a;\n FAIL job; SELECT b")
    assert ended.exit_code == ExitCode.STATEMENT_FAILED
    assert ended.stdout == "c0\n--\na\n"
    assert ended.stderr.startswith("-e:2:7: [JETSQL.JOB_NOT_FOUND] There is no such job.\n")
    assert jetsql.engine.close_calls == 1


def test_continue_runs_the_rest_and_sets_the_exit_code(jetsql: CommandLine) -> None:
    ended = jetsql("--continue", "--format", "json", "-e", "FAIL job; SELECT ${unset}; SELECT b")
    assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, '{"c0":"b"}\n')
    assert "VARIABLE_NOT_SET" in ended.stderr


def test_echo_prints_statements_next_to_their_results(jetsql: CommandLine) -> None:
    ended = jetsql("run", "--echo", "-e", "SELECT a;\nFAIL password => 'hush'")
    assert (ended.exit_code, ended.stdout) == (
        ExitCode.STATEMENT_FAILED,
        "SELECT a;\nc0\n--\na\n\nFAIL password => '***';\n",
    )
    assert ended.stderr.startswith("-e:2:18: [JETSQL.JOB_NOT_FOUND] ")


def test_echo_leaves_csv_and_json_to_programs(jetsql: CommandLine) -> None:
    for form, shown in (("json", '{"c0":"a"}\n'), ("csv", "c0\na\n")):
        ended = jetsql("--echo", "--format", form, input="SELECT a;")
        assert (ended.exit_code, ended.stdout, ended.stderr) == (ExitCode.SUCCESS, shown, "SELECT a;\n")


@pytest.mark.parametrize("flags", [[], ["--continue"]])
def test_broken_scripts_start_no_engine(jetsql: CommandLine, flags: Sequence[str]) -> None:
    Path("fine.sql").write_text("SELECT 'open")
    ended = jetsql("run", *flags, "fine.sql")
    assert ended.exit_code == ExitCode.STATEMENT_FAILED
    assert ended.stderr.startswith("fine.sql:1:8: [JETSQL.PARSE_SYNTAX_ERROR]")
    assert jetsql.engines == []


def test_error_in_a_later_file_prevents_all_runs(jetsql: CommandLine) -> None:
    Path("a.sql").write_text("SELECT a")
    Path("b.sql").write_text("SELECT ${unset}")
    assert jetsql("run", "a.sql", "b.sql").exit_code == ExitCode.STATEMENT_FAILED
    assert jetsql.engines == []


def test_nothing_to_run_starts_no_engine(jetsql: CommandLine) -> None:
    assert jetsql("-e", "-- nothing").exit_code == ExitCode.SUCCESS
    assert jetsql.engines == []


USAGE: list[tuple[list[str], str]] = [
    (["run"], "Name the files to run"),
    (["run", "--stay", "-e", "SELECT a"], "--stay needs --embedded"),
    (["run", "missing.sql"], "missing.sql: No such file"),
    (["run", "."], ".: Is a directory"),
    (["run", "latin.sql"], "latin.sql: line 2 is not valid UTF-8"),
    (["run", ""], "A file name is empty"),
    (["run", "-", "-"], "only once"),
    (["run", "-e", "SELECT a", "latin.sql"], "Files and -e cannot be combined"),
    (["-e", "SELECT a", "--set", "novalue"], "--set: 'novalue' is not `key=value`"),
    (["-e", "SELECT a", "--set", "1a=b"], "--set: '1a' is not a valid name"),
    (["-e", "SELECT a", "--conf", "novalue"], "--conf: 'novalue' is not `key=value`"),
    (["-e", "SELECT a", "--conf", "sql.x=1"], "not a Spark setting"),
    (["-e", "SELECT a", "--home", ""], "--home is ''"),
    (["-e", "SELECT a", "--format", "xml"], "'xml' is not one of"),
    (["-e"], "requires an argument"),
    (["--nonsense"], "No such option"),
    (["nonsense"], "There is no command 'nonsense'"),
    (["latin.sql"], "Run it with: jetsql run latin.sql"),
    (["other.sql"], "Run it with: jetsql run other.sql"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[" ".join(arguments) for arguments, _ in USAGE])
def test_wrong_usage_starts_no_engine(jetsql: CommandLine, arguments: list[str], message: str) -> None:
    Path("latin.sql").write_bytes(b"-- Z\nSELECT 'Z\xfcrich'")
    ended = jetsql(*arguments)
    assert (ended.exit_code, ended.stdout) == (ExitCode.USAGE, "")
    assert message in ended.stderr
    assert jetsql.engines == []


def test_a_bad_setting_in_the_environment_is_wrong_usage(jetsql: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_STOP_DEADLINE_SECONDS", "soon")
    ended = jetsql("-e", "SELECT a")
    assert ended.exit_code == ExitCode.USAGE
    assert "JETSQL_STOP_DEADLINE_SECONDS in the environment is 'soon'" in ended.stderr


def test_without_arguments_standard_input_is_run(jetsql: CommandLine) -> None:
    ended = jetsql(input="SELECT a; FAIL job;")
    assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "c0\n--\na\n")
    assert ended.stderr.startswith("<stdin>:1:16: [JETSQL.JOB_NOT_FOUND] There is no such job.\n")
    assert jetsql("sql", "--format", "csv", input="SELECT a").stdout == "c0\na\n"
    assert jetsql().exit_code == ExitCode.SUCCESS


def test_shell_commands_in_scripts_are_refused_at_their_place(jetsql: CommandLine) -> None:
    ended = jetsql("run", "-", input="SELECT a;\n  .mode csv\nSELECT b;")
    assert (ended.exit_code, ended.stdout, jetsql.engines) == (ExitCode.STATEMENT_FAILED, "", [])
    assert ended.stderr.startswith("<stdin>:2:3: [JETSQL.PARSE_SYNTAX_ERROR] A line that begins with a dot is a")


def test_help_and_version(jetsql: CommandLine) -> None:
    assert jetsql("--version").stdout.startswith(f"jetsql {VERSION} (PySpark {version('pyspark')}")
    for arguments in (["--help"], ["run", "--help"], ["run", "-h"]):
        ended = jetsql(*arguments)
        assert ended.exit_code == ExitCode.SUCCESS, ended.stderr
        assert "Examples:\n  jetsql " in ended.stdout.replace("    jetsql", "  jetsql")
        assert all(f"--{flag}" in ended.stdout for flag in ("home", "master", "conf", "format", "set", "stay"))


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (EngineError("ENGINE_NOT_STARTED", "There is no Java.", hint="Install it."), "There is no Java. Install it."),
        (RuntimeError("Could not parse Master URL: 'nowhere'"), "Could not parse Master URL"),
    ],
)
def test_no_engine(jetsql: CommandLine, refusal: Exception, message: str) -> None:
    jetsql.refusal = refusal
    ended = jetsql("-e", "SELECT a")
    assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert message in ended.stderr


def test_engine_that_stops_during_the_run(jetsql: CommandLine) -> None:
    ended = jetsql("--continue", "-e", "SELECT a; CRASH; SELECT b")
    assert ended.exit_code == ExitCode.NO_ENGINE
    assert jetsql.engine.close_calls == 1


def test_an_interrupt_closes_the_engine(jetsql: CommandLine) -> None:
    ended = jetsql("-e", "SELECT a; INTERRUPT; SELECT b")
    assert (ended.exit_code, ended.stdout) == (ExitCode.INTERRUPTED, "c0\n--\na\n")
    assert jetsql.engine.close_calls == 1


PROGRAM = """
import os, sys
from pathlib import Path
from tests.support.engines.stub_engine import StubEngine
from jetsql import cli
from jetsql.cli import run_scripts as running

class Engine(StubEngine):
    def close(self):
        super().close()
        (Path(os.environ["JETSQL_HOME"]) / "closed").touch()

running.open_engine = lambda settings, flags, console, only_existing_home: Engine()
sys.exit(cli.main())
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Return a function that starts the command line in a process of its own, with an engine without Spark."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JETSQL_HOME": str(tmp_path),
        "JETSQL_CONFIG": os.devnull,
    }

    def start(*arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )

    return start


Start = Callable[..., "subprocess.Popen[str]"]


def test_only_results_reach_standard_output(start: Start, tmp_path: Path) -> None:
    process = start("--format", "json", "-e", "COUNT 3")
    out, err = process.communicate(timeout=60)
    assert [json.loads(line) for line in out.splitlines()] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert (process.returncode, err) == (ExitCode.SUCCESS, "")
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stay_keeps_the_jobs_until_a_signal(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    process = start("run", "--embedded", "--stay", "-e", "SELECT a")
    assert process.stderr is not None
    assert process.stderr.readline() == "The jobs keep running. Press Ctrl-C to stop them.\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (ExitCode.INTERRUPTED, "c0\n--\na\n")
    assert err == "stopping the jobs ... (Ctrl-C again ends immediately)\n"
    assert (tmp_path / "closed").exists()


def test_stay_needs_no_statements(start: Start) -> None:
    process = start("run", "--embedded", "--stay")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED


def test_stay_ends_when_a_statement_failed(start: Start) -> None:
    process = start("run", "--embedded", "--stay", "-e", "FAIL job")
    process.communicate(timeout=60)
    assert process.returncode == ExitCode.STATEMENT_FAILED


def test_closed_pipe_ends_it_quietly(start: Start, tmp_path: Path) -> None:
    process = start("--format", "csv", "-e", "COUNT 1000000000; SELECT b")
    assert process.stdout is not None
    assert process.stderr is not None
    assert [process.stdout.readline() for _ in range(2)] == ["n\n", "0\n"]
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == ExitCode.OUTPUT_CLOSED
    process.stderr.close()
    assert (tmp_path / "closed").exists()


def test_version_lists_installed_components(
    jetsql: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = version("pyspark")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert jetsql("--version").stdout == f"jetsql {VERSION} (PySpark {spark}, no Java)\n"
    java.touch(0o755)
    assert jetsql("--version").stdout == f"jetsql {VERSION} (PySpark {spark})\n"
    (tmp_path / "release").write_text('IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.15"\n', encoding="utf-8")
    assert jetsql("--version").stdout == f"jetsql {VERSION} (PySpark {spark}, Java 17.0.15)\n"


def test_help_and_version_load_nothing_heavy() -> None:
    code = "import sys\nfrom jetsql.cli import main\nmain(['--version']); main(['run', '--help'])\nprint(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert "jetsql.cli" in loaded
    assert not loaded & {"pyspark", "py4j", "sqlglot", "lark", "sqlalchemy", "wcwidth", "jetsql.script"}


def test_the_package_is_a_program() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "jetsql", "run", "missing.sql"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert ended.returncode == ExitCode.USAGE
