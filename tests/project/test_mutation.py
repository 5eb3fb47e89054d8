"""The mutation test: its mutants, the explained ones, and its verdicts."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar, cast

import coverage
import pytest

from tests.support.paths import ROOT
from tools.mutation import __main__ as mutation
from tools.mutation import worker
from tools.mutation.__main__ import FLOOR, GOAL, Judged, Outcome, report
from tools.mutation.mutants import File, Identity, Mutant, explained, stale
from tools.mutation.reach import Reach

SOURCE = """
class Shop:
    def total(self, prices: list[int]) -> int:
        def taxed(price: int) -> int:
            return price + 1

        return sum(
            taxed(price)
            for price in prices
        )


def is_open(hour: int, *, begin: int = 8) -> bool:
    if hour < begin:
        print("closed until eight")
        return False
    return True
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def mutants(path: Path) -> list[Mutant]:
    file = File(path.parent, path)
    return [file.mutant(number) for number in range(len(file))]


# --- mutants ---------------------------------------------------------------------------------------------------------


def test_a_mutant_names_its_function_and_its_change(source: Path) -> None:
    [mutant] = [each for each in mutants(source) if "hour <= begin" in each.text]
    assert mutant.identity == Identity("shop.py is_open", "if hour < begin:", "if hour <= begin:")
    assert mutant.function == "is_open"
    assert list(mutant.lines) == [SOURCE.splitlines().index("    if hour < begin:") + 1]
    assert "-    if hour < begin:\n+    if hour <= begin:" in mutant.diff
    assert mutant.text == SOURCE.replace("hour < begin", "hour <= begin")


def test_inner_function_belongs_to_the_method_around_it(source: Path) -> None:
    [mutant] = [each for each in mutants(source) if "price - 1" in each.text]
    assert mutant.identity == Identity("shop.py Shop.total", "return price + 1", "return price - 1")
    assert mutant.function == "Shop.total"
    created = SOURCE.splitlines().index("        def taxed(price: int) -> int:") + 1
    assert list(mutant.nested) == [created]
    assert not any(each.nested for each in mutants(source) if "price + 1" in each.text)


def test_tests_of_one_line_count_for_the_whole_statement(source: Path) -> None:
    [mutant] = [each for each in mutants(source) if "taxed(None)" in each.text]
    first = SOURCE.splitlines().index("        return sum(") + 1
    assert mutant.lines == range(first, first + 4)


def test_the_words_of_messages_are_not_mutated(source: Path) -> None:
    assert not [
        each for each in mutants(source) if "closed until eight" not in each.text and "print(None)" not in each.text
    ]


