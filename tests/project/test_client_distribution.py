"""The wheel of `jetsql-client`: what is in it, what it depends on, and that it works without anything else.

`make test-clients` installs it in an environment of its own and uses an engine with it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jetsql
from jetsql import installation
from jetsql.cli.flags import ExitCode
from jetsql.client import find_engine
from jetsql.errors import EngineError
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION
from tests.support.engines.server_engine import ServedEngine
from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, RunningServer

PROGRAM = ROOT / "tests" / "support" / "programs" / "client_only.py"
ENGINE_PACKAGES = (
    *("backup", "check", "console", "embedded", "engine", "server", "sqltests"),
    *("jobs.checkpoint_files", "jobs.lifecycle", "jobs.manager", "jobs.statements", "jobs.store"),
)
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


def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


WHOLE, CLIENT = project(ROOT), project(ROOT / "client")


def is_engine(package: str) -> bool:
    return any(f"{package}.".startswith(f"jetsql.{each}.") for each in ENGINE_PACKAGES)


def packages(project: dict[str, Any]) -> list[str]:
    found: list[str] = project["tool"]["setuptools"]["packages"]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    program = "import sys, build_backend; build_backend.build_wheel(sys.argv[1])"
    ended = subprocess.run(
        [sys.executable, "-B", "-c", program, str(folder)],
        cwd=ROOT / "client",
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    [built] = folder.iterdir()
    assert built.name == f"jetsql_client-{VERSION}-py3-none-any.whl"
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the files of the wheel, as pip installs them."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run something with the wheel and its dependencies alone."""
    distributions = [re.split(r"[<>=]", each)[0] for each in CLIENT["project"]["dependencies"]]
    names = ",".join(name.replace("-", "_") for name in distributions)

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        own = {"JETSQL_CONFIG": os.devnull, "JETSQL_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [sys.executable, str(PROGRAM), str(installed), names, *arguments],
            cwd=tmp_path,
            env={**os.environ, **own, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


# --- the project -----------------------------------------------------------------------------------------------------


def test_client_has_all_packages_but_the_engine() -> None:
    assert packages(CLIENT) == [package for package in packages(WHOLE) if not is_engine(package)]


def test_the_contract_of_the_linter_forbids_the_rest() -> None:
    [contract] = [
        each for each in WHOLE["tool"]["importlinter"]["contracts"] if each["name"].startswith("jetsql-client")
    ]
    left_out = {package for package in packages(WHOLE) if is_engine(package)}
    assert {each for each in left_out if each.rpartition(".")[0] not in left_out} == set(contract["forbidden_modules"])


def test_client_depends_on_the_same_versions() -> None:
    assert set(CLIENT["project"]["dependencies"]) < set(WHOLE["project"]["dependencies"])


@pytest.mark.parametrize("key", ["scripts", "entry-points", "license", "requires-python", "classifiers"])
def test_client_is_the_same_project(key: str) -> None:
    assert CLIENT["project"][key] == WHOLE["project"][key]


# --- the wheel -------------------------------------------------------------------------------------------------------


def test_client_files_are_the_modules_of_its_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(f"jetsql_client-{VERSION}.dist-info/METADATA").decode()
    folders = {package: package.replace(".", "/") for package in packages(CLIENT)}
    sources = {
        package: ROOT / CLIENT["tool"]["setuptools"]["package-dir"].get(package, folders[package])
        for package in folders
    }
    expected = {
        f"{folder}/{file.name}"
        for package, folder in folders.items()
        for file in sources[package].glob("*")
        if file.suffix in (".py", ".json", ".lark", ".txt", ".typed")
    }
    project = ROOT / "jetsql" / "dbt_adapter" / "project"
    expected |= {file.relative_to(ROOT).as_posix() for file in project.rglob("*") if file.is_file()}
    assert found == expected and "jetsql/grammar/jetsql.lark" in found
    assert f"\nVersion: {VERSION}\n" in metadata


def test_every_module_can_be_imported(run: Run, installed: Path) -> None:
    files = [path.relative_to(installed).with_suffix("") for path in installed.rglob("*.py")]
    modules = sorted(".".join(file.parts).removesuffix(".__init__") for file in files)
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
    expected = f"[JETSQL.ENGINE_NOT_INSTALLED] jetsql-client cannot {action.replace('HOME', str(tmp_path / 'home'))}. "
    assert expected in ended.stderr and "pip install jetsql." in ended.stderr
    assert ended.returncode == ExitCode.NO_ENGINE
    assert not (tmp_path / "home").exists()


def test_the_log_of_a_job_without_an_engine(run: Run, tmp_path: Path) -> None:
    ended = run("logs", "orders")
    assert "Check --home and JETSQL_HOME. SQLSTATE" in f"{ended.stderr.strip()} SQLSTATE"  # no hint to start one
    assert ended.returncode == ExitCode.STATEMENT_FAILED
    (tmp_path / "home").mkdir()
    ended = run("logs", "orders")
    action = "find a job in the store of a home"
    assert f"[JETSQL.ENGINE_NOT_INSTALLED] jetsql-client cannot {action}. " in ended.stderr
    assert "pip install jetsql." in ended.stderr and ended.returncode == ExitCode.NO_ENGINE


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
    message = f"{condition} jetsql-client cannot run an engine in this process."
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
    (tmp_path / "engine").mkdir()
    monkeypatch.setattr(jetsql, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "jetsql.engine", raising=False)
    assert not installation.has_engine()


# --- both distributions in one environment ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({}, ""),
        ({"jetsql": "0.2.0"}, ""),
        ({"jetsql": "0.2.0", "jetsql-client": "0.2.0"}, ""),
        (
            {"jetsql": "0.2.0", "jetsql-client": "0.3.0"},
            "jetsql 0.2.0 and jetsql-client 0.3.0 are installed in one environment, and their modules are mixed.",
        ),
    ],
)
def test_an_engine_refuses_modules_of_two_versions(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], message: str
) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    if not message:
        installation.check_versions()
        return
    with pytest.raises(EngineError, match="pip uninstall jetsql jetsql-client") as caught:
        installation.check_versions()
    assert caught.value.message == message
