"""The table of fail points: it is complete, and arming an unknown one is an error before anything is started."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.failpoints import POINTS, VARIABLE
from tests.support.paths import ROOT

SOURCES = [file for file in (ROOT / "jetsql").rglob("*.py") if file.name != "failpoints.py"]
STEPS = ("storing", "stored", "kafka")


def calls() -> Iterator[ast.Call]:
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failpoint":
                yield node


def name(call: ast.Call) -> str:
    [first, *_] = call.args
    assert isinstance(first, ast.Constant), ast.unparse(call)
    return str(first.value)


def python(program: str, armed: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, VARIABLE: armed}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_table_and_the_source_name_the_same_places() -> None:
    plain = {name(call) for call in calls() if not call.keywords}
    assert plain == {point for point in POINTS if point.partition("-")[0] not in STEPS}
    assert {name(call) for call in calls() if call.keywords} == set(STEPS)


def test_the_steps_of_a_part_are_places() -> None:
    java = (ROOT / "java" / "src" / "main").rglob("*.java")
    steps = {
        step for file in java for step in re.findall(r'progress\.reached\("(\w+)"\)', file.read_text(encoding="utf-8"))
    }
    assert {f"kafka-{step}" for step in steps} == {point for point in POINTS if point.startswith("kafka-")}


@pytest.mark.parametrize("point", [point for point in POINTS if point.partition("-")[0] in ("storing", "stored")])
def test_failpoint_next_to_a_step_has_an_event_title(point: str) -> None:
    title = point.partition("-")[2].replace("-", " ")
    text = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "jetsql" / "jobs").rglob("*.py"))
    assert re.search(rf'"{title}"', text)


@pytest.mark.parametrize("armed", ["stagd", "staged@often", "staged,nowhere", "staged:job@x", "staged@0"])
def test_unknown_failpoint_is_refused_at_start(tmp_path: Path, armed: str) -> None:
    ended = python(f"import jetsql; jetsql.open(home={str(tmp_path / 'home')!r})", armed)
    assert ended.returncode == 1
    line = ended.stderr.strip().splitlines()[-1]
    assert "ENGINE_NOT_STARTED" in line and "there is no failpoint" in ended.stderr
    assert "manifest-written" in ended.stderr
    assert not (tmp_path / "home").exists()


def test_process_dies_at_the_armed_failpoint() -> None:
    program = "from jetsql.failpoints import failpoint\nfor n in range(9): print(n, flush=True); {}"
    died = python(program.format("failpoint('staged', 'any')"), "staged@3")
    assert (died.returncode, died.stdout.split()) == (-signal.SIGKILL, ["0", "1", "2"])
    died = python(program.format("failpoint('staged', f'job {n}')"), "staged:job 4")
    assert (died.returncode, died.stdout.split()) == (-signal.SIGKILL, ["0", "1", "2", "3", "4"])
    died = python(program.format("failpoint('stored', step='drop requested')"), "stored-drop-requested")
    assert (died.returncode, died.stdout.split()) == (-signal.SIGKILL, ["0"])
    assert python(program.format("failpoint('staged', 'any')"), "").returncode == 0


def test_several_failpoints_are_reached_before_the_process_dies() -> None:
    program = """
from threading import Thread
from jetsql.failpoints import failpoint
from tests.support.paths import ROOT
def work(job):
    failpoint('staged', job); print('never', flush=True)
failpoint('staged', 'c')
print('passed', flush=True)
threads = [Thread(target=work, args=(job,)) for job in 'ab']
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    died = python(program, "staged:a,staged:b")
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, "passed\n")
    assert sorted(died.stderr.splitlines()) == ["failpoint staged:a", "failpoint staged:b"]
