"""The rules of the house as tests: layers, types, lint, names and sizes."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import LONG_MODULES
from tests.support.paths import ROOT


def check(*command: str, seconds: float = 280) -> None:
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_imports_go_one_way() -> None:
    check(sys.executable, "-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())")


@pytest.mark.timeout(900)
def test_types() -> None:
    check(sys.executable, "-m", "mypy", seconds=880)  # without its cache, and with Spark's tests running


def test_lint() -> None:
    check(sys.executable, "-m", "ruff", "check", ".")


def test_formatting() -> None:
    check(sys.executable, "-m", "ruff", "format", "--check", ".")


def test_the_modules_that_run_first_exist() -> None:
    assert [name for name in LONG_MODULES if not (ROOT / "tests" / name).exists()] == []


def words(name: str) -> list[Path]:
    return [path for path in ROOT.glob(name) if ".venv" not in path.parts]


@pytest.mark.parametrize("word", ["utils", "helpers"])
def test_module_names_are_specific(word: str) -> None:
    assert words(f"jetsql/**/*{word}*") == []


@pytest.mark.parametrize("file", words("jetsql/**/*.py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_small_enough_to_read(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert len(text.splitlines()) <= 600
    assert [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= 60] == []


def test_no_two_modules_have_one_name() -> None:
    modules = [path for path in words("jetsql/**/*.py") if not path.name.startswith("__")]
    assert [name for name, times in Counter(path.name for path in modules).items() if times > 1] == []


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in words("jetsql/**/*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert sorted(name for name, times in names.items() if times > 1) == []


def test_folders_have_a_limited_number_of_modules() -> None:
    folders = Counter(path.parent for path in words("jetsql/**/*.py") if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): size for folder, size in folders.items() if size > 16} == {}


def test_folders_of_tests_mirror_the_package() -> None:
    """Compare the folders, except those for several packages: stories, the project itself, and support."""
    others = {"project", "stories", "support", "golden", "fixtures", "faults", "releases"}
    others |= {"external_clients", "sqlalchemy_suite"}
    folders = {path.parent.relative_to(ROOT / "tests") for path in words("tests/**/test_*.py")}
    own = {str(folder) for folder in folders if folder.parts and folder.parts[0] not in others}
    assert {folder for folder in own if not (ROOT / "jetsql" / folder / "__init__.py").exists()} == set()
