"""JetSQL without the extra `engine`: what works, and what reports the engine as missing.

`make test-clients` installs it in an environment of its own and uses an engine with it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jetsql import embedded, installation
from jetsql.cli.flags import ExitCode
from jetsql.client import find_engine
from jetsql.errors import EngineError
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION
from tests.support.engines.server_engine import ServedEngine
from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, RunningServer

PROGRAM = ROOT / "tests" / "support" / "programs" / "without_engine.py"
EXTRAS = {
    "jetsql.client.arrow_stream": "pyarrow",
    "jetsql.client.sqlalchemy": "sqlalchemy",
    "jetsql.client.sqlalchemy.column_types": "sqlalchemy",
    "jetsql.client.sqlalchemy.compiler": "sqlalchemy",
    "jetsql.client.sqlalchemy.superset": "superset",
    **dict.fromkeys(
        (
            f"jetsql.language_server.{name}"
            for name in (
                *("complete_document", "document_checks", "format_document", "hover", "navigation", "open_documents"),
                *("stdio_server", "workspace_names"),
            )
        ),
        "lsprotocol",
    ),
    "jetsql.notebook.magics": "IPython",
    **dict.fromkeys(("dbt.adapters.jetsql", "dbt.adapters.jetsql.__version__"), "dbt"),
    **dict.fromkeys(
        (f"jetsql.dbt_adapter.{name}" for name in ("connection_manager", "credentials", "plugin", "spark_adapter")),
        "dbt",
    ),
}
"""The modules that need an extra, Superset, dbt or a notebook, with what each lacks first."""


PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: list[str]) -> set[str]:
    """Return the modules of packages: the names of both are equal but for the hyphen."""
    return {re.split(r"[<>=]", each)[0].replace("-", "_") for each in requirements}


def engine_packages() -> tuple[str, ...]:
    """Return the packages that only the engine imports, as the contract of the linter lists them."""
    contracts = {each["name"]: each for each in PROJECT["tool"]["importlinter"]["contracts"]}
    return tuple(contracts["Clients work without the engine"]["forbidden_modules"])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages, as pip installs them."""
    folder = tmp_path_factory.mktemp("installed")
    places = {"jetsql": "jetsql", "jetsql/grammar": "grammar", "dbt/adapters/jetsql": "dbt_plugin"}
    for place, source in places.items():
        ignored = shutil.ignore_patterns("__pycache__", "*.jar")
        shutil.copytree(ROOT / source, folder / place, dirs_exist_ok=True, ignore=ignored)
    return folder


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run something with the packages and the dependencies of clients alone."""
    allowed = ",".join(sorted(names(PROJECT["project"]["dependencies"])))

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        own = {"JETSQL_CONFIG": os.devnull, "JETSQL_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [sys.executable, str(PROGRAM), str(installed), allowed, *arguments],
            cwd=tmp_path,
            env={**os.environ, **own, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_the_engine_is_installed_with_all_modules_of_its_extra() -> None:
    assert set(installation.ENGINE_MODULES) == names(PROJECT["project"]["optional-dependencies"]["engine"])


def test_every_module_can_be_imported(run: Run, installed: Path) -> None:
    files = [path.relative_to(installed).with_suffix("") for path in installed.rglob("*.py")]
    found = sorted(".".join(file.parts).removesuffix(".__init__") for file in files)
    modules = [name for name in found if not f"{name}.".startswith(tuple(f"{each}." for each in engine_packages()))]
    program = f"""
import importlib, json
missing = {{}}
for name in {modules!r}:
    if name == "jetsql.__main__":
        continue
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing[name] = error.name
print(json.dumps(missing))
"""
    ended = run("-c", program)
    assert ended.returncode == 0, ended.stderr
    missing = json.loads(ended.stdout)
    assert {name: str(lacking).partition(".")[0] for name, lacking in missing.items()} == {
        name: "sqlalchemy" if lacking == "superset" else lacking for name, lacking in EXTRAS.items()
    }


@pytest.fixture
def engine() -> ServedEngine:
    return ServedEngine()


def test_the_db_api(run: Run, server: RunningServer) -> None:
    program = f"""
import jetsql
with jetsql.connect({server.url!r}, token={TOKEN!r}) as connection:
    print(connection.cursor().execute("COUNT 3").fetchall())
    try:
        connection.cursor().execute("FAIL job")
    except jetsql.client.dbapi.ProgrammingError as error:
        print(error.condition)
"""
    ended = run("-c", program)
    assert (ended.stdout, ended.stderr) == ("[(0,), (1,), (2,)]\nJETSQL.JOB_NOT_FOUND\n", "")


def test_the_command_line(run: Run, server: RunningServer, tmp_path: Path) -> None:
    remote = {"JETSQL_URL": server.url, "JETSQL_TOKEN": TOKEN}
    ended = run("--format", "csv", "-e", "COUNT 2", **remote)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("n\n0\n1\n", "", ExitCode.SUCCESS)
    (tmp_path / "a.sql").write_text("COUNT ${what};", encoding="utf-8")
    ended = run("run", "a.sql", **remote)
    assert ended.stderr.startswith("a.sql:1:") and ended.returncode == ExitCode.STATEMENT_FAILED
    assert run("run", "--set", "what=1", "a.sql", **remote).stdout == "n\n-\n0\n"
    assert run("--version").stdout == f"jetsql {VERSION}\n"


def test_the_parser(run: Run) -> None:
    program = """
from jetsql import StatementError
from jetsql.language import parse
print(parse("SUSPEND JOB orders"))
try:
    parse("SUSPEND JOB")
