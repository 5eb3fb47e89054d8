"""Run the mutation test: measure which lines each test reaches, judge a sample of mutants, and report the result."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import click
import psutil

from tools.mutation import mutants, reach, worker
from tools.mutation.mutants import File, Mutant

ROOT: Final = Path(__file__).parents[2]
GOAL: Final = 95.0
FLOOR: Final = 85.0
"""The run fails below this score. Raise it when the tests reach a higher score; never lower it."""
_SECONDS: Final = 600.0
"""The time in which mutants are judged. It begins when the tests have been measured, so that a busy machine also judges
some."""
_MEASURING_SECONDS: Final = 1800.0
_WORKERS: Final = 2
# These tests check the source, use a terminal, or kill processes. They are slow and detect no additional mutants. The
# worker itself runs the type check of test_architecture.
_NOT_RUN: Final = (
    "project/test_architecture",
    "shell/test_screens",
    "shell/test_terminal",
    "jobs/manager/test_crashes_between_steps",
)
_TESTS: Final = (
    *("-q", "-m", "not spark and not browser and not slow", "-p", "no:cacheprovider", "--timeout=60"),
    *(f"--ignore=tests/{name}.py" for name in _NOT_RUN),
)
_NOT_COPIED: Final = (".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info", "build", "dist")
_ROUND_SECONDS: Final = (20.0, 100.0)
"""The total measured time of the tests of each round. Only a mutant that survives a round needs the next one."""
_LIMIT_SECONDS: Final = 10.0
_LIMIT_TIMES: Final = 4.0
_CONTROL_EVERY: Final = 25  # the interval of control runs without a mutant, in which the tests must pass
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)  # in pytest's short summary
_CONTROLS: Final = 2  # a test can fail once because the machine is busy


class Outcome(Enum):
    """The outcome of a mutant."""

    KILLED = "killed"
    TYPES = "killed by the type check"
    TIMEOUT = "timed out"
    SURVIVED = "survived"
    EXPLAINED = "explained"
    UNREACHED = "not reached"
    UNFIT = "not run"  # its code cannot be exchanged, or was used at the import


_GOOD: Final = (Outcome.KILLED, Outcome.TYPES, Outcome.TIMEOUT, Outcome.EXPLAINED)


@dataclass
class Judged:
    """The outcomes of the judged mutants."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """The number of mutants with each outcome."""
    unreached: Counter[str] = field(default_factory=Counter)
    """The number of mutants in each function that no test reaches."""
    survivors: list[tuple[Mutant, int]] = field(default_factory=list)
    """The mutants that no test has detected, with the number of tests."""
    failed_control: str = ""
    """The end of the output of a control run that failed twice, which ends the mutation test."""

    @property
    def score(self) -> float:
        """Return the percentage of killed and explained mutants."""
        good = sum(self.outcomes[each] for each in _GOOD)
        return 100.0 * good / max(1, good + self.outcomes[Outcome.SURVIVED])


class Workers:
    """Processes that judge mutants, each in a copy of the project."""

    def __init__(self, trees: Sequence[Path], modules: Sequence[str]) -> None:
        command = [sys.executable, "-m", "tools.mutation.worker", *modules]
        self._trees = trees
        self.processes = [
            subprocess.Popen(
                command, cwd=tree, env=environment(tree), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for tree in trees
        ]

    def judge(self, number: int, task: worker.Task) -> worker.Verdict:
        """Let a worker judge a mutant. number: the worker's number. Raises ClickException."""
        process = self.processes[number]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(vars(task)) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            output = (self._trees[number] / worker.LOG).read_text(encoding="utf-8", errors="replace")
            raise click.ClickException(f"A worker ended with exit code {process.wait()}:\n{output}")
        return worker.Verdict(**json.loads(line))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            kill(process)


def environment(tree: Path) -> dict[str, str]:
    """Return the environment in which tests and their child processes import the code of a tree."""
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def copy(tree: Path) -> None:
    """Copy the project to a folder and compile it."""
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    subprocess.run([sys.executable, "-m", "compileall", "-q", "jetsql", "tests", "tools"], cwd=tree, check=True)