def test_the_case_of_a_header_is_not_mutated(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_text('def headers():\n    return {"Accept": "Bread"}\n', encoding="utf-8")
    changed = {each.identity.after for each in mutants(path)}
    assert changed == {
        f"return {{{pair}}}"
        for pair in ('"XXAcceptXX": "Bread"', *(f'"Accept": "{word}"' for word in ("XXBreadXX", "bread", "BREAD")))
    }


def test_a_default_is_tested_by_what_runs_the_function(source: Path) -> None:
    [mutant] = [each for each in mutants(source) if "begin: int = 9" in each.text]
    body = SOURCE.splitlines().index("    if hour < begin:") + 1
    assert body in mutant.lines


def test_the_tests_of_the_mirrored_folder_come_first(tmp_path: Path) -> None:
    database = coverage.CoverageData(basename=str(tmp_path / "coverage.1"))
    for test in ("tests/a/test_x.py::f", "tests/b/test_y.py::g", "tests/a/test_x.py::h"):
        database.set_context(test)
        database.add_lines({str(tmp_path / "jetsql/a/m.py"): [1]})
    database.write()
    record = {
        "seconds": {"tests/a/test_x.py::f": 3, "tests/b/test_y.py::g": 1, "tests/a/test_x.py::h": 2},
        "failed": [],
    }
    (tmp_path / "seconds.1").write_text(json.dumps(record), encoding="utf-8")
    found = Reach(tmp_path, tmp_path).tests("jetsql/a/m.py", [1])
    assert found == ["tests/a/test_x.py::h", "tests/a/test_x.py::f", "tests/b/test_y.py::g"]


# --- explained mutants -----------------------------------------------------------------------------------------------


def test_an_explained_mutant_is_found_where_its_function_has_moved(source: Path) -> None:
    known = Identity("shop.py is_open", "if hour < begin:", "if hour <= begin:")
    source.write_text('"""A shop."""\n\n' + SOURCE, encoding="utf-8")
    assert known in {each.identity for each in mutants(source)}
    assert stale([known], [File(source.parent, source)]) == []


@pytest.mark.parametrize(
    "identity",
    [
        Identity("shop.py is_open", "if hour < 9:", "if hour <= 9:"),
        Identity("shop.py is_closed", "if hour < begin:", "if hour <= begin:"),
        Identity("bank.py is_open", "if hour < begin:", "if hour <= begin:"),
    ],
)
def test_an_explained_mutant_that_does_not_exist_is_stale(source: Path, identity: Identity) -> None:
    assert stale([identity], [File(source.parent, source)]) == [identity]


def test_an_explanation_has_a_reason(tmp_path: Path) -> None:
    listed = tmp_path / "explained.toml"
    listed.write_text('[[mutant]]\nplace = "a.py f"\nbefore = "x"\nafter = "y"\nreason = " "\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"The mutant of a\.py f \(y\) has no reason in explained\.toml\."):
        explained(listed)


def test_the_list_of_the_project_can_be_read() -> None:
    assert all(identity.before != identity.after for identity in explained())


# --- the score -------------------------------------------------------------------------------------------------------


def test_score_counts_killed_and_explained_mutants() -> None:
    judged = Judged()
    judged.outcomes.update(
        {
            Outcome.KILLED: 12,
            Outcome.TYPES: 3,
            Outcome.TIMEOUT: 2,
            Outcome.EXPLAINED: 2,
            Outcome.SURVIVED: 1,
            Outcome.UNFIT: 9,
        }
    )
    assert judged.score == pytest.approx(95.0)
    judged.outcomes[Outcome.SURVIVED] += 1
    assert judged.score < GOAL


def test_no_mutants_are_no_success() -> None:
    assert Judged().score == 0.0


@pytest.mark.parametrize(
    ("survived", "held", "words"),
    [
        (0, True, "goal: 95 % met\nfloor: {floor:g} % met"),
        (6, True, "goal: 95 % MISSED\nfloor: {floor:g} % met"),
        (50, False, "goal: 95 % MISSED\nfloor: {floor:g} % MISSED, so the test fails"),
    ],
)
def test_the_run_fails_below_its_floor_and_states_the_goal(
    survived: int, held: bool, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = Judged()
    judged.outcomes.update({Outcome.KILLED: 100 - survived, Outcome.SURVIVED: survived})
    assert report(judged, 100, []) is held
    shown = capsys.readouterr().out
    assert shown.endswith(words.format(floor=FLOOR) + "\n")
    assert f"mutation score: {100 - survived:.1f} % killed or explained\n" in shown


# --- control runs ----------------------------------------------------------------------------------------------------

FAILED_OUTPUT = "E   assert 1 == 2\nFAILED tests/test_shop.py::test_opening - assert 1 == 2\n1 failed in 0.1s\n"


class StubWorkers:
    """Kills each mutant, and fails the first `failures` runs without a mutant."""

    processes = (None,)

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.controls = 0

    def judge(self, number: int, task: worker.Task) -> worker.Verdict:
        if task.text != SOURCE:
            return worker.Verdict(1, "")
        self.controls += 1
        return worker.Verdict(int(self.controls <= self.failures), FAILED_OUTPUT)


class StubReach:
    """A reach in which one test reaches every line."""

    seconds: ClassVar = {"tests/test_shop.py::test_opening": 0.1}

    def tests(self, file: str, lines: range) -> list[str]:
        return list(self.seconds)


def run_controls(source: Path, failures: int) -> tuple[Judged, int]:
    """Judge all mutants of a module. Return the outcomes and the number of control runs."""
    file = File(source.parent, source)
    test = mutation.Test([file], cast(Reach, StubReach()), seed=1, deadline=time.monotonic() + 60)
    workers = StubWorkers(failures)
    test.run(cast(mutation.Workers, workers))
    return test.judged, workers.controls


def test_a_control_run_that_fails_once_is_repeated(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "_CONTROL_EVERY", 1)
    judged, controls = run_controls(source, failures=1)
    total = len(File(source.parent, source))
    assert (judged.outcomes[Outcome.KILLED], controls) == (total, total + 1)
    assert report(judged, total, [])


def test_a_control_run_that_fails_twice_ends_with_the_report(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutation, "_CONTROL_EVERY", 3)
    judged, controls = run_controls(source, failures=2)
    assert (judged.outcomes, controls) == ({Outcome.KILLED: 2}, 2)
    assert not report(judged, 9, [])
    shown = capsys.readouterr().out
    assert "2 of 9 mutants: 2 killed," in shown
    assert "mutation score: 100.0 % killed or explained\n" in shown
    assert shown.endswith("failed twice without a mutant: tests/test_shop.py::test_opening\n")


# --- verdicts --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, worker.Verdict]:
    """Return the verdicts of a small project whose test reads its mutant in its own process and in another one."""
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["spark"]\n', encoding="utf-8")
    (root / "shop.py").write_text(SOURCE, encoding="utf-8")
    (root / "test_shop.py").write_text(
        "import subprocess, sys, shop\n"
        "def test_here(): assert not shop.is_open(7) and shop.is_open(8)\n"
        "def test_there():\n"
        "    program = 'import shop, sys; sys.exit(shop.is_open(8))'\n"
        "    assert subprocess.run([sys.executable, '-c', program]).returncode == 1\n"
        "def test_total(): assert shop.Shop().total([1, 2]) == 5\n"
        "def test_hangs():\n"
        "    while not shop.is_open(9): pass\n",
        encoding="utf-8",
    )
    below = SOURCE.replace("hour < begin", "hour <= begin")
    sums = SOURCE.replace("price + 1", "price - 1")
    late = SOURCE.replace("begin: int = 8", "begin: int = 9")
    never = SOURCE.replace("return True", "return False")
    wrong = SOURCE.replace("return True", "return None")
    tasks = {
        "killed here": worker.Task("shop.py", "is_open", below, ["test_shop.py::test_here"], 60),
        "killed there": worker.Task("shop.py", "is_open", below, ["test_shop.py::test_there"], 60),
        "default": worker.Task("shop.py", "is_open", late, ["test_shop.py::test_here"], 60),
        "inner function": worker.Task("shop.py", "Shop.total", sums, ["test_shop.py::test_total"], 60),
        "survived": worker.Task("shop.py", "Shop.total", sums, ["test_shop.py::test_here"], 60),
        "wrong type": worker.Task("shop.py", "is_open", wrong, ["test_shop.py::test_total"], 60),
        "hangs": worker.Task("shop.py", "is_open", never, ["test_shop.py::test_hangs"], 1),
        "no mutant": worker.Task("shop.py", "is_open", SOURCE, ["test_shop.py::test_total"], 60),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "tools.mutation.worker", "shop"],
        input="".join(json.dumps(vars(task)) + "\n" for task in tasks.values()),
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(root), str(ROOT)))},
        text=True,
        capture_output=True,
        check=True,
    )
    assert (root / "shop.py").read_text(encoding="utf-8") == SOURCE
    return {
        name: worker.Verdict(**json.loads(line)) for name, line in zip(tasks, ended.stdout.splitlines(), strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("killed here", 1),
        ("killed there", 1),
        ("default", 1),
        ("inner function", 1),
        ("survived", 0),
        ("wrong type", worker.TYPES),
        ("hangs", worker.TIMEOUT),
        ("no mutant", 0),
    ],
)
def test_a_verdict_is_about_the_mutant_and_no_other(verdicts: dict[str, worker.Verdict], name: str, code: int) -> None:
    assert verdicts[name].code == code, verdicts[name].output