except StatementError as error:
    print(error.condition)
"""
    parsed, condition = run("-c", program).stdout.splitlines()
    assert "orders" in parsed and condition == "JETSQL.PARSE_SYNTAX_ERROR"


def test_the_plugin_of_sqlglot(run: Run) -> None:
    program = """
import sqlglot
print(sqlglot.transpile("suspend job j; select 1", read="jetsql", write="jetsql"))
"""
    ended = run("-c", program)
    assert (ended.stdout, ended.stderr) == ("['SUSPEND JOB j', 'SELECT 1']\n", "")


def test_work_on_sql_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("suspend job j;\nselect 1 from (select 2", encoding="utf-8")
    ended = run("lint", "a.sql")
    assert ended.returncode == ExitCode.PROBLEMS_FOUND
    assert ended.stdout.startswith("a.sql:2:23: ") and ended.stderr == "1 warning in 1 file.\n"
    assert run("format", "a.sql").stderr.endswith("1 file formatted.\n")
    assert run("convert", "--from", "trino", "a.sql").returncode == ExitCode.PROBLEMS_FOUND
    assert not (tmp_path / "home").exists()


# --- what needs the engine -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "action"),
    [
        (["start"], "start an engine, and none runs on HOME"),
        (["-e", "SELECT 1"], "start an engine, and none runs on HOME"),
        (["list-jobs"], "start an engine, and none runs on HOME"),
        (["run", "--embedded", "-"], "run an engine in this process"),
        (["-e", "SELECT 1", "--embedded"], "run an engine in this process"),
        (["serve"], "run an engine"),
        (["check"], "read the store of a home"),
        (["test"], "run tests"),
        (["master"], "run the master of a Spark cluster"),
        (["join", "spark://127.0.0.1:7077"], "join a Spark cluster"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands_that_need_the_engine_report_what_to_install(
    run: Run, tmp_path: Path, arguments: list[str], action: str
) -> None:
    if arguments[-1] == "-":
        arguments = ["run", "--embedded", "a.sql"]
        (tmp_path / "a.sql").write_text("SELECT 1;", encoding="utf-8")
    ended = run(*arguments)
    cannot = f"JetSQL cannot {action.replace('HOME', str(tmp_path / 'home'))}"
    assert f"[JETSQL.ENGINE_NOT_INSTALLED] {cannot}: the engine is not installed. " in ended.stderr
    assert "pip install 'jetsql[engine]'." in ended.stderr
    assert ended.returncode == ExitCode.NO_ENGINE
    assert not (tmp_path / "home").exists()


def test_the_log_of_a_job_without_an_engine(run: Run, tmp_path: Path) -> None:
    ended = run("logs", "orders")
    assert "Check --home and JETSQL_HOME. SQLSTATE" in f"{ended.stderr.strip()} SQLSTATE"  # no hint to start one
    assert ended.returncode == ExitCode.STATEMENT_FAILED
    (tmp_path / "home").mkdir()
    ended = run("logs", "orders")
    action = "find a job in the store of a home"
    assert f"[JETSQL.ENGINE_NOT_INSTALLED] JetSQL cannot {action}: the engine is not installed. " in ended.stderr
    assert "pip install 'jetsql[engine]'." in ended.stderr and ended.returncode == ExitCode.NO_ENGINE


def test_commands_that_need_no_engine_work(run: Run, tmp_path: Path) -> None:
    ended = run("status")
    assert (ended.returncode, "The home does not exist." in ended.stdout) == (ExitCode.NO_ENGINE, True)
    assert "No engine runs on" in run("stop").stderr
    assert run("start", "--help").returncode == ExitCode.SUCCESS


def test_programs_that_need_the_engine_report_what_to_install(run: Run) -> None:
    program = """
import jetsql
for name in ("open", "enable", "EngineInstance"):
    try:
        getattr(jetsql, name)
    except jetsql.EngineError as error:
        print(name, error.condition, error.message)
try:
    jetsql.connect()
except jetsql.client.dbapi.OperationalError as error:
    print(error.condition)
"""
    condition = "JETSQL.ENGINE_NOT_INSTALLED"
    message = f"{condition} JetSQL cannot run an engine in this process: the engine is not installed."
    assert run("-c", program).stdout.splitlines() == [
        *(f"{name} {message}" for name in ("open", "enable", "EngineInstance")),
        condition,
    ]


def test_an_engine_that_runs_is_found_without_one_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(find_engine, "has_engine", lambda: False)
    monkeypatch.setattr(find_engine, "find_engine", lambda home: f"the engine of {home}")
    assert str(find_engine.find_or_start_engine(Settings(tmp_path))) == f"the engine of {tmp_path}"


def test_a_folder_that_pip_left_behind_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert installation.has_engine()
    (tmp_path / "left_behind").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installation, "ENGINE_MODULES", ("sqlalchemy", "left_behind"))
    assert not installation.has_engine()


def test_an_error_names_what_an_incomplete_engine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "ENGINE_MODULES", ("pyspark", "not_there", "missing_too"))
    message = "JetSQL cannot run an engine: the engine is not installed completely (without not_there, missing_too)."
    assert installation.engine_missing("run an engine").message == message


def test_an_engine_refuses_the_earlier_distribution_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded.check_distributions()
    monkeypatch.setattr(importlib.metadata, "version", {"jetsql-client": "0.2.0"}.__getitem__)
    with pytest.raises(EngineError, match="pip uninstall jetsql jetsql-client") as caught:
        embedded.check_distributions()
    assert caught.value.message.startswith("jetsql-client 0.2.0 is installed in the environment of jetsql")