@contextmanager
def measuring(tree: Path, folder: Path) -> Iterator[None]:
    """Run all tests once in parallel with the context, and record which lines they reach. Tests may fail."""
    variables = reach.prepare(folder, [tree / "jetsql" / package for package in mutants.PACKAGES])
    command = [sys.executable, "-m", "pytest", "-p", "tools.mutation.reach", "-n", "3", "--dist", "worksteal", *_TESTS]
    process = subprocess.Popen(command, cwd=tree, env=environment(tree) | variables)
    try:
        yield
        if process.wait(_MEASURING_SECONDS) not in (0, 1):
            raise click.ClickException(f"The tests cannot be run: pytest ended with exit code {process.returncode}.")
    except subprocess.TimeoutExpired as error:
        raise click.ClickException(f"The tests have not ended in {_MEASURING_SECONDS:g} s.") from error
    finally:
        kill(process)


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process and its children. The process may have ended."""
    if process.poll() is None:
        for each in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # the child has ended
                each.kill()
        process.kill()
    process.wait()


class Test:
    """A random sample of mutants, which are judged until the deadline."""

    def __init__(self, sources: Sequence[File], reached: reach.Reach, seed: int, deadline: float) -> None:
        self._sources = sources
        self._reached = reached
        self._explained = mutants.explained()
        self._random = random.Random(seed)
        self._deadline = deadline
        self._lock = threading.Lock()
        self._order = self._shuffled()
        self._failed: list[BaseException] = []
        self.judged = Judged()

    def run(self, workers: Workers) -> None:
        """Judge mutants until the deadline or a failed control run, with all workers in parallel.

        Raises the first error of a worker.
        """
        threads = [threading.Thread(target=self._work, args=(workers, each)) for each in range(len(workers.processes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def _shuffled(self) -> Iterator[tuple[int, Mutant]]:
        numbers = [(file, number) for file in self._sources for number in range(len(file))]
        self._random.shuffle(numbers)
        for count, (file, number) in enumerate(numbers):
            yield count, file.mutant(number)

    def _work(self, workers: Workers, number: int) -> None:
        try:
            while not self._is_over():
                with self._lock:
                    following = next(self._order, None)
                if following is None:
                    return
                self._judge(workers, number, *following)
        except BaseException as error:
            self._failed.append(error)

    def _is_over(self) -> bool:
        return bool(self._failed or self.judged.failed_control) or time.monotonic() >= self._deadline

    def _judge(self, workers: Workers, number: int, count: int, mutant: Mutant) -> None:
        rounds = self._rounds(mutant)
        if not rounds:
            outcome = Outcome.UNFIT if self._reached.tests(mutant.file, mutant.lines) else Outcome.UNREACHED
        elif mutant.identity in self._explained:
            outcome = Outcome.EXPLAINED
        else:
            is_control = count % _CONTROL_EVERY == _CONTROL_EVERY - 1
            if is_control and not self._passes_control(workers, number, mutant, rounds[0]):
                return
            for tests in rounds:
                outcome = self._outcome(workers.judge(number, self._task(mutant, mutant.text, tests)))
                if outcome is not Outcome.SURVIVED:
                    break
        with self._lock:
            self.judged.outcomes[outcome] += 1
            if outcome is Outcome.UNREACHED:
                self.judged.unreached[mutant.identity.place] += 1
            if outcome is Outcome.SURVIVED:
                self.judged.survivors.append((mutant, sum(map(len, rounds))))
                click.echo(f"survived {sum(map(len, rounds))} tests: {mutant.identity.place}\n{mutant.diff}\n")

    def _rounds(self, mutant: Mutant) -> list[list[str]]:
        """Return the tests to run, in rounds within their time limits. The first has at least one test if possible.

        Only a test that creates a nested function runs its mutant; one that was created at the import stays as it was.
        """
        creating = set(self._reached.tests(mutant.file, mutant.nested))
        found = self._reached.tests(mutant.file, mutant.lines)
        tests = [test for test in found if not mutant.nested or test in creating]
        rounds: list[list[str]] = []
        for limit in _ROUND_SECONDS:
            ends = accumulate(self._reached.seconds[test] for test in tests)
            count = max(1, sum(end <= limit for end in ends))
            rounds.append(tests[:count])
            tests = tests[count:]
        return [tests for tests in rounds if tests]

    def _task(self, mutant: Mutant, text: str, tests: list[str]) -> worker.Task:
        usual = sum(self._reached.seconds[test] for test in tests)
        return worker.Task(mutant.file, mutant.function, text, tests, _LIMIT_SECONDS + _LIMIT_TIMES * usual)

    def _passes_control(self, workers: Workers, number: int, mutant: Mutant, tests: list[str]) -> bool:
        """Run the tests without the mutant, and repeat them if they fail. Return whether they pass."""
        [original] = [file.text for file in self._sources if file.name == mutant.file]
        for _ in range(_CONTROLS):
            verdict = workers.judge(number, self._task(mutant, original, tests))
            if verdict.code == 0:
                return True
        with self._lock:
            self.judged.failed_control = verdict.output or f"The worker's code is {verdict.code}."
        return False

    @staticmethod
    def _outcome(verdict: worker.Verdict) -> Outcome:
        match verdict.code:
            case 0:
                return Outcome.SURVIVED
            case worker.TYPES:
                return Outcome.TYPES
            case worker.TIMEOUT:
                return Outcome.TIMEOUT
            case worker.UNFIT | 5:  # 5: pytest found no tests, because their names differ in each run
                return Outcome.UNFIT
            case 4:
                raise click.ClickException(f"The tests of a mutant cannot be run:\n{verdict.output}")
            case _:
                return Outcome.KILLED


def report(judged: Judged, total: int, failed: list[str]) -> bool:
    """Print the result. Return whether the score reaches the floor and no control run has failed."""
    for place, count in sorted(judged.unreached.items()):
        click.echo(f"not reached by these tests: {place} ({count})")
    for test in failed:
        click.echo(f"not used, because it failed without a mutant: {test}")
    outcomes = ", ".join(f"{judged.outcomes[outcome]} {outcome.value}" for outcome in Outcome)
    click.echo(f"{sum(judged.outcomes.values())} of {total} mutants: {outcomes}")
    click.echo(f"mutation score: {judged.score:.1f} % killed or explained")
    click.echo(f"goal: {GOAL:g} % {'met' if judged.score >= GOAL else 'MISSED'}")
    reaches_floor = judged.score >= FLOOR
    click.echo(f"floor: {FLOOR:g} % {'met' if reaches_floor else 'MISSED, so the test fails'}")
    if not judged.failed_control:
        return reaches_floor
    click.echo(f"Tests fail without a mutant, so no further mutant was judged:\n{judged.failed_control}")
    for test in _FAILED.findall(judged.failed_control):
        click.echo(f"failed twice without a mutant: {test}")
    return False


@click.command()
@click.option(
    "--seconds",
    default=_SECONDS,
    show_default=True,
    help="The time in which mutants are judged, after the tests have been measured.",
)
@click.option(
    "--seed",
    default=lambda: random.SystemRandom().randrange(1_000_000),
    type=int,
    help="The number that chooses the mutants. By default another one each time.",
)
def main(seconds: float, seed: int) -> None:
    """Measure which lines each test reaches, judge a sample of mutants, and report the result."""
    click.echo(f"mutation test: seed {seed}, {seconds:g} s")
    with tempfile.TemporaryDirectory(prefix="jetsql-mutation-") as folder:
        trees = [Path(folder) / f"tree{number}" for number in range(_WORKERS)]
        for tree in trees:
            copy(tree)
        with measuring(trees[0], Path(folder)):
            sources = mutants.files(ROOT)
            missing = mutants.stale(mutants.explained(), sources)
            for tree in trees:  # also fills the caches of mypy
                if not worker.has_right_types(*(file.name for file in sources), folder=tree):
                    raise click.ClickException("The type check fails without a mutant. Run mypy.")
        reached = reach.Reach(Path(folder), trees[0])
        test = Test(sources, reached, seed, time.monotonic() + seconds)
        with Workers(trees, [file.module for file in sources]) as workers:
            test.run(workers)
    for identity in missing:
        click.echo(f"explained, but there is no such mutant: {identity.place}: {identity.before} -> {identity.after}")
    succeeded = report(test.judged, sum(map(len, sources)), reached.failed)
    sys.exit(0 if succeeded and not missing else 1)


if __name__ == "__main__":
    main()
