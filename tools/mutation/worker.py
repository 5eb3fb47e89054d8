"""A process that runs tests against mutants, one after the other: `python -m tools.mutation.worker MODULE ...`.

Each worker runs in its own copy of the project. It imports the mutated modules and all tests, and forks for each
mutant. The fork replaces the code of the mutated function. The file is changed, too, for the processes that the tests
start; afterwards the file is restored, and remaining processes are killed. mypy checks the mutants that survive the
tests. Each line of the input is a `Task`, and each line of the output its `Verdict`.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import psutil
import pytest

_OPTIONS: Final = ("-q", "-m", "not spark and not browser", "-p", "no:cacheprovider")
LOG: Final = "mutation.log"
"""The file with the output of the tests, in the folder of the process."""
_MARK: Final = "JETSQL_MUTANT"
_POLL_SECONDS: Final = 0.01
_LATER_SECONDS: Final = 3600
_OUTPUT: Final = 2000
UNFIT: Final = 70
"""The exit code for a mutant whose code does not fit its function."""
TYPES: Final = 71
"""The exit code for a mutant that passes the tests and fails the type check."""
TIMEOUT: Final = -1000
"""The exit code for tests that have not ended in time."""


@dataclass(frozen=True)
class Task:
    """The tests to run against a mutant."""

    file: str
    """The path of the mutated file in the project."""
    function: str
    """The qualified name of the mutated top-level function or method."""
    text: str
    """The mutated text of the file; its current text to run the tests without a mutant."""
    tests: list[str]
    """The names of the tests."""
    limit: float
    """The seconds after which the tests are killed."""


@dataclass(frozen=True)
class Verdict:
    """The result of a task."""

    code: int
    """The exit code of pytest, minus the signal that killed it, UNFIT, TYPES, or TIMEOUT."""
    output: str
    """The end of the tests' output."""


class _Only:
    """A plugin that runs only the given tests. Some names of tests cannot be arguments of pytest."""

    def __init__(self, tests: set[str]) -> None:
        self._tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._tests]


def main() -> None:
    log = Path(LOG).resolve()
    verdicts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    os.dup2(1, 2)
    collected = pytest.main(["--collect-only", *_OPTIONS])  # first: pytest has to import its plugins itself
    if collected != 0:
        raise SystemExit(f"The tests cannot be collected: pytest ended with exit code {int(collected)}.")
    _import_all(sys.argv[1:])
    for number, line in enumerate(sys.stdin):
        os.truncate(log, 0)
        code = _judge(Task(**json.loads(line)), number)
        output = log.read_text(encoding="utf-8", errors="replace")[-_OUTPUT:]
        verdicts.write(json.dumps(asdict(Verdict(code, output))) + "\n")
        verdicts.flush()


def _import_all(modules: list[str]) -> None:
    """Import the modules that can be mutated, except those that need packages that are not installed."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("jetsql"):
                raise


def _judge(task: Task, number: int) -> int:
    """Run the tests of a task in a fork and return the code of the verdict."""
    mark = f"{os.getpid()}.{number}"
    path = Path(task.file)
    original, times = path.read_bytes(), path.stat()
    os.environ[_MARK] = mark
    path.write_text(task.text, encoding="utf-8")
    # Python and mypy validate their caches by time and size only, so each mutant has a different time.
    os.utime(path, (times.st_atime, times.st_mtime + _LATER_SECONDS + number))
    try:
        child = os.fork()
        if child == 0:
            _run(task, original.decode("utf-8"))
        code = _wait(child, time.monotonic() + task.limit)
        return TYPES if code == 0 and not has_right_types(task.file) else code
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        _kill_marked(mark)


def has_right_types(*files: str, folder: Path | None = None) -> bool:
    """Return whether these files pass the type check. Raises RuntimeError when mypy cannot run."""
    ended = subprocess.run([sys.executable, "-m", "mypy", *files], cwd=folder, capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"mypy ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.returncode == 0


def _run(task: Task, original: str) -> None:
    """Run the tests, and end the process."""
    code = UNFIT
    try:
        os.setsid()
        if original == task.text or _patch(task):
            files = dict.fromkeys(test.partition("::")[0] for test in task.tests)
            code = int(pytest.main(["-x", "--tb=line", "--timeout=15", *_OPTIONS, *files], [_Only(set(task.tests))]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _patch(task: Task) -> bool:
    """Replace the code of the function. Return False if it does not fit: it must use the same outer variables."""
    member: Any = sys.modules[task.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")]
    for name in task.function.split("."):
        member = vars(member)[name]
    function: FunctionType = getattr(member, "__func__", member)
    code = _code(compile(task.text, function.__code__.co_filename, "exec", dont_inherit=True), function.__code__)
    if code is None or code.co_freevars != function.__code__.co_freevars:
        return False
    function.__code__ = code
    _patch_defaults(function, ast.parse(task.text), task.function.split("."))
    return True


def _patch_defaults(function: FunctionType, body: ast.AST, names: list[str]) -> None:
    """Replace the default values of the parameters by the constants in the mutated text."""
    node = body
    for name in names:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        node = [each for each in ast.iter_child_nodes(node) if isinstance(each, kinds) and each.name == name][-1]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    values = list(function.__defaults__ or ())
    for index, default in enumerate(node.args.defaults):
        if isinstance(default, ast.Constant):
            values[index] = default.value
    function.__defaults__ = tuple(values) or None
    keywords = dict(function.__kwdefaults__ or {})
    for parameter, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if isinstance(keyword, ast.Constant):
            keywords[parameter.arg] = keyword.value
    function.__kwdefaults__ = keywords


def _code(module: CodeType, like: CodeType) -> CodeType | None:
    """Return the code object in a module with the same name and first line as another one, or None."""
    for each in module.co_consts:
        if isinstance(each, CodeType):
            if (each.co_qualname, each.co_firstlineno) == (like.co_qualname, like.co_firstlineno):
                return each
            if (inner := _code(each, like)) is not None:
                return inner
    return None


def _wait(child: int, deadline: float) -> int:
    """Wait for the end of a process, and kill it at the deadline. Return its exit code, or TIMEOUT."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return TIMEOUT
        time.sleep(_POLL_SECONDS)


def _kill_marked(mark: str) -> None:
    """Kill the remaining processes of a task's tests, which have its mark in their environment."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark:
                process.kill()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # the process has ended or belongs to another user


if __name__ == "__main__":
    main()
