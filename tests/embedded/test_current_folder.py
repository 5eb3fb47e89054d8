"""An engine and its commands run no code of the folder in which they are started: it may be a stranger's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from jetsql.home.discovery import read_note
from jetsql.installation import python_command

_JETSQL = str(Path(sys.executable).with_name("jetsql"))
_MODULES = ("jetsql", "pyspark", "numpy", "pandas", "pyarrow", "sqlglot", "psycopg", "click", "pygls", "yaml")
_JOB = """
CREATE TABLE numbers (id BIGINT) USING json;
INSERT INTO numbers VALUES (1), (2);
CREATE TABLE doubled (id BIGINT) USING parquet;
CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$
return x * 2
$$;
CREATE JOB doubled AS INSERT INTO doubled SELECT twice(id) FROM STREAM numbers;
WAIT FOR JOB doubled UNTIL IDLE;
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """Return a folder of modules that write their names into the file `ran` when they are imported."""
    folder = tmp_path / "trap"
    for module in _MODULES:
        (folder / module).mkdir(parents=True)
        code = f"open({str(folder / 'ran')!r}, 'a').write({module + ' '!r}); raise ImportError({module!r})\n"
        (folder / module / "__init__.py").write_text(code)
    (folder / "tables.sql").write_text("CREATE TABLE numbers (id BIGINT) USING json;\n")
    (folder / "job.sql").write_text(_JOB)
    return folder


def call(trap: Path, command: tuple[str, ...], **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=trap,
        input="",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "JETSQL_CONFIG": os.devnull, **environ},
    )


def ran(trap: Path) -> str:
    """Return the names of the folder's modules that were imported."""
    file = trap / "ran"
    return file.read_text() if file.exists() else ""


def test_the_trap_works(trap: Path) -> None:
    """Python itself prefers the modules of the current folder."""
    call(trap, (sys.executable, "-m", "jetsql", "--version"))
    assert ran(trap) == "jetsql "


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("lint", "."),
        ("format", "--check", "."),
        ("lsp",),
        ("status",),
        ("check",),
        ("-e", "SELECT 1", "--no-start"),
        ("apply", "--plan", ".", "--no-start"),
        ("join", "spark://127.0.0.1:1", "--secret-file", "missing"),
        ("archive",),
    ],
    ids=" ".join,
)
def test_commands_import_nothing_from_it(trap: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = call(trap, (_JETSQL, *arguments), JETSQL_HOME=str(tmp_path / "home"), JETSQL_CLASS_ARCHIVES="none")
    assert ran(trap) == "" and "Traceback" not in ended.stderr


def test_the_module_removes_the_current_folder_from_the_path(trap: Path) -> None:
    for name in ("jetsql", "pyspark"):  # with `-m jetsql` the user has asked for the folder `jetsql` itself
        (trap / name / "__init__.py").unlink()
        (trap / name).rmdir()
    ended = call(trap, (sys.executable, "-m", "jetsql", "lint", "tables.sql"))
    assert (ended.returncode, ran(trap)) == (0, ""), ended.stderr


def test_python_is_started_without_the_current_folder(trap: Path) -> None:
    assert call(trap, python_command("-c", "import numpy, pyspark, jetsql")).returncode == 0
    assert ran(trap) == ""


@pytest.fixture
def home(trap: Path, tmp_path: Path) -> Iterator[Path]:
    """Return the home of an engine that is started in the folder, and stopped after the test."""
    home = tmp_path / "home"
    yield home
    assert call(trap, (_JETSQL, "stop", "--home", str(home))).returncode == 0


@pytest.mark.spark
def test_an_engine_imports_nothing_from_the_folder_of_its_start(trap: Path, home: Path) -> None:
    (trap / "pandas.csv").write_text("1\n")
    relative = f"--home={os.path.relpath(home, trap)}"
    settings = {"JETSQL_MASTER": "local[2]", "JETSQL_DRIVER_MEMORY": "1g"}
    response = call(trap, (_JETSQL, "run", "job.sql", relative), **settings)
    assert response.returncode == 0, response.stderr
    rows = call(trap, (_JETSQL, "-e", "SELECT id FROM doubled ORDER BY id", relative, "--format", "csv"))
    assert rows.stdout.split() == ["id", "2", "4"]
    assert ran(trap) == ""
    note = read_note(home)
    assert note is not None
    engine = psutil.Process(note.pid)
    running = [each for each in engine.children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]
    assert {process.cwd() for process in (engine, *running)} == {str(home)}
    missing = call(trap, (_JETSQL, "-e", "SELECT * FROM csv.`pandas.csv`", relative))
    assert f"Path does not exist: file:{home}/pandas.csv" in missing.stderr
    temporary = [Path(file.path) for file in engine.open_files()] + list((home / "tmp").iterdir())
    assert temporary and all(path.is_relative_to(home) for path in temporary)
    open_to_others = [path for path in home.rglob("*") if not path.is_socket() and path.stat().st_mode & 0o022]
    assert open_to_others == []
